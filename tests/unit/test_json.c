/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON scanner alone: grammar, text of tokens, names; every document in every cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "core/json.h"

/* What a scan said, token by token. */
struct heard {
	char text[4096];
	size_t len;
	bool open; /* a token is under way */
};

static void say(struct heard *heard, const void *text, size_t len)
{
	if (!len)
		return;
	assert_true(heard->len + len < sizeof(heard->text));
	memcpy(heard->text + heard->len, text, len);
	heard->len += len;
	heard->text[heard->len] = '\0';
}

static void token_begins(struct heard *heard, enum json_token token, unsigned int flags)
{
	static const char marks[] = "NS#";

	assert_int_equal(heard->open, !(flags & JSON_FIRST));
	heard->open = !(flags & JSON_LAST);
	if (flags & JSON_FIRST)
		say(heard, &marks[token], 1);
}

static enum fault hear_text(void *context, enum json_token token, unsigned int flags,
			    const uint8_t *text, size_t len, uint64_t runes)
{
	struct heard *heard = context;
	uint64_t counted;

	token_begins(heard, token, flags);
	assert_int_equal(utf8_prefix(text, len, &counted), len);
	assert_int_equal(counted, runes);
	say(heard, text, len);
	if (flags & JSON_LAST)
		say(heard, "|", 1);
	return FAULT_NONE;
}

static enum fault hear_surrogate(void *context, enum json_token token, unsigned int flags,
				 uint32_t unit)
{
	char text[8];

	token_begins(context, token, flags);
	snprintf(text, sizeof(text), "<%04x>", unit);
	say(context, text, strlen(text));
	return FAULT_NONE;
}

static enum fault hear_literal(void *context, uint8_t first)
{
	say(context, &first, 1);
	say(context, "|", 1);
	return FAULT_NONE;
}

static const struct json_sink sink = {
	.text = hear_text, .surrogate = hear_surrogate, .literal = hear_literal};

static enum fault scan(const char *data, size_t len, size_t first, size_t second, bool by_line,
		       bool replace, struct heard *heard)
{
	const size_t ends[] = {first, second, len};
	enum fault fault = FAULT_NONE;
	struct json json;
	size_t at = 0;

	memset(heard, 0, sizeof(*heard));
	json_init(&json, &sink, heard);
	json.by_line = by_line;
	json.replace = replace;
	for (size_t i = 0; i < ARRAY_SIZE(ends) && !fault; i++) {
		size_t size = ends[i] - at, used;
		uint8_t *copy = malloc(size + !size);

		memcpy(copy, data + at, size);
		fault = json_scan(&json, copy, size, &used);
		free(copy);
		assert_true(used <= size);
		if (!fault)
			assert_int_equal(used, size);
		at = ends[i];
	}
	if (!fault)
		fault = json_end(&json);
	json_done(&json);
	return fault;
}

/* In one piece and in every two and three; all agree. */
static enum fault scan_splits(const char *data, size_t len, bool replace, struct heard *heard)
{
	enum fault fault = scan(data, len, len, len, false, replace, heard);
	struct heard *other = malloc(sizeof(*other));

	for (size_t i = 0; i <= len; i++) {
		for (size_t j = i; j <= len && (len <= 64 || j == i); j++) {
			assert_int_equal(scan(data, len, i, j, false, replace, other), fault);
			if (!fault)
				assert_string_equal(other->text, heard->text);
		}
	}
	free(other);
	return fault;
}

static void documents_that_are_json(void **state)
{
	static const struct {
		const char *text, *heard;
	} cases[] = {
		{"null", "n|"},
		{" \t\r\n true \n", "t|"},
		{"0", "#0|"},
		{"-0", "#-0|"},
		{"1e999", "#1e999|"},
		{"-12.50E+007", "#-12.50E+007|"},
		{"123456789012345678901234567890", "#123456789012345678901234567890|"},
		{"\"\"", "S|"},
		{"\"a\\\"\\\\\\/\\b\\f\\n\\r\\tz\"", "Sa\"\\/\b\f\n\r\tz|"},
		{"\"\\u0041\\u00e9\\u6C34\"", "SA\xc3\xa9\xe6\xb0\xb4|"},
		{"\"\\ud83d\\ude00\"", "S<d83d><de00>|"},
		{"\"q\\uDBFFz\"", "Sq<dbff>z|"},
		{"\"\xe6\xb0\xb4\xf0\x9f\x98\x80\x7f\"", "S\xe6\xb0\xb4\xf0\x9f\x98\x80\x7f|"},
		{"\"a plain text longer than a vector is\"",
		 "Sa plain text longer than a vector is|"},
		{"[]", ""},
		{"{}", ""},
		{"[[],{},[{}]]", ""},
		{"[1,-2 ,false]", "#1|#-2|f|"},
		{"{\"a\":{\"b\":[\"c\",{\"b\":1}]},\"b\":null}", "Na|Nb|Sc|Nb|#1|Nb|n|"},
		{"{ \"a\" : 1 , \"\" : \"x\" }", "Na|#1|N|Sx|"},
		{"{\"a\":1,\"A\":2,\"a \":3,\"aa\":4}", "Na|#1|NA|#2|Na |#3|Naa|#4|"},
	};
	struct heard *heard = malloc(sizeof(*heard));

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(scan_splits(cases[i].text, strlen(cases[i].text), false, heard),
				 FAULT_NONE);
		assert_string_equal(heard->text, cases[i].heard);
	}
	free(heard);
}

