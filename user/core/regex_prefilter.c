/* SPDX-License-Identifier: Apache-2.0 */
#include "core/regex_prefilter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/regex_internal.h"
#include "core/terms.h"
#include "core/terms_automaton.h"

/* A literal of one byte is in too much text to be worth the search. */
#define SHORTEST   2u
#define NO_LITERAL UINT32_MAX

/* A literal of a pattern. */
struct use {
	char text[REGEX_LITERAL_SIZE];
	uint32_t len;
	uint32_t pattern;
};

/* A literal, once: uses[first, first + count). */
struct literal {
	uint32_t first, count;
	uint32_t suffix; /* the longest other one that it ends with, or NO_LITERAL */
};

struct regex_prefilter {
	struct terms *terms;
	struct use *uses; /* in order of text, then pattern */
	size_t use_count;
	struct literal *literals;
	size_t literal_count;
	bool *known; /* per pattern */
	struct regex_heads heads;
	/* Of the patterns with a head: those of bucket i are ordered[bucket[i], bucket[i + 1]). */
	uint32_t *ordered;
	size_t bucket[REGEX_HEAD_BUCKETS + 1];
};

static bool is_known(const struct regex_literals *literals)
{
	for (unsigned int i = 0; i < literals->count; i++)
		if (literals->len[i] < SHORTEST)
			return false;
	return literals->count > 0;
}

static int compare_uses(const void *a, const void *b)
{
	const struct use *x = a, *y = b;
	int order = strcmp(x->text, y->text);

	if (order)
		return order;
	return x->pattern < y->pattern ? -1 : x->pattern > y->pattern;
}

static void collect(struct regex_prefilter *prefilter, const struct regex_beginning *beginnings,
		    size_t count)
{
	for (size_t p = 0; p < count; p++) {
		const struct regex_literals *literals = &beginnings[p].literals;

		prefilter->known[p] = is_known(literals);
		for (unsigned int i = 0; prefilter->known[p] && i < literals->count; i++) {
			struct use *use = &prefilter->uses[prefilter->use_count++];

			memcpy(use->text, literals->text[i], literals->len[i]);
			use->len = literals->len[i];
			use->pattern = (uint32_t)p;
		}
	}
	qsort(prefilter->uses, prefilter->use_count, sizeof(*prefilter->uses), compare_uses);
	for (size_t i = 0; i < prefilter->use_count; i++) {
		if (i == 0 || strcmp(prefilter->uses[i].text, prefilter->uses[i - 1].text) != 0)
			prefilter->literals[prefilter->literal_count++] =
				(struct literal){.first = (uint32_t)i, .suffix = NO_LITERAL};
		prefilter->literals[prefilter->literal_count - 1].count++;
	}
}

/* How much text fits: bits set in all of a head's sets. */
static unsigned int fitting(const struct regex_head *head)
{
	unsigned int bits = 0;

	for (unsigned int i = 0; i < head->count; i++)
		for (unsigned int half = 0; half < 2; half++)
			for (uint64_t set = head->sets[i][half]; set; set &= set - 1)
				bits++;
	return bits;
}

/* A head while it finds its bucket. */
struct headed {
	const struct regex_head *head;
	uint32_t pattern;
};

/* Those of one length, and of them those that are alike in what they let through, together. */
static int compare_alike(const struct headed *x, const struct headed *y)
{
	if (x->head->count != y->head->count)
		return x->head->count < y->head->count ? -1 : 1;
	return fitting(x->head) < fitting(y->head) ? -1 : fitting(x->head) > fitting(y->head);
}

static int compare_heads(const void *a, const void *b)
{
	const struct headed *x = a, *y = b;
	int order = compare_alike(x, y);

	if (order)
		return order;
	return x->pattern < y->pattern ? -1 : x->pattern > y->pattern;
}

/*
 * Where the buckets end: a bucket for each kind that is alike, where there are enough of
 * them, since in one of several each would let through what any of them does.
 */
