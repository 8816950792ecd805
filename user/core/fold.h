/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fold: maps text to the form in which terms are compared (enum terms_fold),
 * piece by piece. Text is cut into segments at runes before which nothing can
 * compose or reorder in any step, so that folding the segments one by one gives
 * what folding the whole text would.
 *
 * Invariants:
 *  F1. For well-formed text, the concatenation of the folded segments equals the
 *      fold of the whole, however the text is cut into calls.
 *  F2. A segment holds at most FOLD_SEGMENT_MAX runes, not counting a run of
 *      ignorable ones beyond its first; text with a longer one is refused, since
 *      bounded memory cannot fold it exactly.
 *  F3. A fold is immutable to its users and may be shared between threads: what
 *      it remembers of single runes is a pure function of the rune.
 *
 * The text has to be well-formed UTF-8. Units are runes unless bytes are named.
 */
#ifndef SLUICE_CORE_FOLD_H
#define SLUICE_CORE_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

/* Real text has few: UAX #15 calls text stream-safe with up to 30 combining marks in a row. */
#define FOLD_SEGMENT_MAX 256u

struct fold;

/* steps: enum terms_fold. -EINVAL: an unknown step. -EIO: ICU has no data. -ENOMEM. */
int fold_new(unsigned int steps, struct fold **ret_fold) must_check;
/* Accepts NULL. */
void fold_free(struct fold *fold);
DEFINE_CLEANUP(struct fold *, fold_free)

/* ASCII upper and lower case are the same. */
bool fold_joins_case(const struct fold *fold);

/*
 * Bytes at the front of text that are each a segment of one rune and fold to
 * themselves (upper case, where fold_joins_case, to lower case).
 */
size_t fold_plain(const struct fold *fold, const uint8_t *text, size_t len);

/* What is known of a rune by itself: these bits, and the rune it folds to. */
enum fold_entry {
	FOLD_RUNE = 0x1fffff,	/* valid with FOLD_SINGLE */
	FOLD_SINGLE = 1 << 24,	/* alone, it folds to one rune */
	FOLD_GONE = 1 << 25,	/* alone, it folds to nothing */
	FOLD_BEFORE = 1 << 26,	/* a segment begins with it */
	FOLD_ALONE = 1 << 27,	/* it is a segment, whatever follows */
	FOLD_IGNORED = 1 << 28, /* it only stands between others; two in a row do what one does */
	FOLD_KNOWN = 1 << 29,	/* always set */
};

/* -ENOMEM or -EIO; else the entry. */
int64_t fold_rune(const struct fold *fold, uint32_t rune);

/* Runes of the longest canonical decomposition: 3 now, and ever, by Unicode's stability policy. */
#define FOLD_PARTS_MAX 4u

/* The canonical decomposition of a rune, itself where it has none. Returns its runes. */
unsigned int fold_decompose(const struct fold *fold, uint32_t rune,
			    uint32_t ret_parts[FOLD_PARTS_MAX]);
/* The rune goes to its place in the order of marks: it has a combining class. */
bool fold_is_mark(uint32_t rune);
/* A rune and marks compose in the end, and what was a mark before is none but one. */
bool fold_composes(const struct fold *fold);

/*
 * The mark folds to a letter that comes after all marks which compose with what is
 * before them, though before others: the iota subscript does.
 */
bool fold_only_trails(const struct fold *fold, uint32_t mark);

typedef int (*fold_mark_fn)(void *context, uint32_t rune);

/*
 * Visits all marks; none where each rune is a segment. Stops at, and returns, the
 * first answer that is not 0.
 */
int fold_each_mark(const struct fold *fold, fold_mark_fn visit, void *context) must_check;

/* Runes that wait for the next boundary; all zero is empty. */
struct fold_segment {
	int32_t *runes;
	uint32_t count, capacity;
	uint32_t entry;	   /* of the last rune */
	uint64_t original; /* runes of the text, those left out included */
};

/* Appends a rune. -E2BIG: see F2. -ENOMEM. */
int fold_segment_push(struct fold_segment *segment, uint32_t rune, uint32_t entry) must_check;
void fold_segment_clear(struct fold_segment *segment);
void fold_segment_done(struct fold_segment *segment);

#define FOLD_RESULT_SPACE 64u

/* UTF-8, in space or on the heap. */
struct fold_result {
	uint8_t *text;
	size_t len;
	uint8_t space[FOLD_RESULT_SPACE];
};

/* Folds a segment that is not empty. -ENOMEM, -EIO. */
int fold_segment_apply(const struct fold *fold, const struct fold_segment *segment,
		       struct fold_result *ret_result) must_check;
void fold_result_done(struct fold_result *result);

/* Folds a whole text; *ret_text is the caller's to free. -E2BIG: see F2. -ENOMEM, -EIO. */
int fold_text(const struct fold *fold, const uint8_t *text, size_t len, uint8_t **ret_text,
	      size_t *ret_len) must_check;

/* Decodes the rune at the front of well-formed text; *ret_rune. Returns its bytes. */
unsigned int fold_decode(const uint8_t *text, uint32_t *ret_rune);

#endif
