/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting: what the oldest byte that a flow holds waits for, as observers may see it: kinds,
 * names of tasks, counts and times; never text.
 */
#ifndef SLUICE_DAEMON_WAITING_H
#define SLUICE_DAEMON_WAITING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

struct flow;

enum waiting_kind {
	WAITING_NOTHING,     /* nothing is held */
	WAITING_CONNECT,     /* the upstream has not answered */
	WAITING_READER,	     /* it is released, and who receives it does not read */
	WAITING_REST,	     /* its message is not whole */
	WAITING_TEXT,	     /* what came could begin what a task refuses, or fills no span */
	WAITING_VALUE,	     /* a value that is judged whole has not ended */
	WAITING_VERDICTS,    /* an interceptor is asked */
	WAITING_MESSAGE_END, /* safety_level complete */
	WAITING_RELEASE,     /* none of these: the next turn of the loop releases it */
	WAITING_ENDED,	     /* the stream has ended: it never leaves */
	_WAITING_MAX,
};

struct waiting {
	enum waiting_kind kind;
	const char *task;   /* TEXT, VERDICTS; borrowed from the policy */
	uint64_t runes;	    /* TEXT, VALUE, VERDICTS: that it has not cleared */
	uint64_t bytes;	    /* READER: released; REST, MESSAGE_END: that came */
	uint64_t expected;  /* REST: announced, or still to come; 0: not known */
	bool is_total;	    /* REST: expected counts what came, too */
	bool fills_no_span; /* TEXT: the task is an interceptor */
	size_t asked;	    /* VERDICTS: questions without an answer */
	uint64_t oldest_ms;
	bool full; /* the hold is full, and reading rests */
};

/* now_ns: boot clock. */
void waiting_get(const struct flow *flow, uint64_t now_ns, struct waiting *ret_waiting);
/* Lower case, never NULL. */
const char *waiting_name(enum waiting_kind kind);

#define WAITING_TEXT_LEN 256u
/* One sentence without a final stop: "waits for the rest of a message: 12 of 4096 bytes came". */
void waiting_explain(const struct flow *flow, const struct waiting *waiting,
		     char ret_text[static WAITING_TEXT_LEN]);

/*
 * Nanoseconds since the oldest byte that is not released came, or more where many came one after
 * the other (daemon/age.h). False: there is no such byte.
 */
bool waiting_age(const struct flow *flow, uint64_t now_ns, uint64_t *ret_ns);

#endif
