/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /streams.json: {"columns":[…],"track_columns":[…],"streams":[[…],…]}, a row of each stream
 * (stream_row()), then of those that ended a moment ago (web_recent.h);
 * /streams.json?id=N: all that there is to know of one (stream_json()).
 *
 * The list is made over turns of the loop, TURN_NS and one row each, and rests where half of
 * LIMIT_WEB_UNREAD waits for its reader. It has each stream that was there when it began and
 * when its turn came, once.
 */
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <event2/http.h>
#include <event2/http_struct.h>
#include <event2/keyvalq_struct.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/daemon.h"
#include "daemon/limits.h"
#include "daemon/stream_json.h"
#include "daemon/stream_row.h"
#include "daemon/web.h"
#include "daemon/web_recent.h"
#include "sys/clock.h"

/* What a turn of it takes delays what streams release meanwhile. */
#define TURN_NS 300000ull
#define REST_MS 10

struct web_list {
	LIST_ENTRY(web_list) entry;
	struct daemon *daemon;
	struct evhttp_request *request; /* without a connection once the client is gone */
	struct event turn;
	uint64_t asked_ns;
	bool begun; /* a row is there */
	size_t count, next;
	uint64_t ids[]; /* no id is ever another stream's */
};

struct web_streams {
	LIST_HEAD(, web_list) lists; /* under way */
	struct web_recent recent;
};

void web_stream_settled(const struct stream *stream)
{
	struct web_streams *streams = stream->daemon->web_streams;

	if (streams)
		web_recent_add(&streams->recent, stream);
}

static int add_row(struct web_list *list, struct evbuffer *body, const char *text)
{
	if ((list->begun && evbuffer_add(body, ",", 1)) || evbuffer_add(body, text, strlen(text)))
		return -ENOMEM;
	list->begun = true;
	return 0;
}

static int add_stream(struct web_list *list, struct evbuffer *body, const struct stream *stream,
		      uint64_t now_ns)
{
	json_t *values = stream_row(stream, now_ns);
	char *text = values ? json_dumps(values, JSON_COMPACT) : NULL;
	int r = text ? add_row(list, body, text) : -ENOMEM;

	free(text);
	json_decref(values);
	return r;
}

/* Those that ended before it was asked for; the others may be in it, and are in the next. */
static int add_recent(struct web_list *list, struct evbuffer *body, uint64_t now_ns)
{
	const struct web_recent *recent = &list->daemon->web_streams->recent;
	const struct web_recent_row *ended;
	size_t at = 0;

	while ((ended = web_recent_next(recent, now_ns, &at))) {
		if (ended->ended_ns >= list->asked_ns ||
		    stream_find(&list->daemon->streams, ended->id))
			continue;
		if (add_row(list, body, ended->text))
			return -ENOMEM;
	}
	return 0;
}

/* The rows that are due in this turn, and behind the last the end. */
static int add_rows(struct web_list *list, struct evbuffer *body)
{
	uint64_t now_ns = clock_boot_ns(), end_ns = now_ns + TURN_NS;
	const struct stream *stream;

	for (; list->next < list->count && now_ns < end_ns; now_ns = clock_boot_ns()) {
		stream = stream_find(&list->daemon->streams, list->ids[list->next++]);
		if (stream && add_stream(list, body, stream, now_ns))
			return -ENOMEM;
	}
	if (list->next < list->count)
		return 0;
	return add_recent(list, body, now_ns) || evbuffer_add(body, "]}\n", 3) ? -ENOMEM : 0;
}

static void end(struct web_list *list)
{
	LIST_REMOVE(list, entry);
	(void)event_del(&list->turn);
	free(list);
}

/* How much of it has not been taken by the client's socket. */
static size_t unread(const struct web_list *list)
{
	struct evhttp_connection *connection = evhttp_request_get_connection(list->request);

	return evbuffer_get_length(
		bufferevent_get_output(evhttp_connection_get_bufferevent(connection)));
}

/* Sends what is due. False: it is over, since all of it was sent, or could not be made. */
static bool take_turn(struct web_list *list)
{
	struct evbuffer *body = evbuffer_new();
	int r = body ? add_rows(list, body) : -ENOMEM;

	/* One that is cut does not parse, so that nobody takes it for whole. */
	if (!r)
		evhttp_send_reply_chunk(list->request, body);
	if (body)
		evbuffer_free(body);
	return !r && list->next < list->count;
}

