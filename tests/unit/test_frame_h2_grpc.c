/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gRPC messages of interleaved HTTP/2 streams against a reference that has the whole
 * input before it, in every cut.
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
#include "core/frame_h2_grpc.h"
#include "unit/allocation.h"
#include "unit/piece_story.h"

struct config {
	enum content_coding coding;
	uint64_t limit;
};

static void codec_init(void *frame, const void *config)
{
	const struct config *c = config;

	frame_h2_grpc_init(frame, c->coding, c->limit, H2_MAX_FRAME_MIN);
	assert_int_equal(frame_h2_grpc_memory(frame), 0);
}

static void codec_done(void *frame)
{
	frame_h2_grpc_done(frame);
	assert_int_equal(frame_h2_grpc_memory(frame), 0);
}

static enum fault codec_next(void *frame, const uint8_t *data, size_t len,
			     struct h2_piece *ret_piece)
{
	return frame_h2_grpc_next(frame, data, len, ret_piece);
}

static bool codec_partial(const void *frame)
{
	return frame_h2_grpc_partial(frame);
}

/* What a reader of one stream has: bytes of a message's header, and what is left of it. */
struct stream {
	bool known, ended;
	uint8_t have;
	uint32_t left;
};

#define STREAMS 256u

static bool refuse(struct piece_story *story, enum fault fault, size_t at)
{
	piece_tell_fault(story, fault, at);
	return false;
}

static bool reference_byte(const struct config *config, struct stream *stream, uint32_t id,
			   uint8_t byte, size_t at, struct piece_story *story)
{
	if (stream->ended)
		return refuse(story, FAULT_PROTOCOL, at);
	stream->known = true;
	if (stream->have == 5) {
		piece_tell_bytes(story, 'D', id, &byte, 1);
		stream->left--;
	} else {
		if (!stream->have && byte)
			return refuse(story, FAULT_BAD_FRAME, at);
		stream->left = stream->have ? stream->left << 8 | byte : 0;
		if (++stream->have == 5 && stream->left > config->limit)
			return refuse(story, FAULT_TOO_LARGE, at);
	}
	if (stream->have == 5 && !stream->left) {
		piece_tell_message(story, id, 0);
		stream->have = 0;
	}
	return true;
}

/* Frames that are right, but for the last one, which may be cut. */
static void reference(const void *config, const uint8_t *data, size_t len,
		      struct piece_story *story)
{
	struct stream streams[STREAMS] = {0};
	size_t at = 0;

	while (len - at >= 9) {
		size_t length = (size_t)data[at + 1] << 8 | data[at + 2], start = at + 9;
		struct h2_piece unit = {.type = data[at + 3], .stream = data[at + 8]};
		struct stream *stream = &streams[unit.stream];
		size_t padded = unit.type == 0 && data[at + 4] & 8 ? 1 : 0, end = start + length;

		at = start + length;
		if (padded && start < len)
			end -= data[start];
		for (size_t i = start + padded; unit.type == 0 && i < MIN(end, len); i++)
			if (!reference_byte(config, stream, unit.stream, data[i], i, story))
				return;
		if (unit.type == 6 && start < len)
			piece_tell_bytes(story, 'M', 0, data + start, MIN(at, len) - start);
		if (at > len)
			break;
		if (unit.type == 6)
			piece_tell_meta_end(story);
		unit.end_stream = unit.type == 0 && data[start - 5] & 1;
		if (unit.type == 0 && stream->ended) {
			refuse(story, FAULT_PROTOCOL, at - 1);
			return;
		}
		if ((unit.end_stream || unit.type == 3) && stream->have) {
			refuse(story, FAULT_TRUNCATED, at - 1);
			return;
		}
		stream->ended =
			stream->ended || (stream->known && (unit.end_stream || unit.type == 3));
		piece_tell_unit(story, &unit, at);
	}
	story->partial = at != len;
	for (size_t i = 0; i < STREAMS; i++)
		story->partial = story->partial || streams[i].have;
}

static const struct piece_codec codec = {
	.size = sizeof(struct frame_h2_grpc),
	.streams = true,
	.init = codec_init,
	.done = codec_done,
	.next = codec_next,
	.partial = codec_partial,
	.reference = reference,
};

static const struct config plain = {.limit = 1000};

#define CHECK(data, text, partial) \
	piece_check_text(&codec, &plain, data, sizeof(data) - 1, text, partial)

