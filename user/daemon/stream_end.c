/* SPDX-License-Identifier: Apache-2.0 */
/* How streams end: the part of stream.h that settles them. */
#include <stdlib.h>
#include <string.h>

#include "core/exchange.h"
#include "core/pipeline.h"
#include "daemon/advice.h"
#include "daemon/asking.h"
#include "daemon/daemon.h"
#include "daemon/findings.h"
#include "daemon/limits.h"
#include "daemon/reason.h"
#include "daemon/stream.h"
#include "sys/clock.h"

/*
 * Nothing more is judged; what was released, and a refusal, goes on, for a while; then
 * both sides are closed.
 */
static void drain(struct stream *stream)
{
	bool discards = stream->refusing.begun && !stream->agent.ended;

	stream->state = STREAM_DRAINING;
	stream->deadline_ns = clock_boot_ns() + LIMIT_DRAIN_MS * CLOCK_NS_PER_MS;
	if (endpoint_set_reading(&stream->agent, discards) ||
	    (stream->peer.registered && endpoint_set_reading(&stream->peer, false))) {
		stream_close(stream, true);
		return;
	}
	closing_add(stream);
	closing_step(stream);
}

/* The task that denied: its reason, and its name, which live as long as the policy. */
static const char *denied_reason(const struct stream *stream, const struct flow *flow,
				 enum fault fault, const char **ret_task)
{
	const struct pipeline_denial *denial = pipeline_denial(flow->pipeline);
	const struct policy *policy = stream->policy->policy;

	for (size_t i = 0; denial && i < policy->task_count; i++) {
		if (strcmp(policy->tasks[i].name, denial->task))
			continue;
		*ret_task = policy->tasks[i].name;
		return stream->policy->denied[i];
	}
	return fault_name(fault);
}

/* The interceptor that gave no verdict, NULL where that is not what ended it; why is kept. */
static const char *failed_task(struct stream *stream, const struct flow *flow)
{
	const struct pipeline_denial *failure =
		flow && flow->pipeline ? pipeline_failure(flow->pipeline) : NULL;
	char text[ADVICE_LEN];

	if (!failure)
		return NULL;
	if (asking_explain(flow->asking, failure->task, text, sizeof(text)))
		stream->failure = strdup(text);
	return failure->task;
}

/* Nothing more is judged, and everything goes on. */
static void give_up_judging(struct stream *stream, enum fault fault)
{
	stream->unjudged = true;
	findings_unjudged(stream, fault);
	for (int track = 0; track < _SESSION_TRACK_MAX && stream->state == STREAM_OPEN; track++)
		flow_go_on(&stream->flows[track]);
}

/* What the receiver is told: the verdict's own reason, where it gave one. */
static const char *refused_reason(const struct flow *flow, enum fault fault)
{
	const struct pipeline_denial *denial = flow ? pipeline_denial(flow->pipeline) : NULL;

	return denial && denial->reason && *denial->reason ? denial->reason
							   : reason_of_fault(fault);
}

/* What a fault of the stream is to a session that its pipeline did not end. */
static enum session_result error_of(enum fault fault)
{
	switch (fault) {
	case FAULT_HOLD_TIMEOUT:
		return SESSION_HOLD_TIMEOUT;
	case FAULT_INTERCEPTOR_FAILED:
		return SESSION_INTERCEPTOR_FAILED;
	case FAULT_INTERCEPTOR_TIMEOUT:
		return SESSION_INTERCEPTOR_TIMEOUT;
	case FAULT_VERDICT_INVALID:
		return SESSION_VERDICT_INVALID;
	default:
		return SESSION_FRAMING_FAULT;
	}
}

