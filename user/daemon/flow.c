/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/flow.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/exchange.h"
#include "core/pipeline.h"
#include "daemon/ahead.h"
#include "daemon/asking.h"
#include "daemon/audit.h"
#include "daemon/daemon.h"
#include "daemon/handover_wire.h"
#include "daemon/ledger.h"
#include "daemon/limits.h"
#include "daemon/policies.h"
#include "daemon/reason.h"
#include "daemon/share.h"
#include "daemon/stream.h"
#include "daemon/watch.h"
#include "kern/kern.h"

/* Pieces of one write; more wait for the next. */
#define PIECES_MAX 16

void flow_init(struct flow *flow, struct stream *stream, enum session_track track,
	       struct endpoint *source, struct endpoint *sink, bool relayed)
{
	*flow = (struct flow){.stream = stream, .track = track, .source = source, .sink = sink};
	hold_init(&flow->hold, relayed ? HOLD_LARGE : HOLD_MEDIUM);
}

static void charge_bytes(struct flow *flow, uint64_t bytes)
{
	uint64_t change = bytes - flow->charged;

	flow->stream->daemon->held += change;
	if (flow->stream->watch)
		flow->stream->watch->held_bytes += change;
	flow->charged = bytes;
}

/* Tells the daemon and the watch what the flow holds now. */
static void charge(struct flow *flow)
{
	charge_bytes(flow, flow->hold.bytes + flow->judging);
}

void flow_uncharge(struct flow *flow)
{
	charge_bytes(flow, 0);
}

void flow_done(struct flow *flow)
{
	hold_done(&flow->hold, &flow->stream->daemon->pool);
	flow_uncharge(flow);
	pipeline_free(flow->pipeline);
	flow_stop_asking(flow);
	free(flow->ahead);
	flow->pipeline = NULL;
	flow->ahead = NULL;
}

uint64_t flow_held(const struct flow *flow)
{
	return flow->received - MIN(flow->sent, flow->released);
}

/* How many bytes the limits leave room for, where the flow's own is divided by divisor. */
static uint64_t room_left(const struct flow *flow, unsigned int divisor)
{
	const struct stream *stream = flow->stream;
	const struct policy_limits *limits = &stream->policy->policy->limits;
	uint64_t per_flow = flow->pipeline ? limits->hold_bytes_per_flow : LIMIT_RELAY_HOLD;
	uint64_t held = flow_held(flow);
	uint64_t own = held < per_flow / divisor ? per_flow / divisor - held : 0;
	uint64_t shared = share_left(limits->hold_bytes_total, stream->daemon->held,
				     stream->watch ? stream->watch->held_bytes : 0,
				     limits->hold_bytes_per_flow);

	return MIN(own, shared);
}

static bool is_judged(const struct flow *flow)
{
	return flow->pipeline && !flow->stream->unjudged;
}

/* Are there verdicts to wait for before more is read, or the end is one? */
static bool waits(const struct flow *flow)
{
	return is_judged(flow) && pipeline_waits(flow->pipeline);
}

void flow_update_reading(struct flow *flow)
{
	/* Half-way back, so that a slow receiver does not cost a change per write. */
	flow->full = !room_left(flow, flow->full ? 2 : 1) || waits(flow) || flow->stream->parked;
	if (endpoint_set_reading(flow->source, !flow->full && !flow->source->ended))
		stream_fail(flow->stream, flow, reason_name(REASON_OUT_OF_MEMORY));
}

/* Publishes what may leave now. */
static void release(struct flow *flow)
{
	uint64_t released = is_judged(flow) ? pipeline_released(flow->pipeline) : flow->received;
	uint64_t before = flow->released;
	bool waiting = flow->sent > before;

	if (is_judged(flow)) {
		ledger_judged(flow);
		metrics_judged(flow);
	}
	if (released == before)
		return;
	flow->released = released;
	ledger_released(flow);
	metrics_released(flow, released - before);
	/* A relayed flow's slot is open: its offset is not asked. */
	if (flow->pipeline)
		kern_release(flow->stream->daemon->kern, flow->slot, flow->generation, released);
	if (!waiting)
		return;
	endpoint_poke(flow->sink);
	metrics_handed(flow);
}

