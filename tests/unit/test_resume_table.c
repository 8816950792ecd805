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
	snprintf(ret_key, SHA256_HEX_SIZE, "%064x", number * 2654435761u);
}

static struct resume *resume_of(const char *text)
{
	struct resume *resume;

	assert_int_equal(resume_new((uint32_t)strlen(text), &resume), 0);
	assert_int_equal(resume_delivered(resume, "a", (const uint8_t *)text, strlen(text)), 0);
	return resume;
}

static void put(struct resume_table *table, uint64_t owner, unsigned int number,
		const char *validator, const char *text)
{
	struct resume *resume = resume_of(text);
	char key[SHA256_HEX_SIZE];

	key_of(number, key);
	assert_int_equal(resume_table_put(table, owner, key, validator, resume), 0);
	resume_free(resume);
}

/* The text under a key; NULL: not known. "!": spoiled. */
static void known(struct resume_table *table, unsigned int number, const char *validator,
		  const char *text)
{
	const struct resume *resume;
	char key[SHA256_HEX_SIZE];
	const char *found;
	const uint8_t *tail;

	key_of(number, key);
	resume = resume_table_find(table, key, &found);
	if (!text) {
		assert_null(resume);
		return;
	}
	assert_non_null(resume);
	assert_string_equal(found, validator);
	assert_int_equal(resume_may_begin(resume, 0), text[0] == '!' ? -EPERM : 0);
	if (text[0] == '!')
		return;
	assert_int_equal(resume_tail(resume, "a", &tail), strlen(text));
	assert_memory_equal(tail, text, strlen(text));
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
	put(table, 1, 1, "w", "eno");
	known(table, 1, "w", "eno");
	put(table, 1, 1, "w", "one");
	known(table, 1, "w", "!");
	/* For good: both may still come back. */
	put(table, 1, 1, "w", "eno");
	known(table, 1, "w", "!");
	put(table, 1, 1, "v", "one");
	known(table, 1, "v", "one");
	assert_int_equal(resume_table_count(table), 1);
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
		assert_true(resume_table_memory(table) < RESUME_TABLE_BYTES + (16u << 10));
	}
	known(table, 1, "", "small");
	known(table, 10, "", NULL);
	known(table, 209, "", text);
	resume_table_free(table);
}

/* What alone is too large is not known, nor is what it would have replaced. */
static void too_large(void **state)
{
	struct resume_table *table = make();
	static char text[RESUME_TABLE_BYTES + 1];
	struct resume *resume;
	char key[SHA256_HEX_SIZE];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	put(table, 1, 1, "v", "small");
	put(table, 1, 2, "", "small");
	resume = resume_of(text);
	key_of(1, key);
	assert_int_equal(resume_table_put(table, 1, key, "w", resume), -E2BIG);
	known(table, 1, "", NULL);
	known(table, 2, "", "small");
	resume_free(resume);
	resume_table_free(table);
}

static void without_memory(void **state)
{
	struct resume *resume = resume_of("text"), *other = resume_of("more");
	char key[SHA256_HEX_SIZE];
	bool failed = true;

	(void)state;
	key_of(1, key);
	for (unsigned long n = 0; failed; n++) {
		struct resume_table *table = NULL;
		int r;

		allocation_fail_at(n);
		r = resume_table_new(&table);
		r = r ? r : resume_table_put(table, 1, key, "", resume);
		r = r ? r : resume_table_put(table, 2, key, "v", other);
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
		cmocka_unit_test(finds_what_was_put),
		cmocka_unit_test(one_key_is_one_end_of_one_text),
		cmocka_unit_test(an_owner_evicts_itself),
		cmocka_unit_test(bytes_are_bounded),
		cmocka_unit_test(too_large),
		cmocka_unit_test(without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
