/* SPDX-License-Identifier: Apache-2.0 */
#include "core/terms_tail.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/utf8.h"

/* --- What terms are made of ------------------------------------------------------------------ */

static int compare_tails(const void *a, const void *b)
{
	const struct terms_tail *x = a, *y = b;

	if (x->base != y->base)
		return x->base < y->base ? -1 : 1;
	return x->rune < y->rune ? -1 : x->rune > y->rune;
}

static uint32_t base_of(const struct fold *fold, uint32_t rune)
{
	uint32_t parts[FOLD_PARTS_MAX];

	/* No rune below decomposes. */
	if (rune < 0xc0)
		return rune;
	fold_decompose(fold, rune, parts);
	return parts[0];
}

/* The runes of a literal; what is known of each depends on the one after it. */
static int add_literal(const struct terms *terms, const struct terms_literal *literal,
		       struct terms_tail *tails, size_t *count)
{
	size_t at = 0;
	uint32_t rune;

	at = fold_decode(literal->text, &rune);
	for (bool first = true, last = false; !last; first = false) {
		struct terms_tail *tail = &tails[(*count)++];
		int64_t entry = 0;

		*tail = (struct terms_tail){.base = base_of(terms->fold, rune),
					    .rune = rune,
					    .begins = first,
					    .open = true};
		last = at == literal->len;
		if (last)
			break;
		at += fold_decode(literal->text + at, &rune);
		entry = fold_rune(terms->fold, rune);
		if (entry < 0)
			return (int)entry;
		tail->open = !(entry & FOLD_BEFORE);
	}
	return 0;
}

static size_t merge_tails(struct terms_tail *tails, size_t count)
{
	size_t kept = 0;

	qsort(tails, count, sizeof(*tails), compare_tails);
	for (size_t i = 0; i < count; i++) {
		if (kept && tails[kept - 1].rune == tails[i].rune) {
			tails[kept - 1].begins |= tails[i].begins;
			tails[kept - 1].open |= tails[i].open;
		} else {
			tails[kept++] = tails[i];
		}
	}
	return kept;
}

/* The tails of a base; *ret_end is past the last. */
static const struct terms_tail *find_tails(const struct terms *terms, uint32_t base,
					   const struct terms_tail **ret_end)
{
	const struct terms_tail *tails = terms->tails;
	size_t low = 0, high = terms->tail_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (tails[middle].base < base)
			low = middle + 1;
		else
			high = middle;
	}
	for (high = low; high < terms->tail_count && tails[high].base == base;)
		high++;
	*ret_end = tails + high;
	return tails + low;
}

/* A term begins with something that the rune, folded, may be a part of. */
static bool begins(const struct terms *terms, uint32_t rune)
{
	const struct terms_tail *end, *tail;

	for (tail = find_tails(terms, base_of(terms->fold, rune), &end); tail < end; tail++)
		if (tail->begins)
			return true;
	return false;
}

static bool any_begins(const struct terms *terms, const uint8_t *text, size_t len)
{
	uint32_t rune;

	for (size_t at = 0; at < len;) {
		at += fold_decode(text + at, &rune);
		if (begins(terms, rune))
			return true;
	}
	return false;
}

static int look_at_mark(void *context, uint32_t rune)
{
	cleanup(fold_result_done) struct fold_result result = {0};
	struct terms *terms = context;
	int32_t runes[] = {(int32_t)rune};
	const struct fold_segment mark = {.runes = runes, .count = 1};
	int r = fold_segment_apply(terms->fold, &mark, &result);

	if (r < 0 || !any_begins(terms, result.text, result.len))
		return r;
	if (fold_only_trails(terms->fold, rune))
		terms->trails = true;
	else
		terms->mixes = true;
	return terms->mixes;
}

int terms_tail_build(struct terms *terms, const struct terms_literal *literals, size_t count)
{
	size_t most = 0, all = 0;
	int r = 0;

	for (size_t i = 0; i < count; i++)
		most += literals[i].len;
	terms->tails = calloc(most + 1, sizeof(*terms->tails));
	if (!terms->tails)
		return -ENOMEM;
	for (size_t i = 0; i < count && r == 0; i++)
		r = add_literal(terms, &literals[i], terms->tails, &all);
	if (r < 0)
		return r;
	terms->tail_count = merge_tails(terms->tails, all);
	r = fold_each_mark(terms->fold, look_at_mark, terms);
	return r < 0 ? r : 0;
}

/* --- What a segment can become --------------------------------------------------------------- */

static bool has(const uint32_t *parts, unsigned int count, uint32_t part)
{
	for (unsigned int i = 0; i < count; i++)
		if (parts[i] == part)
			return true;
	return false;
}

