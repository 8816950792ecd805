/* SPDX-License-Identifier: Apache-2.0 */
/* Event streams through a pipeline: what leaves, when, and what is text; in every cut. */
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
#include "unit/allocation.h"
#include "unit/flow.h"

#define DELTA(text) "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" text "\"}}]}\n\n"
#define ARGUMENTS(text)                                                             \
	"data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0," \
	"\"function\":{\"arguments\":\"" text "\"}}]}}]}\n\n"
#define FINISH "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
#define DONE   "data: [DONE]\n\n"

static const struct flow_config events = {
	.framing = {.kind = FRAMING_SSE},
	.extract = {.kind = EXTRACT_RAW, .join_unit = true},
	.terms = {{"bomb"}},
};
static const struct flow_config joined = {
	.framing = {.kind = FRAMING_SSE},
	.extract = {.kind = EXTRACT_RAW},
	.terms = {{"bomb"}},
};
static const struct flow_config openai = {
	.framing = {.kind = FRAMING_SSE},
	.extract = {.kind = EXTRACT_OPENAI_CHAT},
	.terms = {{"bomb"}},
};

static void payloads_are_what_a_reader_sees(void **state)
{
	static const char data[] =
		"data: one\n\n:c\n\ndata:two\r\ndata:  2\r\n\r\ndata\n\nid: 7\rdata: x\r\r";
	struct flow flow;

	(void)state;
	flow_run_to(&events, data, FAULT_NONE, sizeof(data) - 1, &flow);
	assert_string_equal(flow_payloads(&flow), "one|two\n 2||x|");
	assert_int_equal(flow.messages, 4);
	assert_string_equal(flow_text(&flow, "meta"), ":cid: 7");
	flow_done(&flow);
}

static void a_block_leaves_with_the_line_that_ends_it(void **state)
{
	struct flow flow;

	(void)state;
	flow_run_to(&events, ": hello\n\ndata: x\n\ndata: y\n", FAULT_TRUNCATED, 18, &flow);
	assert_int_equal(flow_at(&flow, 8)->released, 0);
	assert_int_equal(flow_at(&flow, 9)->released, 9);
	assert_int_equal(flow_at(&flow, 17)->released, 9);
	assert_int_equal(flow_at(&flow, 18)->released, 18);
	/* A message that is not whole is what a timeout goes by. */
	assert_int_equal(flow_at(&flow, 9)->partial, 0);
	assert_int_equal(flow_at(&flow, 10)->partial, 1);
	assert_int_equal(flow_at(&flow, 17)->partial, 8);
	assert_int_equal(flow_at(&flow, 18)->partial, 0);
	assert_int_equal(flow.session_end, SESSION_FAILED_END);
	flow_done(&flow);
}

/* Its reader acts on the CR; the LF that may follow is no part of the next block. */
static void a_cr_ends_a_block_and_its_lf_follows(void **state)
{
	struct flow flow;

	(void)state;
	flow_run_to(&events, "data: x\r\n\r\ndata: y\r\r", FAULT_NONE, 20, &flow);
	assert_int_equal(flow_at(&flow, 9)->released, 0);
	assert_int_equal(flow_at(&flow, 10)->released, 10);
	assert_int_equal(flow_at(&flow, 11)->released, 11);
	assert_int_equal(flow_at(&flow, 19)->released, 11);
	assert_int_equal(flow.units, 3);
	assert_true(flow.unit[1].tail);
	assert_int_equal(flow.unit[1].messages, 0);
	assert_false(flow.unit[2].tail);
	flow_done(&flow);
	/* Withheld with the block that it belongs to. */
	flow_ends(&joined, "data: bo\r\n\r\ndata: x\r\n\r\ndata: bo\r\n\r\ndata: mb\r\n\r\n",
		  FAULT_BLOCKED, 23);
}

static void an_open_block_is_held(void **state)
{
	(void)state;
	flow_ends(&events, "data: x\n", FAULT_TRUNCATED, 0);
	flow_ends(&events, "data: x\n\n: ", FAULT_TRUNCATED, 9);
	flow_ends(&events, "d", FAULT_TRUNCATED, 0);
	flow_ends(&events, "", FAULT_NONE, 0);
}

static void a_mark_is_told_first(void **state)
{
	struct flow flow;

	(void)state;
	flow_run_to(&events,
		    "\xef\xbb\xbf"
		    "data: x\n\n",
		    FAULT_NONE, 12, &flow);
	assert_string_equal(flow_payloads(&flow), "x|");
	assert_int_equal(flow_at(&flow, 3)->partial, 0);
	flow_done(&flow);
}

