/* SPDX-License-Identifier: Apache-2.0 */
/* A track that is found to be resumed after its session has begun. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/session.h"

static const char *const names[] = {"a", "b"};

static struct session *make(void)
{
	const struct session_config config = {.tasks = {names, names}, .task_count = {1, 2}};
	struct session *session;

	assert_int_equal(session_new(&config, &session), SESSION_OK);
	return session;
}

static void done(struct session *session)
{
	session_fail(session, SESSION_OPERATOR);
	assert_true(session_free(session));
}

static void begins_at_the_offset(void **state)
{
	struct session *session = make();
	struct session_state now;
	uint64_t received;

	(void)state;
	assert_int_equal(session_observe(session, SESSION_REQUEST, 3, &received), SESSION_OK);
	assert_int_equal(session_resume(session, SESSION_RESPONSE, 100), SESSION_OK);
	session_get(session, &now);
	assert_int_equal(now.track[SESSION_RESPONSE].received, 100);
	assert_int_equal(now.track[SESSION_RESPONSE].confirmed, 100);
	assert_int_equal(now.track[SESSION_REQUEST].received, 3);
	assert_int_equal(session_observe(session, SESSION_RESPONSE, 5, &received), SESSION_OK);
	assert_int_equal(received, 105);
	/* Every task's frontier has moved with it. */
	for (int task = 0; task < 2; task++)
		assert_int_equal(
			session_outcome(session, SESSION_RESPONSE, task, 100, 105, SESSION_CLEARED),
			SESSION_OK);
	assert_int_equal(session_advance(session, SESSION_RESPONSE, &received), 1);
	assert_int_equal(received, 105);
	done(session);
}

/* It counts as released: what is resumed cannot be transformed any more. */
static void counts_as_released(void **state)
{
	struct session *session = make();
	uint64_t received;

	(void)state;
	assert_int_equal(session_resume(session, SESSION_RESPONSE, 1), SESSION_OK);
	assert_int_equal(session_observe(session, SESSION_RESPONSE, 5, &received), SESSION_OK);
	assert_int_equal(session_outcome(session, SESSION_RESPONSE, 0, 1, 6, SESSION_TRANSFORMED),
			 SESSION_TRANSFORM_TOO_LATE);
	done(session);
	session = make();
	assert_int_equal(session_resume(session, SESSION_RESPONSE, 1), SESSION_OK);
	assert_int_equal(session_resume(session, SESSION_RESPONSE, 0), SESSION_OK);
	assert_int_equal(session_observe(session, SESSION_RESPONSE, 5, &received), SESSION_OK);
	assert_int_equal(session_outcome(session, SESSION_RESPONSE, 0, 0, 5, SESSION_TRANSFORMED),
			 SESSION_OK);
	done(session);
}

static void refuses_what_comes_too_late(void **state)
{
	struct session *session = make();
	struct session_state now;
	uint64_t received;

	(void)state;
	assert_int_equal(session_resume(session, SESSION_RESPONSE, SESSION_RUNES_MAX + 1ull),
			 SESSION_OFFSET_OVERFLOW);
	assert_int_equal(session_resume(session, SESSION_RESPONSE, UINT64_MAX),
			 SESSION_OFFSET_OVERFLOW);
	assert_int_equal(session_resume(session, SESSION_RESPONSE, SESSION_RUNES_MAX), SESSION_OK);
	assert_int_equal(session_resume(session, SESSION_RESPONSE, 7), SESSION_OK);
	assert_int_equal(session_observe(session, SESSION_RESPONSE, 1, &received), SESSION_OK);
	assert_int_equal(session_resume(session, SESSION_RESPONSE, 9), SESSION_OFFSET_PAST_END);
	session_get(session, &now);
	assert_int_equal(now.end, SESSION_OPEN);
	assert_int_equal(now.track[SESSION_RESPONSE].received, 8);
	session_fail(session, SESSION_RESUME_REFUSED);
	assert_int_equal(session_resume(session, SESSION_REQUEST, 1), SESSION_CLOSED);
	assert_true(session_free(session));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(begins_at_the_offset),
		cmocka_unit_test(counts_as_released),
		cmocka_unit_test(refuses_what_comes_too_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
