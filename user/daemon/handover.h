/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handover: a live daemon gives its instance to a successor, an upgraded program perhaps,
 * without refusing a connect and without ending a stream that is between two messages.
 *
 * Invariants:
 *  V1. At each moment one process reads, releases, records, and owns the pins: the daemon up to
 *      its commit, the successor from then on. Between the two no release offset moves, and the
 *      gate goes on holding by those that there are.
 *  V2. Until its commit the daemon goes on as if nothing had been, whatever the successor does.
 *  V3. A stream is given where everything that was framed is released, no session has judged
 *      more than the beginning of a request that is judged anew, and all that it holds is bytes.
 *      What a successor takes of a message has the hash that was told of it, or its stream
 *      settles as one that a dead daemon left.
 *  V4. What is not given settles as failed, `handed_over`, before the commit.
 *  V5. Only root asks, from outside every watched cgroup, one at a time, for the same instance
 *      and with the same ABI and form of the messages (daemon/handover_wire.h).
 *
 * The socket is beside the one of control: /run/sluice/NAME.handover, for root.
 */
#ifndef SLUICE_DAEMON_HANDOVER_H
#define SLUICE_DAEMON_HANDOVER_H

#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/macros.h"

struct daemon;
struct handover_taking;
struct stream;

enum handover_state {
	HANDOVER_NONE,
	HANDOVER_ASKED,	  /* the successor prepares */
	HANDOVER_WAITING, /* for streams amid a message */
	HANDOVER_PARKING, /* the same, and none begins another: nothing is accepted either */
	HANDOVER_GIVEN,	  /* committed: nothing of the instance is this process's any more */
};

struct handover {
	int fd;	    /* listens; -1: this daemon is not handed over */
	int client; /* the successor; -1: none */
	enum handover_state state;
	struct event acceptable, readable, step;
	pid_t pid;			/* of the successor */
	uint64_t wait_ns, deadline_ns;	/* for how long, and until when it is waited */
	uint64_t streams_max;		/* that the successor has room for */
	struct handover_taking *taking; /* of the successor, until it runs */
	pid_t taken_from;		/* of the successor; 0: it took nothing over */
	uint64_t taken, settled;	/* streams that it has, and that it could not have */
};

void handover_init(struct handover *handover);
/* Listens for successors. error has the line where it fails. */
int handover_start(struct daemon *daemon, char *error, size_t error_len) must_check;
void handover_done(struct daemon *daemon);
/* At the end of each of a stream's callbacks: rests where it is to be given. */
void handover_look(struct stream *stream);
/* Is it between two messages, so that another process can go on with it? */
bool handover_is_ready(const struct stream *stream) must_check;
/* Gives everything, or goes on (handover_send.c). */
void handover_switch(struct daemon *daemon);
/* The successor is gone, or was sent away: goes on as before. line: why, for the log; NULL. */
void handover_give_up(struct daemon *daemon, const char *line);

/*
 * The successor's side (handover_take.c), in this order; error has the line where it fails.
 *
 * Finds the daemon, and asks it. -ECONNREFUSED, -ENOENT: there is none.
 */
int handover_ask(struct daemon *daemon, char *error, size_t error_len) must_check;
/* The daemon's process; 0: this start takes nothing over. */
pid_t handover_predecessor(const struct daemon *daemon);
/* Once it was asked: is the trail that is to be kept the one that the daemon keeps? */
bool handover_keeps_trail(const struct daemon *daemon);
/* Is the instance still the daemon's? */
bool handover_is_pending(const struct daemon *daemon);
/*
 * All is prepared: receives what it gives, the lock and what listens among it, and waits for
 * its commit.
 */
int handover_receive_all(struct daemon *daemon, char *error, size_t error_len) must_check;
/*
 * The pins are this process's: numbers of policies that rest go on to, before one is given to
 * another. A connection that was captured under one may still wait to be accepted.
 */
int handover_rest_policies(struct daemon *daemon) must_check;
/* The pins are this process's: makes the streams of what was given (handover_streams.c). */
int handover_make_streams(struct daemon *daemon) must_check;
/* Everything runs: so do the streams. */
void handover_resume(struct daemon *daemon);
/* Writes a line to that descriptor about what was taken over, if anything was. */
void handover_report(const struct daemon *daemon, int fd);
/* Frees what is left of it. */
void handover_taking_free(struct daemon *daemon);

#endif
