/* SPDX-License-Identifier: Apache-2.0 */
/* What tasks of a policy search for, and the bounds that follow from it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "core/policy.h"
#include "unit/policy_text.h"

#define V "version: 1\n"

/* What a task finds in a text that ends: its rule, or -1. */
static int found(const struct policy_task *task, const char *text)
{
	const struct matcher matcher = policy_task_matcher(task);
	struct matcher_cursor cursor;
	int r, rule = -1;

	matcher_cursor_init(&matcher, &cursor);
	r = matcher_scan(&matcher, &cursor, (const uint8_t *)text, strlen(text), strlen(text));
	if (r == 0)
		r = matcher_end(&matcher, &cursor);
	assert_in_range(r, 0, 1);
	if (r)
		rule = (int)matcher_match(&matcher, &cursor).rule;
	matcher_cursor_done(&matcher, &cursor);
	return rule;
}

static void patterns_are_read(void **state)
{
	struct policy *policy = policy_text_load_good(
		V "tasks:\n"
		  "  keys: {kind: regex, patterns: ['AKIA[0-9A-Z]{16}', '(?i)token=\\w{4}\\b']}\n"
		  "  tags: {kind: regex, patterns: ['<.*>'], max_runes: 40, warn_only: true}\n"
		  "request: {tasks: [keys, tags]}\n");

	(void)state;
	assert_int_equal(policy->tasks[0].kind, POLICY_TASK_REGEX);
	assert_int_equal(policy->tasks[0].rule_count, 2);
	assert_int_equal(policy->tasks[0].max_runes, 0);
	assert_false(policy->tasks[0].warn_only);
	assert_int_equal(found(&policy->tasks[0], "an AKIA0123456789ABCDEF"), 0);
	assert_int_equal(found(&policy->tasks[0], "a Token=abcd."), 1);
	assert_int_equal(found(&policy->tasks[0], "a Token=abcde"), -1);
	assert_int_equal(policy->tasks[1].max_runes, 40);
	assert_true(policy->tasks[1].warn_only);
	assert_int_equal(found(&policy->tasks[1], "<b>"), 0);
	assert_int_equal(policy_hold_back(policy, SESSION_REQUEST), 19);
	policy_unref(policy);
}

static void rule_sets_are_read(void **state)
{
	struct policy *policy =
		policy_text_load_good(V "tasks:\n"
					"  some: {kind: builtin, rules: [jwt, payment_cards]}\n"
					"  all: {kind: builtin, rules: [api_keys, private_keys, "
					"payment_cards, iban, jwt]}\n"
					"response: {tasks: [some]}\n");
	const struct policy_task *some = &policy->tasks[0];
	int rule = found(some, "pay 4242 4242 4242 4242.");

	(void)state;
	assert_int_equal(some->kind, POLICY_TASK_BUILTIN);
	assert_int_equal(some->set_count, 2);
	assert_string_equal(some->sets[0]->name, "jwt");
	assert_int_equal(some->rule_count, builtin_jwt.count + builtin_payment_cards.count);
	assert_true(rule >= (int)builtin_jwt.count);
	assert_string_equal(builtin_rule_of(some->sets, 2, (size_t)rule)->name, "visa");
	assert_int_equal(found(some, "pay 4242 4242 4242 4243."), -1);
	assert_int_equal(policy->tasks[1].set_count, BUILTIN_SETS);
	assert_true(found(&policy->tasks[1], "GB82 WEST 1234 5698 7654 32") >= 0);
	policy_unref(policy);
}

/* L less one waits, or may have left; a tail needs what is looked at before it as well. */
static void bounds_follow_from_the_longest(void **state)
{
	static const char *const levels[] = {"blocking", "complete", "deferred"};
	char text[512];

	(void)state;
	for (int level = 0; level < 3; level++) {
		struct policy *policy;
		uint32_t bound;

		strcpy(text, V "safety_level: ");
		strcat(strcat(text, levels[level]), "\ntasks:\n"
						    "  a: {kind: terms, terms: [abcde]}\n"
						    "  b: {kind: regex, patterns: ['(?<!xy)a', "
						    "'b{9}']}\n"
						    "request: {tasks: [a]}\n"
						    "response: {tasks: [a, b]}\n");
		policy = policy_text_load_good(text);
		assert_int_equal(policy_hold_back(policy, SESSION_REQUEST), 4);
		assert_int_equal(policy_hold_back(policy, SESSION_RESPONSE), 8);
		assert_int_equal(policy_tail(policy, SESSION_REQUEST), 4);
		assert_int_equal(policy_tail(policy, SESSION_RESPONSE), 10);
		assert_true(policy_exposure_bound(policy, SESSION_RESPONSE, &bound));
		assert_int_equal(bound, level == 2 ? 8 : 0);
		policy_unref(policy);
	}
}

static void kinds_have_names(void **state)
{
	(void)state;
	assert_string_equal(policy_task_kind_name(POLICY_TASK_TERMS), "terms");
	assert_string_equal(policy_task_kind_name(POLICY_TASK_REGEX), "regex");
	assert_string_equal(policy_task_kind_name(POLICY_TASK_BUILTIN), "builtin");
	assert_string_equal(policy_task_kind_name((enum policy_task_kind)7), "none");
	assert_string_equal(policy_task_unit_name(POLICY_TASK_TERMS), "terms");
	assert_string_equal(policy_task_unit_name(POLICY_TASK_REGEX), "patterns");
	assert_string_equal(policy_task_unit_name(POLICY_TASK_BUILTIN), "rules");
	assert_string_equal(policy_task_unit_name((enum policy_task_kind)7), "none");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(patterns_are_read),
		cmocka_unit_test(rule_sets_are_read),
		cmocka_unit_test(bounds_follow_from_the_longest),
		cmocka_unit_test(kinds_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
