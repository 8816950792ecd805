/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Channels: the text of one track as its tasks see it. Runes are numbered here
 * in arrival order over all channels; every channel has a matcher's cursor per
 * task, and knows which track numbers its last runes have.
 *
 * A channel that is joined lives on over units. Any other text is evaluated in
 * the set's scratch channel and ends where the caller says; a text that may be
 * continued in the same unit is parked, as long as what it ends in could still
 * begin a term.
 *
 * Invariants:
 *  H1. A rune is numbered when the first part of it arrives. One that waits for
 *      its rest (a high surrogate, a UTF-8 sequence cut between units) is not
 *      cleared by any task.
 *  H2. How text is cut into calls changes neither whether it is denied, nor where
 *      it is cleared to when it is. (Of two tasks that deny within a few runes of
 *      each other, the cut may decide which is named, where one of them folds, or
 *      holds more than REGEX_HELD_EXACT bytes.)
 *  H3. A channel that has nothing pending keeps nothing of its text.
 *  H4. Of a channel that is whole no rune is cleared by any task before it is complete;
 *      its text is matched as it comes all the same.
 *  H5. Tasks that watch change nothing of what those that gate clear, deny or hold. What
 *      one finds is told, once; it rests then, and is told of no more text, until
 *      channel_set_wake(). Nothing is found behind the match that a task denied.
 *
 *  H7. A task that evaluates elsewhere gets a joined channel as a text of its own, and all
 *      others of a unit as one text, named "unit": each apart from the next, but for those of
 *      one name that follow each other. Where it assembles, those of all units are that text,
 *      up to channel_set_assembled(). A channel that is whole is one span, as far as a window
 *      goes, up to the end of the unit that completes it.
 *
 *  H6. A joined channel of a resumed track has been shown the end of what was delivered
 *      before. That has no numbers in the track: a match which begins in it is told of as
 *      one that begins with the channel's first rune.
 *
 * Units: runes; `rune` is a number in the channel, `track` one in the track.
 */
#ifndef SLUICE_CORE_CHANNEL_H
#define SLUICE_CORE_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/fault.h"
#include "core/matcher.h"

/* Texts parked in one unit at once; past it the unit is too large. */
#define CHANNEL_PARKED_MAX 16384u
/* Tasks of a track that evaluate elsewhere. */
#define CHANNEL_SPANS_MAX 8u
/* What they are told is the channel of what is not joined. */
#define CHANNEL_UNIT "unit"

/* Bytes of a reason why a text has ended, at most. */
#define CHANNEL_FINISH_MAX 32u

struct attempt;
struct span_channel;
struct span_set;

/* Runes of the channel from `rune` on have track numbers from `track` on. */
struct channel_run {
	uint64_t rune, track;
};

struct channel_cursor {
	struct matcher_cursor matcher;
	uint64_t held; /* track number of the first rune not cleared, or UINT64_MAX */
};

struct channel {
	struct channel *next;  /* of the set's list it is in */
	struct channel *chain; /* parked: of its bucket */
	const char *name;      /* NUL-terminated, for observers */
	char *key;	       /* parked: the name, owned */
	size_t key_len;
	uint64_t hash;
	uint64_t runes; /* given to the cursors */
	uint64_t base;	/* parked: the rune at which the text began for the tasks that gate */
	size_t memory;	/* parked: as the set counts it */
	bool joined;
	bool watched;	 /* parked for those that watch alone */
	bool whole;	 /* joined: no task clears any of it before it is complete, or ends */
	uint64_t begun;	 /* whole: track number of the first rune since then, or UINT64_MAX */
	bool ended;	 /* joined: what comes next does not go on from what came */
	uint64_t primed; /* runes of earlier attempts, which its tasks saw first */
	bool waiting;	 /* one more is numbered, and waits for its rest */
	uint16_t high;	 /* the surrogate that waits, where it is one */
	uint32_t run_count, run_capacity;
	struct channel_run *runs; /* of those that may be pending, in order */
	struct channel_run first[2];
	/* Of each span set: joined, the text; else that in which a rune waits. NULL without sets. */
	struct span_channel **texts;
	struct channel_cursor cursors[]; /* one per task, and one that watches */
};

