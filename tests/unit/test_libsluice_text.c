/* SPDX-License-Identifier: Apache-2.0 */
/* The public library: text in pieces, and arguments out of range. */
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
#include "unit/library.h"

static void text_counts_runes_however_it_is_cut(void **state)
{
	static const char text[] = "a\u00fc\u20ac\U0001f600z";
	const uint64_t runes = 5;
	const size_t len = sizeof(text) - 1;

	(void)state;
	for (size_t i = 0; i <= len; i++) {
		for (size_t j = i; j <= len; j++) {
			const size_t cuts[] = {0, i, j, len};
			struct sluice_session *session = library_session(0, 1);
			uint64_t received = 77;

			for (size_t n = 1; n < ARRAY_SIZE(cuts); n++)
				assert_int_equal(sluice_session_observe_text(
							 session, SLUICE_RESPONSE,
							 text + cuts[n - 1], cuts[n] - cuts[n - 1],
							 &received),
						 SLUICE_OK);
			assert_int_equal(received, runes);
			library_clear(session, 0, 0, runes);
			assert_int_equal(sluice_session_end_of_payloads(session), SLUICE_OK);
			assert_int_equal(sluice_session_finish(session), SLUICE_OK);
			assert_true(sluice_session_free(session));
		}
	}
}

static void a_cut_rune_waits_and_is_not_counted(void **state)
{
	struct sluice_session *session = library_session(0, 1);

	(void)state;
	library_observe(session, "ab\xe2\x82", 2);
	library_observe(session, "", 2);
	library_observe(session, "\xac", 3);
	library_observe(session, "\xf0", 3);
	library_observe(session,
			"\x9f\x98\x80"
			"c",
			5);
	sluice_session_fail(session, SLUICE_DISCONNECTED);
	assert_library_failed(session, SLUICE_DISCONNECTED);
}

static void ill_formed_text_fails_closed(void **state)
{
	static const char *const pieces[][2] = {
		{"ab\xff", ""},	      {"a\xc3", "b"},	    {"\x80", ""},
		{"\xc0\xaf", ""},     {"\xed\xa0\x80", ""}, {"\xf4\x90\x80\x80", ""},
		{"\xe2\x82", "\xe2"}, {"a", "\xbf"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
		struct sluice_session *session = library_session(0, 1);
		enum sluice_result result = SLUICE_OK;
		uint64_t received;

		for (int n = 0; n < 2 && result == SLUICE_OK; n++)
			result = sluice_session_observe_text(session, SLUICE_RESPONSE, pieces[i][n],
							     strlen(pieces[i][n]), &received);
		assert_int_equal(result, SLUICE_FRAMING_FAULT);
		assert_string_equal(sluice_session_reason(session),
				    "host_error:streaming_unsupported");
		assert_int_equal(
			sluice_session_observe_text(session, SLUICE_RESPONSE, "\xff", 1, &received),
			SLUICE_CLOSED);
		assert_library_failed(session, SLUICE_FRAMING_FAULT);
	}
}

static void text_that_ends_inside_a_rune_fails_closed(void **state)
{
	struct sluice_session *session = library_session(1, 1);
	uint64_t received;

	(void)state;
	library_observe(session, "\xe2\x82", 0);
	assert_int_equal(sluice_session_end_of_payloads(session), SLUICE_FRAMING_FAULT);
	assert_int_equal(sluice_session_end_of_payloads(session), SLUICE_OK);
	assert_library_failed(session, SLUICE_FRAMING_FAULT);
	session = library_session(1, 1);
	library_observe(session, "\xe2\x82", 0);
	assert_int_equal(sluice_session_finish(session), SLUICE_FRAMING_FAULT);
	assert_int_equal(sluice_session_finish(session), SLUICE_CLOSED);
	assert_library_failed(session, SLUICE_FRAMING_FAULT);
	session = library_session(1, 1);
	assert_int_equal(sluice_session_observe_text(session, SLUICE_REQUEST, "\xe2", 1, &received),
			 SLUICE_OK);
	/* The other track may go on; this one only with the rest of the rune. */
	library_observe(session, "abc", 3);
	assert_int_equal(sluice_session_observe(session, SLUICE_REQUEST, 1, &received),
			 SLUICE_FRAMING_FAULT);
	assert_library_failed(session, SLUICE_FRAMING_FAULT);
}

static void unknown_tracks_fail_closed(void **state)
{
	static const int unknown[] = {-1, SLUICE_TRACKS, INT_MAX, INT_MIN};
	uint64_t offset = 77, moved;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(unknown); i++) {
		enum sluice_track track = (enum sluice_track)unknown[i];
		struct sluice_session *session = library_session(1, 1);

		assert_int_equal(sluice_session_task(session, track, "t0"), -ENOENT);
		assert_null(sluice_session_task_name(session, track, 0));
		library_observe(session, "abc", 3);
		library_clear(session, 0, 0, 2);
		assert_int_equal(sluice_session_advance(session, track, &offset), 0);
		assert_int_equal(sluice_session_advance(session, SLUICE_RESPONSE, &moved), 1);
		assert_false(sluice_session_safe_offset(session, track, &offset));
		assert_int_equal(sluice_session_persistable(session, track, 9), 0);
		assert_int_equal(library_state(session).end, SLUICE_END_OPEN);
		assert_int_equal(sluice_session_observe(session, track, 1, &offset),
				 SLUICE_NO_TASKS);
		assert_int_equal(sluice_session_observe(session, track, 1, &offset), SLUICE_CLOSED);
		assert_library_failed(session, SLUICE_NO_TASKS);
		session = library_session(1, 1);
		assert_int_equal(sluice_session_observe_text(session, track, "a", 1, &offset),
				 SLUICE_NO_TASKS);
		assert_library_failed(session, SLUICE_NO_TASKS);
		session = library_session(1, 1);
		assert_int_equal(sluice_session_outcome(session, track, 0, 0, 0, SLUICE_DENIED),
				 SLUICE_EMPTY_SPAN);
		assert_int_equal(sluice_session_outcome(session, track, 0, 0, 1, SLUICE_CLEARED),
				 SLUICE_UNKNOWN_TASK);
		assert_library_failed(session, SLUICE_UNKNOWN_TASK);
	}
	assert_int_equal(offset, 77);
}

