/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream as one short row, of which thousands are made a second: what the status page draws.
 * Of what stream_json() tells, and like it never text. Units: bytes, runes as
 * pipeline_runes() counts them, milliseconds.
 */
#ifndef SLUICE_DAEMON_STREAM_ROW_H
#define SLUICE_DAEMON_STREAM_ROW_H

#include <jansson.h>
#include <stdint.h>

#include "base/macros.h"

struct stream;

/*
 * "columns":[…],"track_columns":[…], as members of a JSON object: the names of the values of a
 * row, and of those of its last two values, its tracks.
 */
extern const char stream_row_columns[];

/* now_ns: boot clock. A new reference; NULL without memory. */
json_t *stream_row(const struct stream *stream, uint64_t now_ns) must_check;

#endif