static bool wants_watermarks(const struct flow *flow)
{
	const struct stream *stream = flow->stream;

	return stream->policy->policy->audit.watermarks ||
	       feed_wants(&stream->daemon->feed, FEED_WATERMARK);
}

void flow_record_watermark(struct flow *flow, uint64_t number, const struct session_state *state)
{
	const struct session_track_state *track = &state->track[flow->track];
	bool same = number == flow->recorded_exchange && track->confirmed == flow->recorded_runes;

	if (!wants_watermarks(flow) || track->confirmed == track->start || same)
		return;
	audit_watermark(flow->stream, number, flow->track, track->confirmed);
	flow->recorded_exchange = number;
	flow->recorded_runes = track->confirmed;
}

static void record_watermark(struct flow *flow)
{
	struct session_state state;
	uint64_t number;

	if (wants_watermarks(flow) &&
	    exchanges_track_state(flow->stream->exchanges, flow->track, &number, &state))
		flow_record_watermark(flow, number, &state);
}

static size_t judging_memory(const struct flow *flow)
{
	return pipeline_memory(flow->pipeline) +
	       exchanges_memory(flow->stream->exchanges, flow->track);
}

/* Bytes in the hold that the pipeline has not taken. */
static uint64_t untaken(const struct flow *flow)
{
	return flow->received - pipeline_received(flow->pipeline);
}

/* Asks what may be asked now, and lets leave what may. */
static void judged(struct flow *flow, enum fault fault)
{
	size_t memory;

	if (!fault)
		fault = asking_ask(flow->asking);
	record_watermark(flow);
	memory = judging_memory(flow);
	flow->judging = memory - MIN(memory, LIMIT_JUDGING_FREE);
	charge(flow);
	release(flow);
	if (fault)
		stream_fault(flow->stream, flow, fault);
}

/* Judges the bytes that were just read, where they lie in the hold. */
static void take(struct flow *flow, const uint8_t *bytes, size_t len)
{
	bool waiting = is_judged(flow) && untaken(flow);
	enum fault fault = FAULT_NONE;
	size_t used;

	flow->received += len;
	ledger_received(flow);
	metrics_received(flow, len);
	if (is_judged(flow)) {
		if (!waiting)
			fault = pipeline_take(flow->pipeline, bytes, len, &used);
		judged(flow, fault);
	} else {
		charge(flow);
		release(flow);
	}
	if (flow->stream->state == STREAM_OPEN)
		flow_flush(flow, false);
}

/* What was read is all taken, and no more comes. */
static enum fault end_judging(struct flow *flow)
{
	if (!flow->ended || flow->over || untaken(flow))
		return FAULT_NONE;
	flow->over = true;
	return pipeline_end(flow->pipeline);
}

static void source_ended(struct flow *flow)
{
	flow->ended = true;
	if (is_judged(flow))
		judged(flow, end_judging(flow));
	if (flow->stream->state != STREAM_OPEN)
		return;
	flow_update_reading(flow);
	flow_flush(flow, false);
}

struct taking {
	struct flow *flow;
	enum fault fault;
};

static int take_held(void *context, const uint8_t *bytes, size_t len)
{
	struct taking *taking = context;
	size_t used;

	taking->fault = pipeline_take(taking->flow->pipeline, bytes, len, &used);
	return taking->fault || used < len;
}

/* What waited in the hold, now that there is a verdict more; and then the end. */
static enum fault go_on_judging(struct flow *flow)
{
	struct taking taking = {.flow = flow};
	size_t skip = (size_t)(pipeline_received(flow->pipeline) - flow->sent);

	if (untaken(flow))
		(void)!hold_visit(&flow->hold, skip, take_held, &taking);
	return taking.fault ? taking.fault : end_judging(flow);
}

