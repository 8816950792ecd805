/* SPDX-License-Identifier: Apache-2.0 */
#include "core/http1_grammar.h"

#include <string.h>

#define TEXT  (HTTP1_VALUE | HTTP1_TARGET | HTTP1_QDTEXT)
#define TOKEN (TEXT | HTTP1_TCHAR)
#define ALPHA (TOKEN | HTTP1_HOST)

const uint8_t http1_sets[256] = {
	['\t'] = HTTP1_VALUE | HTTP1_QDTEXT,
	[' '] = HTTP1_VALUE | HTTP1_QDTEXT,
	['!'] = ALPHA,
	['"'] = HTTP1_VALUE | HTTP1_TARGET,
	['#'] = HTTP1_VALUE | HTTP1_QDTEXT | HTTP1_TCHAR,
	['$' ... '\''] = ALPHA,
	['(' ... ')'] = TEXT | HTTP1_HOST,
	['*' ... '+'] = ALPHA,
	[','] = TEXT | HTTP1_HOST,
	['-' ... '.'] = ALPHA,
	['/'] = TEXT,
	['0' ... '9'] = ALPHA | HTTP1_DIGIT | HTTP1_HEX,
	[':'] = TEXT,
	[';'] = TEXT | HTTP1_HOST,
	['<'] = TEXT,
	['='] = TEXT | HTTP1_HOST,
	['>' ... '@'] = TEXT,
	['A' ... 'F'] = ALPHA | HTTP1_HEX,
	['G' ... 'Z'] = ALPHA,
	['['] = TEXT,
	['\\'] = HTTP1_VALUE | HTTP1_TARGET,
	[']'] = TEXT,
	['^'] = TOKEN,
	['_'] = ALPHA,
	['`'] = TOKEN,
	['a' ... 'f'] = ALPHA | HTTP1_HEX,
	['g' ... 'z'] = ALPHA,
	['{'] = TEXT,
	['|'] = TOKEN,
	['}'] = TEXT,
	['~'] = ALPHA,
	[0x80 ... 0xff] = TEXT,
};

size_t http1_span(struct http1_slice text, unsigned int set)
{
	size_t len = 0;

	while (len < text.len && http1_sets[text.at[len]] & set)
		len++;
	return len;
}

bool http1_all(struct http1_slice text, unsigned int set)
{
	return text.len && http1_span(text, set) == text.len;
}

bool http1_equal(struct http1_slice text, const char *lower)
{
	if (text.len != strlen(lower))
		return false;
	for (size_t i = 0; i < text.len; i++) {
		uint8_t byte = text.at[i];

		if (byte >= 'A' && byte <= 'Z')
			byte |= 0x20;
		if (byte != (uint8_t)lower[i])
			return false;
	}
	return true;
}

size_t http1_quoted(struct http1_slice text)
{
	size_t at = 1;

	if (!text.len || text.at[0] != '"')
		return 0;
	while (at < text.len && text.at[at] != '"') {
		unsigned int set = HTTP1_QDTEXT;

		if (text.at[at] == '\\') {
			at++;
			set = HTTP1_VALUE;
		}
		if (at == text.len || !(http1_sets[text.at[at]] & set))
			return 0;
		at++;
	}
	return at < text.len ? at + 1 : 0;
}

struct http1_slice http1_trim(struct http1_slice text)
{
	while (text.len && (text.at[0] == ' ' || text.at[0] == '\t')) {
		text.at++;
		text.len--;
	}
	while (text.len && (text.at[text.len - 1] == ' ' || text.at[text.len - 1] == '\t'))
		text.len--;
	return text;
}

struct http1_slice http1_until(struct http1_slice *rest, uint8_t byte)
{
	const uint8_t *end = rest->len ? memchr(rest->at, byte, rest->len) : NULL;
	struct http1_slice text = *rest;

	if (!end) {
		*rest = (struct http1_slice){0};
		return text;
	}
	text.len = (size_t)(end - text.at);
	rest->at += text.len + 1;
	rest->len -= text.len + 1;
	return text;
}

bool http1_list_next(struct http1_slice *rest, struct http1_slice *ret_item)
{
	if (!rest->at)
		return false;
	*ret_item = http1_trim(http1_until(rest, ','));
	return true;
}
