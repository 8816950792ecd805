/* SPDX-License-Identifier: Apache-2.0 */
/* br: metadata is refused wherever it is, and windows are those of RFC 7932. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <brotli/encode.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "unit/allocation.h"
#include "unit/coded.h"

static BrotliEncoderState *new_encoder(uint32_t quality, uint32_t window)
{
	BrotliEncoderState *encoder = BrotliEncoderCreateInstance(NULL, NULL, NULL);

	assert_non_null(encoder);
	assert_true(BrotliEncoderSetParameter(encoder, BROTLI_PARAM_QUALITY, quality));
	assert_true(BrotliEncoderSetParameter(encoder, BROTLI_PARAM_LARGE_WINDOW,
					      window > BROTLI_MAX_WINDOW_BITS));
	assert_true(BrotliEncoderSetParameter(encoder, BROTLI_PARAM_LGWIN, window));
	return encoder;
}

static void encode(BrotliEncoderState *encoder, BrotliEncoderOperation operation, const void *data,
		   size_t len, struct coded_bytes *bytes)
{
	const uint8_t *next_in = data;
	uint8_t buffer[1024];

	do {
		size_t room = sizeof(buffer);
		uint8_t *next = buffer;

		assert_true(BrotliEncoderCompressStream(encoder, operation, &len, &next_in, &room,
							&next, NULL));
		coded_bytes_add(bytes, buffer, sizeof(buffer) - room);
	} while (len || BrotliEncoderHasMoreOutput(encoder));
}

/*
 * `before` bytes of text, metadata, and more text: the text before it is given out, and
 * nothing behind it. Two cuts, where the body is long.
 */
static void check_metadata(uint32_t quality, const struct coded_bytes *text, size_t before,
			   const struct coded_bytes *metadata)
{
	BrotliEncoderState *encoder = new_encoder(quality, 10 + quality);
	struct coded_cuts cuts = {1, 1, false};
	struct coded_bytes packed = {.data = NULL};
	struct coded_outcome outcome;
	size_t expected = metadata->len ? before : text->len;

	encode(encoder, BROTLI_OPERATION_FLUSH, text->data, before, &packed);
	encode(encoder, BROTLI_OPERATION_EMIT_METADATA, metadata->data, metadata->len, &packed);
	encode(encoder, BROTLI_OPERATION_FINISH, text->data + before, text->len - before, &packed);
	BrotliEncoderDestroyInstance(encoder);
	if (packed.len < 400) {
		coded_check_cuts(CODING_BROTLI, &packed, false, &outcome);
	} else {
		coded_undo(CODING_BROTLI, &packed, &cuts, &outcome);
		cuts.size = 10000;
		coded_check_cut(CODING_BROTLI, &packed, &cuts, &outcome);
	}
	assert_int_equal(outcome.fault, metadata->len ? FAULT_BAD_ENCODING : FAULT_NONE);
	assert_int_equal(outcome.body.len, expected);
	if (expected)
		assert_memory_equal(outcome.body.data, text->data, expected);
	coded_outcome_done(&outcome);
	coded_bytes_done(&packed);
}

static void metadata_is_refused(void **state)
{
	static const size_t sizes[] = {0, 1, 2, 255, 256, 257, 65536, 65537, 1 << 20};
	struct coded_bytes text = {.data = NULL}, metadata = {.data = NULL};

	(void)state;
	coded_content(CODED_TEXT, 300, &text);
	coded_content(CODED_TEXT, 1 << 20, &metadata);
	for (uint32_t quality = 0; quality <= BROTLI_MAX_QUALITY; quality++) {
		for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
			metadata.len = sizes[i];
			for (size_t before = 0; before <= text.len; before += 100)
				check_metadata(quality, &text, before, &metadata);
		}
	}
	coded_bytes_done(&text);
	coded_bytes_done(&metadata);
}

/* Wherever a block ends within a byte, and where that block was not compressed. */
static void metadata_is_refused_at_every_bit(void **state)
{
	struct coded_bytes text = {.data = NULL}, noise = {.data = NULL};
	struct coded_bytes metadata = {.data = NULL};

	(void)state;
	coded_content(CODED_TEXT, 80, &text);
	coded_content(CODED_NOISE, 80, &noise);
	coded_bytes_add(&metadata, "forbidden", 9);
	for (size_t before = 0; before <= 80; before++) {
		check_metadata(2, &text, before, &metadata);
		check_metadata(BROTLI_MAX_QUALITY, &text, before, &metadata);
		check_metadata(5, &noise, before, &metadata);
	}
	coded_bytes_done(&text);
	coded_bytes_done(&noise);
	coded_bytes_done(&metadata);
}

