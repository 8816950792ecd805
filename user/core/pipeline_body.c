/* SPDX-License-Identifier: Apache-2.0 */
#include "core/pipeline_body.h"

#include <stdlib.h>
#include <string.h>

#include "core/http1_grammar.h"
#include "core/resume_marks.h"
#include "core/utf8.h"

/*
 * A form is read by pieces of so many bytes, each as it is and then decoded, which waits for
 * the end of its piece: so how the bytes are cut is of no matter to the numbers of the runes.
 */
#define FORM_PIECE 1024u
/* What an idle body keeps for meta. */
#define KEEP_META 512u

void pipeline_body_init(struct pipeline_body *body)
{
	body->payload = 0;
	body->message = body->cr = false;
	body->undecided = body->by_element;
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

static void free_meta(struct pipeline_body *body)
{
	free(body->meta);
	body->meta = NULL;
	body->meta_len = body->meta_capacity = 0;
}

void pipeline_body_done(struct pipeline_body *body)
{
	free_meta(body);
	pipeline_codec_free(body->codec);
	body->codec = NULL;
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

enum fault pipeline_meta_loose(struct channel_set *set, const uint8_t *text, size_t len)
{
	uint8_t *room = malloc(len * UTF8_REPLACEMENT_LEN + 1);
	size_t used = 0;
	enum fault fault;

	if (!room)
		return FAULT_NO_MEMORY;
	while (len) {
		uint64_t runes = 0;
		size_t good = utf8_prefix(text, len, &runes);

		memcpy(room + used, text, good);
		used += good;
		if (good == len)
			break;
		memcpy(room + used, UTF8_REPLACEMENT, UTF8_REPLACEMENT_LEN);
		used += UTF8_REPLACEMENT_LEN;
		text += good + 1;
		len -= good + 1;
	}
	fault = pipeline_meta(set, room, used);
	free(room);
	return fault;
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

	if (!len)
		return FAULT_NONE;
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

/* What ends a line for some readers (Python's splitlines()), if not in an event stream. */
static size_t line_break(const uint8_t *text, size_t len)
{
	switch (text[0]) {
	case '\n':
	case 0x0b ... 0x0c:
	case 0x1c ... 0x1e:
		return 1;
	case 0xc2:
		return len > 1 && text[1] == 0x85 ? 2 : 0;
	case 0xe2:
		return len > 2 && text[1] == 0x80 && (text[2] | 1) == 0xa9 ? 3 : 0;
	default:
		return 0;
	}
}

/* White space and byte order marks, which some readers strip from a line. */
static size_t line_blank(const uint8_t *text, size_t len)
{
	static const uint8_t bom[] = {0xef, 0xbb, 0xbf};
	size_t n = 0;

	for (;;) {
		if (n < len && (text[n] == ' ' || text[n] == '\t'))
			n++;
		else if (len - n >= sizeof(bom) && !memcmp(text + n, bom, sizeof(bom)))
			n += sizeof(bom);
		else
			return n;
	}
}

/* Is this line, which is no data, taken for data by some, or for the beginning of JSON? */
static bool is_misread_line(const uint8_t *text, size_t len)
{
	static const uint8_t name[] = {'d', 'a', 't', 'a'};
	size_t at = line_blank(text, len), n = 0;

	if (at < len && (text[at] == '{' || text[at] == '[' || text[at] == '"'))
		return true;
	while (n < sizeof(name) && at < len && (text[at] | 0x20) == name[n]) {
		at++;
		n++;
	}
	if (n < sizeof(name))
		return false;
	at += line_blank(text + at, len - at);
	return at < len && text[at] == ':';
}

/*
 * Lines that are no data: would a reader that is less strict find some in them? What it
 * finds would be text that is joined, or escaped, and was evaluated as neither.
 */
static bool is_misread(const uint8_t *text, size_t len)
{
	size_t at = 0, n = 0;

	while (at < len) {
		if (is_misread_line(text + at, len - at))
			return true;
		while (at < len && !(n = line_break(text + at, len - at)))
			at++;
		at += at < len ? n : 0;
	}
	return false;
}

/* Does a field name the event otherwise than a reader of chunks would take it (9.2.6)? */
static bool is_named_event(const uint8_t *lines, size_t len)
{
	static const char plain[] = "message";
	struct http1_slice rest = {lines, len};

	while (rest.at) {
		struct http1_slice value = http1_until(&rest, '\n'),
				   name = http1_until(&value, ':');

		value = http1_trim(value);
		if (name.len == 5 && memcmp(name.at, "event", 5) == 0 && value.len &&
		    (value.len != strlen(plain) || memcmp(value.at, plain, value.len) != 0))
			return true;
	}
	return false;
}

/* The text of a block that is no payload, without the LF of its last line. */
static enum fault end_meta(struct pipeline_body *body)
{
	bool loose = body->kind == BODY_PIECES && pipeline_codec_has_loose_meta(body->codec);
	enum fault fault = FAULT_NONE;

	if (body->meta_len && body->evaluate)
		fault = (loose ? pipeline_meta_loose : pipeline_meta)(body->set, body->meta,
								      body->meta_len - 1);
	if (!fault && body->meta_len && body->evaluate && body->kind == BODY_EVENTS &&
	    is_misread(body->meta, body->meta_len - 1))
		fault = FAULT_BAD_FRAME;
	if (!fault && body->message && body->meta_len && body->extractor->strict &&
	    body->kind == BODY_EVENTS && is_named_event(body->meta, body->meta_len - 1))
		fault = FAULT_UNREPRESENTED;
	if (body->meta_len && body->marks && body->kind == BODY_EVENTS)
		resume_marks_block(body->marks, body->meta, body->meta_len - 1);
	body->meta_len = 0;
	if (body->meta_capacity > KEEP_META)
		free_meta(body);
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
	if (!fault)
		fault = channel_set_unit_end(body->set);
	if (!fault && body->kind == BODY_PIECES && pipeline_codec_is_over(body->codec))
		fault = extractor_end(body->extractor);
	return fault;
}

/* Bytes of a payload; nobody reads those that their framing says are no text. */
static enum fault take_payload(struct pipeline_body *body, const uint8_t *data, size_t len)
{
	size_t fed = 0;

	show(body, data, len, false);
	if (body->kind == BODY_EVENTS || !pipeline_codec_is_opaque(body->codec))
		return extractor_feed(body->extractor, data, len, &fed);
	return body->evaluate && !body->release_opaque ? FAULT_OPAQUE_BODY : FAULT_NONE;
}

static enum fault next_piece(struct pipeline_body *body, const uint8_t *data, size_t len,
			     size_t *ret_used, enum body_step *ret_step)
{
	struct piece piece = {0};
	enum fault fault = body->kind == BODY_EVENTS
				   ? frame_sse_next(&body->frame.sse, data, len, &piece)
				   : pipeline_codec_next(body->codec, data, len, &piece);

	*ret_used = piece.used;
	*ret_step = BODY_TOOK;
	if (fault)
		return fault;
	switch (piece.kind) {
	case PIECE_DATA:
		return take_payload(body, piece.data, piece.len);
	case PIECE_META:
		return add_meta(body, piece.data, piece.len);
	case PIECE_META_END:
		return add_meta(body, (const uint8_t *)"\n", 1);
	case PIECE_MESSAGE:
	case PIECE_UNIT:
		*ret_step = BODY_UNIT;
		return end_block(body, piece.kind == PIECE_MESSAGE);
	case PIECE_TAIL:
		*ret_step = BODY_TAIL;
		return FAULT_NONE;
	default:
		return FAULT_NONE;
	}
}

/* The decoded piece, which is kept where other bodies have their meta. */
static enum fault end_form_piece(struct pipeline_body *body)
{
	size_t fed, len = body->meta_len;

	body->meta_len = 0;
	return len ? extractor_feed(body->form, body->meta, len, &fed) : FAULT_NONE;
}

/* Bytes of one piece. */
static enum fault decode_form(struct pipeline_body *body, const uint8_t *data, size_t len)
{
	uint8_t piece[FORM_PIECE];
	enum fault fault = FAULT_NONE;
	bool ends = (body->payload + len) % FORM_PIECE == 0;

	while (len && !fault) {
		size_t used, out = percent_decode(&body->frame.percent, data, len, piece,
						  sizeof(piece), &used);

		fault = add_meta(body, piece, out);
		data += used;
		len -= used;
	}
	return !fault && ends ? end_form_piece(body) : fault;
}

static size_t white_space(const uint8_t *data, size_t len)
{
	size_t n = 0;

	while (n < len && (data[n] == ' ' || data[n] == '\t' || data[n] == '\n' || data[n] == '\r'))
		n++;
	return n;
}

/* White space ahead of a document is nothing; its first byte tells whether it is an array. */
static enum fault decide(struct pipeline_body *body, const uint8_t *data, size_t len,
			 size_t *ret_used)
{
	const struct pipeline_codec_config config = {
		.kind = PIPELINE_CODEC_JSON_ARRAY,
		.max_message = body->limit,
	};
	size_t room = (size_t)MIN(body->limit - body->payload, (uint64_t)len);
	size_t used = white_space(data, room);

	body->payload += used;
	*ret_used = used;
	if (used == len)
		return FAULT_NONE;
	if (used == room)
		return FAULT_TOO_LARGE;
	body->undecided = false;
	if (data[used] != '[')
		return FAULT_NONE;
	if (pipeline_codec_new(&config, &body->codec))
		return FAULT_NO_MEMORY;
	body->kind = BODY_PIECES;
	return FAULT_NONE;
}

static enum fault next_document(struct pipeline_body *body, const uint8_t *data, size_t len,
				size_t *ret_used)
{
	size_t room = (size_t)MIN(body->limit - body->payload, (uint64_t)len), used = 0;
	const uint8_t *zero;
	enum fault fault = FAULT_NONE;

	if (body->kind == BODY_FORM)
		room = MIN(room, FORM_PIECE - (size_t)(body->payload % FORM_PIECE));
	/* UTF-16 and UTF-32 that no label tells of: some readers know them by their zeros. */
	zero = body->extractor->text ? memchr(data, '\0', room) : NULL;
	if (zero)
		room = (size_t)(zero - data);
	if (room)
		fault = extractor_feed(body->extractor, data, room, &used);
	if (!fault && used && body->kind == BODY_FORM)
		fault = decode_form(body, data, used);
	show(body, data, used, false);
	body->payload += used;
	*ret_used = used;
	if (!fault && zero)
		return FAULT_BAD_UTF8;
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
	case BODY_PIECES:
		return next_piece(body, data, len, ret_used, ret_step);
	case BODY_DOCUMENT:
	case BODY_FORM:
		return body->undecided ? decide(body, data, len, ret_used)
				       : next_document(body, data, len, ret_used);
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
	case BODY_PIECES:
		return pipeline_codec_partial(body->codec);
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
	enum fault fault = add_meta(body, rest, percent_end(&body->frame.percent, rest));

	if (!fault)
		fault = end_form_piece(body);
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
	if (body->kind == BODY_PIECES)
		return pipeline_codec_may_end(body->codec) ? extractor_end(body->extractor)
							   : FAULT_TRUNCATED;
	if (body->kind == BODY_UNREAD)
		return FAULT_NONE;
	if (body->kind == BODY_FORM)
		fault = end_form(body);
	/* An empty body is no document, but no malformed one either. */
	if (!fault && body->payload)
		fault = extractor_unit_end(body->extractor, true);
	body->message = true;
	show(body, NULL, 0, true);
	return fault ? fault : extractor_end(body->extractor);
}

size_t pipeline_body_memory(const struct pipeline_body *body)
{
	return body->meta_capacity + (body->codec ? pipeline_codec_memory(body->codec) : 0);
}
