/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Framing by a delimiter of 1 to SENTINEL_LEN_MAX bytes: a unit is a payload and
 * the delimiter's first occurrence after it (Knuth, Morris and Pratt's search, so
 * that neither a cut nor a false start hides it).
 *
 * Invariants: bytes that may begin the delimiter are not payload until it is
 * known that they do not; none are kept, since they equal the delimiter's own.
 */
#ifndef SLUICE_CORE_FRAME_SENTINEL_H
#define SLUICE_CORE_FRAME_SENTINEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/pipeline.h"

struct frame_sentinel {
	uint8_t len;
	uint8_t matched; /* of the delimiter */
	uint8_t bytes[SENTINEL_LEN_MAX];
	uint8_t border[SENTINEL_LEN_MAX]; /* longest border of each prefix */
};

/* What a step found: payload bytes (maybe none), then maybe the unit's end. */
struct frame_sentinel_piece {
	const uint8_t *payload; /* in the data, or in the delimiter */
	size_t len;
	size_t used; /* of the data */
	bool end;
};

void frame_sentinel_init(struct frame_sentinel *frame, const uint8_t *bytes, size_t len);

/* One step over data of at least one byte; uses some of it, or yields payload, or both. */
void frame_sentinel_next(struct frame_sentinel *frame, const uint8_t *data, size_t len,
			 struct frame_sentinel_piece *ret_piece);

#endif
