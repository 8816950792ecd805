/* SPDX-License-Identifier: Apache-2.0 */
#include "core/pipeline_http.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/exchange.h"
#include "core/frame_http1.h"
#include "core/percent.h"
#include "core/pipeline_reading.h"

struct pipeline_http {
	struct frame_http1 frame;
	struct exchanges *exchanges; /* borrowed */
	struct pipeline_wanted wanted;
	struct decoder *decoder; /* NULL: the body is not coded */
	struct extractor form;	 /* of what a form holds, decoded */
	void (*on_start)(void *context, const uint8_t *line, size_t len);
	bool in_message, in_body;
	bool streaming; /* the body's units are not the whole message */
	bool in_chunk;	/* the CRLF behind its data is still to come */
	bool has_form;
	bool decoded;	   /* something of a coded body has come out */
	uint32_t messages; /* ended, and no unit ended with them yet (T3) */
	size_t ahead;	   /* bytes of the codec's piece that the body has not taken */
};

static bool is_request(const struct pipeline *p)
{
	return p->hold.track == SESSION_REQUEST;
}

int pipeline_http_new(struct pipeline *p, const struct pipeline_config *config)
{
	struct pipeline_http *http;

	if (!config->exchanges)
		return -EINVAL;
	http = calloc(1, sizeof(*http));
	if (!http)
		return -ENOMEM;
	http->exchanges = config->exchanges;
	http->wanted.extract = config->extract;
	http->wanted.inner = config->framing.inner;
	http->wanted.release_opaque = config->release_opaque;
	http->on_start = config->on_start;
	frame_http1_init(&http->frame, !is_request(p));
	p->http = http;
	if (!is_request(p))
		p->hold.mark.place = REFUSAL_MESSAGE;
	return 0;
}

/* What the message that ended, or never will, needed. */
static void end_body(struct pipeline *p)
{
	struct pipeline_http *http = p->http;

	if (!http->in_body)
		return;
	extractor_done(&p->extractor);
	if (http->has_form)
		extractor_done(&http->form);
	decoder_free(http->decoder);
	http->decoder = NULL;
	http->in_body = http->has_form = http->streaming = http->in_chunk = false;
	http->decoded = false;
	http->messages = 0;
}

void pipeline_http_free(struct pipeline *p)
{
	if (!p->http)
		return;
	end_body(p);
	frame_http1_done(&p->http->frame);
	free(p->http);
	p->http = NULL;
}

/* Where a refusal would go behind the byte that was taken last. */
static struct refusal_mark mark_here(const struct pipeline *p)
{
	const struct pipeline_http *http = p->http;
	struct refusal_mark mark = {.place = REFUSAL_NONE, .left = http->frame.left + http->ahead};

	if (is_request(p))
		return mark;
	if (!http->in_message) {
		mark.place = REFUSAL_MESSAGE;
		return mark;
	}
	if (!http->streaming || http->decoder || p->body.kind == BODY_UNREAD)
		return mark;
	mark.form = p->body.kind == BODY_EVENTS ? REFUSAL_FORM_SSE : REFUSAL_FORM_LINES;
	switch (http->frame.head.body) {
	case HTTP1_CHUNKED:
		mark.place = http->in_chunk ? REFUSAL_CHUNK : REFUSAL_CHUNKS;
		break;
	case HTTP1_LENGTH:
		mark.place = REFUSAL_LENGTH;
		break;
	case HTTP1_UNTIL_CLOSE:
		mark.place = REFUSAL_PLAIN;
		break;
	default:
		break;
	}
	return mark;
}

static enum fault unit_end(struct pipeline *p, struct pipeline_unit unit)
{
	/* The lines of a head are a unit's text as well, where no body's text ends it. */
	enum fault fault = channel_set_unit_end(&p->set);

	if (fault)
		return fault;
	unit.end = p->received;
	return pipeline_unit_end(p, &unit, mark_here(p));
}

/* The first byte of a message: whose session it belongs to, and what it answers. */
static enum fault begin_message(struct pipeline *p, uint8_t first)
{
	struct pipeline_http *http = p->http;
	struct http1_request request;
	struct session *session = NULL;
	enum fault fault;

