/* SPDX-License-Identifier: Apache-2.0 */
/* Safety levels through a pipeline: what leaves when, and where a denial cuts; in every cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "core/session.h"
#include "core/terms.h"
#include "unit/flow.h"
#include "unit/streamed.h"
#include "unit/ws_script.h"

#define JSON OK "Content-Type: application/json\r\n"
#define POST "POST /v1 HTTP/1.1\r\nHost: a\r\n"

static const struct flow_config requests = {
	.framing = {.kind = FRAMING_HTTP1},
	.extract = {.kind = EXTRACT_AUTO},
	.terms = {{"bomb"}},
	.level = SESSION_COMPLETE,
	.request = true,
};
/* After every byte from one number on to another: so much is released, a refusal goes there. */
static void stays(const struct flow *flow, size_t from, size_t to, uint64_t released,
		  enum refusal_place place)
{
	for (size_t i = from; i <= to; i++) {
		assert_int_equal(flow_at(flow, i)->released, released);
		assert_int_equal(flow_at(flow, i)->mark.place, place);
	}
}

static void complete_holds_a_body_with_its_head(void **state)
{
	static const char data[] = STREAM ONE "7\r\n: ping\n\r\n1\r\n\n\r\n" ONE LAST;
	const struct flow_config config = answers(SESSION_COMPLETE, 1);
	struct flow flow;

	(void)state;
	flow_run_to(&config, data, FAULT_NONE, LEN(data), &flow);
	stays(&flow, 0, LEN(data) - 1, 0, REFUSAL_MESSAGE);
	stays(&flow, LEN(data), LEN(data), LEN(data), REFUSAL_MESSAGE);
	/* Between two events there is no partial message, whatever is held. */
	assert_int_equal(flow_at(&flow, LEN(STREAM ONE))->partial, 0);
	assert_int_equal(flow.sessions[0].end, SESSION_COMPLETE_END);
	flow_done(&flow);
	/* Also one that ends with the connection, and one that is a document. */
	flow_run_to(&config, OK "Content-Type: text/event-stream\r\n\r\ndata: a\n\n", FAULT_NONE,
		    LEN(OK "Content-Type: text/event-stream\r\n\r\ndata: a\n\n"), &flow);
	stays(&flow, 0, flow.framed, 0, REFUSAL_MESSAGE);
	flow_done(&flow);
	flow_clean(&config, JSON "Content-Length: 4\r\n\r\n[10]");
}

static void complete_withholds_all_of_what_is_denied(void **state)
{
	const struct flow_config one = answers(SESSION_COMPLETE, 1);
	const struct flow_config two = answers(SESSION_COMPLETE, 2);
	struct flow flow;

	(void)state;
	flow_run_to(&one, STREAM ONE ONE BOMB LAST, FAULT_BLOCKED, 0, &flow);
	stays(&flow, 0, LEN(STREAM ONE ONE BOMB LAST), 0, REFUSAL_MESSAGE);
	assert_int_equal(flow.sessions[0].end, SESSION_DENIED_END);
	assert_true(flow.sessions[0].confirmed > 0);
	flow_done(&flow);
	flow_ends(&one, STREAM ONE "3\r\nda", FAULT_TRUNCATED, 0);
	/* The message before has left. */
	flow_run_to(&two, STREAM ONE LAST STREAM ONE BOMB LAST, FAULT_BLOCKED, LEN(STREAM ONE LAST),
		    &flow);
	stays(&flow, LEN(STREAM ONE LAST), LEN(STREAM ONE LAST STREAM ONE), LEN(STREAM ONE LAST),
	      REFUSAL_MESSAGE);
	assert_int_equal(flow.sessions[0].end, SESSION_COMPLETE_END);
	assert_int_equal(flow.sessions[1].end, SESSION_DENIED_END);
	flow_done(&flow);
}

