/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/2's frames against a reference that has the whole input before it, in every cut.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "core/frame_h2.h"
#include "unit/piece_story.h"

static void codec_init(void *frame, const void *max_frame)
{
	frame_h2_init(frame, *(const uint32_t *)max_frame);
}

static enum fault codec_next(void *frame, const uint8_t *data, size_t len,
			     struct h2_piece *ret_piece)
{
	return frame_h2_next(frame, data, len, ret_piece);
}

static bool codec_partial(const void *frame)
{
	return frame_h2_partial(frame);
}

static bool refuse(struct piece_story *story, enum fault fault, size_t at)
{
	piece_tell_fault(story, fault, at);
	return false;
}

static uint64_t number_at(const uint8_t *data, size_t len)
{
	uint64_t value = 0;

	for (size_t i = 0; i < len; i++)
		value = value << 8 | data[i];
	return value;
}

/* A frame of the input, as far as it is there. */
struct frame {
	const uint8_t *data;
	size_t at, len; /* of the payload */
	size_t there;	/* bytes of it */
	uint8_t type, flags;
	uint32_t stream;
};

static bool length_fits(size_t type, size_t len)
{
	return !((type == 2 && len != 5) || (type == 3 && len != 4) || (type == 4 && len % 6) ||
		 (type == 6 && len != 8) || (type == 7 && len < 8) || (type == 8 && len != 4));
}

/* Returns whether the header is there, and right. */
static bool reference_header(struct frame *frame, size_t len, uint32_t max_frame,
			     struct piece_story *story)
{
	const uint8_t *data = frame->data;
	size_t at = frame->at, there = len - at;

	if (there < 3)
		return false;
	frame->len = number_at(data + at, 3);
	if (frame->len > max_frame)
		return refuse(story, FAULT_PROTOCOL, at + 2);
	if (there < 4)
		return false;
	frame->type = data[at + 3];
	if (frame->type == 1 || frame->type == 5 || frame->type == 9)
		return refuse(story, FAULT_UNFRAMED, at + 3);
	if (!length_fits(frame->type, frame->len))
		return refuse(story, FAULT_PROTOCOL, at + 3);
	if (there < 5)
		return false;
	frame->flags = data[at + 4];
	if ((frame->type == 0 && frame->flags & 8 && !frame->len) ||
	    (frame->type == 4 && frame->flags & 1 && frame->len))
		return refuse(story, FAULT_PROTOCOL, at + 4);
	if (there < 9)
		return false;
	frame->stream = (uint32_t)number_at(data + at + 5, 4) & 0x7fffffff;
	if (frame->stream ? memchr("\4\6\7", frame->type, 3) : memchr("\0\2\3", frame->type, 3))
		return refuse(story, FAULT_PROTOCOL, at + 8);
	frame->at += 9;
	frame->there = MIN(frame->len, len - frame->at);
	return true;
}

static bool reference_data(const struct frame *frame, struct piece_story *story)
{
	const uint8_t *payload = frame->data + frame->at;
	size_t padded = frame->flags & 8 ? 1 : 0, padding = 0, end;

	if (padded && !frame->there)
		return false;
	if (padded)
		padding = payload[0];
	if (padded && padding >= frame->len)
		return refuse(story, FAULT_PROTOCOL, frame->at);
	end = frame->len - padding;
	if (frame->there > padded)
		piece_tell_bytes(story, 'D', frame->stream, payload + padded,
				 MIN(end, frame->there) - padded);
	for (size_t i = end; i < frame->there; i++)
		if (payload[i])
			return refuse(story, FAULT_PROTOCOL, frame->at + i);
	return true;
}

static bool reference_text(const struct frame *frame, size_t from, struct piece_story *story)
{
	const uint8_t *text = frame->data + frame->at + from;
	size_t there, ill;

	if (frame->there <= from)
		return true;
	there = frame->there - from;
	ill = piece_ill_at(text, there, frame->len - from);
	piece_tell_bytes(story, 'M', frame->stream, text, MIN(there, ill));
	if (ill != SIZE_MAX)
		return refuse(story, FAULT_BAD_FRAME, frame->at + from + ill);
	if (frame->there == frame->len)
		piece_tell_meta_end(story);
	return true;
}

static bool reference_settings(const struct frame *frame, struct piece_story *story)
{
	for (size_t i = 0; i + 6 <= frame->there; i += 6) {
		uint64_t id = number_at(frame->data + frame->at + i, 2);
		uint64_t value = number_at(frame->data + frame->at + i + 2, 4);

		if (((id == 2 || id == 8) && value > 1) || (id == 4 && value > 0x7fffffff) ||
		    (id == 5 && (value < 16384 || value > 16777215)))
			return refuse(story, FAULT_PROTOCOL, frame->at + i + 5);
	}
	return true;
}

