/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Framing of an event stream, to the letter of WHATWG HTML 9.2.5 and 9.2.6: lines
 * end in LF, CR or CRLF; a BOM may come first; a blank line ends a block. A block
 * with a data field is a message, and its payload the values of these fields joined
 * by LF; a block without one (comments, ids, nothing) is a unit and no message.
 *
 * A block ends at the CR of its blank line already, since its reader acts on it
 * there. An LF that follows is a piece of its own (PIECE_TAIL).
 *
 * Everything that is not `data`, its colon and its space, a line end or the BOM is
 * handed on: comments, names and values of all other fields.
 *
 * Units: bytes.
 */
#ifndef SLUICE_CORE_FRAME_SSE_H
#define SLUICE_CORE_FRAME_SSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/fault.h"
#include "core/piece.h"

struct frame_sse {
	uint64_t limit;	  /* of a payload */
	uint64_t payload; /* bytes of it so far */
	uint8_t state;
	uint8_t matched; /* bytes of the BOM, or of `data`, that have come */
	bool has_data;	 /* the block has a data field */
	bool begun;	 /* the block has a byte */
	bool cr;	 /* the last byte was the CR that ended a line */
};

void frame_sse_init(struct frame_sse *frame, uint64_t max_message);

/* The next piece of len (at least 1) bytes. FAULT_TOO_LARGE: a payload over the limit. */
enum fault frame_sse_next(struct frame_sse *frame, const uint8_t *data, size_t len,
			  struct piece *ret_piece) must_check;

/* Has a block begun that has not ended? A BOM alone, or a part of one, has not. */
bool frame_sse_partial(const struct frame_sse *frame);

#endif
