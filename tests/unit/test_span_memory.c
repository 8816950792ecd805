/* SPDX-License-Identifier: Apache-2.0 */
/* What spans keep, and what comes of it where there is no memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "core/span.h"
#include "unit/allocation.h"

/* A text without end needs no more than its windows. */
static void memory_is_that_of_the_windows(void **state)
{
	const struct span_config config = {SPAN_RUNES, {256, 1024, 769}, 4, 0, false, false};
	struct span_channel *channel;
	struct span_set *set;
	struct span_item item;
	size_t empty, most = 0;
	uint8_t piece[100];

	(void)state;
	assert_int_equal(span_set_new(&config, &set), 0);
	empty = span_memory(set);
	assert_int_equal(span_open(set, "a", SPAN_TEXT, &channel), 0);
	memset(piece, 'x', sizeof(piece));
	for (size_t i = 0; i < 20000; i++) {
		assert_int_equal(span_text(set, channel, piece, sizeof(piece), sizeof(piece)), 0);
		while (span_next(set, &item))
			assert_int_equal(span_clear(set, item.id), 0);
		most = MAX(most, span_memory(set));
	}
	assert_true(most < 8 * 1024);
	assert_int_equal(span_close(set, channel), 0);
	assert_true(span_next(set, &item));
	assert_int_equal(span_clear(set, item.id), 0);
	assert_int_equal(span_memory(set), empty);
	assert_int_equal(span_frontier(set), 2000000);
	span_set_free(set);
}

/* What is lent is the caller's; what waits is counted. */
static void what_waits_is_counted(void **state)
{
	const struct span_config config = {SPAN_RUNES, {1, 1, 1}, 1, 0, false, false};
	struct span_channel *channel;
	struct span_set *set;
	size_t empty;

	(void)state;
	assert_int_equal(span_set_new(&config, &set), 0);
	empty = span_memory(set);
	assert_int_equal(span_open(set, "a", SPAN_TEXT, &channel), 0);
	assert_int_equal(span_text(set, channel, (const uint8_t *)"0123456789", 10, 10), 0);
	assert_int_equal(span_waiting(set), 10);
	assert_true(span_memory(set) >= empty + 10 * sizeof(void *));
	span_set_free(set);
}

/* 0, or the error that ended it; the frontier is above nothing that was not taken. */
static int run_through(void)
{
	const struct span_config config = {SPAN_SENTENCE, {4, 6, 3}, 8, 0, false, false};
	cleanup(span_set_freep) struct span_set *set = NULL;
	struct span_channel *a, *b;
	struct span_item item;
	int err = span_set_new(&config, &set);

	if (err || (err = span_open(set, "a", SPAN_TEXT, &a)) ||
	    (err = span_open(set, "b", SPAN_TEXT, &b)))
		return err;
	err = span_prime(set, a, (const uint8_t *)"primed", 6);
	if (!err)
		err = span_text(set, a, (const uint8_t *)"One. Two", 8, 8);
	if (!err)
		err = span_wait(set, b);
	if (!err)
		err = span_wait(set, a);
	if (!err)
		err = span_text(set, a, (const uint8_t *)" \n3", 3, 3);
	if (!err)
		err = span_close(set, b);
	if (!err)
		err = span_close(set, a);
	while (span_next(set, &item))
		assert_int_equal(span_clear(set, item.id), 0);
	assert_true(err ? span_frontier(set) < 12 : span_frontier(set) == 12);
	return err;
}

static void every_allocation_may_fail(void **state)
{
	unsigned long n = 0;

	(void)state;
	for (;; n++) {
		int err;

		allocation_fail_at(n);
		err = run_through();
		if (!allocation_failed()) {
			assert_int_equal(err, 0);
			break;
		}
		assert_int_equal(err, -ENOMEM);
	}
	assert_true(n > 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_is_that_of_the_windows),
		cmocka_unit_test(what_waits_is_counted),
		cmocka_unit_test(every_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
