/* SPDX-License-Identifier: Apache-2.0 */
#include "core/pipeline_body.h"

#include <stdlib.h>
#include <string.h>

#include "core/utf8.h"

/* Bytes of a form that are decoded at once. */
#define FORM_PIECE 1024u
/* What an idle body keeps for meta. */
#define KEEP_META 512u

void pipeline_body_init(struct pipeline_body *body)
{
	body->payload = 0;
	body->message = body->cr = false;
	switch (body->kind) {
	case BODY_LINES:
		frame_ndjson_init(&body->frame.lines, body->limit);
		break;
	case BODY_EVENTS:
		frame_sse_init(&body->frame.sse, body->limit);
		break;
	case BODY_FORM:
		body->frame.percent = (struct percent){.plus = true};
		break;
	default:
		break;
	}
}

void pipeline_body_done(struct pipeline_body *body)
{
	free(body->meta);
	body->meta = NULL;
	body->meta_len = body->meta_capacity = 0;
}

static void show(const struct pipeline_body *body, const uint8_t *payload, size_t len, bool last)
{
	if (body->on_payload && (len || last))
		body->on_payload(body->context, payload, len, last);
}

enum fault pipeline_meta(struct channel_set *set, const uint8_t *text, size_t len)
{
	uint64_t runes = 0;

	if (!len)
		return FAULT_NONE;
	if (utf8_prefix(text, len, &runes) != len)
		return FAULT_BAD_UTF8;
	return channel_set_whole(set, "meta", text, len, runes, true);
}

/* A line is shown as its reader sees it: a CR only once it is known not to end it. */
static void show_line(struct pipeline_body *body, const uint8_t *data, size_t len)
{
	bool cr;

	if (!body->on_payload || !len)
		return;
	if (body->cr)
		show(body, (const uint8_t *)"\r", 1, false);
	cr = data[len - 1] == '\r';
	show(body, data, len - cr, false);
	body->cr = cr;
}

static enum fault next_line(struct pipeline_body *body, const uint8_t *data, size_t len,
			    size_t *ret_used, enum body_step *ret_step)
{
	struct frame_ndjson *frame = &body->frame.lines;
	size_t room, used = 0;
	enum fault fault = frame_ndjson_room(frame, data, len, &room), large;

	*ret_used = 0;
	*ret_step = BODY_TOOK;
	if (fault)
		return fault;
	fault = extractor_feed(body->extractor, data, room, &used);
	large = frame_ndjson_took(frame, data, used);
	*ret_used = used;
	if (fault || large)
		return fault ? fault : large;
	show_line(body, data, used);
	if (used == room)
		return FAULT_NONE;
	*ret_used = used + 1;
	*ret_step = BODY_UNIT;
	body->payload = frame_ndjson_end(frame, true);
	body->message = body->payload && !extractor_blank(body->extractor);
	body->cr = false;
	if (body->message)
		show(body, NULL, 0, true);
	return extractor_unit_end(body->extractor, true);
}

static enum fault add_meta(struct pipeline_body *body, const uint8_t *text, size_t len)
{
	size_t need = body->meta_len + len, capacity = MAX(body->meta_capacity * 2, need);
	uint8_t *grown;

	if (need > BODY_META_MAX)
		return FAULT_TOO_LARGE;
	if (need > body->meta_capacity) {
		grown = realloc(body->meta, capacity);
		if (!grown)
			return FAULT_NO_MEMORY;
		body->meta = grown;
		body->meta_capacity = capacity;
	}
	memcpy(body->meta + body->meta_len, text, len);
	body->meta_len = need;
	return FAULT_NONE;
}

/* The text of a block that is no payload, without the LF of its last line. */
static enum fault end_meta(struct pipeline_body *body)
{
	enum fault fault = FAULT_NONE;

	if (body->meta_len && body->evaluate)
		fault = pipeline_meta(body->set, body->meta, body->meta_len - 1);
	body->meta_len = 0;
	if (body->meta_capacity > KEEP_META)
		pipeline_body_done(body);
	return fault;
}

static enum fault end_block(struct pipeline_body *body, bool message)
{
	enum fault fault = FAULT_NONE;

	body->message = message;
	if (message) {
		show(body, NULL, 0, true);
		fault = extractor_unit_end(body->extractor, true);
	}
	if (!fault)
		fault = end_meta(body);
	return fault ? fault : channel_set_unit_end(body->set);
}

