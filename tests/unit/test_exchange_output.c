/* SPDX-License-Identifier: Apache-2.0 */
/* Exchanges and their sessions: tasks of `output`, and configurations that are no session's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/macros.h"
#include "core/exchange.h"

static const char *const names[] = {"t0"}, *const output_names[] = {"o0", "o1"};

/* Exchanges, and how their sessions ended, in order. */
struct parts {
	struct exchanges *exchanges;
	struct session_state ended[4];
	size_t count;
};

static void on_end(void *context, uint64_t number, const struct session *session,
		   const struct session_state *state)
{
	struct parts *parts = context;

	assert_true(parts->count < ARRAY_SIZE(parts->ended));
	assert_int_equal(number, parts->count);
	assert_non_null(session);
	parts->ended[parts->count++] = *state;
}

/* One whose request has begun, and may be answered. */
static struct session *make(struct parts *parts, bool tasks)
{
	const struct exchanges_config config = {
		.session = {.tasks = {names, names},
			    .task_count = {tasks, tasks},
			    .output_tasks = output_names,
			    .output_count = ARRAY_SIZE(output_names)},
		.on_end = on_end,
		.context = parts,
	};
	struct session *session;

	*parts = (struct parts){0};
	assert_int_equal(exchanges_new(&config, &parts->exchanges), 0);
	assert_int_equal(exchanges_whole(parts->exchanges, SESSION_REQUEST, &session), FAULT_NONE);
	assert_int_equal(exchanges_whole(parts->exchanges, SESSION_RESPONSE, &session), FAULT_NONE);
	return session;
}

/* A clearance of each stands where nothing was found, whichever message ends first. */
static void a_response_without_findings_is_cleared(void **state)
{
	(void)state;
	for (int first = 0; first < 2; first++) {
		struct parts parts;

		make(&parts, true);
		for (int i = 0; i < 2; i++) {
			assert_int_equal(parts.count, 0);
			assert_int_equal(first == i
						 ? exchanges_request_end(parts.exchanges)
						 : exchanges_response_end(parts.exchanges, false),
					 FAULT_NONE);
		}
		assert_int_equal(parts.count, 1);
		assert_int_equal(parts.ended[0].end, SESSION_COMPLETE_END);
		assert_false(parts.ended[0].ended_output);
		exchanges_free(parts.exchanges);
	}
}

/* The session ends with the response, is told of once, and the answer stays due. */
static void a_finding_denies_the_response(void **state)
{
	(void)state;
	for (int whole = 0; whole < 2; whole++) {
		struct session_state now;
		struct session *session;
		struct parts parts;

		session = make(&parts, true);
		if (whole)
			assert_int_equal(exchanges_request_end(parts.exchanges), FAULT_NONE);
		exchanges_output_denied(parts.exchanges, "o1");
		exchanges_output_denied(parts.exchanges, "o0");
		session_get(session, &now);
		assert_int_equal(now.end, SESSION_OPEN);
		assert_int_equal(exchanges_response_end(parts.exchanges, whole),
				 FAULT_OUTPUT_DENIED);
		assert_non_null(exchanges_due(parts.exchanges));
		assert_int_equal(exchanges_open(parts.exchanges), 1);
		if (!whole)
			assert_int_equal(exchanges_request_end(parts.exchanges), FAULT_NONE);
		assert_int_equal(parts.count, 0);
		exchanges_fail(parts.exchanges, SESSION_FRAMING_FAULT);
		exchanges_free(parts.exchanges);
		assert_int_equal(parts.count, 1);
		assert_int_equal(parts.ended[0].end, SESSION_DENIED_END);
		assert_true(parts.ended[0].ended_output);
		assert_int_equal(parts.ended[0].ended_task, 1);
		assert_int_equal(parts.ended[0].ended_track, SESSION_RESPONSE);
	}
}

/* Whatever the session makes of it, the response does not pass. */
static void a_denial_that_the_session_refuses(void **state)
{
	uint64_t received;
	struct session *session;
	struct parts parts;

	(void)state;
	make(&parts, true);
	exchanges_output_denied(parts.exchanges, "unknown");
	assert_int_equal(exchanges_response_end(parts.exchanges, false), FAULT_OUTPUT_DENIED);
	exchanges_free(parts.exchanges);
	assert_int_equal(parts.ended[0].end, SESSION_FAILED_END);
	assert_int_equal(parts.ended[0].error, SESSION_UNKNOWN_TASK);
	/* The first reason stays. */
	session = make(&parts, true);
	assert_int_equal(session_observe(session, SESSION_REQUEST, 1, &received), SESSION_OK);
	session_fail(session, SESSION_OPERATOR);
	exchanges_output_denied(parts.exchanges, "o0");
	assert_int_equal(exchanges_response_end(parts.exchanges, false), FAULT_OUTPUT_DENIED);
	exchanges_free(parts.exchanges);
	assert_int_equal(parts.ended[0].error, SESSION_OPERATOR);
	/* Nor where there is none. */
	assert_null(make(&parts, false));
	exchanges_output_denied(parts.exchanges, "o0");
	assert_int_equal(exchanges_response_end(parts.exchanges, false), FAULT_OUTPUT_DENIED);
	exchanges_free(parts.exchanges);
	assert_int_equal(parts.count, 0);
	assert_int_equal(exchange_deny(NULL, "o0"), FAULT_OUTPUT_DENIED);
}

/* What is not cleared is no less a residue for tasks that judge later. */
static void a_residue_is_no_complete_session(void **state)
{
	uint64_t received;
	struct session *session;
	struct parts parts;

	(void)state;
	session = make(&parts, true);
	assert_int_equal(session_observe(session, SESSION_RESPONSE, 1, &received), SESSION_OK);
	assert_int_equal(exchanges_request_end(parts.exchanges), FAULT_NONE);
	assert_int_equal(exchanges_response_end(parts.exchanges, false), FAULT_ACCOUNTING);
	assert_int_equal(parts.ended[0].error, SESSION_UNCLEARED_RESIDUE);
	exchanges_free(parts.exchanges);
	/* One that ended while it went on is not told so much. */
	session = make(&parts, true);
	session_fail(session, SESSION_OPERATOR);
	assert_int_equal(exchanges_request_end(parts.exchanges), FAULT_NONE);
	assert_int_equal(exchanges_response_end(parts.exchanges, false), FAULT_ACCOUNTING);
	assert_int_equal(parts.ended[0].error, SESSION_OPERATOR);
	exchanges_free(parts.exchanges);
}

static void a_configuration_that_is_no_sessions(void **state)
{
	const struct exchanges_config config = {
		.session = {.start = {[SESSION_REQUEST] = SESSION_RUNES_MAX + 1ull},
			    .tasks = {names, names},
			    .task_count = {1, 1}},
	};
	struct exchanges *exchanges;
	struct session *session = NULL;

	(void)state;
	assert_int_equal(exchanges_new(&config, &exchanges), 0);
	assert_int_equal(exchanges_request(exchanges, &session), FAULT_ACCOUNTING);
	assert_int_equal(exchanges_open(exchanges), 0);
	exchanges_free(exchanges);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_response_without_findings_is_cleared),
		cmocka_unit_test(a_finding_denies_the_response),
		cmocka_unit_test(a_denial_that_the_session_refuses),
		cmocka_unit_test(a_residue_is_no_complete_session),
		cmocka_unit_test(a_configuration_that_is_no_sessions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