static void unknown_tasks_and_outcomes_fail_closed(void **state)
{
	static const int unknown[] = {-1, 1, INT_MAX, INT_MIN};
	struct sluice_session *session;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(unknown); i++) {
		session = library_session(0, 1);
		assert_null(sluice_session_task_name(session, SLUICE_RESPONSE, unknown[i]));
		assert_null(sluice_session_output_name(session, unknown[i]));
		library_observe(session, "abc", 3);
		assert_int_equal(sluice_session_outcome(session, SLUICE_RESPONSE, unknown[i], 0, 1,
							SLUICE_CLEARED),
				 SLUICE_UNKNOWN_TASK);
		assert_library_failed(session, SLUICE_UNKNOWN_TASK);
	}
	session = library_session(0, 1);
	assert_int_equal(sluice_session_task(session, SLUICE_RESPONSE, "t0"), 0);
	assert_int_equal(sluice_session_task(session, SLUICE_RESPONSE, "t1"), -ENOENT);
	assert_int_equal(sluice_session_task(session, SLUICE_RESPONSE, NULL), -ENOENT);
	assert_int_equal(sluice_session_output_task(session, NULL), -ENOENT);
	library_observe(session, "abc", 3);
	assert_int_equal(
		sluice_session_outcome(session, SLUICE_RESPONSE, 0, 0, 1, (enum sluice_outcome)3),
		SLUICE_VERDICT_INVALID);
	assert_string_equal(sluice_session_reason(session), "host_error:verdict_invalid");
	assert_library_failed(session, SLUICE_VERDICT_INVALID);
}

static void offsets_at_and_past_the_ceiling(void **state)
{
	struct sluice_session *session = library_session(0, 1);
	uint64_t received = 0, offset = 77;

	(void)state;
	assert_int_equal(
		sluice_session_observe(session, SLUICE_RESPONSE, SLUICE_TRACK_RUNES_MAX, &received),
		SLUICE_OK);
	assert_int_equal(received, SLUICE_TRACK_RUNES_MAX);
	assert_int_equal(sluice_session_outcome(session, SLUICE_RESPONSE, 0, 0,
						SLUICE_TRACK_RUNES_MAX + 1ull, SLUICE_CLEARED),
			 SLUICE_SPAN_OVERFLOW);
	assert_int_equal(sluice_session_outcome(session, SLUICE_RESPONSE, 0, 5, 5, SLUICE_DENIED),
			 SLUICE_EMPTY_SPAN);
	assert_int_equal(
		sluice_session_outcome(session, SLUICE_RESPONSE, 0, UINT64_MAX, 1, SLUICE_DENIED),
		SLUICE_EMPTY_SPAN);
	assert_int_equal(library_state(session).end, SLUICE_END_OPEN);
	library_clear(session, 0, 0, SLUICE_TRACK_RUNES_MAX);
	assert_int_equal(sluice_session_advance(session, SLUICE_RESPONSE, &offset), 1);
	assert_int_equal(offset, SLUICE_TRACK_RUNES_MAX);
	/* A cut rune takes no place; its last byte does. */
	library_observe(session, "\xc3", SLUICE_TRACK_RUNES_MAX);
	assert_int_equal(
		sluice_session_observe_text(session, SLUICE_RESPONSE, "\xbc", 1, &received),
		SLUICE_OFFSET_OVERFLOW);
	assert_int_equal(sluice_session_persistable(session, SLUICE_RESPONSE, UINT64_MAX),
			 SLUICE_TRACK_RUNES_MAX);
	assert_library_failed(session, SLUICE_OFFSET_OVERFLOW);
	session = library_session(0, 1);
	assert_int_equal(sluice_session_observe(session, SLUICE_RESPONSE, UINT64_MAX, &received),
			 SLUICE_OFFSET_OVERFLOW);
	assert_library_failed(session, SLUICE_OFFSET_OVERFLOW);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_counts_runes_however_it_is_cut),
		cmocka_unit_test(a_cut_rune_waits_and_is_not_counted),
		cmocka_unit_test(ill_formed_text_fails_closed),
		cmocka_unit_test(text_that_ends_inside_a_rune_fails_closed),
		cmocka_unit_test(unknown_tracks_fail_closed),
		cmocka_unit_test(unknown_tasks_and_outcomes_fail_closed),
		cmocka_unit_test(offsets_at_and_past_the_ceiling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
