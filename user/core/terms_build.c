/* SPDX-License-Identifier: Apache-2.0 */
#include "core/terms_automaton.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int compare_literals(const void *a, const void *b)
{
	const struct terms_literal *x = a, *y = b;
	int order = memcmp(x->text, y->text, MIN(x->len, y->len));

	if (order)
		return order;
	if (x->len != y->len)
		return x->len < y->len ? -1 : 1;
	/* Of equal terms the first given is the one reported. */
	return x->index < y->index ? -1 : 1;
}

static size_t common_prefix(const struct terms_literal *a, const struct terms_literal *b)
{
	size_t n = MIN(a->len, b->len), i = 0;

	while (i < n && a->text[i] == b->text[i])
		i++;
	return i;
}

/*
 * In sorted order each literal adds the states past its common prefix with the
 * one before. Depth first within a depth is then breadth-first order over all:
 * a state's number is the number of states at lower depths plus how many of its
 * own depth came before.
 */
struct numbering {
	uint32_t *next; /* per depth: the number of its next state */
	uint32_t *path; /* per depth: the state of the literal at hand */
	size_t depths;
};

static void numbering_done(struct numbering *numbering)
{
	free(numbering->next);
	free(numbering->path);
}

static int number_states(const struct terms_literal *literals, size_t count,
			 struct numbering *numbering, uint32_t *ret_states)
{
	size_t deepest = 0, states = 1;

	for (size_t i = 0; i < count; i++)
		deepest = MAX(deepest, literals[i].len);
	if (deepest >= TERMS_STATES_MAX)
		return -E2BIG;
	numbering->depths = deepest + 1;
	numbering->next = calloc(numbering->depths + 1, sizeof(*numbering->next));
	numbering->path = calloc(numbering->depths, sizeof(*numbering->path));
	if (!numbering->next || !numbering->path)
		return -ENOMEM;
	/* next[d + 1] counts the states of depth d first, then becomes their sum. */
	numbering->next[1] = 1;
	for (size_t i = 0; i < count; i++) {
		size_t shared = i ? common_prefix(&literals[i - 1], &literals[i]) : 0;

		states += literals[i].len - shared;
		if (states > TERMS_STATES_MAX)
			return -E2BIG;
		for (size_t d = shared + 1; d <= literals[i].len; d++)
			numbering->next[d + 1]++;
	}
	for (size_t d = 1; d <= numbering->depths; d++)
		numbering->next[d] += numbering->next[d - 1];
	*ret_states = (uint32_t)states;
	return 0;
}

/* Bytes of terms in order of value; with case folding both cases of a letter are one class. */
static void assign_classes(struct terms *terms, const struct terms_literal *literals, size_t count)
{
	bool used[256] = {false};
	unsigned int classes = 1;

	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < literals[i].len; k++)
			used[literals[i].text[k]] = true;
	for (unsigned int b = 0; b < 256; b++)
		terms->classes[b] = used[b] ? (uint8_t)classes++ : 0;
	if (terms->fold && fold_joins_case(terms->fold))
		for (unsigned int b = 'A'; b <= 'Z'; b++)
			terms->classes[b] = terms->classes[b + 'a' - 'A'];
	/* UTF-8 leaves 13 byte values unused, so the classes fit eight bits. */
	terms->shift = 0;
	while (1u << terms->shift < classes)
		terms->shift++;
	terms->dense = MIN(terms->states, TERMS_ROW_ENTRIES_MAX >> terms->shift);
}

static int allocate(struct terms *terms, size_t count)
{
	size_t states = terms->states;

	terms->rows = malloc(((size_t)terms->dense << terms->shift) * sizeof(*terms->rows));
	terms->first = calloc(states + 1, sizeof(*terms->first));
	terms->fail = calloc(states, sizeof(*terms->fail));
	terms->labels = calloc(states, sizeof(*terms->labels));
	terms->runes = calloc(states, sizeof(*terms->runes));
	terms->term = malloc(states * sizeof(*terms->term));
	terms->lengths = calloc(count + 1, sizeof(*terms->lengths));
	terms->pairs = calloc(TERMS_PAIRS, sizeof(*terms->pairs));
	if (!terms->rows || !terms->first || !terms->fail || !terms->labels || !terms->runes ||
	    !terms->term || !terms->lengths || !terms->pairs)
		return -ENOMEM;
	memset(terms->term, 0xff, states * sizeof(*terms->term));
	return 0;
}

static void add_states(struct terms *terms, const struct terms_literal *literals, size_t count,
		       struct numbering *numbering)
{
	for (size_t i = 0; i < count; i++) {
		const struct terms_literal *literal = &literals[i];
		size_t shared = i ? common_prefix(&literals[i - 1], literal) : 0;
		uint32_t state = numbering->path[shared];

		for (size_t d = shared; d < literal->len; d++) {
			uint32_t child = numbering->next[d + 1]++;
			bool lead = (literal->text[d] & 0xc0) != 0x80;

			if (!terms->first[state])
				terms->first[state] = child;
			terms->labels[child] = terms->classes[literal->text[d]];
			terms->runes[child] = terms->runes[state] + lead;
			numbering->path[d + 1] = state = child;
		}
		if (terms->term[state] == TERMS_NO_TERM)
			terms->term[state] = literal->index;
		terms->lengths[literal->index] = terms->runes[state];
		terms->longest = MAX(terms->longest, terms->runes[state]);
	}
	/* A state without children begins where the next one's begin. */
	terms->first[terms->states] = terms->states;
	for (uint32_t s = terms->states; s-- > 0;)
		if (!terms->first[s])
			terms->first[s] = terms->first[s + 1];
}

