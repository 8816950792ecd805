/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far the tasks that gate a flow have come: who is waited for, and how much of the text
 * that waits it has not cleared.
 *
 * Units: runes are counted as pipeline_runes() counts them, over all sessions of the flow.
 */
#ifndef SLUICE_CORE_PIPELINE_PROGRESS_H
#define SLUICE_CORE_PIPELINE_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/pipeline.h"

struct pipeline_progress {
	const char *task; /* the configuration's name of it */
	uint64_t cleared; /* its frontier */
	uint64_t waiting; /* runes of complete units that it has not cleared */
	bool elsewhere;	  /* it evaluates elsewhere: number is that of pipeline_work() */
	size_t number;
	size_t queued, lent; /* spans that nobody was given yet, and those without a verdict */
};

/* Of the tasks that gate; those with a matcher come first, and i is less than their number. */
void pipeline_progress(const struct pipeline *pipeline, size_t i,
		       struct pipeline_progress *ret_progress);
/*
 * Who is behind all others: the first of those with the smallest frontier, and of them rather
 * one that evaluates elsewhere. False: no task gates the flow.
 */
bool pipeline_slowest(const struct pipeline *pipeline, struct pipeline_progress *ret_progress);

/* Ends of units, or at the level complete of messages, that wait for a task or for the session. */
size_t pipeline_pending(const struct pipeline *pipeline);
/* Runes of a value that no task may clear before it is whole: a tool call, its result. */
bool pipeline_waits_whole(const struct pipeline *pipeline);

#endif
