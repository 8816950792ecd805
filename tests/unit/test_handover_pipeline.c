/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pipelines and exchanges that go on where others stopped, between two messages or in the head of
 * one: they come to what those would have come to.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/exchange.h"
#include "core/pipeline.h"
#include "core/terms.h"

static const char *const names[] = {"words"};
static const char request[] = "POST /a HTTP/1.1\r\nHost: h\r\nContent-Type: text/plain\r\n"
			      "Content-Length: 5\r\n\r\nhello";
static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
			     "Content-Length: 4\r\n\r\nfine";
#define REQUEST_LEN (sizeof(request) - 1)
#define ANSWER_LEN  (sizeof(answer) - 1)

/* A stream, and the sessions that it told of. */
struct side {
	struct exchanges *exchanges;
	struct pipeline *flows[_SESSION_TRACK_MAX];
	uint64_t first, begun, ended;
	bool given; /* the other has its sessions */
};

static void on_begin(void *context, uint64_t number, const struct session *session)
{
	struct side *side = context;

	(void)session;
	assert_int_equal(number, side->first + side->begun++);
}

static void on_end(void *context, uint64_t number, const struct session *session,
		   const struct session_state *state)
{
	struct side *side = context;

	(void)session;
	if (side->given)
		return;
	assert_int_equal(number, side->first + side->ended++);
	assert_int_equal(state->end, SESSION_COMPLETE_END);
}

static void make(struct side *side, const struct pipeline_task *task, const struct side *before)
{
	const struct exchanges_config exchanges = {
		.session = {.tasks = {names, names}, .task_count = {1, 1}},
		.on_begin = on_begin,
		.on_end = on_end,
		.context = side,
		.first = before ? exchanges_next(before->exchanges) -
					  exchanges_open(before->exchanges)
				: 0,
	};

	*side = (struct side){.first = exchanges.first};
	assert_int_equal(exchanges_new(&exchanges, &side->exchanges), 0);
	for (int track = 0; track < _SESSION_TRACK_MAX; track++) {
		const struct pipeline *flow = before ? before->flows[track] : NULL;
		const struct pipeline_config config = {
			.framing = {.kind = FRAMING_HTTP1},
			.extract = {.kind = EXTRACT_RAW},
			.max_message = 1 << 20,
			.max_pending_units = 1000,
			.track = (enum session_track)track,
			.exchanges = side->exchanges,
			.tasks = task,
			.task_count = 1,
			.start = flow ? pipeline_framed(flow) : 0,
			.start_runes = flow ? pipeline_released_runes(flow) : 0,
			.start_released_runes = flow ? pipeline_released_runes(flow) : 0,
		};

		assert_int_equal(pipeline_new(&config, &side->flows[track]), 0);
	}
}

static void done(struct side *side)
{
	side->given = true;
	for (int track = 0; track < _SESSION_TRACK_MAX; track++)
		pipeline_free(side->flows[track]);
	exchanges_free(side->exchanges);
}

static void feed(struct side *side, enum session_track track, const char *text, size_t len)
{
	assert_int_equal(pipeline_feed(side->flows[track], (const uint8_t *)text, len), FAULT_NONE);
}

static struct pipeline_task make_task(struct terms **ret_terms)
{
	static const char *const list[] = {"forbidden"};

	assert_int_equal(terms_new(list, 1, 0, NULL, ret_terms), 0);
	return (struct pipeline_task){.name = names[0], .matcher = {.terms = *ret_terms}};
}

/* One exchange, so much of the next request, the handover, and the rest. */
static void check_cut(const struct pipeline_task *task, size_t cut)
{
	struct side before, after, whole;

	make(&before, task, NULL);
	make(&whole, task, NULL);
	feed(&before, SESSION_REQUEST, request, REQUEST_LEN);
	assert_false(exchanges_repeat(before.exchanges));
	feed(&before, SESSION_RESPONSE, answer, ANSWER_LEN - 1);
	assert_false(exchanges_repeat(before.exchanges));
	feed(&before, SESSION_RESPONSE, answer + ANSWER_LEN - 1, 1);
	assert_true(exchanges_repeat(before.exchanges));
	feed(&before, SESSION_REQUEST, request, cut);
	assert_true(exchanges_repeat(before.exchanges));
	assert_int_equal(pipeline_released(before.flows[SESSION_REQUEST]), REQUEST_LEN);
	make(&after, task, &before);
	assert_int_equal(pipeline_received(after.flows[SESSION_REQUEST]), REQUEST_LEN);
	assert_int_equal(pipeline_released(after.flows[SESSION_REQUEST]), REQUEST_LEN);
	assert_int_equal(pipeline_released(after.flows[SESSION_RESPONSE]), ANSWER_LEN);
	feed(&after, SESSION_REQUEST, request, cut);
	feed(&after, SESSION_REQUEST, request + cut, REQUEST_LEN - cut);
	feed(&after, SESSION_RESPONSE, answer, ANSWER_LEN);
	for (int i = 0; i < 2; i++) {
		feed(&whole, SESSION_REQUEST, request, REQUEST_LEN);
		feed(&whole, SESSION_RESPONSE, answer, ANSWER_LEN);
	}
	for (int track = 0; track < _SESSION_TRACK_MAX; track++) {
		const struct pipeline *a = after.flows[track], *w = whole.flows[track];

		assert_int_equal(pipeline_released(a), pipeline_released(w));
		assert_int_equal(pipeline_framed(a), pipeline_framed(w));
		assert_int_equal(pipeline_runes(a), pipeline_runes(w));
		assert_int_equal(pipeline_released_runes(a), pipeline_released_runes(w));
	}
	assert_int_equal(after.begun, 1);
	assert_int_equal(after.ended, 1);
	assert_int_equal(exchanges_next(after.exchanges), 2);
	done(&before);
	done(&after);
	done(&whole);
}

static void others_go_on_from_each_byte_of_a_head(void **state)
{
	const size_t head = (size_t)(strstr(request, "\r\n\r\n") - request) + 4;
	struct terms *terms;
	const struct pipeline_task task = make_task(&terms);

	(void)state;
	for (size_t cut = 0; cut < head; cut++)
		check_cut(&task, cut);
	terms_free(terms);
}

static void a_whole_head_does_not_repeat(void **state)
{
	const size_t head = (size_t)(strstr(request, "\r\n\r\n") - request) + 4;
	struct terms *terms;
	const struct pipeline_task task = make_task(&terms);
	struct side side;

	(void)state;
	make(&side, &task, NULL);
	assert_true(exchanges_repeat(side.exchanges));
	feed(&side, SESSION_REQUEST, request, head - 1);
	assert_true(exchanges_repeat(side.exchanges));
	feed(&side, SESSION_REQUEST, request + head - 1, 1);
	assert_false(exchanges_repeat(side.exchanges));
	feed(&side, SESSION_REQUEST, request + head, REQUEST_LEN - head);
	feed(&side, SESSION_RESPONSE, answer, ANSWER_LEN);
	/* Nor do those that something has ended. */
	exchanges_fail(side.exchanges, SESSION_DISCONNECTED);
	assert_false(exchanges_repeat(side.exchanges));
	done(&side);
	terms_free(terms);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(others_go_on_from_each_byte_of_a_head),
		cmocka_unit_test(a_whole_head_does_not_repeat),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
