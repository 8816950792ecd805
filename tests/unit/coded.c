/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/coded.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"

void coded_bytes_add(struct coded_bytes *bytes, const void *data, size_t len)
{
	if (bytes->capacity - bytes->len < len) {
		bytes->capacity = 2 * bytes->capacity + len;
		bytes->data = realloc(bytes->data, bytes->capacity);
		assert_non_null(bytes->data);
	}
	if (len)
		memcpy(bytes->data + bytes->len, data, len);
	bytes->len += len;
}

void coded_bytes_done(struct coded_bytes *bytes)
{
	free(bytes->data);
	*bytes = (struct coded_bytes){.data = NULL};
}

static unsigned int next_random(unsigned int *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

void coded_content(enum coded_content content, size_t size, struct coded_bytes *bytes)
{
	unsigned int seed = 7;
	char word[32];

	switch (content) {
	case CODED_EMPTY:
		break;
	case CODED_ONE:
		coded_bytes_add(bytes, "x", 1);
		break;
	case CODED_TEXT:
		while (bytes->len < size)
			coded_bytes_add(bytes, word,
					(size_t)snprintf(word, sizeof(word),
							 "data: {\"t\":\"%u\"}\n\n",
							 next_random(&seed) % 5000));
		break;
	case CODED_NOISE:
	case CODED_ZEROS:
		while (bytes->len < size) {
			uint8_t byte = content == CODED_NOISE ? (uint8_t)next_random(&seed) : 0;

			coded_bytes_add(bytes, &byte, 1);
		}
		break;
	case _CODED_CONTENT_MAX:
		fail();
	}
}

void coded_outcome_done(struct coded_outcome *outcome)
{
	coded_bytes_done(&outcome->body);
	coded_bytes_done(&outcome->words);
}

enum fault coded_feed(struct decoder *decoder, const uint8_t *data, size_t len,
		      struct coded_outcome *outcome)
{
	/* In memory of its own, so that no byte beside it is read unnoticed. */
	uint8_t *cut = malloc(len ? len : 1);
	enum fault fault;

	assert_non_null(cut);
	memcpy(cut, data, len);
	decoder_feed(decoder, cut, len);
	for (;;) {
		const uint8_t *piece = NULL;
		size_t piece_len = SIZE_MAX;

		fault = decoder_next(decoder, &piece, &piece_len);
		if (fault)
			assert_int_equal(piece_len, SIZE_MAX);
		if (fault || !piece_len)
			break;
		if (decoder_gave_words(decoder)) {
			coded_bytes_add(&outcome->words, piece, piece_len);
			coded_bytes_add(&outcome->words, "\n", 1);
		} else {
			coded_bytes_add(&outcome->body, piece, piece_len);
		}
	}
	free(cut);
	outcome->taken += len;
	if (!fault)
		assert_true(outcome->body.len <=
			    CODING_SLACK + (uint64_t)CODING_RATIO_MAX * outcome->taken);
	return fault;
}

/* A window, and what decoders have beside it. */
static size_t memory_max(enum content_coding coding)
{
	static const size_t max[_CODING_MAX] = {
		[CODING_GZIP] = 80 << 10,
		[CODING_DEFLATE] = 80 << 10,
		[CODING_BROTLI] = (16 << 20) + (1 << 20),
		[CODING_ZSTD] = (8 << 20) + (1 << 20),
	};

	return max[coding];
}

void coded_undo(enum content_coding coding, const struct coded_bytes *packed,
		const struct coded_cuts *cuts, struct coded_outcome *ret_outcome)
{
	const size_t least_memory = 16 << 10;
	struct decoder *decoder = NULL;
	size_t at = MIN(cuts->first, packed->len), memory;
	enum fault fault;

	*ret_outcome = (struct coded_outcome){.fault = FAULT_NONE};
	assert_int_equal(decoder_new(coding, &decoder), 0);
	memory = decoder_memory(decoder);
	assert_in_range(memory, least_memory, memory_max(coding));
	if (cuts->accept_words)
		decoder_accept_words(decoder);
	fault = coded_feed(decoder, packed->data, at, ret_outcome);
	while (!fault && at < packed->len) {
		size_t len = MIN(cuts->size, packed->len - at);

		fault = coded_feed(decoder, packed->data + at, len, ret_outcome);
		at += len;
	}
	/* It stays. */
	if (fault)
		assert_int_equal(coded_feed(decoder, packed->data, packed->len, ret_outcome),
				 fault);
	ret_outcome->fault = decoder_end(decoder);
	assert_int_equal(decoder_end(decoder), ret_outcome->fault);
	if (fault)
		assert_int_equal(ret_outcome->fault, fault);
	if (coding == CODING_GZIP || coding == CODING_DEFLATE)
		assert_int_equal(decoder_memory(decoder), memory);
	else
		assert_in_range(decoder_memory(decoder), least_memory, memory_max(coding));
	decoder_free(decoder);
}

void coded_assert_bytes(const struct coded_bytes *got, const struct coded_bytes *expected)
{
	assert_int_equal(got->len, expected->len);
	if (expected->len)
		assert_memory_equal(got->data, expected->data, expected->len);
}

void coded_check_cut(enum content_coding coding, const struct coded_bytes *packed,
		     const struct coded_cuts *cuts, const struct coded_outcome *expected)
{
	struct coded_outcome got;

	coded_undo(coding, packed, cuts, &got);
	assert_string_equal(fault_name(got.fault), fault_name(expected->fault));
	coded_assert_bytes(&got.body, &expected->body);
	coded_assert_bytes(&got.words, &expected->words);
	coded_outcome_done(&got);
}

void coded_check_cuts(enum content_coding coding, const struct coded_bytes *packed,
		      bool accept_words, struct coded_outcome *ret_outcome)
{
	struct coded_cuts cuts = {SIZE_MAX, SIZE_MAX, accept_words};

	coded_undo(coding, packed, &cuts, ret_outcome);
	for (cuts.first = 0; cuts.first < packed->len; cuts.first++)
		coded_check_cut(coding, packed, &cuts, ret_outcome);
	cuts.first = cuts.size = 1;
	coded_check_cut(coding, packed, &cuts, ret_outcome);
}
