/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the patterns of a set can begin, for all at once: for each the first place in a
 * text. Those that begin with literals are found by one automaton (terms.h) over all of
 * them, others that begin with known bytes by those (regex_head.h).
 *
 * Invariants:
 *  P1. No match of such a pattern begins before its first place.
 *  P2. A place where the text ends within what it begins with counts, as the text may go on.
 */
#ifndef SLUICE_CORE_REGEX_PREFILTER_H
#define SLUICE_CORE_REGEX_PREFILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/regex_syntax.h"

struct regex_prefilter;

/* What is known of where a pattern begins. */
struct regex_beginning {
	struct regex_literals literals;
	struct regex_head head;
};

/* One beginning per pattern. -ENOMEM, -E2BIG. */
int regex_prefilter_new(const struct regex_beginning *beginnings, size_t count,
			struct regex_prefilter **ret_prefilter) must_check;
void regex_prefilter_free(struct regex_prefilter *prefilter);
DEFINE_CLEANUP(struct regex_prefilter *, regex_prefilter_free)

/* Is the pattern one that it finds? Others may begin anywhere. */
bool regex_prefilter_knows(const struct regex_prefilter *prefilter, size_t pattern);

/* Of a pattern, in the text at hand; offsets in bytes. */
struct regex_place {
	uint32_t from; /* no match begins before it */
	uint32_t next; /* what `from` becomes when the look at the text at hand is over */
	uint32_t seen; /* the text's end when it was last looked at from there */
};

/*
 * Rules at work: a bit per rule in `active`; of those alone a place is valid. Rules begin
 * to be active at the text's end, or where the prefilter says so.
 */
struct regex_active {
	uint64_t *active;
	struct regex_place *places;
};

/*
 * Makes every pattern active that can begin in text[begin, end), from where it first can.
 * Those that are active from before stay as they are.
 */
void regex_prefilter_run(const struct regex_prefilter *prefilter, const uint8_t *text, size_t begin,
			 size_t end, const struct regex_active *rules);

#endif