static void documents_that_are_not(void **state)
{
	static const char *const cases[] = {
		"",	      " ",	     "nul",	   "nulL",
		"True",	      "NaN",	     "Infinity",   "-Infinity",
		"+1",	      "-",	     "01",	   "-01",
		"1.",	      ".5",	     "1.e1",	   "1e",
		"1e+",	      "0x1",	     "1 2",	   "--1",
		"1-",	      "00",	     "\"",	   "\"a",
		"\"\\",	      "\"\\u",	     "\"\\u12",	   "\"\\u12g4\"",
		"\"\\x\"",    "\"\\U0041\"", "'a'",	   "\"a\nb\"",
		"\"a\tb\"",   "\"a\rb\"",    "\"\x1f\"",   "[",
		"]",	      "[1",	     "[1,",	   "[1,]",
		"[,1]",	      "[1 2]",	     "[1}",	   "{",
		"}",	      "{]",	     "{\"a\"",	   "{\"a\":",
		"{\"a\":1",   "{\"a\":1,",   "{\"a\":1,}", "{\"a\" 1}",
		"{\"a\"::1}", "{a:1}",	     "{1:1}",	   "{\"a\":1 \"b\":2}",
		"{,}",	      "{\"a\":}",    "\"a\"\"b\"", "{} {}",
		"[] x",	      "/* c */ 1",   "1 // c",	   "\xef\xbb\xbf{}",
		"\xc3\xa9",   "\v1",	     "\f",	   "[1,\n\"a\n\"]",
		"{\"a\":1}]",
	};
	struct heard *heard = malloc(sizeof(*heard));

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (scan_splits(cases[i], strlen(cases[i]), false, heard) != FAULT_BAD_JSON)
			fail_msg("accepted: %s", cases[i]);
	}
	free(heard);
}

static void a_nul_is_a_byte_like_any_other(void **state)
{
	struct heard *heard = malloc(sizeof(*heard));

	(void)state;
	assert_int_equal(scan_splits("\"a\0b\"", 5, false, heard), FAULT_BAD_JSON);
	assert_int_equal(scan_splits("[1]\0", 4, false, heard), FAULT_BAD_JSON);
	assert_int_equal(scan_splits("\"\\u0000\"", 8, false, heard), FAULT_NONE);
	assert_int_equal(heard->len, 3);
	assert_memory_equal(heard->text, "S\0|", 3);
	free(heard);
}

static void ill_formed_utf8(void **state)
{
	static const struct {
		const char *text, *replaced;
	} cases[] = {
		{"\"\xc1\xa5\"", "S\xef\xbf\xbd\xef\xbf\xbd|"},
		{"\"\xed\xa0\x80\"", "S\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd|"},
		{"\"a\xe6\xb0z\"", "Sa\xef\xbf\xbdz|"},
		{"\"\xf0\x9f\x98\"", "S\xef\xbf\xbd|"},
		{"\"\xf4\x90\x80\x80\"", "S\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd|"},
		{"\"\xff\xc3\xa9\"", "S\xef\xbf\xbd\xc3\xa9|"},
		{"\"\xc3\\n\"", "S\xef\xbf\xbd\n|"},
	};
	struct heard *heard = malloc(sizeof(*heard));

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t len = strlen(cases[i].text);

		assert_int_equal(scan_splits(cases[i].text, len, false, heard), FAULT_BAD_UTF8);
		assert_int_equal(scan_splits(cases[i].text, len, true, heard), FAULT_NONE);
		assert_string_equal(heard->text, cases[i].replaced);
	}
	/* Not closed: cut, not ill-formed. */
	assert_int_equal(scan_splits("\"\xe6\xb0", 3, false, heard), FAULT_BAD_JSON);
	free(heard);
}

