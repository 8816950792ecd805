/* SPDX-License-Identifier: Apache-2.0 */
/* Control methods `streams`, `stream` and `deny`. */
#include <stdio.h>
#include <stdlib.h>

#include "daemon/control.h"
#include "daemon/daemon.h"
#include "daemon/stream_json.h"

/* A call of `streams`, while its list is made. */
struct streams_call {
	LIST_ENTRY(streams_call) entry;
	struct control_client *client;
	json_t *id;
	struct stream_listing *listing;
};

static void free_call(struct streams_call *streams)
{
	LIST_REMOVE(streams, entry);
	json_decref(streams->id);
	free(streams);
}

static void on_made(void *context, struct evbuffer *text)
{
	struct streams_call *streams = context;
	struct control_client *client = streams->client;
	json_t *id = json_incref(streams->id);

	/* Answering may end the client, which looks for its calls. */
	free_call(streams);
	if (text)
		control_answer_text(client, id, text);
	else if (id)
		control_answer_error(client, id, CONTROL_FAILED, "out of memory");
	json_decref(id);
}

void control_streams_gone(struct daemon *daemon, const struct control_client *client)
{
	struct streams_call *streams, *next;

	for (streams = LIST_FIRST(&daemon->control.listings); streams; streams = next) {
		next = LIST_NEXT(streams, entry);
		if (streams->client != client)
			continue;
		stream_listing_cancel(streams->listing);
		free_call(streams);
	}
}

static bool is_listing(const struct control_call *call)
{
	const struct streams_call *streams;

	LIST_FOREACH(streams, &call->daemon->control.listings, entry)
	{
		if (streams->client == call->client)
			return true;
	}
	return false;
}

int control_streams(struct control_call *call, json_t **ret_result)
{
	struct streams_call *streams;
	int brief = 0;

	(void)ret_result;
	if (json_unpack(call->params, "{s?:b}", "brief", &brief))
		return control_fail(call, CONTROL_INVALID_PARAMS, "brief has to be true or false");
	/* Many calls in one line's time would each keep a list. */
	if (is_listing(call))
		return control_fail(call, CONTROL_FAILED,
				    "a list of streams is being made; ask "
				    "again once it was answered");
	streams = calloc(1, sizeof(*streams));
	if (!streams ||
	    stream_listing_start(call->daemon, brief, on_made, streams, &streams->listing)) {
		free(streams);
		return control_fail(call, CONTROL_FAILED, "out of memory");
	}
	streams->client = call->client;
	streams->id = json_incref(call->id);
	LIST_INSERT_HEAD(&call->daemon->control.listings, streams, entry);
	return CONTROL_LATER;
}

/* 0, or the code of the failure. */
static int find(struct control_call *call, struct stream **ret_stream)
{
	json_int_t id;

	if (json_unpack(call->params, "{s:I}", "id", &id) || id < 0)
		return control_fail(call, CONTROL_INVALID_PARAMS, "id is not a number");
	*ret_stream = stream_find(&call->daemon->streams, (uint64_t)id);
	if (!*ret_stream)
		return control_fail(call, CONTROL_FAILED,
				    "no stream %lld is open: 'sluicectl streams' lists those that "
				    "are",
				    (long long)id);
	return 0;
}

int control_stream(struct control_call *call, json_t **ret_result)
{
	struct stream *stream;
	int r = find(call, &stream);

	if (!r)
		*ret_result = stream_json(stream);
	return r;
}

int control_deny(struct control_call *call, json_t **ret_result)
{
	struct stream *stream;
	int r = find(call, &stream);

	if (r)
		return r;
	if (stream_is_settled(stream))
		return control_fail(call, CONTROL_FAILED, "the stream has ended: %s",
				    stream->reason);
	stream_deny(stream);
	*ret_result = json_object();
	return 0;
}
