/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts: what is well-formed and read, what is malformed and why, and what is recorded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "core/verdict.h"
#include "unit/accounts.h"
#include "unit/allocation.h"

static enum verdict_fault parse(const char *json, bool by_host, struct verdict *ret_verdict)
{
	return verdict_parse((const uint8_t *)json, strlen(json), by_host, ret_verdict);
}

#define LETTERS_64 "abcdefghijklmnopqrstuvwxyz0123456789_.:-abcdefghijklmnopqrstuvwx"

static void a_good_verdict_is_read(void **state)
{
	static const struct {
		const char *json;
		bool by_host;
		struct verdict verdict;
	} rows[] = {
		{"{\"decision\":\"allow\"}", false, {.decision = VERDICT_ALLOW}},
		{" {\n\t\"decision\" : \"deny\" }\r\n", false, {.decision = VERDICT_DENY}},
		{"{\"d\\u0065cision\":\"\\u0061llow\"}", false, {.decision = VERDICT_ALLOW}},
		{"{\"x\":{\"decision\":5,\"transform\":1},\"decision\":\"allow\",\"y\":[[{}]]}",
		 false,
		 {.decision = VERDICT_ALLOW}},
		{"{\"decision\":\"deny\",\"reason\":\"ctk:streamed-secret\",\"message\":\"no\"}",
		 false,
		 {.decision = VERDICT_DENY, .reason = "ctk:streamed-secret"}},
		{"{\"reason\":\"\",\"decision\":\"allow\"}", false, {.decision = VERDICT_ALLOW}},
		{"{\"reason\":\"" LETTERS_64 "\",\"decision\":\"allow\"}",
		 false,
		 {.decision = VERDICT_ALLOW, .reason = LETTERS_64}},
		/* What is not of the letters, or too long, is not told. */
		{"{\"reason\":\"" LETTERS_64 "a\",\"decision\":\"deny\"}",
		 false,
		 {.decision = VERDICT_DENY, .reason = "unnamed"}},
		{"{\"reason\":\"Secret\",\"decision\":\"deny\"}",
		 false,
		 {.decision = VERDICT_DENY, .reason = "unnamed"}},
		{"{\"reason\":\"a b\",\"decision\":\"deny\"}",
		 false,
		 {.decision = VERDICT_DENY, .reason = "unnamed"}},
		{"{\"reason\":\"a\\u0000\",\"decision\":\"deny\"}",
		 false,
		 {.decision = VERDICT_DENY, .reason = "unnamed"}},
		{"{\"reason\":\"\\ud83c\\udf0a\",\"decision\":\"deny\"}",
		 false,
		 {.decision = VERDICT_DENY, .reason = "unnamed"}},
		{"{\"reason\":\"host_error\",\"decision\":\"allow\"}",
		 false,
		 {.decision = VERDICT_ALLOW, .reason = "host_error"}},
		{"{\"decision\":\"deny\",\"reason\":\"host_error:interceptor_failed\"}",
		 true,
		 {.decision = VERDICT_DENY, .reason = "host_error:interceptor_failed"}},
		{"{\"decision\":\"deny\",\"approval\":{}}",
		 false,
		 {.decision = VERDICT_DENY, .approval = true}},
		{"{\"decision\":\"allow\",\"warnings\":[]}", false, {.decision = VERDICT_ALLOW}},
		{"{\"decision\":\"allow\",\"warnings\":[{},{\"reason\":\"a\",\"message\":\"b\","
		 "\"x\":[{\"reason\":1}]}]}",
		 false,
		 {.decision = VERDICT_ALLOW, .warnings = 2, .warned = {"", "a"}}},
		{"{\"decision\":\"allow\",\"warnings\":[{\"reason\":\"A b\"},{\"reason\":\"c\"},{},"
		 "{\"reason\":\"d\"},{\"reason\":\"e\"}]}",
		 false,
		 {.decision = VERDICT_ALLOW, .warnings = 5, .warned = {"unnamed", "c", "", "d"}}},
		{"{\"decision\":\"allow\",\"result_labels\":[\"a\",\"\"]}",
		 false,
		 {.decision = VERDICT_ALLOW}},
		{"{\"decision\":\"transform\",\"transform\":{\"path\":\"$target\"}}",
		 false,
		 {.decision = VERDICT_TRANSFORM}},
		{"{\"decision\":\"transform\",\"transform\":{\"path\":"
		 "\"\\u0024policy_target[\\\"\\ud83c\\udf0a\\\"]\"}}",
		 false,
		 {.decision = VERDICT_TRANSFORM}},
		{"{\"transform\":{\"value\":{\"path\":5},\"path\":\"$target.a\",\"x\":null},"
		 "\"decision\":\"transform\"}",
		 false,
		 {.decision = VERDICT_TRANSFORM}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct verdict verdict = {.decision = _VERDICT_DECISION_MAX};

		assert_int_equal(parse(rows[i].json, rows[i].by_host, &verdict), VERDICT_OK);
		assert_int_equal(verdict.decision, rows[i].verdict.decision);
		assert_int_equal(verdict.approval, rows[i].verdict.approval);
		assert_string_equal(verdict.reason, rows[i].verdict.reason);
		assert_int_equal(verdict.warnings, rows[i].verdict.warnings);
		assert_memory_equal(verdict.warned, rows[i].verdict.warned, sizeof(verdict.warned));
		assert_false(verdict.has_evidence);
		assert_string_equal(verdict.evidence, "");
	}
}

static const struct {
	const char *json;
	enum verdict_fault fault;
} malformed[] = {
	{"", VERDICT_NOT_JSON},
	{"  ", VERDICT_NOT_JSON},
	{"allow", VERDICT_NOT_JSON},
	{"{\"decision\":\"allow\"", VERDICT_NOT_JSON},
	{"{\"decision\":\"allow\",}", VERDICT_NOT_JSON},
	{"{'decision':'allow'}", VERDICT_NOT_JSON},
	{"\xef\xbb\xbf{\"decision\":\"allow\"}", VERDICT_NOT_JSON},
	{"{\"decision\":\"allow\"}{}", VERDICT_NOT_JSON},
	{"{\"decision\":\"allow\"} x", VERDICT_NOT_JSON},
	{"{\"decision\":\"deny\",\"decision\":\"allow\"}", VERDICT_NOT_JSON},
	{"{\"decision\":\"deny\",\"d\\u0065cision\":\"allow\"}", VERDICT_NOT_JSON},
	{"{\"decision\":\"allow\",\"x\":{\"a\":1,\"a\":1}}", VERDICT_NOT_JSON},
	{"{\"decision\":\"allow\",\"message\":\"\xff\"}", VERDICT_NOT_JSON},
	{"{\"decision\":\"allow\",\"message\":\"\xed\xa0\x80\"}", VERDICT_NOT_JSON},
	{"{\"decision\":\"allow\",\"message\":\"\\ud83c\"}", VERDICT_NOT_JSON},
	{"{\"decision\":\"allow\",\"message\":\"\\ud83cx\"}", VERDICT_NOT_JSON},
	{"{\"decision\":\"allow\",\"message\":\"\\ud83c\\ud83c\"}", VERDICT_NOT_JSON},
	{"{\"decision\":\"allow\",\"message\":\"\\udf0a\"}", VERDICT_NOT_JSON},
	{"{\"decision\":\"allow\",\"\\ud83c\":1}", VERDICT_NOT_JSON},
	{"[]", VERDICT_NOT_OBJECT},
	{"[[\"decision\",\"allow\",{\"decision\":\"allow\"}]]", VERDICT_NOT_OBJECT},
	{"\"allow\"", VERDICT_NOT_OBJECT},
	{"\"\\ud83c\\udf0a\"", VERDICT_NOT_OBJECT},
	{"null", VERDICT_NOT_OBJECT},
	{"7", VERDICT_NOT_OBJECT},
	{"{}", VERDICT_BAD_DECISION},
	{"{\"Decision\":\"allow\"}", VERDICT_BAD_DECISION},
	{"{\"x\":{\"decision\":\"allow\"}}", VERDICT_BAD_DECISION},
	{"{\"decision\":\"\"}", VERDICT_BAD_DECISION},
	{"{\"decision\":\"Allow\"}", VERDICT_BAD_DECISION},
	{"{\"decision\":\"allowed\"}", VERDICT_BAD_DECISION},
	{"{\"decision\":\"allow\\u0000\"}", VERDICT_BAD_DECISION},
	{"{\"decision\":\"escalate\"}", VERDICT_BAD_DECISION},
	{"{\"decision\":null}", VERDICT_BAD_DECISION},
	{"{\"decision\":true}", VERDICT_BAD_DECISION},
	{"{\"decision\":0}", VERDICT_BAD_DECISION},
	{"{\"decision\":{}}", VERDICT_BAD_DECISION},
	{"{\"decision\":[\"allow\"]}", VERDICT_BAD_DECISION},
	{"{\"decision\":\"deny\",\"reason\":7}", VERDICT_BAD_REASON},
	{"{\"decision\":\"deny\",\"reason\":null}", VERDICT_BAD_REASON},
	{"{\"decision\":\"deny\",\"reason\":[\"a\"]}", VERDICT_BAD_REASON},
	{"{\"decision\":\"deny\",\"reason\":\"host_error:interceptor_failed\"}",
	 VERDICT_BAD_REASON},
	{"{\"decision\":\"deny\",\"reason\":\"host_error:\"}", VERDICT_BAD_REASON},
	{"{\"decision\":\"deny\",\"reason\":\"host\\u005ferror:x\"}", VERDICT_BAD_REASON},
	{"{\"decision\":\"deny\",\"reason\":\"host_error:" LETTERS_64 "\"}", VERDICT_BAD_REASON},
	{"{\"decision\":\"deny\",\"message\":{}}", VERDICT_BAD_MESSAGE},
	{"{\"decision\":\"deny\",\"message\":null}", VERDICT_BAD_MESSAGE},
	{"{\"decision\":\"allow\",\"warnings\":{}}", VERDICT_BAD_WARNINGS},
	{"{\"decision\":\"allow\",\"warnings\":null}", VERDICT_BAD_WARNINGS},
	{"{\"decision\":\"allow\",\"warnings\":[\"a\"]}", VERDICT_BAD_WARNINGS},
	{"{\"decision\":\"allow\",\"warnings\":[{},[]]}", VERDICT_BAD_WARNINGS},
	{"{\"decision\":\"allow\",\"warnings\":[null]}", VERDICT_BAD_WARNINGS},
	{"{\"decision\":\"allow\",\"warnings\":[{\"reason\":1}]}", VERDICT_BAD_WARNINGS},
	{"{\"decision\":\"allow\",\"warnings\":[{\"reason\":{}},{}]}", VERDICT_BAD_WARNINGS},
	{"{\"decision\":\"allow\",\"warnings\":[{\"message\":false}]}", VERDICT_BAD_WARNINGS},
	{"{\"decision\":\"allow\",\"warnings\":[{},{\"reason\":\"host_error:x\"}]}",
	 VERDICT_BAD_WARNINGS},
	{"{\"decision\":\"deny\",\"approval\":true}", VERDICT_BAD_APPROVAL},
	{"{\"decision\":\"deny\",\"approval\":null}", VERDICT_BAD_APPROVAL},
	{"{\"decision\":\"allow\",\"approval\":{}}", VERDICT_BAD_APPROVAL},
	{"{\"decision\":\"transform\",\"transform\":{\"path\":\"$target\"},\"approval\":{}}",
	 VERDICT_BAD_APPROVAL},
	{"{\"decision\":\"transform\"}", VERDICT_BAD_TRANSFORM},
	{"{\"decision\":\"transform\",\"transform\":{}}", VERDICT_BAD_TRANSFORM},
	{"{\"decision\":\"transform\",\"transform\":\"$target\"}", VERDICT_BAD_TRANSFORM},
	{"{\"decision\":\"transform\",\"transform\":[{\"path\":\"$target\"}]}",
	 VERDICT_BAD_TRANSFORM},
	{"{\"decision\":\"transform\",\"transform\":{\"path\":1}}", VERDICT_BAD_TRANSFORM},
	{"{\"decision\":\"transform\",\"transform\":{\"value\":\"$target\"}}",
	 VERDICT_BAD_TRANSFORM},
	{"{\"decision\":\"transform\",\"transform\":{},\"x\":{\"path\":\"$target\"}}",
	 VERDICT_BAD_TRANSFORM},
	{"{\"decision\":\"transform\",\"transform\":{\"path\":\"$targets\"}}",
	 VERDICT_BAD_TRANSFORM},
	{"{\"decision\":\"transform\",\"transform\":{\"value\":{\"path\":\"$target\"}}}",
	 VERDICT_BAD_TRANSFORM},
	{"{\"decision\":\"transform\",\"path\":\"$target\",\"transform\":{}}",
	 VERDICT_BAD_TRANSFORM},
	{"{\"decision\":\"allow\",\"transform\":{\"path\":\"$target\"}}", VERDICT_BAD_TRANSFORM},
	{"{\"decision\":\"deny\",\"transform\":{\"path\":\"$target\"}}", VERDICT_BAD_TRANSFORM},
	{"{\"decision\":\"allow\",\"transform\":null}", VERDICT_BAD_TRANSFORM},
	{"{\"decision\":\"allow\",\"evidence\":[]}", VERDICT_BAD_EVIDENCE},
	{"{\"decision\":\"allow\",\"evidence\":null}", VERDICT_BAD_EVIDENCE},
	{"{\"decision\":\"allow\",\"evidence\":\"{}\"}", VERDICT_BAD_EVIDENCE},
	{"{\"decision\":\"allow\",\"result_labels\":{}}", VERDICT_BAD_LABELS},
	{"{\"decision\":\"allow\",\"result_labels\":\"a\"}", VERDICT_BAD_LABELS},
	{"{\"decision\":\"allow\",\"result_labels\":[\"a\",1]}", VERDICT_BAD_LABELS},
	{"{\"decision\":\"allow\",\"result_labels\":[[\"a\"]]}", VERDICT_BAD_LABELS},
	{"{\"decision\":\"allow\",\"result_labels\":[null,\"a\"]}", VERDICT_BAD_LABELS},
	/* Of several the first is told. */
	{"{\"result_labels\":1,\"evidence\":1,\"reason\":1,\"decision\":\"deny\"}",
	 VERDICT_BAD_REASON},
	{"{\"result_labels\":1,\"evidence\":1,\"decision\":\"deny\"}", VERDICT_BAD_EVIDENCE},
};

static void a_malformed_verdict_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(malformed); i++) {
		struct verdict verdict = {.warnings = 77};

		assert_int_equal(parse(malformed[i].json, false, &verdict), malformed[i].fault);
		assert_int_equal(verdict.warnings, 77);
	}
}

