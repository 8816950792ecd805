/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resume: what is kept of a track that was broken off, so that an attempt which goes on where
 * it stopped is judged as if it had never been (Agent Control Specification 18.1, the retry
 * boundary): per channel the last runes delivered over all attempts, as many as a task could
 * need to see below the next one's first rune (core/coverage.h).
 *
 * Invariants:
 *  U1. Only text that was released is kept, and no more than the tail of each channel.
 *  U2. The tail is over all attempts: an attempt that delivered fewer runes than it holds
 *      keeps the rest of those before.
 *  U3. An attempt that delivered what was not cleared (deferred) spoils the resume for good.
 *  U4. A resume begins exactly where what was delivered ends: not at a frontier that was
 *      cleared and never left.
 *  U5. Runes that folding may drop, or compose with those before them, are kept beside those
 *      that are counted: they take none of a term's places.
 *  U6. A channel that comes first in a later attempt goes on from the text that was delivered
 *      last before that, of whatever channel: another form of the same events, or the next of
 *      its parts, names it otherwise.
 *
 * Units: runes; text is well-formed UTF-8.
 */
#ifndef SLUICE_CORE_RESUME_H
#define SLUICE_CORE_RESUME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

/* Channels of one track that are kept; one more spoils the resume. */
#define RESUME_CHANNELS_MAX 64u
/* Bytes of a tail beside those of the runes that are counted; more spoil the resume. */
#define RESUME_EXTRA_MAX (16u << 10)

struct resume;

/* keep: runes of the tail of each channel, coverage_tail(L) of the track's tasks. -ENOMEM. */
int resume_new(uint32_t keep, struct resume **ret_resume) must_check;
void resume_free(struct resume *resume);
DEFINE_CLEANUP(struct resume *, resume_free)
/* For an attempt that goes on from it (U6), or to keep it. -ENOMEM. */
int resume_copy(const struct resume *resume, struct resume **ret_copy) must_check;
/* Do both end in the same text, however much came before it? */
bool resume_same(const struct resume *a, const struct resume *b);

/* Text of a channel was delivered, in order. -ENOMEM, -E2BIG: the resume is spoiled. */
int resume_delivered(struct resume *resume, const char *channel, const uint8_t *text,
		     size_t len) must_check;

/* The text of a channel had ended: what follows does not go on from it. */
void resume_restart(struct resume *resume, const char *channel);
/* Something of it is not known: it may not be resumed. */
void resume_spoil(struct resume *resume);

/*
 * An attempt is over: of the runes from where it began it had cleared and delivered so many.
 * Delivering more than was cleared spoils the resume (U3).
 */
void resume_attempt(struct resume *resume, uint64_t cleared, uint64_t delivered);

/* Runes delivered over all attempts: where the next begins. */
uint64_t resume_offset(const struct resume *resume);
/* May an attempt begin at that offset? -EPERM: spoiled. -ERANGE: delivered ends elsewhere (U4). */
int resume_may_begin(const struct resume *resume, uint64_t start) must_check;

/*
 * The tail of a channel, or what one that is not known goes on from (U6), valid until the next
 * call that changes it; 0: there is none.
 */
size_t resume_tail(const struct resume *resume, const char *channel, const uint8_t **ret_text);
/* Calls each for the tail of every channel that has one, until it returns other than 0. */
int resume_tails(const struct resume *resume,
		 int (*each)(void *context, const char *channel, const uint8_t *text, size_t len),
		 void *context) must_check;

/* Bytes at the end of a text that hold so many counted runes, or all (U5). */
size_t resume_tail_length(const uint8_t *text, size_t len, uint32_t keep);

size_t resume_memory(const struct resume *resume);

#endif
