/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of a pipeline that is its tasks which evaluate elsewhere.
 *
 * Invariants:
 *  E1. Each session has span sets of its own: no verdict is of another's text.
 *  E2. A message, and with it its session, ends once each of its spans is cleared. Until then
 *      nothing of the flow is taken.
 *      Watchers that enforce nothing are not waited for: what they have not judged then is
 *      kept, at most PIPELINE_BACKLOG_MAX of each.
 *  E4. The end of a response that a task of `output` is asked about stays until all of its
 *      verdicts came.
 *  E5. Of a response the last item of each task that is not of `output`, and no other, is the last
 *      (span.h, S6): its verdict is waited for as any, by the end alone where it is of no runes,
 *      and counts for the last rune. Under DEFERRED the end leaves all the same.
 *  E3. What a verdict clears is released, and the message that waited for it ended, by the
 *      same call.
 */
#ifndef SLUICE_CORE_PIPELINE_SPAN_H
#define SLUICE_CORE_PIPELINE_SPAN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/macros.h"
#include "core/fault.h"
#include "core/pipeline_internal.h"

/* Their part of the channel set, which is not made yet. -EINVAL, -ENOMEM. */
int pipeline_span_init(struct pipeline *p, const struct pipeline_config *config) must_check;
void pipeline_span_done(struct pipeline *p);

/* A session begins, at the number of the track that the channel set is at. FAULT_NO_MEMORY. */
enum fault pipeline_span_begin(struct pipeline *p) must_check;

/* Does the end of a message of the flow wait for a last verdict? E5. */
bool pipeline_span_ends(const struct pipeline *p);

/* The session ends here, with all its texts: it has its last items. FAULT_NO_MEMORY. */
enum fault pipeline_span_finish(struct pipeline *p) must_check;

/*
 * Has the message which ends here, with all its texts ended, verdicts to wait for? Then it is
 * leaving, and goes_on is kept for when it does. E2.
 */
bool pipeline_span_defer(struct pipeline *p, bool goes_on) must_check;
/* Does what comes have to wait for verdicts? */
bool pipeline_span_blocks(const struct pipeline *p);

/* Does anything wait for the verdicts of that number? */
static inline bool pipeline_span_enforces(const struct pipeline_spans *spans, size_t i)
{
	return i < spans->gating || i >= spans->output;
}

/* Where what a verdict is of begins: of no runes there is no outcome, so the last one is it. */
static inline uint64_t pipeline_span_start(const struct pipeline_work *work)
{
	return work->item.start - (work->item.start == work->item.end);
}

/* The session has ended: what of it a watcher is still to judge is kept for that. */
enum fault pipeline_span_retire(struct pipeline *p, size_t i) must_check;
void pipeline_past_free(struct pipeline_spans *spans, struct pipeline_past **slot);

/*
 * What a watcher said of a span, which is told of where it does not allow. True: it did not.
 * origin: where in the track its session began.
 */
bool pipeline_span_tell(struct pipeline *p, const struct pipeline_work *work, uint64_t origin,
			enum session_result failure, const struct verdict *verdict);

/* As pipeline_verdict(), of one that enforces nothing. */
enum fault pipeline_span_watched(struct pipeline *p, const struct pipeline_work *work,
				 enum session_result failure,
				 const struct verdict *verdict) must_check;

/* What watchers that enforce nothing have fallen behind with too far is not judged. */
void pipeline_span_bound(struct pipeline *p);

size_t pipeline_span_memory(const struct pipeline *p);

#endif
