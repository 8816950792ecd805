/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AWS event streams against a reference that has the whole input before it and a CRC of
 * its own, in every cut.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "core/frame_eventstream.h"
#include "unit/piece_story.h"

static void codec_init(void *frame, const void *limit)
{
	frame_eventstream_init(frame, *(const uint64_t *)limit);
}

static enum fault codec_next(void *frame, const uint8_t *data, size_t len,
			     struct h2_piece *ret_piece)
{
	struct piece piece;
	enum fault fault = frame_eventstream_next(frame, data, len, &piece);

	if (!fault)
		*ret_piece = piece_of_none(&piece);
	return fault;
}

static bool codec_partial(const void *frame)
{
	return frame_eventstream_partial(frame);
}

/* ISO 3309, bit by bit. */
static uint32_t crc_of(const uint8_t *data, size_t len)
{
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < len; i++) {
		crc ^= data[i];
		for (unsigned int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	}
	return ~crc;
}

static uint64_t number_at(const uint8_t *data, size_t len)
{
	uint64_t value = 0;

	for (size_t i = 0; i < len; i++)
		value = value << 8 | data[i];
	return value;
}

struct reference {
	const uint8_t *data;
	size_t len, at, end; /* end: of the headers */
	struct piece_story *story;
};

static bool refuse(struct reference *ref, enum fault fault, size_t at)
{
	piece_tell_fault(ref->story, fault, at);
	return false;
}

/* Returns whether all of the text is there, and is text. */
static bool reference_text(struct reference *ref, size_t len)
{
	size_t there = MIN(len, ref->len - ref->at);
	size_t ill = piece_ill_at(ref->data + ref->at, there, len);

	piece_tell_bytes(ref->story, 'M', 0, ref->data + ref->at, MIN(ill, there));
	if (ill != SIZE_MAX)
		return refuse(ref, FAULT_BAD_UTF8, ref->at + ill);
	ref->at += there;
	return there == len;
}

static bool reference_string(struct reference *ref)
{
	size_t len;

	if (ref->len - ref->at < 2)
		return false;
	len = number_at(ref->data + ref->at, 2);
	if (len > ref->end - ref->at - 2)
		return refuse(ref, FAULT_BAD_FRAME, ref->at + 1);
	ref->at += 2;
	return reference_text(ref, len);
}

/* A value that is written out. */
static bool reference_written(struct reference *ref, unsigned int type, size_t len)
{
	const uint8_t *value = ref->data + ref->at;
	char text[64] = "";

	if (ref->len - ref->at <= len)
		return false;
	ref->at += len;
	if (type < 2) {
		strcpy(text, type == 0 ? "true" : "false");
	} else if (type == 9) {
		snprintf(text, sizeof(text),
			 "%08" PRIx64 "-%04" PRIx64 "-%04" PRIx64 "-%04" PRIx64 "-%012" PRIx64,
			 number_at(value, 4), number_at(value + 4, 2), number_at(value + 6, 2),
			 number_at(value + 8, 2), number_at(value + 10, 6));
	} else {
		uint64_t sign = (uint64_t)1 << (8 * len - 1), bits = number_at(value, len);

		snprintf(text, sizeof(text), "%" PRId64, (int64_t)((bits ^ sign) - sign));
	}
	piece_tell_bytes(ref->story, 'M', 0, text, strlen(text));
	return true;
}

static bool reference_header(struct reference *ref)
{
	static const size_t sizes[] = {0, 0, 1, 2, 4, 8, 2, 2, 8, 16};
	size_t name = ref->data[ref->at];
	unsigned int type;

	if (!name || ref->end - ref->at < name + 2)
		return refuse(ref, FAULT_BAD_FRAME, ref->at);
	ref->at++;
	if (!reference_text(ref, name) || ref->at == ref->len)
		return false;
	type = ref->data[ref->at];
	if (type > 9 || sizes[type] > ref->end - ref->at - 1)
		return refuse(ref, FAULT_BAD_FRAME, ref->at);
	if (++ref->at == ref->len)
		return false;
	piece_tell_bytes(ref->story, 'M', 0, ": ", 2);
	if (type == 6 || type == 7 ? !reference_string(ref)
				   : !reference_written(ref, type, sizes[type]))
		return false;
	if (ref->at == ref->len)
		return false;
	piece_tell_meta_end(ref->story);
	return true;
}

