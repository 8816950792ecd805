/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a pipeline holds, for core/pipeline.c: the ends of complete units that
 * are not cleared yet, and the dealings with the session that clear them.
 *
 * Invariants:
 *  - Units whose text ends at the same rune are one entry.
 *  - A task clears nothing of a unit before the unit is complete.
 *
 * Units: bytes of the flow, and runes of the track.
 */
#ifndef SLUICE_CORE_PIPELINE_HOLD_H
#define SLUICE_CORE_PIPELINE_HOLD_H

#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/channel.h"
#include "core/fault.h"
#include "core/pipeline.h"
#include "core/session.h"

struct hold_task {
	int number;	  /* in the session */
	uint64_t cleared; /* its frontier */
};

struct hold_unit {
	uint64_t end, rune_end;
};

struct pipeline_hold {
	struct session *session; /* NULL: none */
	enum session_track track;
	size_t task_count;
	struct hold_task *tasks;
	uint64_t observed; /* runes of the track the session knows of */
	uint64_t watermark;
	uint64_t released;	 /* bytes */
	uint64_t released_runes; /* where the released units end in the track */
	uint64_t max;		 /* units held at once */
	struct hold_unit *units; /* a ring */
	size_t first, count, capacity;
	size_t settle_at; /* units, between two calls of settle */
};

/* -EINVAL: a task without terms, or that the session does not know. -ENOMEM. */
int pipeline_hold_init(struct pipeline_hold *hold, const struct pipeline_config *config) must_check;
void pipeline_hold_done(struct pipeline_hold *hold);

/* A unit is complete. FAULT_TOO_LARGE: too many are held; else as settle. */
enum fault pipeline_hold_unit(struct pipeline_hold *hold, const struct channel_set *set,
			      uint64_t end, uint64_t rune_end) must_check;

/*
 * Tells the session what came and what the tasks have cleared, and releases what
 * that allows. FAULT_ACCOUNTING: the session refused, or has ended.
 */
enum fault pipeline_hold_settle(struct pipeline_hold *hold,
				const struct channel_set *set) must_check;

/* Releases what the session's watermark allows. */
void pipeline_hold_advance(struct pipeline_hold *hold);

/* Settles what was cleared before, then ends the session: denied by set->match, or failed. */
void pipeline_hold_deny(struct pipeline_hold *hold, const struct channel_set *set);
void pipeline_hold_fail(struct pipeline_hold *hold, const struct channel_set *set);

/* The session's name of a task. */
const char *pipeline_hold_task(const struct pipeline_hold *hold, size_t task);

size_t pipeline_hold_memory(const struct pipeline_hold *hold); /* beside the struct itself */

#endif
