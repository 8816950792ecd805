/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/findings.h"

#include <inttypes.h>

#include "core/exchange.h"
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

void findings_take(void *context, const struct pipeline_finding *finding)
{
	const struct flow *flow = context;
	struct stream *stream = flow->stream;

	audit_finding(stream, exchanges_number(stream->exchanges, flow->track), flow->track,
		      finding);
	if (finding->task->output)
		return;
	count(stream, finding->task->name);
	if (settle_may_say(stream->daemon))
		log_notice("stream %" PRIu64
			   ": %s: task '%s' would deny, not enforcing: rule %" PRIu32
			   " at runes %" PRIu64 "..%" PRIu64,
			   (uint64_t)stream->origin.stream,
			   flow->track == SESSION_REQUEST ? "request" : "response",
			   finding->task->name, finding->rule, finding->start, finding->end);
}

void findings_unjudged(struct stream *stream, enum fault fault)
{
	count(stream, fault_name(fault));
	if (settle_may_say(stream->daemon))
		log_notice("stream %" PRIu64 ": %s: goes on unjudged, the policy only observes",
			   (uint64_t)stream->origin.stream, fault_name(fault));
}