static bool reference_message(struct reference *ref, uint64_t limit)
{
	size_t start = ref->at, left = ref->len - start, total, headers, payload, there;
	const uint8_t *data = ref->data + start;

	if (left < 12)
		return false;
	total = number_at(data, 4);
	headers = number_at(data + 4, 4);
	if (number_at(data + 8, 4) != crc_of(data, 8) || total < headers + 16)
		return refuse(ref, FAULT_BAD_FRAME, start + 11);
	payload = total - headers - 16;
	if (payload > limit || headers > 131072)
		return refuse(ref, FAULT_TOO_LARGE, start + 11);
	ref->at += 12;
	ref->end = ref->at + headers;
	while (ref->at < ref->end)
		if (ref->at == ref->len || !reference_header(ref))
			return false;
	there = MIN(payload, ref->len - ref->at);
	piece_tell_bytes(ref->story, 'D', 0, ref->data + ref->at, there);
	if (left < total)
		return false;
	ref->at = start + total;
	if (number_at(data + total - 4, 4) != crc_of(data, total - 4))
		return refuse(ref, FAULT_BAD_FRAME, ref->at - 1);
	piece_tell_message(ref->story, 0, ref->at);
	return true;
}

static void reference(const void *limit, const uint8_t *data, size_t len, struct piece_story *story)
{
	struct reference ref = {.data = data, .len = len, .story = story};

	while (ref.at < len && !story->partial)
		story->partial = !reference_message(&ref, *(const uint64_t *)limit);
}

static const struct piece_codec codec = {
	.size = sizeof(struct frame_eventstream),
	.init = codec_init,
	.next = codec_next,
	.partial = codec_partial,
	.reference = reference,
};

static const uint64_t limit = 1000;

static void add_prelude(struct piece_bytes *input, uint32_t total, uint32_t headers)
{
	size_t start = input->len;

	piece_add_number(input, total, 4);
	piece_add_number(input, headers, 4);
	piece_add_number(input, crc_of(input->data + start, 8), 4);
}

static void add_message(struct piece_bytes *input, const void *headers, size_t headers_len,
			const char *payload)
{
	size_t start = input->len, len = strlen(payload);

	add_prelude(input, (uint32_t)(headers_len + len + 16), (uint32_t)headers_len);
	piece_add(input, headers, headers_len);
	piece_add(input, payload, len);
	piece_add_number(input, crc_of(input->data + start, input->len - start), 4);
}

static void check(const struct piece_bytes *input, const char *text, bool partial)
{
	piece_check_text(&codec, &limit, input->data, input->len, text, partial);
}

/* One message, without payload, of these headers. */
#define CHECK_HEADERS(headers, text)                                   \
	do {                                                           \
		struct piece_bytes input = {.len = 0};                 \
                                                                       \
		add_message(&input, headers, sizeof(headers) - 1, ""); \
		check(&input, text, false);                            \
	} while (0)

/* As the SDKs test it: the CRCs are AWS's. */
static void a_message_of_the_specification(void **state)
{
	static const uint8_t data[] = {
		0x00, 0x00, 0x00, 0x3d, 0x00, 0x00, 0x00, 0x20, 0x07, 0xfd, 0x83, 0x96, 0x0c,
		'c',  'o',  'n',  't',	'e',  'n',  't',  '-',	't',  'y',  'p',  'e',	0x07,
		0x00, 0x10, 'a',  'p',	'p',  'l',  'i',  'c',	'a',  't',  'i',  'o',	'n',
		'/',  'j',  's',  'o',	'n',  '{',  '\'', 'f',	'o',  'o',  '\'', ':',	'\'',
		'b',  'a',  'r',  '\'', '}',  0x8d, 0x9c, 0x08, 0xb1,
	};
	static const uint8_t empty[] = {0x00, 0x00, 0x00, 0x10, 0x00, 0x00, 0x00, 0x00,
					0x05, 0xc2, 0x48, 0xeb, 0x7d, 0x98, 0xc8, 0xff};

	(void)state;
	piece_check_text(&codec, &limit, data, sizeof(data),
			 "M(content-type: application/json).D({'foo':'bar'})E@61 ", false);
	piece_check_text(&codec, &limit, empty, sizeof(empty), "E@16 ", false);
}

