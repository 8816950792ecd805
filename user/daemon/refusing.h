/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Refusing: what the agent is told where its stream is denied or fails
 * (core/refusal.h), and how its side ends then. The refusal follows the bytes that
 * were released to it and stands in the place of all that were not.
 *
 * Invariants:
 *  N1. The place is looked for before the stream settles: settling ends the
 *      exchange that a refusal would answer.
 *  N2. Where our end would say that the body is whole (REFUSAL_PLAIN), a reset
 *      follows the refusal; else our end does.
 *  N3. What the agent still sends is read and dropped until it ends, for
 *      LIMIT_DRAIN_MS at most: closed with bytes unread, a socket is reset, and
 *      the refusal lost. None of it is received, judged or counted.
 *  N4. The peer gets what was released to it and then a reset, refusal or not.
 */
#ifndef SLUICE_DAEMON_REFUSING_H
#define SLUICE_DAEMON_REFUSING_H

#include <stdbool.h>

#include "base/macros.h"
#include "core/fault.h"
#include "core/refusal.h"

struct flow;
struct stream;

struct refusing {
	struct refusal_mark mark; /* REFUSAL_NONE: nothing can be said */
	bool head_request;	  /* it answers a HEAD */
	bool begun;		  /* its bytes stand behind the released ones */
	bool delivered;		  /* and the agent's kernel has them, with our end */
};

/*
 * Looks where a refusal would go, for a stream about to settle. flow: where it was
 * denied or failed, or NULL; fault: how, FAULT_NONE for the operator's deny.
 */
void refusing_find(struct stream *stream, const struct flow *flow, enum fault fault);
/* Puts it there; task: the one that denied, or NULL. Where it cannot, nothing is begun. */
void refusing_begin(struct stream *stream, const char *reason, const char *task);
/* Once it has begun, and the agent's socket has something: drops it. */
void refusing_discard(struct stream *stream);
/* Once it has begun: what there is to do now that both flows were flushed. */
void refusing_step(struct stream *stream);

#endif
