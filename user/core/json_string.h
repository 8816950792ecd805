/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of JSON strings: runs of plain text, escapes, surrogates and UTF-8 that the
 * input's cuts have split. What an escape spells is known to others; the rest is for
 * core/json.c alone.
 */
#ifndef SLUICE_CORE_JSON_STRING_H
#define SLUICE_CORE_JSON_STRING_H

#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "core/json.h"

enum json_string_state { JSON_STRING_PLAIN = 1, JSON_STRING_ESCAPE, JSON_STRING_HEX };

#define JSON_ONES 0x0101010101010101ull
#define JSON_HIGH 0x8080808080808080ull

/* Is there a byte in word that is zero? Its high bit is set, and maybe those above it. */
static inline uint64_t json_zero_bytes(uint64_t word)
{
	return (word - JSON_ONES) & ~word & JSON_HIGH;
}

/* What a string holds as it stands, one byte a rune. */
static inline bool json_is_plain(uint8_t c)
{
	return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
}

/* First byte that is not printable ASCII, or is a quote or a backslash; or end. */
static inline const uint8_t *json_skip_plain(const uint8_t *p, const uint8_t *end)
{
#ifdef __SSE2__
	const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\');
	const __m128i space = _mm_set1_epi8(0x20);

	for (; end - p >= 16; p += 16) {
		__m128i bytes = _mm_loadu_si128((const __m128i *)p);
		/* Compared as signed, what is not ASCII is below the space as well. */
		__m128i stop = _mm_or_si128(_mm_cmplt_epi8(bytes, space),
					    _mm_or_si128(_mm_cmpeq_epi8(bytes, quote),
							 _mm_cmpeq_epi8(bytes, backslash)));
		int mask = _mm_movemask_epi8(stop);

		if (mask)
			return p + __builtin_ctz((unsigned int)mask);
	}
#endif
	for (; end - p >= 8; p += 8) {
		uint64_t word;

		memcpy(&word, p, sizeof(word));
		if ((word & JSON_HIGH) | json_zero_bytes(word ^ JSON_ONES * '"') |
		    json_zero_bytes(word ^ JSON_ONES * '\\') |
		    json_zero_bytes(word & JSON_ONES * 0xe0))
			break;
	}
	while (p < end && json_is_plain(*p))
		p++;
	return p;
}

/* Value of a hex digit; -1: it is none. */
static inline int json_hex_digit(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* What c stands for behind a backslash, or NULL. */
static inline const uint8_t *json_escaped(uint8_t c)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *at = c ? strchr(from, c) : NULL;

	return at ? (const uint8_t *)&to[at - from] : NULL;
}

/* Hands a piece of the token under way on, to the names where it is one and to the sink. */
void json_emit(struct json *json, const uint8_t *text, size_t len, uint64_t runes, bool last);

/*
 * Scans on inside a string; json->state is a json_string_state. Returns where it
 * stopped: end, the byte at fault, or past the closing quote, where *ret_closed.
 */
const uint8_t *json_string_scan(struct json *json, const uint8_t *p, const uint8_t *end,
				bool *ret_closed);

#endif
