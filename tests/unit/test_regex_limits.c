/* SPDX-License-Identifier: Apache-2.0 */
/* What bounds the time and the memory of patterns, and what fails. */
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
#include "unit/allocation.h"

#define LONG_TEXT 20000u

static struct regex *make(const char *pattern, const struct regex_options *options)
{
	struct regex_error error;
	struct regex *regex;

	if (regex_new(&pattern, 1, options, &error, &regex) != 0)
		fail_msg("%s: %s", pattern, error.message);
	return regex;
}

static int scan(const struct regex *regex, struct regex_cursor *cursor, const char *text)
{
	return regex_scan(regex, cursor, (const uint8_t *)text, strlen(text), strlen(text));
}

/* Scans text `step` bytes at a time, up to a match or failure. */
static int scan_steps(const struct regex *regex, struct regex_cursor *cursor, const char *text,
		      size_t step)
{
	size_t len = strlen(text);
	int r = 0;

	for (size_t at = 0; at < len && r == 0; at += step) {
		size_t n = MIN(step, len - at);

		r = regex_scan(regex, cursor, (const uint8_t *)text + at, n, n);
	}
	return r;
}

static char *repeat(const char *text, size_t bytes)
{
	char *all = malloc(bytes + 1);

	assert_non_null(all);
	for (size_t i = 0; i < bytes; i++)
		all[i] = text[i % strlen(text)];
	all[bytes] = '\0';
	return all;
}

static void steps_past_the_limit_fail(void **state)
{
	static const char pattern[] = "(?:(?:a{1,9}){1,9}){1,9}b";
	char *text = repeat("a", 200);

	(void)state;
	text[199] = 'c';
	for (unsigned int i = 0; i < 2; i++) {
		struct regex_options options = {.interpret = i == 1};
		struct regex *regex = make(pattern, &options);
		struct regex_cursor cursor;

		regex_cursor_init(&cursor);
		assert_int_equal(scan(regex, &cursor, text), -ELOOP);
		regex_cursor_done(&cursor);
		/* Far from where PCRE2 gives up by itself. */
		assert_int_equal(scan(regex, &cursor, "aaaaaaaaac"), -ELOOP);
		regex_cursor_done(&cursor);
		assert_int_equal(scan(regex, &cursor, "aaaac"), 0);
		regex_cursor_done(&cursor);
		assert_int_equal(scan(regex, &cursor, "aab"), 1);
		regex_cursor_done(&cursor);
		regex_free(regex);
	}
	free(text);
}

/* What begins in one piece and ends in another, at every offset around the pieces' ends. */
static void pieces_of_a_long_text_are_one_text(void **state)
{
	struct regex_options options = {0};
	struct regex *regex = make("(?<=x)needle[0-9]{4}\\b", &options);

	(void)state;
	for (size_t at = 4070; at < 4110; at++) {
		char *text = repeat("hay ", LONG_TEXT);
		struct regex_cursor cursor;

		memcpy(text + at, "xneedle1234 ", 12);
		regex_cursor_init(&cursor);
		assert_int_equal(scan(regex, &cursor, text), 1);
		assert_int_equal(cursor.match.start, at + 1);
		assert_int_equal(cursor.match.end, at + 11);
		assert_int_equal(cursor.match.decided, at + 12);
		assert_int_equal(cursor.runes, LONG_TEXT);
		assert_int_equal(regex_pending(regex, &cursor), LONG_TEXT - at - 1);
		/* A match is final. */
		assert_int_equal(scan(regex, &cursor, "more"), 1);
		assert_int_equal(regex_pending(regex, &cursor), LONG_TEXT + 4 - at - 1);
		assert_int_equal(regex_end(regex, &cursor), 1);
		regex_cursor_done(&cursor);
		free(text);
	}
	regex_free(regex);
}

/* Up to REGEX_HELD_EXACT bytes each rune is looked at, past them each eighth. */
static void much_that_is_held_is_looked_at_less_often(void **state)
{
	struct regex_options options = {0};
	struct regex *regex = make("a[^z]{0,3000}z", &options);
	char *text = repeat("a", 1);
	struct regex_cursor cursor;

	(void)state;
	free(text);
	for (size_t held = 200; held < 2000; held += 100) {
		text = repeat("y", held);
		text[0] = 'a';
		regex_cursor_init(&cursor);
		assert_int_equal(scan_steps(regex, &cursor, text, 1), 0);
		assert_int_equal(regex_pending(regex, &cursor), held);
		if (held <= REGEX_HELD_EXACT) {
			assert_int_equal(scan(regex, &cursor, "z"), 1);
		} else {
			unsigned int more = 0;

			while (scan(regex, &cursor, more ? "y" : "z") == 0) {
				assert_true(++more <= held / 8 + 1);
				assert_int_equal(regex_pending(regex, &cursor), held + more);
			}
		}
		assert_int_equal(cursor.match.start, 0);
		assert_int_equal(cursor.match.end, held + 1);
		assert_int_equal(cursor.match.decided, held + 1);
		regex_cursor_done(&cursor);
		free(text);
	}
	regex_free(regex);
}