/* What somebody waits for goes ahead of what it is waited with. */
static void complete_lets_go_what_is_waited_for(void **state)
{
	static const char interim[] = "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n";
	static const char expects[] = POST "Expect: 100-continue\r\n"
					   "Content-Type: text/event-stream\r\n" CHUNKED "\r\n";
	static const char plain[] = POST "Content-Type: text/event-stream\r\n" CHUNKED "\r\n";
	const struct flow_config one = answers(SESSION_COMPLETE, 1);
	char data[512];
	struct flow flow;

	(void)state;
	snprintf(data, sizeof(data), "%s%s", interim, STREAM ONE LAST);
	flow_run_to(&one, data, FAULT_NONE, strlen(data), &flow);
	stays(&flow, LEN(interim), strlen(data) - 1, LEN(interim), REFUSAL_MESSAGE);
	flow_done(&flow);
	snprintf(data, sizeof(data), "%s%s", expects, ONE ONE LAST);
	flow_run_to(&requests, data, FAULT_NONE, strlen(data), &flow);
	stays(&flow, 0, LEN(expects) - 1, 0, REFUSAL_NONE);
	stays(&flow, LEN(expects), strlen(data) - 1, LEN(expects), REFUSAL_NONE);
	flow_done(&flow);
	snprintf(data, sizeof(data), "%s%s", plain, ONE LAST);
	flow_run_to(&requests, data, FAULT_NONE, strlen(data), &flow);
	stays(&flow, 0, strlen(data) - 1, 0, REFUSAL_NONE);
	flow_done(&flow);
	/* A response that says so waits for no one. */
	snprintf(data, sizeof(data), "%s%s%s", OK "Expect: 100-continue\r\n",
		 "Content-Type: text/event-stream\r\n" CHUNKED "\r\n", ONE LAST);
	flow_run_to(&one, data, FAULT_NONE, strlen(data), &flow);
	stays(&flow, 0, strlen(data) - 1, 0, REFUSAL_MESSAGE);
	flow_done(&flow);
}

/* An empty line between two requests is no message, and holds none. */
static void complete_and_empty_lines(void **state)
{
	static const char data[] =
		POST "Content-Length: 2\r\n\r\n{}\r\n\r\n" POST "Content-Length: 2\r\n\r\n[]\r\n";
	size_t first = LEN(POST "Content-Length: 2\r\n\r\n{}");
	struct flow flow;

	(void)state;
	flow_run_to(&requests, data, FAULT_NONE, LEN(data), &flow);
	stays(&flow, first, LEN(data) - 3, first, REFUSAL_NONE);
	stays(&flow, LEN(data) - 2, LEN(data) - 2, LEN(data) - 2, REFUSAL_NONE);
	flow_done(&flow);
}

/* Where a unit is a message, complete is as blocking. */
static void complete_of_other_framings(void **state)
{
	static const char events[] = "data: one\n\n: ping\n\ndata: bo\n\n: pong\n\ndata: x\n\n";
	const struct flow_config config = at_level(&joined, SESSION_COMPLETE);
	struct flow flow, blocking;

	(void)state;
	flow_run_to(&config, events, FAULT_NONE, LEN(events), &flow);
	flow_run_to(&joined, events, FAULT_NONE, LEN(events), &blocking);
	flow_assert_points(&flow, &blocking);
	stays(&flow, 19, 37, 19, REFUSAL_PLAIN);
	flow_done(&flow);
	flow_done(&blocking);
}

/* A message of many fragments is held; a ping ahead of it is not. */
static void complete_of_a_websocket(void **state)
{
	static const struct duplex_config config = {
		.framing = FRAMING_HTTP1,
		.extract = {.kind = EXTRACT_AUTO},
		.terms = {"bomb"},
		.level = SESSION_COMPLETE,
	};
	struct ws_script script;

	(void)state;
	ws_script_begin_plain(&script);
	ws_step_frame(&script, SERVER, WS_FIN | WS_TEXT, "one");
	ws_step_frame(&script, SERVER, WS_PING, "x");
	ws_step_frame(&script, SERVER, WS_MORE | WS_TEXT, "a b");
	ws_held(&script);
	ws_step_frame(&script, SERVER, WS_PING, "x");
	ws_held(&script);
	ws_step_frame(&script, SERVER, WS_FIN, "on");
	ws_step_close(&script);
	ws_script_run(&config, &script, "c");
	ws_script_begin_plain(&script);
	ws_step_frame(&script, SERVER, WS_FIN | WS_TEXT, "one");
	ws_step_frame(&script, SERVER, WS_FIN | WS_TEXT, "bomb");
	ws_fails(&script, FAULT_BLOCKED);
	ws_script_run(&config, &script, "d");
}

