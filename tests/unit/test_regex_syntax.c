/* SPDX-License-Identifier: Apache-2.0 */
/* What is read from a pattern's syntax, and which patterns are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "core/regex.h"
#include "core/regex_syntax.h"

#define ANY REGEX_UNBOUNDED

static void extents_are_those_of_the_syntax(void **state)
{
	static const struct {
		const char *pattern;
		struct regex_extent extent;
	} rows[] = {
		{"abc", {3, 3, 0, 0}},
		{"\xd0\xb6\xe4\xbd\xa0", {2, 2, 0, 0}},
		{"", {0, 0, 0, 0}},
		{"a|bcd|", {0, 3, 0, 0}},
		{"a?b*c+", {1, ANY, 0, 0}},
		{"a??b{2}?c{2,5}+", {4, 8, 0, 0}},
		{"a{2,}", {2, ANY, 0, 0}},
		{"a{,}{", {5, 5, 0, 0}},
		{"a{x}{2}", {5, 5, 0, 0}},
		{"(?:ab){3}", {6, 6, 0, 0}},
		{"((a|bc)d){2,3}", {4, 9, 0, 0}},
		{"(?<n>a)(?P<m>b)(?'o'c)(?>d)(?|e|ff)", {5, 6, 0, 0}},
		{"(?i)a(?-i:b)(?m-s)c(?#d)", {3, 3, 0, 0}},
		{"[abc][^]a][]a][[:digit:]a][\\]a]", {5, 5, 0, 0}},
		{"[a[:]b[]", {3, 3, 0, 0}},
		{"\\d\\W\\pL\\p{Lu}\\P{^Lu}\\h\\N.", {8, 8, 0, 0}},
		{"\\x41\\x{1f600}\\012\\o{101}\\cA\\n\\e", {7, 7, 0, 0}},
		{"\\.\\*\\[\\\xd0\xb6", {4, 4, 0, 0}},
		{"\\R", {1, 2, 0, 0}},
		{"\\Qa.*\\E{3}", {5, 5, 0, 0}},
		{"\\Qab", {2, 2, 0, 0}},
		{"a\\Eb", {2, 2, 0, 0}},
		{"a\\E{3}b(?#c){2}\\Qc\\E\\Q\\E{0,4}", {5, 9, 0, 0}},
		{"(?#a)b(?#c)\\E(?#d){2,3}?", {2, 3, 0, 0}},
		{"\\N{2,3}\\N{U+61}", {3, 4, 0, 0}},
		{"[\\c]]a[\\c\\]{2}", {4, 4, 0, 0}},
		{"^a$", {1, 1, 1, 1}},
		{"\\Aa\\z", {1, 1, 1, 1}},
		{"\\ba\\B", {1, 1, 1, 1}},
		{"ab\\bcd", {4, 4, 0, 0}},
		{"(?<=abc)d", {1, 1, 3, 0}},
		{"(?<!a|bcd)d", {1, 1, 3, 0}},
		{"(?<=\\babc)d", {1, 1, 4, 0}},
		{"(?<=(?<!xy)abc)d", {1, 1, 5, 0}},
		{"ab(?<=xabc)", {2, 2, 2, 0}},
		{"a(?=bcd)", {1, 1, 0, 3}},
		{"a(?!b{2,7})", {1, 1, 0, 7}},
		{"a(?=b\\b)", {1, 1, 0, 2}},
		{"a(?=bcd)ef", {3, 3, 0, 1}},
		{"a(?=.*b)", {1, 1, 0, ANY}},
		{"a{60000}{60000}{3}", {ANY, ANY, 0, 0}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct regex_syntax syntax;
		const char *reason;
		size_t offset;

		print_message("%s\n", rows[i].pattern);
		assert_int_equal(regex_syntax_read(rows[i].pattern, &syntax, &offset, &reason), 0);
		assert_int_equal(syntax.extent.min, rows[i].extent.min);
		assert_int_equal(syntax.extent.max, rows[i].extent.max);
		assert_int_equal(syntax.extent.behind, rows[i].extent.behind);
		assert_int_equal(syntax.extent.ahead, rows[i].extent.ahead);
	}
}

static void what_cannot_be_held_to_a_bound_is_refused(void **state)
{
	static const struct {
		const char *pattern;
		size_t offset;
		const char *message;
	} rows[] = {
		{"(a)b\\1", 4, "a back reference"},
		{"(?<n>a)\\k<n>", 7, "an escape that is not supported on a stream"},
		{"(a)\\g1", 3, "an escape that is not supported on a stream"},
		{"(?<n>a)(?P=n)", 7, "a group or flag that is not supported on a stream"},
		{"a(?R)?b", 1, "a group or flag that is not supported on a stream"},
		{"(a)(?1)", 3, "a group or flag that is not supported on a stream"},
		{"(?<n>a)(?&n)", 7, "a group or flag that is not supported on a stream"},
		{"(a)?(?(1)b|c)", 4, "a group or flag that is not supported on a stream"},
		{"(?<*a)b", 0, "a group or flag that is not supported on a stream"},
		{"a(?*b)c", 1, "a group or flag that is not supported on a stream"},
		{"a(?C1)b", 1, "a group or flag that is not supported on a stream"},
		{"(?x) a", 0, "a group or flag that is not supported on a stream"},
		{"a(*COMMIT)b", 1, "a verb"},
		{"(*UCP)a", 0, "a verb"},
		{"a(*pla:b)", 1, "a verb"},
		{"a\\Kb", 1, "an escape that is not supported on a stream"},
		{"\\Ga", 0, "an escape that is not supported on a stream"},
		{"a\\X", 1, "an escape that is not supported on a stream"},
		{"ab\\Z", 2, "an escape that is not supported on a stream"},
		{"a\\R{2}", 1, "a quantifier of \\R: write (?:\\R)"},
		{"a\\R(?#b)?", 1, "a quantifier of \\R: write (?:\\R)"},
		{"a{,2}", 1, "a brace that may begin a count: write \\{"},
		{"a{ 2 }", 1, "a brace that may begin a count: write \\{"},
		{"a{1, 2}", 1, "a brace that may begin a count: write \\{"},
		{"[\\Qa\\E]", 1, "\\Q or \\E in a class"},
		{"ab+", 2, "its matches have no bound; max_runes has to give one"},
		{"ab{3,}c", 2, "its matches have no bound; max_runes has to give one"},
		{"a(?=.*b)c+", 5, "its matches have no bound; max_runes has to give one"},
		{"a{16384}b", 0, "its matches may be too long; max_runes has to bound them"},
		{"a?", 0, "it matches the empty text"},
		{"a|b*", 0, "it matches the empty text"},
		{"\\b", 0, "it matches the empty text"},
		{"", 0, "it matches the empty text"},
		{"a[b", 3, "missing terminating ] for character class"},
		{"a)", 1, "unmatched closing parenthesis"},
		{"*a", 0, "quantifier does not follow a repeatable item"},
		{"a\xff", 1, "UTF-8 error: illegal byte (0xfe or 0xff)"},
		{"(?<=a+)b", 0, "lookbehind assertion is not fixed length"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *patterns[] = {"good", rows[i].pattern};
		struct regex_options options = {0};
		struct regex_error error = {0};
		struct regex *regex = NULL;

		print_message("%s\n", rows[i].pattern);
		assert_int_equal(regex_new(patterns, 2, &options, &error, &regex), -EINVAL);
		assert_null(regex);
		assert_int_equal(error.pattern, 1);
		assert_string_equal(error.message, rows[i].message);
		assert_int_equal(error.offset, rows[i].offset);
	}
}

static void a_window_gives_what_has_no_bound_one(void **state)
{
	static const char *const patterns[] = {"ab+", "\\bcd{2}"};
	struct regex_options options = {.max_runes = 100};
	struct regex_error error;
	struct regex *regex;

	(void)state;
	assert_int_equal(regex_new(patterns, 2, &options, &error, &regex), 0);
	assert_int_equal(regex_longest(regex), 100);
	regex_free(regex);
	assert_int_equal(regex_new(patterns + 1, 1, &options, &error, &regex), 0);
	assert_int_equal(regex_longest(regex), 4);
	regex_free(regex);
	options.max_runes = REGEX_RUNES_MAX + 1;
	assert_int_equal(regex_new(patterns, 2, &options, &error, &regex), -E2BIG);
}

static void sizes_have_limits(void **state)
{
	char *pattern = malloc(REGEX_PATTERN_MAX + 2);
	const char *list[] = {pattern};
	struct regex_options options = {0};
	struct regex_error error;
	struct regex *regex;

	(void)state;
	assert_non_null(pattern);
	memset(pattern, 'a', REGEX_PATTERN_MAX + 1);
	pattern[REGEX_PATTERN_MAX] = '\0';
	assert_int_equal(regex_new(list, 1, &options, &error, &regex), 0);
	regex_free(regex);
	pattern[REGEX_PATTERN_MAX] = 'a';
	pattern[REGEX_PATTERN_MAX + 1] = '\0';
	assert_int_equal(regex_new(list, 1, &options, &error, &regex), -EINVAL);
	memset(pattern, '(', 51);
	pattern[51] = 'a';
	memset(pattern + 52, ')', 51);
	pattern[103] = '\0';
	assert_int_equal(regex_new(list, 1, &options, &error, &regex), -EINVAL);
	assert_string_equal(error.message, "too many groups within groups");
	assert_int_equal(regex_new(list, REGEX_PATTERNS_MAX + 1, &options, &error, &regex), -E2BIG);
	assert_int_equal(regex_new(NULL, 0, &options, &error, &regex), 0);
	assert_int_equal(regex_longest(regex), 0);
	regex_free(regex);
	free(pattern);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(extents_are_those_of_the_syntax),
		cmocka_unit_test(what_cannot_be_held_to_a_bound_is_refused),
		cmocka_unit_test(a_window_gives_what_has_no_bound_one),
		cmocka_unit_test(sizes_have_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
