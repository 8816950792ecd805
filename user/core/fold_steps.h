/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of a fold over UTF-16, as ICU takes it. Private to fold.
 *
 * Invariant: what the steps give for a text depends on nothing but the text.
 */
#ifndef SLUICE_CORE_FOLD_STEPS_H
#define SLUICE_CORE_FOLD_STEPS_H

#include <stdbool.h>
#include <stdint.h>
#include <unicode/unorm2.h>
#include <unicode/uspoof.h>
#include <unicode/utf16.h>

#include "base/macros.h"

struct fold_tools {
	unsigned int steps; /* enum terms_fold */
	const UNormalizer2 *nfd, *nfc, *nfkc;
	USpoofChecker *spoof; /* NULL without the confusable step */
};

/* -EIO: ICU has no data. -ENOMEM. */
int fold_tools_init(struct fold_tools *tools, unsigned int steps) must_check;
void fold_tools_done(struct fold_tools *tools);

#define FOLD_SPACE 96

/* UTF-16 in space or on the heap; has to be done(). */
struct fold_units {
	UChar *units;
	int32_t len, capacity;
	UChar space[FOLD_SPACE];
};

void fold_units_init(struct fold_units *units);
void fold_units_done(struct fold_units *units);
/* -ENOMEM. */
int fold_units_append(struct fold_units *units, int32_t rune) must_check;

/* The rune at *at, which it moves past. Folded text has no lone surrogates. */
static inline uint32_t fold_units_next(const struct fold_units *units, int32_t *at)
{
	uint32_t unit = units->units[(*at)++];

	if (!U16_IS_LEAD(unit))
		return unit;
	return 0x10000 + ((unit & 0x3ff) << 10) + (units->units[(*at)++] & 0x3ffu);
}

/* The canonical decomposition of a rune, in full; empty where it has none. */
void fold_tools_decompose(const struct fold_tools *tools, uint32_t rune,
			  struct fold_units *ret_parts);

/* How a text meets its neighbours, over all steps that join runes. */
struct fold_edges {
	bool before;  /* nothing before it joins with it */
	bool after;   /* nothing after it joins with it */
	bool dropped; /* a step dropped all of it before a later one joins runes */
	bool clear;   /* up to that step, both held */
};

/* Runs the steps over text, in place. ret_edges may be NULL. -ENOMEM, -EIO. */
int fold_steps_run(const struct fold_tools *tools, struct fold_units *text,
		   struct fold_edges *ret_edges) must_check;

#endif