	/* An empty line before a request is not its beginning yet. */
	if (is_request(p) && (first == '\r' || first == '\n'))
		return FAULT_NONE;
	if (is_request(p)) {
		fault = first == PIPELINE_TLS_RECORD ? FAULT_TLS_UNMEDIATED
						     : exchanges_request(http->exchanges, &session);
	} else {
		fault = exchanges_response(http->exchanges, &session, &request);
		if (!fault)
			frame_http1_answer(&http->frame, &request);
	}
	if (!fault)
		fault = pipeline_begin(p, session);
	http->in_message = !fault;
	return fault;
}

static enum fault decoded_text(struct pipeline *p, const uint8_t *text, size_t len, bool plus)
{
	struct percent percent = {.plus = plus};
	size_t used, out;
	enum fault fault;
	/* What is decoded is never longer, but the decoder wants room for a rest. */
	uint8_t *room = malloc(len + 4);

	if (!room)
		return FAULT_NO_MEMORY;
	out = percent_decode(&percent, text, len, room, len + 4, &used);
	out += percent_end(&percent, room + out);
	fault = pipeline_meta(&p->set, room, out);
	free(room);
	return fault;
}

static bool holds(const struct frame_http1 *frame, char c)
{
	return frame->target_len && memchr(frame->target, c, frame->target_len);
}

/* A line, and the request target as the server will read it: '+' may be a space there. */
static enum fault take_line(struct pipeline *p, const struct http1_piece *piece)
{
	const struct frame_http1 *frame = &p->http->frame;
	enum fault fault;

	if (!p->evaluate)
		return FAULT_NONE;
	fault = pipeline_meta(&p->set, piece->data, piece->len);
	if (fault || piece->kind != HTTP1_START)
		return fault;
	if (holds(frame, '%'))
		fault = decoded_text(p, frame->target, frame->target_len, false);
	if (!fault && holds(frame, '+'))
		fault = decoded_text(p, frame->target, frame->target_len, true);
	return fault;
}

static enum fault fault_of(int err)
{
	return err == -ENOMEM ? FAULT_NO_MEMORY : FAULT_ACCOUNTING;
}

static int new_form(struct pipeline *p, const struct pipeline_reading *reading)
{
	static const char form_name[] = "form";
	struct pipeline_http *http = p->http;
	int r = extractor_init(&http->form, &reading->extract, &p->set,
			       reading->flags & ~EXTRACTOR_ATTEMPT);

	if (r < 0)
		return r;
	http->has_form = true;
	http->form.raw.channel->name = form_name;
	return 0;
}

static enum fault begin_body(struct pipeline *p)
{
	struct pipeline_http *http = p->http;
	const struct http1_head *head = &http->frame.head;
	struct pipeline_reading reading = {0};
	enum fault fault = pipeline_read(&http->wanted, head, p->evaluate, &reading);
	int r = 0;

	if (fault)
		return fault;
	p->body.kind = reading.kind;
	http->in_body = true;
	http->streaming = head->body != HTTP1_NO_BODY &&
			  (reading.kind == BODY_EVENTS || reading.kind == BODY_LINES ||
			   reading.kind == BODY_UNREAD);
	r = extractor_init(&p->extractor, &reading.extract, &p->set, reading.flags);
	if (r < 0) {
		http->in_body = false;
		return fault_of(r);
	}
	if (reading.kind == BODY_FORM)
		r = new_form(p, &reading);
	/* What nobody reads need not be decoded. */
	if (r == 0 && head->body != HTTP1_NO_BODY && head->coding != CODING_IDENTITY &&
	    reading.kind != BODY_UNREAD)
		r = decoder_new(head->coding, &http->decoder);
	if (r == 0 && http->decoder)
		decoder_accept_words(http->decoder);
	p->body.form = reading.kind == BODY_FORM ? &http->form : NULL;
	pipeline_body_init(&p->body);
	return r < 0 ? fault_of(r) : FAULT_NONE;
}

/* The message ends with the byte that was taken last. */
static enum fault end_message(struct pipeline *p)
{
	struct pipeline_http *http = p->http;
	const struct http1_head head = http->frame.head;
	struct pipeline_unit unit = {.messages = http->messages + !http->streaming};
	enum fault fault = FAULT_NONE;

