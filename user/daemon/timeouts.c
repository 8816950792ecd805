/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/timeouts.h"

#include <math.h>

#include "core/guard.h"
#include "core/pipeline.h"
#include "daemon/daemon.h"
#include "daemon/limits.h"
#include "daemon/partial.h"
#include "daemon/reason.h"
#include "sys/clock.h"

static bool is_over(uint64_t since_ns, uint64_t now_ns, uint32_t limit_s)
{
	return limit_s && now_ns > since_ns + limit_s * CLOCK_NS_PER_S;
}

static double seconds_since(uint64_t since_ns, uint64_t now_ns)
{
	return (double)(int64_t)(now_ns - since_ns) / (double)CLOCK_NS_PER_S;
}

/* Where a message has an end that its sender owes, what is missing is that. */
static enum fault stale_fault(enum framing_kind kind)
{
	return kind == FRAMING_HTTP1 || kind == FRAMING_SSE ? FAULT_TRUNCATED : FAULT_STALE;
}

/* What the framing guard says of the part of a message that is held, of that age. */
static enum fault guard_fault(enum framing_kind kind, double age_s, double timeout_s)
{
	enum guard_verdict verdict = guard_judge(partial_mode(kind), true, age_s, timeout_s);

	/* First bytes that never told what they are have no framing to wait for. */
	if (verdict == GUARD_STALE_PARTIAL_BUFFER && kind == FRAMING_AUTO)
		verdict = guard_judge(GUARD_UNFRAMED, true, age_s, timeout_s);
	switch (verdict) {
	case GUARD_MESSAGE_COMPLETE:
	case GUARD_MESSAGE_IN_PROGRESS:
		return FAULT_NONE;
	case GUARD_STALE_PARTIAL_BUFFER:
		return stale_fault(kind);
	default:
		return FAULT_UNFRAMED;
	}
}

/* Since its last byte the guard decides; since its first it has its deadline. */
static enum fault partial_fault(const struct flow *flow, uint64_t now_ns)
{
	const struct policy_limits *limits = &flow->stream->policy->policy->limits;
	enum framing_kind kind = pipeline_framing(flow->pipeline);
	double timeout_s = limits->incomplete_message_timeout_s;
	enum fault fault;

	fault = guard_fault(kind, seconds_since(flow->clocks.last_byte_ns, now_ns), timeout_s);
	/* A message that drips in is as stale as one that stopped. */
	if (!fault && is_over(flow->clocks.unit_ns, now_ns, limits->message_deadline_s))
		fault = guard_fault(kind, INFINITY, timeout_s);
	return fault;
}

/* The message under way, whose clocks run while its flow is read. */
static enum fault message_fault(struct flow *flow, uint64_t now_ns, uint64_t elapsed_ns)
{
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
	return partial_fault(flow, now_ns);
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
	if (!flow->pipeline || flow->stream->unjudged || flow->stream->state != STREAM_OPEN)
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
