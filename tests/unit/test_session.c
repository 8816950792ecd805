/* SPDX-License-Identifier: Apache-2.0 */
/* Accounting, rule by rule. */
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
#include "unit/accounts.h"

static const char unsupported[] = "host_error:streaming_unsupported";

static struct session *make(enum session_level level, uint64_t start, size_t request_tasks,
			    size_t response_tasks)
{
	return accounts_new((struct accounts){.level = level,
					      .start = start,
					      .request_tasks = request_tasks,
					      .response_tasks = response_tasks});
}

static void new_refuses_what_cannot_be_accounted(void **state)
{
	static const char *const one[] = {"t0"};
	struct session_config config = {.level = SESSION_BLOCKING};
	struct session *session = NULL;

	(void)state;
	assert_int_equal(session_new(&config, &session), SESSION_NO_TRACKS_MEDIATED);
	config.start[SESSION_REQUEST] = SESSION_RUNES_MAX + 1ull;
	assert_int_equal(session_new(&config, &session), SESSION_NO_TRACKS_MEDIATED);
	config.tasks[SESSION_RESPONSE] = one;
	config.task_count[SESSION_RESPONSE] = 1;
	assert_int_equal(session_new(&config, &session), SESSION_OFFSET_OVERFLOW);
	config.start[SESSION_REQUEST] = UINT64_MAX;
	assert_int_equal(session_new(&config, &session), SESSION_OFFSET_OVERFLOW);
	assert_null(session);
	config.start[SESSION_REQUEST] = SESSION_RUNES_MAX;
	assert_int_equal(session_new(&config, &session), SESSION_OK);
	assert_false(session_free(session));
	assert_true(session_free(NULL));
}

static void new_takes_tasks_up_to_the_cap(void **state)
{
	static char texts[SESSION_TASKS_MAX + 1][8];
	const char *names[SESSION_TASKS_MAX + 1];
	struct session_config config = {
		.tasks = {names, names},
		.task_count = {SESSION_TASKS_MAX, SESSION_TASKS_MAX},
	};
	struct session *session = NULL;
	uint64_t mark;

	(void)state;
	for (unsigned int i = 0; i <= SESSION_TASKS_MAX; i++) {
		snprintf(texts[i], sizeof(texts[i]), "n%u", i);
		names[i] = texts[i];
	}
	assert_int_equal(session_new(&config, &session), SESSION_OK);
	/* The names are copies. */
	strcpy(texts[3], "x");
	assert_int_equal(session_task(session, SESSION_RESPONSE, "n3"), 3);
	assert_int_equal(session_task(session, SESSION_RESPONSE, "x"), -ENOENT);
	assert_string_equal(session_task_name(session, SESSION_REQUEST, SESSION_TASKS_MAX - 1),
			    "n1023");
	assert_null(session_task_name(session, SESSION_REQUEST, SESSION_TASKS_MAX));
	assert_null(session_task_name(session, SESSION_REQUEST, -1));
	accounts_observe(session, SESSION_RESPONSE, 5);
	for (int i = 0; i < (int)SESSION_TASKS_MAX; i++) {
		assert_int_equal(session_advance(session, SESSION_RESPONSE, &mark), 0);
		assert_int_equal(
			session_outcome(session, SESSION_RESPONSE, i, 0, 5, SESSION_CLEARED),
			SESSION_OK);
	}
	assert_int_equal(session_advance(session, SESSION_RESPONSE, &mark), 1);
	assert_int_equal(mark, 5);
	assert_int_equal(session_finish(session), SESSION_OK);
	assert_true(session_free(session));
	config.task_count[SESSION_REQUEST] = SESSION_TASKS_MAX + 1;
	session = NULL;
	assert_int_equal(session_new(&config, &session), SESSION_TOO_MANY_TASKS);
	assert_null(session);
}

static void new_counts_a_repeated_task_once(void **state)
{
	static const char *const names[] = {"a", "b", "a"};
	struct session_config config = {.tasks = {names, names}, .task_count = {3, 3}};
	struct session *session = NULL;
	uint64_t mark;

	(void)state;
	assert_int_equal(session_new(&config, &session), SESSION_OK);
	accounts_observe(session, SESSION_REQUEST, 2);
	assert_int_equal(session_outcome(session, SESSION_REQUEST, 0, 0, 2, SESSION_CLEARED),
			 SESSION_OK);
	assert_int_equal(session_outcome(session, SESSION_REQUEST, 1, 0, 2, SESSION_CLEARED),
			 SESSION_OK);
	assert_int_equal(session_advance(session, SESSION_REQUEST, &mark), 1);
	assert_int_equal(session_outcome(session, SESSION_REQUEST, 2, 0, 2, SESSION_CLEARED),
			 SESSION_UNKNOWN_TASK);
	assert_true(session_free(session));
}

