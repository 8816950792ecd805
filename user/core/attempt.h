/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attempt: one HTTP exchange as a part of what may be more of them, each of which goes on
 * where the one before it was broken off (core/resume.h, core/resume_http.h). It keeps the
 * text that was shown to the tasks until its unit is released, hands it then to the resume,
 * and at the end puts that into the table under what a client can name to go on from there:
 *  - the next byte of the body, where the answer has a validator and no coding, by the same
 *    peer, host, path and query;
 *  - the id of the last event that was released, by the same peer, host, path and query;
 *  - the number of that event, by the same peer and host and the id of its response.
 * Every end of an attempt stays known, so that a client which did not get all that was released
 * to it may go on from where an earlier attempt ended, but from no place between.
 *
 * Invariants:
 *  I1. What is resumed goes on exactly where an attempt ended, in bytes or by its mark: the
 *      place is a part of the key, and any other is not known.
 *  I2. Without memory, or past a bound, nothing is kept, and the resume is spoiled.
 *  I3. What spoils an attempt spoils the one that it went on from.
 *  I4. An answer that begins anew, though the rest was asked for, is a first attempt: a 200 that
 *      says of no part that it is it.
 *  I5. Any other success with a body, in answer to who asked for the rest of bytes, is refused
 *      unless it is the part that was asked for, of the same validator. What goes on behind an
 *      event is any success. Both are read as what they go on from was.
 *  I6. Whose attempts they are is told by the peer's address as well as by Host, which is for the
 *      client to choose. Who is answered by another address of a server goes on from nothing.
 *
 * What stays open:
 *  - a literal of JSON within a text that is cut by the retry boundary (extract_literals.h) is
 *    read as text alone;
 *  - a text that ends with its unit goes on from nothing, as it would within one response;
 *  - a client that drops from an answer that begins anew as many bytes as it has already, and puts
 *    the rest behind them, is trusted to have had the same bytes;
 *  - under deferred, what an attempt that is still under way has delivered uncleared is not known
 *    before it ends: another text under the same place is taken for it until then;
 *  - the body of an answer that is no success is no part of what was asked for, whatever a client
 *    makes of it.
 */
#ifndef SLUICE_CORE_ATTEMPT_H
#define SLUICE_CORE_ATTEMPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/http1_grammar.h"
#include "core/resume_http.h"
#include "core/resume_table.h"

/* Whose attempts are known, and to whom. What it points to is borrowed. */
struct resume_scope {
	struct resume_table *table; /* NULL: nobody looks for resumes */
	uint64_t owner;		    /* of the table's entries */
	const char *policy;	    /* SHA-256 of its name and text, in hex */
	const void *peer;	    /* the address that is asked */
	size_t peer_len;
	uint32_t keep; /* coverage_tail() of the response's tasks */
};

struct attempt;
struct resume_marks;

/* -ENOMEM. */
int attempt_new(struct attempt **ret_attempt) must_check;
void attempt_free(struct attempt *attempt);
DEFINE_CLEANUP(struct attempt *, attempt_free)

/* What its request's lines say; to be filled until attempt_begin(). */
struct resume_request *attempt_request(struct attempt *attempt);
/*
 * The request's head is whole. -EPERM: it may not go on, for what it goes on from is not known,
 * spoiled, or not what it names. -ENOMEM, -EIO.
 */
int attempt_begin(struct attempt *attempt, const struct resume_scope *scope,
		  struct http1_slice target) must_check;
/* Runes that were delivered before: where the response's track begins. */
uint64_t attempt_start(const struct attempt *attempt);

/* An answer begins, an interim one too; to be filled until attempt_answer(). */
struct resume_answer *attempt_new_answer(struct attempt *attempt);
struct attempt_head {
	uint16_t status;
	bool body;	 /* it has one */
	bool coded;	 /* its bytes are not those of the text */
	uint64_t length; /* of its body; UINT64_MAX: not said */
	enum media_class media;
};
/* Its head is whole, and it is no interim one. -EPERM: I5. -ENOMEM. */
int attempt_answer(struct attempt *attempt, const struct resume_scope *scope,
		   const struct attempt_head *head) must_check;
/* Does the text of its answer go on from another, or may another go on from it? */
bool attempt_is_recorded(const struct attempt *attempt);
/* What was delivered last of a channel before; 0: nothing. */
size_t attempt_tail(const struct attempt *attempt, const char *channel, const uint8_t **ret_text);
/* What its events say of themselves. */
struct resume_marks *attempt_marks(struct attempt *attempt);

/*
 * Text of a channel, whose name outlives the message, in the unit under way. begins: what
 * came of the channel before has ended.
 */
void attempt_text(struct attempt *attempt, const char *channel, const uint8_t *text, size_t len,
		  bool begins);
/* A unit ends: in the flow at the byte end, in the track at rune_end, after body bytes of it. */
void attempt_unit(struct attempt *attempt, uint64_t end, uint64_t rune_end, uint64_t body);
/* The units up to that byte of the flow are released. */
void attempt_released(struct attempt *attempt, uint64_t released);

/*
 * It is over, or may be for its client: what was delivered so far may be resumed, if all of it
 * was cleared, up to a number of the track. Does nothing where nothing came since the last call.
 */
void attempt_keep(struct attempt *attempt, const struct resume_scope *scope, uint64_t cleared);

size_t attempt_memory(const struct attempt *attempt);

#endif