void flow_judged(struct flow *flow, const struct pipeline_work *work, enum session_result failure,
		 const struct verdict *verdict)
{
	enum fault fault;

	/* A policy that only observes has given the stream up. */
	if (!is_judged(flow))
		return;
	fault = pipeline_verdict(flow->pipeline, work, failure, verdict);
	if (!fault)
		fault = go_on_judging(flow);
	judged(flow, fault);
	if (flow->stream->state != STREAM_OPEN)
		return;
	flow_update_reading(flow);
	flow_flush(flow, false);
	stream_check_complete(flow->stream);
}

bool flow_is_watched(const struct flow *flow)
{
	return is_judged(flow) && pipeline_watches(flow->pipeline);
}

void flow_tell_left(struct flow *flow)
{
	asking_tell_left(flow->asking);
}

void flow_stop_asking(struct flow *flow)
{
	asking_free(take_ptr(flow->asking));
}

void flow_go_on(struct flow *flow)
{
	release(flow);
	flow_update_reading(flow);
	flow_flush(flow, false);
}

void flow_read(struct flow *flow)
{
	struct hold_pool *pool = &flow->stream->daemon->pool;
	size_t budget = LIMIT_READ_BUDGET, len;
	uint64_t left;
	uint8_t *room;
	ssize_t n;

	while (flow->source->reading && flow->stream->state == STREAM_OPEN) {
		left = room_left(flow, 1);
		if (!left)
			break;
		if (hold_reserve(&flow->hold, pool, &room, &len)) {
			stream_fail(flow->stream, flow, reason_name(REASON_OUT_OF_MEMORY));
			return;
		}
		len = MIN(len, left);
		n = endpoint_receive(flow->source, room, len);
		hold_commit(&flow->hold, pool, n > 0 ? (size_t)n : 0);
		if (n == -EAGAIN)
			break;
		if (n < 0) {
			stream_broken(flow->stream, flow->source);
			return;
		}
		if (!n) {
			/* After a reset the kernel says "end" where there was none. */
			if (!flow->source->broken)
				source_ended(flow);
			return;
		}
		take(flow, room, (size_t)n);
		/* A short read emptied the socket; what came since is reported again. */
		if ((size_t)n < len || (size_t)n >= budget || waits(flow))
			break;
		budget -= (size_t)n;
	}
	if (flow->stream->state == STREAM_OPEN) {
		hold_compact(&flow->hold, pool);
		flow_update_reading(flow);
	}
}

/* Where the next write has to end at the latest, and whether a unit ends there. */
static uint64_t write_limit(struct flow *flow, bool only_released, bool *ret_boundary)
{
	*ret_boundary = flow->pipeline != NULL;
	if (only_released || !flow->ahead)
		return MAX(flow->released, flow->sent) + flow->refusal;
	return ahead_limit(flow->ahead, flow->sent, flow->released, flow->received, ret_boundary);
}

static uint64_t written(const struct flow *flow)
{
	return flow->sent + flow->refusal_sent;
}

static void count_written(struct flow *flow, uint64_t bytes)
{
	uint64_t own = flow->refusal ? MIN(bytes, flow->released - flow->sent) : bytes;

	flow->sent += own;
	flow->refusal_sent += bytes - own;
}

/* 1: wrote all it could; 0: the socket is full; or -errno. */
static int write_some(struct flow *flow, uint64_t limit, bool boundary)
{
	struct iovec pieces[PIECES_MAX];
	int count = PIECES_MAX;
	size_t len = hold_peek(&flow->hold, limit - written(flow), pieces, &count);
	ssize_t n = endpoint_send(flow->sink, pieces, count, boundary);

	if (n == -EAGAIN)
		return 0;
	if (n < 0)
		return (int)n;
	hold_consume(&flow->hold, &flow->stream->daemon->pool, (size_t)n);
	charge(flow);
	count_written(flow, (uint64_t)n);
	metrics_handed(flow);
	if (flow->ahead && flow->sent > flow->released)
		ahead_wrote(flow->ahead);
	return (size_t)n == len;
}

