/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Framing of AWS event streams (application/vnd.amazon.eventstream): a prelude of total
 * and headers length with its CRC-32, headers, payload, CRC-32 of all of it; every CRC is
 * checked. Each header is a META text, "name: value": strings and byte arrays as they are
 * (UTF-8, or a fault), numbers and times in decimal, UUIDs in hexadecimal, booleans as
 * true and false.
 *
 * FAULT_BAD_FRAME: lengths that do not fit each other, a CRC that does not match, an
 * unknown header type, a header without a name, headers that do not fill their length.
 * FAULT_TOO_LARGE: a payload over the limit, told when the prelude is whole, or headers
 * over 128 KiB (AWS's limit). FAULT_BAD_UTF8: in a name, a string or a byte array.
 *
 * Invariants:
 *  E1. How the input is cut changes no piece, but for how the bytes of DATA and META are
 *      cut into pieces, and for PIECE_NOTHING.
 *  E2. A fault is told by the call whose first byte shows it, and stays: its offset is
 *      the number of bytes taken.
 *  E3. Nothing is allocated.
 *
 * Units: bytes.
 */
#ifndef SLUICE_CORE_FRAME_EVENTSTREAM_H
#define SLUICE_CORE_FRAME_EVENTSTREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/fault.h"
#include "core/piece.h"
#include "core/utf8.h"

#define EVENTSTREAM_HEADERS_MAX (128u << 10)
#define EVENTSTREAM_VALUE_MAX	40u /* of a value that is written out, and its NUL */

struct frame_eventstream {
	uint64_t limit;
	enum fault fault;
	uint8_t state;
	uint8_t have; /* bytes of the fixed part under way */
	uint8_t fixed[16];
	uint32_t crc; /* of the message so far */
	uint32_t headers_left, payload_left;
	uint32_t text_left; /* of the name or the value under way */
	uint8_t type;	    /* of the header under way */
	struct utf8 utf8;
	char value[EVENTSTREAM_VALUE_MAX]; /* as it is written out */
};

void frame_eventstream_init(struct frame_eventstream *frame, uint64_t max_message);

/* The next piece of len (at least 1) bytes; META is valid until the next call. */
enum fault frame_eventstream_next(struct frame_eventstream *frame, const uint8_t *data, size_t len,
				  struct piece *ret_piece) must_check;

/* Has a message begun that has not ended? */
bool frame_eventstream_partial(const struct frame_eventstream *frame);

#endif