static void the_host_uses_its_prefix_on_a_deny_alone(void **state)
{
	static const char *const rows[] = {
		"{\"decision\":\"allow\",\"reason\":\"host_error:x\"}",
		"{\"decision\":\"transform\",\"transform\":{\"path\":\"$target\"},"
		"\"reason\":\"host_error:x\"}",
	};
	struct verdict verdict;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(parse(rows[i], true, &verdict), VERDICT_BAD_REASON);
	/* Nor in a warning. */
	assert_int_equal(
		parse("{\"decision\":\"deny\",\"warnings\":[{\"reason\":\"host_error:x\"}]}", true,
		      &verdict),
		VERDICT_BAD_WARNINGS);
}

static void every_cut_of_a_verdict_is_malformed(void **state)
{
	static const char json[] =
		"{\"decision\":\"transform\",\"reason\":\"a\\u0062\",\"message\":\"\xc3\xa9\\ud83c"
		"\\udf0a\",\"warnings\":[{\"reason\":\"w\"}],\"transform\":{\"path\":\"$target.a"
		"[0]\",\"value\":-1.5e+3},\"evidence\":{\"e\":[true]},\"result_labels\":[\"l\"]}";
	struct verdict verdict;

	(void)state;
	for (size_t len = 0; len < strlen(json); len++) {
		char *cut = malloc(len ? len : 1);

		assert_non_null(cut);
		memcpy(cut, json, len);
		assert_int_equal(verdict_parse((const uint8_t *)cut, len, false, &verdict),
				 VERDICT_NOT_JSON);
		free(cut);
	}
	assert_int_equal(parse(json, false, &verdict), VERDICT_OK);
	assert_true(verdict.has_evidence);
}

