/* SPDX-License-Identifier: Apache-2.0 */
/* Exchanges: which response answers which request, and how their sessions end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "core/exchange.h"
#include "unit/allocation.h"

static const char *const names[] = {"task"};

/* Exchanges, and how their sessions ended, in order. */
struct parts {
	struct exchanges *exchanges;
	struct session_state ended[EXCHANGES_MAX + 8];
	size_t count;
	uint64_t begun;
};

static void on_begin(void *context, uint64_t number, const struct session *session)
{
	struct parts *parts = context;

	assert_int_equal(number, parts->begun++);
	assert_non_null(session);
}

static void on_end(void *context, uint64_t number, const struct session *session,
		   const struct session_state *state)
{
	struct parts *parts = context;

	assert_true(parts->count < ARRAY_SIZE(parts->ended));
	assert_int_equal(number, parts->count);
	assert_non_null(session);
	parts->ended[parts->count++] = *state;
}

static void make_sided(struct parts *parts, bool tasks, bool one_sided)
{
	const struct exchanges_config config = {
		.session = {.tasks = {names, names}, .task_count = {tasks, tasks}},
		.on_begin = on_begin,
		.on_end = on_end,
		.context = parts,
		.one_sided = one_sided,
	};

	memset(parts, 0, sizeof(*parts));
	assert_int_equal(exchanges_new(&config, &parts->exchanges), 0);
}

static void make(struct parts *parts, bool tasks)
{
	make_sided(parts, tasks, false);
}

static struct session *request(struct parts *parts, struct http1_request what)
{
	struct session *session = NULL;

	assert_int_equal(exchanges_request(parts->exchanges, &session), FAULT_NONE);
	exchanges_request_head(parts->exchanges, &what);
	return session;
}

static struct session *whole_request(struct parts *parts)
{
	struct session *session = request(parts, (struct http1_request){0});

	assert_int_equal(exchanges_request_end(parts->exchanges), FAULT_NONE);
	return session;
}

static enum fault respond(struct parts *parts, struct session **ret_session,
			  struct http1_request *ret_request)
{
	return exchanges_response(parts->exchanges, ret_session, ret_request);
}

/* The answer that is due; its session. */
static struct session *response(struct parts *parts)
{
	struct http1_request answered;
	struct session *session = NULL;

	assert_int_equal(respond(parts, &session, &answered), FAULT_NONE);
	return session;
}

static void no_response_now(struct parts *parts)
{
	struct session *session = NULL;
	struct http1_request answered;

	assert_int_equal(respond(parts, &session, &answered), FAULT_PROTOCOL);
	assert_null(session);
}

static void observe(struct session *session, enum session_track track, uint64_t runes)
{
	uint64_t received;

	assert_int_equal(session_observe(session, track, runes, &received), SESSION_OK);
}

static void clear(struct session *session, enum session_track track, uint64_t runes)
{
	observe(session, track, runes);
	assert_int_equal(session_outcome(session, track, 0, 0, runes, SESSION_CLEARED), SESSION_OK);
}

static void an_exchange_ends_when_both_its_messages_have(void **state)
{
	struct session_state now;
	struct parts parts;
	struct session *session;

	(void)state;
	make(&parts, true);
	assert_int_equal(exchanges_open(parts.exchanges), 0);
	assert_null(exchanges_due(parts.exchanges));
	assert_false(exchanges_state(parts.exchanges, &now));
	session = whole_request(&parts);
	assert_non_null(session);
	assert_ptr_equal(response(&parts), session);
	clear(session, SESSION_REQUEST, 3);
	clear(session, SESSION_RESPONSE, 5);
	assert_true(exchanges_state(parts.exchanges, &now));
	assert_int_equal(now.end, SESSION_OPEN);
	assert_int_equal(parts.count, 0);
	assert_int_equal(exchanges_response_end(parts.exchanges, false), FAULT_NONE);
	assert_int_equal(parts.count, 1);
	assert_int_equal(parts.ended[0].end, SESSION_COMPLETE_END);
	assert_int_equal(parts.ended[0].track[SESSION_RESPONSE].confirmed, 5);
	assert_int_equal(exchanges_open(parts.exchanges), 0);
	/* What the last one came to is still known. */
	assert_true(exchanges_state(parts.exchanges, &now));
	assert_int_equal(now.end, SESSION_COMPLETE_END);
	exchanges_free(parts.exchanges);
	assert_int_equal(parts.count, 1);
}