static bool reference_payload(const struct frame *frame, struct piece_story *story)
{
	switch (frame->type) {
	case 0:
		return reference_data(frame, story);
	case 2:
	case 3:
		return true;
	case 4:
		return reference_settings(frame, story);
	case 7:
		return reference_text(frame, 8, story);
	case 8:
		if (frame->there == 4 && !(number_at(frame->data + frame->at, 4) & 0x7fffffff))
			return refuse(story, FAULT_PROTOCOL, frame->at + 3);
		return true;
	default:
		return reference_text(frame, 0, story);
	}
}

static void reference(const void *max_frame, const uint8_t *data, size_t len,
		      struct piece_story *story)
{
	struct frame frame = {.data = data};

	while (frame.at < len) {
		struct h2_piece unit = {.kind = PIECE_UNIT};

		story->partial = true;
		if (!reference_header(&frame, len, *(const uint32_t *)max_frame, story))
			return;
		if (!reference_payload(&frame, story) || frame.there < frame.len)
			return;
		frame.at += frame.len;
		unit.type = frame.type;
		unit.stream = frame.stream;
		unit.end_stream = frame.type == 0 && frame.flags & 1;
		piece_tell_unit(story, &unit, frame.at);
		story->partial = false;
	}
}

static const struct piece_codec codec = {
	.size = sizeof(struct frame_h2),
	.streams = true,
	.init = codec_init,
	.next = codec_next,
	.partial = codec_partial,
	.reference = reference,
};

static const uint32_t max_frame = H2_MAX_FRAME_MIN;

#define CHECK(data, text, partial) \
	piece_check_text(&codec, &max_frame, data, sizeof(data) - 1, text, partial)

/* A frame's nine bytes: length (below 256), type, flags, stream (likewise). */
#define FRAME(length, type, flags, stream) "\0\0" length type flags "\0\0\0" stream

static void data_is_handed_on_by_stream(void **state)
{
	(void)state;
	CHECK(FRAME("\3", "\0", "\0", "\1") "abc" FRAME("\2", "\0", "\1", "\3") "de",
	      "D1:(abc)U0/1@12 D3:(de)U0/3!@23 ", false);
	CHECK(FRAME("\0", "\0", "\1", "\1"), "U0/1!@9 ", false);
	/* The reserved bit, and flags that mean nothing here. */
	CHECK("\0\0\1\0\x74\x80\0\0\1x", "D1:(x)U0/1@10 ", false);
	CHECK("\0\0\1\0\0\xff\xff\xff\xffx", "D2147483647:(x)U0/2147483647@10 ", false);
	CHECK("", "", false);
}

static void padding_is_taken_off(void **state)
{
	(void)state;
	CHECK(FRAME("\6", "\0", "\x09", "\1") "\2abc\0\0", "D1:(abc)U0/1!@15 ", false);
	CHECK(FRAME("\4", "\0", "\x08", "\1") "\0abc", "D1:(abc)U0/1@13 ", false);
	CHECK(FRAME("\1", "\0", "\x08", "\1") "\0", "U0/1@10 ", false);
	CHECK(FRAME("\3", "\0", "\x08", "\1") "\2\0\0", "U0/1@12 ", false);
	CHECK(FRAME("\3", "\0", "\x08", "\1") "\3\0\0", "F(protocol)@9", false);
	CHECK(FRAME("\1", "\0", "\x08", "\1") "\1", "F(protocol)@9", false);
	CHECK(FRAME("\0", "\0", "\x08", "\1"), "F(protocol)@4", false);
	CHECK(FRAME("\5", "\0", "\x08", "\1") "\2ab\0x", "D1:(ab)F(protocol)@13", false);
	CHECK(FRAME("\5", "\0", "\x08", "\1") "\2ab\1\0", "D1:(ab)F(protocol)@12", false);
}

static void streams_and_none(void **state)
{
	(void)state;
	CHECK(FRAME("\1", "\0", "\0", "\0") "x", "F(protocol)@8", false);
	CHECK(FRAME("\5", "\2", "\0", "\0"), "F(protocol)@8", false);
	CHECK(FRAME("\4", "\3", "\0", "\0"), "F(protocol)@8", false);
	CHECK(FRAME("\0", "\4", "\0", "\1"), "F(protocol)@8", false);
	CHECK(FRAME("\x08", "\6", "\0", "\1"), "F(protocol)@8", false);
	CHECK(FRAME("\x08", "\7", "\0", "\1"), "F(protocol)@8", false);
	CHECK(FRAME("\4", "\x08", "\0", "\0") "\0\0\0\1" FRAME("\4", "\x08", "\0", "\1") "\0\0\0\1",
	      "U8/0@13 U8/1@26 ", false);
}