/* A verdict whose evidence is before, then len times what, then after. */
static char *with_evidence(const char *before, size_t len, const char *what, const char *after)
{
	char *json = malloc(64 + strlen(before) + len * strlen(what) + strlen(after)), *at = json;

	assert_non_null(json);
	at += sprintf(at, "{\"evidence\":%s", before);
	for (size_t i = 0; i < len; i++)
		at = stpcpy(at, what);
	sprintf(at, "%s,\"decision\":\"deny\"}", after);
	return json;
}

static void evidence_has_a_cap(void **state)
{
	static const struct {
		const char *before, *what, *after;
		size_t fits; /* so many fit */
	} rows[] = {
		{"{\"a\":\"", "x", "\"}", 10240 - 8},
		{"{\"a\":\"", "\xc3\xa9", "\"}", (10240 - 8) / 2},
		{"{\"a\":\"", "\\\"", "\"}", (10240 - 8) / 2},
		{"{\"a\":\"", "\\\\", "\"}", (10240 - 8) / 2},
		/* White space in a string is text, also behind a quote that does not end it. */
		{"{\"a\":\"", "\\\"  ", "\"}", (10240 - 8) / 4},
		{"{\"a\":\"", " ", "\"}", 10240 - 8},
		/* Between tokens it is not counted. */
		{" {\n\"a\"\t:\r \"", "x", "\" } ", 10240 - 8},
		{"{\"a\":[0", ",1", "]}", (10240 - 9) / 2},
		{"{\"a\":[0", " , -1.50", "]}", (10240 - 9) / 6},
		/* 1e20 is 21 digits in full. */
		{"{\"a\":[0", ",1e20", "]}", (10240 - 9) / 26},
		{"{\"a\":[0", ",1E9", "]}", (10240 - 9) / 26},
		{"{\"a\":[true", ",null", "]}", (10240 - 12) / 5},
	};
	struct verdict verdict;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		for (size_t more = 0; more <= 1; more++) {
			char *json = with_evidence(rows[i].before, rows[i].fits + more,
						   rows[i].what, rows[i].after);

			assert_int_equal(parse(json, false, &verdict),
					 more ? VERDICT_BAD_EVIDENCE : VERDICT_OK);
			free(json);
		}
}

