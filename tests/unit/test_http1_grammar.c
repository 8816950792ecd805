/* SPDX-License-Identifier: Apache-2.0 */
/* The sets of characters, against the standard's own lists, and what is built of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "core/http1_grammar.h"

#define DIGITS	"0123456789"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

static struct http1_slice slice(const char *text)
{
	return (struct http1_slice){(const uint8_t *)text, strlen(text)};
}

static bool in(const char *list, unsigned int byte)
{
	return byte && byte < 0x80 && strchr(list, (int)byte);
}

static void sets(void **state)
{
	(void)state;
	for (unsigned int byte = 0; byte < 256; byte++) {
		bool high = byte >= 0x80, vchar = byte > ' ' && byte < 0x7f;
		bool value = vchar || high || byte == ' ' || byte == '\t';
		unsigned int set = http1_sets[byte];

		/* RFC 9110 5.6.2, 5.5, 5.6.4; RFC 3986 3.2.2, with '%' of pct-encoded */
		assert_int_equal(!!(set & HTTP1_TCHAR), in("!#$%&'*+-.^_`|~" DIGITS LETTERS, byte));
		assert_int_equal(!!(set & HTTP1_VALUE), value);
		assert_int_equal(!!(set & HTTP1_TARGET), (vchar || high) && byte != '#');
		assert_int_equal(!!(set & HTTP1_QDTEXT), value && byte != '"' && byte != '\\');
		assert_int_equal(!!(set & HTTP1_HOST), in("-._~%!$&'()*+,;=" DIGITS LETTERS, byte));
		assert_int_equal(!!(set & HTTP1_DIGIT), in(DIGITS, byte));
		assert_int_equal(!!(set & HTTP1_HEX), in(DIGITS "abcdefABCDEF", byte));
		if (set & HTTP1_HEX) {
			char digit[2] = {(char)byte, '\0'};

			assert_int_equal(http1_hex((uint8_t)byte), strtoul(digit, NULL, 16));
		}
	}
}

static void spans(void **state)
{
	(void)state;
	assert_int_equal(http1_span(slice("abc def"), HTTP1_TCHAR), 3);
	assert_int_equal(http1_span(slice(" abc"), HTTP1_TCHAR), 0);
	assert_int_equal(http1_span(slice(""), HTTP1_TCHAR), 0);
	assert_true(http1_all(slice("12"), HTTP1_DIGIT));
	assert_false(http1_all(slice("12a"), HTTP1_DIGIT));
	assert_false(http1_all(slice(""), HTTP1_DIGIT));
}

static void case_of_letters_alone(void **state)
{
	(void)state;
	assert_true(http1_equal(slice("ChUnKeD"), "chunked"));
	assert_true(http1_equal(slice(""), ""));
	assert_false(http1_equal(slice("chunke"), "chunked"));
	assert_false(http1_equal(slice("chunkedx"), "chunked"));
	/* Bytes that differ as letters' cases do, and are none: @ and `, [ and {. */
	assert_false(http1_equal(slice("@["), "`{"));
	/* K and long s fold to ASCII's letters elsewhere. */
	assert_false(http1_equal(slice("chun\xe2\x84\xaa"
				       "ed"),
				 "chunked"));
}

/* From memory of its own size, so that reading past it is seen. */
static size_t quoted(const char *text)
{
	size_t len = strlen(text), found;
	uint8_t *copy = malloc(len + !len);

	assert_non_null(copy);
	memcpy(copy, text, len);
	found = http1_quoted((struct http1_slice){copy, len});
	free(copy);
	return found;
}

static void quoted_strings(void **state)
{
	(void)state;
	assert_int_equal(quoted("\"\""), 2);
	assert_int_equal(quoted("\"a b\t\x80\"x\""), 7);
	assert_int_equal(quoted("\"\\\"\\\\\\a\" "), 8);
	assert_int_equal(quoted(""), 0);
	assert_int_equal(quoted("x"), 0);
	assert_int_equal(quoted("\""), 0);
	assert_int_equal(quoted("\"a"), 0);
	assert_int_equal(quoted("\"a\\"), 0);
	assert_int_equal(quoted("\"a\\\""), 0);
	assert_int_equal(quoted("\"\x7f\""), 0);
	assert_int_equal(quoted("\"\\\x01\""), 0);
	assert_int_equal(quoted("\"\r\n\""), 0);
}

static void lists(void **state)
{
	static const struct {
		const char *list;
		const char *items[4];
	} cases[] = {
		{"a", {"a"}},
		{"a,b", {"a", "b"}},
		{" a\t, \t b c ,d ", {"a", "b c", "d"}},
		{"", {""}},
		{" ", {""}},
		{",", {"", ""}},
		{"a,,b,", {"a", "", "b", ""}},
		{"\"a,b\"", {"\"a", "b\""}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct http1_slice rest = slice(cases[i].list), item;
		size_t n = 0;

		for (; http1_list_next(&rest, &item); n++) {
			assert_true(n < 4 && cases[i].items[n]);
			assert_int_equal(item.len, strlen(cases[i].items[n]));
			assert_memory_equal(item.at, cases[i].items[n], item.len);
		}
		assert_true(n == 4 || !cases[i].items[n]);
	}
}

static void what_comes_before(void **state)
{
	struct http1_slice rest = slice("a::b"), part = http1_until(&rest, ':');

	(void)state;
	assert_int_equal(part.len, 1);
	part = http1_until(&rest, ':');
	assert_int_equal(part.len, 0);
	assert_non_null(rest.at);
	part = http1_until(&rest, ':');
	assert_int_equal(part.len, 1);
	assert_int_equal(part.at[0], 'b');
	assert_null(rest.at);
	part = http1_until(&rest, ':');
	assert_int_equal(part.len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sets),
		cmocka_unit_test(spans),
		cmocka_unit_test(case_of_letters_alone),
		cmocka_unit_test(quoted_strings),
		cmocka_unit_test(lists),
		cmocka_unit_test(what_comes_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
