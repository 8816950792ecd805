/* SPDX-License-Identifier: Apache-2.0 */
#include "core/frame_ws_inflate.h"

#include <errno.h>
#include <stdlib.h>

#define ZLIB_CONST
#include <zlib.h>

#include "core/content_coding.h"

#define WINDOW_BITS 15
#define OUTPUT_SIZE (16u << 10)
/* The inflater's window, and its state and tables: "about 7 kilobytes", by zconf.h. */
#define INFLATER_SIZE ((1u << WINDOW_BITS) + (8u << 10))

/* Behind a block, with no bit of the next: by inflate() in zlib.h. */
#define AT_BLOCK 128

/*
 * A byte of input decides four repetitions of two bits each at most, and the one whose
 * last bit was all that was missing.
 */
#define REPETITION_MAX 258u /* RFC 1951 3.2.5 */
#define EXPANSION_MAX  (4 * REPETITION_MAX)
#define BATCH_MAX      (1u << 20)

static const uint8_t tail[] = {0x00, 0x00, 0xff, 0xff};

struct frame_ws_inflater {
	bool takeover;
	bool ended; /* the stream; what comes next begins another */
	bool more;  /* there may be more output without more input */
	enum fault fault;
	uint64_t max_message;
	uint64_t in, out;  /* of the message */
	size_t tail_taken; /* of the message's tail */
	z_stream stream;
	uint8_t output[OUTPUT_SIZE];
};

int frame_ws_inflater_new(bool takeover, uint64_t max_message,
			  struct frame_ws_inflater **ret_inflater)
{
	struct frame_ws_inflater *inflater = calloc(1, sizeof(*inflater));
	int result;

	if (!inflater)
		return -ENOMEM;
	inflater->takeover = takeover;
	inflater->max_message = max_message;
	result = inflateInit2(&inflater->stream, -WINDOW_BITS);
	if (result != Z_OK) {
		free(inflater);
		return result == Z_MEM_ERROR ? -ENOMEM : -EINVAL;
	}
	*ret_inflater = inflater;
	return 0;
}

void frame_ws_inflater_free(struct frame_ws_inflater *inflater)
{
	if (!inflater)
		return;
	inflateEnd(&inflater->stream);
	free(inflater);
}

void frame_ws_inflate_begin(struct frame_ws_inflater *inflater)
{
	if (!inflater->takeover)
		inflater->ended = true;
	inflater->in = inflater->out = 0;
	inflater->tail_taken = 0;
}

/* How much may have been given out for `in` bytes, by the ratio alone. */
static uint64_t ratio_max(uint64_t in)
{
	return CODING_SLACK +
	       CODING_RATIO_MAX * MIN(in, (UINT64_MAX - CODING_SLACK - 1) / CODING_RATIO_MAX);
}

/*
 * How many bytes cannot pass the ratio, each with its own output: they are inflated at
 * once. Close to it, it is one, so that the byte at fault is the same in any cut.
 */
static size_t batch_max(const struct frame_ws_inflater *inflater)
{
	uint64_t room = ratio_max(inflater->in) - inflater->out;

	/* What is inside has its ratio from the bytes that decided it. */
	if (inflater->more)
		return 0;
	if (room < REPETITION_MAX + EXPANSION_MAX)
		return 1;
	return (size_t)MIN((room - REPETITION_MAX) / EXPANSION_MAX, (uint64_t)BATCH_MAX);
}

static enum fault fault_of(int result)
{
	switch (result) {
	case Z_OK:
	case Z_BUF_ERROR: /* it would go on with more input */
	case Z_STREAM_END:
		return FAULT_NONE;
	case Z_MEM_ERROR:
		return FAULT_NO_MEMORY;
	default:
		return FAULT_BAD_ENCODING;
	}
}

enum fault frame_ws_inflate(struct frame_ws_inflater *inflater, const uint8_t *data, size_t len,
			    struct frame_ws_inflated *ret_inflated)
{
	size_t batch = MIN(len, batch_max(inflater)), room;
	uint64_t max = MIN(ratio_max(inflater->in + batch), inflater->max_message) - inflater->out;
	z_stream *stream = &inflater->stream;
	int result;

	if (inflater->fault)
		return inflater->fault;
	if (inflater->ended && batch) {
		inflateReset(stream);
		inflater->ended = false;
	}
	room = (size_t)MIN(max + 1, (uint64_t)OUTPUT_SIZE);
	stream->next_in = data;
	stream->avail_in = (uInt)batch;
	stream->next_out = inflater->output;
	stream->avail_out = (uInt)room;
	result = inflate(stream, Z_NO_FLUSH);
	room -= stream->avail_out;
	inflater->fault = room > max ? FAULT_TOO_LARGE : fault_of(result);
	inflater->ended = result == Z_STREAM_END;
	inflater->more = inflater->fault || (result == Z_OK && !stream->avail_out);
	inflater->in += batch - stream->avail_in;
	room = (size_t)MIN(max, (uint64_t)room);
	inflater->out += room;
	if (inflater->fault && !room)
		return inflater->fault;
	*ret_inflated = (struct frame_ws_inflated){
		.data = inflater->output,
		.len = room,
		.used = batch - stream->avail_in,
		.more = inflater->more,
	};
	return FAULT_NONE;
}

enum fault frame_ws_inflate_end(struct frame_ws_inflater *inflater,
				struct frame_ws_inflated *ret_inflated)
{
	struct frame_ws_inflated inflated = {.len = 0};
	enum fault fault = FAULT_NONE;

	while (!fault && !inflated.len && (inflater->more || inflater->tail_taken < sizeof(tail))) {
		fault = frame_ws_inflate(inflater, tail + inflater->tail_taken,
					 sizeof(tail) - inflater->tail_taken, &inflated);
		inflater->tail_taken += inflated.used;
	}
	if (!fault && !inflated.len && !inflater->ended && inflater->stream.data_type != AT_BLOCK)
		fault = inflater->fault = FAULT_BAD_ENCODING;
	if (!fault)
		*ret_inflated = inflated;
	return fault;
}

size_t frame_ws_inflater_memory(const struct frame_ws_inflater *inflater)
{
	return sizeof(*inflater) + INFLATER_SIZE;
}
