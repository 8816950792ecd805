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
#include "unit/accounts.h"

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
	unsigned int outputs;
	bool output_cleared[3];
	enum session_end end;
	enum session_result error;
	/* The outcome that ended it. */
	bool ended_output;
	enum session_track ended_track;
	int ended_task;
	uint64_t ended_start, ended_span_end;
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

static enum session_result model_end(struct pair *pair, enum session_end end,
				     enum session_track track, int task, uint64_t start,
				     uint64_t span_end)
{
	pair->end = end;
	pair->ended_track = track;
	pair->ended_task = task;
	pair->ended_start = start;
	pair->ended_span_end = span_end;
	return SESSION_OK;
}

static enum session_result model_outcome(struct pair *pair, enum session_track track, int task,
					 uint64_t start, uint64_t end, enum session_outcome outcome)
{
	struct model *model = &pair->track[track];

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
	if (outcome == SESSION_DENIED)
		return model_end(pair, SESSION_DENIED_END, track, task, start, end);
	if (outcome != SESSION_TRANSFORMED)
		return model_fail(pair, SESSION_VERDICT_INVALID);
	if (pair->level == SESSION_DEFERRED || model->released)
		return model_fail(pair, SESSION_TRANSFORM_TOO_LATE);
	return model_end(pair, SESSION_REWRITTEN_END, track, task, start, end);
}

static enum session_result model_output(struct pair *pair, int task, enum session_outcome outcome)
{
	if (pair->end)
		return SESSION_CLOSED;
	if (task < 0 || task >= (int)pair->outputs)
		return model_fail(pair, SESSION_UNKNOWN_TASK);
	if (!pair->closed)
		return model_fail(pair, SESSION_OUTPUT_TOO_EARLY);
	if (outcome == SESSION_CLEARED) {
		pair->output_cleared[task] = true;
		return SESSION_OK;
	}
	if (outcome == SESSION_DENIED) {
		pair->ended_output = true;
		return model_end(pair, SESSION_DENIED_END, SESSION_RESPONSE, task, 0, 0);
	}
	return model_fail(pair, outcome == SESSION_TRANSFORMED ? SESSION_TRANSFORM_TOO_LATE
							       : SESSION_VERDICT_INVALID);
}

static enum session_result model_finish(struct pair *pair)
{
	if (pair->end)
		return SESSION_CLOSED;
	for (int t = 0; t < _SESSION_TRACK_MAX; t++)
		if (model_watermark(&pair->track[t]) < pair->track[t].received)
			return model_fail(pair, SESSION_UNCLEARED_RESIDUE);
	for (unsigned int i = 0; i < pair->outputs; i++)
		if (!pair->output_cleared[i])
			return SESSION_OUTPUT_PENDING;
	for (int t = 0; t < _SESSION_TRACK_MAX; t++)
		pair->track[t].watermark = pair->track[t].received;
	pair->end = SESSION_COMPLETE_END;
	return SESSION_OK;
}

static void compare(const struct session *session, const struct pair *pair, uint64_t emitted)
{
	struct session_state state = accounts_state(session);

	assert_int_equal(state.end, pair->end);
	if (pair->end == SESSION_FAILED_END)
		assert_int_equal(state.error, pair->error);
	assert_int_equal(state.ended_output, pair->ended_output);
	assert_int_equal(state.ended_track, pair->ended_track);
	assert_int_equal(state.ended_task, pair->ended_task);
	assert_int_equal(state.ended_start, pair->ended_start);
	assert_int_equal(state.ended_span_end, pair->ended_span_end);
	for (int t = 0; t < _SESSION_TRACK_MAX; t++) {
		const struct session_track_state *track = &state.track[t];
		const struct model *model = &pair->track[t];

		assert_int_equal(track->start, model->start);
		assert_int_equal(track->received, model->received);
		assert_int_equal(track->confirmed, model->watermark);
		assert_int_equal(track->pending, model->received - model->watermark);
		assert_int_equal(track->has_release, pair->end == SESSION_OPEN);
		assert_int_equal(session_persistable(&state, t, emitted),
				 MAX(model->start, MIN(model->watermark, emitted)));
		if (!track->has_release)
			continue;
		for (unsigned int k = 0; k < model->tasks; k++)
			assert_true(track->release <= model_frontier(model, k));
	}
}

static void step_observe(struct session *session, struct pair *pair, enum session_track t,
			 unsigned int *seed)
{
	struct model *model = &pair->track[t];
	uint64_t room = MODEL_RUNES - (model->received - model->start), value;
	uint64_t runes = MIN(accounts_draw(seed, 12), room);

	if (accounts_draw(seed, 60) == 0)
		runes = accounts_draw(seed, 2) ? UINT64_MAX : SESSION_RUNES_MAX;
	assert_int_equal(session_observe(session, t, runes, &value),
			 model_observe(pair, model, runes));
}

static void step_outcome(struct session *session, struct pair *pair, enum session_track t,
			 unsigned int *seed)
{
	struct model *model = &pair->track[t];
	int task = model->tasks ? (int)accounts_draw(seed, model->tasks) : 0;
	uint64_t from = model->tasks ? model_frontier(model, (unsigned int)task) : model->start;
	uint64_t start = from - MIN(from, accounts_draw(seed, 4)),
		 end = start + accounts_draw(seed, 12);
	enum session_outcome outcome = accounts_draw_outcome(seed);

	if (accounts_draw(seed, 12))
		end = MIN(end, model->received);
	if (accounts_draw(seed, 50) == 0)
		start += accounts_draw(seed, 5);
	if (accounts_draw(seed, 80) == 0)
		task = accounts_draw(seed, 2) ? 3 : -ENOENT;
	if (accounts_draw(seed, 80) == 0)
		end = UINT64_MAX;
	assert_int_equal(session_outcome(session, t, task, start, end, outcome),
			 model_outcome(pair, t, task, start, end, outcome));
}

