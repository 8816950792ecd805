/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timeline: the units of one flow, when each was whole and when it left, and what it waited
 * for meanwhile. Units of one fate that follow each other are one row.
 *
 * Units: bytes from the first of the flow. A moment is a time in nanoseconds, or where there
 * is none the number of bytes that had come.
 */
#ifndef SLUICE_CLI_REPLAY_TIMELINE_H
#define SLUICE_CLI_REPLAY_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/fault.h"
#include "core/pipeline.h"

/* What kept a unit from leaving when it was whole. */
enum timeline_wait {
	TIMELINE_NOTHING,
	TIMELINE_TEXT,	  /* what it ends in may go on to what the task denies */
	TIMELINE_SPAN,	  /* the task's span of it is not full */
	TIMELINE_VALUE,	  /* a tool call or result that is not whole */
	TIMELINE_MESSAGE, /* the level complete: its message is not whole */
	TIMELINE_SESSION, /* all its tasks have cleared it, and its session has not */
	_TIMELINE_WAIT_MAX,
};

struct timeline_unit {
	uint64_t end, runes;  /* of the flow, up to and with it */
	uint64_t whole, left; /* moments; left: UINT64_MAX for never */
	const char *task;     /* of _TEXT and _SPAN; borrowed from the policy */
	enum timeline_wait wait;
	uint32_t messages;
};

struct timeline {
	struct timeline_unit *units;
	size_t count, room;
	size_t settled; /* of them, those whose wait and moment are known */
	size_t gone;	/* of them, those that left */
};

struct timeline_row {
	size_t first, count; /* of the units */
	uint64_t start, end, runes, messages;
	uint64_t whole_first, whole_last, left_first, left_last;
	uint64_t delay; /* the longest, between whole and left */
	bool left;
	enum timeline_wait wait;
	const char *task;
};

void timeline_done(struct timeline *timeline);
/* A unit is whole; the next look tells when, and the rest of it. -ENOMEM. */
int timeline_add(struct timeline *timeline, const struct timeline_unit *unit) must_check;
/*
 * What the pipeline says after it was fed: what is new was whole at that moment, what is
 * released left then, and the rest waits. complete: at that level.
 */
void timeline_look(struct timeline *timeline, const struct pipeline *pipeline, bool complete,
		   uint64_t moment);
/* The row that begins with unit number first; one unit alone where `each`. */
void timeline_row(const struct timeline *timeline, size_t first, bool each,
		  struct timeline_row *ret_row);
/* How far every unit's text is cleared by all tasks, in bytes. */
uint64_t timeline_cleared(const struct timeline *timeline, uint64_t runes);

/* Lower-case name, never NULL. */
const char *timeline_wait_name(enum timeline_wait wait);

#endif
