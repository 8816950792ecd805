/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why streams ended, and what interceptors said. A reason of a denial is that of settle.h:
 * "denied:TASK", or a name of reason.h.
 */
#include <string.h>

#include "daemon/daemon.h"
#include "daemon/interceptor.h"
#include "daemon/metrics_internal.h"
#include "daemon/reason.h"
#include "sys/clock.h"

#define BY_TASK "denied:"

static bool is_denial(const char *reason)
{
	return !strncmp(reason, BY_TASK, strlen(BY_TASK)) ||
	       !strcmp(reason, reason_name(REASON_OPERATOR)) ||
	       !strcmp(reason, reason_name(REASON_POLICY_DENIED));
}

static bool is_complete(const char *reason)
{
	return !strcmp(reason, reason_name(REASON_COMPLETE));
}

static void write_failures(struct metrics_text *text, const struct stats *stats)
{
	static const struct metrics_family failures = {
		"sluice_fail_closed", NULL, METRICS_COUNTER,
		"Streams that failed, and with that withheld what was held, by reason"};
	uint64_t named = 0;

	metrics_text_family(text, &failures);
	for (size_t i = 0; i < stats->reasons.count; i++) {
		const struct stats_count *reason = &stats->reasons.list[i];

		if (is_complete(reason->name) || is_denial(reason->name))
			continue;
		metrics_text_count(text, METRICS_LABELS({"reason", reason->name}), reason->count);
		named += reason->count;
	}
	if (stats->failed > named)
		metrics_text_count(text, METRICS_LABELS({"reason", "other"}),
				   stats->failed - named);
}

static void write_denials(struct metrics_text *text, const struct stats *stats)
{
	static const struct metrics_family denials = {
		"sluice_denied_streams", NULL, METRICS_COUNTER,
		"Streams that were denied, by the task, or without one by the reason"};
	uint64_t named = 0;

	metrics_text_family(text, &denials);
	for (size_t i = 0; i < stats->reasons.count; i++) {
		const struct stats_count *reason = &stats->reasons.list[i];
		bool by_task = !strncmp(reason->name, BY_TASK, strlen(BY_TASK));

		if (!is_denial(reason->name))
			continue;
		metrics_text_count(
			text,
			METRICS_LABELS({"reason", by_task ? "task" : reason->name},
				       {"task", by_task ? reason->name + strlen(BY_TASK) : ""}),
			reason->count);
		named += reason->count;
	}
	if (stats->denied > named)
		metrics_text_count(text, METRICS_LABELS({"reason", "other"}, {"task", ""}),
				   stats->denied - named);
}

static void write_findings(struct metrics_text *text, const struct stats *stats)
{
	static const struct metrics_family findings = {
		"sluice_findings", NULL, METRICS_COUNTER,
		"What would have been denied, or could not be judged, where nothing is enforced"};
	const struct stats_names *names = &stats->findings;

	metrics_text_family(text, &findings);
	for (size_t i = 0; i < names->count; i++)
		metrics_text_count(
			text,
			METRICS_LABELS({"finding", names->list[i].name}, {"enforcing", "false"}),
			names->list[i].count);
	if (names->lost)
		metrics_text_count(text,
				   METRICS_LABELS({"finding", "other"}, {"enforcing", "false"}),
				   names->lost);
}

static void one_verdict(void *context, const char *task, const struct interceptor_stats *stats)
{
	metrics_text_count(context, METRICS_LABELS({"task", task}, {"decision", "allow"}),
			   stats->allowed);
	metrics_text_count(context, METRICS_LABELS({"task", task}, {"decision", "deny"}),
			   stats->denied);
	metrics_text_count(context, METRICS_LABELS({"task", task}, {"decision", "transform"}),
			   stats->transformed);
}

static void one_failure(void *context, const char *task, const struct interceptor_stats *stats)
{
	metrics_text_count(context, METRICS_LABELS({"task", task}, {"failure", "failed"}),
			   stats->failed);
	metrics_text_count(context, METRICS_LABELS({"task", task}, {"failure", "timeout"}),
			   stats->timed_out);
	metrics_text_count(context, METRICS_LABELS({"task", task}, {"failure", "invalid"}),
			   stats->invalid);
}

