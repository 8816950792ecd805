/* SPDX-License-Identifier: Apache-2.0 */
/* Coverage: windows that are large enough, and that nothing detectable falls between. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/macros.h"
#include "core/coverage.h"

static void the_window_is_span_and_tail(void **state)
{
	static const struct {
		uint32_t span, detectable;
		uint64_t window;
	} rows[] = {
		{4, 9, 12},    {1, 1, 1}, {1, 2, 2},
		{256, 1, 256}, {0, 0, 0}, {UINT32_MAX, UINT32_MAX, 2ull * UINT32_MAX - 1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(coverage_window(rows[i].span, rows[i].detectable), rows[i].window);
	assert_int_equal(coverage_tail(9), 8);
	assert_int_equal(coverage_tail(1), 0);
	assert_int_equal(coverage_tail(0), 0);
	assert_int_equal(coverage_tail(UINT32_MAX), UINT32_MAX - 1);
}

static void a_window_that_is_too_small_is_refused(void **state)
{
	static const struct {
		struct coverage coverage; /* span, window, L */
		int result;
		uint64_t needed; /* 77: not told */
		const char *error;
	} rows[] = {
		{{4, 12, 9}, 0, 12, ""},
		{{4, 13, 9}, 0, 12, ""},
		{{4, 11, 9}, -EINVAL, 12, "needs 12"},
		/* Not what twice the span and a few would give. */
		{{4, 10, 9}, -EINVAL, 12, "needs 12"},
		{{1, 1, 1}, 0, 1, ""},
		{{1, 0, 1}, -EINVAL, 1, "needs 1"},
		{{0, 12, 9}, -EINVAL, 77, "span"},
		{{4, 12, 0}, -EINVAL, 77, "detected"},
		{{UINT32_MAX, UINT32_MAX, 1}, 0, UINT32_MAX, ""},
		{{UINT32_MAX, UINT32_MAX, 2}, -EINVAL, 1ull << 32, "needs 4294967296"},
		{{2, UINT32_MAX, UINT32_MAX}, -EINVAL, 1ull << 32, "needs 4294967296"},
		{{1, UINT32_MAX, UINT32_MAX}, 0, UINT32_MAX, ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char error[160] = "";
		uint64_t needed = 77;

		assert_int_equal(coverage_check(&rows[i].coverage, &needed, error, sizeof(error)),
				 rows[i].result);
		assert_int_equal(needed, rows[i].needed);
		if (rows[i].result)
			assert_non_null(strstr(error, rows[i].error));
		else
			assert_string_equal(error, "");
		assert_null(strchr(error, '\n'));
		assert_int_equal(coverage_check(&rows[i].coverage, NULL, NULL, 0), rows[i].result);
	}
}

static void the_error_keeps_to_its_room(void **state)
{
	const struct coverage coverage = {4, 10, 9};
	char error[16];

	(void)state;
	memset(error, 'x', sizeof(error));
	assert_int_equal(coverage_check(&coverage, NULL, error, 8), -EINVAL);
	assert_int_equal(strlen(error), 7);
	assert_int_equal(error[8], 'x');
}

static void a_window_ends_where_the_span_does(void **state)
{
	static const struct {
		uint64_t start, end, from;
	} rows[] = {
		{0, 4, 0},	{0, 1, 0},
		{8, 12, 0},	{9, 13, 1},
		{9, 10, 0},	{100, 104, 92},
		{100, 102, 90}, {UINT64_MAX - 4, UINT64_MAX, UINT64_MAX - 12},
	};
	const struct coverage coverage = {4, 12, 9};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t from = 77;

		assert_int_equal(coverage_of(&coverage, rows[i].start, rows[i].end, &from), 0);
		assert_int_equal(from, rows[i].from);
	}
}

static void a_span_that_was_not_planned_is_refused(void **state)
{
	static const struct {
		struct coverage coverage;
		uint64_t start, end;
	} rows[] = {
		{{4, 12, 9}, 3, 3},	     {{4, 12, 9}, 4, 3}, {{4, 12, 9}, 3, 8},
		{{4, 12, 9}, 0, UINT64_MAX}, {{4, 11, 9}, 3, 4}, {{0, 12, 9}, 3, 4},
		{{4, 12, 0}, 3, 4},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t from = 77;

		assert_int_equal(coverage_of(&rows[i].coverage, rows[i].start, rows[i].end, &from),
				 -EINVAL);
		assert_int_equal(from, 77);
	}
}

/*
 * Is each place for a thing of L runes in a text of 40 inside of one window, whose span holds
 * its last rune? Spans are as long as they may be, or the text's end.
 */
static bool sees_everything(const struct coverage *coverage)
{
	for (uint64_t at = 0; at + coverage->detectable <= 40; at++) {
		uint64_t end = at + coverage->detectable, from;
		uint64_t start = (end - 1) / coverage->span * coverage->span;

		if (coverage_of(coverage, start, MIN(start + coverage->span, (uint64_t)40), &from) <
			    0 ||
		    from > at)
			return false;
	}
	return true;
}

static void nothing_falls_between_windows(void **state)
{
	(void)state;
	for (uint32_t span = 1; span <= 12; span++)
		for (uint32_t detectable = 1; detectable <= 12; detectable++) {
			struct coverage coverage = {
				.span = span,
				.detectable = detectable,
				.window = (uint32_t)coverage_window(span, detectable),
			};

			assert_int_equal(coverage_check(&coverage, NULL, NULL, 0), 0);
			assert_true(sees_everything(&coverage));
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_window_is_span_and_tail),
		cmocka_unit_test(a_window_that_is_too_small_is_refused),
		cmocka_unit_test(the_error_keeps_to_its_room),
		cmocka_unit_test(a_window_ends_where_the_span_does),
		cmocka_unit_test(a_span_that_was_not_planned_is_refused),
		cmocka_unit_test(nothing_falls_between_windows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
