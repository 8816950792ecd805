/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Endpoint: one socket of a stream and what the loop is asked to tell of it.
 *
 * Invariants:
 *  E1. While it is read, reading is level-triggered: what a callback leaves
 *      unread, an end or an error included, is reported again.
 *  E2. While it is not read (a full hold, or after its end) one edge-triggered
 *      event remains, so that a reset is still noticed, and notices no byte twice.
 *  E3. A socket that is not closed by endpoint_close() ends in a reset: when the
 *      daemon dies, nobody takes what is missing for the end.
 *  E4. Both kinds are never registered at once: the loop cannot mix them.
 */
#ifndef SLUICE_DAEMON_ENDPOINT_H
#define SLUICE_DAEMON_ENDPOINT_H

#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/macros.h"

/* what: EV_READ, EV_WRITE. */
typedef void (*endpoint_event_fn)(void *context, short what);

struct endpoint {
	int fd;		 /* -1: none */
	bool registered; /* its events are assigned */
	bool reading, wants_write;
	bool ended;  /* its end was read */
	bool shut;   /* our end was sent */
	bool broken; /* a reset or another error of the socket was seen */
	struct event read_event, write_event, edge_event;
	endpoint_event_fn callback;
	void *context;
};

void endpoint_init(struct endpoint *endpoint, endpoint_event_fn callback, void *context);
/* Takes fd over and begins to wait for events, not reading. -ENOMEM: fd is the caller's. */
int endpoint_open(struct endpoint *endpoint, struct event_base *base, int fd) must_check;
/* reset: the peer gets a reset and what is unsent is dropped. */
void endpoint_close(struct endpoint *endpoint, bool reset);

/* Gives the socket up to another process that has it: to neither side anything ends. */
void endpoint_leave(struct endpoint *endpoint);

/* -ENOMEM: the loop could not take it; the caller closes the stream. */
int endpoint_set_reading(struct endpoint *endpoint, bool reading) must_check;
int endpoint_set_wants_write(struct endpoint *endpoint, bool wants_write) must_check;

/* Bytes, 0 at the end, or -errno; -EAGAIN: nothing there. */
ssize_t endpoint_receive(struct endpoint *endpoint, uint8_t *room, size_t len) must_check;
/* The same, at most len bytes, which nobody gets to see. */
ssize_t endpoint_discard(struct endpoint *endpoint, size_t len) must_check;
/*
 * Bytes taken by the kernel, or -errno; -EAGAIN: none now. boundary: the last
 * byte ends a packet, so that nothing later shares its packet buffer.
 */
ssize_t endpoint_send(struct endpoint *endpoint, struct iovec *pieces, int count,
		      bool boundary) must_check;
/* Ends our direction. */
void endpoint_shut(struct endpoint *endpoint);
/* Makes TCP try again to send what the gate held. */
void endpoint_poke(struct endpoint *endpoint);
/* The pending error of the socket, as -errno or 0. */
int endpoint_error(struct endpoint *endpoint);
/* Bytes, and the end, that the other side has not acknowledged; 0 once the socket is gone. */
size_t endpoint_unacknowledged(const struct endpoint *endpoint);

/*
 * Options every data socket has, a reset on close (E3) one of them; what a listener
 * accepts inherits them.
 */
int endpoint_set_options(int fd) must_check;
/* Closes with a reset: what is unsent is dropped. */
void endpoint_reset_fd(int fd);

#endif
