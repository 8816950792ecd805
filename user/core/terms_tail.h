/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the end of a text can still become. The segment that waits (fold.h) may go
 * on with marks, and then fold otherwise than it does now; yet it need not be held
 * back where no way to go on makes it a part of a term.
 *
 * Normalization never changes the first rune of a starter's canonical
 * decomposition, its base: o can become any o with accents, a Hangul consonant
 * any syllable that begins with it, and neither anything else. So the folded runes
 * that a waiting one can become are those of the terms that have its base.
 *
 * Invariants:
 *  A1. A segment answered clear has no part in any match, whatever follows.
 *  A2. The answer depends on the terms, the state before the segment and the
 *      segment alone.
 *  A3. Where a segment folds to one rune and no term begins with what a mark folds
 *      to, it is held only if a term has a rune there that it could become.
 *      Elsewhere it may be held without need: of several runes each is taken to
 *      become any with its base, a segment of more than TERMS_TAIL_FOLDED_MAX runes
 *      is held if it was, and one with marks of its own if a term begins with one.
 *
 * Units are runes.
 */
#ifndef SLUICE_CORE_TERMS_TAIL_H
#define SLUICE_CORE_TERMS_TAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/fold.h"
#include "core/terms_automaton.h"

/* A longer segment is held if its first runes are: its fold is not looked at again. */
#define TERMS_TAIL_FOLDED_MAX 8u

/* Fills tails, tail_count, mixes and trails from the folded terms. -ENOMEM, -EIO. */
int terms_tail_build(struct terms *terms, const struct terms_literal *literals,
		     size_t count) must_check;

struct terms_tail_answer {
	bool clear;
	uint32_t before; /* not clear: folded runes held before the segment too */
};

/* Judges a segment that is not empty and follows what led to state. -ENOMEM, -EIO. */
int terms_tail_judge(const struct terms *terms, uint32_t state, const struct fold_segment *segment,
		     struct terms_tail_answer *ret_answer) must_check;

/*
 * A segment that was clear without its last rune is clear with it. False where only
 * terms_tail_judge() can tell.
 */
bool terms_tail_stays_clear(const struct terms *terms, const struct fold_segment *segment);

#endif
