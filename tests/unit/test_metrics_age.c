/* SPDX-License-Identifier: Apache-2.0 */
/* Since when bytes wait, against a list of each of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/age.h"

static uint64_t take(struct age *age, uint64_t end)
{
	uint64_t since_ns = 0;

	assert_true(age_take(age, end, &since_ns));
	return since_ns;
}

static uint64_t oldest(const struct age *age)
{
	uint64_t since_ns = 0;

	assert_true(age_oldest(age, &since_ns));
	return since_ns;
}

static void nothing_that_goes_has_no_age(void **state)
{
	struct age age = {0};
	uint64_t since_ns = 77;

	(void)state;
	assert_false(age_take(&age, 5, &since_ns));
	assert_false(age_oldest(&age, &since_ns));
	age_add(&age, 10, 1000);
	assert_int_equal(take(&age, 10), 1000);
	assert_false(age_take(&age, 20, &since_ns));
	assert_int_equal(since_ns, 77);
}

static void the_oldest_that_goes_tells_the_age(void **state)
{
	struct age age = {0};

	(void)state;
	age_add(&age, 10, 1000);
	age_add(&age, 20, 2000);
	age_add(&age, 30, 3000);
	/* A part of the first goes; its rest is as old. */
	assert_int_equal(oldest(&age), 1000);
	assert_int_equal(take(&age, 5), 1000);
	assert_int_equal(oldest(&age), 1000);
	assert_int_equal(take(&age, 15), 1000);
	assert_int_equal(oldest(&age), 2000);
	assert_int_equal(take(&age, 16), 2000);
	assert_int_equal(take(&age, 30), 2000);
}

/* More arrivals than marks, over and over: never younger than it is, exact while all have marks. */
static void a_byte_is_never_taken_for_younger(void **state)
{
	struct age age = {0};
	uint64_t end = 0, gone = 0, now_ns = 0, arrived[4096];

	(void)state;
	for (unsigned int step = 0; step < 1000; step++) {
		unsigned int waiting = step * 7 % 13 + 1;
		uint64_t since_ns;

		for (unsigned int i = 0; i < waiting; i++) {
			arrived[end % 4096] = ++now_ns;
			age_add(&age, ++end, now_ns);
		}
		while (gone < end) {
			since_ns = take(&age, gone + 1);
			assert_true(since_ns <= arrived[gone % 4096]);
			if (waiting <= AGE_MARKS)
				assert_int_equal(since_ns, arrived[gone % 4096]);
			gone++;
		}
		assert_false(age_take(&age, end, &since_ns));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_that_goes_has_no_age),
		cmocka_unit_test(the_oldest_that_goes_tells_the_age),
		cmocka_unit_test(a_byte_is_never_taken_for_younger),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
