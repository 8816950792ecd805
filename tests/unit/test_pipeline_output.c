/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks of `output`: a response is judged when it has ended; in every cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "core/session.h"
#include "unit/flow.h"
#include "unit/streamed.h"
#include "unit/ws_script.h"

#define JSON(n) OK "Content-Type: application/json\r\nContent-Length: " n "\r\n\r\n"
#define LOUD	"c\r\ndata: loud\n\n\r\n"

static const struct flow_config responses = {
	.framing = {.kind = FRAMING_HTTP1},
	.extract = {.kind = EXTRACT_AUTO},
	.terms = {{"bomb"}},
	.output = {{"zz", "loud"}},
	.request_count = 1,
};
static const struct flow_config lines = {
	.framing = {.kind = FRAMING_NDJSON},
	.extract = {.kind = EXTRACT_PATH, .path = "t"},
	.terms = {{"bomb"}},
	.output = {{"zz", "loud"}},
};

/* Run at a level, with tasks that gate the response or with those of the request alone. */
static void run(const struct flow_config *config, enum session_level level, bool gated,
		const char *data, enum fault fault, uint64_t released, struct flow *ret_flow)
{
	struct flow_config changed = *config;

	changed.level = level;
	changed.other_track = !gated;
	if (!gated)
		changed.terms[0][0] = NULL;
	flow_run_to(&changed, data, fault, released, ret_flow);
}

static void denied_by(const struct flow *flow, const char *task, uint32_t rule)
{
	assert_string_equal(flow->task, task);
	assert_int_equal(flow->denial.rule, rule);
	assert_true(flow->denial.start < flow->denial.end);
	assert_true(flow->finding_count > 0);
}

static void ended(const struct flow *flow, size_t i, enum session_end end, bool output)
{
	assert_true(i < flow->session_count);
	assert_int_equal(flow->sessions[i].end, end);
	assert_int_equal(flow->sessions[i].output, output);
}

/* A document ends with its message: at no level has anything of it left. */
static void a_document_is_withheld(void **state)
{
	static const char data[] = JSON("12") "{\"a\":\"loud\"}";

	(void)state;
	for (int level = 0; level < _SESSION_LEVEL_MAX; level++)
		for (int gated = 0; gated < 2; gated++) {
			struct flow flow;

			run(&responses, (enum session_level)level, gated, data, FAULT_OUTPUT_DENIED,
			    0, &flow);
			denied_by(&flow, "o0", 1);
			assert_int_equal(flow_at(&flow, LEN(data))->mark.place, REFUSAL_MESSAGE);
			assert_int_equal(flow.framed, LEN(data));
			ended(&flow, 0, SESSION_DENIED_END, true);
			/* The answer is still due. */
			assert_int_equal(flow.exchanges_open, 1);
			flow_done(&flow);
		}
}

/* What left before the end stays; that it ended is withheld, and under complete all of it. */
static void a_stream_does_not_end(void **state)
{
	static const char data[] = STREAM ONE LOUD ONE LAST;
	uint64_t before = LEN(STREAM ONE LOUD ONE);

	(void)state;
	for (int level = 0; level < _SESSION_LEVEL_MAX; level++)
		for (int gated = 0; gated < 2; gated++) {
			bool held = level == SESSION_COMPLETE;
			struct flow flow;

			run(&responses, (enum session_level)level, gated, data, FAULT_OUTPUT_DENIED,
			    held ? 0 : before, &flow);
			denied_by(&flow, "o0", 1);
			assert_int_equal(flow_at(&flow, before)->released, held ? 0 : before);
			assert_int_equal(flow_at(&flow, before)->fault, FAULT_NONE);
			assert_int_equal(flow_at(&flow, LEN(data))->mark.place,
					 held ? REFUSAL_MESSAGE : REFUSAL_CHUNKS);
			ended(&flow, 0, SESSION_DENIED_END, true);
			flow_done(&flow);
			run(&responses, (enum session_level)level, gated, STREAM ONE ONE LAST,
			    FAULT_NONE, LEN(STREAM ONE ONE LAST), &flow);
			ended(&flow, 0, SESSION_COMPLETE_END, false);
			assert_int_equal(flow.finding_count, 0);
			flow_done(&flow);
		}
}

/* One that is ended by the connection, or by its length with its last event. */
static void however_it_ends(void **state)
{
	static const char closed[] = SSE "\r\ndata: loud\n\n";
	static const char length[] = SSE "Content-Length: 12\r\n\r\ndata: loud\n\n";
	struct flow flow;

	(void)state;
	for (int level = 0; level < _SESSION_LEVEL_MAX; level++) {
		bool held = level == SESSION_COMPLETE;

		run(&responses, (enum session_level)level, true, closed, FAULT_OUTPUT_DENIED,
		    held ? 0 : LEN(closed), &flow);
		ended(&flow, 0, SESSION_DENIED_END, true);
		flow_done(&flow);
		run(&responses, (enum session_level)level, true, length, FAULT_OUTPUT_DENIED,
		    held ? 0 : LEN(length), &flow);
		ended(&flow, 0, SESSION_DENIED_END, true);
		flow_done(&flow);
	}
}

