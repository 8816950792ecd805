/* SPDX-License-Identifier: Apache-2.0 */
/*
 * permessage-deflate: the examples of RFC 7692, what zlib makes of messages, and what
 * inflates to too much or to nothing, in every cut.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "core/content_coding.h"
#include "unit/ws_reference.h"
#include "unit/ws_story.h"

#define LIMIT (64u << 20)

static const struct frame_ws_config server = {.permessage_deflate = true, .max_message = LIMIT};
static const struct frame_ws_config alone = {
	.permessage_deflate = true,
	.no_context_takeover = true,
	.max_message = LIMIT,
};

#define CHECK(config, data, text, partial) ws_check(config, data, sizeof(data) - 1, text, partial)
#define FAULT(config, data, text, fault, at) \
	ws_check_fault(config, data, sizeof(data) - 1, text, fault, at)

#define HELLO "\xf2\x48\xcd\xc9\xc9\x07\x00"
/* The same again, by the window alone. */
#define AGAIN	   "\xf2\x00\x11\x00\x00"
#define LAST_BLOCK "\xf3\x48\xcd\xc9\xc9\x07\x00"

/* RFC 7692 7.2.3.1 to 7.2.3.6 */
static void examples_of_the_standard(void **state)
{
	(void)state;
	CHECK(&server, "\xc1\x07" HELLO, "T(Hello)@9 ", false);
	CHECK(&server, "\x41\x03\xf2\x48\xcd\x80\x04\xc9\xc9\x07\x00", "T(Hello)@11 ", false);
	CHECK(&server, "\xc1\x07" HELLO "\xc1\x07" HELLO, "T(Hello)@9 T(Hello)@18 ", false);
	CHECK(&server, "\xc1\x07" HELLO "\xc1\x05" AGAIN, "T(Hello)@9 T(Hello)@16 ", false);
	CHECK(&server, "\xc1\x0b\x00\x05\x00\xfa\xffHello\x00", "T(Hello)@13 ", false);
	CHECK(&server, "\xc1\x08" LAST_BLOCK "\x00", "T(Hello)@10 ", false);
	CHECK(&server, "\xc1\x0d\xf2\x48\x05\x00\x00\x00\xff\xff\xca\xc9\xc9\x07\x00",
	      "T(Hello)@15 ", false);
	CHECK(&server, "\xc1\x01\x00", "T()@3 ", false);
}

static void the_bit_is_of_the_message(void **state)
{
	const struct frame_ws_config none = {.max_message = LIMIT};

	(void)state;
	FAULT(&server,
	      "\x41\x06\xaa\x56\x2a\xca\xcf\x49\xc0\x0a\x55\xb2\x02\x52\xf9\x25\x4a\xb5\0\0",
	      "t({\"rol)", FAULT_PROTOCOL, 8);
	FAULT(&server,
	      "\x01\x01"
	      "a\xc0\x07" HELLO,
	      "t(a)", FAULT_PROTOCOL, 3);
	FAULT(&server, "\xc9\x00", "", FAULT_PROTOCOL, 0);
	FAULT(&server, "\xc8\x00", "", FAULT_PROTOCOL, 0);
	FAULT(&server, "\xe1\x07" HELLO, "", FAULT_PROTOCOL, 0);
	FAULT(&none, "\xc1\x07" HELLO, "", FAULT_PROTOCOL, 0);
	/* Messages without it leave the window as it is, and so do control frames. */
	CHECK(&server, "\xc1\x07" HELLO "\x81\x03raw\x89\x01p\xc1\x05" AGAIN,
	      "T(Hello)@9 T(raw)@14 P(p)U@17 T(Hello)@24 ", false);
	CHECK(&server, "\x41\x03\xf2\x48\xcd\x89\x02pq\x00\x00\x80\x04\xc9\xc9\x07\x00",
	      "P(pq)T(Hello)@17 ", false);
	CHECK(&server, "\x41\x07" HELLO "\x80\x00", "T(Hello)@11 ", false);
	CHECK(&server, "\x41\x00\x80\x07" HELLO, "T(Hello)@11 ", false);
	CHECK(&server, "\x42\x03\xf2\x48\xcd", "b(He)", true);
	CHECK(&server, "\xc1\x07\xf2\x48\xcd\xc9\xc9", "t(Hell)", true);
	CHECK(&server, "\x41\x07" HELLO, "t(Hello)", true);
}

