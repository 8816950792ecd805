/* SPDX-License-Identifier: Apache-2.0 */
/* Literals that are long, names that are long or many, noise; and that memory is bounded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "core/channel.h"
#include "core/extract_literals.h"
#include "core/extract_members.h"
#include "core/extract_pairing.h"
#include "core/terms.h"
#include "unit/allocation.h"
#include "unit/literals.h"

/* A text with so many bytes of filling, in a few cuts. */
static void check_long(const char *begin, size_t fill, const char *end, enum fault fault)
{
	struct terms *terms = literals_terms("forbidden", 0);
	size_t len = strlen(begin) + fill + strlen(end);
	char *text = malloc(len + 1);

	assert_non_null(text);
	strcpy(text, begin);
	memset(text + strlen(begin), 'x', fill);
	strcpy(text + strlen(begin) + fill, end);
	assert_int_equal(literals_run(terms, text, len, 0, SIZE_MAX, NULL), fault);
	for (size_t size = 1; size < 1200; size = size * 3 / 2 + 1)
		assert_int_equal(literals_run(terms, text, len, 0, size, NULL), fault);
	free(text);
	terms_free(terms);
}

static void long_literals(void **state)
{
	static const size_t sizes[] = {0, 1, 100, 240, 250, 256, 257, 500, 520, 4096, 10000};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		check_long("\"", sizes[i], "forbidd\\u0065n\"", FAULT_BLOCKED);
		check_long("{\"a\":\"\\n", sizes[i], "forb\\u0069dden\"", FAULT_BLOCKED);
		check_long("{\"a\":\"", sizes[i], "for\",\"a\":\"bidden\"}", FAULT_BLOCKED);
		check_long("[\"\\\"", sizes[i], "\\\\u0066orbidden\"]", FAULT_BLOCKED);
		check_long("\"", sizes[i], "forbidd\\\\u0065n\"", FAULT_NONE);
	}
}

static void names_have_a_longest(void **state)
{
	char text[512], name[EXTRACT_NAME_BYTES + 2];

	(void)state;
	for (size_t len = EXTRACT_NAME_BYTES - 1; len < sizeof(name); len++) {
		memset(name, 'n', len);
		name[len] = '\0';
		snprintf(text, sizeof(text), "{\"%s\":\"for\"}\n{\"%s\":\"bidden\"}", name, name);
		literals_check(text, len <= EXTRACT_NAME_BYTES ? FAULT_BLOCKED : FAULT_NONE);
		/* A list behind none is a list. */
		snprintf(text, sizeof(text), "{\"%s\":[\"for\",\"bidden\"]}", name);
		literals_check(text, FAULT_BLOCKED);
		/* Its last byte tells it from another. */
		if (len > EXTRACT_NAME_BYTES)
			continue;
		snprintf(text, sizeof(text), "{\"%s\":\"for\"}\n{\"%.*sm\":\"bidden\"}", name,
			 (int)len - 1, name);
		literals_check(text, FAULT_NONE);
	}
}

/* Deltas of one name among those of so many others. */
static char *among(unsigned int others, size_t *ret_len)
{
	size_t len = 0, size = 3 * (others + 1) * 32;
	char *text = malloc(size);

	assert_non_null(text);
	for (unsigned int round = 0; round < 3; round++) {
		len += (size_t)snprintf(text + len, size - len, "{\"c\":\"%s\"}\n",
					round == 0   ? "for"
					: round == 1 ? "bid"
						     : "den");
		for (unsigned int i = 0; i < others; i++)
			len += (size_t)snprintf(text + len, size - len, "{\"n%u\":\"f\"}\n", i);
	}
	*ret_len = len;
	return text;
}

static void names_have_a_number(void **state)
{
	struct terms *terms = literals_terms("forbidden", 0);
	unsigned int most = 0;
	size_t len;

	(void)state;
	for (unsigned int others = 0; others < 3 * EXTRACT_NAMES_MAX; others++) {
		char *text = among(others, &len);
		enum fault fault = literals_run(terms, text, len, 0, SIZE_MAX, NULL);

		if (fault)
			most = others;
		assert_int_equal(literals_run(terms, text, len, 0, 5, NULL), fault);
		free(text);
	}
	assert_int_equal(most, EXTRACT_NAMES_MAX - 1);
	terms_free(terms);
}

/* However many names, lists, levels: so much memory. */
static void memory_is_bounded(void **state)
{
	struct terms *terms = literals_terms("forbidden", 0);
	const struct matcher matcher = {.terms = terms};
	struct channel_set set = {.matchers = &matcher, .task_count = 1, .ceiling = UINT64_MAX};
	struct extract_literals *l;
	char text[256];

	(void)state;
	assert_int_equal(channel_set_init(&set), 0);
	l = extract_literals_new(&set, "t", true);
	assert_non_null(l);
	for (unsigned int i = 0; i < 20000; i++) {
		int len = snprintf(
			text, sizeof(text),
			"{\"a%u\":\"\\\"b%u\\\":\\\"\\\\\\\"c\\\\\\\"%u:f\",\"l%u\":[\"f\"", i,
			i * 7, i, i);

		assert_int_equal(extract_literals_text(l, (uint8_t *)text, (size_t)len),
				 FAULT_NONE);
	}
	assert_in_range(extract_literals_memory(l), 1000, 400000);
	assert_in_range(channel_set_memory(&set), 1000, 200000);
	assert_int_equal(extract_literals_end(l), FAULT_NONE);
	extract_literals_free(l);
	channel_set_done(&set);
	terms_free(terms);
}

