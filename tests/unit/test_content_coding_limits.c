/* SPDX-License-Identifier: Apache-2.0 */
/* What a coded body may unfold to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <brotli/decode.h>
#include <cmocka.h>
#include <stdlib.h>
#include <zstd.h>

#include "base/macros.h"
#include "unit/coded.h"

#define OUTPUT_SIZE 4096

/* A reader that is given one byte at a time, and what it counts. */
struct reader {
	z_stream zlib;
	BrotliDecoderState *brotli;
	ZSTD_DCtx *zstd;
	uint8_t buffer[OUTPUT_SIZE];
};

/* Each returns how much came; less than there was room for: all that the byte decides. */
static size_t read_zlib(struct reader *reader, const uint8_t **byte, size_t *len)
{
	int result;

	reader->zlib.next_in = (Bytef *)(uintptr_t)*byte;
	reader->zlib.avail_in = (uInt)*len;
	reader->zlib.next_out = reader->buffer;
	reader->zlib.avail_out = OUTPUT_SIZE;
	result = inflate(&reader->zlib, Z_NO_FLUSH);
	assert_true(result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR);
	*byte = reader->zlib.next_in;
	*len = reader->zlib.avail_in;
	return OUTPUT_SIZE - reader->zlib.avail_out;
}

static size_t read_brotli(struct reader *reader, const uint8_t **byte, size_t *len)
{
	size_t room = OUTPUT_SIZE;
	uint8_t *next = reader->buffer;

	assert_int_not_equal(
		BrotliDecoderDecompressStream(reader->brotli, len, byte, &room, &next, NULL),
		BROTLI_DECODER_RESULT_ERROR);
	return OUTPUT_SIZE - room;
}

static size_t read_zstd(struct reader *reader, const uint8_t **byte, size_t *len)
{
	ZSTD_inBuffer in = {*byte, *len, 0};
	ZSTD_outBuffer out = {reader->buffer, OUTPUT_SIZE, 0};

	assert_false(ZSTD_isError(ZSTD_decompressStream(reader->zstd, &out, &in)));
	*byte += in.pos;
	*len -= in.pos;
	return out.pos;
}

/*
 * What a reader that looks at the limit after each byte of input gives out; its fault, or
 * FAULT_NONE. For bodies of one member or frame.
 */
static enum fault reference_limit(enum coded_format format, const struct coded_bytes *packed,
				  uint64_t *ret_out)
{
	struct reader *reader = calloc(1, sizeof(*reader));
	uint64_t out = 0;
	enum fault fault = FAULT_NONE;

	assert_non_null(reader);
	assert_int_equal(inflateInit2(&reader->zlib,
				      format < _CODED_ZLIB_MAX ? coded_window_bits(format) : 15),
			 Z_OK);
	reader->brotli = BrotliDecoderCreateInstance(NULL, NULL, NULL);
	reader->zstd = ZSTD_createDCtx();
	for (size_t i = 0; i < packed->len && !fault; i++) {
		uint64_t max = CODING_SLACK + (uint64_t)CODING_RATIO_MAX * (i + 1);
		const uint8_t *byte = packed->data + i;
		size_t len = 1, got;

		do {
			got = format < _CODED_ZLIB_MAX ? read_zlib(reader, &byte, &len)
			      : format == CODED_BROTLI ? read_brotli(reader, &byte, &len)
						       : read_zstd(reader, &byte, &len);
			out += got;
		} while (got == OUTPUT_SIZE);
		if (out > max) {
			fault = FAULT_TOO_LARGE;
			out = max;
		}
	}
	inflateEnd(&reader->zlib);
	BrotliDecoderDestroyInstance(reader->brotli);
	ZSTD_freeDCtx(reader->zstd);
	free(reader);
	*ret_out = out;
	return fault;
}

static void check_limit(enum coded_format format, const struct coded_bytes *packed,
			enum fault fault)
{
	struct coded_outcome outcome;
	uint64_t out = 0;

	assert_int_equal(reference_limit(format, packed, &out), fault);
	for (size_t size = 1; size <= 1u << 20; size *= 32) {
		struct coded_cuts cuts = {size / 3, size, false};

		coded_undo(coded_coding(format), packed, &cuts, &outcome);
		assert_string_equal(fault_name(outcome.fault), fault_name(fault));
		assert_int_equal(outcome.body.len, out);
		coded_outcome_done(&outcome);
	}
}

/* Zeros: their number at which the limit is passed is found, and both sides of it tried. */
static void check_bomb(enum coded_format format, const uint8_t *zeros, size_t most)
{
	size_t passes = CODING_SLACK, fails = most;
	struct coded_bytes packed = {.data = NULL};
	uint64_t out;

	while (fails - passes > 1) {
		size_t middle = (passes + fails) / 2;

		packed.len = 0;
		coded_pack_simply(format, zeros, middle, &packed);
		if (reference_limit(format, &packed, &out))
			fails = middle;
		else
			passes = middle;
	}
	for (size_t len = passes - 2; len <= passes + 2; len++) {
		packed.len = 0;
		coded_pack_simply(format, zeros, len, &packed);
		check_limit(format, &packed, len <= passes ? FAULT_NONE : FAULT_TOO_LARGE);
	}
	packed.len = 0;
	coded_pack_simply(format, zeros, most, &packed);
	check_limit(format, &packed, FAULT_TOO_LARGE);
	coded_bytes_done(&packed);
}

static void a_bomb_is_stopped_at_the_byte(void **state)
{
	const size_t most = 4 * CODING_SLACK;
	uint8_t *zeros = calloc(1, most);

	(void)state;
	assert_non_null(zeros);
	for (int format = 0; format < _CODED_FORMAT_MAX; format++)
		check_bomb((enum coded_format)format, zeros, most);
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
		check_limit(CODED_GZIP, &packed, cases[i].fault);
		coded_bytes_done(&plain);
		coded_bytes_done(&packed);
	}
}

/* Members do not begin the count anew. */
static void members_share_the_limit(void **state)
{
	static const enum coded_format formats[] = {CODED_GZIP, CODED_ZSTD, CODED_ZSTD_UNCHECKED};
	uint8_t *zeros = calloc(1, CODING_SLACK);
	struct coded_outcome outcome;

	(void)state;
	assert_non_null(zeros);
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		enum content_coding coding = coded_coding(formats[i]);
		struct coded_cuts cuts = {SIZE_MAX, SIZE_MAX, false};
		struct coded_bytes packed = {.data = NULL};

		for (size_t j = 0; j < 4; j++)
			coded_pack_simply(formats[i], zeros, CODING_SLACK, &packed);
		coded_undo(coding, &packed, &cuts, &outcome);
		assert_int_equal(outcome.fault, FAULT_TOO_LARGE);
		assert_true(outcome.body.len < 2 * CODING_SLACK);
		cuts = (struct coded_cuts){1, 1, false};
		coded_check_cut(coding, &packed, &cuts, &outcome);
		coded_outcome_done(&outcome);
		coded_bytes_done(&packed);
	}
	free(zeros);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bomb_is_stopped_at_the_byte),
		cmocka_unit_test(the_ratio_counts_over_the_whole),
		cmocka_unit_test(members_share_the_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