static void the_end_of_a_text_looks_at_all_that_is_held(void **state)
{
	struct regex_options options = {0};
	struct regex *regex = make("a[^z]{0,3000}z", &options);
	char *text = repeat("y", 1000);
	struct regex_cursor cursor;

	(void)state;
	text[0] = 'a';
	regex_cursor_init(&cursor);
	assert_int_equal(scan_steps(regex, &cursor, text, 1), 0);
	/* A look has just been, or the next would be it. */
	for (unsigned int n = 0; n < 2; n++)
		assert_int_equal(scan(regex, &cursor, "y"), 0);
	assert_int_equal(scan(regex, &cursor, "zy"), 0);
	assert_int_equal(regex_end(regex, &cursor), 1);
	assert_int_equal(cursor.match.end, 1003);
	assert_int_equal(cursor.match.decided, 1003);
	regex_cursor_done(&cursor);
	free(text);
	regex_free(regex);
}

/* Something begins everywhere and never ends. */
static void a_cursor_keeps_no_more_than_its_bound(void **state)
{
	struct regex_options options = {.max_runes = 64};
	struct regex *regex = make("\\b[a-z]+@|(?<![0-9]{8})q+7", &options);
	char *text = repeat("abcq", 4 * LONG_TEXT);
	struct regex_cursor cursor;
	size_t most = 0;

	(void)state;
	regex_cursor_init(&cursor);
	assert_int_equal(regex_cursor_memory(regex, &cursor), 0);
	for (size_t at = 0, n; at < 4 * LONG_TEXT; at += n) {
		n = 1 + at % 97;
		n = MIN(n, 4 * LONG_TEXT - at);
		assert_int_equal(regex_scan(regex, &cursor, (uint8_t *)text + at, n, n), 0);
		assert_true(regex_pending(regex, &cursor) <= regex_longest(regex));
		most = MAX(most, regex_cursor_memory(regex, &cursor));
	}
	assert_in_range(most, 1, 512);
	assert_int_equal(regex_end(regex, &cursor), 0);
	assert_int_equal(regex_cursor_memory(regex, &cursor), 0);
	free(text);
	regex_free(regex);
}

static void what_looks_at_nothing_before_it_keeps_nothing(void **state)
{
	struct regex_options options = {0};
	struct regex *regex = make("AKIA[0-9A-Z]{16}", &options);
	struct regex_cursor cursor;

	(void)state;
	regex_cursor_init(&cursor);
	assert_int_equal(scan(regex, &cursor, "nothing of it here, A"), 0);
	assert_int_equal(regex_pending(regex, &cursor), 1);
	assert_true(regex_cursor_memory(regex, &cursor) > 0);
	assert_int_equal(scan(regex, &cursor, "B"), 0);
	assert_int_equal(regex_cursor_memory(regex, &cursor), 0);
	assert_int_equal(scan(regex, &cursor, ""), 0);
	assert_int_equal(regex_end(regex, &cursor), 0);
	/* The next text begins anew. */
	assert_int_equal(scan(regex, &cursor, "KIA0123456789012345"), 0);
	assert_int_equal(regex_end(regex, &cursor), 0);
	regex_free(regex);
}

static void without_memory_nothing_is_scanned_or_made(void **state)
{
	static const char *const patterns[] = {"abc+", "\\bx[0-9]y"};
	struct regex_options options = {.max_runes = 10};
	struct regex_error error;
	struct regex *regex;
	unsigned long n;
	int r;

	(void)state;
	for (n = 0;; n++) {
		regex = NULL;
		allocation_fail_at(n);
		r = regex_new(patterns, 2, &options, &error, &regex);
		if (!allocation_failed())
			break;
		assert_int_equal(r, -ENOMEM);
		assert_null(regex);
	}
	assert_int_equal(r, 0);
	assert_true(n > 5);
	for (n = 0;; n++) {
		struct regex_cursor cursor;

		regex_cursor_init(&cursor);
		allocation_fail_at(n);
		r = scan(regex, &cursor, "zzab");
		if (r == 0)
			r = scan(regex, &cursor, "cc");
		if (r == 0)
			r = regex_end(regex, &cursor);
		regex_cursor_done(&cursor);
		/* To make room smaller may fail without harm. */
		if (!allocation_failed())
			break;
		assert_true(r == -ENOMEM || r == 1);
	}
	assert_int_equal(r, 1);
	assert_true(n > 3);
	regex_free(regex);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_past_the_limit_fail),
		cmocka_unit_test(pieces_of_a_long_text_are_one_text),
		cmocka_unit_test(much_that_is_held_is_looked_at_less_often),
		cmocka_unit_test(the_end_of_a_text_looks_at_all_that_is_held),
		cmocka_unit_test(a_cursor_keeps_no_more_than_its_bound),
		cmocka_unit_test(what_looks_at_nothing_before_it_keeps_nothing),
		cmocka_unit_test(without_memory_nothing_is_scanned_or_made),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