static void one_question(void *context, const char *task, const struct interceptor_stats *stats)
{
	metrics_text_count(context, METRICS_LABELS({"task", task}), stats->asked);
}

static void one_cancelled(void *context, const char *task, const struct interceptor_stats *stats)
{
	metrics_text_count(context, METRICS_LABELS({"task", task}), stats->cancelled);
}

static void one_warning(void *context, const char *task, const struct interceptor_stats *stats)
{
	metrics_text_count(context, METRICS_LABELS({"task", task}), stats->warnings);
}

static void one_note(void *context, const char *task, const struct interceptor_stats *stats)
{
	metrics_text_count(context, METRICS_LABELS({"task", task}, {"result", "told"}),
			   stats->told);
	metrics_text_count(context, METRICS_LABELS({"task", task}, {"result", "untold"}),
			   stats->untold);
}

static void one_wait(void *context, const char *task, const struct interceptor_stats *stats)
{
	metrics_text_count(context, METRICS_LABELS({"task", task}), stats->waited);
}

static void one_wait_time(void *context, const char *task, const struct interceptor_stats *stats)
{
	metrics_text_ns(context, METRICS_LABELS({"task", task}),
			stats->waited_ms * CLOCK_NS_PER_MS);
}

static void one_waiting(void *context, const char *task, const struct interceptor_stats *stats)
{
	metrics_text_count(context, METRICS_LABELS({"task", task}), stats->waiting);
}

static void one_in_flight(void *context, const char *task, const struct interceptor_stats *stats)
{
	metrics_text_count(context, METRICS_LABELS({"task", task}), stats->in_flight);
}

static void one_latency(void *context, const char *task, const struct interceptor_stats *stats)
{
	metrics_text_histogram(context, METRICS_LABELS({"task", task}), &stats->latency);
}

static const struct {
	struct metrics_family family;
	void (*write)(void *context, const char *task, const struct interceptor_stats *stats);
} interceptor_families[] = {
	{{"sluice_verdicts", NULL, METRICS_COUNTER, "Verdicts of interceptors"}, one_verdict},
	{{"sluice_interceptor_failures", NULL, METRICS_COUNTER,
	  "Questions to interceptors of which no verdict came"},
	 one_failure},
	{{"sluice_interceptor_questions", NULL, METRICS_COUNTER, "Questions to interceptors"},
	 one_question},
	{{"sluice_interceptor_cancelled", NULL, METRICS_COUNTER,
	  "Questions whose stream ended before an answer came"},
	 one_cancelled},
	{{"sluice_interceptor_warnings", NULL, METRICS_COUNTER, "Warnings of verdicts that allow"},
	 one_warning},
	{{"sluice_interceptor_notes", NULL, METRICS_COUNTER,
	  "What interceptors were told and nobody waited for, by whether they answered"},
	 one_note},
	{{"sluice_interceptor_waits", NULL, METRICS_COUNTER,
	  "Questions that had to wait before they went out"},
	 one_wait},
	{{"sluice_interceptor_wait_seconds", "seconds", METRICS_COUNTER,
	  "How long they waited, together"},
	 one_wait_time},
	{{"sluice_interceptor_waiting", NULL, METRICS_GAUGE, "Questions that wait to go out"},
	 one_waiting},
	{{"sluice_interceptor_in_flight", NULL, METRICS_GAUGE, "Questions that are out"},
	 one_in_flight},
	{{"sluice_interceptor_latency_seconds", "seconds", METRICS_HISTOGRAM,
	  "From when a question goes out until a verdict or a failure"},
	 one_latency},
};

void metrics_write_verdicts(struct metrics_text *text, const struct daemon *daemon)
{
	write_failures(text, &daemon->stats);
	write_denials(text, &daemon->stats);
	write_findings(text, &daemon->stats);
	for (size_t i = 0; i < ARRAY_SIZE(interceptor_families); i++) {
		metrics_text_family(text, &interceptor_families[i].family);
		interceptors_visit(daemon->policies.interceptors, interceptor_families[i].write,
				   text);
	}
}
