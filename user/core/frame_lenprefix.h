/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Framing by a length before each payload: u8, u16, u32, u64 of either byte
 * order, or a base-128 varint as protobuf writes it. Where the length counts its
 * own bytes too, one that is smaller than they are is a fault.
 *
 * A varint has to be the shortest of its value and fit 64 bits. It is judged,
 * like any other length, when all its bytes are there (10 at most).
 */
#ifndef SLUICE_CORE_FRAME_LENPREFIX_H
#define SLUICE_CORE_FRAME_LENPREFIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/fault.h"
#include "core/pipeline.h"

struct frame_lenprefix {
	uint64_t limit; /* of a payload */
	uint64_t value; /* of the length so far */
	uint64_t left;	/* payload bytes to come, once `in_payload` */
	uint64_t declared;
	uint8_t type; /* enum lenprefix_type */
	bool big_endian, includes_header;
	bool in_payload;
	uint8_t header; /* bytes of the length so far */
};

/* -EINVAL: no such type. */
int frame_lenprefix_init(struct frame_lenprefix *frame, const struct framing *framing,
			 uint64_t max_message) must_check;

/*
 * Takes bytes of the length until it is whole (in_payload). *ret_used is what was
 * taken, the byte that made a fault known included.
 * FAULT_BAD_FRAME, FAULT_TOO_LARGE: over the limit.
 */
enum fault frame_lenprefix_header(struct frame_lenprefix *frame, const uint8_t *data, size_t len,
				  size_t *ret_used) must_check;

/* The unit is whole: the next length follows. */
void frame_lenprefix_next(struct frame_lenprefix *frame);

#endif
