/* SPDX-License-Identifier: Apache-2.0 */
/* The public library: verdicts, and tasks of output. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "sluice/sluice.h"
#include "unit/library.h"

static const char *const judges[] = {"whole"};

static struct sluice_verdict verdict_of(const char *json)
{
	enum sluice_verdict_fault fault;
	struct sluice_verdict verdict;

	memset(&verdict, 0x5a, sizeof(verdict));
	fault = sluice_verdict_parse(json, strlen(json), false, &verdict);
	assert_int_equal(fault, verdict.fault);
	return verdict;
}

static void verdicts_are_recorded_as_outcomes(void **state)
{
	static const struct {
		const char *json;
		enum sluice_end end;
	} cases[] = {
		{"{\"decision\":\"allow\"}", SLUICE_END_OPEN},
		{"{\"decision\":\"deny\"}", SLUICE_END_DENIED},
		{"{\"decision\":\"deny\",\"approval\":{}}", SLUICE_END_DENIED},
		{"{\"decision\":\"transform\",\"transform\":{\"path\":\"$target\"}}",
		 SLUICE_END_REWRITTEN},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct sluice_verdict verdict = verdict_of(cases[i].json);
		struct sluice_session *session = library_session(0, 1);

		assert_int_equal(verdict.fault, SLUICE_VERDICT_OK);
		assert_int_equal(verdict.approval, i == 2);
		library_observe(session, "abc", 3);
		assert_int_equal(
			sluice_session_verdict(session, SLUICE_RESPONSE, 0, 0, 3, &verdict),
			SLUICE_OK);
		assert_int_equal(library_state(session).end, cases[i].end);
		assert_int_equal(sluice_session_finish(session), i ? SLUICE_CLOSED : SLUICE_OK);
		assert_true(sluice_session_free(session));
	}
}

static void a_verdict_is_kept_without_its_texts(void **state)
{
	static const char json[] =
		"{\"decision\":\"deny\",\"reason\":\"pii\",\"message\":\"secret\","
		"\"warnings\":[{\"reason\":\"w\"}],\"evidence\":{}}";
	struct sluice_verdict verdict = verdict_of(json);

	(void)state;
	assert_int_equal(verdict.fault, SLUICE_VERDICT_OK);
	assert_int_equal(verdict.decision, SLUICE_DENY);
	assert_string_equal(verdict.reason, "pii");
	assert_int_equal(verdict.warnings, 1);
	/* SHA-256 of "{}". */
	assert_string_equal(verdict.evidence,
			    "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
	for (size_t i = 0; i < ARRAY_SIZE(verdict.reserved); i++)
		assert_int_equal(verdict.reserved[i], 0);
}

static void malformed_verdicts_fail_closed(void **state)
{
	static const struct {
		const char *json;
		enum sluice_verdict_fault fault;
	} cases[] = {
		{"", SLUICE_VERDICT_NOT_JSON},
		{"{\"decision\":\"allow\"", SLUICE_VERDICT_NOT_JSON},
		{"{\"decision\":\"allow\"} 1", SLUICE_VERDICT_NOT_JSON},
		{"{\"decision\":\"allow\",\"decision\":\"deny\"}", SLUICE_VERDICT_NOT_JSON},
		{"\"allow\"", SLUICE_VERDICT_NOT_OBJECT},
		{"{}", SLUICE_VERDICT_BAD_DECISION},
		{"{\"decision\":\"Allow\"}", SLUICE_VERDICT_BAD_DECISION},
		{"{\"decision\":\"deny\",\"reason\":1}", SLUICE_VERDICT_BAD_REASON},
		{"{\"decision\":\"deny\",\"reason\":\"host_error:x\"}", SLUICE_VERDICT_BAD_REASON},
		{"{\"decision\":\"deny\",\"message\":[]}", SLUICE_VERDICT_BAD_MESSAGE},
		{"{\"decision\":\"allow\",\"warnings\":{}}", SLUICE_VERDICT_BAD_WARNINGS},
		{"{\"decision\":\"allow\",\"approval\":{}}", SLUICE_VERDICT_BAD_APPROVAL},
		{"{\"decision\":\"transform\"}", SLUICE_VERDICT_BAD_TRANSFORM},
		{"{\"decision\":\"allow\",\"evidence\":1}", SLUICE_VERDICT_BAD_EVIDENCE},
		{"{\"decision\":\"allow\",\"result_labels\":1}", SLUICE_VERDICT_BAD_LABELS},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct sluice_verdict verdict = verdict_of(cases[i].json);
		struct sluice_session *session = library_session(0, 1);

		assert_int_equal(verdict.fault, cases[i].fault);
		assert_string_equal(verdict.reason, "");
		library_observe(session, "abc", 3);
		assert_int_equal(
			sluice_session_verdict(session, SLUICE_RESPONSE, 0, 0, 3, &verdict),
			SLUICE_VERDICT_INVALID);
		assert_int_equal(
			sluice_session_verdict(session, SLUICE_RESPONSE, 0, 0, 3, &verdict),
			SLUICE_CLOSED);
		assert_library_failed(session, SLUICE_VERDICT_INVALID);
	}
}

