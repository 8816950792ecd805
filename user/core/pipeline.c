/* SPDX-License-Identifier: Apache-2.0 */
#include "core/pipeline.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/attempt.h"
#include "core/pipeline_auto.h"
#include "core/pipeline_http.h"
#include "core/pipeline_internal.h"
#include "core/pipeline_span.h"
#include "core/pipeline_watch.h"

/* A flow of pieces. */
static int init_codec(struct pipeline *p, const struct pipeline_config *config,
		      enum pipeline_codec_kind kind)
{
	const struct pipeline_codec_config codec = {
		.kind = kind,
		.max_message = config->max_message,
		.ws = {.client = config->track == SESSION_REQUEST,
		       .permessage_deflate = config->framing.permessage_deflate},
		.coding = config->framing.coding,
		.grpc_web = config->framing.grpc_web,
	};

	p->body.kind = BODY_PIECES;
	if (kind == PIPELINE_CODEC_JSONRPC)
		p->hold.mark.place = REFUSAL_JSONRPC;
	return pipeline_codec_new(&codec, &p->body.codec);
}

static int init_frame(struct pipeline *p, const struct pipeline_config *config)
{
	const struct framing *framing = &config->framing;

	p->framing = (uint8_t)framing->kind;
	switch (framing->kind) {
	case FRAMING_NDJSON:
		p->final_newline_optional = framing->final_newline_optional;
		p->body.kind = BODY_LINES;
		return 0;
	case FRAMING_SSE:
		p->body.kind = BODY_EVENTS;
		p->hold.mark = (struct refusal_mark){
			.place = REFUSAL_PLAIN,
			.form = REFUSAL_FORM_SSE,
		};
		return 0;
	case FRAMING_HTTP1:
		return pipeline_http_new(p, config);
	case FRAMING_AUTO:
		return pipeline_auto_new(p, config);
	case FRAMING_JSONRPC_CL:
		return init_codec(p, config, PIPELINE_CODEC_JSONRPC);
	case FRAMING_WS:
		return init_codec(p, config, PIPELINE_CODEC_WS);
	case FRAMING_GRPC:
		return init_codec(p, config, PIPELINE_CODEC_GRPC);
	case FRAMING_EVENTSTREAM:
		return init_codec(p, config, PIPELINE_CODEC_EVENTSTREAM);
	case FRAMING_JSON_ARRAY:
		return init_codec(p, config, PIPELINE_CODEC_JSON_ARRAY);
	case FRAMING_SENTINEL:
		if (framing->sentinel_len < 1 || framing->sentinel_len > SENTINEL_LEN_MAX)
			return -EINVAL;
		frame_sentinel_init(&p->frame.sentinel, framing->sentinel, framing->sentinel_len);
		return 0;
	case FRAMING_LENPREFIX:
		return frame_lenprefix_init(&p->frame.lenprefix, framing, config->max_message);
	default:
		return -EINVAL;
	}
}

static void init_body(struct pipeline *p, const struct pipeline_config *config)
{
	p->body.set = &p->set;
	p->body.extractor = &p->extractor;
	p->body.on_payload = p->framing == FRAMING_NDJSON ? NULL : config->on_payload;
	p->body.context = config->context;
	p->body.evaluate = p->evaluate;
	p->body.release_opaque = config->release_opaque;
	p->body.limit = config->max_message;
	pipeline_body_init(&p->body);
}

static int init_set(struct pipeline *p, const struct pipeline_config *config)
{
	size_t gating = 0;
	int r;

	p->matchers = calloc(config->task_count + config->watcher_count + 1, sizeof(*p->matchers));
	if (!p->matchers)
		return -ENOMEM;
	for (size_t i = 0; i < config->task_count; i++)
		if (!config->tasks[i].spans)
			p->matchers[gating++] = config->tasks[i].matcher;
	for (size_t i = 0, at = gating; i < config->watcher_count; i++)
		if (!config->watchers[i].spans)
			p->matchers[at++] = config->watchers[i].matcher;
	p->set = (struct channel_set){
		.matchers = p->matchers,
		.task_count = gating,
		.ceiling = config->task_count ? SESSION_RUNES_MAX : UINT64_MAX,
		.on_text = config->on_text,
		.context = config->context,
	};
	r = pipeline_span_init(p, config);
	if (r == 0)
		r = pipeline_watch_init(p, config);
	return r < 0 ? r : channel_set_init(&p->set);
}

