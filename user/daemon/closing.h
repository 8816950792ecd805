/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Closing: settled streams whose last bytes are still on their way. A socket is
 * closed, and its slot given back, only when nothing that was released waits in
 * the kernel; nothing tells when that is so, so it is looked at: often while a
 * stream is young in here, then with every tick.
 */
#ifndef SLUICE_DAEMON_CLOSING_H
#define SLUICE_DAEMON_CLOSING_H

#include <event2/event.h>
#include <event2/event_struct.h>

#include "daemon/stream.h"

struct daemon;

struct closing {
	struct stream_list streams; /* the oldest first */
	struct event step;
};

void closing_init(struct closing *closing, struct daemon *daemon);
void closing_done(struct closing *closing);
void closing_add(struct stream *stream);
/* Only for a stream that is DRAINING or LINGERING; others are not in the list. */
void closing_remove(struct stream *stream);
/* Sends what may be sent; closes it where nothing is left to wait for. */
void closing_step(struct stream *stream);
/* Steps all of them. */
void closing_tick(struct daemon *daemon);

#endif