static void the_watermark_is_the_slowest_task(void **state)
{
	struct session *session = make(SESSION_BLOCKING, 7, 0, 2);
	uint64_t mark = 0;

	(void)state;
	accounts_observe(session, SESSION_RESPONSE, 10);
	assert_int_equal(session_outcome(session, SESSION_RESPONSE, 0, 7, 17, SESSION_CLEARED),
			 SESSION_OK);
	assert_int_equal(session_advance(session, SESSION_RESPONSE, &mark), 0);
	assert_int_equal(session_outcome(session, SESSION_RESPONSE, 1, 7, 9, SESSION_CLEARED),
			 SESSION_OK);
	assert_int_equal(accounts_state(session).track[SESSION_RESPONSE].release, 7);
	assert_int_equal(session_advance(session, SESSION_RESPONSE, &mark), 1);
	assert_int_equal(mark, 9);
	assert_int_equal(session_advance(session, SESSION_RESPONSE, &mark), 0);
	assert_int_equal(accounts_state(session).track[SESSION_RESPONSE].release, 9);
	assert_int_equal(accounts_state(session).track[SESSION_RESPONSE].pending, 8);
	/* Overlap moves the frontier; a span below it changes nothing. */
	assert_int_equal(session_outcome(session, SESSION_RESPONSE, 1, 8, 12, SESSION_CLEARED),
			 SESSION_OK);
	assert_int_equal(session_outcome(session, SESSION_RESPONSE, 1, 0, 3, SESSION_CLEARED),
			 SESSION_OK);
	assert_int_equal(session_advance(session, SESSION_RESPONSE, &mark), 1);
	assert_int_equal(mark, 12);
	assert_false(session_free(session));
}

static void observing_fails_closed(void **state)
{
	struct session *session;
	uint64_t received = 3;

	(void)state;
	session = make(SESSION_BLOCKING, 0, 0, 1);
	assert_int_equal(session_observe(session, SESSION_REQUEST, 0, &received), SESSION_NO_TASKS);
	accounts_failed(session, SESSION_NO_TASKS, unsupported);

	session = make(SESSION_BLOCKING, 0, 1, 1);
	assert_int_equal(session_end_of_payloads(session), SESSION_OK);
	assert_int_equal(session_observe(session, SESSION_REQUEST, 0, &received),
			 SESSION_PAYLOADS_CLOSED);
	accounts_failed(session, SESSION_PAYLOADS_CLOSED, unsupported);

	/* Both hold: the closed payloads are looked at first. */
	session = make(SESSION_BLOCKING, 0, 0, 1);
	assert_int_equal(session_end_of_payloads(session), SESSION_OK);
	assert_int_equal(session_observe(session, SESSION_REQUEST, 0, &received),
			 SESSION_PAYLOADS_CLOSED);
	accounts_failed(session, SESSION_PAYLOADS_CLOSED, unsupported);
	assert_int_equal(received, 3);
}

static void the_ceiling_never_wraps(void **state)
{
	static const uint64_t excess[] = {1, 2, UINT32_MAX, 1ull << 32, UINT64_MAX};
	struct session *session;
	uint64_t received;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(excess); i++) {
		session = make(SESSION_BLOCKING, 0, 1, 1);
		accounts_observe(session, SESSION_RESPONSE, SESSION_RUNES_MAX - 5);
		accounts_observe(session, SESSION_RESPONSE, 5);
		accounts_observe(session, SESSION_RESPONSE, 0);
		assert_int_equal(accounts_state(session).track[SESSION_RESPONSE].received,
				 SESSION_RUNES_MAX);
		assert_int_equal(session_outcome(session, SESSION_RESPONSE, 0, 0, SESSION_RUNES_MAX,
						 SESSION_CLEARED),
				 SESSION_OK);
		assert_int_equal(session_advance(session, SESSION_RESPONSE, &received), 1);
		assert_int_equal(received, SESSION_RUNES_MAX);
		assert_int_equal(session_observe(session, SESSION_RESPONSE, excess[i], &received),
				 SESSION_OFFSET_OVERFLOW);
		assert_int_equal(accounts_state(session).track[SESSION_RESPONSE].received,
				 SESSION_RUNES_MAX);
		accounts_failed(session, SESSION_OFFSET_OVERFLOW, unsupported);
	}
}

