/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What settled streams add up to: for the daemon as a whole and for each watched
 * cgroup. The daemon's bytes and runes, of open streams too, are in daemon/metrics.h.
 */
#ifndef SLUICE_DAEMON_STATS_H
#define SLUICE_DAEMON_STATS_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/session.h"

struct stats_count {
	char name[80];
	uint64_t count;
};

struct stats_names {
	struct stats_count *list;
	size_t count;
	uint64_t lost; /* no memory, or over LIMIT_REASONS names */
};

struct stats {
	uint64_t streams, complete, denied, failed;
	uint64_t sessions[_SESSION_END_MAX];	 /* by how they ended */
	uint64_t bytes_received, bytes_released; /* of a watch alone, as runes */
	uint64_t runes_received, runes_released;
	struct stats_names reasons;
	struct stats_names findings; /* by task, of those that enforce nothing */
};

void stats_done(struct stats *stats);
void stats_count_name(struct stats_names *names, const char *name);
/*
 * {end: count}; of SESSION_OPEN the caller has counted how many there are. A new
 * reference, NULL without memory.
 */
json_t *stats_sessions_json(const uint64_t sessions[_SESSION_END_MAX]) must_check;
/* {name: count}, without "complete". A new reference, NULL without memory. */
json_t *stats_names_json(const struct stats_names *names) must_check;

#endif
