/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept of an attempt: the last runes over all of them, and where they end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "core/resume.h"
#include "unit/allocation.h"

static struct resume *make(uint32_t keep)
{
	struct resume *resume;

	assert_int_equal(resume_new(keep, &resume), 0);
	return resume;
}

static void deliver(struct resume *resume, const char *channel, const char *text)
{
	assert_int_equal(resume_delivered(resume, channel, (const uint8_t *)text, strlen(text)), 0);
}

static void tail_is(const struct resume *resume, const char *channel, const char *text)
{
	const uint8_t *at = NULL;
	size_t len = resume_tail(resume, channel, &at);

	assert_int_equal(len, strlen(text));
	if (len)
		assert_memory_equal(at, text, len);
}

static void keeps_the_last_runes_of_all_attempts(void **state)
{
	struct resume *resume = make(8);

	(void)state;
	tail_is(resume, "a", "");
	deliver(resume, "a", "f");
	tail_is(resume, "a", "f");
	resume_attempt(resume, 1, 1);
	/* Fewer runes than are kept: the rest is of the attempt before (U2). */
	deliver(resume, "a", "or");
	resume_attempt(resume, 2, 2);
	deliver(resume, "a", "bidd");
	tail_is(resume, "a", "forbidd");
	deliver(resume, "b", "other");
	deliver(resume, "a", "en!");
	tail_is(resume, "a", "rbidden!");
	tail_is(resume, "b", "other");
	resume_restart(resume, "a");
	resume_restart(resume, "none");
	tail_is(resume, "a", "");
	deliver(resume, "a", "anew");
	tail_is(resume, "a", "anew");
	resume_free(resume);
}

static void counts_runes_and_not_bytes(void **state)
{
	struct resume *resume = make(3);

	(void)state;
	deliver(resume, "a", "aä€\U0001f600");
	tail_is(resume, "a", "ä€\U0001f600");
	deliver(resume, "a", "é");
	tail_is(resume, "a", "€\U0001f600é");
	/* What folding drops, or composes with what it follows, takes no place (U5). */
	deliver(resume, "b", "xyz\u200b\u200b\u0301w\u0301");
	tail_is(resume, "b", "yz\u200b\u200b\u0301w\u0301");
	deliver(resume, "c", "x\u1112\u1161\u11ab\u1100\u1161");
	tail_is(resume, "c", "x\u1112\u1161\u11ab\u1100\u1161");
	resume_free(resume);
	resume = make(0);
	deliver(resume, "a", "text");
	tail_is(resume, "a", "");
	resume_free(resume);
}

/* However it is cut, and however much comes. */
/* What some folding puts together with what stands before it takes no place of its own. */
static void marks_of_any_form_take_no_place(void **state)
{
	static const char *const pairs[] = {
		"\uff76\uff9e",			/* halfwidth katakana and its sound mark */
		"\uff8a\uff9f", "\u3131\u314f", /* compatibility jamo */
		"\uffa1\uffc2",			/* halfwidth jamo */
	};
	struct resume *resume;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		char expected[64] = "";

		assert_int_equal(resume_new(3, &resume), 0);
		for (int n = 0; n < 5; n++)
			deliver(resume, "a", pairs[i]);
		for (int n = 0; n < 3; n++)
			(void)strcat(expected, pairs[i]);
		tail_is(resume, "a", expected);
		resume_free(resume);
	}
}

static void long_texts_keep_what_short_ones_do(void **state)
{
	char text[5000];
	size_t memory = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(text) - 1; i++)
		text[i] = (char)('a' + i * 7 % 26);
	text[sizeof(text) - 1] = '\0';
	for (size_t piece = 1; piece < sizeof(text); piece = piece * 3 + 1) {
		struct resume *resume = make(100);

		for (size_t at = 0; at < sizeof(text) - 1; at += piece)
			assert_int_equal(resume_delivered(resume, "a", (const uint8_t *)text + at,
							  MIN(piece, sizeof(text) - 1 - at)),
					 0);
		tail_is(resume, "a", text + sizeof(text) - 1 - 100);
		memory = MAX(memory, resume_memory(resume));
		resume_free(resume);
	}
	assert_true(memory < 2048);
}