static void evidence_is_kept_as_a_digest(void **state)
{
	static const char *const rows[] = {
		"{}",
		"{ \"a\" : [1, \"}\\\"\"], \"evidence\":{} }",
	};
	char digest[SHA256_HEX_SIZE];
	struct verdict verdict;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct sha256 sha256 = {0};
		char *json = with_evidence("  ", 1, rows[i], " ");

		assert_int_equal(sha256_init(&sha256), 0);
		assert_int_equal(sha256_update(&sha256, rows[i], strlen(rows[i])), 0);
		assert_int_equal(sha256_hex(&sha256, digest), 0);
		sha256_done(&sha256);
		assert_int_equal(parse(json, false, &verdict), VERDICT_OK);
		assert_true(verdict.has_evidence);
		assert_string_equal(verdict.evidence, digest);
		free(json);
	}
}

static void a_verdict_has_a_cap(void **state)
{
	const size_t cap = VERDICT_SIZE_MAX;
	char *json = malloc(cap + 2);
	struct verdict verdict;
	size_t deep = 0;

	(void)state;
	assert_non_null(json);
	memset(json, ' ', cap + 1);
	memcpy(json, "{\"decision\":\"allow\"}", 20);
	assert_int_equal(verdict_parse((uint8_t *)json, cap, false, &verdict), VERDICT_OK);
	assert_int_equal(verdict_parse((uint8_t *)json, cap + 1, false, &verdict),
			 VERDICT_NOT_JSON);
	deep = (size_t)sprintf(json, "{\"decision\":\"allow\",\"x\":");
	memset(json + deep, '[', 2000);
	memset(json + deep + 2000, ']', 2000);
	strcpy(json + deep + 4000, "}");
	assert_int_equal(parse(json, false, &verdict), VERDICT_NOT_JSON);
	free(json);
}

