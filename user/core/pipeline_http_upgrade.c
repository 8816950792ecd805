/* SPDX-License-Identifier: Apache-2.0 */
/* What follows a head that gives the connection to another protocol. */
#include "core/exchange.h"
#include "core/pipeline_http_internal.h"

/* The head that says so is a message, and the last that its codec knows of. */
static enum fault end_head(struct pipeline *p)
{
	struct pipeline_http *http = p->http;
	enum fault fault;

	p->body.kind = BODY_UNREAD;
	fault = pipeline_http_end_message(p);
	frame_http1_done(&http->frame);
	frame_http1_init(&http->frame, true);
	return fault;
}

static int new_codec(struct pipeline *p, const struct http1_websocket *websocket)
{
	bool client = pipeline_http_is_request(p);
	const struct pipeline_codec_config config = {
		.kind = PIPELINE_CODEC_WS,
		.max_message = p->max_message,
		.ws = {.client = client,
		       .permessage_deflate = websocket->deflate,
		       .no_context_takeover = client ? websocket->client_no_context_takeover
						     : websocket->server_no_context_takeover},
	};

	return pipeline_codec_new(&config, &p->body.codec);
}

static int init_reader(struct pipeline *p)
{
	struct pipeline_reading reading;

	pipeline_read_websocket(&p->http->wanted, p->evaluate, &reading);
	return extractor_init(&p->extractor, &reading.extract, &p->set, reading.flags);
}

/* Messages of WebSocket from here on, in the exchange that agreed on it. */
static enum fault begin_messages(struct pipeline *p, const struct http1_websocket *websocket,
				 struct session *session)
{
	struct pipeline_http *http = p->http;
	enum fault fault = pipeline_begin(p, session);
	int r;

	if (fault)
		return fault;
	r = init_reader(p);
	if (r == 0) {
		http->in_body = http->in_message = http->websocket = true;
		r = new_codec(p, websocket);
	}
	if (r < 0)
		return pipeline_fault_of(r);
	p->body.kind = BODY_PIECES;
	pipeline_body_init(&p->body);
	if (!pipeline_http_is_request(p))
		p->hold.mark.place = REFUSAL_WEBSOCKET;
	return FAULT_NONE;
}

enum fault pipeline_http_follow(struct pipeline *p)
{
	const struct http1_websocket *websocket;
	struct session *session;

	if (p->http->in_message || pipeline_leaving(p))
		return FAULT_NONE;
	websocket = exchanges_websocket(p->http->exchanges, &session);
	return websocket ? begin_messages(p, websocket, session) : FAULT_NONE;
}

/* The exchange of the 101 goes on. */
static enum fault agree(struct pipeline *p)
{
	struct pipeline_http *http = p->http;
	enum fault fault = exchanges_upgrade(http->exchanges, &http->frame.head.websocket);

	if (!fault)
		fault = end_head(p);
	return fault ? fault : pipeline_http_follow(p);
}

enum fault pipeline_http_upgrade(struct pipeline *p)
{
	const struct http1_head *head = &p->http->frame.head;

	/* Behind a 2xx to CONNECT a connection begins anew; what it speaks, its first bytes tell. */
	if (head->status != 101)
		return end_head(p);
	return head->websocket.agreed ? agree(p) : FAULT_UNFRAMED;
}

enum fault pipeline_http_end_websocket(struct pipeline *p)
{
	enum fault fault = pipeline_body_end(&p->body);

	return fault ? fault : pipeline_http_leave(p, false);
}