static void the_window_is_kept_where_it_is_to_be(void **state)
{
	(void)state;
	FAULT(&alone, "\xc1\x07" HELLO "\xc1\x05" AGAIN, "T(Hello)@9 t(H)", FAULT_BAD_ENCODING, 13);
	CHECK(&alone, "\xc1\x07" HELLO "\xc1\x07" HELLO, "T(Hello)@9 T(Hello)@18 ", false);
	FAULT(&server, "\xc1\x05" AGAIN, "t(H)", FAULT_BAD_ENCODING, 4);
	/* The last block of a stream is the last that a window reaches over. */
	FAULT(&server, "\xc1\x08" LAST_BLOCK "\x00\xc1\x05" AGAIN, "T(Hello)@10 t(H)",
	      FAULT_BAD_ENCODING, 14);
	FAULT(&server, "\xc1\x0c" LAST_BLOCK AGAIN, "t(HelloH)", FAULT_BAD_ENCODING, 11);
	CHECK(&server, "\xc1\x08" LAST_BLOCK "\x00\xc1\x07" HELLO "\xc1\x05" AGAIN,
	      "T(Hello)@10 T(Hello)@19 T(Hello)@26 ", false);
}

static void last_blocks(void **state)
{
	(void)state;
	CHECK(&server, "\xc1\x0f" LAST_BLOCK LAST_BLOCK "\x00", "T(HelloHello)@17 ", false);
	CHECK(&server, "\xc1\x0e" LAST_BLOCK HELLO, "T(HelloHello)@16 ", false);
	CHECK(&server, "\x41\x06\xf3\x48\xcd\xc9\xc9\x07\x00\x01\x00\x80\x01\x00", "T(Hello)@14 ",
	      false);
	/* An empty one, of which the tail is a part. */
	CHECK(&server, "\xc1\x01\x01\xc1\x07" HELLO, "T()@3 T(Hello)@12 ", false);
	CHECK(&server, "\xc1\x05\x03\x00\x03\x00\x00", "T()@7 ", false);
	/* Without the octet that the tail belongs to. */
	FAULT(&server, "\xc1\x07" LAST_BLOCK, "t(Hello)", FAULT_BAD_ENCODING, 8);
}

static void a_message_ends_with_a_block(void **state)
{
	struct ws_story story;

	(void)state;
	FAULT(&server, "\xc1\x00", "", FAULT_BAD_ENCODING, 1);
	FAULT(&server, "\x41\x00\x80\x00", "", FAULT_BAD_ENCODING, 3);
	FAULT(&server, "\xc1\x07\xf2\x48\xcd\xc9\xc9\x07\x00\xc1\x06\xf2\x48\xcd\xc9\xc9\x07",
	      "T(Hello)@9 t(Hello)", FAULT_BAD_ENCODING, 16);
	FAULT(&server, "\xc1\x03\xf2\x48\xcd", "t(Heh)", FAULT_BAD_ENCODING, 4);
	/* The tail that was to be taken away. */
	FAULT(&server, "\xc1\x0b" HELLO "\x00\x00\xff\xff", "t(Hello)", FAULT_BAD_ENCODING, 12);
	FAULT(&server, "\xc1\x0a\x00\x05\x00\xfa\xffHello", "t(Hello)", FAULT_BAD_ENCODING, 11);
	/* Sixteen literals of one bit, and an end of fourteen: the tail, but for two bits. */
	ws_check_cuts(&server,
		      "\xc2\x14\x04\xe0\x01\x92\x24\x49\x92\x24\x49\x20\xb1\xa8\x79\x64\xf5\xec"
		      "\xfd\xff\xbb\x07",
		      22, &story);
	assert_string_equal(fault_name(story.fault), "bad_encoding");
	assert_int_equal(story.text.len, 3 + 16);
	ws_story_done(&story);
	/* To the letter, the tail is what a stored block of four holds. */
	ws_check_cuts(&server, "\xc2\x05\x00\x04\x00\xfb\xff", 7, &story);
	assert_int_equal(story.fault, FAULT_NONE);
	assert_int_equal(story.text.len, 10);
	assert_memory_equal(story.text.data, "B(\0\0\xff\xff)@7 ", 10);
	ws_story_done(&story);
}

