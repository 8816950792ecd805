/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Framing of newline-delimited JSON: a unit is a line and the LF that ends it. A
 * single CR before that LF belongs to the delimiter; any other CR to the payload.
 * A line of nothing but JSON's white space is a unit and no message, since readers
 * skip such lines; where lines need not be JSON, only an empty one is. The end of
 * a line is found by whoever reads its payload, since inside a JSON string an LF
 * ends nothing: here lines are counted.
 *
 * Units: bytes.
 */
#ifndef SLUICE_CORE_FRAME_NDJSON_H
#define SLUICE_CORE_FRAME_NDJSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/fault.h"

struct frame_ndjson {
	uint64_t limit; /* of a payload */
	uint64_t line;	/* bytes of the line so far, without its LF */
	bool cr;	/* the last of them is a CR */
};

void frame_ndjson_init(struct frame_ndjson *frame, uint64_t max_message);

/*
 * How many of the next len (at least 1) bytes the payload's reader may be given:
 * at least 1, or FAULT_TOO_LARGE. It gets one more byte than the limit, in case
 * that is a CR.
 */
enum fault frame_ndjson_room(const struct frame_ndjson *frame, const uint8_t *data, size_t len,
			     size_t *ret_room) must_check;

/* The reader took these. FAULT_TOO_LARGE. */
enum fault frame_ndjson_took(struct frame_ndjson *frame, const uint8_t *data,
			     size_t len) must_check;

/* The line ended: the length of its payload. With an LF the CR before it is left out. */
uint64_t frame_ndjson_end(struct frame_ndjson *frame, bool lf);

#endif