static void cut_buckets(struct regex_prefilter *prefilter, const struct headed *headed, size_t n)
{
	size_t kinds = 0, per = (n + REGEX_HEAD_BUCKETS - 1) / REGEX_HEAD_BUCKETS;

	for (size_t i = 1; i <= n; i++) {
		if (i < n && compare_alike(&headed[i - 1], &headed[i]) == 0)
			continue;
		kinds++;
		for (size_t b = kinds; b <= REGEX_HEAD_BUCKETS; b++)
			prefilter->bucket[b] = i;
	}
	for (size_t b = 1; kinds > REGEX_HEAD_BUCKETS && b <= REGEX_HEAD_BUCKETS; b++)
		prefilter->bucket[b] = MIN(n, b * per);
}

/* Patterns of which no literal is known. */
static int collect_heads(struct regex_prefilter *prefilter,
			 const struct regex_beginning *beginnings, size_t count)
{
	struct headed *headed = calloc(count + 1, sizeof(*headed));
	size_t n = 0;

	if (!headed)
		return -ENOMEM;
	for (size_t p = 0; p < count; p++)
		if (!prefilter->known[p] && beginnings[p].head.count) {
			prefilter->known[p] = true;
			headed[n++] = (struct headed){&beginnings[p].head, (uint32_t)p};
		}
	qsort(headed, n, sizeof(*headed), compare_heads);
	cut_buckets(prefilter, headed, n);
	for (unsigned int b = 0; b < REGEX_HEAD_BUCKETS; b++) {
		for (size_t i = prefilter->bucket[b]; i < prefilter->bucket[b + 1]; i++) {
			prefilter->ordered[i] = headed[i].pattern;
			regex_heads_add(&prefilter->heads, b, headed[i].head);
		}
	}
	regex_heads_finish(&prefilter->heads);
	free(headed);
	return 0;
}

static const struct use *use_of(const struct regex_prefilter *prefilter, size_t literal)
{
	return &prefilter->uses[prefilter->literals[literal].first];
}

static uint32_t find_literal(const struct regex_prefilter *prefilter, const char *text)
{
	size_t low = 0, high = prefilter->literal_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(use_of(prefilter, middle)->text, text);

		if (order == 0)
			return (uint32_t)middle;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NO_LITERAL;
}

/* The automaton reports the longest that ends at a place; the others are its suffixes. */
static void link_suffixes(struct regex_prefilter *prefilter)
{
	for (size_t i = 0; i < prefilter->literal_count; i++) {
		struct literal *literal = &prefilter->literals[i];
		const char *text = use_of(prefilter, i)->text;

		for (size_t at = 1; text[at] && literal->suffix == NO_LITERAL; at++)
			literal->suffix = find_literal(prefilter, text + at);
	}
}

int regex_prefilter_new(const struct regex_beginning *beginnings, size_t count,
			struct regex_prefilter **ret_prefilter)
{
	cleanup(regex_prefilter_freep) struct regex_prefilter *built = calloc(1, sizeof(*built));
	const char **texts;
	size_t bad;
	int r;

	if (!built)
		return -ENOMEM;
	built->known = calloc(count + 1, sizeof(*built->known));
	built->uses = calloc(count + 1, REGEX_LITERALS_MAX * sizeof(*built->uses));
	built->literals = calloc(count + 1, REGEX_LITERALS_MAX * sizeof(*built->literals));
	built->ordered = calloc(count + 1, sizeof(*built->ordered));
	if (!built->known || !built->uses || !built->literals || !built->ordered)
		return -ENOMEM;
	collect(built, beginnings, count);
	link_suffixes(built);
	r = collect_heads(built, beginnings, count);
	if (r < 0)
		return r;
	texts = calloc(built->literal_count + 1, sizeof(*texts));
	if (!texts)
		return -ENOMEM;
	for (size_t i = 0; i < built->literal_count; i++)
		texts[i] = use_of(built, i)->text;
	r = terms_new(texts, built->literal_count, 0, &bad, &built->terms);
	free(texts);
	if (r < 0)
		return r;
	*ret_prefilter = take_ptr(built);
	return 0;
}

void regex_prefilter_free(struct regex_prefilter *prefilter)
{
	if (!prefilter)
		return;
	terms_free(prefilter->terms);
	free(prefilter->uses);
	free(prefilter->literals);
	free(prefilter->known);
	free(prefilter->ordered);
	free(prefilter);
}

