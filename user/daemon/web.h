/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Web: the listener of metrics and of the status page. Plain HTTP, GET and HEAD alone, on
 * loopback unless the operator says otherwise.
 *
 * Invariants:
 *  H1. What it shows is what any observer may see: identities, offsets, counts, names of the
 *      policy and of reasons; never text of a stream (design 6, obligation 4).
 *  H2. It cannot change anything: no method but GET and HEAD, no body is read.
 *  H3. A client costs at most LIMIT_WEB_UNREAD of output, LIMIT_WEB_CLIENTS of them are served
 *      at once, one that does not read or does not ask is closed after LIMIT_WEB_IDLE_S, and
 *      none makes the loop wait: what is long is made piece by piece over turns of the loop.
 *  H4. A request whose Host is neither an address nor localhost nor a name that the operator
 *      listed is refused (403): a page of a foreign name must not read it through a browser.
 *  H5. A watched cgroup cannot reach it: the built-in destinations deny it, and its sockets
 *      carry the gate's exempt mark, as they do not carry bytes of a stream.
 *
 * Paths: / (the page), /metrics, /streams.json, /status.json; anything else is 404.
 */
#ifndef SLUICE_DAEMON_WEB_H
#define SLUICE_DAEMON_WEB_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

struct daemon;
struct evbuffer;
struct evhttp_request;
struct stream;
struct web; /* NULL: no listener */

/*
 * Is the address free, where it has to be? Before anything is attached, so that a busy one
 * changes nothing.
 */
int web_check(const struct daemon *daemon, char *error, size_t error_len) must_check;
/*
 * Listens where the options say, and marks the listener exempt. -errno after error received
 * the line for the operator; the daemon does not start without what it was told to serve.
 * Where nobody told it and the default's port is in use, it says so and serves nothing.
 */
int web_start(struct daemon *daemon, char *error, size_t error_len) must_check;
/* Closes every client. Accepts a daemon that never started it. */
void web_done(struct daemon *daemon);

/*
 * Answers of other files, to GET and HEAD; each sends exactly one reply, at once or, in pieces,
 * over turns of the loop.
 */
void web_metrics(struct daemon *daemon, struct evhttp_request *request);
void web_page(struct daemon *daemon, struct evhttp_request *request);
void web_streams(struct daemon *daemon, struct evhttp_request *request);
void web_status(struct daemon *daemon, struct evhttp_request *request);
/* A whole answer of that status, in JSON. Takes object over; NULL: no memory, which it says. */
void web_json(struct evhttp_request *request, int status, json_t *object);
/* One has ended: who asks for the list sees how. */
void web_stream_settled(const struct stream *stream);
/* Gives up the lists of web_streams() that are under way, while their clients are still there. */
void web_streams_done(struct daemon *daemon);

/* The headers of every answer: the type of what it holds, and that nobody keeps or guesses it. */
void web_headers(struct evhttp_request *request, const char *type);
/* Where it listens: {"address", "served", "reason" where it is not}; address null: told not to. */
json_t *web_listener_json(const struct daemon *daemon);

/* A whole answer of that status, after web_headers(); to HEAD without its body, which is drained. */
void web_reply(struct evhttp_request *request, int status, struct evbuffer *body);

#endif