static void what_does_not_inflate(void **state)
{
	(void)state;
	FAULT(&server, "\xc1\x01\x07", "", FAULT_BAD_ENCODING, 2);
	FAULT(&server,
	      "\xc1\x06\x00\x05\x00\xfa\xfe"
	      "a",
	      "", FAULT_BAD_ENCODING, 6);
	FAULT(&server, "\x81\x02ok\xc1\x04\xff\xff\xff\xff", "T(ok)@4 ", FAULT_BAD_ENCODING, 6);
	FAULT(&server, "\xc1\x08\xf2\x48\xcd\xc9\xc9\x07\x00\x06", "t(Hello)", FAULT_BAD_ENCODING,
	      9);
}

/* As zlib makes one of it, a stored block. */
static void stored(struct coded_bytes *bytes, const void *payload, uint8_t len)
{
	const uint8_t head[] = {0, len, 0, (uint8_t)~len, 0xff};

	coded_bytes_add(bytes, head, sizeof(head));
	coded_bytes_add(bytes, payload, len);
}

static void check_text(const void *first, uint8_t first_len, const void *second, uint8_t second_len,
		       enum fault fault)
{
	struct coded_bytes bytes = {.data = NULL}, part = {.data = NULL};
	struct ws_story story;

	stored(&part, first, first_len);
	ws_frame_add(&bytes, false, WS_RSV1 | WS_TEXT, part.data, part.len);
	part.len = 0;
	stored(&part, second, second_len);
	coded_bytes_add(&part, "", 1);
	ws_frame_add(&bytes, false, WS_FIN, part.data, part.len);
	ws_check_cuts(&server, bytes.data, bytes.len, &story);
	assert_string_equal(fault_name(story.fault), fault_name(fault));
	ws_story_done(&story);
	coded_bytes_done(&part);
	coded_bytes_done(&bytes);
}

static void text_is_utf8_when_inflated(void **state)
{
	(void)state;
	check_text("\xf0\x9f", 2, "\x98\x80", 2, FAULT_NONE);
	check_text("a\xc3", 2, "\xa9", 1, FAULT_NONE);
	check_text("a\xc3", 2, "a", 1, FAULT_BAD_UTF8);
	check_text("abc\xff"
		   "d",
		   5, "a", 1, FAULT_BAD_UTF8);
	check_text("ab\xed\xa0", 4, "\x80", 1, FAULT_BAD_UTF8);
	check_text("ab", 2, "c\xe2\x82", 3, FAULT_BAD_UTF8);
}

/* A message of one byte many times over: few bytes decide many. */
static void same_bytes(char byte, size_t len, struct coded_bytes *bytes)
{
	struct coded_bytes coded = {.data = NULL};
	z_stream stream = {.next_in = NULL};
	char *payload = malloc(len);

	assert_non_null(payload);
	memset(payload, byte, len);
	assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY), Z_OK);
	ws_deflate(&stream, payload, len, &coded);
	deflateEnd(&stream);
	ws_frame_add(bytes, false, WS_FIN | WS_RSV1 | WS_TEXT, coded.data, coded.len);
	coded_bytes_done(&coded);
	free(payload);
}