static uint32_t find_child(const struct terms *terms, uint32_t state, uint8_t class)
{
	uint32_t begin = terms->first[state], end = terms->first[state + 1];
	const uint8_t *found = memchr(&terms->labels[begin], class, end - begin);

	return found ? (uint32_t)(found - terms->labels) : 0;
}

uint32_t terms_step_sparse(const struct terms *terms, uint32_t state, uint8_t class)
{
	if (!class)
		return 0;
	while (state >= terms->dense) {
		uint32_t child = find_child(terms, state, class);

		if (child)
			return terms->term[child] == TERMS_NO_TERM ? child : child | TERMS_MATCH;
		state = terms->fail[state];
	}
	return terms->rows[((size_t)state << terms->shift) + class];
}

/* The row of a state: that of its failure link, but for its own children. */
static void fill_row(struct terms *terms, uint32_t state)
{
	uint32_t *row = terms->rows + ((size_t)state << terms->shift);
	const uint32_t *from = terms->rows + ((size_t)terms->fail[state] << terms->shift);

	if (state)
		memcpy(row, from, sizeof(*row) << terms->shift);
	else
		memset(row, 0, sizeof(*row) << terms->shift);
	for (uint32_t c = terms->first[state]; c < terms->first[state + 1]; c++)
		row[terms->labels[c]] = terms->term[c] == TERMS_NO_TERM ? c : c | TERMS_MATCH;
}

/*
 * In order of number: a link leads to a lower depth than its state's, where all
 * links are set, and the row it is read from is complete.
 */
static void link_states(struct terms *terms)
{
	for (uint32_t s = 0; s < terms->states; s++) {
		for (uint32_t c = terms->first[s]; c < terms->first[s + 1]; c++) {
			uint32_t fail = 0;

			if (s)
				fail = terms_step_sparse(terms, terms->fail[s], terms->labels[c]);
			terms->fail[c] = fail & ~TERMS_MATCH;
			/* A state's own term is longer than any its link ends. */
			if (terms->term[c] == TERMS_NO_TERM)
				terms->term[c] = terms->term[terms->fail[c]];
		}
		if (s < terms->dense)
			fill_row(terms, s);
	}
}

static unsigned int other_case(const struct terms *terms, unsigned int byte)
{
	bool letter = (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z';

	return letter && terms->fold && fold_joins_case(terms->fold) ? byte ^ 0x20 : byte;
}

/* Sets bits for a pair; a second byte past 255 stands for any. */
static void set_pair(struct terms *terms, unsigned int first, unsigned int second, uint16_t bits)
{
	for (unsigned int b = 0; b < 256; b++) {
		uint8_t pair[2] = {(uint8_t)first, (uint8_t)b};
		uint8_t upper[2] = {(uint8_t)other_case(terms, first), (uint8_t)b};

		if (second < 256 && b != second && b != other_case(terms, second))
			continue;
		terms->pairs[terms_pair(pair)] |= bits;
		terms->pairs[terms_pair(upper)] |= bits;
	}
}

/*
 * Neighbours in sorted order share a bucket, since they tend to begin alike. Terms
 * shorter than the look-up leave what they do not reach open, in a bucket of their own.
 */
static void fill_pairs(struct terms *terms, const struct terms_literal *literals, size_t count)
{
	const unsigned int any = 256;
	bool tiny = false;

	for (size_t i = 0; i < count; i++) {
		const uint8_t *text = literals[i].text;
		size_t len = literals[i].len;
		size_t bucket =
			len < TERMS_PAIR_SPAN ? TERMS_BUCKETS - 1 : i * (TERMS_BUCKETS - 1) / count;
		uint16_t low = (uint16_t)(1u << bucket);

		set_pair(terms, text[0], len > 1 ? text[1] : any, low);
		if (len > 2)
			set_pair(terms, text[2], len > 3 ? text[3] : any,
				 (uint16_t)(low << TERMS_BUCKETS));
		tiny |= len < 3;
	}
	for (size_t p = 0; tiny && p < TERMS_PAIRS; p++)
		terms->pairs[p] |= (uint16_t)(1u << (2 * TERMS_BUCKETS - 1));
}

int terms_build(struct terms *terms, struct terms_literal *literals, size_t count)
{
	cleanup(numbering_done) struct numbering numbering = {0};
	int r;

	qsort(literals, count, sizeof(*literals), compare_literals);
	r = number_states(literals, count, &numbering, &terms->states);
	if (r < 0)
		return r;
	assign_classes(terms, literals, count);
	r = allocate(terms, count);
	if (r < 0)
		return r;
	add_states(terms, literals, count, &numbering);
	link_states(terms);
	fill_pairs(terms, literals, count);
	if (terms->dense == terms->states) {
		/* Only states without a row look among their children. */
		free(take_ptr(terms->first));
		free(take_ptr(terms->fail));
		free(take_ptr(terms->labels));
	}
	return 0;
}
