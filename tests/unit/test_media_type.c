/* SPDX-License-Identifier: Apache-2.0 */
/* How a body is read by its Content-Type. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "core/media_type.h"

static const struct {
	const char *value;
	enum media_class media;
} types[] = {
	{"application/json", MEDIA_JSON},
	{"text/json", MEDIA_JSON},
	{"application/problem+json", MEDIA_JSON},
	{"application/vnd.api+json", MEDIA_JSON},
	{"model/gltf+json", MEDIA_JSON},
	{"application/x-ndjson", MEDIA_LINES},
	{"application/ndjson", MEDIA_LINES},
	{"application/jsonl", MEDIA_LINES},
	{"application/x-jsonlines", MEDIA_LINES},
	{"application/json-lines", MEDIA_LINES},
	{"application/jsonlines", MEDIA_LINES},
	{"application/stream+json", MEDIA_LINES},
	{"text/event-stream", MEDIA_SSE},
	{"application/vnd.amazon.eventstream", MEDIA_EVENTSTREAM},
	{"application/x-www-form-urlencoded", MEDIA_FORM},
	{"text/plain", MEDIA_TEXT},
	{"text/html", MEDIA_TEXT},
	{"text/x-anything", MEDIA_TEXT},
	{"application/xml", MEDIA_TEXT},
	{"application/soap+xml", MEDIA_TEXT},
	{"image/svg+xml", MEDIA_TEXT},
	{"application/javascript", MEDIA_TEXT},
	{"application/x-javascript", MEDIA_TEXT},
	{"application/yaml", MEDIA_TEXT},
	{"application/x-yaml", MEDIA_TEXT},
	{"application/graphql", MEDIA_TEXT},
	{"application/toml", MEDIA_TEXT},
	{"application/x-sh", MEDIA_TEXT},
	{"multipart/form-data; boundary=x", MEDIA_TEXT},
	{"multipart/mixed; boundary=\"a;b, c\\\"\"", MEDIA_TEXT},
	{"application/octet-stream", MEDIA_OPAQUE},
	{"application/json-seq", MEDIA_OPAQUE},
	{"application/geo+json-seq", MEDIA_OPAQUE},
	{"application/+json", MEDIA_OPAQUE},
	{"application/jsonx", MEDIA_OPAQUE},
	{"application/xjson", MEDIA_OPAQUE},
	{"application/+xml", MEDIA_OPAQUE},
	{"application/event-stream", MEDIA_OPAQUE},
	{"application/pdf", MEDIA_OPAQUE},
	{"application/grpc", MEDIA_OPAQUE},
	{"application/grpc+proto", MEDIA_OPAQUE},
	{"application/grpc+json", MEDIA_OPAQUE},
	{"application/grpc-web", MEDIA_OPAQUE},
	{"application/grpc-web+proto", MEDIA_OPAQUE},
	{"application/grpc-web+json", MEDIA_OPAQUE},
	{"application/grpc-web-text", MEDIA_OPAQUE},
	{"application/grpc-web-text+proto", MEDIA_OPAQUE},
	{"application/connect+proto", MEDIA_OPAQUE},
	{"application/connect+json", MEDIA_OPAQUE},
	{"application/vnd.amazon.eventstream+json", MEDIA_JSON},
	{"text/vnd.amazon.eventstream", MEDIA_TEXT},
	{"image/png", MEDIA_OPAQUE},
	{"audio/mpeg", MEDIA_OPAQUE},
	{"*/*", MEDIA_OPAQUE},
	/* What is malformed has no type. */
	{"", MEDIA_OPAQUE},
	{"text", MEDIA_OPAQUE},
	{"text/", MEDIA_OPAQUE},
	{"/plain", MEDIA_OPAQUE},
	{"text/plain ", MEDIA_OPAQUE},
	{"text /plain", MEDIA_OPAQUE},
	{"text/ plain", MEDIA_OPAQUE},
	{"text/plain/x", MEDIA_OPAQUE},
	{"text/plain x", MEDIA_OPAQUE},
	{"text/plain,text/plain", MEDIA_OPAQUE},
	{"text/event-stream, text/plain", MEDIA_OPAQUE},
	{"text/plain; x", MEDIA_OPAQUE},
	{"text/plain; x=", MEDIA_OPAQUE},
	{"text/plain; =x", MEDIA_OPAQUE},
	{"text/plain; x =y", MEDIA_OPAQUE},
	{"text/plain; x= y", MEDIA_OPAQUE},
	{"text/plain; x=y z", MEDIA_OPAQUE},
	{"text/plain; x=\"y", MEDIA_OPAQUE},
	{"text/plain; x=\"y\"z", MEDIA_OPAQUE},
	{"text/plain; x=\"y\x01\"", MEDIA_OPAQUE},
	{"text/plain; x=y, text/html", MEDIA_OPAQUE},
	{"t\xc3\xa9xt/plain", MEDIA_OPAQUE},
};

static const char *const parameters[] = {
	";",
	" ; ",
	";;",
	";x=y",
	"; x=y ;z=\"\"",
	";charset=utf-8",
	"; charset=\"utf-8\"",
	"; charset=\"\\u\\t\\f-8\"",
	"; charset=utf8",
	"; charset=us-ascii",
	"; charset=iso-8859-1",
	"; charset=windows-1252; charset=utf-8",
	"; xcharset=utf-16",
	"; charset*=utf-16",
	"; x=\"; charset=utf-16\"",
};

static const char *const charsets[] = {
	"; charset=utf-16",
	"; charset=utf-16le",
	"; charset=\"utf-7\"",
	"; charset=utf-7; charset=utf-8",
	"; charset=utf-8; charset=utf-7",
	"; charset=ibm037",
	"; charset=utf",
	"; charset=utf-88",
	"; charset=\"\"",
	"; charset=\"utf-8 \"",
	"; charset=iso-8859-1-and-more-than-fits",
	"; x=y; charset=utf-32; z=\"\"",
};

/* From memory of its own size, so that reading past it is seen; and in capitals. */
static void check(const char *type, const char *more, enum media_class media)
{
	size_t len = strlen(type) + strlen(more);
	char text[256];
	uint8_t *copy = malloc(len + !len);

	assert_non_null(copy);
	snprintf(text, sizeof(text), "%s%s", type, more);
	memcpy(copy, text, len);
	if (media_type_class(copy, len) != media)
		fail_msg("'%s': %d, expected %d", text, media_type_class(copy, len), media);
	for (size_t i = 0; i < len; i++)
		copy[i] = (uint8_t)toupper(copy[i]);
	assert_int_equal(media_type_class(copy, len), media);
	free(copy);
}

static void kinds(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		check(types[i].value, "", types[i].media);
}

static void parameters_that_change_nothing(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		for (size_t j = 0; j < ARRAY_SIZE(parameters); j++)
			if (types[i].media != MEDIA_OPAQUE)
				check(types[i].value, parameters[j], types[i].media);
}

/* JSON is UTF-8 whatever its label says. */
static void charsets_that_hide_text(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		enum media_class media = types[i].media;

		if (media != MEDIA_JSON && media != MEDIA_LINES)
			media = MEDIA_OPAQUE;
		for (size_t j = 0; j < ARRAY_SIZE(charsets); j++)
			check(types[i].value, charsets[j], media);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds),
		cmocka_unit_test(parameters_that_change_nothing),
		cmocka_unit_test(charsets_that_hide_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