void flow_flush(struct flow *flow, bool only_released)
{
	struct stream *stream = flow->stream;
	bool boundary;
	int r = 1;

	while (r > 0 && !flow->sink->broken && !flow->sink->shut) {
		uint64_t limit = write_limit(flow, only_released, &boundary);

		if (limit <= written(flow))
			break;
		r = write_some(flow, limit, boundary);
	}
	if (r < 0) {
		stream_broken(stream, flow->sink);
		return;
	}
	if (!r)
		hold_compact(&flow->hold, &stream->daemon->pool);
	if (endpoint_set_wants_write(flow->sink, !r)) {
		stream_fail(stream, flow, reason_name(REASON_OUT_OF_MEMORY));
		return;
	}
	if (only_released)
		return;
	if (flow->full)
		flow_update_reading(flow);
	if (flow->ended && flow->sent == flow->received && !waits(flow) && !flow->sink->shut) {
		endpoint_shut(flow->sink);
		stream_check_complete(stream);
	}
}

static int append(struct flow *flow, const uint8_t *bytes, size_t len)
{
	struct hold_pool *pool = &flow->stream->daemon->pool;
	uint8_t *room;
	size_t part;

	for (; len; bytes += part, len -= part) {
		if (hold_reserve(&flow->hold, pool, &room, &part))
			return -ENOMEM;
		part = MIN(part, len);
		(void)memcpy(room, bytes, part);
		hold_commit(&flow->hold, pool, part);
	}
	return 0;
}

int flow_adopt(struct flow *flow, const struct handover_flow *handed, const uint8_t *bytes)
{
	int r;

	flow->received = handed->received;
	flow->released = handed->released;
	flow->sent = handed->sent;
	flow->ended = flow->source->ended = handed->ended;
	flow->sink->shut = handed->shut;
	flow->clocks = (struct flow_clocks){
		.received = handed->received,
		.framed = handed->framed,
		.last_byte_ns = handed->last_byte_ns,
		.unit_ns = handed->unit_ns,
		.hold_received = handed->received,
		.hold_ns = handed->last_byte_ns,
	};
	flow->metrics.runes_received = handed->runes;
	flow->metrics.runes_released = handed->released_runes;
	metrics_adopted(flow, handed->last_byte_ns);
	r = append(flow, bytes, (size_t)(handed->received - handed->sent));
	charge(flow);
	return r;
}

void flow_resume(struct flow *flow)
{
	if (is_judged(flow))
		judged(flow, go_on_judging(flow));
	if (flow->stream->state == STREAM_OPEN)
		flow_update_reading(flow);
	if (flow->stream->state == STREAM_OPEN)
		flow_flush(flow, false);
}

int flow_refuse(struct flow *flow, const uint8_t *bytes, size_t len)
{
	struct hold_pool *pool = &flow->stream->daemon->pool;
	size_t unsent = (size_t)(flow->released - flow->sent);
	int r;

	assert(!flow->ahead && !flow->refusal && flow->sent <= flow->released);
	hold_truncate(&flow->hold, pool, unsent);
	r = append(flow, bytes, len);
	if (r)
		hold_truncate(&flow->hold, pool, unsent);
	else
		flow->refusal = len;
	charge(flow);
	kern_release(flow->stream->daemon->kern, flow->slot, flow->generation,
		     flow->released + flow->refusal);
	return r;
}

bool flow_is_written(const struct flow *flow)
{
	return flow->sent >= flow->released && flow->refusal_sent == flow->refusal;
}

bool flow_is_delivered(const struct flow *flow)
{
	uint64_t held_by_gate = flow->sent > flow->released ? flow->sent - flow->released : 0;

	if (flow->sink->broken || flow->sink->fd < 0)
		return true;
	return flow_is_written(flow) && endpoint_unacknowledged(flow->sink) <= held_by_gate;
}
