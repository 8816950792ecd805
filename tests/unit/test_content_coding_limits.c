/* SPDX-License-Identifier: Apache-2.0 */
/* What a coded body may unfold to, and what the header of a gzip member may say besides. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "unit/coded.h"

/*
 * What a reader that looks at the limit after each byte of input gives out; its fault, or
 * FAULT_NONE. For gzip of one member.
 */
static enum fault reference_limit(const struct coded_bytes *packed, uint64_t *ret_out)
{
	static uint8_t buffer[8192];
	z_stream stream = {.next_in = NULL};
	uint64_t out = 0;
	enum fault fault = FAULT_NONE;

	assert_int_equal(inflateInit2(&stream, 31), Z_OK);
	for (size_t i = 0; i < packed->len && !fault; i++) {
		uint64_t max = CODING_SLACK + (uint64_t)CODING_RATIO_MAX * (i + 1);

		stream.next_in = packed->data + i;
		stream.avail_in = 1;
		stream.next_out = buffer;
		stream.avail_out = sizeof(buffer);
		assert_in_range(inflate(&stream, Z_NO_FLUSH), Z_OK, Z_STREAM_END);
		assert_true(stream.avail_out > 0);
		if (out + sizeof(buffer) - stream.avail_out > max)
			fault = FAULT_TOO_LARGE;
		else
			out += sizeof(buffer) - stream.avail_out;
	}
	inflateEnd(&stream);
	*ret_out = out;
	return fault;
}

static void check_limit(const struct coded_bytes *packed, enum fault fault)
{
	struct coded_outcome outcome;
	uint64_t out = 0;

	assert_int_equal(reference_limit(packed, &out), fault);
	for (size_t size = 1; size <= 1u << 20; size *= 32) {
		struct coded_cuts cuts = {size / 3, size, false};

		coded_undo(CODING_GZIP, packed, &cuts, &outcome);
		assert_string_equal(fault_name(outcome.fault), fault_name(fault));
		assert_int_equal(outcome.body.len, out);
		coded_outcome_done(&outcome);
	}
}

/* Zeros: their number at which the limit is passed is found, and both sides of it tried. */
static void a_bomb_is_stopped_at_the_byte(void **state)
{
	size_t passes = CODING_SLACK, fails = 4 * CODING_SLACK;
	uint8_t *zeros = calloc(1, fails);
	struct coded_bytes packed = {.data = NULL};
	uint64_t out;

	(void)state;
	assert_non_null(zeros);
	while (fails - passes > 1) {
		size_t middle = (passes + fails) / 2;

		packed.len = 0;
		coded_pack_simply(CODED_GZIP, zeros, middle, &packed);
		if (reference_limit(&packed, &out))
			fails = middle;
		else
			passes = middle;
	}
	for (size_t len = passes - 2; len <= passes + 2; len++) {
		packed.len = 0;
		coded_pack_simply(CODED_GZIP, zeros, len, &packed);
		check_limit(&packed, len <= passes ? FAULT_NONE : FAULT_TOO_LARGE);
	}
	packed.len = 0;
	coded_pack_simply(CODED_GZIP, zeros, 4 * CODING_SLACK, &packed);
	check_limit(&packed, FAULT_TOO_LARGE);
	coded_bytes_done(&packed);
	free(zeros);
}

/*
 * Zeros with noise between them, always the same, but out of the window's reach: the
 * ratio is what the noise makes it.
 */
static void the_ratio_counts_over_the_whole(void **state)
{
	static const struct {
		size_t noise;
		enum fault fault;
	} cases[] = {{50, FAULT_TOO_LARGE},
		     {200, FAULT_TOO_LARGE},
		     {420, FAULT_NONE},
		     {2000, FAULT_NONE}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct coded_bytes plain = {.data = NULL}, packed = {.data = NULL};

		for (size_t j = 0; j < 60; j++) {
			coded_content(CODED_NOISE, plain.len + cases[i].noise, &plain);
			coded_content(CODED_ZEROS, plain.len + 100000, &plain);
		}
		coded_pack_simply(CODED_GZIP, plain.data, plain.len, &packed);
		check_limit(&packed, cases[i].fault);
		coded_bytes_done(&plain);
		coded_bytes_done(&packed);
	}
}

/* Members do not begin the count anew. */
static void members_share_the_limit(void **state)
{
	uint8_t *zeros = calloc(1, CODING_SLACK);
	struct coded_bytes packed = {.data = NULL};
	struct coded_cuts cuts = {SIZE_MAX, SIZE_MAX, false};
	struct coded_outcome outcome;

	(void)state;
	assert_non_null(zeros);
	for (size_t i = 0; i < 4; i++)
		coded_pack_simply(CODED_GZIP, zeros, CODING_SLACK, &packed);
	coded_undo(CODING_GZIP, &packed, &cuts, &outcome);
	assert_int_equal(outcome.fault, FAULT_TOO_LARGE);
	assert_true(outcome.body.len < 2 * CODING_SLACK);
	cuts = (struct coded_cuts){1, 1, false};
	coded_check_cut(CODING_GZIP, &packed, &cuts, &outcome);
	coded_outcome_done(&outcome);
	coded_bytes_done(&packed);
	free(zeros);
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
	assert_false(decoder_in_header(decoder));
	for (size_t i = 0; i < packed.len; i++) {
		assert_int_equal(coded_feed(decoder, packed.data + i, 1, &outcome), FAULT_NONE);
		assert_int_equal(decoder_in_header(decoder), (i % member) + 1 < header);
	}
	assert_int_equal(outcome.words.len, 12);
	decoder_free(decoder);
	coded_outcome_done(&outcome);
	packed.len = 0;
	coded_pack_simply(CODED_ZLIB, "a", 1, &packed);
	assert_int_equal(decoder_new(CODING_DEFLATE, &decoder), 0);
	for (size_t i = 0; i < packed.len; i++) {
		assert_int_equal(coded_feed(decoder, packed.data + i, 1, &outcome), FAULT_NONE);
		assert_false(decoder_in_header(decoder));
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bomb_is_stopped_at_the_byte),
		cmocka_unit_test(the_ratio_counts_over_the_whole),
		cmocka_unit_test(members_share_the_limit),
		cmocka_unit_test(words_in_a_header_are_refused_or_told),
		cmocka_unit_test(the_header_is_told_until_it_is_whole),
		cmocka_unit_test(words_have_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
