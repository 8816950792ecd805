/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks that evaluate elsewhere: messages and flows that wait for verdicts, in every order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "core/pipeline_progress.h"
#include "core/terms.h"
#include "unit/allocation.h"
#include "unit/asking.h"
#include "unit/ws_script.h"

#define FIRST  "GET /one HTTP/1.1\r\nHost: a\r\n\r\n"
#define SECOND "POST /two HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nword"

/* Of requests sent one behind the other each waits for the verdicts of the one before. */
static void the_next_message_waits(void **state)
{
	static const char data[] = FIRST SECOND;
	struct asking asking;

	(void)state;
	asking_begin(&asking_requests, data, LEN(data), &asking);
	asking_feed(&asking, LEN(data));
	assert_int_equal(asking.fault, FAULT_NONE);
	assert_int_equal(asking.taken, LEN(FIRST));
	assert_int_equal(asking.count, 1);
	assert_string_equal(asking.asked[0].text, "GET /one HTTP/1.1\nHost: a");
	assert_true(pipeline_waits(asking.pipeline));
	assert_int_equal(asking.ended_count, 0);
	/* Nothing is taken, and nothing is at fault. */
	asking_feed(&asking, LEN(SECOND));
	assert_int_equal(asking.taken, LEN(FIRST));
	asking_answer(&asking, 0, &asking_allow);
	assert_int_equal(pipeline_released(asking.pipeline), LEN(FIRST));
	assert_int_equal(asking.ended_count, 1);
	assert_int_equal(asking.ended[0], SESSION_COMPLETE_END);
	assert_false(pipeline_waits(asking.pipeline));
	asking_feed(&asking, LEN(SECOND));
	assert_int_equal(asking.taken, LEN(data));
	/* The flow may end while the last message waits. */
	asking_end(&asking);
	assert_int_equal(asking.fault, FAULT_NONE);
	assert_int_equal(asking.ended_count, 1);
	asking_allow_all(&asking);
	assert_int_equal(asking.fault, FAULT_NONE);
	assert_int_equal(pipeline_released(asking.pipeline), LEN(data));
	assert_int_equal(asking.ended_count, 2);
	assert_int_equal(asking.ended[1], SESSION_COMPLETE_END);
	asking_done(&asking);
}

static void the_second_message_is_denied_alone(void **state)
{
	static const char data[] = FIRST SECOND;
	struct asking asking;

	(void)state;
	asking_begin(&asking_requests, data, LEN(data), &asking);
	asking_feed(&asking, LEN(data));
	asking_answer(&asking, 0, &asking_allow);
	asking_feed(&asking, LEN(SECOND));
	assert_true(asking.open > 0);
	asking_answer(&asking, asking.count - 1, &asking_deny);
	assert_int_equal(asking.fault, FAULT_BLOCKED);
	assert_int_equal(pipeline_released(asking.pipeline), LEN(FIRST));
	exchanges_fail(asking.exchanges, SESSION_FRAMING_FAULT);
	assert_int_equal(asking.ended_count, 2);
	assert_int_equal(asking.ended[0], SESSION_COMPLETE_END);
	assert_int_equal(asking.ended[1], SESSION_DENIED_END);
	asking_done(&asking);
}

/* The flow ends, and its one response waits for verdicts. */
static void ends_once_judged(struct asking *asking)
{
	asking_end(asking);
	assert_int_equal(asking->fault, FAULT_NONE);
	assert_true(pipeline_waits(asking->pipeline));
	asking_allow_all(asking);
	assert_int_equal(asking->fault, FAULT_NONE);
	assert_false(pipeline_waits(asking->pipeline));
	assert_int_equal(pipeline_released(asking->pipeline), asking->len);
	assert_int_equal(asking->ended_count, 1);
	assert_int_equal(asking->ended[0], SESSION_COMPLETE_END);
	asking_done(asking);
}

/* A response whose end is that of its connection. */
static void a_response_that_ends_with_the_flow_waits(void **state)
{
	static const char data[] = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nword";
	struct asking asking;

	(void)state;
	asking_begin(&asking_responses, data, LEN(data), &asking);
	asking_feed(&asking, LEN(data));
	asking_allow_all(&asking);
	ends_once_judged(&asking);
}

/* Its message has ended before the flow does, and is judged after that. */
static void a_response_may_wait_when_its_flow_ends(void **state)
{
	static const char data[] = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n"
				   "Content-Type: text/plain\r\n\r\nword";
	struct asking asking;

	(void)state;
	asking_begin(&asking_responses, data, LEN(data), &asking);
	asking_feed(&asking, LEN(data));
	assert_int_equal(asking.taken, LEN(data));
	ends_once_judged(&asking);
}

