/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Terms: finds any of a set of literal terms in the text of a channel, rune by
 * rune, and says exactly how much of the text's end could still begin a term.
 *
 * Invariants:
 *  T1. How the text is cut into calls never changes an answer.
 *  T2. A cursor that has not matched holds back the longest suffix of the text, in
 *      original runes, that could be a part of a match by some way the text could
 *      go on: exactly that where each rune folds by itself, and never less. Where
 *      runes fold together, the last runes may still change by marks that follow;
 *      they are held where they could become a part of a term, not because they
 *      could change (terms_tail.h says where that is more than needed). What was
 *      cleared stays cleared: no match, whatever follows, begins in it.
 *  T3. The automaton is immutable after terms_new and shared by all cursors.
 *  T4. A match is final: the cursor answers the same match ever after.
 *  T5. The match is the one that ends first; of those that end there, the longest.
 *
 * Units are runes (Unicode scalar values). Time per byte does not depend on the
 * number of terms, nor on the length of the text.
 */
#ifndef SLUICE_CORE_TERMS_H
#define SLUICE_CORE_TERMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

/*
 * Fold steps, applied to terms and text alike; any set of them is applied in
 * the order confusable, nfkc, casefold, nfkc, nfc, ignorable, strip_mn.
 */
enum terms_fold {
	TERMS_FOLD_CASEFOLD = 1 << 0, /* CaseFolding.txt C+F */
	TERMS_FOLD_NFKC = 1 << 1,     /* UAX #15 */
	TERMS_FOLD_NFC = 1 << 2,
	TERMS_FOLD_IGNORABLE = 1 << 3,	/* drop Default_Ignorable_Code_Point */
	TERMS_FOLD_STRIP_MN = 1 << 4,	/* NFD, drop general category Mn */
	TERMS_FOLD_CONFUSABLE = 1 << 5, /* UTS #39 skeleton */
};

struct terms;

struct terms_match {
	uint32_t term;	/* index in the list given to terms_new */
	uint64_t start; /* in runes of the original text since the cursor's start */
	uint64_t end;
};

/* State of one text. Small, and without memory of its own where nothing folds. */
struct terms_cursor {
	uint32_t state;
	bool matched;
	uint64_t runes; /* seen so far, original */
	struct terms_match match;
	struct fold_cursor *fold; /* NULL where nothing folds, or before the first rune */
};

/*
 * Builds the automaton of count terms (UTF-8, at least one rune after folding).
 * -EINVAL: a term is empty after folding, is not UTF-8 or cannot be folded;
 * *ret_bad is its index. -E2BIG: over TERMS_STATES_MAX states. -EIO: ICU has no
 * data. -ENOMEM.
 */
#define TERMS_STATES_MAX (1u << 22)
int terms_new(const char *const *terms, size_t count, unsigned int fold, size_t *ret_bad,
	      struct terms **ret_terms) must_check;
void terms_free(struct terms *terms);
DEFINE_CLEANUP(struct terms *, terms_free)

/* The longest term in runes after folding: the detectable length L of design 6. */
uint32_t terms_longest(const struct terms *terms);

void terms_cursor_init(struct terms_cursor *cursor);
/* Frees what folding allocated; the cursor is as after init. */
void terms_cursor_done(struct terms_cursor *cursor);

/*
 * Scans len bytes of well-formed UTF-8 that hold `runes` whole runes, following
 * what the cursor has seen. 0, or 1 where a term was matched (cursor->match;
 * scanning stops there). Only with folding, and then the caller fails closed:
 * -ENOMEM, -E2BIG where more than FOLD_SEGMENT_MAX runes have to be folded as one
 * (combining marks without end), -EIO where ICU fails.
 */
int terms_scan(const struct terms *terms, struct terms_cursor *cursor, const uint8_t *text,
	       size_t len, uint64_t runes) must_check;

/*
 * The text ends here: what waited for a later rune to fold with is settled.
 * Returns as terms_scan. Afterwards terms_pending() is 0 and the cursor may be
 * reused for a new text (its rune count starts at 0).
 */
int terms_end(const struct terms *terms, struct terms_cursor *cursor) must_check;

/*
 * Runes at the end of the text that are not cleared yet (T2). After a match, those
 * from where it, or a longer term under way around it, starts.
 */
uint64_t terms_pending(const struct terms *terms, const struct terms_cursor *cursor);

/* Bytes the cursor allocated: bounded by the longest term and FOLD_SEGMENT_MAX, not by the text. */
size_t terms_cursor_memory(const struct terms_cursor *cursor);

#endif