static void begins_where_it_ended_and_not_if_spoiled(void **state)
{
	struct resume *resume = make(8);

	(void)state;
	/* Cleared, and never emitted. */
	resume_attempt(resume, 9, 0);
	assert_int_equal(resume_offset(resume), 0);
	assert_int_equal(resume_may_begin(resume, 0), 0);
	assert_int_equal(resume_may_begin(resume, 9), -ERANGE);
	tail_is(resume, "a", "");
	resume_attempt(resume, 9, 5);
	resume_attempt(resume, 7, 7);
	assert_int_equal(resume_offset(resume), 12);
	assert_int_equal(resume_may_begin(resume, 12), 0);
	/* The frontier of the abandoned attempt is none of its ends (U4). */
	assert_int_equal(resume_may_begin(resume, 14), -ERANGE);
	assert_int_equal(resume_may_begin(resume, 11), -ERANGE);
	/* What was delivered and not cleared spoils it for good (U3). */
	resume_attempt(resume, 2, 3);
	assert_int_equal(resume_may_begin(resume, 15), -EPERM);
	resume_attempt(resume, 5, 5);
	assert_int_equal(resume_may_begin(resume, 20), -EPERM);
	resume_free(resume);
	/* So do more runes than can be counted. */
	resume = make(8);
	resume_attempt(resume, 6, 6);
	resume_attempt(resume, UINT64_MAX, UINT64_MAX);
	assert_int_equal(resume_may_begin(resume, 5), -EPERM);
	resume_free(resume);
}

static void bounds_spoil(void **state)
{
	struct resume *resume = make(1);
	char name[8] = "c00";

	(void)state;
	for (unsigned int i = 0; i < RESUME_CHANNELS_MAX; i++) {
		name[1] = (char)('0' + i / 10);
		name[2] = (char)('0' + i % 10);
		deliver(resume, name, "x");
	}
	assert_int_equal(resume_may_begin(resume, 0), 0);
	assert_int_equal(resume_delivered(resume, "more", (const uint8_t *)"x", 1), -E2BIG);
	assert_int_equal(resume_may_begin(resume, 0), -EPERM);
	/* What is spoiled keeps nothing more. */
	assert_int_equal(resume_delivered(resume, "more", (const uint8_t *)"x", 1), 0);
	tail_is(resume, "more", "");
	resume_free(resume);
	resume = make(1);
	for (size_t i = 0; i < RESUME_EXTRA_MAX / 3; i++)
		deliver(resume, "a", "\u200b");
	assert_int_equal(resume_may_begin(resume, 0), 0);
	for (size_t i = 0; i < 8; i++)
		(void)!resume_delivered(resume, "a", (const uint8_t *)"\u200b", 3);
	assert_int_equal(resume_may_begin(resume, 0), -EPERM);
	resume_free(resume);
}

/* U6. And not within one attempt. */
static void another_channel_goes_on_from_the_last(void **state)
{
	struct resume *first = make(4), *second, *third;

	(void)state;
	deliver(first, "a", "some text");
	deliver(first, "b", "or another");
	deliver(first, "a", "!");
	tail_is(first, "c", "");
	assert_int_equal(resume_copy(first, &second), 0);
	assert_true(resume_same(first, second));
	tail_is(second, "b", "ther");
	tail_is(second, "c", "ext!");
	deliver(second, "c", "xy");
	tail_is(second, "c", "t!xy");
	tail_is(second, "d", "ext!");
	assert_false(resume_same(first, second));
	assert_int_equal(resume_copy(second, &third), 0);
	assert_true(resume_same(second, third));
	tail_is(third, "d", "t!xy");
	/* Another order is another end. */
	deliver(first, "b", "r");
	deliver(first, "c", "t!xy");
	resume_free(third);
	assert_int_equal(resume_copy(first, &third), 0);
	deliver(first, "b", "herr");
	assert_false(resume_same(first, third));
	deliver(third, "b", "herr");
	assert_true(resume_same(first, third));
	resume_free(third);
	resume_free(second);
	resume_free(first);
}