/* The head of a WebSocket is a message, and its first frame waits for that one's verdicts. */
static void a_websocket_begins_behind_its_head(void **state)
{
	static const char data[] = WS_AGREES "\r\n\x81\x04word\x81\x04more";
	const size_t head = LEN(WS_AGREES "\r\n");
	struct asking_config config = asking_responses;
	struct asking asking;

	(void)state;
	config.websocket = true;
	config.extract = (struct extract){.kind = EXTRACT_RAW, .join_unit = true};
	asking_begin(&config, data, LEN(data), &asking);
	asking_feed(&asking, LEN(data));
	assert_int_equal(asking.fault, FAULT_NONE);
	assert_int_equal(asking.taken, head);
	asking_allow_all(&asking);
	assert_int_equal(pipeline_released(asking.pipeline), head);
	asking_feed(&asking, LEN(data) - head);
	assert_int_equal(asking.fault, FAULT_NONE);
	assert_string_equal(asking.asked[asking.count - 2].text, "word");
	assert_int_equal(pipeline_released(asking.pipeline), head);
	asking_answer(&asking, asking.count - 2, &asking_allow);
	assert_int_equal(pipeline_released(asking.pipeline), head + 6);
	asking_end(&asking);
	assert_true(pipeline_waits(asking.pipeline));
	asking_allow_all(&asking);
	assert_int_equal(asking.fault, FAULT_NONE);
	assert_int_equal(pipeline_released(asking.pipeline), LEN(data));
	asking_done(&asking);
	/* The flow may end before the head is judged. */
	asking_begin(&config, data, head, &asking);
	asking_feed(&asking, head);
	asking_end(&asking);
	assert_int_equal(asking.fault, FAULT_NONE);
	asking_allow_all(&asking);
	assert_int_equal(asking.fault, FAULT_NONE);
	assert_int_equal(pipeline_released(asking.pipeline), head);
	asking_done(&asking);
}

static void a_message_is_released_whole_under_complete(void **state)
{
	static const char data[] = "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\n"
				   "Content-Length: 22\r\n\r\n{\"a\":\"b\"}\n{\"a\":\"cde\"}\n";
	struct asking_config config = asking_responses;
	struct asking asking;

	(void)state;
	config.level = SESSION_COMPLETE;
	asking_begin(&config, data, LEN(data), &asking);
	asking_feed(&asking, LEN(data));
	assert_int_equal(asking.fault, FAULT_NONE);
	assert_true(asking.open > 1);
	while (asking.open > 1) {
		size_t i = 0;

		while (asking.asked[i].answered)
			i++;
		asking_answer(&asking, i, &asking_allow);
		assert_int_equal(pipeline_released(asking.pipeline), 0);
	}
	asking_allow_all(&asking);
	assert_int_equal(pipeline_released(asking.pipeline), LEN(data));
	assert_int_equal(asking.ended[0], SESSION_COMPLETE_END);
	asking_done(&asking);
}

#define SSE \
	"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
#define EVENT(t) "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" t "\"}}]}\n\n"

/* Tokens of a chat: the content is a channel of its own, that goes on over the events. */
static void events_go_on_in_their_channel(void **state)
{
	static const char data[] = SSE "3c\r\n" EVENT("a bo") "\r\n3b\r\n" EVENT(
		"mb ") "\r\ne\r\ndata: [DONE]\n\n\r\n0\r\n\r\n";
	struct asking asking;
	bool seen = false;

	(void)state;
	for (unsigned int seed = 0; seed < 100; seed++) {
		asking_begin(&asking_responses, data, LEN(data), &asking);
		while (!asking.fault && asking.taken < LEN(data) &&
		       !pipeline_waits(asking.pipeline))
			asking_feed(&asking, MIN(LEN(data) - asking.taken, seed + 1));
		asking_run(&asking);
		assert_int_equal(asking.fault, FAULT_NONE);
		assert_int_equal(pipeline_released(asking.pipeline), LEN(data));
		for (size_t i = 0; i < asking.count; i++)
			seen |= strcmp(asking.asked[i].text, "a bomb ") == 0;
		assert_true(seen);
		asking_done(&asking);
		asking_run_random(&asking_responses, data, LEN(data), seed, &asking);
		assert_int_equal(asking.fault, FAULT_BLOCKED);
		asking_done(&asking);
	}
}

