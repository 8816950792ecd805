/* SPDX-License-Identifier: Apache-2.0 */
/* The bodies of HTTP messages: the part of pipeline_http.h that reads them. */
#include "core/attempt.h"
#include "core/exchange.h"
#include "core/pipeline_http_internal.h"

/* What the message that ended, or never will, needed. */
void pipeline_http_end_body(struct pipeline *p)
{
	struct pipeline_http *http = p->http;

	if (!http->in_body)
		return;
	extractor_done(&p->extractor);
	pipeline_body_done(&p->body);
	if (http->has_form)
		extractor_done(&http->form);
	decoder_free(http->decoder);
	http->decoder = NULL;
	http->in_body = http->has_form = http->in_chunk = false;
	http->decoded = false;
	http->messages = 0;
}

/* Where a refusal would go behind the byte that was taken last. */
static struct refusal_mark mark_here(const struct pipeline *p)
{
	const struct pipeline_http *http = p->http;
	struct refusal_mark mark = {.place = REFUSAL_NONE, .left = http->frame.left + http->ahead};

	if (pipeline_http_is_request(p))
		return mark;
	if (http->websocket) {
		if (!pipeline_codec_is_over(p->body.codec))
			mark.place = REFUSAL_WEBSOCKET;
		return mark;
	}
	if (!http->in_message) {
		mark.place = REFUSAL_MESSAGE;
		return mark;
	}
	if (http->decoder || (p->body.kind != BODY_EVENTS && p->body.kind != BODY_LINES))
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

static enum fault end_unit(struct pipeline *p, struct pipeline_unit unit, bool whole)
{
	/* The lines of a head are a unit's text as well, where no body's text ends it. */
	enum fault fault = channel_set_unit_end(&p->set);

	if (fault)
		return fault;
	unit.end = p->received;
	return pipeline_unit_end(p, &unit, mark_here(p), whole);
}

enum fault pipeline_http_unit(struct pipeline *p, struct pipeline_unit unit)
{
	return end_unit(p, unit, p->http->websocket || !p->http->in_message);
}

enum fault pipeline_http_head_unit(struct pipeline *p)
{
	return end_unit(p, (struct pipeline_unit){0}, p->http->frame.head.expect_continue);
}

bool pipeline_http_streams(const struct pipeline *p)
{
	const struct pipeline_http *http = p->http;

	if (http->websocket)
		return true;
	return http->in_body && http->frame.head.body != HTTP1_NO_BODY &&
	       p->body.kind != BODY_DOCUMENT && p->body.kind != BODY_FORM;
}

static int new_codec(struct pipeline *p, enum pipeline_codec_kind kind)
{
	const struct pipeline_codec_config config = {.kind = kind, .max_message = p->max_message};

	return pipeline_codec_new(&config, &p->body.codec);
}

static int new_form(struct pipeline *p, const struct pipeline_reading *reading)
{
	static const char form_name[] = "form";
	struct pipeline_http *http = p->http;
	int r = extractor_init(&http->form, &reading->extract, &p->set, reading->flags);

	if (r < 0)
		return r;
	http->has_form = true;
	http->form.raw.channel->name = form_name;
	return 0;
}

enum fault pipeline_http_begin_body(struct pipeline *p)
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
	r = extractor_init(&p->extractor, &reading.extract, &p->set, reading.flags);
	if (r < 0) {
		http->in_body = false;
		return pipeline_fault_of(r);
	}
	p->body.marks = p->set.attempt ? attempt_marks(p->set.attempt) : NULL;
	p->extractor.tokens.marks = p->body.marks;
	http->body_bytes = 0;
	if (reading.kind == BODY_FORM)
		r = new_form(p, &reading);
	else if (reading.kind == BODY_PIECES)
		r = new_codec(p, reading.codec);
	/* What nobody reads need not be decoded. */
	if (r == 0 && head->body != HTTP1_NO_BODY && head->coding != CODING_IDENTITY &&
	    reading.kind != BODY_UNREAD)
		r = decoder_new(head->coding, &http->decoder);
	if (r == 0 && http->decoder)
		decoder_accept_words(http->decoder);
	p->body.form = reading.kind == BODY_FORM ? &http->form : NULL;
	p->body.by_element = reading.by_element;
	pipeline_body_init(&p->body);
	return r < 0 ? pipeline_fault_of(r) : FAULT_NONE;
}

/* Bytes of the body as its reader sees them, where a unit may end with each. */
enum fault pipeline_http_take_plain(struct pipeline *p, const uint8_t *data, size_t len)
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
			fault = pipeline_http_unit(
				p, (struct pipeline_unit){.messages = p->body.message});
		else if (step == BODY_TAIL)
			fault = pipeline_http_unit(p, (struct pipeline_unit){.tail = true});
		else if (p->body.kind == BODY_UNREAD)
			fault = pipeline_http_unit(p, (struct pipeline_unit){0});
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

enum fault pipeline_http_take_body(struct pipeline *p, const struct http1_piece *piece)
{
	struct pipeline_http *http = p->http;

	http->in_chunk = http->frame.head.body == HTTP1_CHUNKED;
	http->body_bytes += piece->len;
	return http->decoder ? take_coded(p, piece->data, piece->len)
			     : pipeline_http_take_plain(p, piece->data, piece->len);
}

/* The data of a chunk is whole: in a coded body a unit may end here (T3). */
enum fault pipeline_http_take_chunk(struct pipeline *p)
{
	struct pipeline_http *http = p->http;
	uint32_t messages = http->messages;

	if (!http->decoder || !pipeline_http_streams(p) || pipeline_body_partial(&p->body) ||
	    decoder_holds(http->decoder))
		return FAULT_NONE;
	http->messages = 0;
	return pipeline_http_unit(p, (struct pipeline_unit){.messages = messages});
}

/* The CRLF behind it was taken: it goes where the last message before it went (T4). */
enum fault pipeline_http_take_chunk_end(struct pipeline *p)
{
	struct pipeline_http *http = p->http;
	bool whole = pipeline_http_streams(p) && p->framed + 2 == p->received;

	http->in_chunk = false;
	return whole ? pipeline_http_unit(p, (struct pipeline_unit){.outer = true}) : FAULT_NONE;
}