/* The extractor of a flow that has one; http1 has one for each body. */
static int init_extractor(struct pipeline *p, const struct pipeline_config *config)
{
	unsigned int flags = p->evaluate ? EXTRACTOR_EVALUATE : 0;

	switch (config->framing.kind) {
	case FRAMING_HTTP1:
	case FRAMING_AUTO:
		return 0;
	case FRAMING_NDJSON:
		flags |= EXTRACTOR_LINES | (config->framing.any_line ? 0 : EXTRACTOR_JSON);
		break;
	case FRAMING_SSE:
		flags |= EXTRACTOR_EVENTS;
		break;
	case FRAMING_JSONRPC_CL:
	case FRAMING_JSON_ARRAY:
		flags |= EXTRACTOR_JSON | EXTRACTOR_MESSAGES;
		break;
	case FRAMING_WS:
	case FRAMING_GRPC:
	case FRAMING_EVENTSTREAM:
		flags |= EXTRACTOR_MESSAGES;
		break;
	default:
		break;
	}
	return extractor_init(&p->extractor, &config->extract, &p->set, flags);
}

enum fault pipeline_begin(struct pipeline *p, struct session *session)
{
	enum fault fault;

	p->earlier_runes += p->set.track - p->base;
	p->earlier_released += p->hold.released_runes - p->base;
	if (pipeline_hold_begin(&p->hold, session) < 0)
		return FAULT_ACCOUNTING;
	p->base = p->hold.task_count ? p->hold.observed : p->set.track;
	p->hold.released_runes = p->base;
	channel_set_restart(&p->set, p->base);
	fault = pipeline_span_begin(p);
	return fault ? fault : pipeline_watch_begin(p, session);
}

int pipeline_set_framing(struct pipeline *p, const struct pipeline_config *config)
{
	enum framing_kind kind = config->framing.kind;
	int r = init_frame(p, config);

	if (r == 0 && kind != FRAMING_HTTP1 && kind != FRAMING_AUTO &&
	    pipeline_begin(p, config->session))
		r = -EINVAL;
	if (r == 0)
		r = init_extractor(p, config);
	if (r == 0)
		init_body(p, config);
	return r;
}

int pipeline_new(const struct pipeline_config *config, struct pipeline **ret_pipeline)
{
	cleanup(pipeline_freep) struct pipeline *p = NULL;
	struct pipeline_config framed = *config;
	int r;

	if (!config->max_message || !config->max_pending_units)
		return -EINVAL;
	if ((config->task_count || config->watcher_count) && config->extract.kind == EXTRACT_NONE)
		return -EINVAL;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->max_message = config->max_message;
	p->evaluate = config->task_count || config->watcher_count || config->on_text;
	p->exchanges = config->exchanges;
	p->on_unit = config->on_unit;
	p->context = config->context;
	p->received = p->framed = p->whole = config->start;
	p->earlier_runes = config->start_runes;
	p->earlier_released = config->start_released_runes;
	r = pipeline_hold_init(&p->hold, config);
	if (r == 0)
		r = init_set(p, config);
	/* Tasks that watch alone refuse nothing. */
	framed.release_opaque |= config->watcher_count && !p->hold.holds;
	/* A request is no answer that comes in chunks. */
	framed.extract.strict &= config->track == SESSION_RESPONSE;
	if (r == 0)
		r = pipeline_set_framing(p, &framed);
	if (r < 0)
		return r;
	*ret_pipeline = take_ptr(p);
	return 0;
}

void pipeline_free(struct pipeline *p)
{
	if (!p)
		return;
	pipeline_auto_free(p);
	pipeline_http_free(p);
	pipeline_body_done(&p->body);
	extractor_done(&p->extractor);
	channel_set_done(&p->set);
	pipeline_span_done(p);
	pipeline_watch_done(p);
	pipeline_hold_done(&p->hold);
	free(p->matchers);
	free(p);
}

