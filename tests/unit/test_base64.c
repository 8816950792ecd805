/* SPDX-License-Identifier: Apache-2.0 */
/* Base64: what is decoded, by the strict decoder and by one of the test's own, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "core/base64.h"

struct decoded {
	uint8_t bytes[64];
	size_t len;
	bool ill;
};

static struct decoded decode(const char *text)
{
	struct base64 base64 = {0};
	struct decoded decoded = {.len = 0};

	for (; *text && !decoded.ill; text++) {
		enum base64_step step =
			base64_push(&base64, (uint8_t)*text, &decoded.bytes[decoded.len]);

		decoded.len += step == BASE64_BYTE;
		decoded.ill = step == BASE64_ILL;
	}
	decoded.ill |= !base64_whole(&base64);
	return decoded;
}

static void what_is_base64(void **state)
{
	static const struct {
		const char *text, *bytes;
	} rows[] = {{"", ""},
		    {"Zg==", "f"},
		    {"Zm8=", "fo"},
		    {"Zm9v", "foo"},
		    {"Zm9vYg==", "foob"},
		    {"Zm9vYmE=", "fooba"},
		    {"Zm9vYmFy", "foobar"},
		    {"+/+/", "\xfb\xff\xbf"}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct decoded decoded = decode(rows[i].text);

		assert_false(decoded.ill);
		assert_int_equal(decoded.len, strlen(rows[i].bytes));
		assert_memory_equal(decoded.bytes, rows[i].bytes, decoded.len);
	}
}

static void what_is_none(void **state)
{
	static const char *const rows[] = {"Z",	    "Zg",	"Zg=",	     "Zg===",  "Zm8",
					   "Zm8==", "Zm9v=",	"=",	     "====",   "Zh==",
					   "Zm9=",  "Zg==Zg==", "Zg=v",	     "Zm9v\n", " Zg==",
					   "Z-==",  "Z_==",	"Zm\xc3\xa9"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_true(decode(rows[i]).ill);
}

/* Every text has one base64 alone: of all of four characters those that are are as many. */
static void each_text_has_one(void **state)
{
	static const char alphabet[] = "ABCwxyz019+/=";
	size_t n = sizeof(alphabet) - 1, good[4] = {0};
	char text[5] = "";

	(void)state;
	for (size_t i = 0; i < n * n * n * n; i++) {
		struct decoded decoded;

		text[0] = alphabet[i % n];
		text[1] = alphabet[i / n % n];
		text[2] = alphabet[i / n / n % n];
		text[3] = alphabet[i / n / n / n];
		decoded = decode(text);
		if (!decoded.ill)
			good[decoded.len]++;
	}
	/* Digits: 12. With no bits left over after two: A, w; after three: A, w, 0. */
	assert_int_equal(good[0], 0);
	assert_int_equal(good[1], 12 * 2);
	assert_int_equal(good[2], 12 * 12 * 3);
	assert_int_equal(good[3], 12 * 12 * 12 * 12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_base64),
		cmocka_unit_test(what_is_none),
		cmocka_unit_test(each_text_has_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
