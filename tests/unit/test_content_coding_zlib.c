/* SPDX-License-Identifier: Apache-2.0 */
/* zlib's codings: the two formats of deflate, and what a gzip header may say besides. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "unit/coded.h"

/* RFC 1950 2.2: every size of window, and what is no such header is raw. */
static void deflate_tells_its_formats_apart(void **state)
{
	static const char text[] = "Deflate, deflate, deflate, and deflate again.";
	struct coded_bytes plain = {.data = (uint8_t *)(uintptr_t)text, .len = sizeof(text)};

	(void)state;
	for (int bits = -15; bits <= 15; bits++) {
		z_stream stream = {.next_in = plain.data, .avail_in = (uInt)plain.len};
		uint8_t buffer[256];
		struct coded_bytes packed = {.data = buffer};
		struct coded_outcome outcome;

		if (abs(bits) < 9)
			continue;
		for (int level = 0; level <= 9; level++) {
			stream.next_in = plain.data;
			stream.avail_in = (uInt)plain.len;
			stream.next_out = buffer;
			stream.avail_out = sizeof(buffer);
			assert_int_equal(deflateInit2(&stream, level, Z_DEFLATED, bits, 8,
						      level == 1 ? Z_FIXED : Z_DEFAULT_STRATEGY),
					 Z_OK);
			assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
			packed.len = sizeof(buffer) - stream.avail_out;
			deflateEnd(&stream);
			coded_check_cuts(CODING_DEFLATE, &packed, false, &outcome);
			assert_int_equal(outcome.fault, FAULT_NONE);
			coded_assert_bytes(&outcome.body, &plain);
			coded_outcome_done(&outcome);
		}
	}
}

/* A stored block, whose first byte has bits that say nothing, and an empty last one. */
static void a_raw_body_may_look_like_a_header(void **state)
{
	static const struct {
		uint8_t first, len;
		bool zlib;
	} cases[] = {
		{0x78, 5, false}, /* no multiple of 31 */
		{0x78, 1, true},
		{0x88, 28, false}, /* so large a window there is not */
		{0x70, 3, false},  /* another method */
	};
	static const char text[] = "abcdefghijklmnopqrstuvwxyz01";

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const uint8_t head[] = {cases[i].first, cases[i].len, 0, (uint8_t)~cases[i].len,
					0xff};
		struct coded_bytes packed = {.data = NULL};
		struct coded_outcome outcome;

		coded_bytes_add(&packed, head, sizeof(head));
		coded_bytes_add(&packed, text, cases[i].len);
		coded_bytes_add(&packed, "\x03\x00", 2);
		coded_check_cuts(CODING_DEFLATE, &packed, false, &outcome);
		assert_int_equal(outcome.fault, cases[i].zlib ? FAULT_BAD_ENCODING : FAULT_NONE);
		assert_int_equal(outcome.body.len, cases[i].zlib ? 0 : cases[i].len);
		if (outcome.body.len)
			assert_memory_equal(outcome.body.data, text, outcome.body.len);
		coded_outcome_done(&outcome);
		coded_bytes_done(&packed);
	}
}

static void pack_words(const char *name, const char *comment, size_t extra,
		       struct coded_bytes *packed)
{
	static uint8_t bytes[CODING_WORDS_MAX + 1];
	gz_header header = {.name = (Bytef *)(uintptr_t)name,
			    .comment = (Bytef *)(uintptr_t)comment,
			    .extra = extra ? bytes : NULL,
			    .extra_len = (uInt)extra,
			    .hcrc = 1};
	const struct coded_packing packing = {.format = CODED_GZIP, .level = 6, .header = &header};

	memset(bytes, 'e', sizeof(bytes));
	coded_pack(&packing, "body", 4, packed);
}

static void words_in_a_header_are_refused_or_told(void **state)
{
	static const struct {
		const char *name, *comment;
		size_t extra;
		const char *words;
	} cases[] = {
		{"a.txt", NULL, 0, "a.txt\n"},
		{NULL, "a comment", 0, "a comment\n"},
		{NULL, NULL, 3, "eee\n"},
		{"n", "c", 2, "n\nc\nee\n"},
		{"", "", 0, ""},
		{NULL, NULL, 0, ""},
	};
	struct coded_outcome outcome;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct coded_bytes packed = {.data = NULL};
		size_t len = strlen(cases[i].words);

		pack_words(cases[i].name, cases[i].comment, cases[i].extra, &packed);
		coded_check_cuts(CODING_GZIP, &packed, false, &outcome);
		assert_int_equal(outcome.fault, len ? FAULT_BAD_ENCODING : FAULT_NONE);
		assert_int_equal(outcome.body.len, len ? 0 : 4);
		assert_int_equal(outcome.words.len, 0);
		coded_outcome_done(&outcome);
		/* A member that follows has its own, and none of those before. */
		pack_words(NULL, NULL, 0, &packed);
		pack_words("2", NULL, 0, &packed);
		coded_check_cuts(CODING_GZIP, &packed, true, &outcome);
		assert_int_equal(outcome.fault, FAULT_NONE);
		assert_int_equal(outcome.body.len, 12);
		assert_memory_equal(outcome.body.data, "bodybodybody", 12);
		assert_int_equal(outcome.words.len, len + 2);
		assert_memory_equal(outcome.words.data, cases[i].words, len);
		assert_memory_equal(outcome.words.data + len, "2\n", 2);
		coded_outcome_done(&outcome);
		coded_bytes_done(&packed);
	}
}

