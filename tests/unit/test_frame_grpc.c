/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gRPC's messages and gRPC-Web's trailers against a reference that has the whole input
 * before it, in every cut.
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
#include "core/frame_grpc.h"
#include "unit/allocation.h"
#include "unit/coded.h"
#include "unit/piece_story.h"

struct config {
	enum content_coding coding;
	bool web;
	uint64_t limit;
};

static void codec_init(void *frame, const void *config)
{
	const struct config *c = config;

	frame_grpc_init(frame, c->coding, c->web, c->limit);
}

static void codec_done(void *frame)
{
	frame_grpc_done(frame);
	assert_int_equal(frame_grpc_memory(frame), 0);
}

static enum fault codec_next(void *frame, const uint8_t *data, size_t len,
			     struct h2_piece *ret_piece)
{
	struct piece piece;
	enum fault fault = frame_grpc_next(frame, data, len, &piece);

	if (!fault)
		*ret_piece = piece_of_none(&piece);
	return fault;
}

static bool codec_partial(const void *frame)
{
	return frame_grpc_partial(frame);
}

/* A part of the input that ends at `end`, of which there is what is before `stop`. */
struct part {
	const uint8_t *data;
	size_t at, end, stop;
};

static bool is_name(uint8_t byte)
{
	return byte && (strchr("!#$%&'*+-.^_`|~", byte) || (byte >= '0' && byte <= '9') ||
			((byte | 0x20) >= 'a' && (byte | 0x20) <= 'z'));
}

static bool is_value(uint8_t byte)
{
	return byte == '\t' || (byte >= ' ' && byte != 0x7f);
}

static bool refuse(struct piece_story *story, enum fault fault, size_t at)
{
	piece_tell_fault(story, fault, at);
	return false;
}

/* A line of trailers; returns whether its end has come, and it is whole. */
static bool reference_line(struct part *part, struct piece_story *story)
{
	const uint8_t *data = part->data;
	size_t start = part->at, at = start;

	while (at < part->stop && is_name(data[at]) && at + 1 < part->end)
		at++;
	piece_tell_bytes(story, 'M', 0, data + start, at - start);
	if (at == part->stop)
		return false;
	if (data[at] != ':' || at == start)
		return refuse(story, data[at] == '\n' ? FAULT_BARE_LF : FAULT_BAD_HEADER, at);
	start = at++;
	while (at < part->stop && is_value(data[at]))
		at++;
	piece_tell_bytes(story, 'M', 0, data + start, at - start);
	part->at = at;
	if (at == part->end) {
		piece_tell_meta_end(story);
		return true;
	}
	if (at == part->stop)
		return false;
	if (data[at] == '\n')
		return refuse(story, FAULT_BARE_LF, at);
	if (data[at] != '\r' || at + 1 == part->end)
		return refuse(story, FAULT_BAD_HEADER, at);
	if (++at == part->stop)
		return false;
	piece_tell_meta_end(story);
	if (data[at] != '\n')
		return refuse(story, FAULT_BAD_HEADER, at);
	part->at = at + 1;
	return true;
}

static bool reference_trailers(struct part *part, struct piece_story *story)
{
	struct h2_piece unit = {.kind = PIECE_UNIT};

	while (part->at < part->stop)
		if (!reference_line(part, story))
			return false;
	if (part->at < part->end)
		return false;
	piece_tell_unit(story, &unit, part->end);
	return true;
}

/* What there is of a payload, undone; the fault that its last byte tells. */
static enum fault reference_coded(const struct config *config, const struct part *part,
				  struct piece_story *story)
{
	struct decoder *decoder;
	const uint8_t *out;
	size_t there = part->stop - part->at, len, total = 0;
	enum fault fault;

	if (part->stop < part->end)
		there -= there % GRPC_BATCH;