enum fault pipeline_unit_end(struct pipeline *p, struct pipeline_unit *unit,
			     struct refusal_mark mark, bool whole)
{
	const struct hold_unit held = {
		.end = unit->end,
		.rune_end = p->set.track,
		.mark = mark,
		.whole = whole,
	};
	enum fault fault = pipeline_hold_unit(&p->hold, &p->set, &held);

	if (fault)
		return fault;
	unit->start = p->framed;
	unit->rune_end = p->set.track;
	p->framed = unit->end;
	p->whole = whole ? unit->end : p->whole;
	if (p->set.attempt)
		attempt_unit(p->set.attempt, unit->end, unit->rune_end,
			     pipeline_http_body_bytes(p));
	/* An end that takes no byte has been told of with the unit before. */
	if (p->on_unit && (unit->end > unit->start || unit->messages))
		p->on_unit(p->context, unit);
	return FAULT_NONE;
}

enum fault pipeline_plain_unit_end(struct pipeline *p, uint64_t payload_start, uint64_t payload_end,
				   bool message)
{
	struct pipeline_unit unit = {
		.end = p->received,
		.payload_start = payload_start,
		.payload_end = payload_end,
		.messages = message,
	};

	return pipeline_unit_end(p, &unit, (struct refusal_mark){0}, true);
}

/* Each of these takes some of the data, up to the end of a unit, and says how much. */
static enum fault feed_body(struct pipeline *p, const uint8_t *data, size_t len, size_t *ret_used)
{
	const struct pipeline_body *body = &p->body;
	enum body_step step;
	enum fault fault = pipeline_body_next(&p->body, data, len, ret_used, &step);
	struct pipeline_unit unit = {.messages = body->message, .tail = step == BODY_TAIL};

	p->received += *ret_used;
	if (fault || step == BODY_TOOK)
		return fault;
	if (p->framing == FRAMING_NDJSON)
		return pipeline_plain_unit_end(p, p->framed, p->framed + body->payload,
					       body->message);
	unit.end = p->received;
	unit.messages = step == BODY_UNIT && body->message;
	return pipeline_unit_end(p, &unit, p->hold.mark, true);
}

static enum fault feed_sentinel(struct pipeline *p, const uint8_t *data, size_t len,
				size_t *ret_used)
{
	struct frame_sentinel_piece piece;
	enum fault fault = FAULT_NONE;
	uint64_t start = p->framed, end;
	size_t room, used = 0;

	frame_sentinel_next(&p->frame.sentinel, data, len, &piece);
	room = (size_t)MIN(p->max_message - p->payload, (uint64_t)piece.len);
	if (room)
		fault = extractor_feed(&p->extractor, piece.payload, room, &used);
	p->payload += used;
	if (!fault && room < piece.len)
		fault = FAULT_TOO_LARGE;
	*ret_used = fault ? (piece.payload == data ? used : 0) : piece.used;
	p->received += *ret_used;
	if (fault || !piece.end)
		return fault;
	end = start + p->payload;
	p->payload = 0;
	fault = extractor_unit_end(&p->extractor, true);
	return fault ? fault : pipeline_plain_unit_end(p, start, end, true);
}

static enum fault feed_lenprefix(struct pipeline *p, const uint8_t *data, size_t len,
				 size_t *ret_used)
{
	struct frame_lenprefix *frame = &p->frame.lenprefix;
	enum fault fault = FAULT_NONE;
	size_t header = 0, used = 0, more;
	uint64_t declared;

	if (!frame->in_payload)
		fault = frame_lenprefix_header(frame, data, len, &header);
	p->received += header;
	*ret_used = header;
	if (fault || !frame->in_payload)
		return fault;
	more = (size_t)MIN(frame->left, (uint64_t)(len - header));
	if (more)
		fault = extractor_feed(&p->extractor, data + header, more, &used);
	frame->left -= used;
	p->received += used;
	*ret_used = header + used;
	if (fault || frame->left)
		return fault;
	declared = frame->declared;
	frame_lenprefix_next(frame);
	fault = extractor_unit_end(&p->extractor, true);
	return fault ? fault
		     : pipeline_plain_unit_end(p, p->received - declared, p->received, true);
}

/*
 * How much of len the unit under way, or the message where that is held whole, may still
 * take: one that is framed in so many bytes that no hold has room for it is refused.
 */
