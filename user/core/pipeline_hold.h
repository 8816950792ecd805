/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a pipeline holds, for core/pipeline.c: the ends of complete units that
 * are not cleared yet, and the dealings with the session that clear them.
 *
 * Invariants:
 *  - Units whose text ends at the same rune are one entry.
 *  - A task clears nothing of a unit before the unit is complete.
 *  - Under complete an entry ends with a message; under deferred it is held until the
 *    session is asked next, and leaves then, cleared or not, unless the session has ended.
 *  - Without tasks that gate nothing is held, but where tasks of `output` judge what ends:
 *    then until the session would be asked.
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
	const char *name; /* borrowed */
	int number;	  /* in the session */
	uint64_t cleared; /* its frontier */
};

struct hold_unit {
	uint64_t end, rune_end;
	struct refusal_mark mark; /* behind it */
	bool whole;		  /* a message ends with it */
};

struct pipeline_hold {
	struct session *session; /* NULL: none, for now */
	enum session_track track;
	enum session_level level;
	bool holds; /* tasks gate, or judge what has ended */
	bool rests; /* what has ended is being judged: nothing is released meanwhile */
	size_t task_count;
	struct hold_task *tasks;
	uint64_t observed; /* runes of the track the session knows of */
	uint64_t watermark;
	uint64_t released;	  /* bytes */
	struct refusal_mark mark; /* behind them */
	uint64_t released_runes;  /* where the released units end in the track */
	uint64_t max;		  /* units held at once */
	struct hold_unit *units;  /* a ring */
	size_t first, count, capacity;
	size_t settle_at; /* units, between two calls of settle */
};

/*
 * Of the tasks those with a matcher come first. -EINVAL: no such level, or a task that evaluates
 * nothing, or in two ways. -ENOMEM.
 */
int pipeline_hold_init(struct pipeline_hold *hold, const struct pipeline_config *config) must_check;
void pipeline_hold_done(struct pipeline_hold *hold);

/*
 * What comes belongs to a session from here on; nothing of another is held. NULL where
 * no track has tasks. -EINVAL: it does not know a task.
 */
int pipeline_hold_begin(struct pipeline_hold *hold, struct session *session) must_check;
/* It does not any more. FAULT_ACCOUNTING: something of it is held. */
enum fault pipeline_hold_end(struct pipeline_hold *hold) must_check;

/*
 * A unit is complete. FAULT_TOO_LARGE: too many would be held whatever verdicts come; else as
 * settle.
 */
enum fault pipeline_hold_unit(struct pipeline_hold *hold, const struct channel_set *set,
			      const struct hold_unit *unit) must_check;

/*
 * Tells the session what came and what the tasks have cleared, and releases what
 * that allows. FAULT_ACCOUNTING: the session refused, or has ended.
 */
enum fault pipeline_hold_settle(struct pipeline_hold *hold,
				const struct channel_set *set) must_check;

/* The same, and releases nothing. */
enum fault pipeline_hold_account(struct pipeline_hold *hold,
				 const struct channel_set *set) must_check;

/* Releases what the level, and the session's watermark, allow. */
void pipeline_hold_advance(struct pipeline_hold *hold);

/* Of a task, by its place in tasks, over [start, end) of the track. */
struct hold_outcome {
	size_t task;
	uint64_t start, end;
	enum session_outcome outcome;
};

/* Settles what was cleared before, then ends the session by an outcome. */
void pipeline_hold_outcome(struct pipeline_hold *hold, const struct channel_set *set,
			   const struct hold_outcome *outcome);

/* Settles what was cleared before, then ends the session: denied by set->match, or failed. */
void pipeline_hold_deny(struct pipeline_hold *hold, const struct channel_set *set);
void pipeline_hold_fail(struct pipeline_hold *hold, const struct channel_set *set);

size_t pipeline_hold_memory(const struct pipeline_hold *hold); /* beside the struct itself */

#endif