	assert_int_equal(decoder_new(config->coding, &decoder), 0);
	decoder_accept_words(decoder);
	decoder_feed(decoder, part->data + part->at, there);
	while (!(fault = decoder_next(decoder, &out, &len)) && len) {
		if (decoder_gave_words(decoder)) {
			piece_tell_bytes(story, 'M', 0, out, len);
			piece_tell_meta_end(story);
			continue;
		}
		if (total + len > config->limit) {
			piece_tell_bytes(story, 'D', 0, out, config->limit - total);
			fault = FAULT_TOO_LARGE;
			break;
		}
		piece_tell_bytes(story, 'D', 0, out, len);
		total += len;
	}
	if (!fault && decoder_end(decoder) != FAULT_NONE)
		fault = FAULT_BAD_ENCODING;
	decoder_free(decoder);
	return fault;
}

/* Returns whether the message is whole. */
static bool reference_payload(const struct config *config, const struct part *part, bool coded,
			      struct piece_story *story)
{
	enum fault fault = FAULT_NONE;

	if (coded && part->end > part->at)
		fault = reference_coded(config, part, story);
	else
		piece_tell_bytes(story, 'D', 0, part->data + part->at, part->stop - part->at);
	if (part->stop < part->end)
		return false;
	if (fault)
		return refuse(story, fault, part->end - 1);
	piece_tell_message(story, 0, part->end);
	return true;
}

static void reference(const void *config, const uint8_t *data, size_t len,
		      struct piece_story *story)
{
	const struct config *c = config;
	bool trailers = false, whole = true;
	size_t at = 0;

	while (at < len && whole) {
		uint8_t flag = data[at];
		struct part part = {.data = data, .at = at + 5};
		size_t length;

		story->partial = true;
		if (trailers || !(flag == 0 || (flag == 1 && c->coding != CODING_IDENTITY) ||
				  (flag == 0x80 && c->web))) {
			refuse(story, FAULT_BAD_FRAME, at);
			break;
		}
		if (len - at < 5)
			return;
		length = (size_t)data[at + 1] << 24 | (size_t)data[at + 2] << 16 |
			 (size_t)data[at + 3] << 8 | data[at + 4];
		if (length > c->limit) {
			refuse(story, FAULT_TOO_LARGE, at + 4);
			break;
		}
		part.end = at + 5 + length;
		part.stop = MIN(part.end, len);
		trailers = flag == 0x80;
		whole = trailers ? reference_trailers(&part, story)
				 : reference_payload(c, &part, flag == 1, story);
		at = part.end;
		story->partial = !whole;
	}
}

static const struct piece_codec codec = {
	.size = sizeof(struct frame_grpc),
	.init = codec_init,
	.done = codec_done,
	.next = codec_next,
	.partial = codec_partial,
	.reference = reference,
};

static const struct config plain = {.limit = 1000};
static const struct config web = {.limit = 1000, .web = true};
static const struct config gzip = {.limit = 1000, .coding = CODING_GZIP};
static const struct config zlib = {.limit = 1000, .coding = CODING_DEFLATE};

#define CHECK(config, data, text, partial) \
	piece_check_text(&codec, config, data, sizeof(data) - 1, text, partial)

