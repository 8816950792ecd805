/* SPDX-License-Identifier: Apache-2.0 */
/* A stream of a framing that its client's first bytes tell; in every cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "unit/allocation.h"
#include "unit/duplex.h"

#define GET    "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
#define OK     "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
#define CALL   "Content-Length: 7\r\n\r\n{\"a\":1}"
#define LINE   "{\"a\":1}\n"
#define CLIENT SESSION_REQUEST
#define SERVER SESSION_RESPONSE
#define LEN(s) (sizeof(s) - 1)

static const struct duplex_config automatic = {
	.framing = FRAMING_AUTO,
	.extract = {.kind = EXTRACT_AUTO},
	.terms = {"bomb"},
};

/* Steps: one that releases all, the end of a flow, one with a fault. */
#define SAYS(who, what, where)                                             \
	{                                                                  \
		who, what, LEN(what), false, FAULT_NONE, DUPLEX_ALL, where \
	}
#define ENDS(who, where)                                        \
	{                                                       \
		who, "", 0, true, FAULT_NONE, DUPLEX_ALL, where \
	}
#define FAILS(who, what, why, released, where)                    \
	{                                                         \
		who, what, LEN(what), false, why, released, where \
	}

#define RUN(steps, ends) duplex_run(&automatic, steps, ARRAY_SIZE(steps), ends)

static void http_is_told_by_its_method(void **state)
{
	static const struct duplex_step steps[] = {
		SAYS(CLIENT, GET, REFUSAL_MESSAGE), SAYS(SERVER, OK, REFUSAL_MESSAGE),
		SAYS(CLIENT, GET, REFUSAL_MESSAGE), SAYS(SERVER, OK, REFUSAL_MESSAGE),
		ENDS(CLIENT, REFUSAL_MESSAGE),	    ENDS(SERVER, REFUSAL_MESSAGE),
	};

	(void)state;
	RUN(steps, "cc");
}

static void json_rpc_is_told_by_its_header(void **state)
{
	static const struct duplex_step steps[] = {
		SAYS(CLIENT, CALL, REFUSAL_JSONRPC), SAYS(SERVER, CALL CALL, REFUSAL_JSONRPC),
		SAYS(CLIENT, CALL, REFUSAL_JSONRPC), ENDS(SERVER, REFUSAL_JSONRPC),
		ENDS(CLIENT, REFUSAL_JSONRPC),
	};

	(void)state;
	duplex_run_text(&automatic, steps, ARRAY_SIZE(steps), "c", SERVER, "meta=a1a1");
}

static void lines_are_told_by_their_bracket(void **state)
{
	static const struct duplex_step steps[] = {
		SAYS(CLIENT, LINE LINE, REFUSAL_NONE),
		SAYS(SERVER, "[\"a\"]\n", REFUSAL_NONE),
		ENDS(CLIENT, REFUSAL_NONE),
		SAYS(SERVER, LINE, REFUSAL_NONE),
		ENDS(SERVER, REFUSAL_NONE),
	};

	(void)state;
	RUN(steps, "c");
}

static void whatever_it_is_a_term_is_denied(void **state)
{
	static const struct duplex_step streams[][2] = {
		{FAILS(CLIENT, "GET /bomb HTTP/1.1\r\nHost: a\r\n\r\n", FAULT_BLOCKED, 0,
		       REFUSAL_MESSAGE)},
		{FAILS(CLIENT, "{\"a\":\"bomb\"}\n", FAULT_BLOCKED, 0, REFUSAL_NONE)},
		{FAILS(CLIENT, "Content-Length: 12\r\n\r\n{\"a\":\"bomb\"}", FAULT_BLOCKED, 0,
		       REFUSAL_JSONRPC)},
		{SAYS(CLIENT, GET, REFUSAL_MESSAGE),
		 FAILS(SERVER, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbomb", FAULT_BLOCKED, 0,
		       REFUSAL_MESSAGE)},
		{SAYS(CLIENT, LINE, REFUSAL_NONE),
		 FAILS(SERVER, LINE "{\"bomb\":1}\n", FAULT_BLOCKED, LEN(LINE), REFUSAL_NONE)},
		{SAYS(CLIENT, CALL, REFUSAL_JSONRPC),
		 FAILS(SERVER, CALL "Content-Length: 12\r\n\r\n{\"a\":\"bomb\"}", FAULT_BLOCKED,
		       LEN(CALL), REFUSAL_JSONRPC)},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(streams); i++)
		duplex_run(&automatic, streams[i], streams[i][1].len ? 2 : 1, "d");
}