/* Each allocation failing in turn: that, nothing leaves unjudged, and nothing leaks. */
static void memory_that_is_short_fails_closed(void **state)
{
	static const char data[] = "{\"t\":\"abcd\"}\n{\"u\":\"e\",\"t\":\"f\\ud83d\\ude00\"}\n";
	struct asking asking;
	bool failed = true;

	(void)state;
	for (unsigned long n = 0; failed; n++) {
		asking_begin(&asking_lines, data, LEN(data), &asking);
		allocation_fail_at(n);
		asking_feed(&asking, LEN(data));
		if (!asking.fault)
			asking_end(&asking);
		failed = allocation_failed();
		assert_int_equal(asking.fault, failed ? FAULT_NO_MEMORY : FAULT_NONE);
		assert_int_equal(pipeline_released(asking.pipeline), 0);
		asking_done(&asking);
		assert_true(n < 10000);
	}
}

static void deferred_releases_first_and_ends_on_a_denial(void **state)
{
	static const char data[] = "{\"t\":\"abcd\"}\n{\"t\":\"efgh\"}\n";
	struct asking_config config = asking_lines;
	struct session_state session;
	struct asking asking;

	(void)state;
	config.level = SESSION_DEFERRED;
	asking_begin(&config, data, LEN(data), &asking);
	asking_feed(&asking, LEN(data));
	assert_int_equal(pipeline_released(asking.pipeline), LEN(data));
	asking_answer(&asking, 1, &asking_deny);
	assert_int_equal(asking.fault, FAULT_BLOCKED);
	session_get(asking.session, &session);
	assert_int_equal(session.end, SESSION_DENIED_END);
	asking_done(&asking);
}

/* No more units are held than may be: the rest is taken once verdicts came. */
static void units_that_wait_are_bounded(void **state)
{
	struct asking_config config = asking_lines;
	struct asking asking;
	char data[4096];
	size_t len = 0;

	(void)state;
	for (int i = 0; i < 100; i++)
		len += (size_t)snprintf(data + len, sizeof(data) - len, "{\"t\":\"abcd\"}\n");
	config.max_pending_units = 16;
	asking_begin(&config, data, len, &asking);
	asking_feed(&asking, len);
	assert_int_equal(asking.fault, FAULT_NONE);
	assert_int_equal(pipeline_pending(asking.pipeline), 16);
	assert_true(asking.taken < len / 4);
	assert_true(pipeline_waits(asking.pipeline));
	asking_run(&asking);
	assert_int_equal(asking.fault, FAULT_NONE);
	assert_int_equal(pipeline_released(asking.pipeline), len);
	asking_done(&asking);
}

static void in_every_order_the_same_is_denied(void **state)
{
	/* The word is cut over units, and its last rune comes with the third. */
	static const char data[] =
		"{\"t\":\"a bo\"}\n{\"t\":\"m\"}\n{\"t\":\"b x\"}\n{\"t\":\"y\"}\n";
	static const char good[] =
		"{\"t\":\"a bo\"}\n{\"t\":\"m\"}\n{\"t\":\"c x\"}\n{\"t\":\"y\"}\n";
	struct asking asking;

	(void)state;
	for (unsigned int seed = 0; seed < 400; seed++) {
		struct asking_config config = asking_lines;

		config.spans = seed & 1 ? &asking_by_unit : &asking_spans;
		asking_run_random(&config, data, LEN(data), seed, &asking);
		assert_int_equal(asking.fault, FAULT_BLOCKED);
		assert_true(pipeline_released(asking.pipeline) <= 23);
		asking_done(&asking);
		asking_run_random(&config, good, LEN(good), seed, &asking);
		assert_int_equal(asking.fault, FAULT_NONE);
		assert_int_equal(pipeline_released(asking.pipeline), LEN(good));
		asking_done(&asking);
	}
}

static void in_every_order_requests_end_in_theirs(void **state)
{
	static const char data[] = FIRST SECOND FIRST;
	static const char bad[] =
		FIRST "POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbomb" FIRST;
	struct asking asking;

	(void)state;
	for (unsigned int seed = 0; seed < 400; seed++) {
		asking_run_random(&asking_requests, data, LEN(data), seed, &asking);
		assert_int_equal(asking.fault, FAULT_NONE);
		assert_int_equal(asking.ended_count, 3);
		assert_int_equal(pipeline_released(asking.pipeline), LEN(data));
		asking_done(&asking);
		asking_run_random(&asking_requests, bad, LEN(bad), seed, &asking);
		assert_int_equal(asking.fault, FAULT_BLOCKED);
		assert_int_equal(asking.ended_count, 1);
		asking_done(&asking);
	}
}

