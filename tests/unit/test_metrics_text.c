/* SPDX-License-Identifier: Apache-2.0 */
/* Both forms of metrics, byte by byte, and histograms. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <event2/buffer.h>

#include "daemon/metrics_text.h"

static const struct metrics_family bytes = {"x_seen_bytes", "bytes", METRICS_COUNTER, "Bytes"};
static const struct metrics_family now = {"x_open", NULL, METRICS_GAUGE, "Now"};
static const struct metrics_family build = {"x_build", NULL, METRICS_INFO, "Build"};
static const struct metrics_family took = {"x_took_seconds", "seconds", METRICS_HISTOGRAM, "Took"};

static struct metrics_text begin(bool openmetrics)
{
	return (struct metrics_text){.out = evbuffer_new(), .openmetrics = openmetrics};
}

static void end(struct metrics_text *text, const char *expected)
{
	size_t len;

	assert_int_equal(metrics_text_end(text), 0);
	len = evbuffer_get_length(text->out);
	assert_int_equal(evbuffer_add(text->out, "", 1), 0);
	assert_string_equal((const char *)evbuffer_pullup(text->out, -1), expected);
	assert_int_equal(len, strlen(expected));
	evbuffer_free(text->out);
}

static void write_all(struct metrics_text *text)
{
	metrics_text_family(text, &bytes);
	metrics_text_count(text, METRICS_LABELS({"track", "request"}), 1);
	metrics_text_count(text, METRICS_LABELS({"track", "response"}, {"b", ""}), UINT64_MAX);
	metrics_text_family(text, &now);
	metrics_text_count(text, METRICS_NO_LABELS, 0);
	metrics_text_bound(text, METRICS_NO_LABELS, true, 7);
	metrics_text_bound(text, METRICS_NO_LABELS, false, 7);
	metrics_text_ns(text, METRICS_NO_LABELS, 12000000345);
	metrics_text_family(text, &build);
	metrics_text_count(text, METRICS_LABELS({"version", "1"}), 1);
}

/* What stands in both forms alike. */
#define IN_BOTH                                                                \
	"x_seen_bytes_total{track=\"request\"} 1\n"                            \
	"x_seen_bytes_total{track=\"response\",b=\"\"} 18446744073709551615\n" \
	"# HELP x_open Now\n"                                                  \
	"# TYPE x_open gauge\n"                                                \
	"x_open 0\n"                                                           \
	"x_open 7\n"                                                           \
	"x_open +Inf\n"                                                        \
	"x_open 12.000000345\n"

static void text_names_families_as_their_values(void **state)
{
	struct metrics_text text = begin(false);

	(void)state;
	write_all(&text);
	end(&text, "# HELP x_seen_bytes_total Bytes\n"
		   "# TYPE x_seen_bytes_total counter\n" IN_BOTH "# HELP x_build_info Build\n"
		   "# TYPE x_build_info gauge\n"
		   "x_build_info{version=\"1\"} 1\n");
}

static void openmetrics_has_units_and_an_end(void **state)
{
	struct metrics_text text = begin(true);

	(void)state;
	write_all(&text);
	end(&text, "# HELP x_seen_bytes Bytes\n"
		   "# TYPE x_seen_bytes counter\n"
		   "# UNIT x_seen_bytes bytes\n" IN_BOTH "# HELP x_build Build\n"
		   "# TYPE x_build info\n"
		   "x_build_info{version=\"1\"} 1\n"
		   "# EOF\n");
}

static void values_of_labels_are_escaped(void **state)
{
	struct metrics_text text = begin(false);

	(void)state;
	text.family = &now;
	metrics_text_count(&text, METRICS_LABELS({"a", "\"\\\n"}, {"b", "x\"y\nz\\"}), 1);
	end(&text, "x_open{a=\"\\\"\\\\\\n\",b=\"x\\\"y\\nz\\\\\"} 1\n");
}

