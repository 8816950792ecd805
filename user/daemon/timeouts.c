/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/timeouts.h"

#include "core/pipeline.h"
#include "daemon/daemon.h"
#include "daemon/limits.h"
#include "daemon/reason.h"
#include "sys/clock.h"

static bool is_over(uint64_t since_ns, uint64_t now_ns, uint32_t limit_s)
{
	return limit_s && now_ns > since_ns + limit_s * CLOCK_NS_PER_S;
}

/* Where a message has an end that its sender owes, what is missing is that. */
static enum fault timeout_fault(const struct flow *flow)
{
	enum framing_kind kind = stream_framing(flow->stream)->kind;

	return kind == FRAMING_HTTP1 || kind == FRAMING_SSE ? FAULT_TRUNCATED : FAULT_STALE;
}

/* The message under way: since its last byte, and since its first. */
static enum fault message_fault(struct flow *flow, uint64_t now_ns, uint64_t elapsed_ns)
{
	const struct policy_limits *limits = &flow->stream->policy->policy->limits;
	struct flow_clocks *clocks = &flow->clocks;
	uint64_t framed = pipeline_framed(flow->pipeline);
	uint64_t partial = pipeline_partial(flow->pipeline);

	if (clocks->framed != framed || clocks->received == framed || !partial) {
		clocks->framed = framed;
		clocks->unit_ns = now_ns;
	}
	if (clocks->received != flow->received) {
		clocks->received = flow->received;
		clocks->last_byte_ns = now_ns;
	}
	if (!partial)
		return FAULT_NONE;
	if (!flow->source->reading) {
		clocks->unit_ns += elapsed_ns;
		clocks->last_byte_ns += elapsed_ns;
		return FAULT_NONE;
	}
	if (is_over(clocks->last_byte_ns, now_ns, limits->incomplete_message_timeout_s) ||
	    is_over(clocks->unit_ns, now_ns, limits->message_deadline_s))
		return timeout_fault(flow);
	return FAULT_NONE;
}

/* What waits for its release; what waits for a slow receiver does not count. */
static enum fault hold_fault(struct flow *flow, uint64_t now_ns)
{
	struct flow_clocks *clocks = &flow->clocks;

	/* The framing between two messages waits for no one: the second is not there yet. */
	if (flow->released >= clocks->hold_received ||
	    (flow->released == pipeline_framed(flow->pipeline) &&
	     !pipeline_partial(flow->pipeline))) {
		clocks->hold_received = flow->received;
		clocks->hold_ns = now_ns;
		return FAULT_NONE;
	}
	return is_over(clocks->hold_ns, now_ns, flow->stream->policy->policy->limits.hold_timeout_s)
		       ? FAULT_HOLD_TIMEOUT
		       : FAULT_NONE;
}

static void check_flow(struct flow *flow, uint64_t now_ns, uint64_t elapsed_ns)
{
	enum fault fault;

	/* Room that other flows gave back is told nobody. */
	if (flow->full)
		flow_update_reading(flow);
	if (!flow->pipeline || flow->stream->state != STREAM_OPEN)
		return;
	/* Nothing waits: no clock runs, and the pipeline need not be touched. */
	if (flow->received == flow->released) {
		flow->clocks.received = flow->received;
		flow->clocks.framed = flow->received;
		flow->clocks.last_byte_ns = flow->clocks.unit_ns = now_ns;
		flow->clocks.hold_received = flow->received;
		return;
	}
	fault = message_fault(flow, now_ns, elapsed_ns);
	if (!fault)
		fault = hold_fault(flow, now_ns);
	if (fault)
		stream_fault(flow->stream, flow, fault);
}

void timeouts_tick(struct daemon *daemon, uint64_t now_ns)
{
	uint64_t elapsed_ns = now_ns - daemon->tick_ns;
	struct stream *stream, *next;

	daemon->tick_ns = now_ns;
	for (stream = TAILQ_FIRST(&daemon->streams.all); stream; stream = next) {
		next = TAILQ_NEXT(stream, entry);
		if (stream->state == STREAM_CONNECTING) {
			if (now_ns >= stream->deadline_ns)
				stream_fail(stream, NULL, reason_name(REASON_UPSTREAM_TIMEOUT));
			continue;
		}
		for (int track = 0; track < _SESSION_TRACK_MAX; track++)
			if (stream->state == STREAM_OPEN)
				check_flow(&stream->flows[track], now_ns, elapsed_ns);
	}
}
