/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of a scrape. For daemon/metrics*.c alone. */
#ifndef SLUICE_DAEMON_METRICS_INTERNAL_H
#define SLUICE_DAEMON_METRICS_INTERNAL_H

#include "daemon/metrics_text.h"

struct daemon;

/* Why streams ended, what watchers found, what interceptors said. */
void metrics_write_verdicts(struct metrics_text *text, const struct daemon *daemon);
/* Build, policies, watches. */
void metrics_write_setup(struct metrics_text *text, const struct daemon *daemon);
/* Fence, gate, rings. */
void metrics_write_kernel(struct metrics_text *text, const struct daemon *daemon);
/* The trail, the loop, the process. */
void metrics_write_process(struct metrics_text *text, const struct daemon *daemon);

/* A family of one value. */
static inline void metrics_write_one(struct metrics_text *text, const struct metrics_family *family,
				     uint64_t value)
{
	metrics_text_family(text, family);
	metrics_text_count(text, METRICS_NO_LABELS, value);
}

#endif
