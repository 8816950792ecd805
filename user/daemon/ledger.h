/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ledger: what a stream's flows and sessions have counted, written where it outlives this
 * process, for a successor to settle by (kern/kern.h). For a byte and for a session it is a
 * few stores into memory that is mapped: no system call, no failure.
 */
#ifndef SLUICE_DAEMON_LEDGER_H
#define SLUICE_DAEMON_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct daemon;
struct flow;
struct stream;

/*
 * Ends that wait until the trail has their records: were they published before, a kill in
 * between would leave a session that nobody settles.
 */
#define LEDGER_ENDS 1024u

struct ledger {
	struct ledger_end {
		uint64_t stream, session;
		uint32_t slot;
		uint16_t generation;
		bool of_stream;
	} ends[LEDGER_ENDS];
	size_t count;
};

/* Bytes came, and are not judged yet. */
void ledger_received(const struct flow *flow);
/* They were judged. */
void ledger_judged(const struct flow *flow);
/* They may leave, and the gate does not know yet. */
void ledger_released(const struct flow *flow);
/* A session began, and nothing of it was released. */
void ledger_begin(const struct stream *stream, uint64_t number);
/* A session ended, and a stream after all of its own; its record was given to the trail. */
void ledger_end(struct stream *stream, uint64_t number);
void ledger_forget(struct stream *stream);
/* The trail has all records it was given. */
void ledger_publish(struct daemon *daemon);

#endif
