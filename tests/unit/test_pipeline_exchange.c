/* SPDX-License-Identifier: Apache-2.0 */
/* Both flows of a stream: requests and the responses that answer them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "core/exchange.h"
#include "core/terms.h"
#include "unit/flow.h"

#define OK	"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
#define GET	"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
#define CONNECT "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n"
#define UPGRADE "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
#define SWITCHED \
	"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
#define LEN(s) (sizeof(s) - 1)

static const char *const names[] = {"t0"};

struct pair {
	struct terms *terms;
	struct exchanges *exchanges;
	struct pipeline *request, *response;
	struct session_state ended[8];
	size_t count;
};

static void on_end(void *context, uint64_t number, const struct session *session,
		   const struct session_state *state)
{
	struct pair *pair = context;

	assert_true(pair->count < ARRAY_SIZE(pair->ended));
	assert_int_equal(number, pair->count);
	assert_non_null(session);
	pair->ended[pair->count++] = *state;
}

static void make(struct pair *pair)
{
	const char *const terms[] = {"bomb"};
	const struct exchanges_config exchanges = {
		.session = {.tasks = {names, names}, .task_count = {1, 1}},
		.on_end = on_end,
		.context = pair,
	};
	struct pipeline_task task = {.name = names[0]};
	struct pipeline_config config = {
		.framing = {.kind = FRAMING_HTTP1},
		.extract = {.kind = EXTRACT_AUTO},
		.max_message = 1000,
		.max_pending_units = 10,
		.track = SESSION_REQUEST,
		.tasks = &task,
		.task_count = 1,
	};
	size_t bad;

	memset(pair, 0, sizeof(*pair));
	assert_int_equal(terms_new(terms, 1, 0, &bad, &pair->terms), 0);
	task.matcher.terms = pair->terms;
	assert_int_equal(exchanges_new(&exchanges, &pair->exchanges), 0);
	config.exchanges = pair->exchanges;
	assert_int_equal(pipeline_new(&config, &pair->request), 0);
	config.track = SESSION_RESPONSE;
	assert_int_equal(pipeline_new(&config, &pair->response), 0);
}

static void unmake(struct pair *pair)
{
	pipeline_free(pair->request);
	pipeline_free(pair->response);
	exchanges_free(pair->exchanges);
	terms_free(pair->terms);
}

/* Byte by byte, each piece of memory of exactly its size. */
static void feed(struct pipeline *pipeline, const char *data, enum fault fault)
{
	enum fault last = pipeline_fault(pipeline);

	for (size_t i = 0; data[i] && !last; i++) {
		uint8_t *byte = malloc(1);

		assert_non_null(byte);
		*byte = (uint8_t)data[i];
		last = pipeline_feed(pipeline, byte, 1);
		free(byte);
	}
	assert_string_equal(fault_name(last), fault_name(fault));
}

static void clean(struct pipeline *pipeline, const char *data)
{
	uint64_t before = pipeline_received(pipeline);

	feed(pipeline, data, FAULT_NONE);
	assert_int_equal(pipeline_released(pipeline), before + strlen(data));
}

static void a_session_is_over_both_messages(void **state)
{
	struct pair pair;

	(void)state;
	make(&pair);
	clean(pair.request, GET);
	assert_int_equal(pair.count, 0);
	clean(pair.response, OK);
	assert_int_equal(pair.count, 1);
	assert_int_equal(pair.ended[0].end, SESSION_COMPLETE_END);
	for (int track = 0; track < _SESSION_TRACK_MAX; track++) {
		assert_true(pair.ended[0].track[track].received > 0);
		assert_int_equal(pair.ended[0].track[track].confirmed,
				 pair.ended[0].track[track].received);
	}
	/* The next on the same connection is one of its own. */
	clean(pair.request, GET);
	clean(pair.response, OK);
	assert_int_equal(pair.count, 2);
	assert_int_equal(pair.ended[1].track[SESSION_REQUEST].received,
			 pair.ended[0].track[SESSION_REQUEST].received);
	assert_int_equal(pipeline_end(pair.request), FAULT_NONE);
	assert_int_equal(pipeline_end(pair.response), FAULT_NONE);
	unmake(&pair);
	assert_int_equal(pair.count, 2);
}

static void pipelined_requests_are_answered_in_order(void **state)
{
	struct pair pair;

	(void)state;
	make(&pair);
	clean(pair.request, GET "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n" GET GET);
	assert_int_equal(pair.count, 0);
	clean(pair.response, OK);
	assert_int_equal(pair.count, 1);
	clean(pair.response, "HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n");
	assert_int_equal(pair.count, 2);
	clean(pair.response, "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n");
	clean(pair.response, "HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n");
	assert_int_equal(pair.count, 3);
	clean(pair.response, "HTTP/1.1 204 No Content\r\n\r\n");
	assert_int_equal(pair.count, 4);
	for (size_t i = 0; i < pair.count; i++)
		assert_int_equal(pair.ended[i].end, SESSION_COMPLETE_END);
	/* Nobody asked for one more. */
	feed(pair.response, OK, FAULT_PROTOCOL);
	unmake(&pair);
}