static void messages_one_after_another(void **state)
{
	(void)state;
	CHECK(&plain, "\0\0\0\0\3abc\0\0\0\0\4defg", "D(abc)E@8 D(defg)E@17 ", false);
	CHECK(&plain, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1x", "E@5 E@10 D(x)E@16 ", false);
	CHECK(&plain, "", "", false);
}

static void what_has_not_ended(void **state)
{
	(void)state;
	CHECK(&plain, "\0\0\0\0\1a\0\0\0", "D(a)E@6 ", true);
	CHECK(&plain, "\0\0\0\0\3ab", "D(ab)", true);
	CHECK(&web, "\x80\0\0\0\5a:b\r", "M(a:b)", true);
}

static void flags(void **state)
{
	(void)state;
	CHECK(&plain, "\0\0\0\0\2ok\1\0\0\0\2zz", "D(ok)E@7 F(bad_frame)@7", false);
	CHECK(&gzip, "\2\0\0\0\0", "F(bad_frame)@0", false);
	CHECK(&gzip, "\x80\0\0\0\0", "F(bad_frame)@0", false);
	CHECK(&web, "\x81\0\0\0\0", "F(bad_frame)@0", false);
	CHECK(&web, "\1\0\0\0\0", "F(bad_frame)@0", false);
	CHECK(&gzip, "\3", "F(bad_frame)@0", false);
}

static void a_length_is_judged_when_it_is_whole(void **state)
{
	static const struct config limit = {.limit = 3};
	static const struct config none = {.limit = 0};

	(void)state;
	CHECK(&limit, "\0\0\0\0\3abc", "D(abc)E@8 ", false);
	CHECK(&limit, "\0\0\0\0\4abcd", "F(too_large)@4", false);
	CHECK(&limit, "\0\xff\xff\xff", "", true);
	CHECK(&limit, "\0\xff\xff\xff\xff", "F(too_large)@4", false);
	CHECK(&none, "\0\0\0\0\0\0\0\0\0\1x", "E@5 F(too_large)@9", false);
}

#define HELLO "\x1f\x8b\x08\0\0\0\0\0\0\x03\xcb\x48\xcd\xc9\xc9\x07\0\x86\xa6\x10\x36\5\0\0\0"
#define NAMED                                                                                   \
	"\x1f\x8b\x08\x18\0\0\0\0\0\x03name\0why\0\xcb\x48\xcd\xc9\xc9\x07\0\x86\xa6\x10\x36\5" \
	"\0\0\0"

static void compressed_payloads(void **state)
{
	static const struct config limit = {.limit = 4, .coding = CODING_GZIP};
	struct piece_story story;

	(void)state;
	CHECK(&gzip, "\1\0\0\0\0\1\0\0\0\x19" HELLO, "E@5 D(hello)E@35 ", false);
	CHECK(&gzip, "\0\0\0\0\2ab\1\0\0\0\x19" HELLO, "D(ab)E@7 D(hello)E@37 ", false);
	/* The words of a header are no payload. */
	CHECK(&gzip, "\1\0\0\0\x22" NAMED, "M(name).M(why).D(hello)E@39 ", false);
	/* Two members are one payload. */
	CHECK(&gzip, "\1\0\0\0\x32" HELLO HELLO, "D(hellohello)E@55 ", false);
	CHECK(&gzip, "\1\0\0\0\x1a" HELLO "x", "D(hello)F(bad_encoding)@30", false);
	CHECK(&gzip, "\1\0\0\0\x18" HELLO, "D(hello)F(bad_encoding)@28", false);
	CHECK(&gzip, "\1\0\0\0\4abcd\0\0\0\0\1x", "F(bad_encoding)@8", false);
	CHECK(&gzip, "\1\0\0\0\4abc", "", true);
	CHECK(&zlib, "\1\0\0\0\x0d\x78\x9c\xcb\x48\xcd\xc9\xc9\x07\0\x06\x2c\x02\x15",
	      "D(hello)E@18 ", false);
	/* Past the limit: told at the length, or at the last byte. */
	piece_check(&codec, &limit, "\1\0\0\0\x19" HELLO, 30, &story);
	assert_string_equal(story.text, "F(too_large)@4");
	piece_story_done(&story);
}

static void what_inflates_past_the_limit(void **state)
{
	struct coded_bytes content = {0}, packed = {0};
	struct config config = {.coding = CODING_GZIP};

	(void)state;
	coded_content(CODED_ZEROS, 3000, &content);
	coded_pack_simply(CODED_GZIP, content.data, content.len, &packed);
	assert_true(packed.len < 200);
	for (config.limit = 2999; config.limit <= 3000; config.limit++) {
		struct piece_bytes input = {.len = 0};
		struct piece_story story;

		piece_add_number(&input, 1, 1);
		piece_add_number(&input, packed.len, 4);
		piece_add(&input, packed.data, packed.len);
		piece_check(&codec, &config, input.data, input.len, &story);
		assert_int_equal(story.fault, config.limit < 3000 ? FAULT_TOO_LARGE : FAULT_NONE);
		assert_true(story.len > config.limit && !memcmp(story.text, "D(\0", 3));
		piece_story_done(&story);
	}
	coded_bytes_done(&content);
	coded_bytes_done(&packed);
}

static void trailers_are_no_message(void **state)
{
	(void)state;
	CHECK(&web, "\0\0\0\0\1m\x80\0\0\0\17grpc-status:0\r\n", "D(m)E@6 M(grpc-status:0).U@26 ",
	      false);
	CHECK(&web, "\x80\0\0\0\0", "U@5 ", false);
	CHECK(&web, "\x80\0\0\0\14a:b\r\nc: d\t\r\n", "M(a:b).M(c: d\t).U@17 ", false);
	/* The last line may do without its end. */
	CHECK(&web, "\x80\0\0\0\10a:b\r\ncd:", "M(a:b).M(cd:).U@13 ", false);
	CHECK(&web, "\x80\0\0\0\3a:b\0\0\0\0\0", "M(a:b).U@8 F(bad_frame)@8", false);
	CHECK(&web, "\x80\0\0\0\0\x80", "U@5 F(bad_frame)@5", false);
}

static void lines_of_trailers(void **state)
{
	(void)state;
	CHECK(&web, "\x80\0\0\0\5a:b\n\n", "M(a:b)F(bare_lf)@8", false);
	CHECK(&web, "\x80\0\0\0\5a\n:b\n", "M(a)F(bare_lf)@6", false);
	CHECK(&web, "\x80\0\0\0\5a:b\rx", "M(a:b).F(bad_header)@9", false);
	CHECK(&web, "\x80\0\0\0\4a:b\r", "M(a:b)F(bad_header)@8", false);
	CHECK(&web, "\x80\0\0\0\3abc", "M(ab)F(bad_header)@7", false);
	CHECK(&web, "\x80\0\0\0\5a b:c", "M(a)F(bad_header)@6", false);
	CHECK(&web, "\x80\0\0\0\2:c", "F(bad_header)@5", false);
	CHECK(&web, "\x80\0\0\0\7a:b\r\n\r\n", "M(a:b).F(bad_header)@10", false);
	CHECK(&web, "\x80\0\0\0\5a:b\x01z", "M(a:b)F(bad_header)@8", false);
	CHECK(&web, "\x80\0\0\0\5a:b\0z", "M(a:b)F(bad_header)@8", false);
	CHECK(&web, "\x80\0\0\0\5a:\xc3\xa9!", "M(a:\xc3\xa9!).U@10 ", false);
}

static void add_frame(struct piece_bytes *input, uint8_t flag, const void *data, size_t len)
{
	piece_add_number(input, flag, 1);
	piece_add_number(input, len, 4);
	piece_add(input, data, len);
}

static void add_random(struct piece_bytes *input, unsigned int *seed)
{
	static const char *const parts[] = {"a",       ":",	  "\r\n", "\r",
					    "\n",      " ",	  "a: b", "grpc-status:0\r\n",
					    "x:y\r\n", "\xc3\xa9"};
	struct coded_bytes content = {0}, packed = {0};
	char text[256] = "";
	unsigned int kind = piece_random(seed) % 8;

	if (kind == 5) {
		coded_content(CODED_NOISE, 100 + piece_random(seed) % 900, &content);
		coded_pack_simply(CODED_GZIP, content.data, content.len, &packed);
		add_frame(input, 1, packed.data, packed.len);
		coded_bytes_done(&content);
		coded_bytes_done(&packed);
		return;
	}
	for (size_t i = piece_random(seed) % 6; i > 0; i--)
		strcat(text, parts[piece_random(seed) % ARRAY_SIZE(parts)]);
	if (kind < 3) {
		add_frame(input, 0, text, strlen(text));
	} else if (kind < 5) {
		coded_pack_simply(kind == 3 ? CODED_ZLIB : CODED_GZIP, text, strlen(text), &packed);
		add_frame(input, 1, packed.data, packed.len);
		coded_bytes_done(&packed);
	} else {
		add_frame(input, kind == 6 ? 0x80 : 0, text, strlen(text));
	}
}

static void random_inputs(void **state)
{
	unsigned int seed = 20240612;

	(void)state;
	for (size_t round = 0; round < 3000; round++) {
		struct piece_bytes input = {.len = 0};
		struct config config = {
			.coding = (enum content_coding)(piece_random(&seed) % 3),
			.web = piece_random(&seed) % 2,
			.limit = piece_random(&seed) % 3 ? 1000 : piece_random(&seed) % 60,
		};

		for (size_t i = piece_random(&seed) % 5; i > 0; i--)
			add_random(&input, &seed);
		if (input.len && piece_random(&seed) % 3 == 0)
			input.data[piece_random(&seed) % input.len] ^=
				(uint8_t)(1u << piece_random(&seed) % 8);
		if (input.len && piece_random(&seed) % 3 == 0)
			input.len = piece_random(&seed) % input.len;
		piece_check_random(&codec, &config, input.data, input.len, 6, &seed);
	}
}

/* A long payload comes where it stands, and its last byte is left for its end. */
static void a_payload_is_one_piece(void **state)
{
	const size_t size = 66000;
	uint8_t *data = malloc(5 + size);
	struct frame_grpc frame;
	struct piece piece;

	(void)state;
	assert_non_null(data);
	memset(data, 'z', 5 + size);
	data[0] = data[1] = 0;
	data[2] = 1;
	data[3] = (uint8_t)((size - 65536) >> 8);
	data[4] = (uint8_t)size;
	frame_grpc_init(&frame, CODING_IDENTITY, false, size);
	assert_int_equal(frame_grpc_next(&frame, data, 5 + size, &piece), FAULT_NONE);
	assert_int_equal(piece.kind, PIECE_DATA);
	assert_ptr_equal(piece.data, data + 5);
	assert_int_equal(piece.len, size);
	assert_int_equal(piece.used, 5 + size - 1);
	assert_int_equal(frame_grpc_next(&frame, data + piece.used, 1, &piece), FAULT_NONE);
	assert_int_equal(piece.kind, PIECE_MESSAGE);
	assert_int_equal(piece.used, 1);
	free(data);
}

static void no_memory(void **state)
{
	static const uint8_t data[] = "\1\0\0\0\x19" HELLO;
	struct frame_grpc frame;
	struct piece piece = {.used = SIZE_MAX};

	(void)state;
	frame_grpc_init(&frame, CODING_GZIP, false, 1000);
	allocation_fail_at(0);
	assert_int_equal(frame_grpc_next(&frame, data, 4, &piece), FAULT_NONE);
	assert_int_equal(piece.used, 4);
	assert_int_equal(frame_grpc_next(&frame, data + 4, 26, &piece), FAULT_NO_MEMORY);
	assert_true(allocation_failed());
	assert_int_equal(frame_grpc_next(&frame, data + 4, 26, &piece), FAULT_NO_MEMORY);
	frame_grpc_done(&frame);
	/* There is a decoder as long as a compressed payload is under way. */
	frame_grpc_init(&frame, CODING_GZIP, false, 1000);
	assert_int_equal(frame_grpc_next(&frame, data, 5, &piece), FAULT_NONE);
	assert_true(frame_grpc_memory(&frame) > 0);
	frame_grpc_done(&frame);
	assert_int_equal(frame_grpc_memory(&frame), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_one_after_another),
		cmocka_unit_test(what_has_not_ended),
		cmocka_unit_test(flags),
		cmocka_unit_test(a_length_is_judged_when_it_is_whole),
		cmocka_unit_test(compressed_payloads),
		cmocka_unit_test(what_inflates_past_the_limit),
		cmocka_unit_test(trailers_are_no_message),
		cmocka_unit_test(lines_of_trailers),
		cmocka_unit_test(random_inputs),
		cmocka_unit_test(a_payload_is_one_piece),
		cmocka_unit_test(no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