/*
 * A short text that every task cleared when it stood alone: it will clear it
 * again. Its first and last eight bytes tell it from any other of its length.
 */
#define CHANNEL_SHORT_MAX  16u
#define CHANNEL_SHORT_KEPT 32u /* in pairs, the later one first */

struct channel_short {
	uint64_t first, last;
	uint64_t len; /* 0: none */
};

/* The same for texts that are somewhat longer: identifiers, names of models. */
#define CHANNEL_LONG_MAX  64u
#define CHANNEL_LONG_KEPT 16u

struct channel_long {
	uint8_t len; /* 0: none */
	uint8_t text[CHANNEL_LONG_MAX];
};

struct channel_match {
	size_t task;
	uint32_t rule;
	uint64_t start, end, decided; /* track */
};

/* Of a task that watches. */
struct channel_watcher {
	bool must;  /* the caller's: what its matcher cannot evaluate is a fault of the text */
	bool rests; /* it has found something, or its matcher has failed */
};

struct channel_set {
	const struct matcher *matchers; /* per task, then per one that watches; borrowed */
	size_t task_count;		/* of those that gate */
	size_t watch_count;
	struct channel_watcher *watch; /* of those that watch; borrowed */
	void (*on_found)(void *context, const struct channel_match *match); /* task counts on */
	void *found_context;
	/*
	 * Of the tasks that evaluate elsewhere, those that gate first; borrowed, and replaced at a
	 * restart. NULL in place of one: it is told of no more text.
	 */
	struct span_set *const *spans;
	struct span_channel **unit_texts; /* of each, of what is not joined; owned by the caller */
	const bool *assembles; /* of each: what is not joined is one text over all units */
	size_t span_count;
	uint64_t ceiling; /* no rune is numbered at or past it */
	void (*on_text)(void *context, const char *channel, const uint8_t *text, size_t len);
	void *context;

	struct attempt *attempt; /* that the text belongs to, borrowed; NULL: nobody resumes it */
	uint64_t track;		 /* number of the next rune */
	uint64_t floor;		 /* of the first rune that belongs to no complete unit */
	uint64_t unit_name;	 /* hash of the last text's that is not joined; 0: apart */
	char finish[CHANNEL_FINISH_MAX + 1]; /* why a text of it has ended; "": it did not say */
	struct channel *scratch;
	struct channel *aside;		       /* for whole texts, also amid one in the scratch */
	struct channel *joined;		       /* list */
	struct channel *parked, **parked_tail; /* list, in order of arrival */
	struct channel *spare;		       /* one that unit ends need not free */
	struct channel **buckets;	       /* of the parked ones */
	uint32_t parked_count, bucket_count;
	uint32_t watched_count; /* of the parked ones */
	bool rested;		/* some task has, since it was woken last */
	size_t parked_memory;
	struct channel_match match; /* with FAULT_BLOCKED */
	struct channel_short shorts[CHANNEL_SHORT_KEPT];
	struct channel_long *longs; /* NULL, or CHANNEL_LONG_KEPT in pairs */
};

/* A channel of the set's tasks; NULL: out of memory. Free accepts NULL. */
struct channel *channel_new(const struct channel_set *set);
void channel_free(const struct channel_set *set, struct channel *channel);
size_t channel_memory(const struct channel_set *set, const struct channel *channel);
/*
 * Runes at its end that some task has not cleared, or that one which watches still needs;
 * the waiting one is not counted.
 */
uint64_t channel_pending(const struct channel_set *set, const struct channel *channel);
/* The track number of a rune that is numbered, and pending, waiting or just placed. */
uint64_t channel_track_of(const struct channel *channel, uint64_t rune);