static void deferred_lets_go_what_is_framed(void **state)
{
	static const char data[] = "data: bo\n\n: ping\n\ndata: mb\n\ndata: x\n\n";
	struct flow_config config = at_level(&joined, SESSION_DEFERRED);
	struct flow flow;

	(void)state;
	flow_run_to(&config, data, FAULT_BLOCKED, 18, &flow);
	stays(&flow, 0, 9, 0, REFUSAL_PLAIN);
	stays(&flow, 10, 17, 10, REFUSAL_PLAIN);
	stays(&flow, 18, LEN(data), 18, REFUSAL_PLAIN);
	assert_int_equal(flow.session_end, SESSION_DENIED_END);
	/* What had left before the denial was not all cleared. */
	assert_int_equal(flow.confirmed, 0);
	flow_done(&flow);
	/* What waits is cleared at the end, or the session would not complete. */
	flow_run_to(&config, "data: bo\n\n", FAULT_NONE, 10, &flow);
	assert_int_equal(flow.session_end, SESSION_COMPLETE_END);
	assert_int_equal(flow.confirmed, 2);
	flow_done(&flow);
	config.no_end = true;
	flow_run_to(&config, "data: bo\n\n", FAULT_NONE, 10, &flow);
	assert_int_equal(flow.session_end, SESSION_FAILED_END);
	flow_done(&flow);
}

static void deferred_messages_of_http(void **state)
{
	const struct flow_config one = answers(SESSION_DEFERRED, 1);
	const struct flow_config two = answers(SESSION_DEFERRED, 2);
	struct flow flow;

	(void)state;
	flow_run_to(&one, STREAM ONE BOMB LAST, FAULT_BLOCKED, LEN(STREAM ONE), &flow);
	stays(&flow, LEN(STREAM), LEN(STREAM ONE) - 3, LEN(STREAM), REFUSAL_CHUNKS);
	assert_int_equal(flow.sessions[0].end, SESSION_DENIED_END);
	flow_done(&flow);
	/* A document is one unit: what is in it comes too early to be late. */
	flow_ends(&one, JSON "Content-Length: 8\r\n\r\n[\"bomb\"]", FAULT_BLOCKED, 0);
	flow_run_to(&two, STREAM ONE LAST STREAM ONE LAST, FAULT_NONE, 2 * LEN(STREAM ONE LAST),
		    &flow);
	assert_int_equal(flow.sessions[0].end, SESSION_COMPLETE_END);
	assert_int_equal(flow.sessions[1].end, SESSION_COMPLETE_END);
	flow_done(&flow);
}

/* A track without tasks does not know of levels. */
static void without_tasks_no_level_holds(void **state)
{
	static const char data[] = STREAM ONE BOMB LAST;

	(void)state;
	for (int level = 0; level < _SESSION_LEVEL_MAX; level++) {
		struct flow_config config = answers((enum session_level)level, 1);
		struct flow flow;

		config.terms[0][0] = NULL;
		flow_run_to(&config, data, FAULT_NONE, LEN(data), &flow);
		assert_int_equal(flow_at(&flow, LEN(STREAM))->released, LEN(STREAM));
		assert_int_equal(flow_at(&flow, LEN(STREAM ONE))->released, LEN(STREAM ONE));
		flow_done(&flow);
	}
}

struct parts {
	struct terms *terms;
	struct pipeline_task task;
	struct session *session;
	struct pipeline *pipeline;
};

static struct pipeline_config make_parts(struct parts *parts, enum session_level level)
{
	static const char *const words[] = {"bomb"}, *const names[] = {"t0"};
	const struct session_config session = {.level = level, .tasks = {names}, .task_count = {1}};
	size_t bad;

	memset(parts, 0, sizeof(*parts));
	assert_int_equal(terms_new(words, 1, 0, &bad, &parts->terms), 0);
	assert_int_equal(session_new(&session, &parts->session), SESSION_OK);
	parts->task = (struct pipeline_task){.name = "t0", .matcher.terms = parts->terms};
	return (struct pipeline_config){
		.framing = joined.framing,
		.extract = joined.extract,
		.max_message = 1000,
		.max_pending_units = 10,
		.level = level,
		.session = parts->session,
		.tasks = &parts->task,
		.task_count = 1,
	};
}

static void parts_done(struct parts *parts)
{
	pipeline_free(parts->pipeline);
	session_fail(parts->session, SESSION_OPERATOR);
	assert_true(session_free(parts->session));
	terms_free(parts->terms);
}

static enum fault feed(struct parts *parts, const char *data)
{
	return pipeline_feed(parts->pipeline, (const uint8_t *)data, strlen(data));
}

