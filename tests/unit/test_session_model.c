/* SPDX-License-Identifier: Apache-2.0 */
/* Accounting over long hostile sequences, against a model that keeps every rune. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "base/macros.h"
#include "core/session.h"

static const char *const three[] = {"t0", "t1", "t2"};

/*
 * The model: for each task, whether each rune past the start was cleared. Frontier
 * and watermark are read off it rune by rune.
 */
#define MODEL_RUNES 160u

struct model {
	uint64_t start, received, watermark;
	unsigned int tasks;
	bool cleared[3][MODEL_RUNES];
	bool released;
};

struct pair {
	struct model track[_SESSION_TRACK_MAX];
	enum session_level level;
	bool closed;
	enum session_end end;
	enum session_result error;
};

static uint64_t model_frontier(const struct model *model, unsigned int task)
{
	uint64_t at = 0;

	while (at < MODEL_RUNES && model->cleared[task][at])
		at++;
	return model->start + at;
}

static uint64_t model_watermark(const struct model *model)
{
	uint64_t lowest = model->received;

	for (unsigned int t = 0; t < model->tasks; t++)
		lowest = MIN(lowest, model_frontier(model, t));
	return lowest;
}

static enum session_result model_fail(struct pair *pair, enum session_result error)
{
	pair->end = SESSION_FAILED_END;
	pair->error = error;
	return error;
}

static enum session_result model_observe(struct pair *pair, struct model *model, uint64_t runes)
{
	if (pair->end)
		return SESSION_CLOSED;
	if (pair->closed)
		return model_fail(pair, SESSION_PAYLOADS_CLOSED);
	if (!model->tasks)
		return model_fail(pair, SESSION_NO_TASKS);
	if (runes > SESSION_RUNES_MAX || model->received + runes > SESSION_RUNES_MAX)
		return model_fail(pair, SESSION_OFFSET_OVERFLOW);
	model->received += runes;
	return SESSION_OK;
}

static enum session_result model_outcome(struct pair *pair, struct model *model, int task,
					 uint64_t start, uint64_t end, enum session_outcome outcome)
{
	if (end <= start)
		return SESSION_EMPTY_SPAN;
	if (end > SESSION_RUNES_MAX)
		return SESSION_SPAN_OVERFLOW;
	if (pair->end)
		return SESSION_CLOSED;
	if (task < 0 || task >= (int)model->tasks)
		return model_fail(pair, SESSION_UNKNOWN_TASK);
	if (end > model->received)
		return model_fail(pair, SESSION_OFFSET_PAST_END);
	if (start > model_frontier(model, (unsigned int)task))
		return model_fail(pair, SESSION_NON_CONTIGUOUS_OUTCOME);
	if (outcome == SESSION_CLEARED) {
		for (uint64_t i = MAX(start, model->start); i < end; i++)
			model->cleared[task][i - model->start] = true;
		return SESSION_OK;
	}
	if (outcome == SESSION_DENIED) {
		pair->end = SESSION_DENIED_END;
		return SESSION_OK;
	}
	if (pair->level == SESSION_DEFERRED || model->released)
		return model_fail(pair, SESSION_TRANSFORM_TOO_LATE);
	pair->end = SESSION_REWRITTEN_END;
	return SESSION_OK;
}

static struct session *make(enum session_level level, uint64_t start, size_t request_tasks,
			    size_t response_tasks)
{
	struct session_config config = {
		.level = level,
		.start = {start, start},
		.tasks = {three, three},
		.task_count = {request_tasks, response_tasks},
	};
	struct session *session = NULL;

	assert_int_equal(session_new(&config, &session), SESSION_OK);
	return session;
}

static struct session_state get(const struct session *session)
{
	struct session_state state;

	session_get(session, &state);
	return state;
}

static unsigned int draw(unsigned int *seed, unsigned int below)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (*seed >> 8) % below;
}