/* 0 or -ENOMEM. The fields above the blank line are the caller's, and set before. */
int channel_set_init(struct channel_set *set) must_check;
void channel_set_done(struct channel_set *set);

/*
 * Begins anew at a number of the track, that of another session: every channel but the
 * scratch one is dropped. Nothing may be pending.
 */
void channel_set_restart(struct channel_set *set, uint64_t track);

/* Another session: the tasks that watch begin anew. No text is under way. */
void channel_set_wake(struct channel_set *set);

/* Adds a joined channel; the name is copied. whole: H4. -ENOMEM, also of a matcher (H6). */
int channel_set_join(struct channel_set *set, const char *name, bool whole,
		     struct channel **ret_channel) must_check;

/* The scratch channel, for a text of its own. The name is borrowed until the text ends. */
struct channel *channel_set_scratch(struct channel_set *set, const char *name);

/* The parked text of that name, or else the scratch channel. */
struct channel *channel_set_find(struct channel_set *set, const char *name, size_t len);

/*
 * Appends well-formed text of that many runes, or one surrogate of a pair to be.
 * FAULT_BLOCKED: set->match; FAULT_ACCOUNTING: past the ceiling, or a matcher failed;
 * FAULT_TOO_LARGE: runes without end that fold as one; FAULT_MATCH_LIMIT; FAULT_NO_MEMORY.
 */
enum fault channel_text(struct channel_set *set, struct channel *channel, const uint8_t *text,
			size_t len, uint64_t runes) must_check;
enum fault channel_surrogate(struct channel_set *set, struct channel *channel,
			     uint32_t unit) must_check;

/*
 * A whole text by itself, of a channel of that name, that begins and ends here, also
 * while another is under way in the scratch channel. recurs: it is likely to come
 * again, if it is short.
 */
enum fault channel_set_whole(struct channel_set *set, const char *name, const uint8_t *text,
			     size_t len, uint64_t runes, bool recurs) must_check;

/* Numbers a rune whose bytes are not all there; channel_arrived() has them. */
enum fault channel_wait(struct channel_set *set, struct channel *channel) must_check;
enum fault channel_arrived(struct channel_set *set, struct channel *channel, const uint8_t *text,
			   size_t len) must_check;

/* The text ends: what waited is U+FFFD, nothing is pending any more. */
enum fault channel_end(struct channel_set *set, struct channel *channel) must_check;
/* The same, but of a channel that is whole nothing is cleared by that. */
enum fault channel_cut(struct channel_set *set, struct channel *channel) must_check;

/* What a channel that is whole holds so far is all: it may be cleared. The text may go on. */
static inline void channel_complete(struct channel *channel)
{
	channel->begun = UINT64_MAX;
}

/* The text may go on in this unit, under the name it was found by. FAULT_TOO_LARGE as well. */
enum fault channel_park(struct channel_set *set, struct channel *channel, const char *name,
			size_t len) must_check;

/* Ends what is parked. The floor rises to the end of the track. */
enum fault channel_set_unit_end(struct channel_set *set) must_check;

/* What was assembled ends. FAULT_NO_MEMORY. */
enum fault channel_set_assembled(struct channel_set *set) must_check;

/* Why a text has ended, as its reader found it said; what is no word is not kept. */
void channel_set_finished(struct channel_set *set, const uint8_t *reason, size_t len);

/* Ends the joined channels. */
enum fault channel_set_end(struct channel_set *set) must_check;

/*
 * Track number up to which a task that gates has cleared the complete units; behind the last
 * of those with terms come those that evaluate elsewhere.
 */
uint64_t channel_set_frontier(const struct channel_set *set, size_t task);
/* The same, if every verdict came that can be asked for by now, and allowed. */
uint64_t channel_set_reach(const struct channel_set *set, size_t task);

size_t channel_set_memory(const struct channel_set *set); /* beside the struct itself */

#endif
