/* SPDX-License-Identifier: Apache-2.0 */
/* A stream as `streams` and `top` show it: one row, read off the daemon's answer. */
#ifndef SLUICE_CLI_STREAM_ROW_H
#define SLUICE_CLI_STREAM_ROW_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/macros.h"

enum { ROW_REQUEST, ROW_RESPONSE, ROW_TRACKS };

struct stream_row_track {
	long long held;		     /* bytes */
	long long cleared, received; /* runes; cleared by all tasks */
	bool gated;		     /* tasks gate it: cleared means something */
};

/* Texts are borrowed from the answer. */
struct stream_row {
	long long id, pid, uid;
	const char *state, *cgroup, *comm, *peer;
	const char *framing; /* "pass" where nothing is framed */
	const char *level;   /* of safety, or "observe" */
	const char *slowest; /* the task that is behind all others and is waited for, or "" */
	const char *why;     /* it ended, a fault, or what the oldest byte waits for; or "" */
	double age_s, held_age_s;
	bool holds; /* something that is not released: held_age_s */
	struct stream_row_track tracks[ROW_TRACKS];
};

/* What an answer lacks reads as "-" and 0: an older daemon says less. */
void stream_row_read(const json_t *stream, struct stream_row *ret_row);

#define STREAM_CLEARED_LEN 48u
/* "120/134", "134" where nothing gates the track. */
void stream_row_cleared(const struct stream_row_track *track,
			char ret_text[static STREAM_CLEARED_LEN]);

/* The path below the cgroup mount, which says nothing. */
const char *stream_row_cgroup(const char *path);

#endif