bool regex_prefilter_knows(const struct regex_prefilter *prefilter, size_t pattern)
{
	return prefilter->known[pattern];
}

static void lower(const struct regex_active *rules, uint32_t pattern, size_t at)
{
	struct regex_place *place = &rules->places[pattern];
	uint64_t bit = 1ull << pattern % 64, *word = &rules->active[pattern / 64];

	if (!(*word & bit))
		place->from = place->seen = (uint32_t)at;
	*word |= bit;
	place->from = MIN(place->from, (uint32_t)at);
}

static void found(const struct regex_prefilter *prefilter, uint32_t index, size_t end,
		  const struct regex_active *rules)
{
	for (; index != NO_LITERAL; index = prefilter->literals[index].suffix) {
		const struct literal *literal = &prefilter->literals[index];
		const struct use *use = use_of(prefilter, index);

		for (uint32_t i = 0; i < literal->count; i++)
			lower(rules, use[i].pattern, end - use->len);
	}
}

/* The first use that is not below the bytes; those that begin with them follow. */
static size_t first_use(const struct regex_prefilter *prefilter, const char *bytes, size_t len)
{
	size_t low = 0, high = prefilter->use_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strncmp(prefilter->uses[middle].text, bytes, len) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The text's last bytes, where they begin literals. */
static void found_begun(const struct regex_prefilter *prefilter, const uint8_t *text, size_t at,
			size_t end, const struct regex_active *rules)
{
	char bytes[REGEX_LITERAL_SIZE] = {0};
	size_t len = end - at;

	memcpy(bytes, text + at, len);
	for (size_t i = first_use(prefilter, bytes, len);
	     i < prefilter->use_count && strncmp(prefilter->uses[i].text, bytes, len) == 0; i++)
		lower(rules, prefilter->uses[i].pattern, at);
}

static void run_literals(const struct regex_prefilter *prefilter, const uint8_t *text, size_t begin,
			 size_t end, const struct regex_active *rules)
{
	const struct terms *terms = prefilter->terms;
	uint32_t state = 0;
	size_t at = begin;

	while (at < end) {
		bool matched;

		at += terms_run(terms, &state, text + at, end - at, &matched);
		if (matched)
			found(prefilter, terms->term[state], at, rules);
	}
	/* What the text ends with and begins a literal is no longer than what the automaton holds. */
	for (at = regex_back(text, end, terms->runes[state]); at < end; at++)
		found_begun(prefilter, text, at, end, rules);
}

/* Every pattern of the buckets whose bits are set can begin that many bytes before `at`. */
static void found_heads(const struct regex_prefilter *prefilter, uint64_t bits, size_t at,
			const struct regex_active *rules)
{
	while (bits) {
		unsigned int bit = (unsigned int)__builtin_ctzll(bits);
		unsigned int b = bit / REGEX_HEAD_MAX, bytes = bit % REGEX_HEAD_MAX + 1;

		for (size_t i = prefilter->bucket[b]; i < prefilter->bucket[b + 1]; i++)
			lower(rules, prefilter->ordered[i], at - bytes);
		bits &= bits - 1;
	}
}

static void run_heads(const struct regex_prefilter *prefilter, const uint8_t *text, size_t begin,
		      size_t end, const struct regex_active *rules)
{
	const struct regex_heads *heads = &prefilter->heads;
	uint64_t state = 0, wanted = heads->end;

	for (size_t at = begin; at < end; at++) {
		uint64_t hits;

		state = (state << 1 | heads->begin) & heads->masks[text[at]];
		hits = state & wanted;
		if (__builtin_expect(!hits, 1))
			continue;
		found_heads(prefilter, hits, at + 1, rules);
		/* The first place of a bucket is all that is asked for. */
		wanted &= ~hits;
	}
	found_heads(prefilter, state, end, rules);
}

void regex_prefilter_run(const struct regex_prefilter *prefilter, const uint8_t *text, size_t begin,
			 size_t end, const struct regex_active *rules)
{
	if (prefilter->use_count)
		run_literals(prefilter, text, begin, end, rules);
	if (prefilter->heads.buckets)
		run_heads(prefilter, text, begin, end, rules);
}