/* A server may answer before the request is whole; the session waits for its rest. */
static void an_answer_before_the_request_is_whole(void **state)
{
	struct session *session = NULL;
	struct parts parts;

	(void)state;
	make(&parts, true);
	no_response_now(&parts);
	assert_int_equal(exchanges_request(parts.exchanges, &session), FAULT_NONE);
	no_response_now(&parts);
	exchanges_request_head(parts.exchanges, &(struct http1_request){0});
	assert_ptr_equal(response(&parts), session);
	assert_int_equal(exchanges_response_end(parts.exchanges, false), FAULT_NONE);
	assert_int_equal(parts.count, 0);
	assert_int_equal(exchanges_open(parts.exchanges), 1);
	assert_null(exchanges_due(parts.exchanges));
	no_response_now(&parts);
	assert_int_equal(exchanges_request_end(parts.exchanges), FAULT_NONE);
	assert_int_equal(parts.count, 1);
	no_response_now(&parts);
	exchanges_free(parts.exchanges);
}

static void an_interim_answer_is_not_the_answer(void **state)
{
	struct session *session;
	struct parts parts;

	(void)state;
	make(&parts, true);
	session = whole_request(&parts);
	for (int i = 0; i < 3; i++) {
		assert_ptr_equal(response(&parts), session);
		assert_int_equal(exchanges_response_end(parts.exchanges, true), FAULT_NONE);
		assert_int_equal(exchanges_open(parts.exchanges), 1);
	}
	assert_ptr_equal(response(&parts), session);
	assert_int_equal(exchanges_response_end(parts.exchanges, false), FAULT_NONE);
	assert_int_equal(parts.count, 1);
	exchanges_free(parts.exchanges);
}

static void responses_answer_in_order(void **state)
{
	struct session *sessions[5];
	struct http1_request answered;
	struct session *session;
	struct parts parts;

	(void)state;
	make(&parts, true);
	for (unsigned int i = 0; i < 5; i++) {
		sessions[i] = request(&parts, (struct http1_request){.head = i == 2});
		assert_int_equal(exchanges_request_end(parts.exchanges), FAULT_NONE);
	}
	for (unsigned int i = 0; i < 5; i++) {
		assert_int_equal(exchanges_due(parts.exchanges)->head, i == 2);
		assert_int_equal(respond(&parts, &session, &answered), FAULT_NONE);
		assert_ptr_equal(session, sessions[i]);
		assert_int_equal(answered.head, i == 2);
		clear(session, SESSION_RESPONSE, i + 1);
		assert_int_equal(exchanges_response_end(parts.exchanges, false), FAULT_NONE);
		assert_int_equal(parts.count, i + 1);
		assert_int_equal(parts.ended[i].track[SESSION_RESPONSE].received, i + 1);
	}
	no_response_now(&parts);
	exchanges_free(parts.exchanges);
}

/* As many as may wait, and one more; over and over, so that places are used again. */
static void so_many_may_wait_and_no_more(void **state)
{
	struct session *session = NULL;
	struct parts parts;

	(void)state;
	make(&parts, false);
	for (unsigned int round = 0; round < 3; round++) {
		while (exchanges_open(parts.exchanges) < EXCHANGES_MAX)
			(void)whole_request(&parts);
		assert_int_equal(exchanges_request(parts.exchanges, &session), FAULT_TOO_LARGE);
		for (unsigned int i = 0; i < 40; i++) {
			assert_null(response(&parts));
			assert_int_equal(exchanges_response_end(parts.exchanges, false),
					 FAULT_NONE);
		}
		assert_int_equal(exchanges_open(parts.exchanges), EXCHANGES_MAX - 40);
	}
	assert_int_equal(parts.count, 0);
	exchanges_free(parts.exchanges);
	assert_int_equal(parts.count, 0);
}

static void nothing_follows_a_change_of_protocol_before_its_answer(void **state)
{
	static const struct http1_request changes[] = {{.connect = true}, {.upgrade = true}};
	struct session *session = NULL;
	struct parts parts;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		make(&parts, true);
		(void)request(&parts, changes[i]);
		assert_int_equal(exchanges_request_end(parts.exchanges), FAULT_NONE);
		assert_int_equal(exchanges_request(parts.exchanges, &session), FAULT_PROTOCOL);
		assert_null(session);
		(void)response(&parts);
		assert_int_equal(exchanges_response_end(parts.exchanges, true), FAULT_NONE);
		assert_int_equal(exchanges_request(parts.exchanges, &session), FAULT_PROTOCOL);
		(void)response(&parts);
		assert_int_equal(exchanges_response_end(parts.exchanges, false), FAULT_NONE);
		(void)whole_request(&parts);
		exchanges_free(parts.exchanges);
		assert_int_equal(parts.count, 2);
		assert_int_equal(parts.ended[0].end, SESSION_COMPLETE_END);
		assert_int_equal(parts.ended[1].error, SESSION_DISCONNECTED);
	}
}

static const struct http1_websocket agreed = {.agreed = true, .deflate = true};

