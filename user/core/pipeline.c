/* SPDX-License-Identifier: Apache-2.0 */
#include "core/pipeline.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/channel.h"
#include "core/extract.h"
#include "core/frame_lenprefix.h"
#include "core/frame_ndjson.h"
#include "core/frame_sentinel.h"
#include "core/pipeline_hold.h"

struct pipeline {
	uint8_t framing; /* enum framing_kind */
	bool any_line, final_newline_optional;
	bool ended;
	enum fault fault;
	uint64_t received, framed;
	uint64_t payload; /* sentinel: bytes of the payload under way */
	uint64_t max_message;
	uint64_t base; /* track runes before this flow's first */
	union {
		struct frame_ndjson ndjson;
		struct frame_sentinel sentinel;
		struct frame_lenprefix lenprefix;
	} frame;
	void (*on_unit)(void *context, const struct pipeline_unit *unit);
	void *context;
	struct pipeline_denial denial;
	struct channel_set set;
	struct extractor extractor;
	struct pipeline_hold hold;
	const struct terms **terms;
};

static int init_frame(struct pipeline *p, const struct pipeline_config *config)
{
	const struct framing *framing = &config->framing;

	p->framing = (uint8_t)framing->kind;
	switch (framing->kind) {
	case FRAMING_NDJSON:
		p->any_line = framing->any_line;
		p->final_newline_optional = framing->final_newline_optional;
		frame_ndjson_init(&p->frame.ndjson, config->max_message);
		return 0;
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

static int init_set(struct pipeline *p, const struct pipeline_config *config)
{
	p->terms = calloc(config->task_count + 1, sizeof(*p->terms));
	if (!p->terms)
		return -ENOMEM;
	for (size_t i = 0; i < config->task_count; i++)
		p->terms[i] = config->tasks[i].terms;
	p->base = p->hold.observed;
	p->set = (struct channel_set){
		.terms = p->terms,
		.task_count = config->task_count,
		.ceiling = config->task_count ? SESSION_RUNES_MAX : UINT64_MAX,
		.on_text = config->on_text,
		.context = config->context,
		.track = p->base,
		.floor = p->base,
	};
	return channel_set_init(&p->set);
}

int pipeline_new(const struct pipeline_config *config, struct pipeline **ret_pipeline)
{
	cleanup(pipeline_freep) struct pipeline *p = NULL;
	bool lines = config->framing.kind == FRAMING_NDJSON;
	int r;

	if (!config->max_message || !config->max_pending_units)
		return -EINVAL;
	if (config->task_count && config->extract.kind == EXTRACT_NONE)
		return -EINVAL;
	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->max_message = config->max_message;
	p->on_unit = config->on_unit;
	p->context = config->context;
	r = init_frame(p, config);
	if (r == 0)
		r = pipeline_hold_init(&p->hold, config);
	if (r == 0)
		r = init_set(p, config);
	if (r == 0)
		r = extractor_init(&p->extractor, &config->extract, &p->set, lines,
				   lines && !config->framing.any_line,
				   config->task_count || config->on_text);
	if (r < 0)
		return r;
	*ret_pipeline = take_ptr(p);
	return 0;
}

void pipeline_free(struct pipeline *p)
{
	if (!p)
		return;
	extractor_done(&p->extractor);
	channel_set_done(&p->set);
	pipeline_hold_done(&p->hold);
	free(p->terms);
	free(p);
}

static enum fault unit_end(struct pipeline *p, uint64_t payload_start, uint64_t payload_end,
			   bool blank, bool delimited)
{
	enum fault fault = extractor_unit_end(&p->extractor, delimited);
	struct pipeline_unit unit = {
		.start = p->framed,
		.end = p->received,
		.payload_start = payload_start,
		.payload_end = payload_end,
		.rune_end = p->set.track,
		.blank = blank,
	};

	if (fault)
		return fault;
	fault = pipeline_hold_unit(&p->hold, &p->set, unit.end, unit.rune_end);
	if (fault)
		return fault;
	p->framed = unit.end;
	if (p->on_unit)
		p->on_unit(p->context, &unit);
	return FAULT_NONE;
}

static enum fault line_end(struct pipeline *p, bool lf)
{
	uint64_t payload = frame_ndjson_end(&p->frame.ndjson, lf);
	bool blank = payload == 0 || extractor_blank(&p->extractor);

	return unit_end(p, p->framed, p->framed + payload, blank, lf);
}

/* Each of these takes some of the data, up to the end of a unit, and says how much. */
static enum fault feed_ndjson(struct pipeline *p, const uint8_t *data, size_t len, size_t *ret_used)
{
	struct frame_ndjson *frame = &p->frame.ndjson;
	size_t room, used = 0;
	enum fault fault = frame_ndjson_room(frame, data, len, &room), large;

	if (fault)
		return fault;
	fault = extractor_feed(&p->extractor, data, room, &used);
	large = frame_ndjson_took(frame, data, used);
	p->received += used;
	*ret_used = used;
	if (fault || large)
		return fault ? fault : large;
	if (used == room)
		return FAULT_NONE;
	p->received++;
	*ret_used = used + 1;
	return line_end(p, true);
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
	return unit_end(p, start, end, false, true);
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
	return unit_end(p, p->received - declared, p->received, false, true);
}

static enum fault feed(struct pipeline *p, const uint8_t *data, size_t len)
{
	enum fault fault = FAULT_NONE;

	while (len && !fault) {
		size_t used = 0;

		switch ((enum framing_kind)p->framing) {
		case FRAMING_NDJSON:
			fault = feed_ndjson(p, data, len, &used);
			break;
		case FRAMING_SENTINEL:
			fault = feed_sentinel(p, data, len, &used);
			break;
		default:
			fault = feed_lenprefix(p, data, len, &used);
			break;
		}
		data += used;
		len -= used;
	}
	return fault;
}

/* Ends the flow: what was cleared before the fault is settled first. */
static enum fault fail(struct pipeline *p, enum fault fault)
{
	const struct channel_match *match = &p->set.match;

	p->fault = fault;
	if (fault == FAULT_BLOCKED) {
		p->denial = (struct pipeline_denial){
			.task = pipeline_hold_task(&p->hold, match->task),
			.rule = match->term,
			.start = match->start,
			.end = match->end,
		};
		pipeline_hold_deny(&p->hold, &p->set);
	} else {
		pipeline_hold_fail(&p->hold, &p->set);
	}
	return fault;
}

enum fault pipeline_feed(struct pipeline *p, const uint8_t *data, size_t len)
{
	enum fault fault;

	if (p->fault)
		return p->fault;
	assert(!p->ended);
	fault = feed(p, data, len);
	if (!fault)
		fault = pipeline_hold_settle(&p->hold, &p->set);
	return fault ? fail(p, fault) : FAULT_NONE;
}

/* The last line of a stream may lack its LF where the configuration says so. */
static enum fault end_of_tail(struct pipeline *p)
{
	enum fault fault;

	if (p->received == p->framed)
		return FAULT_NONE;
	if (p->framing != FRAMING_NDJSON || !p->final_newline_optional)
		return FAULT_TRUNCATED;
	fault = line_end(p, false);
	/* No byte of it was wrong: what is missing is the rest. */
	return fault == FAULT_BAD_JSON ? FAULT_TRUNCATED : fault;
}

enum fault pipeline_end(struct pipeline *p)
{
	enum fault fault;

	if (p->fault || p->ended)
		return p->fault;
	p->ended = true;
	fault = end_of_tail(p);
	if (!fault)
		fault = extractor_end(&p->extractor);
	if (!fault)
		fault = pipeline_hold_settle(&p->hold, &p->set);
	return fault ? fail(p, fault) : FAULT_NONE;
}

uint64_t pipeline_advance(struct pipeline *p)
{
	if (!p->fault)
		pipeline_hold_advance(&p->hold);
	return p->hold.released;
}

uint64_t pipeline_received(const struct pipeline *p)
{
	return p->received;
}

uint64_t pipeline_framed(const struct pipeline *p)
{
	return p->framed;
}

uint64_t pipeline_released(const struct pipeline *p)
{
	return p->hold.released;
}

uint64_t pipeline_released_runes(const struct pipeline *p)
{
	return p->hold.released_runes - p->base;
}

uint64_t pipeline_expected(const struct pipeline *p)
{
	return p->framing == FRAMING_LENPREFIX ? p->frame.lenprefix.declared : 0;
}

uint64_t pipeline_runes(const struct pipeline *p)
{
	return p->set.track - p->base;
}

bool pipeline_declares(const struct pipeline *p, const char *channel)
{
	for (const struct channel *c = p->set.joined; c; c = c->next)
		if (c->name == channel)
			return true;
	return false;
}

bool pipeline_complete(const struct pipeline *p)
{
	return p->extractor.complete;
}

enum fault pipeline_fault(const struct pipeline *p)
{
	return p->fault;
}

const struct pipeline_denial *pipeline_denial(const struct pipeline *p)
{
	return p->fault == FAULT_BLOCKED ? &p->denial : NULL;
}

size_t pipeline_memory(const struct pipeline *p)
{
	return sizeof(*p) + (p->set.task_count + 1) * sizeof(*p->terms) +
	       channel_set_memory(&p->set) + extractor_memory(&p->extractor) +
	       pipeline_hold_memory(&p->hold);
}
