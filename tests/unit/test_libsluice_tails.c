/* SPDX-License-Identifier: Apache-2.0 */
/* The public library: coverage, resumes, the framing guard, names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "sluice/sluice.h"
#include "unit/allocation.h"
#include "unit/library.h"

static void windows_cover_what_is_detectable(void **state)
{
	struct sluice_coverage coverage = {.span = 16, .window = 24, .detectable = 9};
	uint64_t value = 77;

	(void)state;
	assert_int_equal(sluice_coverage_window(16, 9), 24);
	assert_int_equal(sluice_coverage_tail(9), 8);
	assert_int_equal(sluice_coverage_check(&coverage, NULL), 0);
	assert_int_equal(sluice_coverage_of(&coverage, 100, 116, &value), 0);
	assert_int_equal(value, 92);
	assert_int_equal(sluice_coverage_of(&coverage, 100, 117, &value), -EINVAL);
	assert_int_equal(sluice_coverage_of(&coverage, 100, 100, &value), -EINVAL);
	coverage.window = 23;
	assert_int_equal(value, 92);
	assert_int_equal(sluice_coverage_check(&coverage, &value), -EINVAL);
	assert_int_equal(value, 24);
}

/* The tails, one after the other. */
static int add_tail(void *context, const char *channel, const uint8_t *text, size_t len)
{
	char *all = context;

	sprintf(all + strlen(all), "%s=%.*s;", channel, (int)len, (const char *)text);
	return 0;
}

static int stop(void *context, const char *channel, const uint8_t *text, size_t len)
{
	(void)context, (void)channel, (void)text, (void)len;
	return -ECANCELED;
}

static void a_resume_keeps_the_tail_of_what_was_delivered(void **state)
{
	struct sluice_resume *resume = NULL;
	char all[64] = "";

	(void)state;
	assert_int_equal(sluice_resume_new(3, &resume), 0);
	assert_int_equal(sluice_resume_delivered(resume, "content", "abcdef", 6), 0);
	sluice_resume_attempt(resume, 6, 6);
	assert_int_equal(sluice_resume_offset(resume), 6);
	assert_int_equal(sluice_resume_may_begin(resume, 6), 0);
	assert_int_equal(sluice_resume_may_begin(resume, 5), -ERANGE);
	assert_int_equal(sluice_resume_tails(resume, add_tail, all), 0);
	assert_string_equal(all, "content=def;");
	assert_int_equal(sluice_resume_tails(resume, stop, NULL), -ECANCELED);
	sluice_resume_attempt(resume, 1, 2);
	assert_int_equal(sluice_resume_may_begin(resume, 8), -EPERM);
	sluice_resume_free(resume);
	sluice_resume_free(NULL);
}

static void ill_formed_text_spoils_a_resume(void **state)
{
	static const char *const bad[] = {"a\xff", "\xe2\x82", "\xf0"};
	struct sluice_resume *resume = (void *)0x1;

	(void)state;
	allocation_fail_at(0);
	assert_int_equal(sluice_resume_new(3, &resume), -ENOMEM);
	assert_ptr_equal(resume, (void *)0x1);
	assert_true(allocation_failed());
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(sluice_resume_new(3, &resume), 0);
		assert_int_equal(sluice_resume_delivered(resume, "c", bad[i], strlen(bad[i])),
				 -EILSEQ);
		assert_int_equal(sluice_resume_may_begin(resume, 0), -EPERM);
		sluice_resume_free(resume);
	}
}

static void the_guard_waits_for_nothing_it_does_not_know(void **state)
{
	(void)state;
	assert_int_equal(sluice_guard_judge(SLUICE_DELIMITED, false, 99, 1),
			 SLUICE_MESSAGE_COMPLETE);
	assert_int_equal(sluice_guard_judge(SLUICE_LENGTH_PREFIXED, true, 1, 1),
			 SLUICE_MESSAGE_IN_PROGRESS);
	assert_int_equal(sluice_guard_judge(SLUICE_DELIMITED, true, 1.5, 1),
			 SLUICE_STALE_PARTIAL_BUFFER);
	assert_int_equal(sluice_guard_judge(SLUICE_DELIMITED, true, (double)NAN, 1),
			 SLUICE_STALE_PARTIAL_BUFFER);
	assert_int_equal(sluice_guard_judge(SLUICE_UNFRAMED, true, 0, 1), SLUICE_DISCARD_AND_RESET);
	assert_int_equal(sluice_guard_judge((enum sluice_guard_mode) - 1, true, 0, 1),
			 SLUICE_DISCARD_AND_RESET);
}

static void versions_and_names(void **state)
{
	char version[32];

	(void)state;
	snprintf(version, sizeof(version), "%d.%d.%d", SLUICE_VERSION_MAJOR, SLUICE_VERSION_MINOR,
		 SLUICE_VERSION_PATCH);
	assert_string_equal(sluice_version(), version);
	assert_int_equal(sluice_version_number(), SLUICE_VERSION_NUMBER);
	assert_string_equal(sluice_result_name(SLUICE_UNCLEARED_RESIDUE), "uncleared_residue");
	assert_string_equal(sluice_result_name(SLUICE_BAD_ARGUMENT), "bad_argument");
	assert_string_equal(sluice_result_name((enum sluice_result) - 1), "unknown");
	assert_string_equal(sluice_result_name((enum sluice_result)255), "unknown");
	assert_string_equal(sluice_end_name(SLUICE_END_REWRITTEN), "rewritten");
	assert_string_equal(sluice_end_name((enum sluice_end)5), "unknown");
	assert_string_equal(sluice_decision_name(SLUICE_TRANSFORM), "transform");
	assert_string_equal(sluice_decision_name((enum sluice_decision) - 1), "unknown");
	assert_string_equal(sluice_verdict_fault_name(SLUICE_VERDICT_NOT_OBJECT), "not_object");
	assert_string_equal(sluice_verdict_fault_name((enum sluice_verdict_fault)99), "unknown");
	assert_string_equal(sluice_guard_verdict_name(SLUICE_MESSAGE_COMPLETE), "MESSAGE_COMPLETE");
	assert_string_equal(sluice_guard_verdict_name((enum sluice_guard_verdict)4), "UNKNOWN");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(windows_cover_what_is_detectable),
		cmocka_unit_test(a_resume_keeps_the_tail_of_what_was_delivered),
		cmocka_unit_test(ill_formed_text_spoils_a_resume),
		cmocka_unit_test(the_guard_waits_for_nothing_it_does_not_know),
		cmocka_unit_test(versions_and_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