static void a_span_that_cannot_be_built_changes_nothing(void **state)
{
	struct session *session = make(SESSION_BLOCKING, 0, 0, 1);
	const uint64_t past = SESSION_RUNES_MAX + 1ull;

	(void)state;
	accounts_observe(session, SESSION_RESPONSE, 4);
	assert_int_equal(session_outcome(session, SESSION_RESPONSE, 0, 2, 2, SESSION_DENIED),
			 SESSION_EMPTY_SPAN);
	assert_int_equal(session_outcome(session, SESSION_RESPONSE, -1, 3, 2, SESSION_DENIED),
			 SESSION_EMPTY_SPAN);
	assert_int_equal(
		session_outcome(session, SESSION_RESPONSE, 0, past + 1, past, SESSION_DENIED),
		SESSION_EMPTY_SPAN);
	assert_int_equal(session_outcome(session, SESSION_RESPONSE, 0, 0, past, SESSION_DENIED),
			 SESSION_SPAN_OVERFLOW);
	assert_int_equal(
		session_outcome(session, SESSION_RESPONSE, 0, 0, UINT64_MAX, SESSION_DENIED),
		SESSION_SPAN_OVERFLOW);
	assert_int_equal(accounts_state(session).end, SESSION_OPEN);
	session_fail(session, SESSION_DISCONNECTED);
	/* Looked at even before the end. */
	assert_int_equal(session_outcome(session, SESSION_RESPONSE, 0, 2, 2, SESSION_DENIED),
			 SESSION_EMPTY_SPAN);
	accounts_failed(session, SESSION_DISCONNECTED, unsupported);
}

static void a_wrong_outcome_fails_closed(void **state)
{
	static const struct {
		int task;
		uint64_t start, end;
		enum session_outcome outcome;
		enum session_result error;
	} rows[] = {
		{-ENOENT, 0, 1, SESSION_CLEARED, SESSION_UNKNOWN_TASK},
		{1, 0, 1, SESSION_CLEARED, SESSION_UNKNOWN_TASK},
		{INT32_MAX, 0, 99, SESSION_DENIED, SESSION_UNKNOWN_TASK},
		{0, 0, 11, SESSION_CLEARED, SESSION_OFFSET_PAST_END},
		{0, 0, 11, SESSION_DENIED, SESSION_OFFSET_PAST_END},
		{0, 9, 11, SESSION_CLEARED, SESSION_OFFSET_PAST_END},
		{0, 5, 10, SESSION_CLEARED, SESSION_NON_CONTIGUOUS_OUTCOME},
		{0, 5, 10, SESSION_DENIED, SESSION_NON_CONTIGUOUS_OUTCOME},
		{0, 5, 10, SESSION_TRANSFORMED, SESSION_NON_CONTIGUOUS_OUTCOME},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct session *session = make(SESSION_BLOCKING, 0, 0, 1);

		accounts_observe(session, SESSION_RESPONSE, 10);
		assert_int_equal(
			session_outcome(session, SESSION_RESPONSE, 0, 0, 4, SESSION_CLEARED),
			SESSION_OK);
		assert_int_equal(session_outcome(session, SESSION_RESPONSE, rows[i].task,
						 rows[i].start, rows[i].end, rows[i].outcome),
				 rows[i].error);
		accounts_failed(session, rows[i].error, unsupported);
	}
}

static void a_malformed_verdict_has_its_own_reason(void **state)
{
	struct session *session = make(SESSION_BLOCKING, 0, 0, 1);

	(void)state;
	accounts_observe(session, SESSION_RESPONSE, 1);
	assert_int_equal(session_outcome(session, SESSION_RESPONSE, 0, 0, 1, _SESSION_OUTCOME_MAX),
			 SESSION_VERDICT_INVALID);
	accounts_failed(session, SESSION_VERDICT_INVALID, "host_error:verdict_invalid");
}

