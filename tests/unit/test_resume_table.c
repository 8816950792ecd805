/* SPDX-License-Identifier: Apache-2.0 */
/* The table of resumes: what is known, for how long, and who takes whose place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/resume_table.h"
#include "unit/allocation.h"

static struct resume_table *make(void)
{
	struct resume_table *table;

	assert_int_equal(resume_table_new(&table), 0);
	return table;
}

static void key_of(unsigned int number, char ret_key[SHA256_HEX_SIZE])
{
	const struct resume_key_part part = {&number, sizeof(number)};

	assert_int_equal(resume_key(&part, 1, ret_key), 0);
}

static struct resume_version version_of(const char *validator)
{
	struct resume_version version = {.media = MEDIA_TEXT};

	(void)stpcpy(version.validator, validator);
	return version;
}

static struct resume *resume_of(const char *text)
{
	struct resume *resume;

	assert_int_equal(resume_new((uint32_t)strlen(text), &resume), 0);
	assert_int_equal(resume_delivered(resume, "a", (const uint8_t *)text, strlen(text)), 0);
	return resume;
}

static void put_version(struct resume_table *table, uint64_t owner, unsigned int number,
			const struct resume_version *version, const char *text)
{
	struct resume *resume = resume_of(text);
	char key[SHA256_HEX_SIZE];

	key_of(number, key);
	assert_int_equal(resume_table_put(table, owner, key, version, resume), 0);
	resume_free(resume);
}

static void put(struct resume_table *table, uint64_t owner, unsigned int number,
		const char *validator, const char *text)
{
	const struct resume_version version = version_of(validator);

	put_version(table, owner, number, &version, text);
}

/* The text under a key; NULL: not known. "!": spoiled. */
static void known(struct resume_table *table, unsigned int number, const char *validator,
		  const char *text)
{
	const struct resume *resume;
	char key[SHA256_HEX_SIZE];
	const struct resume_version *found;
	const uint8_t *tail;

	key_of(number, key);
	resume = resume_table_find(table, key, &found);
	if (!text) {
		assert_null(resume);
		return;
	}
	assert_non_null(resume);
	assert_string_equal(found->validator, validator);
	assert_int_equal(found->media, MEDIA_TEXT);
	assert_int_equal(resume_may_begin(resume, 0), text[0] == '!' ? -EPERM : 0);
	if (text[0] == '!')
		return;
	assert_int_equal(resume_tail(resume, "a", &tail), strlen(text));
	assert_memory_equal(tail, text, strlen(text));
}

static void keys_tell_their_parts_apart(void **state)
{
	static const struct resume_key_part lists[][2] = {
		{{"ab", 2}, {"c", 1}},	 {{"a", 1}, {"bc", 2}}, {{"abc", 3}, {NULL, 0}},
		{{NULL, 0}, {"abc", 3}}, {{"ab", 2}, {"d", 1}},
	};
	char keys[ARRAY_SIZE(lists)][SHA256_HEX_SIZE], again[SHA256_HEX_SIZE];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		assert_int_equal(resume_key(lists[i], 2, keys[i]), 0);
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(keys[i], keys[j]);
	}
	assert_int_equal(resume_key(lists[0], 2, again), 0);
	assert_string_equal(again, keys[0]);
}

/* Nobody knows any more whose text it stood for; of what was not evicted that is known. */
static void an_evicted_key_is_spoiled(void **state)
{
	struct resume_table *table = make();

	(void)state;
	put(table, 1, 0, "", "one");
	for (unsigned int i = 1; i <= RESUME_TABLE_ENTRIES; i++)
		put(table, 1, i, "", "rest");
	known(table, 0, "", NULL);
	put(table, 2, 0, "", "two");
	known(table, 0, "", "!");
	put(table, 2, RESUME_TABLE_ENTRIES + 1, "", "three");
	known(table, RESUME_TABLE_ENTRIES + 1, "", "three");
	assert_in_range(resume_table_memory(table), RESUME_TABLE_EVICTED, 8u << 20);
	resume_table_free(table);
}

/* The last RESUME_TABLE_EVICTED at least are remembered, and the bits are not used up. */
static void evicted_keys_are_remembered_long(void **state)
{
	unsigned int last = 2 * RESUME_TABLE_EVICTED + 2 * RESUME_TABLE_ENTRIES, good = 0;
	struct resume_table *table = make();

	(void)state;
	for (unsigned int i = 0; i < last; i++)
		put(table, 1, i, "", "a");
	put(table, 1, last - RESUME_TABLE_EVICTED, "", "b");
	known(table, last - RESUME_TABLE_EVICTED, "", "!");
	for (unsigned int i = 0; i < 1000; i++) {
		const struct resume_version *version;
		char key[SHA256_HEX_SIZE];

		put(table, 1, last + i, "", "a");
		key_of(last + i, key);
		good += resume_may_begin(resume_table_find(table, key, &version), 0) == 0;
	}
	assert_in_range(good, 900, 1000);
	resume_table_free(table);
}

static void finds_what_was_put(void **state)
{
	struct resume_table *table = make();

	(void)state;
	known(table, 1, "", NULL);
	put(table, 1, 1, "v", "one");
	put(table, 1, 2, "", "two");
	put(table, 2, 3, "", "three");
	known(table, 1, "v", "one");
	known(table, 2, "", "two");
	known(table, 3, "", "three");
	known(table, 4, "", NULL);
	assert_int_equal(resume_table_count(table), 3);
	assert_true(resume_table_memory(table) > 3 * 300);
	resume_table_free(table);
	resume_table_free(NULL);
}