static void compare(const struct session *session, const struct pair *pair)
{
	struct session_state state = get(session);

	assert_int_equal(state.end, pair->end);
	if (pair->end == SESSION_FAILED_END)
		assert_int_equal(state.error, pair->error);
	for (int t = 0; t < _SESSION_TRACK_MAX; t++) {
		const struct session_track_state *track = &state.track[t];
		const struct model *model = &pair->track[t];

		assert_int_equal(track->received, model->received);
		assert_int_equal(track->confirmed, model->watermark);
		assert_int_equal(track->pending, model->received - model->watermark);
		assert_int_equal(track->has_release, pair->end == SESSION_OPEN);
		if (!track->has_release)
			continue;
		for (unsigned int k = 0; k < model->tasks; k++)
			assert_true(track->release <= model_frontier(model, k));
	}
}

static void step(struct session *session, struct pair *pair, unsigned int *seed)
{
	enum session_track t = draw(seed, 2) ? SESSION_RESPONSE : SESSION_REQUEST;
	struct model *model = &pair->track[t];
	uint64_t room = MODEL_RUNES - (model->received - model->start), value = 0, mark, before;
	unsigned int op = draw(seed, 100);

	if (op < 30) {
		uint64_t runes = MIN(draw(seed, 12), room);

		if (draw(seed, 60) == 0)
			runes = draw(seed, 2) ? UINT64_MAX : SESSION_RUNES_MAX;
		assert_int_equal(session_observe(session, t, runes, &value),
				 model_observe(pair, model, runes));
	} else if (op < 70) {
		int task = model->tasks ? (int)draw(seed, model->tasks) : 0;
		uint64_t from =
			model->tasks ? model_frontier(model, (unsigned int)task) : model->start;
		uint64_t start = from - MIN(from, draw(seed, 4)), end = start + draw(seed, 12);
		unsigned int luck = draw(seed, 80);
		enum session_outcome outcome = luck == 0   ? SESSION_DENIED
					       : luck == 1 ? SESSION_TRANSFORMED
							   : SESSION_CLEARED;

		if (draw(seed, 12))
			end = MIN(end, model->received);
		if (draw(seed, 50) == 0)
			start += draw(seed, 5);
		if (draw(seed, 80) == 0)
			task = draw(seed, 2) ? 3 : -ENOENT;
		if (draw(seed, 80) == 0)
			end = UINT64_MAX;
		assert_int_equal(session_outcome(session, t, task, start, end, outcome),
				 model_outcome(pair, model, task, start, end, outcome));
	} else if (op < 98) {
		before = model->watermark;
		mark = pair->end ? before : model_watermark(model);
		assert_int_equal(session_advance(session, t, &value), mark > before);
		if (mark > before) {
			assert_int_equal(value, mark);
			model->watermark = mark;
			model->released = true;
		}
	} else if (draw(seed, 6) == 0) {
		assert_int_equal(session_end_of_payloads(session), SESSION_OK);
		pair->closed = true;
	}
}

static void random_sequences_agree_with_the_model(void **state)
{
	static const uint64_t starts[] = {0, 0, 7, SESSION_RUNES_MAX - 20, SESSION_RUNES_MAX};

	(void)state;
	for (unsigned int round = 0; round < 20000; round++) {
		unsigned int seed = round;
		struct pair pair = {.level = (enum session_level)draw(&seed, 3)};
		unsigned int requests = draw(&seed, 4), responses = 1 + draw(&seed, 3);
		uint64_t start = starts[draw(&seed, ARRAY_SIZE(starts))];
		struct session *session = make(pair.level, start, requests, responses);

		pair.track[SESSION_REQUEST].tasks = requests;
		pair.track[SESSION_RESPONSE].tasks = responses;
		for (int t = 0; t < _SESSION_TRACK_MAX; t++) {
			struct model *model = &pair.track[t];

			model->start = model->received = model->watermark = start;
			model->released = start > 0;
		}
		for (unsigned int i = 0; i < 120; i++) {
			step(session, &pair, &seed);
			compare(session, &pair);
		}
		session_free(session);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_sequences_agree_with_the_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
