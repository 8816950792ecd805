/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UTF-8 by RFC 3629, whole and in pieces: overlong forms, surrogates and values
 * past U+10FFFF are ill-formed, and are known to be at the first byte that
 * cannot follow (Unicode's maximal subparts).
 *
 * Invariants:
 *  U1. How the text is cut into calls changes no answer.
 *  U2. Nothing past `len` is read.
 */
#ifndef SLUICE_CORE_UTF8_H
#define SLUICE_CORE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UTF8_MAX	     4u
#define UTF8_REPLACEMENT     "\xef\xbf\xbd"
#define UTF8_REPLACEMENT_LEN 3u

/* A sequence under way; have is 0 between runes. */
struct utf8 {
	uint8_t bytes[UTF8_MAX];
	uint8_t have;
};

enum utf8_step {
	UTF8_MORE, /* the sequence goes on */
	UTF8_DONE, /* bytes[0..have) is one rune; the caller clears have */
	UTF8_ILL,  /* byte does not continue it, and was not taken */
};

enum utf8_step utf8_push(struct utf8 *utf8, uint8_t byte);

/* Length of the sequence that a lead byte begins, or 0 where none does. */
unsigned int utf8_length(uint8_t lead);

/*
 * Length of the one rune at text: 0 where it is ill-formed, or where fewer than
 * all its bytes are there.
 */
unsigned int utf8_rune(const uint8_t *text, size_t len);

/* Length of the ASCII at the front. */
size_t utf8_ascii(const uint8_t *text, size_t len);

/* Length of the well-formed text at the front, in whole runes; *ret_runes is their count. */
size_t utf8_prefix(const uint8_t *text, size_t len, uint64_t *ret_runes);

/* Runes of text that is well-formed. */
uint64_t utf8_count(const uint8_t *text, size_t len);

/*
 * Takes text that has to be well-formed, in pieces: returns how many of len bytes it took,
 * all of them but from the one on that shows that it is not. last: the text ends with
 * them, inside a rune it may not.
 */
size_t utf8_take(struct utf8 *utf8, const uint8_t *text, size_t len, bool last);

/* Writes a scalar value, or a surrogate as three bytes; returns the length. */
unsigned int utf8_encode(uint32_t rune, uint8_t ret_bytes[UTF8_MAX]);

static inline bool utf8_is_high_surrogate(uint32_t unit)
{
	return unit >= 0xd800 && unit <= 0xdbff;
}

static inline bool utf8_is_low_surrogate(uint32_t unit)
{
	return unit >= 0xdc00 && unit <= 0xdfff;
}

/* Bytes that so many runes take of well-formed text, which has as many. */
size_t utf8_bytes(const uint8_t *text, size_t len, uint64_t runes);

#endif
