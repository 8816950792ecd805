/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics: what has passed, kept as running sums, so that a scrape costs the same whatever the
 * number of streams.
 *
 * Invariants:
 *  E1. A sum never goes back: not when a stream settles, a watch ends, or a policy is replaced.
 *  E2. Of each track received = held + released + withheld, of bytes and of runes: what is held
 *      is the difference, and becomes withheld when its stream settles.
 *  E3. Counting is done per read, release and write, never per byte, and allocates nothing.
 *  E4. Values of labels are names: of the program, and of tasks of the policies, of which
 *      LIMIT_REASONS are told apart.
 *
 * Hold time: observed once per move of a judged flow's release offset: the age of the oldest byte
 * that it lets go, from its reading (daemon/age.h).
 * Release latency: from the move of the release offset until all bytes below it are handed to
 * the kernel, which for those written ahead is at once; observed once per such wait.
 */
#ifndef SLUICE_DAEMON_METRICS_H
#define SLUICE_DAEMON_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/session.h"
#include "daemon/age.h"
#include "daemon/histogram.h"

struct daemon;
struct evbuffer;
struct flow;

struct metrics_amount {
	uint64_t received, released, withheld;
};

struct metrics {
	struct metrics_track {
		struct metrics_amount bytes, runes;
		struct histogram hold, latency;
	} track[_SESSION_TRACK_MAX];
	uint64_t open_streams, open_sessions;
	struct histogram lag; /* how late ticks of the loop are */
	uint64_t scrapes;
	uint64_t started_ns; /* of the process, since 1970 */
};

/* What a flow remembers for them. */
struct metrics_flow {
	struct age age;
	uint64_t runes_received, runes_released; /* as counted */
	uint64_t released_ns; /* since when released bytes are not handed on; 0: none */
};

void metrics_init(struct metrics *metrics);
/* Bytes were read; runes of them may be known; the release offset moved by so many bytes. */
void metrics_received(struct flow *flow, uint64_t bytes);
void metrics_judged(struct flow *flow);
void metrics_released(struct flow *flow, uint64_t bytes);
/* What it holds came from another process, where the last of it had come at since_ns. */
void metrics_adopted(struct flow *flow, uint64_t since_ns);
/* Something of it was handed to the kernel. */
void metrics_handed(struct flow *flow);
/* Its stream settled: what is not released never is. */
void metrics_withheld(struct flow *flow);
/* A tick of the loop came, so long after the one before; interval_ns: as it should. */
void metrics_ticked(struct daemon *daemon, uint64_t passed_ns, uint64_t interval_ns);

/* All of them in the form asked for. -ENOMEM: out has a part of them. */
int metrics_write(struct daemon *daemon, struct evbuffer *out, bool openmetrics);

#endif
