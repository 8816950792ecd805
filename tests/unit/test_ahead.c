/* SPDX-License-Identifier: Apache-2.0 */
/* Writing ahead: every write ends where a unit ends, within the eager bytes and the write limit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "daemon/ahead.h"

static void released_bytes_come_first(void **unused)
{
	struct ahead *ahead = ahead_new(100);
	bool boundary;

	(void)unused;
	assert_non_null(ahead);
	ahead_add_unit(ahead, 10);
	ahead_add_unit(ahead, 20);
	assert_int_equal(ahead_limit(ahead, 0, 20, 50, &boundary), 20);
	assert_true(boundary);
	free(ahead);
}

static void each_unit_is_a_write(void **unused)
{
	struct ahead *ahead = ahead_new(100);
	bool boundary;

	(void)unused;
	ahead_add_unit(ahead, 10);
	ahead_add_unit(ahead, 25);
	assert_int_equal(ahead_limit(ahead, 0, 0, 40, &boundary), 10);
	assert_true(boundary);
	assert_int_equal(ahead_limit(ahead, 10, 0, 40, &boundary), 25);
	assert_true(boundary);
	/* The beginning of the third, whose end is not known. */
	assert_int_equal(ahead_limit(ahead, 25, 0, 40, &boundary), 40);
	assert_false(boundary);
	assert_int_equal(ahead_limit(ahead, 40, 0, 40, &boundary), 40);
	free(ahead);
}

static void no_further_than_eager(void **unused)
{
	struct ahead *ahead = ahead_new(30);
	bool boundary;

	(void)unused;
	ahead_add_unit(ahead, 100);
	assert_int_equal(ahead_limit(ahead, 0, 0, 100, &boundary), 30);
	assert_false(boundary);
	assert_int_equal(ahead_limit(ahead, 30, 0, 100, &boundary), 30);
	assert_int_equal(ahead_limit(ahead, 30, 0, 31, &boundary), 30);
	/* A release of what was before lets as much go on. */
	assert_int_equal(ahead_limit(ahead, 30, 5, 100, &boundary), 35);
	free(ahead);
}

static void writes_are_counted(void **unused)
{
	struct ahead *ahead = ahead_new(1u << 20);
	bool boundary;

	(void)unused;
	for (unsigned int i = 0; i < LIMIT_AHEAD_WRITES; i++) {
		assert_int_equal(ahead_limit(ahead, i, 0, i + 1, &boundary), i + 1);
		ahead_wrote(ahead);
	}
	assert_int_equal(ahead_limit(ahead, LIMIT_AHEAD_WRITES, 0, 100000, &boundary),
			 LIMIT_AHEAD_WRITES);
	/* Once all of it may leave, the kernel has none of them any more. */
	assert_int_equal(
		ahead_limit(ahead, LIMIT_AHEAD_WRITES, LIMIT_AHEAD_WRITES, 100000, &boundary),
		100000);
	free(ahead);
}

static void a_missed_end_stops_it(void **unused)
{
	const uint64_t units = LIMIT_AHEAD_WRITES + 10;
	struct ahead *ahead = ahead_new(1u << 20);
	uint64_t sent = 0;
	bool boundary;

	(void)unused;
	for (uint64_t i = 1; i <= units; i++)
		ahead_add_unit(ahead, 2 * i);
	while (sent < 2 * LIMIT_AHEAD_WRITES)
		sent = ahead_limit(ahead, sent, 0, 2 * units, &boundary);
	assert_int_equal(ahead_limit(ahead, sent, 0, 2 * units, &boundary), sent);
	/* Released, but not to the last end that was missed: still not known. */
	sent += 4;
	ahead_add_unit(ahead, 2 * units + 2);
	assert_int_equal(ahead_limit(ahead, sent, sent, 2 * units + 2, &boundary), sent);
	sent = 2 * units + 2;
	ahead_add_unit(ahead, sent + 2);
	assert_int_equal(ahead_limit(ahead, sent, sent, sent + 2, &boundary), sent);
	sent += 2;
	assert_int_equal(ahead_limit(ahead, sent, sent, sent, &boundary), sent);
	ahead_add_unit(ahead, sent + 2);
	assert_int_equal(ahead_limit(ahead, sent, sent, sent + 3, &boundary), sent + 2);
	assert_true(boundary);
	free(ahead);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(released_bytes_come_first), cmocka_unit_test(each_unit_is_a_write),
		cmocka_unit_test(no_further_than_eager),     cmocka_unit_test(writes_are_counted),
		cmocka_unit_test(a_missed_end_stops_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
