/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gRPC over HTTP/2's frame layer (frame_h2.h, frame_grpc.h): messages of each stream,
 * their frames interleaved.
 *
 * A unit is a frame: PIECE_UNIT. PIECE_MESSAGE says that a message of its stream is
 * whole, and ends no unit by itself: the message ends with the frame that completes it,
 * that is with the next PIECE_UNIT, of which more messages may be. A frame that leaves a
 * message of any stream unfinished leaves frame_h2_grpc_partial() true behind it.
 *
 * Faults are those of both. FAULT_TRUNCATED: a stream that ends (END_STREAM, RST_STREAM)
 * inside a message, told at the last byte of the frame that says so. FAULT_PROTOCOL:
 * DATA on a stream that has ended, as far back as H2_STREAMS_MAX remembers.
 * FAULT_TOO_LARGE: more streams inside a message than that at once.
 *
 * Invariants:
 *  S1. How the input is cut changes no piece, but for how the bytes of DATA and META are
 *      cut into pieces, and for PIECE_NOTHING.
 *  S2. A fault is told by the call whose first byte shows it, and stays: its offset is
 *      the number of bytes taken.
 *  S3. Memory: a frame_grpc a stream, none ahead of a stream's first byte of DATA. A
 *      stream that is between two messages is forgotten where another needs its place.
 *
 * Units: bytes.
 */
#ifndef SLUICE_CORE_FRAME_H2_GRPC_H
#define SLUICE_CORE_FRAME_H2_GRPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/content_coding.h"
#include "core/fault.h"
#include "core/frame_grpc.h"
#include "core/frame_h2.h"

#define H2_STREAMS_MAX 128u

struct h2_stream {
	struct frame_grpc grpc;
	bool ended;
};

struct frame_h2_grpc {
	struct frame_h2 h2;
	uint64_t limit;
	enum content_coding coding;
	enum fault fault;
	size_t count;	/* of streams known */
	size_t current; /* that of the DATA under way */
	size_t hand;	/* where a place is looked for */
	size_t partial; /* how many are inside a message */
	size_t pending; /* bytes of DATA that the frame layer has handed on */
	bool last_kept; /* the last one of them ends the frame, which takes it */
	uint32_t ids[H2_STREAMS_MAX];
	struct h2_stream *streams[H2_STREAMS_MAX];
};

/* max_message: of a gRPC message; max_frame: as in frame_h2_init(). */
void frame_h2_grpc_init(struct frame_h2_grpc *frame, enum content_coding coding,
			uint64_t max_message, uint32_t max_frame);
void frame_h2_grpc_done(struct frame_h2_grpc *frame);

/* The next piece of len (at least 1) bytes. */
enum fault frame_h2_grpc_next(struct frame_h2_grpc *frame, const uint8_t *data, size_t len,
			      struct h2_piece *ret_piece) must_check;

/* The stream ended: at END_STREAM, or by what is dealt with elsewhere (trailers). */
enum fault frame_h2_grpc_end(struct frame_h2_grpc *frame, uint32_t stream) must_check;

/* Has a frame, or a message of any stream, begun that has not ended? */
bool frame_h2_grpc_partial(const struct frame_h2_grpc *frame);
size_t frame_h2_grpc_memory(const struct frame_h2_grpc *frame); /* beside the struct itself */

#endif
