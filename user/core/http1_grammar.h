/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the grammars of HTTP have in common (RFC 9110 5.6): sets of characters, case,
 * lists and quoted strings.
 */
#ifndef SLUICE_CORE_HTTP1_GRAMMAR_H
#define SLUICE_CORE_HTTP1_GRAMMAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sets of characters, as bits. */
#define HTTP1_TCHAR  (1u << 0) /* of a token */
#define HTTP1_VALUE  (1u << 1) /* field-vchar with obs-text, SP and HTAB */
#define HTTP1_TARGET (1u << 2) /* VCHAR and obs-text, but no fragment */
#define HTTP1_QDTEXT (1u << 3) /* of a quoted string, unescaped */
#define HTTP1_HOST   (1u << 4) /* reg-name of RFC 3986, '%' for all of a triplet */
#define HTTP1_DIGIT  (1u << 5)
#define HTTP1_HEX    (1u << 6)

extern const uint8_t http1_sets[256];

struct http1_slice {
	const uint8_t *at;
	size_t len;
};

static inline void http1_drop(struct http1_slice *text, size_t len)
{
	text->at += len;
	text->len -= len;
}

/* Length of what is in the set, at the front. */
size_t http1_span(struct http1_slice text, unsigned int set);
/* All of it, and at least one character. */
bool http1_all(struct http1_slice text, unsigned int set);

/* Whatever the case of ASCII's letters; lower has none in upper case. */
bool http1_equal(struct http1_slice text, const char *lower);

/* Length of the quoted string at the front, its quotes included, or 0. */
size_t http1_quoted(struct http1_slice text);

/* Without the SP and HTAB around it. */
struct http1_slice http1_trim(struct http1_slice text);

/* What is before the next such byte, which is dropped too; all, and *rest at NULL, without one. */
struct http1_slice http1_until(struct http1_slice *rest, uint8_t byte);

/*
 * The next item of a list, trimmed; an empty list has one, which is empty. False:
 * there is none. Commas in quoted strings divide too.
 */
bool http1_list_next(struct http1_slice *rest, struct http1_slice *ret_item);

/* The value of a hexadecimal digit. */
static inline uint8_t http1_hex(uint8_t digit)
{
	return (uint8_t)(digit <= '9' ? digit - '0' : (digit | 0x20) - 'a' + 10);
}

#endif