static void what_cannot_be_told_is_unframed(void **state)
{
	static const struct duplex_step firsts[] = {
		FAILS(CLIENT, "SSH-2.0-x\r\n", FAULT_UNFRAMED, 0, REFUSAL_NONE),
		FAILS(CLIENT, "GETX / HTTP/1.1\r\n", FAULT_UNFRAMED, 0, REFUSAL_NONE),
		FAILS(CLIENT, "PRI * HTTP/2.0\r\n\r\n", FAULT_UNFRAMED, 0, REFUSAL_NONE),
		FAILS(CLIENT, "\x16\x03\x01", FAULT_TLS_UNMEDIATED, 0, REFUSAL_NONE),
		/* Whoever speaks first is the client, or nobody knows what this is. */
		FAILS(SERVER, "220 mail ready\r\n", FAULT_UNFRAMED, 0, REFUSAL_NONE),
		FAILS(SERVER, LINE, FAULT_UNFRAMED, 0, REFUSAL_NONE),
		FAILS(SERVER, OK, FAULT_UNFRAMED, 0, REFUSAL_NONE),
		{CLIENT, "GE", 2, true, FAULT_UNFRAMED, 0, REFUSAL_NONE},
	};
	static const struct duplex_step early[] = {
		FAILS(CLIENT, "PO", FAULT_NONE, 0, REFUSAL_NONE),
		FAILS(SERVER, OK, FAULT_UNFRAMED, 0, REFUSAL_NONE),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(firsts); i++)
		duplex_run(&automatic, &firsts[i], 1, "");
	RUN(early, "");
}

/* Once it is told nothing else may come. */
static void it_stays_what_it_was(void **state)
{
	static const struct duplex_step server[] = {
		SAYS(CLIENT, GET, REFUSAL_MESSAGE),
		FAILS(SERVER, LINE, FAULT_BAD_HEADER, 0, REFUSAL_MESSAGE),
	};
	static const struct duplex_step client[] = {
		SAYS(CLIENT, LINE, REFUSAL_NONE),
		FAILS(CLIENT, GET, FAULT_BAD_JSON, LEN(LINE), REFUSAL_NONE),
	};
	static const struct duplex_step tls[] = {
		SAYS(CLIENT, CALL, REFUSAL_JSONRPC),
		FAILS(SERVER, "\x16\x03", FAULT_TLS_UNMEDIATED, 0, REFUSAL_JSONRPC),
	};

	(void)state;
	RUN(server, "f");
	RUN(client, "f");
	RUN(tls, "f");
}

static void a_flow_may_end_without_a_word(void **state)
{
	static const struct duplex_step nothing[] = {
		ENDS(CLIENT, REFUSAL_NONE),
		ENDS(SERVER, REFUSAL_NONE),
	};
	static const struct duplex_step lines[] = {
		SAYS(CLIENT, LINE, REFUSAL_NONE),
		ENDS(SERVER, REFUSAL_NONE),
		ENDS(CLIENT, REFUSAL_NONE),
	};
	/* But a server of HTTP owes an answer. */
	static const struct duplex_step owes[] = {
		SAYS(CLIENT, GET, REFUSAL_MESSAGE),
		{SERVER, "", 0, true, FAULT_TRUNCATED, 0, REFUSAL_MESSAGE},
	};

	(void)state;
	RUN(nothing, "");
	RUN(lines, "c");
	RUN(owes, "x");
}

static void without_tasks_there_is_no_session(void **state)
{
	static const struct duplex_config config = {
		.framing = FRAMING_AUTO,
		.extract = {.kind = EXTRACT_AUTO},
	};
	static const struct duplex_step steps[] = {
		SAYS(CLIENT, LINE, REFUSAL_NONE),
		SAYS(SERVER, LINE, REFUSAL_NONE),
		ENDS(CLIENT, REFUSAL_NONE),
		ENDS(SERVER, REFUSAL_NONE),
	};

	(void)state;
	duplex_run(&config, steps, ARRAY_SIZE(steps), "");
}