void stream_fault(struct stream *stream, struct flow *flow, enum fault fault)
{
	const char *task = NULL, *reason;

	if (stream_is_settled(stream))
		return;
	if (stream->policy->policy->mode == POLICY_OBSERVE) {
		give_up_judging(stream, fault);
		return;
	}
	/* What judged the response knows of it, whichever message ended the exchange. */
	if (fault == FAULT_OUTPUT_DENIED)
		flow = &stream->flows[SESSION_RESPONSE];
	refusing_find(stream, flow, fault);
	if (fault == FAULT_BLOCKED || fault == FAULT_REWRITTEN || fault == FAULT_OUTPUT_DENIED) {
		reason = denied_reason(stream, flow, fault, &task);
		settle_stream(stream, STREAM_DENIED, reason, SESSION_FRAMING_FAULT, flow);
	} else {
		task = failed_task(stream, flow);
		settle_stream(stream, STREAM_FAILED, reason_of_fault(fault), error_of(fault), flow);
	}
	refusing_begin(stream, refused_reason(flow, fault), task);
	drain(stream);
}

/* Both flows have ended, and so have the exchanges. */
static void finish(struct stream *stream)
{
	settle_stream(stream, STREAM_COMPLETE, reason_name(REASON_COMPLETE), SESSION_CLOSED, NULL);
	stream->state = STREAM_LINGERING;
	closing_add(stream);
	closing_step(stream);
}

/* Had it ended well, but for verdicts that nothing waits for? Then that is how it ends. */
static bool is_over(struct stream *stream)
{
	if (stream->over && !stream_is_settled(stream))
		finish(stream);
	return stream_is_settled(stream);
}

void stream_fail(struct stream *stream, struct flow *flow, const char *reason)
{
	if (is_over(stream))
		return;
	settle_stream(stream, STREAM_FAILED, reason, SESSION_DISCONNECTED, flow);
	drain(stream);
}

void stream_deny(struct stream *stream)
{
	if (is_over(stream))
		return;
	refusing_find(stream, NULL, FAULT_NONE);
	settle_stream(stream, STREAM_DENIED, reason_name(REASON_OPERATOR), SESSION_OPERATOR, NULL);
	refusing_begin(stream, reason_name(REASON_OPERATOR), NULL);
	drain(stream);
}

/* Reads what a reset socket had received before: it still counts as sent. */
static void read_last_words(struct flow *flow)
{
	uint64_t before;

	do {
		before = flow->received;
		flow_read(flow);
	} while (flow->stream->state == STREAM_OPEN && flow->received != before);
}

void stream_broken(struct stream *stream, struct endpoint *endpoint)
{
	bool agent = endpoint == &stream->agent;

	if (endpoint->broken)
		return;
	endpoint->broken = true;
	if (stream->over && !stream_is_settled(stream))
		return;
	if (stream->state == STREAM_OPEN && !endpoint->ended)
		read_last_words(&stream->flows[agent ? SESSION_REQUEST : SESSION_RESPONSE]);
	if (stream_is_settled(stream))
		return;
	settle_stream(stream, STREAM_FAILED,
		      reason_name(agent ? REASON_CLIENT_RESET : REASON_PEER_RESET),
		      SESSION_DISCONNECTED, NULL);
	stream_close(stream, true);
}

/* Both flows have ended: so have the exchanges, or the one over all of it ends here. */
static enum fault end_exchanges(struct stream *stream)
{
	enum fault fault;

	if (!stream->exchanges || stream->unjudged || !exchanges_open(stream->exchanges))
		return FAULT_NONE;
	if (pipeline_framing(stream->flows[SESSION_REQUEST].pipeline) == FRAMING_HTTP1)
		return FAULT_TRUNCATED;
	fault = exchanges_request_end(stream->exchanges);
	return fault ? fault : exchanges_response_end(stream->exchanges, false);
}

void stream_check_complete(struct stream *stream)
{
	enum fault fault;

	if (stream_is_settled(stream) || !stream->agent.shut || !stream->peer.shut)
		return;
	fault = stream->over ? FAULT_NONE : end_exchanges(stream);
	if (fault && stream->policy->policy->mode == POLICY_OBSERVE) {
		/* Both flows have ended: there is nothing left to go on with. */
		findings_unjudged(stream, fault);
	} else if (fault) {
		stream_fault(stream, NULL, fault);
		return;
	}
	stream->over = true;
	/* Both sides have it all: only who reads the record waits for these verdicts. */
	if (flow_is_watched(&stream->flows[SESSION_REQUEST]) ||
	    flow_is_watched(&stream->flows[SESSION_RESPONSE]))
		return;
	finish(stream);
}
