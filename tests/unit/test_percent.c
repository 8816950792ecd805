/* SPDX-License-Identifier: Apache-2.0 */
/* Percent-decoding: known answers, and every short text, in every cut and room. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "core/percent.h"

#define TEXT_MAX 64u

struct text {
	uint8_t bytes[TEXT_MAX];
	size_t len;
};

/* WHATWG URL 1.3, over the whole text. */
static void decode_whole(const char *text, bool plus, struct text *ret_out)
{
	struct text out = {.len = 0};

	for (size_t i = 0; text[i]; i++) {
		char hex[3] = {0};

		if (text[i] == '%' && isxdigit((unsigned char)text[i + 1]) &&
		    isxdigit((unsigned char)text[i + 2])) {
			memcpy(hex, text + i + 1, 2);
			out.bytes[out.len++] = (uint8_t)strtoul(hex, NULL, 16);
			i += 2;
		} else {
			out.bytes[out.len++] = plus && text[i] == '+' ? ' ' : (uint8_t)text[i];
		}
	}
	*ret_out = out;
}

/* Up to `most` bytes at a time, into so much room; from and to memory of its own size. */
static void decode(const char *text, bool plus, size_t most, size_t room, struct text *ret_out)
{
	struct percent percent = {.plus = plus};
	uint8_t *piece = malloc(most), *out = malloc(room);
	size_t at = 0, len = strlen(text), got;

	assert_true(piece && out);
	ret_out->len = 0;
	while (at < len) {
		size_t part = MIN(most, len - at), used = 0;

		memcpy(piece, text + at, part);
		got = percent_decode(&percent, piece, part, out, room, &used);
		assert_true(used > 0 && used <= part && got <= room);
		assert_true(ret_out->len + got <= TEXT_MAX);
		memcpy(ret_out->bytes + ret_out->len, out, got);
		ret_out->len += got;
		at += used;
	}
	got = percent_end(&percent, out);
	assert_true(got <= 2);
	memcpy(ret_out->bytes + ret_out->len, out, got);
	ret_out->len += got;
	free(piece);
	free(out);
}

static void check(const char *text, bool plus, const struct text *expected)
{
	for (size_t most = 1; most <= 8; most++) {
		for (size_t room = 3; room <= 8; room++) {
			struct text out;

			decode(text, plus, most, room, &out);
			assert_int_equal(out.len, expected->len);
			assert_memory_equal(out.bytes, expected->bytes, out.len);
		}
	}
}

static void known_answers(void **state)
{
	static const struct {
		const char *text;
		bool plus;
		const char *decoded;
	} cases[] = {
		{"", false, ""},
		{"/v1/chat", false, "/v1/chat"},
		{"%41%4a%4Ab", false, "AJJb"},
		{"f%6frbidden", false, "forbidden"},
		{"%E6%B0%B4", false, "\xe6\xb0\xb4"},
		{"a+b%2bc", false, "a+b+c"},
		{"a+b%2bc", true, "a b+c"},
		{"%", false, "%"},
		{"%4", false, "%4"},
		{"%%41", false, "%A"},
		{"%4%41", false, "%4A"},
		{"%g1%1g", false, "%g1%1g"},
		{"%+1%4+", true, "% 1%4 "},
		/* Once, and no more. */
		{"%2541", false, "%41"},
		{"%u0041", false, "%u0041"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct text expected = {.len = strlen(cases[i].decoded)};

		memcpy(expected.bytes, cases[i].decoded, expected.len);
		check(cases[i].text, cases[i].plus, &expected);
	}
}

static void a_nul_is_a_byte(void **state)
{
	static const struct text expected = {.bytes = {'a', 0, 0xff}, .len = 3};

	(void)state;
	check("a%00%fF", false, &expected);
}

/* Every text of five over what makes a difference, and every beginning of one. */
static void short_texts(void **state)
{
	static const char alphabet[] = "%+4fFgx";
	const unsigned int letters = sizeof(alphabet) - 1;
	unsigned int all = 1;

	(void)state;
	for (size_t len = 0; len <= 5; len++, all *= letters) {
		for (unsigned int n = 0; n < all; n++) {
			struct text expected, out;
			unsigned int rest = n;
			char text[6] = "";

			for (size_t i = 0; i < len; i++, rest /= letters)
				text[i] = alphabet[rest % letters];
			decode_whole(text, n & 1, &expected);
			for (size_t most = 1; most <= 3; most++) {
				decode(text, n & 1, most, 3, &out);
				assert_int_equal(out.len, expected.len);
				assert_memory_equal(out.bytes, expected.bytes, out.len);
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_answers),
		cmocka_unit_test(a_nul_is_a_byte),
		cmocka_unit_test(short_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