/* A frame's nine bytes: length (below 256), type, flags, stream (likewise). */
#define FRAME(length, type, flags, stream) "\0\0" length type flags "\0\0\0" stream
#define DATA(length, stream)		   FRAME(length, "\0", "\0", stream)

static void a_message_of_several_frames(void **state)
{
	(void)state;
	CHECK("\0\0\4\0\0\0\0\0\1\0\0\0\0\0\0\5\0\0\0\0\0\1\10ABCD\0\0\4\0\1\0\0\0\1"
	      "EFGH",
	      "U0/1@13 D1:(ABCD)U0/1@27 D1:(EFGH)E1: U0/1!@40 ", false);
}

static void padding_is_no_message(void **state)
{
	(void)state;
	CHECK("\0\0\n\0\10\0\0\0\1\3\0\0\0\0\3h\0\0\0\0\0\3\0\t\0\0\0\1\0ey",
	      "D1:(h)U0/1@19 D1:(ey)E1: U0/1!@31 ", false);
}

static void streams_do_not_mix(void **state)
{
	(void)state;
	CHECK("\0\0\6\0\0\0\0\0\1\0\0\0\0\4A\0\0\7\0\0\0\0\0\3\0\0\0\0\4BB\0\0\3\0\1\0\0\0\1"
	      "AAA\0\0\2\0\1\0\0\0\3"
	      "BB",
	      "D1:(A)U0/1@15 D3:(BB)U0/3@31 D1:(AAA)E1: U0/1!@43 D3:(BB)E3: U0/3!@54 ", false);
}

static void messages_of_one_frame(void **state)
{
	(void)state;
	CHECK(DATA("\x0d", "\1") "\0\0\0\0\1a\0\0\0\0\2bc", "D1:(a)E1: D1:(bc)E1: U0/1@22 ", false);
	CHECK(DATA("\x0b", "\1") "\0\0\0\0\0\0\0\0\0\1a", "E1: D1:(a)E1: U0/1@20 ", false);
	CHECK(DATA("\x0c", "\1") "\0\0\0\0\0\0\0\0\0\2ab" DATA("\4", "\1") "\0\0\0\0",
	      "E1: D1:(ab)E1: U0/1@21 U0/1@34 ", true);
}

static void other_frames_are_units(void **state)
{
	(void)state;
	CHECK(FRAME("\0", "\4", "\0", "\0") DATA("\6", "\1") "\0\0\0\0\2a" FRAME(
		      "\x08", "\6", "\0", "\0") "12345678" DATA("\1", "\1") "b",
	      "U4/0@9 D1:(a)U0/1@24 M0:(12345678).U6/0@41 D1:(b)E1: U0/1@51 ", false);
}

static void a_stream_that_ends_inside_a_message(void **state)
{
	(void)state;
	CHECK(FRAME("\6", "\0", "\1", "\1") "\0\0\0\0\2a", "D1:(a)F(truncated)@14", false);
	CHECK(FRAME("\2", "\0", "\1", "\1") "\0\0", "F(truncated)@10", false);
	CHECK(DATA("\6", "\1") "\0\0\0\0\2a" FRAME("\0", "\0", "\1", "\1"),
	      "D1:(a)U0/1@15 F(truncated)@23", false);
	CHECK(DATA("\6", "\1") "\0\0\0\0\2a" FRAME("\4", "\3", "\0", "\1") "\0\0\0\x08",
	      "D1:(a)U0/1@15 F(truncated)@27", false);
	CHECK(FRAME("\4", "\3", "\0", "\1") "\0\0\0\x08" FRAME("\0", "\0", "\1", "\3"),
	      "U3/1@13 U0/3!@22 ", false);
}

static void a_stream_that_has_ended(void **state)
{
	(void)state;
	CHECK(FRAME("\5", "\0", "\1", "\1") "\0\0\0\0\0" DATA("\1", "\3") "\0" DATA("\1",
										    "\1") "\0",
	      "E1: U0/1!@14 U0/3@24 F(protocol)@33", false);
	CHECK(FRAME("\5", "\0", "\1", "\1") "\0\0\0\0\0" DATA("\0", "\1"),
	      "E1: U0/1!@14 F(protocol)@22", false);
	CHECK(DATA("\5", "\1") "\0\0\0\0\0" FRAME("\4", "\3", "\0",
						  "\1") "\0\0\0\x08" DATA("\1", "\1") "\0",
	      "E1: U0/1@14 U3/1@27 F(protocol)@36", false);
}

