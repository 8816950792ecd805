/* SPDX-License-Identifier: Apache-2.0 */
#include "core/utf8.h"

#include <string.h>

#include "base/macros.h"

#define HIGH_BITS 0x8080808080808080ull

unsigned int utf8_length(uint8_t lead)
{
	if (lead < 0x80)
		return 1;
	if (lead < 0xc2)
		return 0;
	if (lead < 0xe0)
		return 2;
	if (lead < 0xf0)
		return 3;
	return lead < 0xf5 ? 4 : 0;
}

/* May second follow lead? Only the second byte has bounds that depend on the lead (RFC 3629 4). */
static bool second_fits(uint8_t lead, uint8_t second)
{
	uint8_t low = 0x80, high = 0xbf;

	if (lead == 0xe0)
		low = 0xa0;
	else if (lead == 0xed)
		high = 0x9f;
	else if (lead == 0xf0)
		low = 0x90;
	else if (lead == 0xf4)
		high = 0x8f;
	return second >= low && second <= high;
}

static bool continues(uint8_t byte)
{
	return (byte & 0xc0) == 0x80;
}

enum utf8_step utf8_push(struct utf8 *utf8, uint8_t byte)
{
	if (utf8->have == 0   ? !utf8_length(byte)
	    : utf8->have == 1 ? !second_fits(utf8->bytes[0], byte)
			      : !continues(byte))
		return UTF8_ILL;
	utf8->bytes[utf8->have++] = byte;
	return utf8->have == utf8_length(utf8->bytes[0]) ? UTF8_DONE : UTF8_MORE;
}

unsigned int utf8_rune(const uint8_t *text, size_t len)
{
	unsigned int need = len ? utf8_length(text[0]) : 0;

	if (need < 2)
		return need;
	if (need > len || !second_fits(text[0], text[1]))
		return 0;
	for (unsigned int i = 2; i < need; i++)
		if (!continues(text[i]))
			return 0;
	return need;
}

size_t utf8_ascii(const uint8_t *text, size_t len)
{
	uint64_t word;
	size_t at = 0;

	for (; at + sizeof(word) <= len; at += sizeof(word)) {
		memcpy(&word, text + at, sizeof(word));
		if (word & HIGH_BITS)
			break;
	}
	while (at < len && text[at] < 0x80)
		at++;
	return at;
}

size_t utf8_prefix(const uint8_t *text, size_t len, uint64_t *ret_runes)
{
	uint64_t runes = 0;
	size_t at = 0;

	while (at < len) {
		size_t ascii = utf8_ascii(text + at, len - at);
		unsigned int n;

		at += ascii;
		runes += ascii;
		for (; at < len && text[at] >= 0x80; at += n, runes++) {
			n = utf8_rune(text + at, len - at);
			if (!n)
				goto out;
		}
	}
out:
	*ret_runes = runes;
	return at;
}

size_t utf8_take(struct utf8 *utf8, const uint8_t *text, size_t len, bool last)
{
	size_t at = 0;

	while (at < len) {
		uint64_t runes;
		size_t whole = utf8->have ? 0 : utf8_prefix(text + at, len - at, &runes);

		at += whole;
		if (at == len)
			break;
		switch (utf8_push(utf8, text[at])) {
		case UTF8_ILL:
			return at;
		case UTF8_DONE:
			utf8->have = 0;
			break;
		default:
			if (!last || at + 1 < len)
				break;
			/* It is not taken, and may be looked at again. */
			utf8->have--;
			return at;
		}
		at++;
	}
	return at;
}

uint64_t utf8_count(const uint8_t *text, size_t len)
{
	uint64_t runes = len, word;
	size_t i = 0;

	for (; i + sizeof(word) <= len; i += sizeof(word)) {
		memcpy(&word, text + i, sizeof(word));
		/* The high bit of each byte that has that and not the next. */
		word &= ~word << 1 & HIGH_BITS;
		if (word)
			runes -= (word >> 7) * (HIGH_BITS >> 7) >> 56;
	}
	for (; i < len; i++)
		runes -= (text[i] & 0xc0) == 0x80;
	return runes;
}

unsigned int utf8_encode(uint32_t rune, uint8_t ret_bytes[UTF8_MAX])
{
	if (rune < 0x80) {
		ret_bytes[0] = (uint8_t)rune;
		return 1;
	}
	if (rune < 0x800) {
		ret_bytes[0] = (uint8_t)(0xc0 | rune >> 6);
		ret_bytes[1] = (uint8_t)(0x80 | (rune & 0x3f));
		return 2;
	}
	if (rune < 0x10000) {
		ret_bytes[0] = (uint8_t)(0xe0 | rune >> 12);
		ret_bytes[1] = (uint8_t)(0x80 | (rune >> 6 & 0x3f));
		ret_bytes[2] = (uint8_t)(0x80 | (rune & 0x3f));
		return 3;
	}
	ret_bytes[0] = (uint8_t)(0xf0 | rune >> 18);
	ret_bytes[1] = (uint8_t)(0x80 | (rune >> 12 & 0x3f));
	ret_bytes[2] = (uint8_t)(0x80 | (rune >> 6 & 0x3f));
	ret_bytes[3] = (uint8_t)(0x80 | (rune & 0x3f));
	return 4;
}

size_t utf8_bytes(const uint8_t *text, size_t len, uint64_t runes)
{
	size_t at = utf8_ascii(text, (size_t)MIN((uint64_t)len, runes));

	for (runes -= at; runes; runes--)
		at += utf8_length(text[at]);
	return at;
}