static unsigned int next_random(unsigned int *seed)
{
	*seed = *seed * 1103515245u + 12345u;
	return *seed >> 16;
}

/* Random text of what may lead astray, without the end of the line. */
static size_t put_noise(char *text, unsigned int *seed)
{
	static const char *const parts[] = {"\"",    "\\",    "\\u",  "00",	 "{",
					    "[",     ":",     ",",    " ",	 "a",
					    "\"a\"", "\":\"", "\\\"", "\xc3\xa9"};
	size_t len = 0;

	for (unsigned int n = next_random(seed) % 12; n; n--)
		len += (size_t)sprintf(text + len, "%s",
				       parts[next_random(seed) % ARRAY_SIZE(parts)]);
	return len;
}

/* The term, some of it in escapes. */
static size_t put_term(char *text, unsigned int *seed)
{
	static const char term[] = "forbidden";
	size_t len = 0, escaped = next_random(seed) % strlen(term);

	for (size_t i = 0; term[i]; i++)
		len += (size_t)sprintf(
			text + len, i == escaped || next_random(seed) % 4 == 0 ? "\\u%04x" : "%c",
			term[i]);
	return len;
}

/* Behind any noise an object is read as it is. */
static void no_noise_hides_a_literal(void **state)
{
	struct terms *terms = literals_terms("forbidden", 0);
	unsigned int seed = 1;
	char text[1024];

	(void)state;
	for (unsigned int i = 0; i < 20000; i++) {
		size_t len = 0;

		for (unsigned int lines = next_random(&seed) % 3; lines; lines--) {
			len += put_noise(text + len, &seed);
			text[len++] = '\n';
		}
		len += put_noise(text + len, &seed);
		len += (size_t)sprintf(text + len, "{\"a\":\"");
		len += put_term(text + len, &seed);
		len += (size_t)sprintf(text + len, "\"}");
		len += put_noise(text + len, &seed);
		if (literals_run(terms, text, len, next_random(&seed) % len, SIZE_MAX, NULL) !=
		    FAULT_BLOCKED)
			fail_msg("passes: %.*s", (int)len, text);
		assert_int_equal(
			literals_run(terms, text, len, 0, 1 + next_random(&seed) % 5, NULL),
			FAULT_BLOCKED);
	}
	terms_free(terms);
}

/* Nothing is at fault, and what is heard is the same in every cut. */
static void noise_in_every_cut(void **state)
{
	struct literals_heard *whole = malloc(sizeof(*whole)), *cut = malloc(sizeof(*cut));
	unsigned int seed = 5;
	char text[1024];

	(void)state;
	assert_non_null(whole);
	assert_non_null(cut);
	for (unsigned int i = 0; i < 2000; i++) {
		size_t len = 0;

		for (unsigned int lines = next_random(&seed) % 6; lines; lines--) {
			len += put_noise(text + len, &seed);
			len += put_term(text + len, &seed);
			len += put_noise(text + len, &seed);
			text[len++] = next_random(&seed) % 2 ? '\n' : '"';
		}
		assert_int_equal(literals_run(NULL, text, len, 0, SIZE_MAX, whole), FAULT_NONE);
		for (size_t size = 1; size < 12; size++) {
			assert_int_equal(literals_run(NULL, text, len, 0, size, cut), FAULT_NONE);
			for (size_t level = 0; level < 3; level++)
				assert_string_equal(cut->text[level], whole->text[level]);
		}
	}
	free(whole);
	free(cut);
}

static void every_allocation_may_fail(void **state)
{
	static const char text[] = "{\"a\":\"{\\\"b\\\":\\\"{\\\\\\\"c\\\\\\\"}\",\"l\":[\"x\"],"
				   "\"d\":\"\",\"e\":\"\",\"f\\n\":\"\"}";
	struct channel_set set = {.ceiling = UINT64_MAX};
	struct extract_literals *l;
	unsigned long n = 0;
	enum fault fault;

	(void)state;
	for (bool failed = true; failed; n++) {
		assert_int_equal(channel_set_init(&set), 0);
		allocation_fail_at(n);
		l = extract_literals_new(&set, "t", true);
		fault = FAULT_NO_MEMORY;
		if (l)
			fault = extract_literals_text(l, (const uint8_t *)text, strlen(text));
		if (!fault)
			fault = extract_literals_end(l);
		failed = allocation_failed();
		assert_int_equal(fault, failed ? FAULT_NO_MEMORY : FAULT_NONE);
		extract_literals_free(l);
		channel_set_done(&set);
		set = (struct channel_set){.ceiling = UINT64_MAX};
	}
	assert_in_range(n, 10, 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(long_literals),
		cmocka_unit_test(names_have_a_longest),
		cmocka_unit_test(names_have_a_number),
		cmocka_unit_test(memory_is_bounded),
		cmocka_unit_test(no_noise_hides_a_literal),
		cmocka_unit_test(noise_in_every_cut),
		cmocka_unit_test(every_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
