/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Histogram of durations: fixed buckets, whole nanoseconds, no allocation. Observing costs the
 * same whatever was observed before.
 */
#ifndef SLUICE_DAEMON_HISTOGRAM_H
#define SLUICE_DAEMON_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

/* Upper bounds, of 10 microseconds to a minute; what is longer is in the last bucket. */
#define HISTOGRAM_BOUNDS 14u

struct histogram {
	uint64_t counts[HISTOGRAM_BOUNDS + 1]; /* each its own, not those below too */
	uint64_t sum_ns;
};

/* A duration that equals a bound is within it. */
void histogram_observe(struct histogram *histogram, uint64_t ns);
void histogram_add(struct histogram *sum, const struct histogram *histogram);
/*
 * The bound in seconds, as a canonical number of OpenMetrics; "+Inf" of the last bucket.
 * bucket: 0..HISTOGRAM_BOUNDS.
 */
const char *histogram_bound(size_t bucket);

#endif
