/* SPDX-License-Identifier: Apache-2.0 */
/* What the scanner tells of containers. */
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

struct heard {
	const uint8_t *data; /* of the scan under way */
	size_t offset;	     /* of it in the text */
	const struct json *json;
	char text[1024];
	size_t len;
	enum fault refuse_open, refuse_close, refuse_literal;
};

static void say(struct heard *heard, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(heard->text + heard->len, sizeof(heard->text) - heard->len, format, args);
	va_end(args);
	assert_in_range(n, 0, sizeof(heard->text) - heard->len - 1);
	heard->len += (size_t)n;
}

static enum fault hear_text(void *context, enum json_token token, unsigned int flags,
			    const uint8_t *text, size_t len, uint64_t runes)
{
	(void)token;
	(void)runes;
	say(context, "%.*s%s", (int)len, len ? (const char *)text : "",
	    flags & JSON_LAST ? "|" : "");
	return FAULT_NONE;
}

static enum fault hear_surrogate(void *context, enum json_token token, unsigned int flags,
				 uint32_t unit)
{
	(void)token;
	(void)flags;
	say(context, "<%04x>", unit);
	return FAULT_NONE;
}

static enum fault hear_literal(void *context, uint8_t first)
{
	struct heard *heard = context;

	say(heard, "%c|", first);
	return heard->refuse_literal;
}

/* Its bracket, where that is, and how deep. */
static enum fault hear_open(void *context, const uint8_t *at, bool object)
{
	struct heard *heard = context;

	assert_int_equal(*at, object ? '{' : '[');
	say(heard, "%c%zu.%u ", *at, heard->offset + (size_t)(at - heard->data),
	    heard->json->depth);
	return heard->refuse_open;
}

static enum fault hear_close(void *context, const uint8_t *end)
{
	struct heard *heard = context;

	say(heard, "%c%zu.%u ", end[-1], heard->offset + (size_t)(end - heard->data) - 1,
	    heard->json->depth);
	return heard->refuse_close;
}

static const struct json_sink sink = {
	.text = hear_text,
	.surrogate = hear_surrogate,
	.literal = hear_literal,
	.open = hear_open,
	.close = hear_close,
};

static enum fault scan(const char *text, size_t cut, struct heard *heard)
{
	size_t ends[] = {cut, strlen(text)}, at = 0, used;
	enum fault fault = FAULT_NONE;
	struct json json;

	heard->len = 0;
	heard->text[0] = '\0';
	heard->json = &json;
	json_init(&json, &sink, heard);
	for (size_t i = 0; i < ARRAY_SIZE(ends) && !fault; at = ends[i++]) {
		size_t len = ends[i] - at;
		uint8_t *copy = malloc(len + !len);

		assert_non_null(copy);
		memcpy(copy, text + at, len);
		heard->data = copy;
		heard->offset = at;
		fault = json_scan(&json, copy, len, &used);
		free(copy);
	}
	if (!fault)
		fault = json_end(&json);
	json_done(&json);
	return fault;
}

static void check(const char *text, const char *said, enum fault fault)
{
	struct heard heard = {0};

	for (size_t cut = 0; cut <= strlen(text); cut++) {
		assert_string_equal(fault_name(scan(text, cut, &heard)), fault_name(fault));
		assert_string_equal(heard.text, said);
	}
}

static void containers_open_and_close(void **state)
{
	(void)state;
	check("{}", "{0.1 }1.1 ", FAULT_NONE);
	check(" [ ] ", "[1.1 ]3.1 ", FAULT_NONE);
	check("{\"a\":[{},1,{\"b\":[]}]}",
	      "{0.1 a|[5.2 {6.3 }7.3 1|{11.3 b|[16.4 ]17.4 }18.3 ]19.2 }20.1 ", FAULT_NONE);
	check("[null,[true]]", "[0.1 n|[6.2 t|]11.2 ]12.1 ", FAULT_NONE);
	check("[}", "[0.1 ", FAULT_BAD_JSON);
}

/* What the sink returns is the scan's answer. */
static void a_sink_that_refuses(void **state)
{
	struct heard heard = {.refuse_open = FAULT_PROTOCOL};

	(void)state;
	assert_int_equal(scan("[1]", 1, &heard), FAULT_PROTOCOL);
	assert_string_equal(heard.text, "[0.1 ");
	heard.refuse_open = FAULT_NONE;
	heard.refuse_close = FAULT_PROTOCOL;
	assert_int_equal(scan("[[],1]", 1, &heard), FAULT_PROTOCOL);
	assert_string_equal(heard.text, "[0.1 [1.2 ]2.2 ");
	heard.refuse_close = FAULT_NONE;
	heard.refuse_literal = FAULT_BAD_JSON;
	assert_int_equal(scan("[null,1]", 3, &heard), FAULT_BAD_JSON);
	assert_string_equal(heard.text, "[0.1 n|");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(containers_open_and_close),
		cmocka_unit_test(a_sink_that_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