static void an_exchange_goes_on_in_a_websocket(void **state)
{
	const struct http1_websocket *websocket;
	struct session *session, *goes_on = NULL;
	struct parts parts;

	(void)state;
	make(&parts, true);
	session = request(&parts, (struct http1_request){.upgrade = true, .websocket = true});
	assert_false(exchanges_may_begin(parts.exchanges));
	/* Not before the request is whole. */
	(void)response(&parts);
	assert_int_equal(exchanges_upgrade(parts.exchanges, &agreed), FAULT_PROTOCOL);
	assert_null(exchanges_websocket(parts.exchanges, &goes_on));
	assert_int_equal(exchanges_request_end(parts.exchanges), FAULT_NONE);
	assert_int_equal(exchanges_upgrade(parts.exchanges, &agreed), FAULT_NONE);
	assert_int_equal(exchanges_response_end(parts.exchanges, true), FAULT_NONE);
	websocket = exchanges_websocket(parts.exchanges, &goes_on);
	assert_non_null(websocket);
	assert_true(websocket->deflate);
	assert_ptr_equal(goes_on, session);
	assert_non_null(exchanges_due(parts.exchanges));
	/* Both its messages end again, in any order. */
	assert_int_equal(exchanges_response_end(parts.exchanges, false), FAULT_NONE);
	assert_int_equal(parts.count, 0);
	assert_int_equal(exchanges_open(parts.exchanges), 1);
	assert_int_equal(exchanges_request_end(parts.exchanges), FAULT_NONE);
	assert_int_equal(parts.count, 1);
	assert_int_equal(parts.ended[0].end, SESSION_COMPLETE_END);
	exchanges_free(parts.exchanges);
	assert_int_equal(parts.count, 1);
}

static void a_client_that_has_ended_does_not_go_on(void **state)
{
	struct parts parts;

	(void)state;
	make(&parts, true);
	(void)request(&parts, (struct http1_request){.upgrade = true, .websocket = true});
	assert_int_equal(exchanges_request_end(parts.exchanges), FAULT_NONE);
	exchanges_requests_over(parts.exchanges);
	(void)response(&parts);
	assert_int_equal(exchanges_upgrade(parts.exchanges, &agreed), FAULT_NONE);
	assert_int_equal(exchanges_response_end(parts.exchanges, true), FAULT_NONE);
	assert_int_equal(parts.count, 0);
	assert_int_equal(exchanges_response_end(parts.exchanges, false), FAULT_NONE);
	assert_int_equal(parts.count, 1);
	assert_int_equal(parts.ended[0].end, SESSION_COMPLETE_END);
	exchanges_free(parts.exchanges);
}

static void what_ends_the_stream_ends_every_session_once(void **state)
{
	struct session_state now;
	struct parts parts;
	struct session *denied;

	(void)state;
	make(&parts, true);
	exchanges_fail(parts.exchanges, SESSION_OPERATOR);
	exchanges_free(parts.exchanges);
	assert_int_equal(parts.count, 0);
	make(&parts, true);
	denied = whole_request(&parts);
	observe(denied, SESSION_RESPONSE, 4);
	assert_int_equal(session_outcome(denied, SESSION_RESPONSE, 0, 0, 4, SESSION_DENIED),
			 SESSION_OK);
	(void)whole_request(&parts);
	(void)request(&parts, (struct http1_request){0});
	exchanges_fail(parts.exchanges, SESSION_HOLD_TIMEOUT);
	assert_int_equal(parts.count, 3);
	/* The first reason stays. */
	assert_int_equal(parts.ended[0].end, SESSION_DENIED_END);
	for (size_t i = 1; i < 3; i++) {
		assert_int_equal(parts.ended[i].end, SESSION_FAILED_END);
		assert_int_equal(parts.ended[i].error, SESSION_HOLD_TIMEOUT);
	}
	assert_true(exchanges_state(parts.exchanges, &now));
	assert_int_equal(now.error, SESSION_HOLD_TIMEOUT);
	/* Flows that come to their end after that change nothing. */
	assert_int_equal(exchanges_request_end(parts.exchanges), FAULT_NONE);
	(void)response(&parts);
	assert_int_equal(exchanges_response_end(parts.exchanges, false), FAULT_ACCOUNTING);
	exchanges_fail(parts.exchanges, SESSION_OPERATOR);
	exchanges_free(parts.exchanges);
	assert_int_equal(parts.count, 3);
}

static void what_is_open_in_the_end_was_disconnected(void **state)
{
	struct parts parts;

	(void)state;
	make(&parts, true);
	(void)whole_request(&parts);
	(void)request(&parts, (struct http1_request){0});
	exchanges_free(parts.exchanges);
	assert_int_equal(parts.count, 2);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(parts.ended[i].error, SESSION_DISCONNECTED);
	exchanges_free(NULL);
}