static void lengths_by_type(void **state)
{
	(void)state;
	CHECK(FRAME("\4", "\2", "\0", "\1"), "F(protocol)@3", false);
	CHECK(FRAME("\5", "\3", "\0", "\1"), "F(protocol)@3", false);
	CHECK(FRAME("\7", "\4", "\0", "\0"), "F(protocol)@3", false);
	CHECK(FRAME("\7", "\6", "\0", "\0"), "F(protocol)@3", false);
	CHECK(FRAME("\7", "\7", "\0", "\0"), "F(protocol)@3", false);
	CHECK(FRAME("\5", "\x08", "\0", "\0"), "F(protocol)@3", false);
	CHECK(FRAME("\6", "\4", "\1", "\0"), "F(protocol)@4", false);
	CHECK(FRAME("\0", "\4", "\1", "\0"), "U4/0@9 ", false);
}

static void numbers_are_judged(void **state)
{
	(void)state;
	CHECK(FRAME("\5", "\2", "\0", "\3") "\xff\xff\xff\xff\xff", "U2/3@14 ", false);
	CHECK(FRAME("\4", "\3", "\0", "\3") "\0\0\0\x08", "U3/3@13 ", false);
	CHECK(FRAME("\4", "\x08", "\0", "\3") "\x80\0\0\0", "F(protocol)@12", false);
	CHECK(FRAME("\x0c", "\4", "\0", "\0") "\0\2\0\0\0\1\xff\xff\xff\xff\xff\xff", "U4/0@21 ",
	      false);
	CHECK(FRAME("\6", "\4", "\0", "\0") "\0\2\0\0\0\2", "F(protocol)@14", false);
	CHECK(FRAME("\6", "\4", "\0", "\0") "\0\x08\0\0\0\2", "F(protocol)@14", false);
	CHECK(FRAME("\6", "\4", "\0", "\0") "\0\4\x7f\xff\xff\xff", "U4/0@15 ", false);
	CHECK(FRAME("\6", "\4", "\0", "\0") "\0\4\x80\0\0\0", "F(protocol)@14", false);
	CHECK(FRAME("\6", "\4", "\0", "\0") "\0\5\0\0\x40\0", "U4/0@15 ", false);
	CHECK(FRAME("\6", "\4", "\0", "\0") "\0\5\0\0\x3f\xff", "F(protocol)@14", false);
	CHECK(FRAME("\6", "\4", "\0", "\0") "\0\5\0\xff\xff\xff", "U4/0@15 ", false);
	CHECK(FRAME("\6", "\4", "\0", "\0") "\0\5\1\0\0\0", "F(protocol)@14", false);
}

static void what_is_not_known_is_text(void **state)
{
	(void)state;
	CHECK(FRAME("\x08", "\6", "\0", "\0") "ping1234", "M0:(ping1234).U6/0@17 ", false);
	CHECK(FRAME("\x08", "\6", "\1", "\0") "ping\xc3\xa9!!", "M0:(ping\xc3\xa9!!).U6/0@17 ",
	      false);
	CHECK(FRAME("\x08", "\6", "\0", "\0") "ping\xff", "M0:(ping)F(bad_frame)@13", false);
	CHECK(FRAME("\x08", "\6", "\0", "\0") "ping123\xc3", "M0:(ping123)F(bad_frame)@16", false);
	CHECK(FRAME("\x0b", "\7", "\0", "\0") "\0\0\0\1\0\0\0\0bye", "M0:(bye).U7/0@20 ", false);
	CHECK(FRAME("\x08", "\7", "\0", "\0") "\xff\xff\xff\xff\xff\xff\xff\xff", "U7/0@17 ",
	      false);
	CHECK(FRAME("\x0a", "\7", "\0", "\0") "\0\0\0\1\0\0\0\0\xed\xa0",
	      "M0:(\xed)F(bad_frame)@18", false);
	CHECK(FRAME("\2", "\x0a", "\xff", "\7") "hi" FRAME("\0", "\x0b", "\0", "\0"),
	      "M7:(hi).U10/7@11 U11/0@20 ", false);
	CHECK(FRAME("\2", "\xfe", "\0", "\0") "h\x80", "M0:(h)F(bad_frame)@10", false);
}

