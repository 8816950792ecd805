/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/2's frame layer (RFC 9113 4 and 6) in one direction of a connection, behind the
 * preface, with header blocks dealt with elsewhere: frames by the length in their nine
 * bytes, DATA out of its padding, by stream. Every frame is a unit.
 *
 * The eight bytes of PING, the debug data of GOAWAY and the payload of frames of unknown
 * types are META, one text each: no number is made of them, and a reader may. All other
 * payloads are numbers, and are judged as the standard says.
 *
 * FAULT_PROTOCOL: a frame longer than may be sent, or of a length that its type does not
 * have (FRAME_SIZE_ERROR of 4.2); a stream where none may be named, or none where one
 * has to be; padding that is not shorter than the payload, or not of zeros (6.1 allows
 * to refuse it, and it would be released unread); values of settings that 6.5.2 forbids;
 * a window's increment of 0. FAULT_UNFRAMED: HEADERS, PUSH_PROMISE, CONTINUATION.
 * FAULT_BAD_FRAME: META that is not UTF-8.
 *
 * Invariants:
 *  H1. How the input is cut changes no piece, but for how the bytes of DATA and META are
 *      cut into pieces, and for PIECE_NOTHING.
 *  H2. A fault is told by the call whose first byte shows it, and stays: its offset is
 *      the number of bytes taken.
 *  H3. The last byte of a frame is taken with its end: pieces of what it holds come
 *      before, and leave it to the next call.
 *  H4. Nothing is allocated.
 *
 * Units: bytes.
 */
#ifndef SLUICE_CORE_FRAME_H2_H
#define SLUICE_CORE_FRAME_H2_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/fault.h"
#include "core/piece.h"
#include "core/utf8.h"

#define H2_HEADER_LEN	 9u
#define H2_MAX_FRAME_MIN 16384u /* what SETTINGS_MAX_FRAME_SIZE is before it is changed */
#define H2_MAX_FRAME_MAX ((1u << 24) - 1)

enum h2_type {
	H2_DATA,
	H2_HEADERS,
	H2_PRIORITY,
	H2_RST_STREAM,
	H2_SETTINGS,
	H2_PUSH_PROMISE,
	H2_PING,
	H2_GOAWAY,
	H2_WINDOW_UPDATE,
	H2_CONTINUATION,
};

struct h2_piece {
	enum piece_kind kind;
	uint8_t type;	     /* enum h2_type, or an unknown one; not with PIECE_NOTHING */
	uint32_t stream;     /* likewise */
	const uint8_t *data; /* DATA, META: in the input */
	size_t len;
	size_t used;	 /* of the input */
	bool end_stream; /* UNIT: its stream ended with it */
};

struct frame_h2 {
	uint32_t max_frame;
	enum fault fault;
	uint8_t state;
	uint8_t have; /* bytes of the header, or of the numbers, under way */
	uint8_t fixed[8];
	uint8_t type, flags;
	uint32_t stream;
	uint32_t left;	    /* of the payload */
	uint32_t data_left; /* of what of it is data */
	bool text_open;	    /* a META text has not ended */
	struct utf8 utf8;
};

/* max_frame: what the other side's SETTINGS_MAX_FRAME_SIZE allows. */
void frame_h2_init(struct frame_h2 *frame, uint32_t max_frame);

/* The next piece of len (at least 1) bytes. */
enum fault frame_h2_next(struct frame_h2 *frame, const uint8_t *data, size_t len,
			 struct h2_piece *ret_piece) must_check;

/* Has a frame begun that has not ended? */
bool frame_h2_partial(const struct frame_h2 *frame);

#endif