/* Text that waits for more of it is cleared by the end, and does not leave with it. */
static void what_waits_is_withheld(void **state)
{
	static const char data[] = STREAM ONE LOUD "a\r\ndata: bo\n\n\r\n" LAST;
	struct flow_config config = responses;
	struct flow flow;

	(void)state;
	config.extract.kind = EXTRACT_RAW;
	run(&config, SESSION_BLOCKING, true, data, FAULT_OUTPUT_DENIED, LEN(STREAM ONE LOUD),
	    &flow);
	flow_done(&flow);
	run(&lines, SESSION_BLOCKING, true, "{\"t\":\"loud\"}\n{\"t\":\"bo\"}\n",
	    FAULT_OUTPUT_DENIED, LEN("{\"t\":\"loud\"}\n"), &flow);
	assert_int_equal(flow.session_end, SESSION_DENIED_END);
	assert_true(flow.session_output);
	flow_done(&flow);
}

/* Where one exchange is all of the connection, it is judged at its end. */
static void one_exchange_over_the_connection(void **state)
{
	static const char data[] = "{\"t\":\"loud\"}\n{\"t\":\"one\"}\n";
	struct flow flow;

	(void)state;
	for (int level = 0; level < _SESSION_LEVEL_MAX; level++)
		for (int gated = 0; gated < 2; gated++) {
			struct flow_config open = lines;

			run(&lines, (enum session_level)level, gated, data, FAULT_OUTPUT_DENIED,
			    LEN(data), &flow);
			denied_by(&flow, "o0", 1);
			assert_int_equal(flow.session_end, SESSION_DENIED_END);
			assert_true(flow.session_output);
			flow_done(&flow);
			open.no_end = true;
			run(&open, (enum session_level)level, gated, data, FAULT_NONE, LEN(data),
			    &flow);
			flow_done(&flow);
			run(&lines, (enum session_level)level, gated, "{\"t\":\"one\"}\n",
			    FAULT_NONE, 12, &flow);
			assert_int_equal(flow.session_end, SESSION_COMPLETE_END);
			flow_done(&flow);
		}
}

/* The messages before are judged by themselves. */
static void each_response_is_judged(void **state)
{
	static const char data[] = STREAM ONE LAST JSON("08") "[\"loud\"]" STREAM;
	struct flow_config config = responses;
	struct flow flow;

	(void)state;
	config.request_count = 3;
	run(&config, SESSION_BLOCKING, true, data, FAULT_OUTPUT_DENIED, LEN(STREAM ONE LAST),
	    &flow);
	ended(&flow, 0, SESSION_COMPLETE_END, false);
	ended(&flow, 1, SESSION_DENIED_END, true);
	ended(&flow, 2, SESSION_FAILED_END, false);
	flow_done(&flow);
	/* An interim one as well. */
	run(&config, SESSION_BLOCKING, true, "HTTP/1.1 103 loud\r\n\r\n" JSON("02") "[]",
	    FAULT_OUTPUT_DENIED, 0, &flow);
	ended(&flow, 0, SESSION_DENIED_END, true);
	flow_done(&flow);
}

/* The first reason stays: a denial of text, a fault, the first task to find something. */
static void the_first_reason_stays(void **state)
{
	struct flow_config config = responses;
	struct flow flow;

	(void)state;
	run(&responses, SESSION_BLOCKING, true, STREAM LOUD BOMB LAST, FAULT_BLOCKED,
	    LEN(STREAM LOUD), &flow);
	assert_string_equal(flow.task, "t0");
	assert_int_equal(flow.finding_count, 1);
	ended(&flow, 0, SESSION_DENIED_END, false);
	flow_done(&flow);
	run(&responses, SESSION_BLOCKING, true, STREAM LOUD "5\r\ndata:", FAULT_TRUNCATED,
	    LEN(STREAM LOUD), &flow);
	ended(&flow, 0, SESSION_FAILED_END, false);
	flow_done(&flow);
	config.watched[0][0] = "one";
	config.output[1][0] = "one";
	run(&config, SESSION_BLOCKING, true, STREAM ONE LOUD LAST, FAULT_OUTPUT_DENIED,
	    LEN(STREAM ONE LOUD), &flow);
	denied_by(&flow, "o1", 0);
	assert_int_equal(flow.finding_count, 3);
	assert_int_equal(flow.findings[1].start, flow.denial.start);
	assert_int_equal(flow.findings[1].end, flow.denial.end);
	flow_done(&flow);
}

