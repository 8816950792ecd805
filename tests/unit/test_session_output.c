/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks of `output`: they gate no rune, and the session waits for them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "core/session.h"
#include "unit/accounts.h"
#include "unit/allocation.h"

static const char unsupported[] = "host_error:streaming_unsupported";

/* A response of five runes, cleared and released, that has ended. */
static struct session *assembled(enum session_level level, size_t output_tasks)
{
	struct session *session = accounts_new((struct accounts){
		.level = level, .response_tasks = 1, .output_tasks = output_tasks});

	accounts_observe(session, SESSION_RESPONSE, 5);
	accounts_clear(session, 0, 5);
	assert_int_equal(session_end_of_payloads(session), SESSION_OK);
	return session;
}

static void finish_waits_for_every_output_task(void **state)
{
	struct session *session = assembled(SESSION_BLOCKING, 2);

	(void)state;
	assert_int_equal(session_finish(session), SESSION_OUTPUT_PENDING);
	assert_int_equal(session_output(session, 1, SESSION_CLEARED), SESSION_OK);
	assert_int_equal(session_finish(session), SESSION_OUTPUT_PENDING);
	/* One task that clears twice is not two. */
	assert_int_equal(session_output(session, 1, SESSION_CLEARED), SESSION_OK);
	assert_int_equal(session_finish(session), SESSION_OUTPUT_PENDING);
	assert_int_equal(accounts_state(session).end, SESSION_OPEN);
	assert_int_equal(session_output(session, 0, SESSION_CLEARED), SESSION_OK);
	assert_int_equal(session_finish(session), SESSION_OK);
	assert_int_equal(accounts_state(session).end, SESSION_COMPLETE_END);
	assert_true(session_free(session));
}

static void a_finish_that_waits_moves_nothing(void **state)
{
	struct session *session =
		accounts_new((struct accounts){.response_tasks = 1, .output_tasks = 1});
	struct session_state end;

	(void)state;
	accounts_observe(session, SESSION_RESPONSE, 5);
	accounts_outcome(session, SESSION_RESPONSE, 0, 0, 5, SESSION_CLEARED);
	assert_int_equal(session_finish(session), SESSION_OUTPUT_PENDING);
	end = accounts_state(session);
	assert_int_equal(end.end, SESSION_OPEN);
	assert_int_equal(end.track[SESSION_RESPONSE].confirmed, 0);
	assert_true(end.track[SESSION_RESPONSE].has_release);
	/* The session is as it was: more text may come. */
	accounts_observe(session, SESSION_RESPONSE, 1);
	/* What was not cleared is looked for first. */
	assert_int_equal(session_finish(session), SESSION_UNCLEARED_RESIDUE);
	accounts_failed(session, SESSION_UNCLEARED_RESIDUE, unsupported);
}

static void output_tasks_hold_no_rune_back(void **state)
{
	struct session *session =
		accounts_new((struct accounts){.response_tasks = 1, .output_tasks = 3});

	(void)state;
	accounts_observe(session, SESSION_RESPONSE, 5);
	accounts_clear(session, 0, 4);
	assert_int_equal(accounts_state(session).track[SESSION_RESPONSE].release, 4);
	assert_false(session_free(session));
}

static void denial_at_output_after_release(void **state)
{
	(void)state;
	for (enum session_level level = 0; level < _SESSION_LEVEL_MAX; level++) {
		struct session *session = assembled(level, 2);
		struct session_state end;

		assert_int_equal(accounts_state(session).track[SESSION_RESPONSE].release, 5);
		assert_int_equal(session_output(session, 1, SESSION_DENIED), SESSION_OK);
		end = accounts_state(session);
		assert_int_equal(end.end, SESSION_DENIED_END);
		assert_true(end.ended_output);
		assert_int_equal(end.ended_track, SESSION_RESPONSE);
		assert_int_equal(end.ended_task, 1);
		assert_int_equal(end.ended_start, 0);
		assert_int_equal(end.ended_span_end, 0);
		assert_null(session_reason(&end));
		/* Nothing is recalled: the offset reached stays for audit, and offers no release. */
		assert_int_equal(end.track[SESSION_RESPONSE].confirmed, 5);
		assert_false(end.track[SESSION_RESPONSE].has_release);
		assert_int_equal(session_persistable(&end, SESSION_RESPONSE, 5), 5);
		/* It never settles clean, and nothing makes another end of it. */
		assert_int_equal(session_output(session, 0, SESSION_CLEARED), SESSION_CLOSED);
		assert_int_equal(session_output(session, 1, SESSION_CLEARED), SESSION_CLOSED);
		assert_int_equal(session_finish(session), SESSION_CLOSED);
		session_fail(session, SESSION_DISCONNECTED);
		assert_int_equal(accounts_state(session).end, SESSION_DENIED_END);
		assert_true(session_free(session));
	}
}