static void faults_of_messages(void **state)
{
	(void)state;
	CHECK(DATA("\6", "\1") "\0\0\0\0\0\1", "E1: F(bad_frame)@14", false);
	CHECK(DATA("\5", "\1") "\0\0\0\3\xe8" DATA("\5", "\3") "\0\0\0\3\xe9",
	      "U0/1@14 F(too_large)@27", false);
}

static void faults_of_frames(void **state)
{
	static const uint8_t data[] = DATA("\6", "\1") "\0\0\0\0\2a" DATA("\1", "\0") "b";
	struct piece_story story;

	(void)state;
	for (size_t size = 1; size < sizeof(data); size++) {
		piece_run(&codec, &plain, data, sizeof(data) - 1, size, size, &story);
		assert_string_equal(story.text, "D1:(a)U0/1@15 F(protocol)@23");
		piece_story_done(&story);
	}
}

/* Compressed messages of two streams, a byte a frame. */
static void compressed_payloads(void **state)
{
	static const uint8_t message[] = "\1\0\0\0\x19\x1f\x8b\x08\0\0\0\0\0\0\x03\xcb\x48\xcd\xc9"
					 "\xc9\x07\0\x86\xa6\x10\x36\5\0\0";
	static const struct config config = {.coding = CODING_GZIP, .limit = 1000};
	struct piece_bytes input = {.len = 0};
	struct piece_story whole, bytes;

	(void)state;
	for (size_t i = 0; i < sizeof(message); i++) {
		for (uint32_t stream = 1; stream <= 3; stream += 2) {
			piece_add_number(&input, 1, 3);
			piece_add_number(&input, 0, 2);
			piece_add_number(&input, stream, 4);
			piece_add(&input, &message[i], 1);
		}
	}
	piece_run(&codec, &config, input.data, input.len, input.len, 1, &whole);
	assert_int_equal(whole.fault, FAULT_NONE);
	assert_false(whole.partial);
	assert_non_null(strstr(whole.text, "E1: U0/1@590 "));
	assert_non_null(strstr(whole.text, "E3: U0/3@600 "));
	for (size_t size = 1; size < 23; size++) {
		piece_run(&codec, &config, input.data, input.len, size, size, &bytes);
		piece_assert_same(&bytes, &whole);
		piece_story_done(&bytes);
	}
	piece_story_done(&whole);
}

static void add_data(struct piece_bytes *input, uint32_t stream, const void *data, size_t len)
{
	piece_add_number(input, len, 3);
	piece_add_number(input, 0, 2);
	piece_add_number(input, stream, 4);
	piece_add(input, data, len);
}

/* There is room for that many streams inside a message; those between two need none. */
static void more_streams_than_are_held(void **state)
{
	struct piece_bytes input = {.len = 0};
	struct frame_h2_grpc frame;
	struct h2_piece piece;
	enum fault fault = FAULT_NONE;
	size_t at = 0, memory;

	(void)state;
	for (uint32_t i = 0; i < 2 * H2_STREAMS_MAX; i++)
		add_data(&input, 2 * i + 1, "\0\0\0\0\0", 5);
	for (uint32_t i = 0; i <= H2_STREAMS_MAX; i++)
		add_data(&input, 1001 + 2 * i, "\0", 1);
	codec_init(&frame, &plain);
	while (!fault && at < input.len) {
		fault = frame_h2_grpc_next(&frame, input.data + at, input.len - at, &piece);
		at += fault ? 0 : piece.used;
		memory = frame_h2_grpc_memory(&frame);
		assert_true(memory <= H2_STREAMS_MAX * sizeof(struct h2_stream));
	}
	assert_int_equal(fault, FAULT_TOO_LARGE);
	assert_int_equal(at, input.len - 1);
	assert_int_equal(memory, H2_STREAMS_MAX * sizeof(struct h2_stream));
	codec_done(&frame);
}

static void a_stream_may_be_ended_from_outside(void **state)
{
	static const uint8_t first[] = DATA("\5", "\1") "\0\0\0\0\0" DATA("\1", "\3") "\0";
	struct frame_h2_grpc frame;
	struct h2_piece piece;
	size_t at = 0;

	(void)state;
	codec_init(&frame, &plain);
	while (at < sizeof(first) - 1) {
		assert_int_equal(
			frame_h2_grpc_next(&frame, first + at, sizeof(first) - 1 - at, &piece),
			FAULT_NONE);
		at += piece.used;
	}
	assert_int_equal(frame_h2_grpc_end(&frame, 1), FAULT_NONE);
	assert_int_equal(frame_h2_grpc_end(&frame, 5), FAULT_NONE);
	assert_int_equal(frame_h2_grpc_end(&frame, 3), FAULT_TRUNCATED);
	assert_int_equal(frame_h2_grpc_next(&frame, first, 13, &piece), FAULT_NONE);
	assert_int_equal(piece.used, 9);
	assert_int_equal(frame_h2_grpc_next(&frame, first + 9, 4, &piece), FAULT_PROTOCOL);
	codec_done(&frame);
}

