/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams as observers see them: identities, offsets, counts, names of the policy and of
 * reasons; never text. And the list of all of them as one text, made over several turns of the
 * loop.
 *
 * Invariants:
 *  L1. A listing costs a turn of the loop STREAM_LISTING_TURN_NS and one stream, however many
 *      streams there are.
 *  L2. It has each stream that was there when it began and when its turn came, once, in the
 *      order in which they began, and each as it was then.
 */
#ifndef SLUICE_DAEMON_STREAM_JSON_H
#define SLUICE_DAEMON_STREAM_JSON_H

#include <jansson.h>
#include <stdbool.h>

#include "base/macros.h"

struct daemon;
struct evbuffer;
struct json_text;
struct stream;
struct stream_listing;

#define STREAM_LISTING_TURN_NS 2000000ull

/* The members are in sluicectl(8), JSON OUTPUT. A new reference; NULL without memory. */
json_t *stream_json(const struct stream *stream) must_check;
/* The same as text; brief: without what a list of streams does not show. */
void stream_json_text(const struct stream *stream, bool brief, struct json_text *text);
/* Lower-case names, as there. */
const char *stream_state_name(const struct stream *stream);
/* NULL: it is relayed. */
const char *stream_framing_name(const struct stream *stream);

/*
 * The list is made: text is {"streams":[…]} without a newline, and may be moved out of the
 * buffer; NULL: no memory. The listing is gone with the call.
 */
typedef void (*stream_listing_made)(void *context, struct evbuffer *text);

/* made is called from the loop, never from here. -ENOMEM. */
int stream_listing_start(struct daemon *daemon, bool brief, stream_listing_made made, void *context,
			 struct stream_listing **ret_listing) must_check;
/* made is not called any more. Accepts NULL. */
void stream_listing_cancel(struct stream_listing *listing);

#endif