static void everything_but_grammar_is_text(void **state)
{
	static const char *const denied[] = {
		"data: a bomb\n\n",	    ": a bomb\n\n",    "id: bomb\ndata: x\n\n",
		"event: bomb\ndata: x\n\n", "bomb\n\n",	       "retry: bomb\n\n",
		"bomb: x\ndata: y\n\n",	    "data x bomb\n\n", "databomb\n\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(denied); i++) {
		char data[128];

		snprintf(data, sizeof(data), "data: ok\n\n%s", denied[i]);
		flow_ends(&events, data, FAULT_BLOCKED, 10);
	}
	/* Over two lines of a payload there is an LF in between; over two blocks, with unit, nothing. */
	flow_clean(&events, "data: bo\ndata: mb\n\n");
	flow_clean(&events, "data: bo\n\ndata: mb\n\n");
	flow_clean(&events, ": bo\n\n: mb\n\n");
}

static void lines_that_some_take_for_data(void **state)
{
	static const char *const refused[] = {
		" data: x\n\n",
		"\tdata: x\n\n",
		"Data: x\n\n",
		"data : x\n\n",
		"\xef\xbb\xbf"
		"data: x\n\n",
		": c\n DATA\t: x\n\n",
		"data: y\n data: x\n\n",
		": c\x0b"
		"data: x\n\n",
		": c\xc2\x85 data: x\n\n",
		": c\xe2\x80\xa8"
		"data: x\n\n",
		": c\xe2\x80\xa9"
		"data: x\n\n",
		"{\"a\": 1}\n\n",
		" [1]\n\n",
		"\"x\"\n\n",
		"id: 1\n{\n\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		char data[128];

		snprintf(data, sizeof(data), "data: ok\n\n%s", refused[i]);
		flow_ends(&events, data, FAULT_BAD_FRAME, 10);
	}
	flow_clean(&events, ": data: x\n:{}\n\ndatabase: x\n\ndat: x\n\nid: {}\xe2\x80\xaa"
			    "data: \xc2\x86\n\n");
}

static void a_term_over_blocks(void **state)
{
	(void)state;
	flow_ends(&joined, "data: a\n\ndata: bo\n\n: c\n\ndata: mb\n\n", FAULT_BLOCKED, 9);
	flow_clean(&joined, "data: bo\n\n: c\n\ndata: x\n\n");
	/* What waits for more text holds what follows it. */
	flow_ends(&joined, "data: bo\n\n: c\n\nda", FAULT_TRUNCATED, 0);
}

static void ill_formed_text_fails_closed(void **state)
{
	(void)state;
	flow_ends(&events, "data: x\n\ndata: \xff\n\n", FAULT_BAD_UTF8, 9);
	flow_ends(&events, "data: x\n\n: \xed\xa0\x80\n\n", FAULT_BAD_UTF8, 9);
	flow_ends(&events, "data: x\n\nid: \xc3\ndata: \xa9\n\n", FAULT_BAD_UTF8, 9);
	flow_ends(&openai, DELTA("x") "data: {\"a\":\"\xc3\"}\n\n", FAULT_BAD_UTF8,
		  strlen(DELTA("x")));
	flow_ends(&openai, DELTA("x") "data: {\"a\":\n\n", FAULT_BAD_JSON, strlen(DELTA("x")));
	flow_ends(&openai, DELTA("x") "data: {\"a\":1,\"a\":2}\n\n", FAULT_DUPLICATE_KEY,
		  strlen(DELTA("x")));
}

static void a_refusal_would_go_behind_the_last_block(void **state)
{
	static const char data[] = ": c\n\ndata: bo\n\ndata: x\n\ndata: bomb";
	struct flow flow;

	(void)state;
	flow_run_to(&joined, data, FAULT_BLOCKED, 24, &flow);
	for (size_t i = 0; i < sizeof(data) - 1; i++) {
		assert_int_equal(flow_at(&flow, i)->mark.place, REFUSAL_PLAIN);
		assert_int_equal(flow_at(&flow, i)->mark.form, REFUSAL_FORM_SSE);
	}
	assert_int_equal(flow.session_end, SESSION_DENIED_END);
	flow_done(&flow);
}

