/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What reads short texts: UTF-8, percent-encoding, media types, WebSocket's extensions,
 * the first bytes of a connection. Each beside something that is too simple to be wrong.
 */
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "core/http1_websocket.h"
#include "core/identify.h"
#include "core/media_type.h"
#include "core/percent.h"
#include "core/utf8.h"
#include "fuzz/fuzz.h"
#include "fuzz/targets.h"

#define MEDIA_MAX 512u

/* The value of the sequence at text, by the table of RFC 3629 3 read from its values. */
static size_t plain_rune(const uint8_t *text, size_t len)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	uint8_t lead = text[0];
	size_t size = lead < 0x80	  ? 1
		      : lead >> 5 == 6	  ? 2
		      : lead >> 4 == 0xe  ? 3
		      : lead >> 3 == 0x1e ? 4
					  : 0;
	uint32_t rune = size == 1 ? lead : lead & (0x7fu >> size);

	if (!size || size > len)
		return 0;
	for (size_t i = 1; i < size; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		rune = rune << 6 | (text[i] & 0x3f);
	}
	if (rune < least[size] || rune > 0x10ffff || (rune >= 0xd800 && rune <= 0xdfff))
		return 0;
	return size;
}

/* Byte by byte: every sequence that is whole is a rune, and what is ill is told at once. */
static void check_push(const uint8_t *text, size_t len)
{
	struct utf8 utf8 = {0};
	uint8_t encoded[UTF8_MAX];

	for (size_t i = 0; i < len; i++) {
		uint8_t have = utf8.have;
		enum utf8_step step = utf8_push(&utf8, text[i]);

		if (step == UTF8_DONE) {
			fuzz_check(plain_rune(utf8.bytes, utf8.have) == utf8.have);
			fuzz_check(utf8.have == utf8_length(utf8.bytes[0]));
			utf8.have = 0;
		} else if (step == UTF8_ILL) {
			/* Nothing could have made it well-formed. */
			memcpy(encoded, text + i - have, have);
			for (unsigned int c = 0x80; have == 3 && c < 0xc0; c++) {
				encoded[3] = (uint8_t)c;
				fuzz_check(text[i] != c || !plain_rune(encoded, 4));
			}
			utf8.have = 0;
		}
	}
}

static void check_utf8(const uint8_t *text, size_t len)
{
	size_t at = 0;
	uint64_t runes = 0, counted = 0;

	while (at < len) {
		size_t size = plain_rune(text + at, len - at);

		fuzz_check(utf8_rune(text + at, len - at) == size);
		if (!size)
			break;
		at += size;
		runes++;
	}
	fuzz_check(utf8_prefix(text, len, &counted) == at);
	fuzz_check(counted == runes);
	check_push(text, len);
}

static int hex(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static size_t plain_percent(const uint8_t *text, size_t len, bool plus, uint8_t *out)
{
	size_t count = 0;

	for (size_t i = 0; i < len; i++) {
		if (text[i] == '%' && i + 2 < len && hex(text[i + 1]) >= 0 &&
		    hex(text[i + 2]) >= 0) {
			out[count++] = (uint8_t)(hex(text[i + 1]) << 4 | hex(text[i + 2]));
			i += 2;
		} else {
			out[count++] = plus && text[i] == '+' ? ' ' : text[i];
		}
	}
	return count;
}

static void check_percent(const struct fuzz_input *input, bool plus)
{
	struct percent percent = {.plus = plus};
	size_t room = 3 + input->options[0], at = 0, n = 0, count = 0, plain;
	uint8_t *got = malloc(input->len + 3), *expected = malloc(input->len + 1);

	fuzz_check(got && expected);
	while (at < input->len) {
		size_t size = MIN(fuzz_cut(input, n++), input->len - at), used;
		uint8_t *copy = fuzz_copy(input->data + at, size), *out = malloc(room);
		size_t more = percent_decode(&percent, copy, size, out, room, &used);

		fuzz_check(used <= size && more <= room && used + more > 0);
		fuzz_check(count + more <= input->len);
		memcpy(got + count, out, more);
		count += more;
		at += used;
		free(copy);
		free(out);
	}
	count += percent_end(&percent, got + count);
	plain = plain_percent(input->data, input->len, plus, expected);
	fuzz_check(count == plain && memcmp(got, expected, plain) == 0);
	free(got);
	free(expected);
}

static uint8_t other_case(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ? c ^ 0x20 : c;
}

/* Neither a media type nor an extension depends on the case of its letters. */
static void check_case(const uint8_t *text, size_t len)
{
	uint8_t *same = fuzz_copy(text, len), *other = fuzz_copy(text, len);
	struct http1_websocket a = {0}, b = {0};
	bool a_unknown = false, b_unknown = false;

	for (size_t i = 0; i < len; i++)
		other[i] = other_case(other[i]);
	fuzz_check(media_type_class(same, len) < _MEDIA_CLASS_MAX);
	fuzz_check(media_type_class(same, len) == media_type_class(other, len));
	http1_websocket_extensions((struct http1_slice){same, len}, &a, &a_unknown);
	http1_websocket_extensions((struct http1_slice){other, len}, &b, &b_unknown);
	fuzz_check(a_unknown == b_unknown && a.deflate == b.deflate);
	fuzz_check(a.client_no_context_takeover == b.client_no_context_takeover);
	fuzz_check(a.server_no_context_takeover == b.server_no_context_takeover);
	free(same);
	free(other);
}

/* Once it is known more bytes change nothing, and IDENTIFY_MAX bytes are enough. */
static void check_identify(const uint8_t *text, size_t len)
{
	enum identity known = IDENTITY_MORE;

	for (size_t i = 0; i <= MIN(len, (size_t)IDENTIFY_MAX); i++) {
		uint8_t *copy = fuzz_copy(text, i);
		enum identity now = identify(copy, i);

		fuzz_check(known == IDENTITY_MORE || now == known);
		fuzz_check(i < IDENTIFY_MAX || now != IDENTITY_MORE);
		known = now;
		free(copy);
	}
}

void fuzz_words(const uint8_t *bytes, size_t len)
{
	struct fuzz_input input;

	if (!fuzz_input_init(&input, bytes, len))
		return;
	check_utf8(input.data, input.len);
	check_percent(&input, false);
	check_percent(&input, true);
	check_case(input.data, MIN(input.len, (size_t)MEDIA_MAX));
	check_identify(input.data, input.len);
}