static void names_that_are_the_same(void **state)
{
	static const char *const cases[] = {
		"{\"a\":1,\"a\":2}",
		"{\"a\":1,\"b\":2,\"\\u0061\":3}",
		"{\"\":1,\"x\":2,\"\":3}",
		"{\"\xc3\xa9\":1,\"\\u00e9\":2}",
		"{\"\\ud83d\\ude00\":1,\"\xf0\x9f\x98\x80\":2}",
		"{\"\\ud800\":1,\"\\udbff\":2}",
		"{\"\\ud800\":1,\"\\ufffd\":2}",
		"{\"o\":{\"a\":{},\"a\":1}}",
		"[{\"a\":{\"b\":1},\"c\":[{\"a\":1}],\"a\":0}]",
		"{\"\\u0000\":1,\"\\u0000\":2}",
	};
	static const char *const different[] = {
		"{\"\\u0000\":1,\"\":2,\"\\u0000\\u0000\":3}",
		"{\"a\":{\"a\":{\"a\":1}}}",
		"[{\"a\":1},{\"a\":1}]",
		"{\"\\ud83d\\ude00\":1,\"\\ud83d\\ude01\":2,\"\\ufffd\":3}",
		"{\"\\ud83dx\":1,\"\\ud83d\":2}",
	};
	struct heard *heard = malloc(sizeof(*heard));

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (scan_splits(cases[i], strlen(cases[i]), false, heard) != FAULT_DUPLICATE_KEY)
			fail_msg("accepted: %s", cases[i]);
	for (size_t i = 0; i < ARRAY_SIZE(different); i++)
		if (scan_splits(different[i], strlen(different[i]), false, heard) != FAULT_NONE)
			fail_msg("refused: %s", different[i]);
	free(heard);
}

static enum fault check_only(const char *text, size_t len)
{
	struct json json;
	enum fault fault;
	size_t used;

	json_init(&json, NULL, NULL);
	fault = json_scan(&json, (const uint8_t *)text, len, &used);
	if (!fault)
		fault = json_end(&json);
	json_done(&json);
	return fault;
}

/* Objects of 1 to 600 names that share prefixes; then the same with one of them again. */
static void long_objects_find_every_duplicate(void **state)
{
	static char text[40000];

	(void)state;
	for (unsigned int count = 1; count <= 600; count += count < 20 ? 1 : 58) {
		for (unsigned int again = 0; again <= count; again += 1 + count / 7) {
			size_t len = 0;

			text[len++] = '{';
			for (unsigned int i = 0; i <= count; i++) {
				unsigned int n = i < count ? i : again;

				/* n as a word over {x, xy}: each a prefix of others. */
				text[len++] = '"';
				for (unsigned int bits = n + 1; bits; bits >>= 1)
					len += (size_t)sprintf(text + len, bits & 1 ? "x" : "xy");
				len += (size_t)sprintf(text + len, "\":{\"a\":%u}%s", i,
						       i < count ? "," : "}");
			}
			assert_int_equal(check_only(text, len),
					 again < count ? FAULT_DUPLICATE_KEY : FAULT_NONE);
		}
	}
}

/* Random names over letters that differ in few or many bits, against a plain comparison. */
static void long_objects_of_random_names(void **state)
{
	static const char letters[] = "aqbApP0~";
	unsigned int seed = 3, duplicates = 0;

	(void)state;
	for (unsigned int round = 0; round < 3000; round++) {
		unsigned int count = 9 + (unsigned int)rand_r(&seed) % 20;
		char names[32][5], text[1024];
		size_t len = 0;
		bool same = false;

		for (unsigned int i = 0; i < count; i++) {
			size_t size = (size_t)rand_r(&seed) % 5;

			for (size_t j = 0; j < size; j++)
				names[i][j] = letters[rand_r(&seed) % 8];
			names[i][size] = '\0';
			for (unsigned int j = 0; j < i; j++)
				same |= strcmp(names[i], names[j]) == 0;
			len += (size_t)sprintf(text + len, "%c\"%s\":0", i ? ',' : '{', names[i]);
		}
		len += (size_t)sprintf(text + len, "}");
		assert_int_equal(check_only(text, len), same ? FAULT_DUPLICATE_KEY : FAULT_NONE);
		duplicates += same;
	}
	assert_in_range(duplicates, 300, 2990);
}

