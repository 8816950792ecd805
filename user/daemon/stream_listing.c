/* SPDX-License-Identifier: Apache-2.0 */
/* The list of all streams, over several turns of the loop. */
#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdlib.h>

#include "daemon/daemon.h"
#include "daemon/json_text.h"
#include "daemon/stream_json.h"
#include "sys/clock.h"

struct stream_listing {
	struct daemon *daemon;
	stream_listing_made made;
	void *context;
	struct event turn;
	bool brief, begun; /* begun: the list has a stream */
	struct evbuffer *text;
	struct json_text scratch; /* of one stream */
	size_t count, next;
	uint64_t
		ids[]; /* a stream may be gone when its turn comes, and its id never is another's */
};

static void free_listing(struct stream_listing *listing)
{
	(void)event_del(&listing->turn);
	evbuffer_free(listing->text);
	json_text_done(&listing->scratch);
	free(listing);
}

void stream_listing_cancel(struct stream_listing *listing)
{
	if (listing)
		free_listing(listing);
}

static int add(struct stream_listing *listing, const struct stream *stream)
{
	struct json_text *text = &listing->scratch;

	json_text_clear(text);
	text->follows = listing->begun;
	listing->begun = true;
	stream_json_text(stream, listing->brief, text);
	if (text->failed || evbuffer_add(listing->text, text->text, text->len))
		return -ENOMEM;
	return 0;
}

/* What is due in this turn. 1: more is left. */
static int take_turn(struct stream_listing *listing)
{
	uint64_t end_ns = clock_boot_ns() + STREAM_LISTING_TURN_NS;
	const struct stream *stream;

	while (listing->next < listing->count) {
		stream = stream_find(&listing->daemon->streams, listing->ids[listing->next++]);
		if (stream && add(listing, stream))
			return -ENOMEM;
		if (clock_boot_ns() >= end_ns)
			return 1;
	}
	return evbuffer_add(listing->text, "]}", 2) ? -ENOMEM : 0;
}

static void on_turn(evutil_socket_t fd, short what, void *context)
{
	/* No time: after what else is ready, and not in the same turn. */
	static const struct timeval soon;
	struct stream_listing *listing = context;
	int r = take_turn(listing);

	(void)fd;
	(void)what;
	if (r > 0 && !event_add(&listing->turn, &soon))
		return;
	listing->made(listing->context, r ? NULL : listing->text);
	free_listing(listing);
}

int stream_listing_start(struct daemon *daemon, bool brief, stream_listing_made made, void *context,
			 struct stream_listing **ret_listing)
{
	static const struct timeval soon;
	struct stream_listing *listing;
	const struct stream *stream;

	listing = calloc(1, sizeof(*listing) + daemon->streams.count * sizeof(listing->ids[0]));
	if (!listing)
		return -ENOMEM;
	*listing = (struct stream_listing){
		.daemon = daemon, .brief = brief, .made = made, .context = context};
	listing->text = evbuffer_new();
	(void)event_assign(&listing->turn, daemon->base, -1, 0, on_turn, listing);
	if (!listing->text || evbuffer_add(listing->text, "{\"streams\":[", 12) ||
	    event_add(&listing->turn, &soon)) {
		if (listing->text)
			evbuffer_free(listing->text);
		free(listing);
		return -ENOMEM;
	}
	TAILQ_FOREACH(stream, &daemon->streams.all, entry)
	{
		if (listing->count < daemon->streams.count)
			listing->ids[listing->count++] = stream->origin.stream;
	}
	*ret_listing = listing;
	return 0;
}
