/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What replay found, as the document that --json prints. Offsets and counts; never text.
 * Moments of a timeline are microseconds since `began`, or where the flow is alone bytes that
 * had come. NULL: not enough memory.
 */
#ifndef SLUICE_CLI_REPLAY_VIEW_H
#define SLUICE_CLI_REPLAY_VIEW_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/replay_stream.h"

/* The policy's part. */
json_t *replay_view_policy(const struct replay_setup *setup);
/* What goes for both flows of a stream. */
json_t *replay_view_stream(const struct replay_stream *stream);
/* One flow; each: a row of the timeline for each unit. */
json_t *replay_view_flow(const struct replay_stream *stream, enum session_track track,
			 uint64_t began, bool each);

#endif