static void a_response_that_nobody_asked_for(void **state)
{
	struct pair pair;

	(void)state;
	make(&pair);
	feed(pair.response, OK, FAULT_PROTOCOL);
	assert_int_equal(pipeline_released(pair.response), 0);
	unmake(&pair);
	make(&pair);
	/* Not before the head of the request is whole, for what it may answer is not known. */
	feed(pair.request, "GET / HTTP/1.1\r\nHost: a\r\n", FAULT_NONE);
	feed(pair.response, OK, FAULT_PROTOCOL);
	unmake(&pair);
}

static void an_answer_before_its_request_is_whole(void **state)
{
	struct pair pair;

	(void)state;
	make(&pair);
	feed(pair.request, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nno", FAULT_NONE);
	clean(pair.response, OK);
	assert_int_equal(pair.count, 0);
	feed(pair.request, "ne", FAULT_NONE);
	assert_int_equal(pair.count, 1);
	assert_int_equal(pair.ended[0].end, SESSION_COMPLETE_END);
	unmake(&pair);
	/* A server that has given it may end there: it owes nothing. */
	make(&pair);
	feed(pair.request, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nno", FAULT_NONE);
	clean(pair.response, OK);
	assert_int_equal(pipeline_end(pair.response), FAULT_NONE);
	feed(pair.request, "ne", FAULT_NONE);
	assert_int_equal(pair.count, 1);
	assert_int_equal(pair.ended[0].end, SESSION_COMPLETE_END);
	unmake(&pair);
}

static void a_body_that_waits_for_its_100(void **state)
{
	struct pair pair;

	(void)state;
	make(&pair);
	clean(pair.request,
	      "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
	clean(pair.response, "HTTP/1.1 100 Continue\r\n\r\n");
	feed(pair.request, "o", FAULT_NONE);
	assert_int_equal(pair.count, 0);
	feed(pair.request, "k", FAULT_NONE);
	assert_int_equal(pipeline_released(pair.request), pipeline_received(pair.request));
	clean(pair.response, OK);
	assert_int_equal(pair.count, 1);
	assert_int_equal(pair.ended[0].end, SESSION_COMPLETE_END);
	unmake(&pair);
}

static void a_deny_ends_its_own_session(void **state)
{
	struct pair pair;

	(void)state;
	make(&pair);
	clean(pair.request, GET GET);
	clean(pair.response, OK);
	feed(pair.response, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbomb", FAULT_BLOCKED);
	assert_int_equal(pipeline_released(pair.response), LEN(OK));
	assert_string_equal(pipeline_denial(pair.response)->task, "t0");
	assert_int_equal(pipeline_mark(pair.response).place, REFUSAL_MESSAGE);
	unmake(&pair);
	assert_int_equal(pair.count, 2);
	assert_int_equal(pair.ended[0].end, SESSION_COMPLETE_END);
	assert_int_equal(pair.ended[1].end, SESSION_DENIED_END);
	assert_int_equal(pair.ended[1].ended_track, SESSION_RESPONSE);
}

/* The server has not seen the request; the refusal is the answer to it. */
static void a_denied_request_is_refused_where_its_answer_would_be(void **state)
{
	struct pair pair;

	(void)state;
	make(&pair);
	feed(pair.request, "GET /bomb HTTP/1.1\r\nHost: a\r\n\r\n", FAULT_BLOCKED);
	assert_int_equal(pipeline_released(pair.request), 0);
	assert_int_equal(pipeline_mark(pair.response).place, REFUSAL_MESSAGE);
	unmake(&pair);
	assert_int_equal(pair.count, 1);
	assert_int_equal(pair.ended[0].end, SESSION_DENIED_END);
	assert_int_equal(pair.ended[0].ended_track, SESSION_REQUEST);
}

static void a_tunnel_is_looked_at_anew(void **state)
{
	struct pair pair;

	(void)state;
	make(&pair);
	clean(pair.request, CONNECT);
	clean(pair.response, "HTTP/1.1 200 Connection established\r\n\r\n");
	assert_int_equal(pair.count, 1);
	assert_int_equal(pair.ended[0].end, SESSION_COMPLETE_END);
	/* What goes through it in the clear is mediated like any other. */
	clean(pair.request, GET);
	clean(pair.response, OK);
	assert_int_equal(pair.count, 2);
	feed(pair.request, "\x16\x03\x01", FAULT_TLS_UNMEDIATED);
	assert_int_equal(pipeline_released(pair.request), LEN(CONNECT GET));
	unmake(&pair);
	/* What is neither fails closed. */
	make(&pair);
	clean(pair.request, CONNECT);
	clean(pair.response, "HTTP/1.1 200 OK\r\n\r\n");
	feed(pair.response, "220 mail ready\r\n", FAULT_PROTOCOL);
	unmake(&pair);
	make(&pair);
	clean(pair.request, CONNECT);
	clean(pair.response, "HTTP/1.1 407 Proxy Authentication Required\r\n"
			     "Content-Length: 2\r\n\r\nno");
	clean(pair.request, GET);
	clean(pair.response, OK);
	unmake(&pair);
}

static void nothing_goes_into_a_tunnel_before_its_answer(void **state)
{
	static const char *const first[] = {CONNECT, UPGRADE};
	struct pair pair;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(first); i++) {
		make(&pair);
		clean(pair.request, first[i]);
		feed(pair.request, GET, FAULT_PROTOCOL);
		assert_int_equal(pipeline_released(pair.request), strlen(first[i]));
		unmake(&pair);
		make(&pair);
		clean(pair.request, first[i]);
		feed(pair.request, i ? "\x81\x80" : "\x16\x03",
		     i ? FAULT_PROTOCOL : FAULT_TLS_UNMEDIATED);
		unmake(&pair);
	}
}

static void another_protocol_is_refused_before_it_begins(void **state)
{
	static const char *const protocols[] = {"h2c", "tls/1.3", "websocket, h2c"};
	char asks[128], agrees[128];
	struct pair pair;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(protocols); i++) {
		snprintf(asks, sizeof(asks),
			 "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n",
			 protocols[i]);
		snprintf(agrees, sizeof(agrees),
			 "HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n",
			 protocols[i]);
		make(&pair);
		clean(pair.request, asks);
		feed(pair.response, agrees, FAULT_UNFRAMED);
		assert_int_equal(pipeline_released(pair.response), 0);
		assert_int_equal(pipeline_mark(pair.response).place, REFUSAL_MESSAGE);
		unmake(&pair);
	}
	/* WebSocket is mediated, and its exchange goes on. */
	make(&pair);
	clean(pair.request, UPGRADE);
	clean(pair.response, SWITCHED);
	assert_int_equal(pipeline_mark(pair.response).place, REFUSAL_WEBSOCKET);
	assert_int_equal(exchanges_open(pair.exchanges), 1);
	assert_int_equal(pair.count, 0);
	unmake(&pair);
	/* One that stays with HTTP may go on. */
	make(&pair);
	clean(pair.request, UPGRADE);
	clean(pair.response, OK);
	clean(pair.request, GET);
	clean(pair.response, OK);
	unmake(&pair);
	/* Nobody asked for another. */
	make(&pair);
	clean(pair.request, GET);
	feed(pair.response, SWITCHED, FAULT_PROTOCOL);
	unmake(&pair);
}

static void an_end_without_an_answer_is_not_clean(void **state)
{
	struct pair pair;

	(void)state;
	make(&pair);
	clean(pair.request, GET);
	assert_int_equal(pipeline_end(pair.request), FAULT_NONE);
	assert_int_equal(pipeline_end(pair.response), FAULT_TRUNCATED);
	unmake(&pair);
	assert_int_equal(pair.count, 1);
	assert_int_equal(pair.ended[0].end, SESSION_FAILED_END);
}

static void a_refused_head_is_known_as_one(void **state)
{
	struct pair pair;

	(void)state;
	make(&pair);
	feed(pair.request, "HEAD / HTTP/1.1\r\nX: bomb\r\n", FAULT_BLOCKED);
	assert_true(exchanges_due(pair.exchanges)->head);
	unmake(&pair);
	make(&pair);
	feed(pair.request, "GET / HTTP/1.1\r\nX: bomb\r\n", FAULT_BLOCKED);
	assert_false(exchanges_due(pair.exchanges)->head);
	unmake(&pair);
}

static void an_idle_connection_is_small(void **state)
{
	size_t memory;
	struct pair pair;

	(void)state;
	make(&pair);
	clean(pair.request, GET);
	clean(pair.response, OK);
	memory = pipeline_memory(pair.request) + pipeline_memory(pair.response) +
		 exchanges_memory(pair.exchanges, SESSION_REQUEST) +
		 exchanges_memory(pair.exchanges, SESSION_RESPONSE);
	assert_in_range(memory, sizeof(void *), 12288);
	unmake(&pair);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_session_is_over_both_messages),
		cmocka_unit_test(pipelined_requests_are_answered_in_order),
		cmocka_unit_test(a_response_that_nobody_asked_for),
		cmocka_unit_test(an_answer_before_its_request_is_whole),
		cmocka_unit_test(a_body_that_waits_for_its_100),
		cmocka_unit_test(a_deny_ends_its_own_session),
		cmocka_unit_test(a_denied_request_is_refused_where_its_answer_would_be),
		cmocka_unit_test(a_tunnel_is_looked_at_anew),
		cmocka_unit_test(nothing_goes_into_a_tunnel_before_its_answer),
		cmocka_unit_test(another_protocol_is_refused_before_it_begins),
		cmocka_unit_test(an_end_without_an_answer_is_not_clean),
		cmocka_unit_test(a_refused_head_is_known_as_one),
		cmocka_unit_test(an_idle_connection_is_small),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