static void every_allocation_may_fail(void **state)
{
	static const char json[] =
		"{\"decision\":\"deny\",\"evidence\":{\"a\":1},\"reason\":\"\\u0061\"}";
	unsigned long n = 0;

	(void)state;
	for (;; n++) {
		struct verdict verdict = {.warnings = 77};
		enum verdict_fault fault;

		allocation_fail_at(n);
		fault = parse(json, false, &verdict);
		if (!allocation_failed()) {
			assert_int_equal(fault, VERDICT_OK);
			break;
		}
		assert_int_equal(fault, VERDICT_NO_MEMORY);
		assert_int_equal(verdict.warnings, 77);
	}
	assert_in_range(n, 3, 100);
}

static void a_verdict_is_recorded_as_its_outcome(void **state)
{
	static const struct {
		const char *json;
		enum session_end end;
	} rows[] = {
		{"{\"decision\":\"allow\",\"reason\":\"a\"}", SESSION_OPEN},
		{"{\"decision\":\"deny\"}", SESSION_DENIED_END},
		{"{\"decision\":\"deny\",\"approval\":{\"state\":\"granted\"}}",
		 SESSION_DENIED_END},
		{"{\"decision\":\"transform\",\"transform\":{\"path\":\"$target\"}}",
		 SESSION_REWRITTEN_END},
	};
	uint64_t mark;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct session *session = accounts_new((struct accounts){.response_tasks = 1});
		struct verdict verdict;

		accounts_observe(session, SESSION_RESPONSE, 5);
		assert_int_equal(parse(rows[i].json, false, &verdict), VERDICT_OK);
		assert_int_equal(verdict_record(session, SESSION_RESPONSE, 0, 0, 5, &verdict),
				 SESSION_OK);
		assert_int_equal(accounts_state(session).end, rows[i].end);
		assert_int_equal(session_advance(session, SESSION_RESPONSE, &mark),
				 rows[i].end == SESSION_OPEN);
		assert_int_equal(session_free(session), rows[i].end != SESSION_OPEN);
	}
}