static void deltas_join_and_the_rest_does_not(void **state)
{
	static const char head[] = DELTA("mail ");
	struct flow flow;

	(void)state;
	flow_run_to(&openai, DELTA("mail ") DELTA("bo") ": keep-alive\n\n" DELTA("mb") FINISH DONE,
		    FAULT_BLOCKED, sizeof(head) - 1, &flow);
	assert_false(flow.complete);
	flow_done(&flow);
	flow_run_to(&openai, DELTA("bo") "data: {\"id\":\"mb\"}\n\n" DELTA("x") FINISH DONE,
		    FAULT_NONE,
		    strlen(DELTA("bo") "data: {\"id\":\"mb\"}\n\n" DELTA("x") FINISH DONE), &flow);
	assert_true(flow.complete);
	assert_string_equal(flow_text(&flow, "c0.content"), "box");
	flow_done(&flow);
	/* Halves of a pair, over events. */
	flow_run_to(&openai, DELTA("\\ud83d") DELTA("\\ude00") FINISH DONE, FAULT_NONE,
		    strlen(DELTA("\\ud83d") DELTA("\\ude00") FINISH DONE), &flow);
	assert_string_equal(flow_text(&flow, "c0.content"), "\xf0\x9f\x98\x80");
	flow_done(&flow);
}

static void a_tool_call_leaves_when_it_is_complete(void **state)
{
	static const char data[] =
		DELTA("ok") ARGUMENTS("{\\\"a\\\":") ": c\n\n" ARGUMENTS("1}") FINISH DONE;
	static const size_t call = sizeof(DELTA("ok")) - 1;
	size_t finished = sizeof(data) - sizeof(DONE), finish = finished - (sizeof(FINISH) - 1);
	struct flow flow;

	(void)state;
	flow_run_to(&openai, data, FAULT_NONE, sizeof(data) - 1, &flow);
	assert_int_equal(flow_at(&flow, call)->released, call);
	for (size_t i = call; i <= finish; i++)
		assert_int_equal(flow_at(&flow, i)->released, call);
	assert_int_equal(flow_at(&flow, finished)->released, finished);
	flow_done(&flow);
	flow_ends(&openai, DELTA("ok") ARGUMENTS("bo") ARGUMENTS("mb") FINISH DONE, FAULT_BLOCKED,
		  call);
	flow_ends(&openai, DELTA("ok") ARGUMENTS("x") ": c\n", FAULT_TRUNCATED, call);
}

static void the_end_is_the_end(void **state)
{
	struct flow flow;

	(void)state;
	flow_ends(&openai, DELTA("x") DONE DELTA("y"), FAULT_PROTOCOL, strlen(DELTA("x") DONE));
	flow_run_to(&openai, DELTA("say [DONE] twice") FINISH, FAULT_NONE,
		    strlen(DELTA("say [DONE] twice") FINISH), &flow);
	flow_done(&flow);
	flow_clean(&openai, DELTA("x") DONE ": c\n\n");
	/* A text that waits does not wait any longer. */
	flow_run_to(&openai, DELTA("bo") DONE ":", FAULT_TRUNCATED, strlen(DELTA("bo") DONE),
		    &flow);
	flow_done(&flow);
}

static void a_payload_and_a_block_have_limits(void **state)
{
	struct flow_config config = events;

	(void)state;
	config.max_message = 4;
	flow_clean(&config, "data: 1234\n\ndata: 1\ndata: 34\n\n");
	flow_ends(&config, "data: 1234\n\ndata: 12345\n\n", FAULT_TOO_LARGE, 12);
	flow_ends(&config, "data: 1234\n\ndata: 1\ndata: 345\n\n", FAULT_TOO_LARGE, 12);
	config = joined;
	config.max_pending_units = 2;
	flow_ends(&config, "data: b\n\n: c\n\ndata: x\n\n", FAULT_NONE, 23);
	flow_ends(&config, "data: b\n\n: c\n\n: d\n\ndata: x\n\n", FAULT_TOO_LARGE, 0);
}

/* A block may be as long as it likes in comments, up to a point. */
static void a_block_of_comments_has_a_limit(void **state)
{
	size_t len = 70000;
	char *data = malloc(len + 3);
	struct flow flow;

	(void)state;
	assert_non_null(data);
	memset(data, ':', len);
	memcpy(data + len, "\n\n", 3);
	flow_run_random(&events, data, len + 2, 1, 8, &flow);
	assert_string_equal(fault_name(flow.fault), "too_large");
	assert_int_equal(flow.released, 0);
	flow_done(&flow);
	memcpy(data + 60000, "\n\n", 3);
	flow_run_random(&events, data, 60002, 1, 8, &flow);
	assert_string_equal(fault_name(flow.fault), "none");
	flow_done(&flow);
	free(data);
}

