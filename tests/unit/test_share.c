/* SPDX-License-Identifier: Apache-2.0 */
/* What one watched cgroup leaves for the others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/share.h"

#define TOTAL 1000000u

/* Takes all it may, and says how much that is. */
static uint64_t take_all(uint64_t total, uint64_t *taken, uint64_t own, uint64_t sure)
{
	uint64_t more;

	while ((more = share_left(total, *taken, own, sure)) > 0) {
		assert_true(more <= total - *taken);
		own += more;
		*taken += more;
	}
	return own;
}

static void one_leaves_a_fifth(void **state)
{
	uint64_t taken = 0;

	(void)state;
	assert_in_range(take_all(TOTAL, &taken, 0, 0), TOTAL / 5 * 4 - 10, TOTAL / 5 * 4);
	/* What comes back to another does not let it go on at once. */
	assert_int_equal(share_left(TOTAL, taken, taken, 0), 0);
}

static void however_many_there_are_the_next_gets_some(void **state)
{
	uint64_t taken = 0, last = TOTAL, own;

	(void)state;
	for (int i = 0; i < 6; i++) {
		own = take_all(TOTAL, &taken, 0, 0);
		assert_true(own > 0 && own < last);
		assert_true(taken < TOTAL);
		last = own;
	}
}

static void the_sure_part_may_leave_nothing(void **state)
{
	uint64_t taken = 0;

	(void)state;
	assert_int_equal(take_all(TOTAL, &taken, 0, TOTAL), TOTAL);
	assert_int_equal(share_left(TOTAL, TOTAL - 1, 5, 10), 1);
	assert_int_equal(share_left(TOTAL, TOTAL, 0, 10), 0);
	/* More may be taken than there is: what came in one read is kept. */
	assert_int_equal(share_left(TOTAL, TOTAL + 5, 0, 10), 0);
}

static void the_largest_numbers(void **state)
{
	(void)state;
	assert_true(share_left(UINT64_MAX, 0, 0, 0) > UINT64_MAX / 2);
	assert_int_equal(share_left(UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX), 0);
	assert_int_equal(share_left(0, 0, 0, UINT64_MAX), 0);
	assert_int_equal(share_left(1, 0, 0, 0), 0);
	assert_int_equal(share_left(1, 0, 0, 1), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_leaves_a_fifth),
		cmocka_unit_test(however_many_there_are_the_next_gets_some),
		cmocka_unit_test(the_sure_part_may_leave_nothing),
		cmocka_unit_test(the_largest_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