static void recording_fails_as_an_outcome_does(void **state)
{
	struct verdict verdict = {.decision = VERDICT_ALLOW};
	struct session *session = accounts_new((struct accounts){.response_tasks = 1});

	(void)state;
	accounts_observe(session, SESSION_RESPONSE, 5);
	assert_int_equal(verdict_record(session, SESSION_RESPONSE, 0, 5, 5, &verdict),
			 SESSION_EMPTY_SPAN);
	assert_int_equal(verdict_record(session, SESSION_RESPONSE, 1, 0, 5, &verdict),
			 SESSION_UNKNOWN_TASK);
	accounts_failed(session, SESSION_UNKNOWN_TASK, "host_error:streaming_unsupported");

	/* A decision that is none is a malformed verdict. */
	for (unsigned int decision = _VERDICT_DECISION_MAX; decision < 300; decision += 99) {
		session = accounts_new((struct accounts){.response_tasks = 1});
		verdict.decision = (enum verdict_decision)decision;
		accounts_observe(session, SESSION_RESPONSE, 5);
		assert_int_equal(verdict_record(session, SESSION_RESPONSE, 0, 0, 5, &verdict),
				 SESSION_VERDICT_INVALID);
		accounts_failed(session, SESSION_VERDICT_INVALID, "host_error:verdict_invalid");
	}
}

static void every_value_has_a_name(void **state)
{
	(void)state;
	for (int a = 0; a < _VERDICT_FAULT_MAX; a++)
		for (int b = 0; b < a; b++)
			assert_string_not_equal(verdict_fault_name((enum verdict_fault)a),
						verdict_fault_name((enum verdict_fault)b));
	assert_string_equal(verdict_fault_name(_VERDICT_FAULT_MAX), "unknown");
	assert_string_equal(verdict_decision_name(VERDICT_TRANSFORM), "transform");
	assert_string_equal(verdict_decision_name(_VERDICT_DECISION_MAX), "unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_good_verdict_is_read),
		cmocka_unit_test(a_malformed_verdict_is_refused),
		cmocka_unit_test(the_host_uses_its_prefix_on_a_deny_alone),
		cmocka_unit_test(every_cut_of_a_verdict_is_malformed),
		cmocka_unit_test(evidence_has_a_cap),
		cmocka_unit_test(evidence_is_kept_as_a_digest),
		cmocka_unit_test(a_verdict_has_a_cap),
		cmocka_unit_test(every_allocation_may_fail),
		cmocka_unit_test(a_verdict_is_recorded_as_its_outcome),
		cmocka_unit_test(recording_fails_as_an_outcome_does),
		cmocka_unit_test(every_value_has_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