static void it_says_what_it_turned_out_to_be(void **state)
{
	static const struct {
		const char *first;
		enum framing_kind kind;
	} streams[] = {
		{GET, FRAMING_HTTP1},
		{CALL, FRAMING_JSONRPC_CL},
		{LINE, FRAMING_NDJSON},
	};
	struct duplex duplex;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(streams); i++) {
		enum framing_kind kind = FRAMING_AUTO;
		struct pipeline *client;

		duplex_make(&automatic, &duplex);
		client = duplex.flows[CLIENT];
		assert_int_equal(pipeline_framing(client), FRAMING_AUTO);
		assert_false(exchanges_identified(duplex.exchanges, &kind));
		assert_int_equal(kind, FRAMING_AUTO);
		assert_in_range(pipeline_memory(client), 1024, 6144);
		assert_in_range(pipeline_memory(duplex.flows[SERVER]), 1024, 6144);
		assert_int_equal(pipeline_feed(client, (const uint8_t *)streams[i].first,
					       strlen(streams[i].first)),
				 FAULT_NONE);
		assert_int_equal(pipeline_framing(client), streams[i].kind);
		assert_true(exchanges_identified(duplex.exchanges, &kind));
		assert_int_equal(kind, streams[i].kind);
		assert_int_equal(pipeline_received(client), strlen(streams[i].first));
		duplex_done(&duplex);
	}
}

/* What does not tell yet is the beginning of something. */
static void a_beginning_is_partial(void **state)
{
	struct duplex duplex;
	struct pipeline *client;

	(void)state;
	duplex_make(&automatic, &duplex);
	client = duplex.flows[CLIENT];
	assert_int_equal(pipeline_partial(client), 0);
	assert_int_equal(pipeline_feed(client, (const uint8_t *)"GE", 2), FAULT_NONE);
	assert_int_equal(pipeline_partial(client), 2);
	assert_int_equal(pipeline_received(client), 2);
	assert_int_equal(pipeline_framed(client), 0);
	assert_int_equal(pipeline_feed(client, (const uint8_t *)"T / HTTP/1.1\r\n", 14),
			 FAULT_NONE);
	assert_int_equal(pipeline_partial(client), 16);
	duplex_done(&duplex);
}

static void any_allocation_may_fail(void **state)
{
	static const char *const first[] = {GET, CALL, LINE};
	struct duplex_config config = automatic;

	(void)state;
	config.no_text = true;
	for (size_t i = 0; i < ARRAY_SIZE(first); i++) {
		bool complete = false;

		for (unsigned long n = 0; !complete; n++) {
			struct duplex duplex;
			enum fault fault;

			duplex_make(&config, &duplex);
			allocation_fail_at(n);
			fault = pipeline_feed(duplex.flows[CLIENT], (const uint8_t *)first[i],
					      strlen(first[i]));
			complete = !allocation_failed();
			assert_string_equal(fault_name(fault),
					    fault_name(complete ? FAULT_NONE : FAULT_NO_MEMORY));
			duplex_done(&duplex);
		}
	}
}

static void it_needs_exchanges(void **state)
{
	const struct pipeline_config config = {
		.framing = {.kind = FRAMING_AUTO},
		.extract = {.kind = EXTRACT_AUTO},
		.max_message = 1,
		.max_pending_units = 1,
	};
	struct pipeline *pipeline = NULL;

	(void)state;
	assert_int_equal(pipeline_new(&config, &pipeline), -EINVAL);
	assert_null(pipeline);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(http_is_told_by_its_method),
		cmocka_unit_test(json_rpc_is_told_by_its_header),
		cmocka_unit_test(lines_are_told_by_their_bracket),
		cmocka_unit_test(whatever_it_is_a_term_is_denied),
		cmocka_unit_test(what_cannot_be_told_is_unframed),
		cmocka_unit_test(it_stays_what_it_was),
		cmocka_unit_test(a_flow_may_end_without_a_word),
		cmocka_unit_test(without_tasks_there_is_no_session),
		cmocka_unit_test(it_says_what_it_turned_out_to_be),
		cmocka_unit_test(a_beginning_is_partial),
		cmocka_unit_test(any_allocation_may_fail),
		cmocka_unit_test(it_needs_exchanges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