static void messages_one_after_another(void **state)
{
	struct piece_bytes input = {.len = 0};

	(void)state;
	add_message(&input, "\1a\7\0\1b\2cd\0", 10, "one");
	add_message(&input, "", 0, "two");
	check(&input, "M(a: b).M(cd: true).D(one)E@29 D(two)E@48 ", false);
	input.len -= 1;
	check(&input, "M(a: b).M(cd: true).D(one)E@29 D(two)", true);
}

static void values_of_every_type(void **state)
{
	(void)state;
	CHECK_HEADERS("\1a\0\1b\1", "M(a: true).M(b: false).E@22 ");
	CHECK_HEADERS("\1a\2\x80\1b\2\x7f", "M(a: -128).M(b: 127).E@24 ");
	CHECK_HEADERS("\1a\3\x80\0\1b\3\0\1", "M(a: -32768).M(b: 1).E@26 ");
	CHECK_HEADERS("\1a\4\xff\xff\xff\xff", "M(a: -1).E@23 ");
	CHECK_HEADERS("\1a\5\x80\0\0\0\0\0\0\0", "M(a: -9223372036854775808).E@27 ");
	CHECK_HEADERS("\1a\x08\0\0\1\x90\0\0\0\0", "M(a: 1717986918400).E@27 ");
	CHECK_HEADERS("\1a\6\0\2xy\1b\7\0\0", "M(a: xy).M(b: ).E@28 ");
	CHECK_HEADERS("\1a\x09\x01\x23\x45\x67\x89\xab\xcd\xef\xfe\xdc\xba\x98\x76\x54\x32\x10",
		      "M(a: 01234567-89ab-cdef-fedc-ba9876543210).E@35 ");
}

static void headers_that_do_not_fit(void **state)
{
	(void)state;
	CHECK_HEADERS("\0a\0", "F(bad_frame)@12");
	CHECK_HEADERS("\2a\0", "F(bad_frame)@12");
	CHECK_HEADERS("\1a\x0a", "M(a)F(bad_frame)@14");
	CHECK_HEADERS("\1a\4\0\0\0", "M(a)F(bad_frame)@14");
	CHECK_HEADERS("\1a\7\0", "M(a)F(bad_frame)@14");
	CHECK_HEADERS("\1a\7\0\3xy", "M(a: )F(bad_frame)@16");
	CHECK_HEADERS("\1a\0\1", "M(a: true).F(bad_frame)@15");
	CHECK_HEADERS("\1a\0\1b", "M(a: true).F(bad_frame)@15");
}

static void names_and_strings_are_utf8(void **state)
{
	(void)state;
	CHECK_HEADERS("\2\xc3\xa9\7\0\3\xe6\xb0\xb4", "M(\xc3\xa9: \xe6\xb0\xb4).E@25 ");
	CHECK_HEADERS("\1\xc3\0", "F(bad_utf8)@13");
	CHECK_HEADERS("\2x\xff\0", "M(x)F(bad_utf8)@14");
	CHECK_HEADERS("\1a\7\0\3\xed\xa0\x80", "M(a: \xed)F(bad_utf8)@18");
	CHECK_HEADERS("\1a\6\0\3x\xe6\xb0", "M(a: x\xe6)F(bad_utf8)@19");
	CHECK_HEADERS("\1a\6\0\1\xfe", "M(a: )F(bad_utf8)@17");
}

