/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8: every rune, every pair and triple of bytes at a boundary, every cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "core/utf8.h"

/* By the table of RFC 3629 4, written out a second time. */
static bool well_formed(const uint8_t *b, size_t len)
{
	static const struct {
		uint8_t len, range[4][2];
	} rows[] = {
		{1, {{0x00, 0x7f}}},
		{2, {{0xc2, 0xdf}, {0x80, 0xbf}}},
		{3, {{0xe0, 0xe0}, {0xa0, 0xbf}, {0x80, 0xbf}}},
		{3, {{0xe1, 0xec}, {0x80, 0xbf}, {0x80, 0xbf}}},
		{3, {{0xed, 0xed}, {0x80, 0x9f}, {0x80, 0xbf}}},
		{3, {{0xee, 0xef}, {0x80, 0xbf}, {0x80, 0xbf}}},
		{4, {{0xf0, 0xf0}, {0x90, 0xbf}, {0x80, 0xbf}, {0x80, 0xbf}}},
		{4, {{0xf1, 0xf3}, {0x80, 0xbf}, {0x80, 0xbf}, {0x80, 0xbf}}},
		{4, {{0xf4, 0xf4}, {0x80, 0x8f}, {0x80, 0xbf}, {0x80, 0xbf}}},
	};

	for (size_t r = 0; r < ARRAY_SIZE(rows); r++) {
		size_t i = 0;

		while (i < len && rows[r].len == len && b[i] >= rows[r].range[i][0] &&
		       b[i] <= rows[r].range[i][1])
			i++;
		if (i == len)
			return true;
	}
	return false;
}

static void every_scalar_value_round_trips(void **state)
{
	(void)state;
	for (uint32_t rune = 0; rune < 0x110000; rune++) {
		uint8_t bytes[UTF8_MAX];
		unsigned int len = utf8_encode(rune, bytes);
		bool surrogate = rune >= 0xd800 && rune <= 0xdfff;
		struct utf8 utf8 = {0};
		enum utf8_step step = UTF8_MORE;
		uint64_t runes;

		assert_int_equal(well_formed(bytes, len), !surrogate);
		assert_int_equal(utf8_rune(bytes, len), surrogate ? 0 : len);
		assert_int_equal(utf8_prefix(bytes, len, &runes), surrogate ? 0 : len);
		assert_int_equal(runes, !surrogate);
		for (unsigned int i = 0; i < len && step == UTF8_MORE; i++)
			step = utf8_push(&utf8, bytes[i]);
		assert_int_equal(step, surrogate ? UTF8_ILL : UTF8_DONE);
		if (!surrogate)
			assert_memory_equal(utf8.bytes, bytes, len);
		if (len > 1)
			assert_int_equal(utf8_rune(bytes, len - 1), 0);
	}
}

/* All that the bounds can tell apart, in sequences of up to four bytes. */
static void only_the_table_is_accepted(void **state)
{
	static const uint8_t edges[] = {0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf,
					0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xec, 0xed, 0xee,
					0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xf8, 0xfe, 0xff};
	size_t n = ARRAY_SIZE(edges);
	uint8_t b[4];

	(void)state;
	for (size_t code = 0; code < n * n * n * n; code++) {
		size_t rest = code;

		for (size_t i = 0; i < 4; i++, rest /= n)
			b[i] = edges[rest % n];
		for (size_t len = 1; len <= 4; len++) {
			unsigned int got = utf8_rune(b, len);

			/* The first sequence at the front, whatever follows it. */
			for (size_t k = 1; k <= len; k++)
				if (well_formed(b, k))
					assert_int_equal(got, k);
			if (got)
				assert_true(well_formed(b, got));
		}
	}
}

/* Unicode 3.9, U+FFFD per maximal subpart: what is taken before the byte that does not fit. */
static void ill_formed_is_known_at_the_first_wrong_byte(void **state)
{
	static const struct {
		const char *bytes;
		size_t len, taken;
	} cases[] = {
		{"\xc0\xaf", 2, 0},
		{"\xc1\xa5", 2, 0},
		{"\xe0\x9f\xbf", 3, 1},
		{"\xed\xa0\x80", 3, 1},
		{"\xf0\x8f\xbf\xbf", 4, 1},
		{"\xf4\x90\x80\x80", 4, 1},
		{"\xf5\x80", 2, 0},
		{"\xff", 1, 0},
		{"\x80", 1, 0},
		{"\xe6\xb0"
		 "A",
		 3, 2},
		{"\xf0\x9f\x98"
		 "A",
		 4, 3},
		{"\xc3"
		 "A",
		 2, 1},
		{"\xf1\x80\x80\xc2", 4, 3},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct utf8 utf8 = {0};
		size_t at = 0;

		while (at < cases[i].len &&
		       utf8_push(&utf8, (uint8_t)cases[i].bytes[at]) == UTF8_MORE)
			at++;
		assert_int_equal(at, cases[i].taken);
		assert_int_equal(utf8.have, cases[i].taken);
	}
}

static void a_prefix_stops_at_the_first_fault_or_cut(void **state)
{
	static const char text[] = "plain ascii of some length \xe6\xb0\xb4\xf0\x9f\x98\x80 end";
	const uint8_t *bytes = (const uint8_t *)text;
	uint64_t runes;

	(void)state;
	for (size_t len = 0; len < sizeof(text); len++) {
		uint8_t *copy = malloc(len + 1);
		size_t good = len;

		memcpy(copy, bytes, len);
		/* Back to a rune's beginning, where the cut is inside one. */
		while (good > 0 && (bytes[good] & 0xc0) == 0x80)
			good--;
		assert_int_equal(utf8_prefix(copy, len, &runes), good);
		assert_int_equal(utf8_count(copy, good), runes);
		for (size_t i = 0; i < good; i++)
			runes -= (bytes[i] & 0xc0) != 0x80;
		assert_int_equal(runes, 0);
		copy[len / 2] = 0xff;
		assert_true(utf8_prefix(copy, len, &runes) <= len / 2);
		free(copy);
	}
	assert_int_equal(utf8_ascii(bytes, sizeof(text)), 27);
	assert_int_equal(utf8_ascii(bytes, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_scalar_value_round_trips),
		cmocka_unit_test(only_the_table_is_accepted),
		cmocka_unit_test(ill_formed_is_known_at_the_first_wrong_byte),
		cmocka_unit_test(a_prefix_stops_at_the_first_fault_or_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
