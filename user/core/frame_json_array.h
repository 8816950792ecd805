/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Framing of one JSON array whose elements come one after another (RFC 8259), as some
 * model servers stream without SSE: each element is a message; the opening bracket, the
 * commas and white space belong to the element after them, the closing bracket and what
 * white space comes before it are a unit that is no message, and so is each byte of white
 * space that follows it.
 *
 * It finds where elements end (nesting, strings, escapes) and judges nothing inside them:
 * their reader does. FAULT_BAD_JSON: something before the bracket that is no white space,
 * something that begins no element, a comma without one, anything but white space behind
 * the end. FAULT_TOO_LARGE: an element over the limit, or nested more than JSON_DEPTH_MAX
 * deep.
 *
 * Invariants:
 *  A1. How the input is cut changes no piece, but for how the bytes of DATA are cut into
 *      pieces, and for PIECE_NOTHING.
 *  A2. A fault is told by the call whose first byte shows it, and stays: its offset is
 *      the number of bytes taken.
 *  A3. The last byte of an element is taken with its end: the payload that it ends comes
 *      before, and leaves it to the next call. An element that is a number or a word ends
 *      only with the byte behind it, which is not its.
 *
 * Units: bytes.
 */
#ifndef SLUICE_CORE_FRAME_JSON_ARRAY_H
#define SLUICE_CORE_FRAME_JSON_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/fault.h"
#include "core/piece.h"

struct frame_json_array {
	uint64_t limit, payload;
	enum fault fault;
	uint8_t state;
	uint16_t depth; /* of the element under way */
	bool whole;	/* all but its last byte was taken */
	bool in_string, escaped;
	bool begun; /* the unit has a byte */
};

void frame_json_array_init(struct frame_json_array *frame, uint64_t max_message);

/* The next piece of len (at least 1) bytes. */
enum fault frame_json_array_next(struct frame_json_array *frame, const uint8_t *data, size_t len,
				 struct piece *ret_piece) must_check;

/* Has a unit begun that has not ended? Between two elements: no. */
bool frame_json_array_partial(const struct frame_json_array *frame);
/* The closing bracket has come. */
bool frame_json_array_ended(const struct frame_json_array *frame);

#endif
