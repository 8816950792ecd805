/* SPDX-License-Identifier: Apache-2.0 */
/* Matchers of both kinds by one interface, and what goes on behind the tail of a text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "core/matcher.h"
#include "unit/allocation.h"

static struct regex *make_regex(const char *first, const char *second, uint32_t max_runes)
{
	const struct regex_options options = {.max_runes = max_runes};
	const char *patterns[] = {first, second};
	struct regex_error error;
	struct regex *regex;

	assert_int_equal(regex_new(patterns, second ? 2 : 1, &options, &error, &regex), 0);
	return regex;
}

static struct terms *make_terms(const char *term)
{
	struct terms *terms;
	size_t bad;

	assert_int_equal(terms_new(&term, 1, 0, &bad, &terms), 0);
	return terms;
}

static int scan(const struct matcher *matcher, struct matcher_cursor *cursor, const char *text,
		size_t len)
{
	return matcher_scan(matcher, cursor, (const uint8_t *)text, len, len);
}

static void both_kinds_answer_alike(void **state)
{
	struct terms *terms = make_terms("bomb");
	struct regex *regex = make_regex("b[o]mb", NULL, 0);
	const struct matcher all[] = {{.terms = terms}, {.regex = regex}, {0}};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct matcher_cursor cursor;
		struct matcher_match match;

		assert_true(matcher_is_set(&all[i]));
		assert_int_equal(matcher_longest(&all[i]), 4);
		assert_int_equal(matcher_tail(&all[i]), 3);
		matcher_cursor_init(&all[i], &cursor);
		assert_int_equal(scan(&all[i], &cursor, "a bo", 4), 0);
		assert_int_equal(matcher_pending(&all[i], &cursor), 2);
		assert_true((matcher_cursor_memory(&all[i], &cursor) > 0) == (i == 1));
		assert_int_equal(scan(&all[i], &cursor, "mb.", 3), 1);
		match = matcher_match(&all[i], &cursor);
		assert_int_equal(match.rule, 0);
		assert_int_equal(match.start, 2);
		assert_int_equal(match.end, 6);
		assert_int_equal(match.decided, 6);
		assert_int_equal(matcher_decided(&all[i], &cursor), 6);
		assert_int_equal(matcher_end(&all[i], &cursor), 1);
		matcher_cursor_done(&all[i], &cursor);
		assert_int_equal(scan(&all[i], &cursor, "a bo", 4), 0);
		assert_int_equal(matcher_end(&all[i], &cursor), 0);
		assert_int_equal(matcher_pending(&all[i], &cursor), 0);
		matcher_cursor_done(&all[i], &cursor);
	}
	assert_false(matcher_is_set(&all[2]));
	terms_free(terms);
	regex_free(regex);
}

/* What the text comes to from there on: of a match its place, and what is held at the end. */
struct end {
	int status;
	struct matcher_match match;
	uint64_t pending;
};

static struct end run_on(const struct matcher *matcher, struct matcher_cursor *cursor,
			 const char *text, uint64_t before)
{
	struct end end = {0};

	end.status = scan(matcher, cursor, text, strlen(text));
	end.pending = matcher_pending(matcher, cursor);
	if (!end.status)
		end.status = matcher_end(matcher, cursor);
	assert_in_range(end.status, 0, 1);
	if (end.status) {
		end.match = matcher_match(matcher, cursor);
		end.match.start += before;
		end.match.end += before;
		end.match.decided += before;
	}
	matcher_cursor_done(matcher, cursor);
	return end;
}

/* From the tail, and no more, the same is found as from all of the text. */
static void gone_on_at_every_rune(const struct matcher *matcher, const char *text)
{
	size_t len = strlen(text);
	struct matcher_cursor cursor;
	struct end whole, rest;

	matcher_cursor_init(matcher, &cursor);
	whole = run_on(matcher, &cursor, text, 0);
	for (size_t at = 0; at < len; at++) {
		size_t tail = MIN(at, matcher_tail(matcher)), from = at - tail;

		if (whole.status && whole.match.decided <= at)
			break;
		matcher_cursor_init(matcher, &cursor);
		assert_int_equal(
			matcher_prime(matcher, &cursor, (const uint8_t *)text + from, tail, tail),
			0);
		rest = run_on(matcher, &cursor, text + at, from);
		assert_int_equal(rest.status, whole.status);
		assert_int_equal(rest.match.rule, whole.match.rule);
		assert_int_equal(rest.match.start, whole.match.start);
		assert_int_equal(rest.match.end, whole.match.end);
		assert_int_equal(rest.match.decided, whole.match.decided);
		assert_int_equal(rest.pending, whole.pending);
	}
}

static void the_tail_is_all_that_is_needed(void **state)
{
	static const struct {
		const char *first, *second;
		uint32_t max_runes;
	} cases[] = {
		{"cat", NULL, 0},	  {"\\bcat", "abcdefg", 0}, {"^cat", "abcdefg", 0},
		{"(?<!n)cat", "b{7}", 0}, {"(?<=n)cat", "b{7}", 0}, {"(?<!qqq)zz", "abcdefghij", 0},
		{"cat(?=xy)", NULL, 0},	  {"cat$", "at{3}", 0},	    {"<.*>", NULL, 6},
		{"\\Bcat\\b", "x{9}", 0}, {"(?m)^cat", "c{5}d", 0},
	};
	static const char *const texts[] = {
		"concatxyzw!", "a cat",		"xxxxabcdefghij", "cat",      "ncat ncat",
		"\ncat\ncat",  "a<bcdefghi><>", "concat",	  "qqqzz zz", "bbbbbbbb",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct regex *regex =
			make_regex(cases[i].first, cases[i].second, cases[i].max_runes);
		const struct matcher matcher = {.regex = regex};

		for (size_t j = 0; j < ARRAY_SIZE(texts); j++)
			gone_on_at_every_rune(&matcher, texts[j]);
		regex_free(regex);
	}
}

static void without_memory_no_tail_is_taken(void **state)
{
	struct regex *regex = make_regex("(?<=x)ab{3}", NULL, 0);
	const struct matcher matcher = {.regex = regex};
	unsigned long n = 0, refused = 0;

	(void)state;
	for (;; n++) {
		struct matcher_cursor cursor;
		int r;

		matcher_cursor_init(&matcher, &cursor);
		allocation_fail_at(n);
		r = matcher_prime(&matcher, &cursor, (const uint8_t *)"yxabb", 5, 5);
		if (!allocation_failed()) {
			assert_int_equal(r, 0);
			matcher_cursor_done(&matcher, &cursor);
			break;
		}
		refused += r == -ENOMEM;
		matcher_cursor_done(&matcher, &cursor);
	}
	assert_in_range(refused, 3, 10);
	regex_free(regex);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_kinds_answer_alike),
		cmocka_unit_test(the_tail_is_all_that_is_needed),
		cmocka_unit_test(without_memory_no_tail_is_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
