/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of a pipeline that is its tasks which evaluate elsewhere.
 *
 * Invariants:
 *  E1. Each session has span sets of its own: no verdict is of another's text.
 *  E2. A message, and with it its session, ends once each of its spans is cleared. Until then
 *      nothing of the flow is taken.
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

/*
 * Has the message which ends here, with all its texts ended, verdicts to wait for? Then it is
 * leaving, and goes_on is kept for when it does. E2.
 */
bool pipeline_span_defer(struct pipeline *p, bool goes_on) must_check;
/* Does what comes have to wait for verdicts? */
bool pipeline_span_blocks(const struct pipeline *p);

size_t pipeline_span_memory(const struct pipeline *p);

#endif
