/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/findings.h"

#include <inttypes.h>
#include <stdio.h>

#include "core/verdict.h"
#include "daemon/audit.h"
#include "daemon/daemon.h"
#include "daemon/settle.h"
#include "daemon/stream.h"
#include "sys/log.h"

static void count(struct stream *stream, const char *name)
{
	stats_count_name(&stream->daemon->stats.findings, name);
	if (stream->watch)
		stats_count_name(&stream->watch->stats.findings, name);
}

/* What the task would do and by which rule or reason, or why nobody knows. */
static void describe(const struct pipeline_finding *finding, char *text, size_t len)
{
	const struct verdict *verdict = finding->verdict;

	if (finding->unjudged)
		(void)snprintf(text, len, "has not judged all, not enforcing: unjudged");
	else if (finding->failure != SESSION_OK)
		(void)snprintf(text, len, "gave no verdict, not enforcing: %s",
			       session_result_name(finding->failure));
	else if (verdict)
		(void)snprintf(text, len, "would %s, not enforcing: reason '%s'",
			       verdict_decision_name(verdict->decision), verdict->reason);
	else
		(void)snprintf(text, len, "would deny, not enforcing: rule %" PRIu32,
			       finding->rule);
}

void findings_take(void *context, const struct pipeline_finding *finding)
{
	const struct flow *flow = context;
	struct stream *stream = flow->stream;
	char what[128];

	audit_finding(stream, flow->track, finding);
	if (finding->task->output)
		return;
	count(stream, finding->task->name);
	if (!settle_may_say(stream->daemon))
		return;
	describe(finding, what, sizeof(what));
	log_notice("stream %" PRIu64 ": %s: task '%s' %s at runes %" PRIu64 "..%" PRIu64,
		   (uint64_t)stream->origin.stream,
		   flow->track == SESSION_REQUEST ? "request" : "response", finding->task->name,
		   what, finding->start, finding->end);
}

void findings_unjudged(struct stream *stream, enum fault fault)
{
	count(stream, fault_name(fault));
	if (settle_may_say(stream->daemon))
		log_notice("stream %" PRIu64 ": %s: goes on unjudged, the policy only observes",
			   (uint64_t)stream->origin.stream, fault_name(fault));
}
