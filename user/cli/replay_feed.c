/* SPDX-License-Identifier: Apache-2.0 */
/* The part of cli/replay_stream.h through which bytes go. */
#include <string.h>

#include "cli/replay_stream.h"

static void stop(struct replay_flow *flow, enum fault fault)
{
	struct replay_stream *stream = flow->stream;

	stream->fault = fault;
	stream->faulted = flow->track;
	stream->fault_at = pipeline_framed(flow->pipeline);
	/* A policy that observes lets what cannot be framed or judged go on, unjudged. */
	stream->unjudged = stream->setup->policy->mode == POLICY_OBSERVE;
}

static bool is_judged(const struct replay_flow *flow)
{
	return flow->pipeline && flow->stream->fault == FAULT_NONE;
}

/* What is asked of interceptors, and what they are taken to say. */
static enum fault answer(struct replay_flow *flow, bool *ret_any)
{
	const struct replay_setup *setup = flow->stream->setup;
	struct pipeline_work work;
	enum fault fault = FAULT_NONE;

	*ret_any = false;
	while (!fault && pipeline_work(flow->pipeline, &work)) {
		struct verdict verdict = {.decision = VERDICT_ALLOW};
		size_t task = 0;

		while (strcmp(setup->policy->tasks[task].name, work.task->name) != 0)
			task++;
		flow->asked[task]++;
		if (setup->deny_by && strcmp(setup->deny_by, work.task->name) == 0 &&
		    work.item.start <= setup->deny_at && setup->deny_at < work.item.end)
			verdict.decision = VERDICT_DENY;
		fault = pipeline_verdict(flow->pipeline, &work, SESSION_OK, &verdict);
		*ret_any = true;
	}
	return fault;
}

/* Bytes that are judged together, with what is asked because of them. */
static enum fault take(struct replay_flow *flow, const uint8_t *bytes, size_t len)
{
	enum fault fault = FAULT_NONE;
	size_t used;
	bool any;

	while (!fault && len) {
		fault = pipeline_take(flow->pipeline, bytes, len, &used);
		bytes += used;
		len -= used;
		if (!fault)
			fault = answer(flow, &any);
		/* Whatever waits, waits for an answer. */
		if (!fault && !used && !any)
			fault = FAULT_ACCOUNTING;
	}
	return fault;
}

/* Writes down what is whole, and what left, since the last look. */
static void look(struct replay_flow *flow, uint64_t time)
{
	timeline_look(&flow->timeline, flow->pipeline,
		      flow->stream->setup->policy->level == SESSION_COMPLETE,
		      flow->stream->one_sided ? flow->received : time);
}

static void feed_piece(struct replay_flow *flow, const uint8_t *bytes, size_t len, uint64_t time,
		       bool looks)
{
	enum fault fault = take(flow, bytes, len);

	flow->received += len;
	if (looks || fault)
		look(flow, time);
	if (fault)
		stop(flow, fault);
}

/*
 * Pieces end where the scout says that units do, and only there it is looked: how the input is
 * cut changes no moment. What the scout cannot frame is fed as it is.
 */
static void feed_scouted(struct replay_flow *flow, const uint8_t *bytes, size_t len)
{
	uint64_t at = flow->received;
	size_t fed = 0;

	flow->end_count = 0;
	if (pipeline_fault(flow->scout) == FAULT_NONE)
		(void)!pipeline_feed(flow->scout, bytes, len);
	for (size_t i = 0; is_judged(flow) && fed < len && i <= flow->end_count; i++) {
		bool whole = i < flow->end_count;
		uint64_t end = whole ? flow->ends[i] - at : len;

		/* A unit that had ended before was found late. */
		if (end <= fed || end > len)
			continue;
		feed_piece(flow, bytes + fed, (size_t)end - fed, 0, whole);
		fed = (size_t)end;
	}
	/* What follows a fault counts as withheld. */
	flow->received = at + len;
}

void replay_feed(struct replay_stream *stream, enum session_track track, const uint8_t *bytes,
		 size_t len, uint64_t time)
{
	struct replay_flow *flow = &stream->flows[track];
	size_t part;

	for (; len; bytes += part, len -= part) {
		part = MIN(len, stream->setup->chunk);
		if (!is_judged(flow))
			flow->received += part;
		else if (flow->scout)
			feed_scouted(flow, bytes, part);
		else
			feed_piece(flow, bytes, part, time, true);
	}
}

void replay_end(struct replay_stream *stream, enum session_track track, uint64_t time)
{
	struct replay_flow *flow = &stream->flows[track];
	enum fault fault;
	bool any;

	if (flow->ended)
		return;
	flow->ended = true;
	if (!is_judged(flow))
		return;
	fault = pipeline_end(flow->pipeline);
	if (!fault)
		fault = answer(flow, &any);
	look(flow, time);
	if (fault)
		stop(flow, fault);
}

/* The one exchange that is all of a flow which is alone; the other's message is not seen. */
static void end_alone(struct replay_stream *stream, struct replay_flow *flow)
{
	enum fault fault = FAULT_NONE;

	if (!exchanges_open(stream->exchanges) || pipeline_framing(flow->pipeline) == FRAMING_HTTP1)
		return;
	/* How it ended shows in the session's state. */
	if (stream->destination.framing.kind == FRAMING_AUTO && flow->track == SESSION_RESPONSE)
		fault = exchanges_response_end(stream->exchanges, false);
	else
		fault = exchanges_request_end(stream->exchanges);
	(void)fault;
}

/* Both flows have ended: so have the exchanges, or the one over all of it ends here. */
static void end_both(struct replay_stream *stream)
{
	struct replay_flow *request = &stream->flows[SESSION_REQUEST];
	enum fault fault;

	if (!exchanges_open(stream->exchanges))
		return;
	if (pipeline_framing(request->pipeline) == FRAMING_HTTP1) {
		stop(request, FAULT_TRUNCATED);
		return;
	}
	fault = exchanges_request_end(stream->exchanges);
	if (!fault)
		fault = exchanges_response_end(stream->exchanges, false);
	if (fault)
		stop(fault == FAULT_OUTPUT_DENIED ? &stream->flows[SESSION_RESPONSE] : request,
		     fault);
}

void replay_settle(struct replay_stream *stream, enum session_result how)
{
	struct replay_flow *request = &stream->flows[SESSION_REQUEST];
	struct replay_flow *response = &stream->flows[SESSION_RESPONSE];

	if (!stream->exchanges)
		return;
	if (stream->one_sided)
		end_alone(stream, request->used ? request : response);
	else if (request->ended && response->ended && stream->fault == FAULT_NONE)
		end_both(stream);
	exchanges_fail(stream->exchanges, stream->fault ? SESSION_FRAMING_FAULT : how);
}