/* Matchers and evaluators gate one track: the watermark is the lowest of theirs. */
static void terms_gate_beside_it(void **state)
{
	static const char data[] = "{\"t\":\"abcd\"}\n{\"t\":\"efgh\"}\n{\"t\":\"bomb\"}\n";
	static const char *const both[] = {"judge", "words"};
	struct session_config session = {.tasks = {[SESSION_RESPONSE] = both},
					 .task_count = {[SESSION_RESPONSE] = 2}};
	struct pipeline_task tasks[2] = {{.name = "judge", .spans = &asking_spans},
					 {.name = "words"}};
	struct pipeline_config config;
	struct terms *terms = NULL;
	struct asking asking = {0};
	struct pipeline_work work;
	size_t bad, used;

	(void)state;
	assert_int_equal(terms_new((const char *const[]){"bomb"}, 1, 0, &bad, &terms), 0);
	tasks[1].matcher.terms = terms;
	assert_int_equal(session_new(&session, &asking.session), SESSION_OK);
	config = asking_configure(&asking_lines, &asking);
	config.tasks = tasks;
	config.task_count = 2;
	assert_int_equal(pipeline_new(&config, &asking.pipeline), 0);
	assert_int_equal(pipeline_take(asking.pipeline, (const uint8_t *)data, 26, &used),
			 FAULT_NONE);
	assert_int_equal(pipeline_released(asking.pipeline), 0);
	while (pipeline_work(asking.pipeline, &work))
		assert_int_equal(
			pipeline_verdict(asking.pipeline, &work, SESSION_OK, &asking_allow),
			FAULT_NONE);
	assert_int_equal(pipeline_released(asking.pipeline), 26);
	assert_int_equal(pipeline_take(asking.pipeline, (const uint8_t *)data + 26, 13, &used),
			 FAULT_BLOCKED);
	assert_string_equal(pipeline_denial(asking.pipeline)->task, "words");
	assert_null(pipeline_denial(asking.pipeline)->reason);
	asking_done(&asking);
	/* One way of evaluating, and one alone. */
	asking = (struct asking){0};
	assert_int_equal(session_new(&session, &asking.session), SESSION_OK);
	config.session = asking.session;
	tasks[0].matcher.terms = terms;
	assert_int_equal(pipeline_new(&config, &asking.pipeline), -EINVAL);
	tasks[0].matcher.terms = NULL;
	tasks[0].spans = NULL;
	assert_int_equal(pipeline_new(&config, &asking.pipeline), -EINVAL);
	asking_done(&asking);
	terms_free(terms);
}

/* A rune that an escape spells in two halves is one, in the middle of its text. */
static void a_rune_in_two_halves_is_whole(void **state)
{
	static const char data[] = "{\"a\":\"x\\ud83d\\ude00y\"}\n";
	struct asking_config config = asking_lines;
	struct asking asking;

	(void)state;
	config.extract = (struct extract){.kind = EXTRACT_AUTO};
	config.spans = &asking_by_unit;
	for (size_t cut = 1; cut < LEN(data); cut++) {
		asking_begin(&config, data, LEN(data), &asking);
		asking_feed(&asking, cut);
		asking_run(&asking);
		assert_int_equal(asking.fault, FAULT_NONE);
		assert_int_equal(asking.count, 2);
		assert_string_equal(asking.asked[0].text, "a\nx\xf0\x9f\x98\x80y");
		asking_done(&asking);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_next_message_waits),
		cmocka_unit_test(the_second_message_is_denied_alone),
		cmocka_unit_test(a_response_that_ends_with_the_flow_waits),
		cmocka_unit_test(a_response_may_wait_when_its_flow_ends),
		cmocka_unit_test(a_websocket_begins_behind_its_head),
		cmocka_unit_test(a_message_is_released_whole_under_complete),
		cmocka_unit_test(events_go_on_in_their_channel),
		cmocka_unit_test(memory_that_is_short_fails_closed),
		cmocka_unit_test(deferred_releases_first_and_ends_on_a_denial),
		cmocka_unit_test(units_that_wait_are_bounded),
		cmocka_unit_test(in_every_order_the_same_is_denied),
		cmocka_unit_test(in_every_order_requests_end_in_theirs),
		cmocka_unit_test(terms_gate_beside_it),
		cmocka_unit_test(a_rune_in_two_halves_is_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