static void a_denial_is_terminal_also_below_the_frontier(void **state)
{
	struct session *session = make(SESSION_DEFERRED, 0, 0, 2);
	struct session_state end;
	uint64_t mark;

	(void)state;
	accounts_observe(session, SESSION_RESPONSE, 10);
	assert_int_equal(session_outcome(session, SESSION_RESPONSE, 1, 0, 8, SESSION_CLEARED),
			 SESSION_OK);
	assert_int_equal(session_outcome(session, SESSION_RESPONSE, 0, 0, 8, SESSION_CLEARED),
			 SESSION_OK);
	assert_int_equal(session_advance(session, SESSION_RESPONSE, &mark), 1);
	assert_int_equal(session_outcome(session, SESSION_RESPONSE, 1, 2, 5, SESSION_DENIED),
			 SESSION_OK);
	end = accounts_state(session);
	assert_int_equal(end.end, SESSION_DENIED_END);
	assert_null(session_reason(&end));
	assert_int_equal(end.ended_track, SESSION_RESPONSE);
	assert_int_equal(end.ended_task, 1);
	assert_int_equal(end.ended_start, 2);
	assert_int_equal(end.ended_span_end, 5);
	/* What was confirmed stays readable; none of it may be released any more. */
	assert_int_equal(end.track[SESSION_RESPONSE].confirmed, 8);
	assert_false(end.track[SESSION_RESPONSE].has_release);
	session_fail(session, SESSION_OPERATOR);
	assert_int_equal(session_finish(session), SESSION_CLOSED);
	assert_int_equal(accounts_state(session).end, SESSION_DENIED_END);
	assert_true(session_free(session));
}

