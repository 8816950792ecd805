/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of a pipeline that is its watchers: what they find is told, and of those of
 * `output` kept until the response ends.
 *
 * Invariants:
 *  V1. Each watcher finds one thing in each exchange, its first.
 *  V2. A response that a task of `output` denied is not released at its end: what of it had
 *      left before stays, the rest is withheld, whatever the level.
 *
 * Units: runes of the track.
 */
#ifndef SLUICE_CORE_PIPELINE_WATCH_H
#define SLUICE_CORE_PIPELINE_WATCH_H

#include "base/macros.h"
#include "core/fault.h"
#include "core/pipeline_internal.h"

/* Their part of the channel set, which is not made yet. -EINVAL, -ENOMEM. */
int pipeline_watch_init(struct pipeline *p, const struct pipeline_config *config) must_check;
void pipeline_watch_done(struct pipeline *p);

/* Tells of it; of a task of `output` it is kept. What it borrows outlives the message. */
void pipeline_watch_found(struct pipeline *p, const struct pipeline_finding *finding);

/* A message begins. FAULT_ACCOUNTING: its session, if any, does not know a task of `output`. */
enum fault pipeline_watch_begin(struct pipeline *p, const struct session *session) must_check;

/*
 * A message ends with what came so far: what was cleared before is released before its end
 * is looked at, since that may not be.
 */
enum fault pipeline_watch_ending(struct pipeline *p) must_check;

/* The message has ended. FAULT_OUTPUT_DENIED: the session has been told. FAULT_ACCOUNTING. */
enum fault pipeline_watch_judge(struct pipeline *p) must_check;

#endif