static void one_key_is_one_end_of_one_text(void **state)
{
	struct resume_table *table = make();

	(void)state;
	put(table, 1, 1, "v", "one");
	put(table, 2, 1, "v", "one");
	known(table, 1, "v", "one");
	/* Another version that ends in the same. */
	put(table, 1, 1, "w", "one");
	known(table, 1, "w", "one");
	put(table, 1, 1, "w", "eno");
	known(table, 1, "w", "!");
	/* For good: both may still come back. */
	put(table, 1, 1, "w", "one");
	known(table, 1, "w", "!");
	put(table, 1, 2, "v", "one");
	put(table, 1, 2, "w", "eno");
	known(table, 2, "w", "!");
	put(table, 1, 2, "v", "one");
	known(table, 2, "v", "!");
	assert_int_equal(resume_table_count(table), 2);
	resume_table_free(table);
}

static void one_key_is_read_in_one_way(void **state)
{
	const struct resume_version events = {.validator = "v", .media = MEDIA_SSE};
	struct resume_table *table = make();

	(void)state;
	put_version(table, 1, 1, &events, "one");
	put(table, 1, 1, "v", "one");
	known(table, 1, "v", "!");
	resume_table_free(table);
}

/* Who floods it loses his own, the least recently used first. */
static void an_owner_evicts_itself(void **state)
{
	struct resume_table *table = make();

	(void)state;
	put(table, 1, 1, "", "other");
	put(table, 1, 2, "", "other");
	for (unsigned int i = 0; i < 2 * RESUME_TABLE_ENTRIES; i++) {
		put(table, 2, 100 + i, "", "flood");
		if (i % 64 == 0)
			known(table, 100, "", "flood");
		assert_true(resume_table_count(table) <= RESUME_TABLE_ENTRIES);
	}
	assert_int_equal(resume_table_count(table), RESUME_TABLE_ENTRIES);
	known(table, 1, "", "other");
	known(table, 2, "", "other");
	known(table, 100, "", "flood");
	known(table, 101, "", NULL);
	known(table, 100 + 2 * RESUME_TABLE_ENTRIES - 1, "", "flood");
	known(table, 100 + RESUME_TABLE_ENTRIES + 2, "", NULL);
	known(table, 100 + RESUME_TABLE_ENTRIES + 3, "", "flood");
	/* And where he has all of it, makes room for the next. */
	put(table, 3, 3, "", "third");
	for (unsigned int i = 0; i < 64; i++)
		put(table, 2, 20000 + i, "", "flood");
	known(table, 3, "", "third");
	known(table, 1, "", "other");
	resume_table_free(table);
}

static void bytes_are_bounded(void **state)
{
	struct resume_table *table = make();
	static char text[60000];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	put(table, 1, 1, "", "small");
	for (unsigned int i = 0; i < 200; i++) {
		text[0] = (char)('a' + i % 26);
		put(table, 2, 10 + i, "", text);
		assert_true(resume_table_memory(table) <
			    RESUME_TABLE_BYTES + RESUME_TABLE_BITS + (16u << 10));
	}
	known(table, 1, "", "small");
	known(table, 10, "", NULL);
	known(table, 209, "", text);
	resume_table_free(table);
}

/* What alone is too large is not known, and spoils what is. */
static void too_large(void **state)
{
	struct resume_table *table = make();
	static char text[RESUME_TABLE_BYTES + 1];
	const struct resume_version version = version_of("w");
	struct resume *resume;
	char key[SHA256_HEX_SIZE];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	put(table, 1, 1, "v", "small");
	put(table, 1, 2, "", "small");
	resume = resume_of(text);
	key_of(1, key);
	assert_int_equal(resume_table_put(table, 1, key, &version, resume), 0);
	known(table, 1, "w", "!");
	key_of(3, key);
	assert_int_equal(resume_table_put(table, 1, key, &version, resume), -E2BIG);
	known(table, 3, "", NULL);
	known(table, 2, "", "small");
	resume_free(resume);
	resume_table_free(table);
}

static void without_memory(void **state)
{
	struct resume *resume = resume_of("text"), *other = resume_of("text");
	const struct resume_version version = version_of("v");
	char key[SHA256_HEX_SIZE];
	bool failed = true;

	(void)state;
	key_of(1, key);
	for (unsigned long n = 0; failed; n++) {
		struct resume_table *table = NULL;
		int r;

		allocation_fail_at(n);
		r = resume_table_new(&table);
		r = r ? r : resume_table_put(table, 1, key, &version, resume);
		r = r ? r : resume_table_put(table, 2, key, &version, other);
		(void)allocation_failed();
		failed = r == -ENOMEM;
		assert_true(!r || failed);
		if (table)
			assert_int_equal(resume_table_count(table), !failed);
		resume_table_free(table);
	}
	resume_free(other);
	resume_free(resume);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_tell_their_parts_apart),
		cmocka_unit_test(an_evicted_key_is_spoiled),
		cmocka_unit_test(evicted_keys_are_remembered_long),
		cmocka_unit_test(finds_what_was_put),
		cmocka_unit_test(one_key_is_one_end_of_one_text),
		cmocka_unit_test(one_key_is_read_in_one_way),
		cmocka_unit_test(an_owner_evicts_itself),
		cmocka_unit_test(bytes_are_bounded),
		cmocka_unit_test(too_large),
		cmocka_unit_test(without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