static void every_crc_is_checked(void **state)
{
	struct piece_bytes input = {.len = 0};

	(void)state;
	add_message(&input, "\1a\7\0\1b", 6, "payload");
	for (size_t i = 0; i < input.len; i++) {
		struct piece_story story;

		input.data[i] ^= 4;
		piece_check(&codec, &limit, input.data, input.len, &story);
		assert_true(story.fault == FAULT_BAD_FRAME);
		piece_story_done(&story);
		input.data[i] ^= 4;
	}
	check(&input, "M(a: b).D(payload)E@29 ", false);
}

static void lengths(void **state)
{
	static const struct {
		uint32_t total, headers;
		const char *text;
	} cases[] = {
		{15, 0, "F(bad_frame)@11"},
		{0, 0, "F(bad_frame)@11"},
		{16, 1, "F(bad_frame)@11"},
		{UINT32_MAX, UINT32_MAX, "F(bad_frame)@11"},
		{1016, 0, ""},
		{1017, 0, "F(too_large)@11"},
		{UINT32_MAX, 0, "F(too_large)@11"},
		{16 + 131072, 131072, ""},
		{16 + 131073, 131073, "F(too_large)@11"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct piece_bytes input = {.len = 0};

		add_prelude(&input, cases[i].total, cases[i].headers);
		check(&input, cases[i].text, !*cases[i].text);
	}
}

static void add_random_header(struct piece_bytes *headers, unsigned int *seed)
{
	static const struct {
		const char *text;
		size_t len;
	} parts[] = {
		{"\1a\0", 3},
		{"\1b\1", 3},
		{"\3:xy\2", 5},
		{"\xff", 1},
		{"\2cd\3\1\2", 6},
		{"\1i\4\xff\xff\xff\0", 7},
		{"\1l\5\xff\xff\xff\xff\xff\xff\xff\xfe", 11},
		{"\1s\7\0\3\xe6\xb0\xb4", 8},
		{"\1s\6\0\2xy", 7},
		{"\1t\x08\0\0\1\x90\0\0\0\0", 11},
		{"\1u\x09"
		 "0123456789abcdef",
		 19},
		{"\2\xc3\xa9\7\0\0", 6},
	};
	size_t i = piece_random(seed) % ARRAY_SIZE(parts), at = headers->len;

	piece_add(headers, parts[i].text, parts[i].len);
	if (piece_random(seed) % 8 == 0)
		headers->data[at + piece_random(seed) % parts[i].len] ^=
			(uint8_t)(1u << piece_random(seed) % 8);
}

static void random_inputs(void **state)
{
	unsigned int seed = 20240615;
	size_t faults = 0, messages = 0;

	(void)state;
	for (size_t round = 0; round < 4000; round++) {
		struct piece_bytes input = {.len = 0};
		struct piece_story story;

		for (size_t i = piece_random(&seed) % 4; i > 0; i--) {
			struct piece_bytes headers = {.len = 0};

			for (size_t j = piece_random(&seed) % 5; j > 0; j--)
				add_random_header(&headers, &seed);
			add_message(&input, headers.data, headers.len,
				    piece_random(&seed) % 2 ? "{\"bytes\":\"\"}" : "");
		}
		if (input.len && piece_random(&seed) % 4 == 0)
			input.data[piece_random(&seed) % input.len] ^=
				(uint8_t)(1u << piece_random(&seed) % 8);
		if (input.len && piece_random(&seed) % 3 == 0)
			input.len = piece_random(&seed) % input.len;
		piece_check_random(&codec, &limit, input.data, input.len, 5, &seed);
		piece_run(&codec, &limit, input.data, input.len, 1, 1, &story);
		faults += story.fault != FAULT_NONE;
		messages += memmem(story.text, story.len, "E@", 2) != NULL;
		piece_story_done(&story);
	}
	assert_true(faults > 500 && messages > 500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_message_of_the_specification),
		cmocka_unit_test(messages_one_after_another),
		cmocka_unit_test(values_of_every_type),
		cmocka_unit_test(headers_that_do_not_fit),
		cmocka_unit_test(names_and_strings_are_utf8),
		cmocka_unit_test(every_crc_is_checked),
		cmocka_unit_test(lengths),
		cmocka_unit_test(random_inputs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
