/* SPDX-License-Identifier: Apache-2.0 */
/* The public library: how sessions begin and end, and structs that may grow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/macros.h"
#include "sluice/sluice.h"
#include "unit/allocation.h"
#include "unit/library.h"

static void assert_refused(const struct sluice_config *config, enum sluice_result wanted)
{
	struct sluice_session *session = (void *)0x1;

	assert_int_equal(sluice_session_new(config, &session), wanted);
	assert_ptr_equal(session, (void *)0x1);
}

static void new_refuses_a_bad_config(void **state)
{
	static const char *const no_name[] = {"t0", NULL}, *const empty[] = {"", "t1"};
	struct sluice_config config = library_config(0, 2);

	(void)state;
	assert_refused(NULL, SLUICE_BAD_ARGUMENT);
	config.size = 0;
	assert_refused(&config, SLUICE_BAD_ARGUMENT);
	config.size = sizeof(config) - 1;
	assert_refused(&config, SLUICE_BAD_ARGUMENT);
	/* Nothing behind it is read. */
	config.size = SLUICE_CONFIG_SIZE_MAX + 1;
	assert_refused(&config, SLUICE_BAD_ARGUMENT);
	config.size = SIZE_MAX;
	assert_refused(&config, SLUICE_BAD_ARGUMENT);
	config = library_config(0, 2);
	config.level = (enum sluice_level)(SLUICE_DEFERRED + 1);
	assert_refused(&config, SLUICE_BAD_ARGUMENT);
	config.level = (enum sluice_level) - 1;
	assert_refused(&config, SLUICE_BAD_ARGUMENT);
	for (int t = 0; t < SLUICE_TRACKS; t++) {
		config = library_config(2, 2);
		config.tasks[t] = NULL;
		assert_refused(&config, SLUICE_BAD_ARGUMENT);
		config.tasks[t] = no_name;
		assert_refused(&config, SLUICE_BAD_ARGUMENT);
		config.tasks[t] = empty;
		assert_refused(&config, SLUICE_BAD_ARGUMENT);
	}
	config = library_config(0, 2);
	config.output_count = 1;
	assert_refused(&config, SLUICE_BAD_ARGUMENT);
	config.output_tasks = empty;
	assert_refused(&config, SLUICE_BAD_ARGUMENT);
	/* What core refuses, and before the names are looked at. */
	config = library_config(0, 0);
	assert_refused(&config, SLUICE_NO_TRACKS_MEDIATED);
	config = library_config(0, SLUICE_TRACK_TASKS_MAX + 1);
	config.tasks[SLUICE_RESPONSE] = NULL;
	assert_refused(&config, SLUICE_TOO_MANY_TASKS);
	config = library_config(0, 1);
	config.start[SLUICE_RESPONSE] = SLUICE_TRACK_RUNES_MAX + 1ull;
	assert_refused(&config, SLUICE_OFFSET_OVERFLOW);
}

static void a_later_config_may_ask_for_nothing_new(void **state)
{
	struct {
		struct sluice_config config;
		uint64_t later;
	} config = {.config = library_config(0, 1)};
	struct sluice_session *session;

	(void)state;
	config.config.size = sizeof(config);
	assert_int_equal(sluice_session_new(&config.config, &session), SLUICE_OK);
	sluice_session_fail(session, SLUICE_OPERATOR);
	assert_true(sluice_session_free(session));
	config.later = 1ull << 63;
	assert_refused(&config.config, SLUICE_BAD_ARGUMENT);
}

static void a_later_state_is_filled_as_far_as_it_is_known(void **state)
{
	struct {
		struct sluice_state state;
		uint64_t later;
	} now = {.state.size = sizeof(now), .later = 5};
	struct sluice_session *session = library_session(0, 1);

	(void)state;
	assert_int_equal(sluice_session_get(session, &now.state), SLUICE_OK);
	assert_int_equal(now.state.size, sizeof(now.state));
	assert_int_equal(now.later, 5);
	memset(&now, 0x5a, sizeof(now));
	now.state.size = offsetof(struct sluice_state, ended_output);
	assert_int_equal(sluice_session_get(session, &now.state), SLUICE_BAD_ARGUMENT);
	assert_int_equal(now.state.end, 0x5a5a5a5a);
	sluice_session_fail(session, SLUICE_OPERATOR);
	assert_true(sluice_session_free(session));
}

static void published_structs_keep_their_layout(void **state)
{
	(void)state;
	if (sizeof(void *) != 8)
		skip();
	assert_int_equal(offsetof(struct sluice_config, level), 8);
	assert_int_equal(offsetof(struct sluice_config, start), 16);
	assert_int_equal(offsetof(struct sluice_config, tasks), 32);
	assert_int_equal(offsetof(struct sluice_config, task_count), 48);
	assert_int_equal(offsetof(struct sluice_config, output_tasks), 64);
	assert_int_equal(offsetof(struct sluice_config, output_count), 72);
	assert_int_equal(offsetof(struct sluice_state, track), 8);
	assert_int_equal(offsetof(struct sluice_state, end), 56);
	assert_int_equal(offsetof(struct sluice_state, ended_start), 72);
	assert_int_equal(offsetof(struct sluice_state, ended_output), 88);
	assert_int_equal(sizeof(struct sluice_verdict), 176);
}

static void new_survives_each_allocation_that_fails(void **state)
{
	struct sluice_config config = library_config(1, 2);
	struct sluice_session *session = NULL;
	enum sluice_result result = SLUICE_NO_MEMORY;
	unsigned long failed = 0;

	(void)state;
	for (; result == SLUICE_NO_MEMORY; failed++) {
		assert_null(session);
		allocation_fail_at(failed);
		result = sluice_session_new(&config, &session);
		assert_int_equal(allocation_failed(), result != SLUICE_OK);
	}
	assert_int_equal(result, SLUICE_OK);
	assert_true(failed > 1);
	sluice_session_fail(session, SLUICE_OPERATOR);
	assert_true(sluice_session_free(session));
}