static void nothing_leaves_after_the_session_ended(void **state)
{
	(void)state;
	for (int level = 0; level < _SESSION_LEVEL_MAX; level++) {
		struct parts parts;
		struct pipeline_config config = make_parts(&parts, (enum session_level)level);

		assert_int_equal(pipeline_new(&config, &parts.pipeline), 0);
		assert_int_equal(feed(&parts, "data: a\n\n"), FAULT_NONE);
		assert_int_equal(pipeline_released(parts.pipeline), 9);
		session_fail(parts.session, SESSION_OPERATOR);
		/* Without text the session is not asked; it offers no release all the same. */
		assert_int_equal(feed(&parts, "\n\n"), FAULT_NONE);
		assert_int_equal(pipeline_advance(parts.pipeline), 9);
		assert_int_equal(feed(&parts, "data: a\n\n"), FAULT_ACCOUNTING);
		assert_int_equal(pipeline_released(parts.pipeline), 9);
		parts_done(&parts);
	}
}

static void unknown_levels_are_refused(void **state)
{
	struct parts parts;
	struct pipeline_config config = make_parts(&parts, SESSION_BLOCKING);

	(void)state;
	config.level = _SESSION_LEVEL_MAX;
	assert_int_equal(pipeline_new(&config, &parts.pipeline), -EINVAL);
	config.level = (enum session_level) - 1;
	assert_int_equal(pipeline_new(&config, &parts.pipeline), -EINVAL);
	parts_done(&parts);
}

/* Events of HTTP, in chunks of their own or not, that spell a term now and then. */
static size_t random_stream(unsigned int *seed, char *data)
{
	static const char *const texts[] = {"b", "o", "mb", "bo", "m", "x"};
	size_t len = (size_t)sprintf(data, "%s", STREAM);

	for (unsigned int i = (unsigned int)rand_r(seed) % 10; i > 0; i--) {
		char event[96];
		bool comment = rand_r(seed) % 4 == 0;
		const char *text = texts[(size_t)rand_r(seed) % ARRAY_SIZE(texts)];
		int n = comment ? sprintf(event, ": %s\n\n", text)
				: sprintf(event,
					  "data: {\"choices\":[{\"delta\":{\"content\":\"%s\"}}]}"
					  "\n\n",
					  text);

		len += (size_t)sprintf(data + len, "%x\r\n%s\r\n", (unsigned int)n, event);
	}
	return len + (size_t)sprintf(data + len, "%s", LAST);
}

/* What is denied, and where, is the same; complete leaves the least, deferred the most. */
static void levels_differ_in_what_leaves_alone(void **state)
{
	unsigned int seed = 7, denied = 0;
	char data[2048];

	(void)state;
	for (unsigned int round = 0; round < 150; round++) {
		size_t len = random_stream(&seed, data);
		struct flow flows[_SESSION_LEVEL_MAX];
		const struct flow *blocking = &flows[SESSION_BLOCKING];

		for (int level = 0; level < _SESSION_LEVEL_MAX; level++) {
			struct flow_config config = answers((enum session_level)level, 1);

			config.extract.kind = EXTRACT_OPENAI_CHAT;
			flow_run_random(&config, data, len, seed, 3, &flows[level]);
			assert_int_equal(flows[level].fault, blocking->fault);
			assert_int_equal(flows[level].denial.start, blocking->denial.start);
			assert_int_equal(flows[level].sessions[0].confirmed,
					 blocking->sessions[0].confirmed);
		}
		for (size_t i = 0; i < blocking->point_count; i++) {
			uint64_t most = flows[SESSION_DEFERRED].points[i].released;
			uint64_t least = flows[SESSION_COMPLETE].points[i].released;

			assert_true(blocking->points[i].released <= most);
			assert_int_equal(least, i < len || blocking->fault ? 0 : len);
		}
		denied += blocking->fault == FAULT_BLOCKED;
		assert_int_equal(flows[SESSION_DEFERRED].released, flows[SESSION_DEFERRED].framed);
		for (int level = 0; level < _SESSION_LEVEL_MAX; level++)
			flow_done(&flows[level]);
	}
	assert_in_range(denied, 10, 140);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(complete_holds_a_body_with_its_head),
		cmocka_unit_test(complete_withholds_all_of_what_is_denied),
		cmocka_unit_test(complete_lets_go_what_is_waited_for),
		cmocka_unit_test(complete_and_empty_lines),
		cmocka_unit_test(complete_of_other_framings),
		cmocka_unit_test(complete_of_a_websocket),
		cmocka_unit_test(deferred_lets_go_what_is_framed),
		cmocka_unit_test(deferred_messages_of_http),
		cmocka_unit_test(without_tasks_no_level_holds),
		cmocka_unit_test(nothing_leaves_after_the_session_ended),
		cmocka_unit_test(unknown_levels_are_refused),
		cmocka_unit_test(levels_differ_in_what_leaves_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