static const struct duplex_config duplex = {
	.framing = FRAMING_HTTP1,
	.extract = {.kind = EXTRACT_AUTO},
	.terms = {"bomb"},
	.output = "loud",
};

#define STEP(which, bytes, why, freed, where)                                                      \
	(struct duplex_step)                                                                       \
	{                                                                                          \
		.track = which, .data = bytes, .len = LEN(bytes), .fault = why, .released = freed, \
		.place = where                                                                     \
	}

/* The answer may be whole before the request is. */
static void a_request_that_ends_later(void **state)
{
	static const char post[] = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n[";
	const struct duplex_step denied[] = {
		STEP(CLIENT, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n[", FAULT_NONE,
		     0, REFUSAL_MESSAGE),
		STEP(SERVER, JSON("08") "[\"loud\"]", FAULT_OUTPUT_DENIED, 0, REFUSAL_MESSAGE),
	};
	const struct duplex_step clean[] = {
		denied[0],
		STEP(SERVER, JSON("02") "[]", FAULT_NONE, DUPLEX_ALL, REFUSAL_MESSAGE),
		STEP(CLIENT, "]", FAULT_NONE, LEN(post) + 1, REFUSAL_MESSAGE),
		STEP(CLIENT, "GET / HTTP/1.1\r\nHost: a\r\n\r\n", FAULT_NONE, DUPLEX_ALL,
		     REFUSAL_MESSAGE),
		STEP(SERVER, JSON("08") "[\"loud\"]", FAULT_OUTPUT_DENIED, LEN(JSON("02") "[]"),
		     REFUSAL_MESSAGE),
	};

	(void)state;
	for (int level = 0; level < _SESSION_LEVEL_MAX; level++) {
		struct duplex_config config = duplex;

		config.level = (enum session_level)level;
		duplex_run(&config, denied, ARRAY_SIZE(denied), "d");
		duplex_run(&config, clean, ARRAY_SIZE(clean), "cd");
	}
}

static void messages_of_a_websocket(void **state)
{
	struct ws_script script;

	(void)state;
	for (int level = 0; level < _SESSION_LEVEL_MAX; level++) {
		struct duplex_config config = duplex;

		config.level = (enum session_level)level;
		ws_script_begin_plain(&script);
		ws_step_frame(&script, SERVER, WS_FIN | WS_TEXT, "loud");
		ws_step_frame(&script, SERVER, WS_FIN | WS_TEXT, "one");
		script.place = REFUSAL_NONE;
		ws_step_frame(&script, SERVER, WS_CLOSE, "\x03\xe8");
		ws_step_end(&script, SERVER);
		ws_fails(&script, FAULT_OUTPUT_DENIED);
		ws_script_run(&config, &script, "d");
		ws_script_begin_plain(&script);
		ws_step_frame(&script, SERVER, WS_FIN | WS_TEXT, "one");
		ws_step_close(&script);
		ws_script_run(&config, &script, "c");
	}
	/* The head that agrees is a message of its own. */
	ws_script_begin(&script, WS_ASKS "\r\n", WS_AGREES "X: loud\r\n\r\n");
	script.steps[1].place = REFUSAL_MESSAGE;
	ws_fails(&script, FAULT_OUTPUT_DENIED);
	ws_script_run(&duplex, &script, "d");
}

/* The exchange of a stream that tells what it speaks knows of it as well. */
static void a_stream_that_is_identified(void **state)
{
	const struct duplex_step steps[] = {
		STEP(CLIENT, "{\"a\":1}\n", FAULT_NONE, DUPLEX_ALL, REFUSAL_NONE),
		STEP(SERVER, "{\"a\":\"loud\"}\n", FAULT_NONE, DUPLEX_ALL, REFUSAL_NONE),
		{.track = SERVER,
		 .end = true,
		 .fault = FAULT_OUTPUT_DENIED,
		 .released = DUPLEX_ALL,
		 .place = REFUSAL_NONE},
	};
	struct duplex_config config = duplex;

	(void)state;
	config.framing = FRAMING_AUTO;
	duplex_run(&config, steps, ARRAY_SIZE(steps), "d");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_document_is_withheld),
		cmocka_unit_test(a_stream_does_not_end),
		cmocka_unit_test(however_it_ends),
		cmocka_unit_test(what_waits_is_withheld),
		cmocka_unit_test(one_exchange_over_the_connection),
		cmocka_unit_test(each_response_is_judged),
		cmocka_unit_test(the_first_reason_stays),
		cmocka_unit_test(a_request_that_ends_later),
		cmocka_unit_test(messages_of_a_websocket),
		cmocka_unit_test(a_stream_that_is_identified),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