static void a_transform_needs_an_unreleased_track(void **state)
{
	static const struct {
		enum session_level level;
		uint64_t start;
		enum { STAYED, REACHED, RELEASED, ADVANCED } took;
		bool allowed;
	} rows[] = {
		{SESSION_BLOCKING, 0, STAYED, true},	{SESSION_COMPLETE, 0, STAYED, true},
		{SESSION_DEFERRED, 0, STAYED, false},	{SESSION_BLOCKING, 0, ADVANCED, false},
		{SESSION_COMPLETE, 0, ADVANCED, false}, {SESSION_BLOCKING, 3, STAYED, false},
		{_SESSION_LEVEL_MAX, 0, STAYED, false}, {256, 0, STAYED, false},
		{SESSION_BLOCKING, 0, REACHED, true},	{SESSION_COMPLETE, 0, REACHED, true},
		{SESSION_BLOCKING, 0, RELEASED, false}, {SESSION_COMPLETE, 0, RELEASED, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct session *session = make(rows[i].level, rows[i].start, 1, 1);
		uint64_t end = rows[i].start + 10, mark;
		enum session_result result;

		accounts_observe(session, SESSION_RESPONSE, 10);
		accounts_observe(session, SESSION_REQUEST, 10);
		/* What the other track released is of no matter. */
		assert_int_equal(session_outcome(session, SESSION_REQUEST, 0, rows[i].start, end,
						 SESSION_CLEARED),
				 SESSION_OK);
		assert_int_equal(session_advance(session, SESSION_REQUEST, &mark), 1);
		assert_int_equal(session_outcome(session, SESSION_RESPONSE, 0, rows[i].start,
						 end - 1, SESSION_CLEARED),
				 SESSION_OK);
		if (rows[i].took == ADVANCED)
			assert_int_equal(session_advance(session, SESSION_RESPONSE, &mark), 1);
		else if (rows[i].took != STAYED)
			assert_int_equal(session_reach(session, SESSION_RESPONSE, &mark), 1);
		if (rows[i].took != STAYED)
			assert_int_equal(mark, end - 1);
		if (rows[i].took == RELEASED)
			session_release(session, SESSION_RESPONSE);
		result = session_outcome(session, SESSION_RESPONSE, 0, rows[i].start, end,
					 SESSION_TRANSFORMED);
		if (!rows[i].allowed) {
			assert_int_equal(result, SESSION_TRANSFORM_TOO_LATE);
			accounts_failed(session, SESSION_TRANSFORM_TOO_LATE, unsupported);
			continue;
		}
		assert_int_equal(result, SESSION_OK);
		assert_int_equal(accounts_state(session).end, SESSION_REWRITTEN_END);
		assert_true(session_free(session));
	}
}

static void finishing_needs_every_rune_cleared(void **state)
{
	struct session *session = make(SESSION_BLOCKING, 0, 1, 1);
	struct session_state end;
	uint64_t mark;

	(void)state;
	accounts_observe(session, SESSION_REQUEST, 3);
	accounts_observe(session, SESSION_RESPONSE, 3);
	assert_int_equal(session_outcome(session, SESSION_REQUEST, 0, 0, 3, SESSION_CLEARED),
			 SESSION_OK);
	assert_int_equal(session_outcome(session, SESSION_RESPONSE, 0, 0, 2, SESSION_CLEARED),
			 SESSION_OK);
	assert_int_equal(session_finish(session), SESSION_UNCLEARED_RESIDUE);
	assert_int_equal(accounts_state(session).track[SESSION_REQUEST].confirmed, 0);
	accounts_failed(session, SESSION_UNCLEARED_RESIDUE, unsupported);

	session = make(SESSION_BLOCKING, 5, 0, 1);
	assert_int_equal(session_end_of_payloads(session), SESSION_OK);
	assert_int_equal(session_finish(session), SESSION_OK);
	end = accounts_state(session);
	assert_int_equal(end.end, SESSION_COMPLETE_END);
	assert_null(session_reason(&end));
	assert_int_equal(end.track[SESSION_RESPONSE].confirmed, 5);
	assert_false(end.track[SESSION_RESPONSE].has_release);
	assert_int_equal(session_finish(session), SESSION_CLOSED);
	assert_int_equal(session_advance(session, SESSION_RESPONSE, &mark), 0);
	assert_true(session_free(session));
}

static void failing_from_outside_keeps_the_first_reason(void **state)
{
	static const struct {
		enum session_result error;
		const char *reason;
	} rows[] = {
		{SESSION_FRAMING_FAULT, unsupported},
		{SESSION_DISCONNECTED, unsupported},
		{SESSION_HOLD_TIMEOUT, unsupported},
		{SESSION_HOST_DIED, unsupported},
		{SESSION_VERDICT_INVALID, "host_error:verdict_invalid"},
		{SESSION_INTERCEPTOR_FAILED, "host_error:interceptor_failed"},
		{SESSION_INTERCEPTOR_TIMEOUT, "host_error:interceptor_timeout"},
		{SESSION_OPERATOR, "operator"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct session *session = make(SESSION_BLOCKING, 0, 0, 1);

		session_fail(session, rows[i].error);
		session_fail(session, SESSION_NO_MEMORY);
		accounts_failed(session, rows[i].error, rows[i].reason);
	}
}

static void every_value_has_a_name(void **state)
{
	(void)state;
	for (int a = 0; a < _SESSION_RESULT_MAX; a++)
		for (int b = 0; b < a; b++)
			assert_string_not_equal(session_result_name((enum session_result)a),
						session_result_name((enum session_result)b));
	assert_string_equal(session_result_name(SESSION_SPAN_OVERFLOW), "span:offset_overflow");
	assert_string_equal(session_result_name((enum session_result)_SESSION_RESULT_MAX),
			    "unknown");
	assert_string_equal(session_end_name(SESSION_COMPLETE_END), "complete");
	assert_string_equal(session_end_name((enum session_end)_SESSION_END_MAX), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(new_refuses_what_cannot_be_accounted),
		cmocka_unit_test(new_takes_tasks_up_to_the_cap),
		cmocka_unit_test(new_counts_a_repeated_task_once),
		cmocka_unit_test(the_watermark_is_the_slowest_task),
		cmocka_unit_test(observing_fails_closed),
		cmocka_unit_test(the_ceiling_never_wraps),
		cmocka_unit_test(a_span_that_cannot_be_built_changes_nothing),
		cmocka_unit_test(a_wrong_outcome_fails_closed),
		cmocka_unit_test(a_malformed_verdict_has_its_own_reason),
		cmocka_unit_test(a_denial_is_terminal_also_below_the_frontier),
		cmocka_unit_test(a_transform_needs_an_unreleased_track),
		cmocka_unit_test(finishing_needs_every_rune_cleared),
		cmocka_unit_test(failing_from_outside_keeps_the_first_reason),
		cmocka_unit_test(every_value_has_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
