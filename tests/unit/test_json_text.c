/* SPDX-License-Identifier: Apache-2.0 */
/* JSON text without a tree: what is written is what jansson reads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <string.h>

#include "daemon/json_text.h"

static void is(const struct json_text *text, const char *expected)
{
	json_t *read;

	assert_false(text->failed);
	assert_int_equal(text->len, strlen(expected));
	assert_memory_equal(text->text, expected, text->len);
	read = json_loadb(text->text, text->len, JSON_DECODE_ANY, NULL);
	assert_non_null(read);
	json_decref(read);
}

static void members_of_every_kind(void **state)
{
	struct json_text text = {0};

	(void)state;
	json_text_begin(&text, NULL, '{');
	json_text_number(&text, "zero", 0);
	json_text_number(&text, "most", INT64_MAX);
	json_text_string(&text, "none", NULL);
	json_text_bool(&text, "yes", true);
	json_text_bool(&text, "no", false);
	json_text_begin(&text, "list", '[');
	json_text_string(&text, NULL, "a");
	json_text_string(&text, NULL, "b");
	json_text_end(&text, ']');
	json_text_begin(&text, "empty", '{');
	json_text_end(&text, '}');
	json_text_seconds(&text, "age", 12005999999);
	json_text_seconds(&text, "young", 999999);
	json_text_end(&text, '}');
	is(&text,
	   "{\"zero\":0,\"most\":9223372036854775807,\"none\":null,\"yes\":true,\"no\":false,"
	   "\"list\":[\"a\",\"b\"],\"empty\":{},\"age\":12.005,\"young\":0.000}");
	json_text_clear(&text);
	json_text_null(&text, NULL);
	is(&text, "null");
	json_text_done(&text);
}

static void strings_are_escaped(void **state)
{
	struct json_text text = {0};

	(void)state;
	json_text_string(&text, NULL, "a\"b\\c\n\x1b\x7f\xc3\xa9\xf0\x9f\x98\x80");
	is(&text, "\"a\\\"b\\\\c\\u000a\\u001b\x7f\xc3\xa9\xf0\x9f\x98\x80\"");
	json_text_clear(&text);
	/* A lone continuation, a surrogate, one cut at the end. */
	json_text_string(&text, NULL, "\x80|\xed\xa0\x80|\xe2\x82");
	is(&text, "\"?|???|??\"");
	json_text_done(&text);
}

static void it_grows(void **state)
{
	struct json_text text = {0};
	json_t *read;

	(void)state;
	json_text_begin(&text, NULL, '[');
	for (int i = 0; i < 5000; i++)
		json_text_number(&text, NULL, (uint64_t)i);
	json_text_end(&text, ']');
	read = json_loadb(text.text, text.len, 0, NULL);
	assert_int_equal(json_array_size(read), 5000);
	assert_int_equal(json_integer_value(json_array_get(read, 4999)), 4999);
	json_decref(read);
	json_text_done(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_of_every_kind),
		cmocka_unit_test(strings_are_escaped),
		cmocka_unit_test(it_grows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
