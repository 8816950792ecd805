/* SPDX-License-Identifier: Apache-2.0 */
#include "core/media_type.h"

#include "base/macros.h"
#include "core/http1_grammar.h"

#define CHARSET_MAX 16u

static const struct {
	const char *type, *subtype;
	enum media_class media;
} types[] = {
	{"application", "json", MEDIA_JSON},
	{"text", "json", MEDIA_JSON},
	{"application", "x-ndjson", MEDIA_LINES},
	{"application", "ndjson", MEDIA_LINES},
	{"application", "jsonl", MEDIA_LINES},
	{"application", "x-jsonlines", MEDIA_LINES},
	{"application", "json-lines", MEDIA_LINES},
	{"application", "jsonlines", MEDIA_LINES},
	{"application", "stream+json", MEDIA_LINES},
	{"text", "event-stream", MEDIA_SSE},
	{"application", "vnd.amazon.eventstream", MEDIA_EVENTSTREAM},
	{"application", "x-www-form-urlencoded", MEDIA_FORM},
	{"application", "xml", MEDIA_TEXT},
	{"application", "javascript", MEDIA_TEXT},
	{"application", "x-javascript", MEDIA_TEXT},
	{"application", "yaml", MEDIA_TEXT},
	{"application", "x-yaml", MEDIA_TEXT},
	{"application", "graphql", MEDIA_TEXT},
	{"application", "toml", MEDIA_TEXT},
	{"application", "x-sh", MEDIA_TEXT},
	/* JSON in messages with a binary head each. */
	{"application", "grpc+json", MEDIA_OPAQUE},
	{"application", "grpc-web+json", MEDIA_OPAQUE},
	{"application", "connect+json", MEDIA_OPAQUE},
};

/* Of these, ASCII's bytes are ASCII; what is not is evaluated as UTF-8, or refused. */
static const char *const charsets[] = {"utf-8", "utf8", "us-ascii", "iso-8859-1", "windows-1252"};

static bool ends_in(struct http1_slice text, const char *suffix, size_t len)
{
	if (text.len <= len)
		return false;
	http1_drop(&text, text.len - len);
	return http1_equal(text, suffix);
}

static enum media_class class_of(struct http1_slice type, struct http1_slice subtype)
{
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (http1_equal(type, types[i].type) && http1_equal(subtype, types[i].subtype))
			return types[i].media;
	if (ends_in(subtype, "+json", 5))
		return MEDIA_JSON;
	if (ends_in(subtype, "+xml", 4) || http1_equal(type, "text") ||
	    http1_equal(type, "multipart"))
		return MEDIA_TEXT;
	return MEDIA_OPAQUE;
}

/* value: a token or quoted string */
static bool is_superset_of_ascii(struct http1_slice value)
{
	uint8_t name[CHARSET_MAX];
	struct http1_slice text = {name, 0};
	bool quoted = value.at[0] == '"';

	for (size_t i = quoted; i < value.len - quoted; i++) {
		if (quoted && value.at[i] == '\\')
			i++;
		if (text.len == sizeof(name))
			return false;
		name[text.len++] = value.at[i];
	}
	for (size_t i = 0; i < ARRAY_SIZE(charsets); i++)
		if (http1_equal(text, charsets[i]))
			return true;
	return false;
}

/*
 * One of *( OWS ";" OWS [ parameter ] ), an empty one included. False: malformed.
 * *ascii is cleared by a charset that is no superset of it.
 */
static bool take_parameter(struct http1_slice *rest, bool *ascii)
{
	struct http1_slice name, value;
	size_t len;

	*rest = http1_trim(*rest);
	if (!rest->len || rest->at[0] != ';')
		return false;
	http1_drop(rest, 1);
	*rest = http1_trim(*rest);
	if (!rest->len || rest->at[0] == ';')
		return true;
	name = (struct http1_slice){rest->at, http1_span(*rest, HTTP1_TCHAR)};
	http1_drop(rest, name.len);
	if (!name.len || !rest->len || rest->at[0] != '=')
		return false;
	http1_drop(rest, 1);
	len = http1_quoted(*rest);
	value = (struct http1_slice){rest->at, len ? len : http1_span(*rest, HTTP1_TCHAR)};
	http1_drop(rest, value.len);
	if (!value.len)
		return false;
	if (http1_equal(name, "charset") && !is_superset_of_ascii(value))
		*ascii = false;
	return true;
}

enum media_class media_type_class(const uint8_t *value, size_t len)
{
	struct http1_slice rest = {value, len}, type, subtype;
	enum media_class media;
	bool ascii = true;

	type = (struct http1_slice){rest.at, http1_span(rest, HTTP1_TCHAR)};
	http1_drop(&rest, type.len);
	if (!type.len || !rest.len || rest.at[0] != '/')
		return MEDIA_OPAQUE;
	http1_drop(&rest, 1);
	subtype = (struct http1_slice){rest.at, http1_span(rest, HTTP1_TCHAR)};
	http1_drop(&rest, subtype.len);
	if (!subtype.len)
		return MEDIA_OPAQUE;
	while (rest.len)
		if (!take_parameter(&rest, &ascii))
			return MEDIA_OPAQUE;
	media = class_of(type, subtype);
	/* JSON is UTF-8 whatever its label says (RFC 8259 8.1). */
	return ascii || media == MEDIA_JSON || media == MEDIA_LINES ? media : MEDIA_OPAQUE;
}
