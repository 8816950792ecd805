/* SPDX-License-Identifier: Apache-2.0 */
#include "core/pipeline_http.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/attempt.h"
#include "core/exchange.h"
#include "core/percent.h"
#include "core/pipeline_http_internal.h"
#include "core/pipeline_span.h"
#include "core/pipeline_watch.h"

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
	frame_http1_init(&http->frame, !pipeline_http_is_request(p));
	p->http = http;
	if (!pipeline_http_is_request(p))
		p->hold.mark.place = REFUSAL_MESSAGE;
	return 0;
}

void pipeline_http_free(struct pipeline *p)
{
	if (!p->http)
		return;
	pipeline_http_end_body(p);
	frame_http1_done(&p->http->frame);
	if (pipeline_http_is_request(p))
		attempt_free(p->http->attempt);
	free(p->http);
	p->http = NULL;
}

/* The first byte of a message: whose session it belongs to, and what it answers. */
static enum fault begin_message(struct pipeline *p, uint8_t first)
{
	struct pipeline_http *http = p->http;
	struct http1_request request;
	struct session *session = NULL;
	enum fault fault;

	/* An empty line before a request is not its beginning yet, where one may begin. */
	if (pipeline_http_is_request(p) && (first == '\r' || first == '\n'))
		return exchanges_may_begin(http->exchanges) ? FAULT_NONE : FAULT_PROTOCOL;
	if (pipeline_http_is_request(p)) {
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

enum fault pipeline_http_leave(struct pipeline *p, bool goes_on)
{
	struct exchanges *exchanges = p->http->exchanges;
	enum fault fault = channel_set_assembled(&p->set);

	if (!fault && !goes_on)
		fault = pipeline_span_finish(p);
	if (fault)
		return fault;
	if (pipeline_span_defer(p, goes_on)) {
		if (pipeline_http_is_request(p) && !p->http->websocket)
			exchanges_request_leaves(exchanges);
		return FAULT_NONE;
	}
	fault = pipeline_watch_judge(p);
	if (!fault)
		fault = pipeline_hold_settle(&p->hold, &p->set);
	if (!fault)
		fault = pipeline_hold_end(&p->hold);
	if (fault)
		return fault;
	pipeline_http_delivered(p);
	p->set.attempt = NULL;
	return pipeline_http_is_request(p) ? exchanges_request_end(exchanges)
					   : exchanges_response_end(exchanges, goes_on);
}

/* The message ends with the byte that was taken last. */
enum fault pipeline_http_end_message(struct pipeline *p)
{
	struct pipeline_http *http = p->http;
	const struct http1_head head = http->frame.head;
	/* A 101 is the last of its protocol, and its exchange goes on in another. */
	bool goes_on = head.interim || head.status == 101;
	bool streams = pipeline_http_streams(p);
	struct pipeline_unit unit = {.messages = http->messages + !streams};
	enum fault fault = pipeline_watch_ending(p);

	if (!fault && http->decoder)
		fault = decoder_end(http->decoder);
	if (!fault)
		fault = pipeline_body_end(&p->body);
	if (!fault && p->body.kind == BODY_UNREAD && !streams && p->body.on_payload)
		p->body.on_payload(p->context, NULL, 0, true);
	pipeline_http_end_body(p);
	http->in_message = false;
	if (!fault)
		fault = pipeline_http_unit(p, unit);
	return fault ? fault : pipeline_http_leave(p, goes_on);
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
	if (pipeline_http_is_request(p))
		exchanges_request_head(http->exchanges, &head->request);
	if (head->body == HTTP1_TUNNEL)
		return pipeline_http_upgrade(p);
	fault = pipeline_http_resume_head(p);
	if (!fault)
		fault = pipeline_http_begin_body(p);
	if (fault || (!pipeline_http_streams(p) && !head->expect_continue))
		return fault;
	return pipeline_http_head_unit(p);
}

static enum fault take_piece(struct pipeline *p, const struct http1_piece *piece)
{
	enum fault fault;

	/* A body's bytes are counted as they are taken. */
	if (piece->kind != HTTP1_BODY)
		p->received += piece->used;
	switch (piece->kind) {
	case HTTP1_START:
		if (pipeline_http_is_request(p))
			exchanges_request_line(p->http->exchanges, &p->http->frame.head.request);
		/* fall through */
	case HTTP1_FIELD:
		fault = pipeline_http_resume_line(p, piece);
		return fault ? fault : take_line(p, piece);
	case HTTP1_EXTENSION:
		return take_line(p, piece);
	case HTTP1_HEAD:
		return take_head(p);
	case HTTP1_BODY:
		return pipeline_http_take_body(p, piece);
	case HTTP1_CHUNK:
		return pipeline_http_take_chunk(p);
	case HTTP1_CHUNK_END:
		return pipeline_http_take_chunk_end(p);
	case HTTP1_END:
		return pipeline_http_end_message(p);
	default:
		return FAULT_NONE;
	}
}

enum fault pipeline_http_feed(struct pipeline *p, const uint8_t *data, size_t len, size_t *ret_used)
{
	struct pipeline_http *http = p->http;
	struct http1_piece piece = {0};
	enum fault fault;
	uint64_t before = p->received;

	fault = pipeline_http_follow(p);
	if (!fault && http->websocket)
		fault = pipeline_http_take_plain(p, data, len);
	if (fault || http->websocket) {
		*ret_used = (size_t)(p->received - before);
		return fault;
	}
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

/* The flow has ended with its last message. */
static enum fault end_flow(const struct pipeline *p)
{
	struct exchanges *exchanges = p->http->exchanges;

	if (pipeline_http_is_request(p))
		exchanges_requests_over(exchanges);
	/* A server that ends while it owes an answer has not given a whole one. */
	else if (exchanges_due(exchanges))
		return FAULT_TRUNCATED;
	return FAULT_NONE;
}

enum fault pipeline_http_end(struct pipeline *p)
{
	struct pipeline_http *http = p->http;
	enum fault fault = pipeline_http_follow(p);
	bool ended = false;

	if (fault || http->websocket)
		return fault ? fault : pipeline_http_end_websocket(p);
	fault = frame_http1_end(&http->frame, &ended);
	if (!fault && ended)
		fault = pipeline_http_end_message(p);
	/* Empty lines that no request followed. */
	else if (!fault && p->received > p->framed)
		fault = pipeline_http_unit(p, (struct pipeline_unit){0});
	return fault || pipeline_leaving(p) ? fault : end_flow(p);
}

enum fault pipeline_http_left(struct pipeline *p)
{
	enum fault fault = pipeline_http_leave(p, p->spans->goes_on);

	if (fault || !p->ended || p->spans->end_due || p->http->websocket)
		return fault;
	return end_flow(p);
}

uint64_t pipeline_http_partial(const struct pipeline *p)
{
	const struct pipeline_http *http = p->http;

	if (!http->in_message || (pipeline_http_streams(p) && !pipeline_body_partial(&p->body)))
		return 0;
	return p->received - p->framed;
}

uint64_t pipeline_http_expected(const struct pipeline *p)
{
	return p->http->in_body && !p->http->websocket ? p->http->frame.left : 0;
}

size_t pipeline_http_memory(const struct pipeline *p)
{
	const struct pipeline_http *http = p->http;

	return sizeof(*http) + frame_http1_memory(&http->frame) +
	       (http->decoder ? decoder_memory(http->decoder) : 0) +
	       (http->has_form ? extractor_memory(&http->form) : 0);
}