	if (http->decoder)
		fault = decoder_end(http->decoder);
	if (!fault)
		fault = pipeline_body_end(&p->body);
	if (!fault && p->body.kind == BODY_UNREAD && !http->streaming && p->body.on_payload)
		p->body.on_payload(p->context, NULL, 0, true);
	end_body(p);
	http->in_message = false;
	if (!fault)
		fault = unit_end(p, unit);
	if (!fault)
		fault = pipeline_hold_settle(&p->hold, &p->set);
	if (!fault)
		fault = pipeline_hold_end(&p->hold);
	if (fault)
		return fault;
	return is_request(p) ? exchanges_request_end(http->exchanges)
			     : exchanges_response_end(http->exchanges, head.interim);
}

/* Behind a 2xx to CONNECT a connection begins anew; what it speaks, its first bytes tell. */
static enum fault begin_tunnel(struct pipeline *p)
{
	struct pipeline_http *http = p->http;
	enum fault fault;

	if (!http->frame.head.request.connect)
		return FAULT_UNFRAMED;
	fault = end_message(p);
	frame_http1_done(&http->frame);
	frame_http1_init(&http->frame, true);
	return fault;
}

static enum fault take_head(struct pipeline *p)
{
	struct pipeline_http *http = p->http;
	const struct http1_head *head = &http->frame.head;
	enum fault fault;

	if (http->on_start)
		http->on_start(p->context, http->frame.start, http->frame.start_len);
	if (http->frame.late)
		return http->frame.late;
	if (is_request(p))
		exchanges_request_head(http->exchanges, &head->request);
	if (head->body == HTTP1_TUNNEL) {
		p->body.kind = BODY_UNREAD;
		return begin_tunnel(p);
	}
	fault = begin_body(p);
	if (fault || (!http->streaming && !head->expect_continue))
		return fault;
	return unit_end(p, (struct pipeline_unit){0});
}

/* Bytes of the body as its reader sees them, where a unit may end with each. */
static enum fault take_plain(struct pipeline *p, const uint8_t *data, size_t len)
{
	struct pipeline_http *http = p->http;
	enum fault fault = FAULT_NONE;

	while (len && !fault) {
		enum body_step step;
		size_t used = 0;

		fault = pipeline_body_next(&p->body, data, len, &used, &step);
		p->received += used;
		data += used;
		len -= used;
		http->ahead = len;
		if (fault)
			break;
		if (step == BODY_UNIT)
			fault = unit_end(p, (struct pipeline_unit){.messages = p->body.message});
		else if (step == BODY_TAIL)
			fault = unit_end(p, (struct pipeline_unit){.tail = true});
		else if (p->body.kind == BODY_UNREAD)
			fault = unit_end(p, (struct pipeline_unit){0});
	}
	http->ahead = 0;
	return fault;
}

static enum fault take_decoded(struct pipeline *p, const uint8_t *data, size_t len)
{
	enum fault fault = FAULT_NONE;

	while (len && !fault) {
		enum body_step step;
		size_t used = 0;

		fault = pipeline_body_next(&p->body, data, len, &used, &step);
		data += used;
		len -= used;
		if (!fault && step == BODY_UNIT)
			p->http->messages += p->body.message;
	}
	p->http->decoded = true;
	return fault;
}

/* A file name or a comment of the coding itself; one amid the body has no reader. */
static enum fault take_words(struct pipeline *p, const uint8_t *words, size_t len)
{
	if (p->http->decoded)
		return FAULT_BAD_ENCODING;
	return p->evaluate ? pipeline_meta(&p->set, words, len) : FAULT_NONE;
}

static enum fault take_coded(struct pipeline *p, const uint8_t *data, size_t len)
{
	struct decoder *decoder = p->http->decoder;
	const uint8_t *out;
	size_t out_len;
	enum fault fault;

	p->received += len;
	decoder_feed(decoder, data, len);
	do {
		fault = decoder_next(decoder, &out, &out_len);
		if (!fault && out_len)
			fault = decoder_gave_words(decoder) ? take_words(p, out, out_len)
							    : take_decoded(p, out, out_len);
	} while (!fault && out_len);
	return fault;
}