/* In memory of exactly its size: nothing behind it is read. */
static void a_rune_that_is_cut(void **state)
{
	static const char text[] = "ab\xe2\x80";
	struct resume *resume = make(2);
	uint8_t *copy = malloc(sizeof(text) - 1);

	(void)state;
	assert_non_null(copy);
	memcpy(copy, text, sizeof(text) - 1);
	assert_int_equal(resume_tail_length(copy, sizeof(text) - 1, 2), 3);
	assert_int_equal(resume_tail_length(copy + 3, 1, 2), 1);
	free(copy);
	resume_free(resume);
}

static void copies_are_the_same(void **state)
{
	struct resume *resume = make(4), *copy, *other = make(4);

	(void)state;
	deliver(resume, "a", "some text");
	deliver(resume, "b", "more");
	resume_attempt(resume, 13, 13);
	assert_int_equal(resume_copy(resume, &copy), 0);
	assert_true(resume_same(resume, copy));
	tail_is(copy, "a", "text");
	assert_int_equal(resume_offset(copy), 13);
	assert_int_equal(resume_may_begin(copy, 13), 0);
	/* Another head before the same text is no other end. */
	resume_attempt(copy, 5, 5);
	assert_true(resume_same(resume, copy));
	deliver(other, "a", "text");
	assert_false(resume_same(resume, other));
	assert_false(resume_same(other, resume));
	deliver(other, "b", "mare");
	assert_false(resume_same(resume, other));
	resume_spoil(copy);
	assert_false(resume_same(resume, copy));
	resume_free(other);
	resume_free(copy);
	assert_int_equal(resume_copy(resume, &copy), 0);
	resume_spoil(copy);
	assert_int_equal(resume_copy(copy, &other), 0);
	assert_int_equal(resume_may_begin(other, 13), -EPERM);
	resume_free(other);
	resume_free(copy);
	resume_free(resume);
}

static int stop_at_second(void *context, const char *channel, const uint8_t *text, size_t len)
{
	(void)channel;
	(void)text;
	(void)len;
	return ++*(int *)context == 2 ? -EINTR : 0;
}

static void tails_are_told_until_one_says_stop(void **state)
{
	struct resume *resume = make(4);
	int count = 0;

	(void)state;
	deliver(resume, "a", "1");
	deliver(resume, "b", "2");
	deliver(resume, "c", "3");
	assert_int_equal(resume_tails(resume, stop_at_second, &count), -EINTR);
	assert_int_equal(count, 2);
	resume_free(resume);
}

/* Without memory it is spoiled, not shortened. */
static void without_memory(void **state)
{
	bool spoiled = true;

	(void)state;
	for (unsigned long n = 0; spoiled; n++) {
		struct resume *resume = NULL, *copy = NULL;
		int r;

		allocation_fail_at(n);
		r = resume_new(2, &resume);
		if (!r) {
			r = resume_delivered(resume, "a", (const uint8_t *)"abcdefgh", 8);
			assert_true(!r || r == -ENOMEM);
			assert_int_equal(resume_may_begin(resume, 0), r ? -EPERM : 0);
			r = r ? r : resume_copy(resume, &copy);
			r = r ? r : resume_delivered(copy, "b", (const uint8_t *)"c", 1);
		}
		(void)allocation_failed();
		spoiled = r == -ENOMEM;
		assert_true(!r || spoiled);
		resume_free(copy);
		resume_free(resume);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_the_last_runes_of_all_attempts),
		cmocka_unit_test(counts_runes_and_not_bytes),
		cmocka_unit_test(marks_of_any_form_take_no_place),
		cmocka_unit_test(long_texts_keep_what_short_ones_do),
		cmocka_unit_test(begins_where_it_ended_and_not_if_spoiled),
		cmocka_unit_test(bounds_spoil),
		cmocka_unit_test(another_channel_goes_on_from_the_last),
		cmocka_unit_test(a_rune_that_is_cut),
		cmocka_unit_test(copies_are_the_same),
		cmocka_unit_test(tails_are_told_until_one_says_stop),
		cmocka_unit_test(without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
