/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of a pipeline that is HTTP/1: it drives the codec over the flow, gives each
 * exchange its session, chooses how a body is read, and says where units end.
 *
 * Invariants:
 *  T1. Every byte of a message is fixed grammar or evaluated: lines of heads and
 *      trailers, chunk extensions and the decoded target as texts of `meta`, bodies by
 *      what they are made of. A body that cannot be read is a fault, or released unread
 *      where the policy says so.
 *  T2. A message is one unit, head and body; but where its body is a stream of messages
 *      the head is one, then each message, and a request's head that its body waits for.
 *      That of an array which is read element by element leaves with the first.
 *  T3. Where a body is coded, a unit ends only where a chunk, or the message, does and
 *      all that was decoded up to there is whole: bytes of a coding are not told apart.
 *  T4. Between the messages of a streaming body only the CRLF behind a chunk is a unit
 *      of its own. A chunk's size leaves with what comes next in it.
 *  T5. Behind a 101 that agrees on WebSocket both flows are messages of that, each to its
 *      end, in the exchange of the 101. One that agrees on anything else does not leave.
 *  T6. A message that goes on from where another was broken off is judged with the end of
 *      what was delivered of that before it (core/attempt.h), or refused.
 *
 * On a track without tasks nobody reads a body: it is forwarded as it comes, unless it
 * is a stream of messages.
 */
#ifndef SLUICE_CORE_PIPELINE_HTTP_H
#define SLUICE_CORE_PIPELINE_HTTP_H

#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/fault.h"
#include "core/pipeline_internal.h"

/* -EINVAL: without exchanges. -ENOMEM. */
int pipeline_http_new(struct pipeline *p, const struct pipeline_config *config) must_check;
void pipeline_http_free(struct pipeline *p); /* accepts a pipeline without */

/* Takes some of len (at least 1) bytes; *ret_used says how many. */
enum fault pipeline_http_feed(struct pipeline *p, const uint8_t *data, size_t len,
			      size_t *ret_used) must_check;
/* The flow ended. */
enum fault pipeline_http_end(struct pipeline *p) must_check;

/* What the flow has released may have moved: its attempt learns of it. */
void pipeline_http_delivered(struct pipeline *p);
/* A unit ends in the body under way: so much of the body lies before its end. */
uint64_t pipeline_http_body_bytes(const struct pipeline *p);

uint64_t pipeline_http_partial(const struct pipeline *p);
/* Bytes of the body, or of the chunk under way, that are still to come. */
uint64_t pipeline_http_expected(const struct pipeline *p);
size_t pipeline_http_memory(const struct pipeline *p);

/* A message of it that waited for its verdicts has them, and ends. */
enum fault pipeline_http_left(struct pipeline *p) must_check;

#endif