static void the_header_is_told_until_it_is_whole(void **state)
{
	const size_t header = 10 + sizeof("a.txt") + 2; /* RFC 1952 2.3, with its checksum */
	struct coded_bytes packed = {.data = NULL};
	struct coded_outcome outcome = {.fault = FAULT_NONE};
	struct decoder *decoder = NULL;
	size_t member;

	(void)state;
	pack_words("a.txt", NULL, 0, &packed);
	member = packed.len;
	pack_words("b.txt", NULL, 0, &packed);
	assert_int_equal(packed.len, 2 * member);
	assert_int_equal(decoder_new(CODING_GZIP, &decoder), 0);
	decoder_accept_words(decoder);
	assert_false(decoder_holds(decoder));
	for (size_t i = 0; i < packed.len; i++) {
		assert_int_equal(coded_feed(decoder, packed.data + i, 1, &outcome), FAULT_NONE);
		assert_int_equal(decoder_holds(decoder), (i % member) + 1 < header);
	}
	assert_int_equal(outcome.words.len, 12);
	decoder_free(decoder);
	coded_outcome_done(&outcome);
	packed.len = 0;
	coded_pack_simply(CODED_ZLIB, "a", 1, &packed);
	assert_int_equal(decoder_new(CODING_DEFLATE, &decoder), 0);
	for (size_t i = 0; i < packed.len; i++) {
		assert_int_equal(coded_feed(decoder, packed.data + i, 1, &outcome), FAULT_NONE);
		assert_false(decoder_holds(decoder));
	}
	decoder_free(decoder);
	coded_outcome_done(&outcome);
	coded_bytes_done(&packed);
}

static void words_have_a_limit(void **state)
{
	char long_text[CODING_WORDS_MAX + 2];

	(void)state;
	for (size_t len = CODING_WORDS_MAX; len <= CODING_WORDS_MAX + 1; len++) {
		for (size_t i = 0; i < 3; i++) {
			struct coded_bytes packed = {.data = NULL};
			struct coded_outcome outcome;

			memset(long_text, 'w', len);
			long_text[len] = '\0';
			pack_words(i == 0 ? long_text : NULL, i == 1 ? long_text : NULL,
				   i == 2 ? len : 0, &packed);
			coded_check_cuts(CODING_GZIP, &packed, true, &outcome);
			if (len <= CODING_WORDS_MAX) {
				assert_int_equal(outcome.fault, FAULT_NONE);
				assert_int_equal(outcome.words.len, len + 1);
				assert_int_equal(outcome.body.len, 4);
			} else {
				assert_int_equal(outcome.fault, FAULT_TOO_LARGE);
				assert_int_equal(outcome.words.len + outcome.body.len, 0);
			}
			coded_outcome_done(&outcome);
			coded_bytes_done(&packed);
		}
	}
}

/* RFC 1952 2.3.1: numbers, that are no text. */
static void numbers_in_a_header_are_known_ones(void **state)
{
	(void)state;
	for (unsigned int byte = 0; byte < 512; byte++) {
		uint8_t value = (uint8_t)byte;
		bool level = byte >= 256;
		bool known = level ? value == 0 || value == 2 || value == 4
				   : value < ' ' || value == 255;
		struct coded_bytes packed = {.data = NULL};
		struct coded_outcome outcome;

		coded_pack_simply(CODED_GZIP, "body", 4, &packed);
		packed.data[level ? 8 : 9] = value;
		coded_check_cuts(CODING_GZIP, &packed, true, &outcome);
		assert_int_equal(outcome.fault, known ? FAULT_NONE : FAULT_BAD_ENCODING);
		assert_int_equal(outcome.body.len, known ? 4 : 0);
		coded_outcome_done(&outcome);
		coded_bytes_done(&packed);
	}
}

/* Members each of a time of their own: at most so many, however often one is repeated. */
static void times_have_a_limit(void **state)
{
	(void)state;
	for (size_t times = CODING_TIMES_MAX; times <= CODING_TIMES_MAX + 1; times++) {
		struct coded_bytes packed = {.data = NULL};
		struct coded_outcome outcome;

		for (size_t i = 0; i < 4 * times; i++) {
			gz_header header = {.time = i % 2 ? 1700000000 + i / 4 : 0};
			const struct coded_packing packing = {
				.format = CODED_GZIP, .level = 6, .header = &header};

			coded_pack(&packing, "x", 1, &packed);
		}
		coded_check_cuts(CODING_GZIP, &packed, false, &outcome);
		assert_int_equal(outcome.fault,
				 times <= CODING_TIMES_MAX ? FAULT_NONE : FAULT_BAD_ENCODING);
		assert_int_equal(outcome.body.len,
				 4 * CODING_TIMES_MAX + (times > CODING_TIMES_MAX));
		coded_outcome_done(&outcome);
		coded_bytes_done(&packed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(deflate_tells_its_formats_apart),
		cmocka_unit_test(a_raw_body_may_look_like_a_header),
		cmocka_unit_test(words_in_a_header_are_refused_or_told),
		cmocka_unit_test(the_header_is_told_until_it_is_whole),
		cmocka_unit_test(words_have_a_limit),
		cmocka_unit_test(numbers_in_a_header_are_known_ones),
		cmocka_unit_test(times_have_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