/* It is refused before its first byte, and also where nothing else is there. */
static void metadata_alone(void **state)
{
	static const uint8_t body[] = {0xac, 0, 'a', 'b', 0x03}, empty[] = {0x0c, 0x03};
	struct coded_bytes packed = {.data = (uint8_t *)(uintptr_t)body};
	struct coded_outcome outcome;

	(void)state;
	for (packed.len = 0; packed.len <= sizeof(body); packed.len++) {
		enum fault fault = !packed.len	    ? FAULT_NONE
				   : packed.len < 2 ? FAULT_TRUNCATED
						    : FAULT_BAD_ENCODING;

		coded_check_cuts(CODING_BROTLI, &packed, false, &outcome);
		assert_int_equal(outcome.fault, fault);
		assert_int_equal(outcome.body.len, 0);
		coded_outcome_done(&outcome);
	}
	packed = (struct coded_bytes){.data = (uint8_t *)(uintptr_t)empty, .len = sizeof(empty)};
	coded_check_cuts(CODING_BROTLI, &packed, false, &outcome);
	assert_int_equal(outcome.fault, FAULT_NONE);
	coded_outcome_done(&outcome);
}

static void every_window_and_no_large_one(void **state)
{
	static const char words[] = "There was no window that a large dictionary would not open.";
	struct coded_bytes plain = {.data = NULL};

	(void)state;
	coded_bytes_add(&plain, words, sizeof(words));
	for (uint32_t window = BROTLI_MIN_WINDOW_BITS; window <= 30; window++) {
		BrotliEncoderState *encoder = new_encoder(BROTLI_MAX_QUALITY, window);
		bool large = window > BROTLI_MAX_WINDOW_BITS;
		struct coded_bytes packed = {.data = NULL};
		struct coded_outcome outcome;

		encode(encoder, BROTLI_OPERATION_FINISH, plain.data, plain.len, &packed);
		BrotliEncoderDestroyInstance(encoder);
		coded_check_cuts(CODING_BROTLI, &packed, false, &outcome);
		assert_int_equal(outcome.fault, large ? FAULT_BAD_ENCODING : FAULT_NONE);
		if (large)
			assert_int_equal(outcome.body.len, 0);
		else
			coded_assert_bytes(&outcome.body, &plain);
		coded_outcome_done(&outcome);
		coded_bytes_done(&packed);
	}
	coded_bytes_done(&plain);
}

/* Four bytes announce 16 MiB that are not compressed. */
static void the_largest_window_is_counted(void **state)
{
	static const uint8_t head[] = {0xcf, 0xff, 0xff, 0xff, 'a', 'b'};
	struct coded_outcome outcome = {.fault = FAULT_NONE};
	struct decoder *decoder = NULL;

	(void)state;
	assert_int_equal(decoder_new(CODING_BROTLI, &decoder), 0);
	assert_true(decoder_memory(decoder) < 64 << 10);
	assert_int_equal(coded_feed(decoder, head, sizeof(head), &outcome), FAULT_NONE);
	assert_int_equal(outcome.body.len, 2);
	assert_in_range(decoder_memory(decoder), 16 << 20, 17 << 20);
	decoder_free(decoder);
	coded_outcome_done(&outcome);
}

static void memory_may_run_out(void **state)
{
	struct coded_bytes plain = {.data = NULL}, packed = {.data = NULL};
	bool failed = true;

	(void)state;
	coded_content(CODED_TEXT, 5000, &plain);
	coded_pack_simply(CODED_BROTLI, plain.data, plain.len, &packed);
	for (unsigned long i = 0; failed; i++) {
		struct decoder *decoder = NULL;
		const uint8_t *data;
		size_t len = 1, out = 0;
		enum fault fault = FAULT_NONE;

		assert_int_equal(decoder_new(CODING_BROTLI, &decoder), 0);
		decoder_feed(decoder, packed.data, packed.len);
		allocation_fail_at(i);
		while (!fault && len) {
			fault = decoder_next(decoder, &data, &len);
			if (!fault && len) {
				assert_memory_equal(data, plain.data + out, len);
				out += len;
			}
		}
		failed = allocation_failed();
		assert_int_equal(fault, failed ? FAULT_NO_MEMORY : FAULT_NONE);
		assert_true(failed || (out == plain.len && i > 2));
		decoder_free(decoder);
	}
	coded_bytes_done(&plain);
	coded_bytes_done(&packed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(metadata_is_refused),
		cmocka_unit_test(metadata_is_refused_at_every_bit),
		cmocka_unit_test(metadata_alone),
		cmocka_unit_test(every_window_and_no_large_one),
		cmocka_unit_test(the_largest_window_is_counted),
		cmocka_unit_test(memory_may_run_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