static void a_clearance_at_output_can_be_denied_later(void **state)
{
	struct session *session = assembled(SESSION_COMPLETE, 1);

	(void)state;
	assert_int_equal(session_output(session, 0, SESSION_CLEARED), SESSION_OK);
	assert_int_equal(session_output(session, 0, SESSION_DENIED), SESSION_OK);
	assert_int_equal(session_finish(session), SESSION_CLOSED);
	assert_int_equal(accounts_state(session).end, SESSION_DENIED_END);
	assert_true(session_free(session));
}

static void a_denial_of_a_track_is_not_one_of_output(void **state)
{
	struct session *session =
		accounts_new((struct accounts){.response_tasks = 1, .output_tasks = 1});

	(void)state;
	accounts_observe(session, SESSION_RESPONSE, 5);
	accounts_outcome(session, SESSION_RESPONSE, 0, 0, 5, SESSION_DENIED);
	assert_false(accounts_state(session).ended_output);
	assert_true(session_free(session));
}

static void a_wrong_output_fails_closed(void **state)
{
	static const struct {
		int task;
		enum session_outcome outcome;
		enum session_result error;
		const char *reason;
	} rows[] = {
		{-ENOENT, SESSION_CLEARED, SESSION_UNKNOWN_TASK, unsupported},
		{2, SESSION_CLEARED, SESSION_UNKNOWN_TASK, unsupported},
		{INT_MAX, SESSION_DENIED, SESSION_UNKNOWN_TASK, unsupported},
		{0, SESSION_TRANSFORMED, SESSION_TRANSFORM_TOO_LATE, unsupported},
		{0, _SESSION_OUTCOME_MAX, SESSION_VERDICT_INVALID, "host_error:verdict_invalid"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct session *session = assembled(SESSION_BLOCKING, 2);

		assert_int_equal(session_output(session, rows[i].task, rows[i].outcome),
				 rows[i].error);
		accounts_failed(session, rows[i].error, rows[i].reason);
	}
}

static void output_before_the_payloads_ended_fails_closed(void **state)
{
	(void)state;
	for (enum session_outcome outcome = 0; outcome <= _SESSION_OUTCOME_MAX; outcome++) {
		struct session *session =
			accounts_new((struct accounts){.response_tasks = 1, .output_tasks = 1});

		assert_int_equal(session_output(session, 0, outcome), SESSION_OUTPUT_TOO_EARLY);
		accounts_failed(session, SESSION_OUTPUT_TOO_EARLY, unsupported);
	}
}

static void output_tasks_alone_mediate_nothing(void **state)
{
	static const char *const names[] = {"a"};
	struct session_config config = {.output_tasks = names, .output_count = 1};
	struct session *session = NULL;

	(void)state;
	assert_int_equal(session_new(&config, &session), SESSION_NO_TRACKS_MEDIATED);
	assert_null(session);
}

static void output_names_are_copies_and_count_once(void **state)
{
	char first[] = "a";
	const char *const names[] = {first, "b", "a", "b"}, *const track[] = {"b"};
	struct session_config config = {
		.tasks = {[SESSION_REQUEST] = track},
		.task_count = {[SESSION_REQUEST] = 1},
		.output_tasks = names,
		.output_count = ARRAY_SIZE(names),
	};
	struct session *session = NULL;

	(void)state;
	assert_int_equal(session_new(&config, &session), SESSION_OK);
	first[0] = 'x';
	assert_int_equal(session_output_task(session, "a"), 0);
	assert_int_equal(session_output_task(session, "b"), 1);
	assert_int_equal(session_output_task(session, "x"), -ENOENT);
	assert_string_equal(session_output_name(session, 1), "b");
	assert_null(session_output_name(session, 2));
	assert_null(session_output_name(session, -1));
	/* A task of a track is another, though it has the name. */
	assert_int_equal(session_task(session, SESSION_REQUEST, "b"), 0);
	assert_int_equal(session_task(session, SESSION_REQUEST, "a"), -ENOENT);
	assert_int_equal(session_end_of_payloads(session), SESSION_OK);
	assert_int_equal(session_output(session, 0, SESSION_CLEARED), SESSION_OK);
	assert_int_equal(session_output(session, 1, SESSION_CLEARED), SESSION_OK);
	assert_int_equal(session_finish(session), SESSION_OK);
	assert_true(session_free(session));
}

static void output_takes_tasks_up_to_the_cap(void **state)
{
	static char texts[SESSION_TASKS_MAX + 1][8];
	const char *names[SESSION_TASKS_MAX + 1];
	struct session_config config = {
		.tasks = {names, names},
		.task_count = {SESSION_TASKS_MAX, SESSION_TASKS_MAX},
		.output_tasks = names,
		.output_count = SESSION_TASKS_MAX,
	};
	struct session *session = NULL;

	(void)state;
	for (unsigned int i = 0; i <= SESSION_TASKS_MAX; i++) {
		snprintf(texts[i], sizeof(texts[i]), "n%u", i);
		names[i] = texts[i];
	}
	assert_int_equal(session_new(&config, &session), SESSION_OK);
	assert_int_equal(session_end_of_payloads(session), SESSION_OK);
	for (int i = 0; i < (int)SESSION_TASKS_MAX; i++) {
		assert_int_equal(session_finish(session), SESSION_OUTPUT_PENDING);
		assert_int_equal(session_output(session, i, SESSION_CLEARED), SESSION_OK);
	}
	assert_string_equal(session_output_name(session, SESSION_TASKS_MAX - 1), "n1023");
	assert_string_equal(session_task_name(session, SESSION_RESPONSE, 7), "n7");
	assert_int_equal(session_finish(session), SESSION_OK);
	assert_true(session_free(session));
	session = NULL;
	config.output_count++;
	assert_int_equal(session_new(&config, &session), SESSION_TOO_MANY_TASKS);
	allocation_fail_at(0);
	config.output_count--;
	assert_int_equal(session_new(&config, &session), SESSION_NO_MEMORY);
	assert_true(allocation_failed());
	assert_null(session);
}

static void nothing_allocates_once_a_session_is_made(void **state)
{
	struct session *session = accounts_new(
		(struct accounts){.request_tasks = 3, .response_tasks = 1, .output_tasks = 1});
	struct session_state end;

	(void)state;
	allocation_fail_at(0);
	accounts_observe(session, SESSION_RESPONSE, 5);
	accounts_clear(session, 0, 5);
	assert_int_equal(session_end_of_payloads(session), SESSION_OK);
	assert_int_equal(session_output(session, 0, SESSION_CLEARED), SESSION_OK);
	assert_int_equal(session_finish(session), SESSION_OK);
	end = accounts_state(session);
	assert_false(allocation_failed());
	assert_int_equal(end.end, SESSION_COMPLETE_END);
	assert_true(session_free(session));
}

static void a_session_is_small(void **state)
{
	static const char *const names[] = {"one", "two", "three", "four"};
	struct session_config config = {
		.tasks = {names, names},
		.task_count = {ARRAY_SIZE(names), ARRAY_SIZE(names)},
		.output_tasks = names,
		.output_count = ARRAY_SIZE(names),
	};
	struct session *session = NULL;
	size_t text = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		text += 3 * (strlen(names[i]) + 1);
	assert_int_equal(session_new(&config, &session), SESSION_OK);
	assert_in_range(malloc_usable_size(session), 1, 512 + text);
	assert_false(session_free(session));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finish_waits_for_every_output_task),
		cmocka_unit_test(a_finish_that_waits_moves_nothing),
		cmocka_unit_test(output_tasks_hold_no_rune_back),
		cmocka_unit_test(denial_at_output_after_release),
		cmocka_unit_test(a_clearance_at_output_can_be_denied_later),
		cmocka_unit_test(a_denial_of_a_track_is_not_one_of_output),
		cmocka_unit_test(a_wrong_output_fails_closed),
		cmocka_unit_test(output_before_the_payloads_ended_fails_closed),
		cmocka_unit_test(output_tasks_alone_mediate_nothing),
		cmocka_unit_test(output_names_are_copies_and_count_once),
		cmocka_unit_test(output_takes_tasks_up_to_the_cap),
		cmocka_unit_test(nothing_allocates_once_a_session_is_made),
		cmocka_unit_test(a_session_is_small),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