static enum fault take_body(struct pipeline *p, const struct http1_piece *piece)
{
	struct pipeline_http *http = p->http;

	http->in_chunk = http->frame.head.body == HTTP1_CHUNKED;
	return http->decoder ? take_coded(p, piece->data, piece->len)
			     : take_plain(p, piece->data, piece->len);
}

/* The data of a chunk is whole: in a coded body a unit may end here (T3). */
static enum fault take_chunk(struct pipeline *p)
{
	struct pipeline_http *http = p->http;
	uint32_t messages = http->messages;

	if (!http->decoder || !http->streaming || pipeline_body_partial(&p->body) ||
	    decoder_in_header(http->decoder))
		return FAULT_NONE;
	http->messages = 0;
	return unit_end(p, (struct pipeline_unit){.messages = messages});
}

/* The CRLF behind it was taken: it goes where the last message before it went (T4). */
static enum fault take_chunk_end(struct pipeline *p)
{
	struct pipeline_http *http = p->http;
	bool whole = http->streaming && p->framed + 2 == p->received;

	http->in_chunk = false;
	return whole ? unit_end(p, (struct pipeline_unit){.outer = true}) : FAULT_NONE;
}

static enum fault take_piece(struct pipeline *p, const struct http1_piece *piece)
{
	/* A body's bytes are counted as they are taken. */
	if (piece->kind != HTTP1_BODY)
		p->received += piece->used;
	switch (piece->kind) {
	case HTTP1_START:
	case HTTP1_FIELD:
	case HTTP1_EXTENSION:
		return take_line(p, piece);
	case HTTP1_HEAD:
		return take_head(p);
	case HTTP1_BODY:
		return take_body(p, piece);
	case HTTP1_CHUNK:
		return take_chunk(p);
	case HTTP1_CHUNK_END:
		return take_chunk_end(p);
	case HTTP1_END:
		return end_message(p);
	default:
		return FAULT_NONE;
	}
}

enum fault pipeline_http_feed(struct pipeline *p, const uint8_t *data, size_t len, size_t *ret_used)
{
	struct pipeline_http *http = p->http;
	struct http1_piece piece = {0};
	enum fault fault = FAULT_NONE;
	uint64_t before = p->received;

	if (!http->in_message)
		fault = begin_message(p, *data);
	/* Of empty lines byte by byte, so that what follows begins a message in every cut. */
	if (!fault)
		fault = frame_http1_next(&http->frame, data, http->in_message ? len : 1, &piece);
	if (!fault)
		fault = take_piece(p, &piece);
	while (!fault && frame_http1_due(&http->frame)) {
		fault = frame_http1_next(&http->frame, NULL, 0, &piece);
		if (!fault)
			fault = take_piece(p, &piece);
	}
	*ret_used = (size_t)(p->received - before);
	return fault;
}

enum fault pipeline_http_end(struct pipeline *p)
{
	struct pipeline_http *http = p->http;
	bool ended = false;
	enum fault fault = frame_http1_end(&http->frame, &ended);

	if (!fault && ended)
		fault = end_message(p);
	/* Empty lines that no request followed. */
	else if (!fault && p->received > p->framed)
		fault = unit_end(p, (struct pipeline_unit){0});
	/* A server that ends while it owes an answer has not given a whole one. */
	if (!fault && !is_request(p) && exchanges_open(http->exchanges))
		fault = FAULT_TRUNCATED;
	return fault;
}

uint64_t pipeline_http_partial(const struct pipeline *p)
{
	const struct pipeline_http *http = p->http;

	if (!http->in_message || (http->streaming && !pipeline_body_partial(&p->body)))
		return 0;
	return p->received - p->framed;
}

uint64_t pipeline_http_expected(const struct pipeline *p)
{
	return p->http->in_body ? p->http->frame.left : 0;
}

size_t pipeline_http_memory(const struct pipeline *p)
{
	const struct pipeline_http *http = p->http;

	return sizeof(*http) + frame_http1_memory(&http->frame) +
	       (http->decoder ? decoder_memory(http->decoder) : 0) +
	       (http->has_form ? extractor_memory(&http->form) : 0);
}