static enum fault next_event(struct pipeline_body *body, const uint8_t *data, size_t len,
			     size_t *ret_used, enum body_step *ret_step)
{
	struct sse_piece piece = {0};
	enum fault fault = frame_sse_next(&body->frame.sse, data, len, &piece);
	size_t fed = 0;

	*ret_used = piece.used;
	*ret_step = BODY_TOOK;
	if (fault)
		return fault;
	switch (piece.kind) {
	case SSE_DATA:
		show(body, piece.data, piece.len, false);
		return extractor_feed(body->extractor, piece.data, piece.len, &fed);
	case SSE_META:
		return add_meta(body, piece.data, piece.len);
	case SSE_META_END:
		return add_meta(body, (const uint8_t *)"\n", 1);
	case SSE_EVENT:
	case SSE_BLANK:
		*ret_step = BODY_UNIT;
		return end_block(body, piece.kind == SSE_EVENT);
	case SSE_TAIL:
		*ret_step = BODY_TAIL;
		return FAULT_NONE;
	default:
		return FAULT_NONE;
	}
}

static enum fault decode_form(struct pipeline_body *body, const uint8_t *data, size_t len)
{
	uint8_t piece[FORM_PIECE];
	enum fault fault = FAULT_NONE;

	while (len && !fault) {
		size_t used, fed,
			out = percent_decode(&body->frame.percent, data, len, piece, sizeof(piece),
					     &used);

		if (out)
			fault = extractor_feed(body->form, piece, out, &fed);
		data += used;
		len -= used;
	}
	return fault;
}

static enum fault next_document(struct pipeline_body *body, const uint8_t *data, size_t len,
				size_t *ret_used)
{
	size_t room = (size_t)MIN(body->limit - body->payload, (uint64_t)len), used = 0;
	enum fault fault = FAULT_NONE;

	if (room)
		fault = extractor_feed(body->extractor, data, room, &used);
	if (!fault && used && body->kind == BODY_FORM)
		fault = decode_form(body, data, used);
	show(body, data, used, false);
	body->payload += used;
	*ret_used = used;
	return !fault && !room ? FAULT_TOO_LARGE : fault;
}

enum fault pipeline_body_next(struct pipeline_body *body, const uint8_t *data, size_t len,
			      size_t *ret_used, enum body_step *ret_step)
{
	*ret_step = BODY_TOOK;
	switch (body->kind) {
	case BODY_LINES:
		return next_line(body, data, len, ret_used, ret_step);
	case BODY_EVENTS:
		return next_event(body, data, len, ret_used, ret_step);
	case BODY_DOCUMENT:
	case BODY_FORM:
		return next_document(body, data, len, ret_used);
	default:
		*ret_used = len;
		return FAULT_NONE;
	}
}

bool pipeline_body_partial(const struct pipeline_body *body)
{
	switch (body->kind) {
	case BODY_LINES:
		return body->frame.lines.line > 0;
	case BODY_EVENTS:
		return frame_sse_partial(&body->frame.sse);
	case BODY_DOCUMENT:
	case BODY_FORM:
		return true;
	default:
		return false;
	}
}

static enum fault end_form(struct pipeline_body *body)
{
	uint8_t rest[2];
	size_t fed, len = percent_end(&body->frame.percent, rest);
	enum fault fault = FAULT_NONE;

	if (len)
		fault = extractor_feed(body->form, rest, len, &fed);
	if (!fault)
		fault = extractor_unit_end(body->form, true);
	return fault ? fault : extractor_end(body->form);
}

enum fault pipeline_body_end(struct pipeline_body *body)
{
	enum fault fault = FAULT_NONE;

	if (body->kind == BODY_LINES || body->kind == BODY_EVENTS)
		return pipeline_body_partial(body) ? FAULT_TRUNCATED
						   : extractor_end(body->extractor);
	if (body->kind == BODY_UNREAD)
		return FAULT_NONE;
	if (body->kind == BODY_FORM)
		fault = end_form(body);
	if (!fault)
		fault = extractor_unit_end(body->extractor, true);
	body->message = true;
	show(body, NULL, 0, true);
	return fault ? fault : extractor_end(body->extractor);
}

size_t pipeline_body_memory(const struct pipeline_body *body)
{
	return body->meta_capacity;
}
