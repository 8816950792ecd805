/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ahead: what a flow with eager writing has handed to the kernel beyond its
 * release offset, where the gate holds it.
 *
 * The gate admits whole packets, so a write ahead must end wherever a release
 * may end: at every unit. The ends of the units that were framed but not yet
 * written stand in a ring; where it is full, or where the kernel already has
 * LIMIT_AHEAD_WRITES packets that may not leave, writing ahead rests.
 */
#ifndef SLUICE_DAEMON_AHEAD_H
#define SLUICE_DAEMON_AHEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "daemon/limits.h"

struct ahead {
	uint64_t eager; /* bytes beyond the release offset */
	size_t writes;	/* since the kernel last had none that may not leave */
	size_t first, count;
	uint64_t
		missed; /* an end beyond this ring, 0: none; up to it nothing unknown is written ahead */
	uint64_t ends[LIMIT_AHEAD_WRITES];
};

/* NULL: out of memory. free() frees it. */
struct ahead *ahead_new(uint64_t eager) must_check;
/* A unit ends there. */
void ahead_add_unit(struct ahead *ahead, uint64_t end);
/*
 * Where the next write, beginning at sent, has to end at the latest; sent itself
 * where nothing may be written ahead now. *ret_boundary: a unit ends there.
 */
uint64_t ahead_limit(struct ahead *ahead, uint64_t sent, uint64_t released, uint64_t received,
		     bool *ret_boundary);
/* A write ended beyond the release offset. */
void ahead_wrote(struct ahead *ahead);

#endif
