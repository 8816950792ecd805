/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Framing of JSON-RPC as the Language Server Protocol sends it (its base protocol):
 * header fields, each ended by CRLF, an empty line, and Content-Length bytes of payload.
 *
 * Content-Length and Content-Type are known, names in any case, white space around the
 * value allowed; any other field is FAULT_BAD_HEADER. FAULT_BARE_LF: a line that ends in
 * LF alone. FAULT_BAD_HEADER: a line without a colon, obs-fold, no or an ill-formed
 * Content-Length, two Content-Types or one that is no media type; FAULT_AMBIGUOUS_LENGTH:
 * more than one Content-Length. FAULT_UNSUPPORTED_CODING: a charset that is not utf-8 (or
 * its old name utf8). FAULT_TOO_LARGE: a length over the limit, told when the header is
 * whole, or a header of more than 4 KiB.
 * The value of Content-Type is META.
 *
 * Invariants:
 *  J1. How the input is cut changes no piece, but for how the bytes of DATA are cut into
 *      pieces, and for PIECE_NOTHING.
 *  J2. A fault is told by the call whose first byte shows it, and stays: its offset is
 *      the number of bytes taken. A Content-Type is judged at the end of its line.
 *  J3. The last byte of a unit is taken with its end: the payload that it ends comes
 *      before, and leaves it to the next call.
 *  J4. Memory is that of one Content-Type at most, to within the doubling of a buffer.
 *
 * Units: bytes.
 */
#ifndef SLUICE_CORE_FRAME_JSONRPC_H
#define SLUICE_CORE_FRAME_JSONRPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/fault.h"
#include "core/piece.h"

#define JSONRPC_HEADER_MAX 4096u

struct frame_jsonrpc {
	uint64_t limit;
	uint64_t left; /* of the payload */
	enum fault fault;
	uint8_t state;
	uint8_t matched; /* bytes of the name under way */
	bool type_named; /* it is, or was last, Content-Type's */
	bool has_length, has_type;
	bool length_huge; /* no 64 bits hold it */
	bool text_open;	  /* a META text has not ended */
	uint64_t length;
	size_t header_len; /* so far */
	uint8_t *line;	   /* the value of Content-Type */
	size_t line_len, line_capacity;
};

void frame_jsonrpc_init(struct frame_jsonrpc *frame, uint64_t max_message);
void frame_jsonrpc_done(struct frame_jsonrpc *frame);

/* The next piece of len (at least 1) bytes; META is valid until the next call. */
enum fault frame_jsonrpc_next(struct frame_jsonrpc *frame, const uint8_t *data, size_t len,
			      struct piece *ret_piece) must_check;

/* Has a message begun that has not ended? */
bool frame_jsonrpc_partial(const struct frame_jsonrpc *frame);
size_t frame_jsonrpc_memory(const struct frame_jsonrpc *frame); /* beside the struct itself */

#endif
