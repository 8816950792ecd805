/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The automaton behind terms.h, for the files that build and run it.
 *
 * Aho and Corasick's automaton over the bytes of the folded terms. States are
 * numbered breadth first, so that state 0 is the root, that the children of a
 * state have consecutive numbers in the order of their labels, and that a failure
 * link always leads to a lower number. The first `dense` states, normally all,
 * have a row with the next state per byte class; states past them look among
 * their children and otherwise follow their failure link down, which costs less
 * than two steps a byte on average over any text.
 */
#ifndef SLUICE_CORE_TERMS_AUTOMATON_H
#define SLUICE_CORE_TERMS_AUTOMATON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/fold.h"
#include "core/terms.h"

/* Row entries of all dense states: 16 MiB. */
#define TERMS_ROW_ENTRIES_MAX (1u << 22)
/* In a row entry: the state ends a term. */
#define TERMS_MATCH   (1u << 31)
#define TERMS_NO_TERM UINT32_MAX

/*
 * Where no term can begin: a term is in one of eight buckets, and `pairs` has
 * per two bytes, in the low half, the buckets with a term that begins with
 * them, in the high half, those with a term that has them at its third byte.
 */
#define TERMS_PAIRS   65536u
#define TERMS_BUCKETS 8u
/* Bytes of a position that the look-up needs. */
#define TERMS_PAIR_SPAN 4u

/* A rune of folded terms. */
struct terms_tail {
	uint32_t base; /* first of its canonical decomposition */
	uint32_t rune;
	bool begins; /* a term */
	bool open;   /* in some term nothing, or a mark, follows it */
};

struct terms {
	struct fold *fold; /* NULL where nothing folds */
	uint32_t states, dense;
	unsigned int shift;   /* log2 of the entries of a row */
	uint32_t longest;     /* runes */
	uint8_t classes[256]; /* 0: in no term */
	uint32_t *rows;
	uint32_t *first;   /* per state and one past: its first child */
	uint32_t *fail;	   /* per state */
	uint8_t *labels;   /* per state: the class that leads to it */
	uint32_t *runes;   /* per state: length of its prefix in runes */
	uint32_t *term;	   /* per state: the term that ends here, or TERMS_NO_TERM */
	uint32_t *lengths; /* per term: runes */
	uint16_t *pairs;
	/* With folding (terms_tail.h): */
	struct terms_tail *tails; /* in order of base, then rune */
	size_t tail_count;
	/* A term begins with what a mark folds to, */
	bool mixes;  /* which may go before other marks, or was composed; */
	bool trails; /* with what fold_only_trails(). */
};

/* A term as the automaton takes it: folded, well-formed UTF-8, not empty. */
struct terms_literal {
	uint8_t *text;
	size_t len;
	uint32_t index;
};

/*
 * Fills everything but fold. Sorts the literals. -E2BIG, -ENOMEM; what was
 * allocated is then left to terms_free().
 */
int terms_build(struct terms *terms, struct terms_literal *literals, size_t count) must_check;

/* The look-up index of two bytes, the same on either byte order. */
static inline uint32_t terms_pair(const uint8_t *text)
{
	return (uint32_t)text[0] | (uint32_t)text[1] << 8;
}

/* The state after a byte class; TERMS_MATCH is set where a term ends. */
uint32_t terms_step_sparse(const struct terms *terms, uint32_t state, uint8_t class);

static inline uint32_t terms_step(const struct terms *terms, uint32_t state, uint8_t byte)
{
	uint8_t class = terms->classes[byte];

	if (__builtin_expect(state >= terms->dense, 0))
		return terms_step_sparse(terms, state, class);
	return terms->rows[((size_t)state << terms->shift) + class];
}

/*
 * Runs the automaton from *state over text until it matches or text ends.
 * Returns the bytes consumed; *state is the last state, without TERMS_MATCH.
 */
size_t terms_run(const struct terms *terms, uint32_t *state, const uint8_t *text, size_t len,
		 bool *ret_matched);

/* terms_scan() and terms_end() of a set that folds; runes seen are left to the caller. */
int terms_scan_folded(const struct terms *terms, struct terms_cursor *cursor, const uint8_t *text,
		      size_t len) must_check;
int terms_end_folded(const struct terms *terms, struct terms_cursor *cursor) must_check;
/* The first original rune that is not cleared. */
uint64_t terms_cleared_folded(const struct terms *terms, const struct terms_cursor *cursor);
void terms_cursor_done_folded(struct terms_cursor *cursor);

#endif
