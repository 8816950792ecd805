/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/metrics_text.h"

#include <errno.h>
#include <event2/buffer.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "sys/clock.h"

static const struct {
	const char *name, *suffix;
	const char *plain; /* what Prometheus text, which has no info, calls it */
} types[] = {
	[METRICS_COUNTER] = {"counter", "_total", "counter"},
	[METRICS_GAUGE] = {"gauge", "", "gauge"},
	[METRICS_HISTOGRAM] = {"histogram", "", "histogram"},
	[METRICS_INFO] = {"info", "_info", "gauge"},
};

static void add(struct metrics_text *text, const char *bytes, size_t len)
{
	if (!text->failed && evbuffer_add(text->out, bytes, len))
		text->failed = true;
}

static void add_text(struct metrics_text *text, const char *words)
{
	add(text, words, strlen(words));
}

static void add_line(struct metrics_text *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void add_line(struct metrics_text *text, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (!text->failed && evbuffer_add_vprintf(text->out, format, args) < 0)
		text->failed = true;
	va_end(args);
}

void metrics_text_family(struct metrics_text *text, const struct metrics_family *family)
{
	const char *suffix = text->openmetrics ? "" : types[family->type].suffix;

	text->family = family;
	add_line(text, "# HELP %s%s %s\n", family->name, suffix, family->help);
	add_line(text, "# TYPE %s%s %s\n", family->name, suffix,
		 text->openmetrics ? types[family->type].name : types[family->type].plain);
	if (text->openmetrics && family->unit)
		add_line(text, "# UNIT %s %s\n", family->name, family->unit);
}

/* Both forms: backslash, quote and line feed, each behind a backslash. */
static void add_escaped(struct metrics_text *text, const char *value)
{
	while (*value) {
		size_t len = strcspn(value, "\\\"\n");

		add(text, value, len);
		value += len;
		if (!*value)
			break;
		add(text, "\\", 1);
		add(text, *value == '\n' ? "n" : value, 1);
		value++;
	}
}

/* The name and the labels, up to the value; bound: of a bucket, or NULL. */
static void begin(struct metrics_text *text, const char *suffix, const struct metrics_label *labels,
		  const char *bound)
{
	const char *sign = "{";

	add_text(text, text->family->name);
	add_text(text, suffix);
	for (; labels->name; labels++, sign = ",") {
		add_text(text, sign);
		add_text(text, labels->name);
		add_text(text, "=\"");
		add_escaped(text, labels->value);
		add_text(text, "\"");
	}
	if (bound)
		add_line(text, "%sle=\"%s\"", sign, bound);
	add_text(text, bound || *sign == ',' ? "} " : " ");
}

void metrics_text_count(struct metrics_text *text, const struct metrics_label *labels,
			uint64_t value)
{
	begin(text, types[text->family->type].suffix, labels, NULL);
	add_line(text, "%" PRIu64 "\n", value);
}

static void add_seconds(struct metrics_text *text, uint64_t ns)
{
	add_line(text, "%" PRIu64 ".%09" PRIu64 "\n", ns / (uint64_t)CLOCK_NS_PER_S,
		 ns % (uint64_t)CLOCK_NS_PER_S);
}

void metrics_text_ns(struct metrics_text *text, const struct metrics_label *labels, uint64_t ns)
{
	begin(text, types[text->family->type].suffix, labels, NULL);
	add_seconds(text, ns);
}

void metrics_text_bound(struct metrics_text *text, const struct metrics_label *labels, bool bounded,
			uint64_t value)
{
	if (bounded) {
		metrics_text_count(text, labels, value);
		return;
	}
	begin(text, types[text->family->type].suffix, labels, NULL);
	add_text(text, "+Inf\n");
}

void metrics_text_histogram(struct metrics_text *text, const struct metrics_label *labels,
			    const struct histogram *histogram)
{
	uint64_t count = 0;

	for (size_t i = 0; i <= HISTOGRAM_BOUNDS; i++) {
		count += histogram->counts[i];
		begin(text, "_bucket", labels, histogram_bound(i));
		add_line(text, "%" PRIu64 "\n", count);
	}
	begin(text, "_count", labels, NULL);
	add_line(text, "%" PRIu64 "\n", count);
	begin(text, "_sum", labels, NULL);
	add_seconds(text, histogram->sum_ns);
}

int metrics_text_end(struct metrics_text *text)
{
	/* Prometheus text takes it for a comment; it is of OpenMetrics alone. */
	if (text->openmetrics)
		add_text(text, "# EOF\n");
	return text->failed ? -ENOMEM : 0;
}