static void an_unsettled_session_is_reported(void **state)
{
	struct sluice_session *session = library_session(0, 1);

	(void)state;
	assert_false(sluice_session_free(session));
	assert_true(sluice_session_free(NULL));
	session = library_session(0, 1);
	assert_int_equal(sluice_session_end_of_payloads(session), SLUICE_OK);
	assert_false(sluice_session_free(session));
	session = library_session(0, 1);
	assert_int_equal(sluice_session_finish(session), SLUICE_OK);
	assert_true(sluice_session_free(session));
}

static void the_safe_offset_is_absent_after_the_end(void **state)
{
	struct sluice_session *session = library_session(0, 2);
	uint64_t offset = 77;

	(void)state;
	library_observe(session, "abcdef", 6);
	library_clear(session, 0, 0, 6);
	library_clear(session, 1, 0, 4);
	assert_true(sluice_session_safe_offset(session, SLUICE_RESPONSE, &offset));
	assert_int_equal(offset, 0);
	assert_int_equal(sluice_session_advance(session, SLUICE_RESPONSE, &offset), 1);
	assert_int_equal(offset, 4);
	assert_int_equal(sluice_session_advance(session, SLUICE_RESPONSE, &offset), 0);
	assert_true(sluice_session_safe_offset(session, SLUICE_RESPONSE, &offset));
	assert_int_equal(offset, 4);
	assert_int_equal(sluice_session_persistable(session, SLUICE_RESPONSE, 3), 3);
	assert_int_equal(sluice_session_persistable(session, SLUICE_RESPONSE, 6), 4);
	assert_int_equal(sluice_session_outcome(session, SLUICE_RESPONSE, 1, 4, 6, SLUICE_DENIED),
			 SLUICE_OK);
	offset = 77;
	assert_false(sluice_session_safe_offset(session, SLUICE_RESPONSE, &offset));
	assert_int_equal(offset, 77);
	assert_int_equal(library_state(session).end, SLUICE_END_DENIED);
	assert_int_equal(library_state(session).ended_track, SLUICE_RESPONSE);
	assert_int_equal(library_state(session).ended_task, 1);
	assert_int_equal(library_state(session).ended_start, 4);
	assert_int_equal(library_state(session).ended_span_end, 6);
	assert_false(library_state(session).ended_output);
	assert_int_equal(library_state(session).track[SLUICE_RESPONSE].received, 6);
	assert_int_equal(library_state(session).track[SLUICE_RESPONSE].confirmed, 4);
	assert_int_equal(library_state(session).track[SLUICE_RESPONSE].pending, 2);
	assert_null(sluice_session_reason(session));
	assert_true(sluice_session_free(session));
}

static void fail_keeps_the_first_cause_and_knows_them_all(void **state)
{
	static const int none[] = {SLUICE_OK, -1, 255, SLUICE_BAD_ARGUMENT, 257, INT_MIN};
	struct sluice_session *session;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(none); i++) {
		session = library_session(0, 1);
		sluice_session_fail(session, (enum sluice_result)none[i]);
		sluice_session_fail(session, SLUICE_OPERATOR);
		assert_library_failed(session, SLUICE_DISCONNECTED);
	}
	session = library_session(0, 1);
	sluice_session_fail(session, SLUICE_OPERATOR);
	assert_string_equal(sluice_session_reason(session), "operator");
	assert_library_failed(session, SLUICE_OPERATOR);
	session = library_session(0, 1);
	sluice_session_fail(session, SLUICE_RESUME_REFUSED);
	assert_library_failed(session, SLUICE_RESUME_REFUSED);
}

static void the_main_operations_never_allocate(void **state)
{
	struct sluice_session *session = library_session(2, 2);
	uint64_t value;

	(void)state;
	allocation_fail_at(0);
	for (uint64_t n = 0; n < 100; n++) {
		assert_int_equal(sluice_session_observe(session, SLUICE_REQUEST, 1, &value),
				 SLUICE_OK);
		assert_int_equal(sluice_session_observe_text(session, SLUICE_RESPONSE, "\xe2\x82",
							     2, &value),
				 SLUICE_OK);
		assert_int_equal(
			sluice_session_observe_text(session, SLUICE_RESPONSE, "\xac", 1, &value),
			SLUICE_OK);
		library_clear(session, 0, n, n + 1);
		library_clear(session, 1, n, n + 1);
		assert_int_equal(sluice_session_advance(session, SLUICE_RESPONSE, &value), 1);
	}
	assert_int_equal(sluice_session_outcome(session, SLUICE_REQUEST, 0, 0, 1, SLUICE_DENIED),
			 SLUICE_OK);
	assert_int_equal(sluice_session_finish(session), SLUICE_CLOSED);
	assert_false(allocation_failed());
	assert_true(sluice_session_free(session));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(new_refuses_a_bad_config),
		cmocka_unit_test(a_later_config_may_ask_for_nothing_new),
		cmocka_unit_test(a_later_state_is_filled_as_far_as_it_is_known),
		cmocka_unit_test(published_structs_keep_their_layout),
		cmocka_unit_test(new_survives_each_allocation_that_fails),
		cmocka_unit_test(an_unsettled_session_is_reported),
		cmocka_unit_test(the_safe_offset_is_absent_after_the_end),
		cmocka_unit_test(fail_keeps_the_first_cause_and_knows_them_all),
		cmocka_unit_test(the_main_operations_never_allocate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