static void the_limit_is_of_what_is_inflated(void **state)
{
	struct frame_ws_config config = {.permessage_deflate = true};
	static const size_t limits[] = {0, 1, 5, 257, 258, 259, 1000, 16383, 16384, 16385, 40000};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		struct coded_bytes bytes = {.data = NULL};
		struct ws_story story;
		size_t most = limits[i];

		config.max_message = most;
		if (most)
			same_bytes('a', most, &bytes);
		same_bytes('b', most + 1, &bytes);
		ws_check_cuts(&config, bytes.data, bytes.len, &story);
		assert_int_equal(story.fault, FAULT_TOO_LARGE);
		/* All that may be is told before. */
		assert_true(story.text.len >= (most ? 2 * most + 7 : 0));
		ws_story_done(&story);
		config.max_message++;
		ws_check_cuts(&config, bytes.data, bytes.len, &story);
		assert_int_equal(story.fault, FAULT_NONE);
		ws_story_done(&story);
		coded_bytes_done(&bytes);
	}
	/* A coded frame may be longer than what it holds. */
	config.max_message = 5;
	CHECK(&config, "\xc1\x0b\x00\x05\x00\xfa\xffHello\x00", "T(Hello)@13 ", false);
}

/* Four mebibytes of one byte: past the ratio, and in any cut at the same byte. */
static void the_ratio_is_bounded_in_every_message(void **state)
{
	static const struct ws_cuts cuts[] = {{SIZE_MAX, 1, 0}, {1, 1, 0}, {1000, 7, 0}, {0, 0, 1}};
	struct coded_bytes bytes = {.data = NULL};
	struct ws_story first = {.fault = FAULT_NONE}, got;

	(void)state;
	same_bytes('a', 4 << 20, &bytes);
	for (size_t i = 0; i < ARRAY_SIZE(cuts); i++) {
		ws_run(&server, bytes.data, bytes.len, &cuts[i], &got);
		assert_int_equal(got.fault, FAULT_TOO_LARGE);
		if (i) {
			coded_assert_bytes(&got.text, &first.text);
			ws_story_done(&got);
		} else {
			first = got;
		}
	}
	assert_in_range(first.text.len, CODING_SLACK, CODING_SLACK + CODING_RATIO_MAX * 4096);
	ws_story_done(&first);
	/* Many that stay below it, which together do not. */
	bytes.len = 0;
	for (size_t i = 0; i < 8; i++)
		same_bytes((char)('a' + i), 1 << 20, &bytes);
	assert_true(bytes.len * CODING_RATIO_MAX + CODING_SLACK < 8 << 20);
	ws_run(&server, bytes.data, bytes.len, &cuts[0], &got);
	assert_int_equal(got.fault, FAULT_NONE);
	assert_true(got.text.len > 8 << 20);
	ws_story_done(&got);
	coded_bytes_done(&bytes);
}

struct packing {
	bool client, takeover;
	int level, strategy, window;
};

/* Messages of all kinds and sizes, some in fragments, and a ping in between. */
static void pack(const struct packing *packing, struct coded_bytes *bytes,
		 struct coded_bytes *expected)
{
	static const size_t sizes[] = {0, 1, 30, 500, 500, 5000, 40000, 100000, 17};
	z_stream stream = {.next_in = NULL};

