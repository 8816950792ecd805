/* SPDX-License-Identifier: Apache-2.0 */
/* What an attempt leaves behind: how much of it may be kept, and where the next one begins. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/macros.h"
#include "core/session.h"
#include "unit/accounts.h"

static const char unsupported[] = "host_error:streaming_unsupported";

static struct session *attempt(enum session_level level, uint64_t start)
{
	return accounts_new((struct accounts){.level = level, .start = start, .response_tasks = 1});
}

/* Of 20 runes 12 were cleared and 9 have left when the peer goes. */
static uint64_t abandoned_attempt(enum session_level level)
{
	struct session *session = attempt(level, 0);
	struct session_state end;
	uint64_t kept;

	accounts_observe(session, SESSION_RESPONSE, 20);
	accounts_clear(session, 0, 12);
	session_fail(session, SESSION_DISCONNECTED);
	end = accounts_state(session);
	assert_int_equal(end.track[SESSION_RESPONSE].confirmed, 12);
	kept = session_persistable(&end, SESSION_RESPONSE, 9);
	accounts_failed(session, SESSION_DISCONNECTED, unsupported);
	return kept;
}

static void retry_after_an_abandoned_attempt(void **state)
{
	(void)state;
	for (enum session_level level = 0; level < _SESSION_LEVEL_MAX; level++) {
		uint64_t start = abandoned_attempt(level), mark;
		struct session *session = attempt(level, start);

		/* It begins where the delivered text ends, and inherits no clearance. */
		assert_int_equal(start, 9);
		assert_int_equal(accounts_state(session).track[SESSION_RESPONSE].release, 9);
		accounts_observe(session, SESSION_RESPONSE, 11);
		assert_int_equal(session_advance(session, SESSION_RESPONSE, &mark), 0);
		assert_int_equal(accounts_state(session).track[SESSION_RESPONSE].pending, 11);
		/* Its task may look below the start; only what is above counts. */
		accounts_outcome(session, SESSION_RESPONSE, 0, 2, 9, SESSION_CLEARED);
		assert_int_equal(session_advance(session, SESSION_RESPONSE, &mark), 0);
		accounts_clear(session, 5, 20);
		assert_int_equal(session_finish(session), SESSION_OK);
		assert_true(session_free(session));

		/* Without a clearance of its own it does not end clean. */
		session = attempt(level, start);
		accounts_observe(session, SESSION_RESPONSE, 11);
		assert_int_equal(session_finish(session), SESSION_UNCLEARED_RESIDUE);
		accounts_failed(session, SESSION_UNCLEARED_RESIDUE, unsupported);

		/* What an earlier attempt delivered is released: too late for a transformation. */
		session = attempt(level, start);
		accounts_observe(session, SESSION_RESPONSE, 11);
		assert_int_equal(
			session_outcome(session, SESSION_RESPONSE, 0, 9, 20, SESSION_TRANSFORMED),
			SESSION_TRANSFORM_TOO_LATE);
		accounts_failed(session, SESSION_TRANSFORM_TOO_LATE, unsupported);
	}
}

static void retry_that_claims_the_abandoned_frontier(void **state)
{
	static const uint64_t starts[] = {0, 9};

	(void)state;
	for (enum session_level level = 0; level < _SESSION_LEVEL_MAX; level++) {
		assert_int_equal(abandoned_attempt(level), 9);
		for (size_t i = 0; i < ARRAY_SIZE(starts); i++) {
			struct session *session = attempt(level, starts[i]);

			accounts_observe(session, SESSION_RESPONSE, 20 - starts[i]);
			assert_int_equal(session_outcome(session, SESSION_RESPONSE, 0, 12, 20,
							 SESSION_CLEARED),
					 SESSION_NON_CONTIGUOUS_OUTCOME);
			assert_int_equal(accounts_state(session).track[SESSION_RESPONSE].confirmed,
					 starts[i]);
			accounts_failed(session, SESSION_NON_CONTIGUOUS_OUTCOME, unsupported);
		}
	}
}

static void fully_cleared_and_never_emitted(void **state)
{
	(void)state;
	for (enum session_level level = 0; level < _SESSION_LEVEL_MAX; level++) {
		struct session *session = attempt(level, 0);
		struct session_state end;

		accounts_observe(session, SESSION_RESPONSE, 20);
		accounts_clear(session, 0, 20);
		end = accounts_state(session);
		assert_int_equal(session_persistable(&end, SESSION_RESPONSE, 0), 0);
		assert_int_equal(session_finish(session), SESSION_OK);
		end = accounts_state(session);
		assert_int_equal(end.track[SESSION_RESPONSE].confirmed, 20);
		assert_int_equal(session_persistable(&end, SESSION_RESPONSE, 0), 0);
		assert_true(session_free(session));
	}
}

static void what_is_kept_was_cleared_and_has_left(void **state)
{
	static const struct {
		uint64_t start, cleared, emitted, kept;
	} rows[] = {
		{0, 0, 0, 0},  {0, 0, 20, 0},		{0, 12, 0, 0},
		{0, 12, 9, 9}, {0, 12, 12, 12},		{0, 12, 20, 12},
		{7, 7, 0, 7},  {7, 7, 20, 7},		{7, 12, 9, 9},
		{7, 12, 3, 7}, {7, 12, UINT64_MAX, 12},
	};

	(void)state;
	for (enum session_level level = 0; level < _SESSION_LEVEL_MAX; level++)
		for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
			struct session *session = attempt(level, rows[i].start);
			struct session_state now;

			accounts_observe(session, SESSION_RESPONSE, 20);
			if (rows[i].cleared > rows[i].start)
				accounts_clear(session, rows[i].start, rows[i].cleared);
			now = accounts_state(session);
			assert_int_equal(now.track[SESSION_RESPONSE].start, rows[i].start);
			assert_int_equal(
				session_persistable(&now, SESSION_RESPONSE, rows[i].emitted),
				rows[i].kept);
			/* The end changes nothing of it. */
			accounts_outcome(session, SESSION_RESPONSE, 0, rows[i].start,
					 rows[i].start + 20, SESSION_DENIED);
			now = accounts_state(session);
			assert_int_equal(
				session_persistable(&now, SESSION_RESPONSE, rows[i].emitted),
				rows[i].kept);
			/* A track without tasks clears nothing. */
			assert_int_equal(session_persistable(&now, SESSION_REQUEST, 20),
					 rows[i].start);
			assert_true(session_free(session));
		}
}

static void a_clearance_that_was_not_advanced_is_not_kept(void **state)
{
	struct session *session = attempt(SESSION_DEFERRED, 0);
	struct session_state now;

	(void)state;
	accounts_observe(session, SESSION_RESPONSE, 20);
	accounts_outcome(session, SESSION_RESPONSE, 0, 0, 20, SESSION_CLEARED);
	now = accounts_state(session);
	assert_int_equal(session_persistable(&now, SESSION_RESPONSE, 20), 0);
	assert_int_equal(session_finish(session), SESSION_OK);
	now = accounts_state(session);
	assert_int_equal(session_persistable(&now, SESSION_RESPONSE, 20), 20);
	assert_true(session_free(session));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(retry_after_an_abandoned_attempt),
		cmocka_unit_test(retry_that_claims_the_abandoned_frontier),
		cmocka_unit_test(fully_cleared_and_never_emitted),
		cmocka_unit_test(what_is_kept_was_cleared_and_has_left),
		cmocka_unit_test(a_clearance_that_was_not_advanced_is_not_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