static void a_histogram_counts_what_is_within_each_bound(void **state)
{
	struct metrics_text text = begin(true);
	struct histogram one = {0}, sum = {0};

	(void)state;
	histogram_observe(&one, 0);
	histogram_observe(&one, 10000);
	histogram_observe(&one, 10001);
	histogram_observe(&one, 60000000000);
	histogram_observe(&one, 60000000001);
	histogram_add(&sum, &one);
	histogram_add(&sum, &one);
	text.family = &took;
	metrics_text_histogram(&text, METRICS_LABELS({"t", "a"}), &sum);
	end(&text, "x_took_seconds_bucket{t=\"a\",le=\"1e-05\"} 4\n"
		   "x_took_seconds_bucket{t=\"a\",le=\"5e-05\"} 6\n"
		   "x_took_seconds_bucket{t=\"a\",le=\"0.0001\"} 6\n"
		   "x_took_seconds_bucket{t=\"a\",le=\"0.0005\"} 6\n"
		   "x_took_seconds_bucket{t=\"a\",le=\"0.001\"} 6\n"
		   "x_took_seconds_bucket{t=\"a\",le=\"0.005\"} 6\n"
		   "x_took_seconds_bucket{t=\"a\",le=\"0.01\"} 6\n"
		   "x_took_seconds_bucket{t=\"a\",le=\"0.05\"} 6\n"
		   "x_took_seconds_bucket{t=\"a\",le=\"0.1\"} 6\n"
		   "x_took_seconds_bucket{t=\"a\",le=\"0.5\"} 6\n"
		   "x_took_seconds_bucket{t=\"a\",le=\"1.0\"} 6\n"
		   "x_took_seconds_bucket{t=\"a\",le=\"5.0\"} 6\n"
		   "x_took_seconds_bucket{t=\"a\",le=\"10.0\"} 6\n"
		   "x_took_seconds_bucket{t=\"a\",le=\"60.0\"} 8\n"
		   "x_took_seconds_bucket{t=\"a\",le=\"+Inf\"} 10\n"
		   "x_took_seconds_count{t=\"a\"} 10\n"
		   "x_took_seconds_sum{t=\"a\"} 240.000040004\n"
		   "# EOF\n");
}

static void a_histogram_without_labels_has_its_bounds_alone(void **state)
{
	struct metrics_text text = begin(false);
	struct histogram none = {0};
	const char *at;

	(void)state;
	text.family = &took;
	metrics_text_histogram(&text, METRICS_NO_LABELS, &none);
	assert_int_equal(metrics_text_end(&text), 0);
	assert_int_equal(evbuffer_add(text.out, "", 1), 0);
	at = (const char *)evbuffer_pullup(text.out, -1);
	assert_int_equal(strncmp(at, "x_took_seconds_bucket{le=\"1e-05\"} 0\n", 36), 0);
	assert_non_null(strstr(at, "\nx_took_seconds_count 0\nx_took_seconds_sum 0.000000000\n"));
	evbuffer_free(text.out);
}

/* A buffer that takes nothing more stands for memory that is out. */
static void what_cannot_be_written_is_said_in_the_end(void **state)
{
	struct metrics_text text = begin(true);

	(void)state;
	assert_int_equal(evbuffer_freeze(text.out, /* at_front: */ 0), 0);
	write_all(&text);
	assert_int_equal(evbuffer_unfreeze(text.out, 0), 0);
	write_all(&text);
	assert_int_equal(metrics_text_end(&text), -ENOMEM);
	assert_int_equal(evbuffer_get_length(text.out), 0);
	evbuffer_free(text.out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_names_families_as_their_values),
		cmocka_unit_test(openmetrics_has_units_and_an_end),
		cmocka_unit_test(values_of_labels_are_escaped),
		cmocka_unit_test(a_histogram_counts_what_is_within_each_bound),
		cmocka_unit_test(a_histogram_without_labels_has_its_bounds_alone),
		cmocka_unit_test(what_cannot_be_written_is_said_in_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