static void a_message_that_is_not_cleared_cannot_be_finished(void **state)
{
	struct parts parts;

	(void)state;
	make(&parts, true);
	observe(whole_request(&parts), SESSION_REQUEST, 1);
	(void)response(&parts);
	assert_int_equal(exchanges_response_end(parts.exchanges, false), FAULT_ACCOUNTING);
	assert_int_equal(parts.count, 1);
	assert_int_equal(parts.ended[0].end, SESSION_FAILED_END);
	assert_int_equal(parts.ended[0].error, SESSION_UNCLEARED_RESIDUE);
	exchanges_free(parts.exchanges);
	assert_int_equal(parts.count, 1);
}

/* Requests alone: as if each were answered at once. Responses alone: as if to GET. */
static void one_flow_alone(void **state)
{
	struct parts parts;

	(void)state;
	make_sided(&parts, true, true);
	(void)request(&parts, (struct http1_request){.upgrade = true});
	assert_int_equal(parts.count, 0);
	assert_int_equal(exchanges_request_end(parts.exchanges), FAULT_NONE);
	assert_int_equal(parts.count, 1);
	for (unsigned int i = 0; i < EXCHANGES_MAX; i++)
		(void)whole_request(&parts);
	assert_int_equal(parts.count, EXCHANGES_MAX + 1);
	exchanges_free(parts.exchanges);
	make_sided(&parts, true, true);
	for (unsigned int i = 0; i < 3; i++) {
		assert_non_null(response(&parts));
		assert_int_equal(exchanges_response_end(parts.exchanges, true), FAULT_NONE);
		assert_int_equal(parts.count, i);
		assert_non_null(response(&parts));
		assert_int_equal(exchanges_response_end(parts.exchanges, false), FAULT_NONE);
		assert_int_equal(parts.count, i + 1);
		assert_int_equal(parts.ended[i].end, SESSION_COMPLETE_END);
	}
	exchanges_free(parts.exchanges);
	assert_int_equal(parts.count, 3);
}

static void without_tasks_there_is_no_session(void **state)
{
	struct session_state now;
	struct parts parts;

	(void)state;
	make(&parts, false);
	assert_null(whole_request(&parts));
	assert_null(response(&parts));
	assert_false(exchanges_state(parts.exchanges, &now));
	assert_int_equal(exchanges_response_end(parts.exchanges, false), FAULT_NONE);
	exchanges_free(parts.exchanges);
	assert_int_equal(parts.count, 0);
}

/* Out of memory: nothing has begun. */
static void any_allocation_may_fail(void **state)
{
	const struct exchanges_config config = {
		.session = {.tasks = {names, names}, .task_count = {1, 1}},
	};
	struct exchanges *exchanges = NULL;
	struct session *session = NULL;
	unsigned long n;

	(void)state;
	allocation_fail_at(0);
	assert_int_equal(exchanges_new(&config, &exchanges), -ENOMEM);
	assert_true(allocation_failed());
	assert_null(exchanges);
	for (n = 0; n < 100; n++) {
		enum fault fault;

		assert_int_equal(exchanges_new(&config, &exchanges), 0);
		allocation_fail_at(n);
		fault = exchanges_request(exchanges, &session);
		if (!allocation_failed())
			break;
		assert_int_equal(fault, FAULT_NO_MEMORY);
		assert_null(session);
		assert_int_equal(exchanges_open(exchanges), 0);
		exchanges_free(exchanges);
	}
	assert_in_range(n, 2, 99);
	assert_in_range(exchanges_memory(exchanges, SESSION_REQUEST), sizeof(void *), 1024);
	exchanges_free(exchanges);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_exchange_ends_when_both_its_messages_have),
		cmocka_unit_test(an_answer_before_the_request_is_whole),
		cmocka_unit_test(an_interim_answer_is_not_the_answer),
		cmocka_unit_test(responses_answer_in_order),
		cmocka_unit_test(so_many_may_wait_and_no_more),
		cmocka_unit_test(nothing_follows_a_change_of_protocol_before_its_answer),
		cmocka_unit_test(an_exchange_goes_on_in_a_websocket),
		cmocka_unit_test(a_client_that_has_ended_does_not_go_on),
		cmocka_unit_test(what_ends_the_stream_ends_every_session_once),
		cmocka_unit_test(what_is_open_in_the_end_was_disconnected),
		cmocka_unit_test(a_message_that_is_not_cleared_cannot_be_finished),
		cmocka_unit_test(one_flow_alone),
		cmocka_unit_test(without_tasks_there_is_no_session),
		cmocka_unit_test(any_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
