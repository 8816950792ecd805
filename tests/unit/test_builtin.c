/* SPDX-License-Identifier: Apache-2.0 */
/* Every example of every builtin rule, in text and at every cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/builtin.h"
#include "unit/allocation.h"

#define TEXT_MOST 512u

/* A set, and the regex of it. */
struct examples {
	const struct builtin_set *set;
	struct regex *regex;
};

/* Scans text in two parts, or in bytes where cut is past its end. 1 where it matches. */
static int scan(const struct regex *regex, const char *text, size_t cut, struct regex_match *match)
{
	const uint8_t *bytes = (const uint8_t *)text;
	size_t len = strlen(text), step = cut > len ? 1 : len;
	struct regex_cursor cursor;
	int r = 0;

	regex_cursor_init(&cursor);
	if (cut <= len)
		r = regex_scan(regex, &cursor, bytes, cut, cut);
	for (size_t at = cut <= len ? cut : 0; at < len && r == 0; at += step) {
		size_t n = MIN(step, len - at);

		r = regex_scan(regex, &cursor, bytes + at, n, n);
		if (r == 0)
			assert_true(regex_pending(regex, &cursor) <= regex_longest(regex));
	}
	if (r == 0)
		r = regex_end(regex, &cursor);
	*match = cursor.match;
	regex_cursor_done(&cursor);
	return r;
}

static void find_good(const struct examples *examples, size_t rule, const char *before,
		      const char *example, const char *behind)
{
	char text[TEXT_MOST];
	struct regex_match match;

	snprintf(text, sizeof(text), "%s%s%s", before, example, behind);
	for (size_t cut = 0; cut <= strlen(text) + 1; cut++) {
		if (scan(examples->regex, text, cut, &match) != 1)
			fail_msg("%s: '%s', cut at %zu, is not found",
				 examples->set->rules[rule].name, text, cut);
		assert_string_equal(examples->set->rules[match.term].name,
				    examples->set->rules[rule].name);
		assert_true(match.start >= strlen(before));
		assert_true(match.end <= strlen(before) + strlen(example));
		assert_true(match.end > match.start);
	}
}

static void find_nothing(const struct examples *examples, size_t rule, const char *example)
{
	char text[TEXT_MOST];
	struct regex_match match;

	snprintf(text, sizeof(text), " %s ", example);
	for (size_t cut = 0; cut <= strlen(text) + 1; cut++)
		if (scan(examples->regex, text, cut, &match) != 0)
			fail_msg("%s: '%s', cut at %zu, is found as %s",
				 examples->set->rules[rule].name, text, cut,
				 examples->set->rules[match.term].name);
}

static void every_example_is_what_it_is_said_to_be(void **state)
{
	struct examples examples;

	(void)state;
	for (size_t s = 0; (examples.set = builtin_at(s)); s++) {
		assert_int_equal(builtin_regex(&examples.set, 1, &examples.regex), 0);
		for (size_t i = 0; i < examples.set->count; i++) {
			const struct builtin_rule *rule = &examples.set->rules[i];

			assert_non_null(rule->good[0]);
			assert_non_null(rule->bad[0]);
			for (size_t k = 0; rule->good[k]; k++) {
				find_good(&examples, i, "", rule->good[k], "");
				find_good(&examples, i, "a: ", rule->good[k], " b");
			}
			for (size_t k = 0; rule->bad[k]; k++)
				find_nothing(&examples, i, rule->bad[k]);
		}
		regex_free(examples.regex);
	}
}

static void sets_are_in_order_of_name(void **state)
{
	(void)state;
	for (size_t i = 1; i < BUILTIN_SETS; i++)
		assert_true(strcmp(builtin_at(i - 1)->name, builtin_at(i)->name) < 0);
	assert_null(builtin_at(BUILTIN_SETS));
}

static void sets_together_count_their_rules_one_after_the_other(void **state)
{
	const struct builtin_set *sets[] = {&builtin_jwt, &builtin_private_keys};
	struct regex_match match;
	struct regex *regex;

	(void)state;
	assert_int_equal(builtin_regex(sets, 2, &regex), 0);
	assert_int_equal(scan(regex, "-----BEGIN PGP PRIVATE KEY BLOCK-----", 9, &match), 1);
	assert_int_equal(match.term, builtin_jwt.count + 1);
	assert_ptr_equal(builtin_rule_of(sets, 2, match.term), &builtin_private_keys.rules[1]);
	assert_null(builtin_rule_of(sets, 2, builtin_jwt.count + builtin_private_keys.count));
	regex_free(regex);
}

/* What fails its check is passed by; what follows it, or begins within it, is still found. */
static void a_failed_check_does_not_end_the_search(void **state)
{
	const struct builtin_set *set = &builtin_payment_cards;
	struct regex_match match;
	struct regex *regex;

	(void)state;
	assert_int_equal(builtin_regex(&set, 1, &regex), 0);
	assert_int_equal(scan(regex, "4111111111111112 4242424242424242", 20, &match), 1);
	assert_int_equal(match.start, 17);
	assert_int_equal(scan(regex, "4000 3714 4963 5398 431 ", 30, &match), 1);
	assert_int_equal(match.start, 5);
	assert_int_equal(match.end, 23);
	regex_free(regex);
}

/* Each row has four groups that pass for a card, but only the last ones are one. */
static void a_row_of_groups_is_no_card(void **state)
{
	static const char *const rows[] = {
		"4242 4242 4242 4242 4242",	   "2019 4242 4242 4242 4242",
		"4242-4242-4242-4242-2019",	   "4242 4242 4242 4242 1327 ",
		"4242 4242 4242 4242 0027 ",	   "2019 2020 5555 5555 5555 4444 2021",
		"5555 5555 5555 4444 12345678",	   "4242 4242 4242 4242 12/27",
		"4242 4242 4242 4242 1227 123",	   "12/2024 4242 4242 4242 4242",
		"12024 4242 4242 4242 4242",	   "1: 4242 4242 4242 4242, 2019",
		"4242 4242 4242 4242 0130",	   "2019  4242 4242 4242 4242",
		"2019\n4242 4242 4242 4242\n2020",
	};
	const struct builtin_set *set = &builtin_payment_cards;
	struct regex_match match;
	struct regex *regex;

	(void)state;
	assert_int_equal(builtin_regex(&set, 1, &regex), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		for (size_t cut = 0; cut <= strlen(rows[i]) + 1; cut++)
			if (scan(regex, rows[i], cut, &match) != (i >= 6))
				fail_msg("'%s', cut at %zu", rows[i], cut);
	regex_free(regex);
}

static void without_memory_there_is_no_regex(void **state)
{
	const struct builtin_set *set = &builtin_jwt;
	unsigned long n = 0;
	struct regex *regex;
	int r;

	(void)state;
	do {
		regex = NULL;
		allocation_fail_at(n++);
		r = builtin_regex(&set, 1, &regex);
		if (!allocation_failed())
			break;
		assert_int_equal(r, -ENOMEM);
		assert_null(regex);
	} while (true);
	assert_int_equal(r, 0);
	assert_true(n > 5);
	regex_free(regex);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_example_is_what_it_is_said_to_be),
		cmocka_unit_test(sets_are_in_order_of_name),
		cmocka_unit_test(sets_together_count_their_rules_one_after_the_other),
		cmocka_unit_test(a_failed_check_does_not_end_the_search),
		cmocka_unit_test(a_row_of_groups_is_no_card),
		cmocka_unit_test(without_memory_there_is_no_regex),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
