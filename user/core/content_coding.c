/* SPDX-License-Identifier: Apache-2.0 */
#include "core/content_coding.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "core/coding_backend.h"

#define OUTPUT_SIZE (16u << 10)

struct decoder {
	const struct coding_backend *backend;
	void *state;
	enum fault fault;
	bool gave_words;
	const uint8_t *data; /* what the backend has not been given */
	size_t len;
	uint64_t in, out; /* given to the backend, and given out */
	struct coding_io io;
	uint8_t output[OUTPUT_SIZE];
};

static const struct coding_backend *const backends[_CODING_MAX] = {
	[CODING_GZIP] = &coding_zlib,
	[CODING_DEFLATE] = &coding_zlib,
	[CODING_BROTLI] = &coding_brotli,
	[CODING_ZSTD] = &coding_zstd,
};

int decoder_new(enum content_coding coding, struct decoder **ret_decoder)
{
	struct decoder *decoder;
	int r;

	if (coding >= _CODING_MAX || !backends[coding])
		return -EINVAL;
	decoder = calloc(1, sizeof(*decoder));
	if (!decoder)
		return -ENOMEM;
	decoder->backend = backends[coding];
	r = decoder->backend->create(coding, &decoder->state);
	if (r < 0) {
		free(decoder);
		return r;
	}
	*ret_decoder = decoder;
	return 0;
}

void decoder_free(struct decoder *decoder)
{
	if (!decoder)
		return;
	decoder->backend->destroy(decoder->state);
	free(decoder);
}

void decoder_accept_words(struct decoder *decoder)
{
	if (decoder->backend->accept_words)
		decoder->backend->accept_words(decoder->state);
}

bool decoder_gave_words(const struct decoder *decoder)
{
	return decoder->gave_words;
}

bool decoder_holds(const struct decoder *decoder)
{
	return decoder->backend->holds(decoder->state);
}

void decoder_feed(struct decoder *decoder, const uint8_t *data, size_t len)
{
	assert(decoder->fault || (!decoder->len && !decoder->io.in_len));
	decoder->data = data;
	decoder->len = len;
}

/* How much may be given out yet. */
static uint64_t room_left(const struct decoder *decoder)
{
	uint64_t in = MIN(decoder->in, (UINT64_MAX - CODING_SLACK - 1) / CODING_RATIO_MAX);

	return CODING_SLACK + CODING_RATIO_MAX * in - decoder->out;
}

/* Is there anything for the backend to do? */
static bool load(struct decoder *decoder)
{
	struct coding_io *io = &decoder->io;
	size_t len = decoder->len;

	if (io->more || io->in_len)
		return true;
	if (!len)
		return false;
	decoder->fault =
		decoder->backend->take(decoder->state, decoder->data, room_left(decoder), &len);
	if (decoder->fault)
		return false;
	io->in = decoder->data;
	io->in_len = len;
	decoder->data += len;
	decoder->len -= len;
	decoder->in += len;
	return true;
}

/* Behind what is in the output already; how much it is. */
static size_t decode_some(struct decoder *decoder, size_t at)
{
	uint64_t left = room_left(decoder);
	size_t room = (size_t)MIN(left + 1, (uint64_t)(OUTPUT_SIZE - at)), len;

	decoder->io.out = decoder->output + at;
	decoder->io.room = room;
	decoder->io.more = false;
	decoder->fault = decoder->backend->run(decoder->state, &decoder->io);
	len = room - decoder->io.room;
	if (len > left) {
		decoder->fault = FAULT_TOO_LARGE;
		len = (size_t)left;
	}
	decoder->out += len;
	return len;
}

static size_t next_words(struct decoder *decoder, const uint8_t **ret_data)
{
	size_t len = 0;

	decoder->fault = decoder->backend->next_words(decoder->state, ret_data, &len);
	decoder->gave_words = len > 0;
	decoder->io.words = len > 0;
	return len;
}

enum fault decoder_next(struct decoder *decoder, const uint8_t **ret_data, size_t *ret_len)
{
	const uint8_t *data = decoder->output;
	size_t len = 0;

	decoder->gave_words = false;
	/* The words are a piece of their own. */
	while (!decoder->fault && !decoder->gave_words && len < OUTPUT_SIZE &&
	       !(decoder->io.words && len)) {
		if (decoder->io.words) {
			len = next_words(decoder, &data);
		} else {
			if (!load(decoder))
				break;
			data = decoder->output;
			len += decode_some(decoder, len);
		}
	}
	if (decoder->fault && !len)
		return decoder->fault;
	*ret_data = data;
	*ret_len = len;
	return FAULT_NONE;
}

enum fault decoder_end(struct decoder *decoder)
{
	if (!decoder->fault && !decoder->backend->whole(decoder->state))
		decoder->fault = FAULT_TRUNCATED;
	return decoder->fault;
}

size_t decoder_memory(const struct decoder *decoder)
{
	return sizeof(*decoder) + decoder->backend->memory(decoder->state);
}