static void header_blocks_are_not_read(void **state)
{
	(void)state;
	CHECK(FRAME("\0", "\0", "\0", "\1") FRAME("\1", "\1", "\4", "\1"), "U0/1@9 F(unframed)@12",
	      false);
	CHECK(FRAME("\4", "\5", "\4", "\1"), "F(unframed)@3", false);
	CHECK(FRAME("\1", "\x09", "\4", "\1"), "F(unframed)@3", false);
}

static void a_frame_at_the_limit_and_past_it(void **state)
{
	static const uint32_t other = 20000;

	(void)state;
	CHECK("\0\x40\0\0\0\0\0\0\1", "", true);
	CHECK("\0\x40\1\0\0\0\0\0\1", "F(protocol)@2", false);
	CHECK("\xff\xff\xff", "F(protocol)@2", false);
	piece_check_text(&codec, &other, "\0\x4e\x20\xff\0\0\0\0\0", 9, "", true);
	piece_check_text(&codec, &other, "\0\x4e\x21\xff\0\0\0\0\0", 9, "F(protocol)@2", false);
}

static void what_has_not_ended(void **state)
{
	(void)state;
	CHECK("\0", "", true);
	CHECK("\0\0\2\0\0\0\0\0\1", "", true);
	CHECK("\0\0\2\0\0\0\0\0\1x", "D1:(x)", true);
	CHECK("\0\0\3\0\x08\0\0\0\1\1x", "D1:(x)", true);
	CHECK("\0\0\x08\6\0\0\0\0\0abc", "M0:(abc)", true);
	CHECK("\0\0\4\3\0\0\0\0\1abc", "", true);
}

static void add_random_frame(struct piece_bytes *input, unsigned int *seed)
{
	static const struct {
		const char *text;
		size_t len;
	} payloads[] = {
		{"", 0},
		{"a", 1},
		{"\1ab\0", 4},
		{"\0\0\0\1", 4},
		{"\2abc\xc3", 5},
		{"\0\3\0\0\0\5", 6},
		{"\0\5\0\0\x80\0\0\2\0\0\0\3", 12},
		{"text\xe6\xb0\xb4\xff", 8},
		{"\0\0\0\1\0\0\0\2why", 11},
		{"\3xyz\0\0\0", 7},
		{"eight123", 8},
	};
	size_t i = piece_random(seed) % ARRAY_SIZE(payloads), at = input->len;
	unsigned int type = piece_random(seed) % 12;

	if (type == 1 || type == 5 || type == 9)
		type = piece_random(seed) % 16 ? 0 : type;
	piece_add_number(input, payloads[i].len, 3);
	piece_add_number(input, type, 1);
	piece_add_number(input, piece_random(seed) % 2 ? 0 : piece_random(seed) % 16, 1);
	piece_add_number(input, type < 4 ? piece_random(seed) % 16 : piece_random(seed) % 5 / 4, 4);
	piece_add(input, payloads[i].text, payloads[i].len);
	if (piece_random(seed) % 16 == 0)
		input->data[at + piece_random(seed) % (input->len - at)] ^=
			(uint8_t)(1u << piece_random(seed) % 8);
}

static void random_inputs(void **state)
{
	unsigned int seed = 20240616;
	size_t faults = 0, units = 0;

	(void)state;
	for (size_t round = 0; round < 8000; round++) {
		struct piece_bytes input = {.len = 0};
		struct piece_story story;
		uint32_t max = piece_random(&seed) % 4 ? max_frame : 11;

		for (size_t i = piece_random(&seed) % 6; i > 0; i--)
			add_random_frame(&input, &seed);
		if (input.len && piece_random(&seed) % 3 == 0)
			input.len = piece_random(&seed) % input.len;
		piece_check_random(&codec, &max, input.data, input.len, 4, &seed);
		piece_run(&codec, &max, input.data, input.len, 1, 1, &story);
		faults += story.fault != FAULT_NONE;
		units += memmem(story.text, story.len, "U", 1) != NULL;
		piece_story_done(&story);
	}
	assert_true(faults > 1000 && units > 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(data_is_handed_on_by_stream),
		cmocka_unit_test(padding_is_taken_off),
		cmocka_unit_test(streams_and_none),
		cmocka_unit_test(lengths_by_type),
		cmocka_unit_test(numbers_are_judged),
		cmocka_unit_test(what_is_not_known_is_text),
		cmocka_unit_test(header_blocks_are_not_read),
		cmocka_unit_test(a_frame_at_the_limit_and_past_it),
		cmocka_unit_test(what_has_not_ended),
		cmocka_unit_test(random_inputs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