static void verdicts_made_up_by_the_host_fail_closed_too(void **state)
{
	struct sluice_verdict verdict = {.decision = (enum sluice_decision)77};
	struct sluice_session *session = library_session(0, 1);
	static const char json[] = "{\"decision\":\"deny\",\"reason\":\"host_error:x\"}";

	(void)state;
	library_observe(session, "abc", 3);
	assert_int_equal(sluice_session_verdict(session, SLUICE_RESPONSE, 0, 0, 3, &verdict),
			 SLUICE_VERDICT_INVALID);
	assert_library_failed(session, SLUICE_VERDICT_INVALID);
	assert_int_equal(sluice_verdict_parse(json, sizeof(json) - 1, true, &verdict),
			 SLUICE_VERDICT_OK);
	assert_string_equal(verdict.reason, "host_error:x");
	/* A verdict that could not be read is no clearance. */
	session = library_session(0, 1);
	library_observe(session, "abc", 3);
	verdict = (struct sluice_verdict){.fault = SLUICE_VERDICT_NO_MEMORY};
	assert_int_equal(sluice_session_verdict(session, SLUICE_RESPONSE, 0, 0, 3, &verdict),
			 SLUICE_NO_MEMORY);
	assert_library_failed(session, SLUICE_NO_MEMORY);
}

static struct sluice_session *make_with_output(void)
{
	struct sluice_config config = library_config(0, 1);
	struct sluice_session *session = NULL;

	config.output_tasks = judges;
	config.output_count = 1;
	assert_int_equal(sluice_session_new(&config, &session), SLUICE_OK);
	assert_int_equal(sluice_session_output_task(session, "whole"), 0);
	assert_int_equal(sluice_session_output_task(session, "t0"), -ENOENT);
	assert_string_equal(sluice_session_output_name(session, 0), "whole");
	library_observe(session, "abc", 3);
	library_clear(session, 0, 0, 3);
	return session;
}

static void finish_waits_for_the_tasks_of_output(void **state)
{
	struct sluice_verdict allow = verdict_of("{\"decision\":\"allow\"}");
	struct sluice_session *session = make_with_output();

	(void)state;
	assert_int_equal(sluice_session_end_of_payloads(session), SLUICE_OK);
	assert_int_equal(sluice_session_finish(session), SLUICE_OUTPUT_PENDING);
	assert_int_equal(library_state(session).end, SLUICE_END_OPEN);
	assert_int_equal(sluice_session_output_verdict(session, 0, &allow), SLUICE_OK);
	assert_int_equal(sluice_session_finish(session), SLUICE_OK);
	assert_true(sluice_session_free(session));

	session = make_with_output();
	assert_int_equal(sluice_session_output(session, 0, SLUICE_CLEARED),
			 SLUICE_OUTPUT_TOO_EARLY);
	assert_library_failed(session, SLUICE_OUTPUT_TOO_EARLY);

	session = make_with_output();
	assert_int_equal(sluice_session_end_of_payloads(session), SLUICE_OK);
	assert_int_equal(sluice_session_output(session, 0, SLUICE_DENIED), SLUICE_OK);
	assert_int_equal(library_state(session).end, SLUICE_END_DENIED);
	assert_true(library_state(session).ended_output);
	assert_true(sluice_session_free(session));
}

static void bad_outcomes_of_output_fail_closed(void **state)
{
	struct sluice_verdict bad = verdict_of("{}");
	struct sluice_session *session = make_with_output();

	(void)state;
	assert_int_equal(sluice_session_end_of_payloads(session), SLUICE_OK);
	assert_int_equal(sluice_session_output_verdict(session, 0, &bad), SLUICE_VERDICT_INVALID);
	assert_library_failed(session, SLUICE_VERDICT_INVALID);
	session = make_with_output();
	bad = (struct sluice_verdict){.fault = SLUICE_VERDICT_NO_MEMORY};
	assert_int_equal(sluice_session_output_verdict(session, 0, &bad), SLUICE_NO_MEMORY);
	assert_library_failed(session, SLUICE_NO_MEMORY);
	session = make_with_output();
	assert_int_equal(sluice_session_end_of_payloads(session), SLUICE_OK);
	assert_int_equal(sluice_session_output(session, 0, (enum sluice_outcome) - 1),
			 SLUICE_VERDICT_INVALID);
	assert_library_failed(session, SLUICE_VERDICT_INVALID);
	session = make_with_output();
	assert_int_equal(sluice_session_end_of_payloads(session), SLUICE_OK);
	assert_int_equal(sluice_session_output(session, 1, SLUICE_CLEARED), SLUICE_UNKNOWN_TASK);
	assert_library_failed(session, SLUICE_UNKNOWN_TASK);
}

static void nothing_is_no_verdict(void **state)
{
	struct sluice_verdict verdict;

	(void)state;
	assert_int_equal(sluice_verdict_parse(NULL, 0, false, &verdict), SLUICE_VERDICT_NOT_JSON);
	assert_int_equal(verdict.fault, SLUICE_VERDICT_NOT_JSON);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(verdicts_are_recorded_as_outcomes),
		cmocka_unit_test(a_verdict_is_kept_without_its_texts),
		cmocka_unit_test(malformed_verdicts_fail_closed),
		cmocka_unit_test(verdicts_made_up_by_the_host_fail_closed_too),
		cmocka_unit_test(nothing_is_no_verdict),
		cmocka_unit_test(finish_waits_for_the_tasks_of_output),
		cmocka_unit_test(bad_outcomes_of_output_fail_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