	assert_int_equal(deflateInit2(&stream, packing->level, Z_DEFLATED, -packing->window, 8,
				      packing->strategy),
			 Z_OK);
	for (size_t i = 0; i < ARRAY_SIZE(sizes) * _CODED_CONTENT_MAX; i++) {
		struct coded_bytes plain = {.data = NULL}, coded = {.data = NULL};
		size_t at = 0, part = i % 3 ? SIZE_MAX : 1 + sizes[i / _CODED_CONTENT_MAX] / 5;

		coded_content(i % _CODED_CONTENT_MAX, sizes[i / _CODED_CONTENT_MAX], &plain);
		if (!packing->takeover)
			deflateReset(&stream);
		ws_deflate(&stream, plain.data, plain.len, &coded);
		do {
			size_t len = MIN(part, coded.len - at);
			uint8_t first = at ? WS_MORE : WS_RSV1 | WS_BINARY;

			first |= at + len == coded.len ? WS_FIN : 0;
			ws_frame_add(bytes, packing->client, first, coded.data + at, len);
			at += len;
			if (at < coded.len)
				ws_frame_add(bytes, packing->client, WS_PING, NULL, 0);
		} while (at < coded.len);
		coded_bytes_add(expected, plain.data, plain.len);
		coded_bytes_done(&plain);
		coded_bytes_done(&coded);
	}
	deflateEnd(&stream);
}

static void check_packing(const struct packing *packing)
{
	static const struct ws_cuts cuts[] = {
		{SIZE_MAX, 1, 0}, {1, 1, 0}, {5000, 3000, 0}, {100, 70001, 0}, {0, 0, 5}};
	const struct frame_ws_config config = {
		.client = packing->client,
		.permessage_deflate = true,
		.no_context_takeover = !packing->takeover,
		.max_message = 100100,
	};
	struct coded_bytes bytes = {.data = NULL}, plain = {.data = NULL};
	struct ws_story expected, got;

	pack(packing, &bytes, &plain);
	ws_reference(&config, bytes.data, bytes.len, &expected);
	assert_int_equal(expected.fault, FAULT_NONE);
	assert_false(expected.partial);
	assert_true(expected.text.len > plain.len);
	for (size_t i = 0; i < ARRAY_SIZE(cuts); i++) {
		/* One call for a byte of a whole flow costs the test its time. */
		if (cuts[i].size == 1 && i && bytes.len > 400000)
			continue;
		ws_run(&config, bytes.data, bytes.len, &cuts[i], &got);
		ws_assert_same(&got, &expected);
		ws_story_done(&got);
	}
	ws_story_done(&expected);
	coded_bytes_done(&plain);
	coded_bytes_done(&bytes);
}

static void what_zlib_makes_of_messages(void **state)
{
	static const struct packing packings[] = {
		{false, true, 6, Z_DEFAULT_STRATEGY, 15},
		{true, true, 6, Z_DEFAULT_STRATEGY, 15},
		{false, false, 6, Z_DEFAULT_STRATEGY, 15},
		{true, false, 9, Z_FILTERED, 15},
		{false, true, 1, Z_FIXED, 15},
		{false, true, 9, Z_DEFAULT_STRATEGY, 9},
		{true, true, 6, Z_HUFFMAN_ONLY, 12},
		{true, true, 0, Z_DEFAULT_STRATEGY, 15},
		{false, true, 6, Z_RLE, 10},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(packings); i++)
		check_packing(&packings[i]);
}

static void memory_is_bounded(void **state)
{
	struct frame_ws *frame = NULL;

	(void)state;
	assert_int_equal(frame_ws_new(&server, &frame), 0);
	assert_in_range(frame_ws_memory(frame), 48 << 10, 80 << 10);
	frame_ws_free(frame);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(examples_of_the_standard),
		cmocka_unit_test(the_bit_is_of_the_message),
		cmocka_unit_test(the_window_is_kept_where_it_is_to_be),
		cmocka_unit_test(last_blocks),
		cmocka_unit_test(a_message_ends_with_a_block),
		cmocka_unit_test(what_does_not_inflate),
		cmocka_unit_test(text_is_utf8_when_inflated),
		cmocka_unit_test(the_limit_is_of_what_is_inflated),
		cmocka_unit_test(the_ratio_is_bounded_in_every_message),
		cmocka_unit_test(what_zlib_makes_of_messages),
		cmocka_unit_test(memory_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