static void on_turn(evutil_socket_t fd, short what, void *context)
{
	/* No time: after what else is ready, and not in the same turn. */
	static const struct timeval soon, rest = {.tv_usec = REST_MS * 1000};
	struct web_list *list = context;
	struct evhttp_request *request = list->request;
	/* libevent leaves the request of a client that is gone to who answers it. */
	bool more = evhttp_request_get_connection(request) != NULL;
	bool full = more && unread(list) > LIMIT_WEB_UNREAD / 2;

	(void)fd;
	(void)what;
	if (more && !full)
		more = take_turn(list);
	if (more && !event_add(&list->turn, full ? &rest : &soon))
		return;
	end(list);
	evhttp_send_reply_end(request);
}

/* The end of an answer without a length, to a client that knows no chunks, is the connection's. */
static bool send_head(struct evhttp_request *request)
{
	struct evbuffer *body = evbuffer_new();
	int r = body ? evbuffer_add_printf(body, "{%s,\"streams\":[", stream_row_columns) : -1;

	if (r > 0) {
		web_headers(request, "application/json");
		if (request->major == 1 && request->minor == 0)
			(void)evhttp_add_header(evhttp_request_get_output_headers(request),
						"Connection", "close");
		evhttp_send_reply_start(request, HTTP_OK, NULL);
		evhttp_send_reply_chunk(request, body);
	}
	if (body)
		evbuffer_free(body);
	return r > 0;
}

/* From now on what ends is kept for a while. False: no memory. */
static bool remember_asking(struct daemon *daemon)
{
	if (!daemon->web_streams)
		daemon->web_streams = calloc(1, sizeof(*daemon->web_streams));
	if (daemon->web_streams)
		daemon->web_streams->recent.asked_ns = clock_boot_ns();
	return daemon->web_streams != NULL;
}

static void send_list(struct daemon *daemon, struct evhttp_request *request)
{
	/* To HEAD there are no rows to be made. */
	bool rows = evhttp_request_get_command(request) != EVHTTP_REQ_HEAD;
	size_t count = rows ? daemon->streams.count : 0;
	struct web_list *list = calloc(1, sizeof(*list) + count * sizeof(list->ids[0]));
	const struct stream *stream;

	if (!list || !remember_asking(daemon) || !send_head(request)) {
		free(list);
		evhttp_send_error(request, HTTP_INTERNAL, NULL);
		return;
	}
	*list = (struct web_list){
		.daemon = daemon, .request = request, .asked_ns = clock_boot_ns()};
	TAILQ_FOREACH(stream, &daemon->streams.all, entry)
	{
		if (list->count < count)
			list->ids[list->count++] = stream->origin.stream;
	}
	(void)event_assign(&list->turn, daemon->base, -1, 0, on_turn, list);
	LIST_INSERT_HEAD(&daemon->web_streams->lists, list, entry);
	on_turn(-1, 0, list);
}

static void send_one(struct daemon *daemon, struct evhttp_request *request, const char *text)
{
	const struct stream *stream;
	uint64_t id;
	char *rest;

	errno = 0;
	id = strtoull(text, &rest, 10);
	if (errno || *text < '0' || *text > '9' || *rest) {
		web_json(request, HTTP_BADREQUEST,
			 json_pack("{s:s}", "error", "id is not a number"));
		return;
	}
	stream = stream_find(&daemon->streams, id);
	if (stream)
		web_json(request, HTTP_OK, stream_json(stream));
	else
		web_json(request, HTTP_NOTFOUND, json_pack("{s:s}", "error", "no such stream"));
}

void web_streams(struct daemon *daemon, struct evhttp_request *request)
{
	const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(request);
	const char *query = uri ? evhttp_uri_get_query(uri) : NULL;
	struct evkeyvalq pairs;
	const char *id;

	if (!query || !*query) {
		send_list(daemon, request);
		return;
	}
	TAILQ_INIT(&pairs);
	id = evhttp_parse_query_str(query, &pairs) ? NULL : evhttp_find_header(&pairs, "id");
	send_one(daemon, request, id ? id : "");
	evhttp_clear_headers(&pairs);
}

void web_streams_done(struct daemon *daemon)
{
	struct web_streams *streams = take_ptr(daemon->web_streams);
	struct web_list *list;

	if (!streams)
		return;
	while ((list = LIST_FIRST(&streams->lists))) {
		struct evhttp_request *request = list->request;

		end(list);
		/* Of a client that is there it goes with the connection. */
		if (!evhttp_request_get_connection(request))
			evhttp_send_reply_end(request);
	}
	web_recent_done(&streams->recent);
	free(streams);
}
