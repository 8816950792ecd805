/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of metrics, in two forms: Prometheus text 0.0.4 and OpenMetrics 1.0.0. Families come
 * one after the other, each with its values behind it.
 *
 * A family is named without what its type adds: the form adds `_total` to a counter and `_info`
 * to an info, and in Prometheus text to the name of the family too. Where there is a unit the
 * name ends with it (OpenMetrics 1.0, "Unit").
 */
#ifndef SLUICE_DAEMON_METRICS_TEXT_H
#define SLUICE_DAEMON_METRICS_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "daemon/histogram.h"

struct evbuffer;

enum metrics_type { METRICS_COUNTER, METRICS_GAUGE, METRICS_HISTOGRAM, METRICS_INFO };

struct metrics_family {
	const char *name, *unit; /* unit NULL: none */
	enum metrics_type type;
	const char *help; /* of letters, digits and what needs no escape */
};

struct metrics_label {
	const char *name, *value; /* any UTF-8 text: it is escaped */
};

struct metrics_text {
	struct evbuffer *out;
	bool openmetrics;
	bool failed; /* out of memory: the rest is left out */
	const struct metrics_family *family;
};

#define METRICS_LABELS_MAX 8u
/* At most METRICS_LABELS_MAX labels, one named NULL behind them. */
#define METRICS_LABELS(...) \
	((const struct metrics_label[METRICS_LABELS_MAX + 1]){__VA_ARGS__, {NULL, NULL}})
#define METRICS_NO_LABELS ((const struct metrics_label[1]){{NULL, NULL}})

/* What follows is of that family, until the next. */
void metrics_text_family(struct metrics_text *text, const struct metrics_family *family);
void metrics_text_count(struct metrics_text *text, const struct metrics_label *labels,
			uint64_t value);
/* In seconds. */
void metrics_text_ns(struct metrics_text *text, const struct metrics_label *labels, uint64_t ns);
/* No bound is +Inf. */
void metrics_text_bound(struct metrics_text *text, const struct metrics_label *labels, bool bounded,
			uint64_t value);
void metrics_text_histogram(struct metrics_text *text, const struct metrics_label *labels,
			    const struct histogram *histogram);
/* Ends it. -ENOMEM. */
int metrics_text_end(struct metrics_text *text) must_check;

#endif