static void no_memory(void **state)
{
	static const uint8_t data[] = DATA("\1", "\1") "\0";
	struct frame_h2_grpc frame;
	struct h2_piece piece;

	(void)state;
	codec_init(&frame, &plain);
	allocation_fail_at(0);
	assert_int_equal(frame_h2_grpc_next(&frame, data, 10, &piece), FAULT_NONE);
	assert_int_equal(piece.used, 9);
	assert_int_equal(frame_h2_grpc_next(&frame, data + 9, 1, &piece), FAULT_NO_MEMORY);
	assert_true(allocation_failed());
	codec_done(&frame);
}

/* The streams of gRPC messages, cut into frames. */
struct source {
	struct piece_bytes bytes;
	size_t at;
};

static void add_random_frame(struct piece_bytes *input, struct source *source, uint32_t stream,
			     unsigned int *seed)
{
	size_t left = source->bytes.len - source->at;
	size_t len = MIN(left, (size_t)(piece_random(seed) % 9));
	unsigned int padding = piece_random(seed) % 4, last = piece_random(seed) % 32 == 0;

	piece_add_number(input, len + padding, 3);
	piece_add_number(input, 0, 1);
	piece_add_number(input, (padding ? 8 : 0) | (left == len || last ? 1 : 0), 1);
	piece_add_number(input, stream, 4);
	if (padding)
		piece_add_number(input, padding - 1, 1);
	piece_add(input, source->bytes.data + source->at, len);
	if (padding)
		piece_add_number(input, 0, padding - 1);
	source->at += len;
}

static void random_inputs(void **state)
{
	unsigned int seed = 20240617;
	size_t faults = 0, messages = 0;

	(void)state;
	for (size_t round = 0; round < 3000; round++) {
		struct piece_bytes input = {.len = 0};
		struct source sources[4] = {0};
		struct config config = {.limit = piece_random(&seed) % 8 ? 1000 : 5};
		struct piece_story story;

		for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
			for (size_t j = 1 + piece_random(&seed) % 3; j > 0; j--) {
				size_t len = piece_random(&seed) % 10;

				piece_add_number(&sources[i].bytes,
						 piece_random(&seed) % 64 ? 0 : 1, 1);
				piece_add_number(&sources[i].bytes, len, 4);
				piece_add(&sources[i].bytes, "abcdefghij", len);
			}
		}
		for (size_t i = piece_random(&seed) % 24; i > 0; i--) {
			uint32_t stream = piece_random(&seed) % ARRAY_SIZE(sources);

			if (piece_random(&seed) % 8 == 0)
				piece_add(&input, FRAME("\x08", "\6", "\0", "\0") "12345678", 17);
			else if (sources[stream].at < sources[stream].bytes.len ||
				 piece_random(&seed) % 16 == 0)
				add_random_frame(&input, &sources[stream], 2 * stream + 1, &seed);
		}
		if (input.len && piece_random(&seed) % 3 == 0)
			input.len = piece_random(&seed) % input.len;
		piece_check_random(&codec, &config, input.data, input.len, 5, &seed);
		piece_run(&codec, &config, input.data, input.len, 1, 1, &story);
		faults += story.fault != FAULT_NONE;
		messages += memmem(story.text, story.len, "E", 1) != NULL;
		piece_story_done(&story);
	}
	assert_true(faults > 500 && messages > 500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_message_of_several_frames),
		cmocka_unit_test(padding_is_no_message),
		cmocka_unit_test(streams_do_not_mix),
		cmocka_unit_test(messages_of_one_frame),
		cmocka_unit_test(other_frames_are_units),
		cmocka_unit_test(a_stream_that_ends_inside_a_message),
		cmocka_unit_test(a_stream_that_has_ended),
		cmocka_unit_test(faults_of_messages),
		cmocka_unit_test(faults_of_frames),
		cmocka_unit_test(compressed_payloads),
		cmocka_unit_test(more_streams_than_are_held),
		cmocka_unit_test(a_stream_may_be_ended_from_outside),
		cmocka_unit_test(no_memory),
		cmocka_unit_test(random_inputs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