/*
 * One folded rune can become another by marks after it. Up to its last starter it
 * stays what it is. What its marks have composed to they compose to again, unless
 * a mark that it does not have comes between; then they follow the new rune, where
 * only an open one may be followed by a mark.
 */
static bool can_become(const struct fold *fold, uint32_t from, const struct terms_tail *tail)
{
	uint32_t old[FOLD_PARTS_MAX], new[FOLD_PARTS_MAX];
	unsigned int old_count, new_count, kept = 1, shared = 0;

	if (from == tail->rune || !fold_composes(fold))
		return true;
	old_count = fold_decompose(fold, from, old);
	new_count = fold_decompose(fold, tail->rune, new);
	for (unsigned int i = 1; i < old_count; i++)
		if (!fold_is_mark(old[i]))
			kept = i + 1;
	if (new_count < kept || memcmp(old, new, kept * sizeof(*old)) != 0)
		return false;
	for (unsigned int i = kept; i < old_count; i++)
		shared += has(new + kept, new_count - kept, old[i]);
	if (!tail->open)
		return shared == old_count - kept;
	return new_count > kept + shared;
}

static uint32_t step_rune(const struct terms *terms, uint32_t state, uint32_t rune)
{
	uint8_t bytes[UTF8_MAX];
	unsigned int len = utf8_encode(rune, bytes);

	for (unsigned int i = 0; i < len; i++)
		state = terms_step(terms, state, bytes[i]) & ~TERMS_MATCH;
	return state;
}

/* Runes of the longest beginning of a term that ends with what the rune can become. */
static uint32_t reach(const struct terms *terms, uint32_t state, uint32_t rune, bool alone)
{
	const struct terms_tail *end, *tail;
	uint32_t most = 0;

	for (tail = find_tails(terms, base_of(terms->fold, rune), &end); tail < end; tail++)
		if (!alone || can_become(terms->fold, rune, tail))
			most = MAX(most, terms->runes[step_rune(terms, state, tail->rune)]);
	return most;
}

static int judge_folded(const struct terms *terms, uint32_t state,
			const struct fold_segment *segment, const uint8_t *text, size_t len,
			struct terms_tail_answer *ret_answer)
{
	struct terms_tail_answer answer;
	uint32_t first = 0, held = terms->runes[state];
	int64_t entry = fold_rune(terms->fold, (uint32_t)segment->runes[0]);
	uint32_t parts[FOLD_PARTS_MAX];
	bool bare = false;
	size_t at = 0;

	if (entry < 0)
		return (int)entry;
	/*
	 * A starter stays first in whatever the segment folds to, but for one that a
	 * step drops: that leaves the marks on it to lead.
	 */
	if ((entry & FOLD_BEFORE) && !(entry & FOLD_GONE) && len > 0) {
		at = fold_decode(text, &first);
		held = reach(terms, state, first, /* alone= */ at == len);
		answer.before = held ? held - 1 : 0;
		/* No mark that follows can part it: all of it is one starter. */
		bare = at == len && fold_decompose(terms->fold, first, parts) == 1;
	} else {
		answer.before = held;
	}
	answer.clear = held == 0;
	if ((terms->mixes && !bare) || (terms->trails && at < len) ||
	    any_begins(terms, text + at, len - at))
		answer.clear = false;
	*ret_answer = answer;
	return 0;
}

int terms_tail_judge(const struct terms *terms, uint32_t state, const struct fold_segment *segment,
		     struct terms_tail_answer *ret_answer)
{
	cleanup(fold_result_done) struct fold_result result = {0};
	uint8_t rune[UTF8_MAX];
	int r;

	if (segment->count == 1 && (segment->entry & FOLD_SINGLE)) {
		unsigned int len = utf8_encode(segment->entry & FOLD_RUNE, rune);

		return judge_folded(terms, state, segment, rune, len, ret_answer);
	}
	if (segment->count > TERMS_TAIL_FOLDED_MAX) {
		*ret_answer = (struct terms_tail_answer){.before = terms->runes[state]};
		return 0;
	}
	r = fold_segment_apply(terms->fold, segment, &result);
	if (r < 0)
		return r;
	return judge_folded(terms, state, segment, result.text, result.len, ret_answer);
}

bool terms_tail_stays_clear(const struct terms *terms, const struct fold_segment *segment)
{
	uint32_t entry = segment->entry;

	if (terms->mixes || terms->trails)
		return false;
	return (entry & FOLD_GONE) || ((entry & FOLD_SINGLE) && !begins(terms, entry & FOLD_RUNE));
}