static enum fault unit_room(const struct pipeline *p, size_t len, size_t *ret_room)
{
	bool message = p->hold.holds && p->hold.level == SESSION_COMPLETE;
	uint64_t unit = p->received - (message ? p->whole : p->framed);
	uint64_t max = p->max_message + PIPELINE_FRAME_OVERHEAD;

	if (max < p->max_message)
		max = UINT64_MAX;
	if (unit >= max)
		return FAULT_TOO_LARGE;
	*ret_room = (size_t)MIN(max - unit, (uint64_t)len);
	return FAULT_NONE;
}

/* Can no flow of that framing begin as TLS does? That of http1 looks for itself. */
static bool is_text(const struct pipeline *p)
{
	return p->framing == FRAMING_NDJSON || p->framing == FRAMING_SSE ||
	       p->framing == FRAMING_JSONRPC_CL;
}

static enum fault feed_some(struct pipeline *p, const uint8_t *data, size_t len, size_t *ret_used)
{
	enum fault fault = FAULT_NONE;
	size_t room = len;

	if (!p->received && *data == PIPELINE_TLS_RECORD && is_text(p))
		return FAULT_TLS_UNMEDIATED;
	switch ((enum framing_kind)p->framing) {
	case FRAMING_NDJSON:
		return feed_body(p, data, len, ret_used);
	case FRAMING_SENTINEL:
		return feed_sentinel(p, data, len, ret_used);
	case FRAMING_LENPREFIX:
		return feed_lenprefix(p, data, len, ret_used);
	default:
		fault = unit_room(p, len, &room);
		break;
	}
	if (fault)
		return fault;
	return p->http ? pipeline_http_feed(p, data, room, ret_used)
		       : feed_body(p, data, room, ret_used);
}

/* The first bytes, of which those that were kept come again once it is known how. */
static enum fault feed_unknown(struct pipeline *p, const uint8_t *data, size_t len,
			       size_t *ret_used)
{
	uint8_t kept[IDENTIFY_MAX];
	size_t count;
	enum fault fault = pipeline_auto_feed(p, data, len, ret_used, kept, &count);

	for (size_t at = 0, used = 0; !fault && at < count; at += used)
		fault = feed_some(p, kept + at, count - at, &used);
	return fault;
}

static enum fault feed(struct pipeline *p, const uint8_t *data, size_t len, size_t *ret_used)
{
	enum fault fault = FAULT_NONE;
	size_t at = 0;

	while (at < len && !fault && !pipeline_span_blocks(p)) {
		size_t used = 0;

		fault = p->automatic ? feed_unknown(p, data + at, len - at, &used)
				     : feed_some(p, data + at, len - at, &used);
		at += used;
	}
	*ret_used = at;
	return fault;
}

enum fault pipeline_fail(struct pipeline *p, enum fault fault)
{
	const struct channel_match *match = &p->set.match;

	p->fault = fault;
	if (fault == FAULT_BLOCKED) {
		p->denial = (struct pipeline_denial){
			.task = p->hold.tasks[match->task].name,
			.rule = match->rule,
			.start = match->start,
			.end = match->end,
		};
		pipeline_hold_deny(&p->hold, &p->set);
	} else if (fault == FAULT_OUTPUT_DENIED) {
		/* What was cleared before is settled, and what is held stays. */
		p->denial = p->watch.denial;
	} else {
		pipeline_hold_fail(&p->hold, &p->set);
	}
	return fault;
}

enum fault pipeline_take(struct pipeline *p, const uint8_t *data, size_t len, size_t *ret_used)
{
	enum fault fault;

	*ret_used = 0;
	if (p->fault)
		return p->fault;
	assert(!p->ended);
	fault = feed(p, data, len, ret_used);
	pipeline_span_bound(p);
	if (!fault)
		fault = pipeline_hold_settle(&p->hold, &p->set);
	if (fault)
		fault = pipeline_fail(p, fault);
	pipeline_http_delivered(p);
	return fault;
}

enum fault pipeline_feed(struct pipeline *p, const uint8_t *data, size_t len)
{
	size_t used;

	assert(!p->spans);
	return pipeline_take(p, data, len, &used);
}