static void step_advance(struct session *session, struct pair *pair, enum session_track t)
{
	struct model *model = &pair->track[t];
	uint64_t before = model->watermark, mark = pair->end ? before : model_watermark(model);
	uint64_t value = 0;

	assert_int_equal(session_advance(session, t, &value), mark > before);
	if (mark > before) {
		assert_int_equal(value, mark);
		model->watermark = mark;
		model->released = true;
	}
}

static void step_output(struct session *session, struct pair *pair, unsigned int *seed)
{
	int task = (int)accounts_draw(seed, 4) - (accounts_draw(seed, 20) == 0);
	enum session_outcome outcome =
		accounts_draw(seed, 12) ? accounts_draw_outcome(seed) : SESSION_DENIED;

	assert_int_equal(session_output(session, task, outcome), model_output(pair, task, outcome));
}

/* The rare ones, most of which end the session. */
static void step_end(struct session *session, struct pair *pair, unsigned int *seed)
{
	switch (accounts_draw(seed, 24)) {
	case 0:
		assert_int_equal(session_finish(session), model_finish(pair));
		break;
	case 1:
		session_fail(session, SESSION_DISCONNECTED);
		if (!pair->end)
			model_fail(pair, SESSION_DISCONNECTED);
		break;
	case 2:
		step_output(session, pair, seed);
		break;
	case 3:
	case 4:
		assert_int_equal(session_end_of_payloads(session), SESSION_OK);
		pair->closed = true;
		break;
	}
}

static void step(struct session *session, struct pair *pair, unsigned int *seed)
{
	enum session_track t = accounts_draw(seed, 2) ? SESSION_RESPONSE : SESSION_REQUEST;
	unsigned int op = accounts_draw(seed, 100);

	if (op < 30)
		step_observe(session, pair, t, seed);
	else if (op < 70)
		step_outcome(session, pair, t, seed);
	else if (op < 95)
		step_advance(session, pair, t);
	else
		step_end(session, pair, seed);
}

/* Clears what is left, ends the payloads, lets tasks of `output` answer, and finishes. */
static void settle(struct session *session, struct pair *pair, unsigned int *seed)
{
	for (int t = 0; t < _SESSION_TRACK_MAX; t++) {
		struct model *model = &pair->track[t];

		for (unsigned int k = 0; k < model->tasks; k++) {
			uint64_t start = model_frontier(model, k);

			assert_int_equal(session_outcome(session, t, (int)k, start, model->received,
							 SESSION_CLEARED),
					 model_outcome(pair, t, (int)k, start, model->received,
						       SESSION_CLEARED));
		}
	}
	assert_int_equal(session_end_of_payloads(session), SESSION_OK);
	pair->closed = true;
	for (unsigned int i = 0; i < 6; i++) {
		step_output(session, pair, seed);
		compare(session, pair, accounts_draw(seed, 200));
		assert_int_equal(session_finish(session), model_finish(pair));
		compare(session, pair, accounts_draw(seed, 200));
	}
}

static void random_sequences_agree_with_the_model(void **state)
{
	static const uint64_t starts[] = {0, 0, 7, SESSION_RUNES_MAX - 20, SESSION_RUNES_MAX};
	unsigned int ends[_SESSION_END_MAX] = {0}, output_denials = 0;

	(void)state;
	for (unsigned int round = 0; round < 20000; round++) {
		unsigned int seed = round;
		struct pair pair = {.level = (enum session_level)accounts_draw(&seed, 3)};
		struct accounts accounts = {
			.level = pair.level,
			.start = starts[accounts_draw(&seed, ARRAY_SIZE(starts))],
			.request_tasks = accounts_draw(&seed, 4),
			.response_tasks = 1 + accounts_draw(&seed, 3),
			.output_tasks = accounts_draw(&seed, 2) ? accounts_draw(&seed, 4) : 0,
		};
		struct session *session = accounts_new(accounts);

		pair.track[SESSION_REQUEST].tasks = (unsigned int)accounts.request_tasks;
		pair.track[SESSION_RESPONSE].tasks = (unsigned int)accounts.response_tasks;
		pair.outputs = (unsigned int)accounts.output_tasks;
		for (int t = 0; t < _SESSION_TRACK_MAX; t++) {
			struct model *model = &pair.track[t];

			model->start = model->received = model->watermark = accounts.start;
			model->released = accounts.start > 0;
		}
		for (unsigned int i = accounts_draw(&seed, 4) ? 0 : 90; i < 120; i++) {
			step(session, &pair, &seed);
			compare(session, &pair, accounts.start + accounts_draw(&seed, 200));
		}
		settle(session, &pair, &seed);
		ends[pair.end]++;
		output_denials += pair.ended_output;
		session_free(session);
	}
	/* The sequences reach every end, or they show nothing. */
	for (int end = SESSION_COMPLETE_END; end < _SESSION_END_MAX; end++)
		assert_in_range(ends[end], 100, 20000);
	assert_in_range(output_denials, 20, 20000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_sequences_agree_with_the_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