static void without_tasks_blocks_leave_as_they_are_whole(void **state)
{
	struct flow_config config = openai;

	(void)state;
	config.terms[0][0] = NULL;
	config.no_text = true;
	flow_ends(&config, DELTA("bomb") ARGUMENTS("x") "data: {", FAULT_TRUNCATED,
		  strlen(DELTA("bomb") ARGUMENTS("x")));
}

static void tls_is_not_text(void **state)
{
	static const enum framing_kind kinds[] = {FRAMING_SSE, FRAMING_NDJSON};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct flow_config config = events;

		config.framing.kind = kinds[i];
		config.extract.kind = EXTRACT_AUTO;
		flow_ends(&config, "\x16\x03\x01\x02", FAULT_TLS_UNMEDIATED, 0);
		flow_ends(&config, "\n\x16\x03",
			  kinds[i] == FRAMING_SSE ? FAULT_TRUNCATED : FAULT_BAD_JSON, 1);
	}
}

static size_t random_events(unsigned int *seed, char *data, size_t size)
{
	static const char *const pieces[] = {
		"\n",	    "\r\n",	"\r",		":",	     " ",
		"data",	    "data:",	"data: bo",	"mb",	     "data: {\"",
		"id: \xc3", "\xa9",	"\xef\xbb\xbf", DELTA("bo"), DELTA("\\ud83d"),
		"\n\n",	    DELTA("x"), "event: e\n",
	};
	size_t len = 0;

	while (len + 128 < size) {
		const char *piece = pieces[(unsigned int)rand_r(seed) % ARRAY_SIZE(pieces)];

		memcpy(data + len, piece, strlen(piece));
		len += strlen(piece);
		if (rand_r(seed) % 40 == 0)
			break;
	}
	return len;
}

static void random_streams_in_random_cuts(void **state)
{
	unsigned int seed = 5;

	(void)state;
	for (unsigned int round = 0; round < 300; round++) {
		struct flow_config config = round % 3 ? joined : openai;
		char data[1500];
		size_t len = random_events(&seed, data, sizeof(data));
		struct flow flow;

		config.max_message = round % 7 ? 0 : 9;
		flow_run_random(&config, data, len, seed, 4, &flow);
		flow_done(&flow);
	}
}

static void any_allocation_may_fail(void **state)
{
	static const char data[] = ": c\n\n" DELTA("mail ") DELTA("bo") DELTA("mb");
	static const size_t cleared = sizeof(": c\n\n" DELTA("mail ")) - 1;
	uint64_t released;
	unsigned long n;

	(void)state;
	for (n = 0; n < 2000; n++) {
		enum fault fault = flow_run_failing(&openai, data, sizeof(data) - 1, n, &released);

		assert_true(released <= cleared);
		if (!allocation_failed())
			break;
		assert_int_equal(fault, FAULT_NO_MEMORY);
	}
	assert_int_equal(released, cleared);
	assert_in_range(n, 5, 1999);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(payloads_are_what_a_reader_sees),
		cmocka_unit_test(a_block_leaves_with_the_line_that_ends_it),
		cmocka_unit_test(a_cr_ends_a_block_and_its_lf_follows),
		cmocka_unit_test(an_open_block_is_held),
		cmocka_unit_test(a_mark_is_told_first),
		cmocka_unit_test(everything_but_grammar_is_text),
		cmocka_unit_test(lines_that_some_take_for_data),
		cmocka_unit_test(a_term_over_blocks),
		cmocka_unit_test(ill_formed_text_fails_closed),
		cmocka_unit_test(a_refusal_would_go_behind_the_last_block),
		cmocka_unit_test(deltas_join_and_the_rest_does_not),
		cmocka_unit_test(a_tool_call_leaves_when_it_is_complete),
		cmocka_unit_test(the_end_is_the_end),
		cmocka_unit_test(a_payload_and_a_block_have_limits),
		cmocka_unit_test(a_block_of_comments_has_a_limit),
		cmocka_unit_test(without_tasks_blocks_leave_as_they_are_whole),
		cmocka_unit_test(tls_is_not_text),
		cmocka_unit_test(random_streams_in_random_cuts),
		cmocka_unit_test(any_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
