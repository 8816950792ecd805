/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Framing of gRPC messages (the length-prefixed messages of "gRPC over HTTP2", also
 * those of gRPC-Web): a flag, four bytes of length, the payload. A flag of 1 says that
 * the payload is compressed with the call's grpc-encoding, and is undone; the words of
 * a gzip header are META, a text each. In gRPC-Web one of 0x80 holds trailers, the last
 * thing of a body: a unit that is no message, its lines are META.
 *
 * FAULT_BAD_FRAME: another flag, 1 where the encoding is identity or unknown, compressed
 * trailers, anything behind trailers. FAULT_TOO_LARGE: a length over the limit, told when
 * the length is whole, or what inflates past it. FAULT_BAD_ENCODING. FAULT_BAD_HEADER:
 * a line of trailers that is not a name, a colon and a value, or a CR without its LF;
 * FAULT_BARE_LF. Nothing is allocated for a length announced.
 *
 * Invariants:
 *  G1. How the input is cut changes no piece, but for how the bytes of DATA and META are
 *      cut into pieces, and for PIECE_NOTHING.
 *  G2. A fault is told by the call whose first byte shows it, and stays: its offset is
 *      the number of bytes taken. That a payload does not inflate, or to too much, is
 *      told at its last byte.
 *  G3. The last byte of a unit is taken with its end: pieces of what it holds come
 *      before, and leave it to the next call.
 *  G4. Of a compressed payload what has come is given out by batches of GRPC_BATCH bytes,
 *      and the rest with its last byte.
 *
 * Units: bytes.
 */
#ifndef SLUICE_CORE_FRAME_GRPC_H
#define SLUICE_CORE_FRAME_GRPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/content_coding.h"
#include "core/fault.h"
#include "core/piece.h"

#define GRPC_HEADER_LEN 5u
#define GRPC_BATCH	256u /* bytes of a compressed payload that are undone at once */

struct frame_grpc {
	uint64_t limit;
	enum content_coding coding; /* CODING_IDENTITY: none */
	bool web;
	enum fault fault;
	uint8_t state, flag, header_len;
	uint32_t left;	  /* of the payload */
	uint64_t payload; /* given out */

	struct decoder *decoder;   /* of the payload under way */
	enum fault coding_fault;   /* known, and not told yet */
	uint8_t batch[GRPC_BATCH]; /* what it reads next */
	size_t batch_len;
	bool fed;		  /* it was given a batch, whose last byte is not taken */
	bool draining;		  /* it may have more to give out */
	uint8_t line;		  /* state, in trailers */
	bool named;		  /* the line under way has a byte of its name */
	bool trailers, text_open; /* trailers have come; a META text has not ended */
};

/* Nothing is allocated before a compressed payload comes; the struct must not move then. */
void frame_grpc_init(struct frame_grpc *frame, enum content_coding coding, bool web,
		     uint64_t max_message);
void frame_grpc_done(struct frame_grpc *frame);

/* The next piece of len (at least 1) bytes. */
enum fault frame_grpc_next(struct frame_grpc *frame, const uint8_t *data, size_t len,
			   struct piece *ret_piece) must_check;

/* Has a message begun that has not ended? */
bool frame_grpc_partial(const struct frame_grpc *frame);
size_t frame_grpc_memory(const struct frame_grpc *frame); /* beside the struct itself */

#endif
