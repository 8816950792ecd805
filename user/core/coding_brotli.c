/* SPDX-License-Identifier: Apache-2.0 */
/*
 * br, by libbrotlidec.
 *
 * A metadata block (RFC 7932 9.2) holds bytes that no decoder gives out, and where it
 * begins is a matter of bits that only a decoder knows. The library has no call that
 * tells (1.0), but its state begins with the step that it is at. Which number stands for
 * "the next byte is metadata" is learnt from a sample, for each body. Where that number is
 * not the same for all of the sample's metadata, or is there for anything else, this is
 * not such a library, and br is FAULT_UNSUPPORTED_CODING.
 */
#include <brotli/decode.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/coding_backend.h"

enum place { BEFORE, INSIDE, BEHIND };

struct brotli {
	BrotliDecoderState *decoder;
	size_t memory; /* of what the library allocated */
	enum place place;
	enum fault unfit; /* of the library: metadata does not show */
	int metadata;	  /* by which step it does */
};

struct allocation {
	size_t size;
	_Alignas(max_align_t) uint8_t data[];
};

static void *allocate(void *opaque, size_t size)
{
	struct brotli *brotli = opaque;
	struct allocation *allocation = malloc(sizeof(*allocation) + size);

	if (!allocation)
		return NULL;
	allocation->size = size;
	brotli->memory += size;
	return allocation->data;
}

static void release(void *opaque, void *data)
{
	struct brotli *brotli = opaque;
	struct allocation *allocation;

	if (!data)
		return;
	allocation = container_of(data, struct allocation, data);
	brotli->memory -= allocation->size;
	free(allocation);
}

static int step_of(const struct brotli *brotli)
{
	int step;

	memcpy(&step, brotli->decoder, sizeof(step));
	return step;
}

static enum fault fault_of(const struct brotli *brotli)
{
	BrotliDecoderErrorCode code = BrotliDecoderGetErrorCode(brotli->decoder);

	return code <= BROTLI_DECODER_ERROR_ALLOC_CONTEXT_MODES &&
			       code >= BROTLI_DECODER_ERROR_ALLOC_BLOCK_TYPE_TREES
		       ? FAULT_NO_MEMORY
		       : FAULT_BAD_ENCODING;
}

/* Does the decoder show it when metadata comes next, and by which step? It is used up. */
static enum fault learn(struct brotli *brotli)
{
	/* Two bytes of metadata, two of a block that is not compressed, one of metadata. */
	static const uint8_t sample[] = {0xac, 0,   'm',  'm', 0x08, 0,	  0x08,
					 'u',  'u', 0x16, 0,   'm',  0x03};
	static const bool metadata_next[sizeof(sample)] = {[1] = true, [2] = true, [10] = true};
	const uint8_t *in = sample;
	bool learnt = false;

	for (size_t i = 0; i < sizeof(sample); i++) {
		uint8_t out[sizeof(sample)], *next_out = out;
		size_t room = sizeof(out), len = 1;

		if (BrotliDecoderDecompressStream(brotli->decoder, &len, &in, &room, &next_out,
						  NULL) == BROTLI_DECODER_RESULT_ERROR)
			return fault_of(brotli) == FAULT_NO_MEMORY ? FAULT_NO_MEMORY
								   : FAULT_UNSUPPORTED_CODING;
		if (metadata_next[i] && !learnt) {
			brotli->metadata = step_of(brotli);
			learnt = true;
		} else if (learnt && metadata_next[i] != (step_of(brotli) == brotli->metadata)) {
			return FAULT_UNSUPPORTED_CODING;
		}
	}
	return FAULT_NONE;
}

static int new_decoder(struct brotli *brotli)
{
	brotli->decoder = BrotliDecoderCreateInstance(allocate, release, brotli);
	return brotli->decoder ? 0 : -ENOMEM;
}

static void brotli_destroy(void *state)
{
	struct brotli *brotli = state;

	BrotliDecoderDestroyInstance(brotli->decoder);
	free(brotli);
}

static int brotli_create(enum content_coding coding, void **ret_state)
{
	struct brotli *brotli = calloc(1, sizeof(*brotli));
	int r;

	(void)coding;
	if (!brotli)
		return -ENOMEM;
	r = new_decoder(brotli);
	if (r == 0) {
		brotli->unfit = learn(brotli);
		BrotliDecoderDestroyInstance(brotli->decoder);
		r = brotli->unfit == FAULT_NO_MEMORY ? -ENOMEM : new_decoder(brotli);
	}
	if (r < 0) {
		free(brotli);
		return r;
	}
	*ret_state = brotli;
	return 0;
}

static size_t brotli_memory(const void *state)
{
	const struct brotli *brotli = state;

	return sizeof(*brotli) + brotli->memory;
}

/* What a byte decides has no limit but the window's. */
static enum fault brotli_take(void *state, const uint8_t *data, uint64_t room, size_t *ret_len)
{
	(void)state;
	(void)data;
	(void)room;
	*ret_len = 1;
	return FAULT_NONE;
}

static enum fault brotli_run(void *state, struct coding_io *io)
{
	struct brotli *brotli = state;
	BrotliDecoderResult result;

	if (brotli->unfit)
		return brotli->unfit;
	if (brotli->place == BEHIND)
		return FAULT_BAD_ENCODING;
	brotli->place = INSIDE;
	result = BrotliDecoderDecompressStream(brotli->decoder, &io->in_len, &io->in, &io->room,
					       &io->out, NULL);
	if (result == BROTLI_DECODER_RESULT_ERROR)
		return fault_of(brotli);
	if (result == BROTLI_DECODER_RESULT_SUCCESS)
		brotli->place = BEHIND;
	/* It may ask for input while it has output. */
	io->more = BrotliDecoderHasMoreOutput(brotli->decoder);
	return step_of(brotli) == brotli->metadata ? FAULT_BAD_ENCODING : FAULT_NONE;
}

static bool brotli_whole(const void *state)
{
	const struct brotli *brotli = state;

	return brotli->place != INSIDE;
}

/* What bytes decide comes with them; what is left are bits. */
static bool brotli_holds(const void *state)
{
	(void)state;
	return false;
}

const struct coding_backend coding_brotli = {
	.create = brotli_create,
	.destroy = brotli_destroy,
	.memory = brotli_memory,
	.take = brotli_take,
	.run = brotli_run,
	.whole = brotli_whole,
	.holds = brotli_holds,
};