/* Many nested long objects: the trees of the outer ones survive the inner. */
static void long_objects_nest(void **state)
{
	static char text[20000];
	size_t len = 0;

	(void)state;
	for (unsigned int depth = 0; depth < 12; depth++) {
		text[len++] = '{';
		for (unsigned int i = 0; i < 20; i++)
			len += (size_t)sprintf(text + len, "\"k%u\":%u,", i, depth);
		len += (size_t)sprintf(text + len, "\"in\":");
	}
	text[len++] = '0';
	for (unsigned int depth = 0; depth < 12; depth++)
		len += (size_t)sprintf(text + len, ",\"after\":1}");
	assert_int_equal(check_only(text, len), FAULT_NONE);
	/* The outermost object names one of its first names again. */
	len += (size_t)sprintf(text + len - 1, ",\"k7\":1}") - 1;
	assert_int_equal(check_only(text, len), FAULT_DUPLICATE_KEY);
}

static void depth_at_the_cap_and_past_it(void **state)
{
	static char text[8 * (JSON_DEPTH_MAX + 1)];
	size_t n = JSON_DEPTH_MAX;

	(void)state;
	memset(text, '[', n);
	memset(text + n, ']', n);
	assert_int_equal(check_only(text, 2 * n), FAULT_NONE);
	memset(text, '[', n + 1);
	memset(text + n + 1, ']', n + 1);
	assert_int_equal(check_only(text, 2 * n + 2), FAULT_TOO_LARGE);
	for (size_t i = 0; i <= n; i++)
		memcpy(text + 5 * i, "{\"a\":", 5);
	assert_int_equal(check_only(text, 5 * n), FAULT_BAD_JSON);
	assert_int_equal(check_only(text, 5 * (n + 1)), FAULT_TOO_LARGE);
}

static void a_line_ends_outside_of_strings(void **state)
{
	static const char text[] = "{\"a\":12}\n{\"b\":1}";
	struct json json;
	size_t used;

	(void)state;
	json_init(&json, NULL, NULL);
	json.by_line = true;
	assert_true(json_blank(&json));
	assert_int_equal(json_scan(&json, (const uint8_t *)text, strlen(text), &used), FAULT_NONE);
	assert_int_equal(used, 8);
	assert_false(json_blank(&json));
	assert_int_equal(json_end(&json), FAULT_NONE);
	assert_true(json_blank(&json));
	/* A number at the root is ended by the line. */
	assert_int_equal(json_scan(&json, (const uint8_t *)"17\n", 3, &used), FAULT_NONE);
	assert_int_equal(used, 2);
	assert_int_equal(json_end(&json), FAULT_NONE);
	assert_int_equal(json_scan(&json, (const uint8_t *)"\"a\n", 3, &used), FAULT_BAD_JSON);
	assert_int_equal(used, 2);
	/* Once at fault, for ever. */
	assert_int_equal(json_scan(&json, (const uint8_t *)"1", 1, &used), FAULT_BAD_JSON);
	assert_int_equal(used, 0);
	assert_int_equal(json_end(&json), FAULT_BAD_JSON);
	json_done(&json);
}

static void memory_is_given_back(void **state)
{
	static char text[200000];
	struct json json;
	size_t len = 1, used;

	(void)state;
	json_init(&json, NULL, NULL);
	text[0] = '{';
	for (unsigned int i = 0; i < 10000; i++)
		len += (size_t)sprintf(text + len, "%s\"name%u\":1", i ? "," : "", i);
	assert_int_equal(json_scan(&json, (const uint8_t *)text, len, &used), FAULT_NONE);
	assert_true(json_memory(&json) > 80000);
	assert_int_equal(json_scan(&json, (const uint8_t *)"}", 1, &used), FAULT_NONE);
	assert_int_equal(json_end(&json), FAULT_NONE);
	assert_int_equal(json_memory(&json), 0);
	json_done(&json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(documents_that_are_json),
		cmocka_unit_test(documents_that_are_not),
		cmocka_unit_test(a_nul_is_a_byte_like_any_other),
		cmocka_unit_test(ill_formed_utf8),
		cmocka_unit_test(names_that_are_the_same),
		cmocka_unit_test(long_objects_find_every_duplicate),
		cmocka_unit_test(long_objects_of_random_names),
		cmocka_unit_test(long_objects_nest),
		cmocka_unit_test(depth_at_the_cap_and_past_it),
		cmocka_unit_test(a_line_ends_outside_of_strings),
		cmocka_unit_test(memory_is_given_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
