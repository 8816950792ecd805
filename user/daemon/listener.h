/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Listener: where captured connections arrive, on the loopback address of both
 * families, at one privileged port.
 *
 * Invariants:
 *  L1. The port is reserved before anything is attached, so that a busy one
 *      changes nothing. The sockets that listen are made once the gate sees every
 *      new socket, and marked before they listen, so that what they accept is
 *      gated from its birth.
 *  L2. An accepted connection becomes a stream or is reset with a counted reason.
 */
#ifndef SLUICE_DAEMON_LISTENER_H
#define SLUICE_DAEMON_LISTENER_H

#include <event2/event.h>
#include <event2/event_struct.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

struct daemon;

enum { LISTENER_V4, LISTENER_V6, _LISTENER_MAX };

struct listener {
	uint16_t port;
	int reserved[_LISTENER_MAX]; /* bound, and never to listen; -1: not such a family here */
	int fds[_LISTENER_MAX];	     /* before the start: those that a predecessor handed over */
	int reserve_fd;		     /* given up for a moment to get rid of a connection */
	struct event events[_LISTENER_MAX];
	struct event rest;
};

void listener_init(struct listener *listener);
/* port 0: the first free one, from the highest privileged one down. error has the line. */
int listener_reserve(struct listener *listener, uint16_t port, char *error,
		     size_t error_len) must_check;
/* Binds, marks, listens, accepts. */
int listener_start(struct daemon *daemon, char *error, size_t error_len) must_check;
/* For a while nothing is accepted: who connects waits. */
void listener_pause(struct listener *listener);
void listener_resume(struct listener *listener);
/* Accepts no more. */
void listener_done(struct listener *listener);

#endif
