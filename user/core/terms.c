/* SPDX-License-Identifier: Apache-2.0 */
#include "core/terms.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/terms_automaton.h"
#include "core/terms_tail.h"
#include "core/utf8.h"

static void free_literals(struct terms_literal *literals, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(literals[i].text);
	free(literals);
}

static int fold_literal(const struct fold *fold, const char *term, struct terms_literal *literal)
{
	size_t len = strlen(term);
	uint64_t runes;

	if (utf8_prefix((const uint8_t *)term, len, &runes) != len)
		return -EINVAL;
	if (fold)
		return fold_text(fold, (const uint8_t *)term, len, &literal->text, &literal->len);
	literal->text = (uint8_t *)strdup(term);
	literal->len = len;
	return literal->text ? 0 : -ENOMEM;
}

static int fold_literals(const struct fold *fold, const char *const *terms, size_t count,
			 struct terms_literal *literals, size_t *ret_bad)
{
	for (size_t i = 0; i < count; i++) {
		int r = fold_literal(fold, terms[i], &literals[i]);

		if (r == -ENOMEM)
			return r;
		/* Too long a run of combining marks, or nothing left of it. */
		if (r < 0 || literals[i].len == 0) {
			*ret_bad = i;
			return -EINVAL;
		}
		literals[i].index = (uint32_t)i;
	}
	return 0;
}

int terms_new(const char *const *terms, size_t count, unsigned int fold, size_t *ret_bad,
	      struct terms **ret_terms)
{
	cleanup(terms_freep) struct terms *built = calloc(1, sizeof(*built));
	struct terms_literal *literals;
	int r = 0;

	if (!built)
		return -ENOMEM;
	if (count >= TERMS_NO_TERM)
		return -E2BIG;
	if (fold)
		r = fold_new(fold, &built->fold);
	if (r < 0)
		return r;
	literals = calloc(count + 1, sizeof(*literals));
	if (!literals)
		return -ENOMEM;
	r = fold_literals(built->fold, terms, count, literals, ret_bad);
	if (r == 0 && built->fold)
		r = terms_tail_build(built, literals, count);
	if (r == 0)
		r = terms_build(built, literals, count);
	free_literals(literals, count);
	if (r < 0)
		return r;
	*ret_terms = take_ptr(built);
	return 0;
}

void terms_free(struct terms *terms)
{
	if (!terms)
		return;
	fold_free(terms->fold);
	free(terms->rows);
	free(terms->first);
	free(terms->fail);
	free(terms->labels);
	free(terms->runes);
	free(terms->term);
	free(terms->lengths);
	free(terms->pairs);
	free(terms->tails);
	free(terms);
}

uint32_t terms_longest(const struct terms *terms)
{
	return terms->longest;
}

/*
 * From the root: the next position where a term can begin, or the first of the
 * last three bytes, which only the automaton can judge.
 */
static size_t skip(const uint16_t *pairs, const uint8_t *text, size_t at, size_t len)
{
	for (; at + TERMS_PAIR_SPAN + 3 <= len; at += 4) {
		uint32_t p0 = pairs[terms_pair(text + at)];
		uint32_t p1 = pairs[terms_pair(text + at + 1)];
		uint32_t p2 = pairs[terms_pair(text + at + 2)];
		uint32_t p3 = pairs[terms_pair(text + at + 3)];
		uint32_t p4 = pairs[terms_pair(text + at + 4)];
		uint32_t p5 = pairs[terms_pair(text + at + 5)];

		if ((p0 & p2 >> TERMS_BUCKETS) | (p1 & p3 >> TERMS_BUCKETS) |
		    (p2 & p4 >> TERMS_BUCKETS) | (p3 & p5 >> TERMS_BUCKETS))
			break;
	}
	while (at + TERMS_PAIR_SPAN <= len &&
	       !(pairs[terms_pair(text + at)] & pairs[terms_pair(text + at + 2)] >> TERMS_BUCKETS))
		at++;
	return at;
}

size_t terms_run(const struct terms *terms, uint32_t *state, const uint8_t *text, size_t len,
		 bool *ret_matched)
{
	uint32_t s = *state;
	size_t at = 0;

	while (at < len) {
		if (!s)
			at = skip(terms->pairs, text, at, len);
		if (at == len)
			break;
		s = terms_step(terms, s, text[at++]);
		if (s & TERMS_MATCH)
			break;
	}
	*ret_matched = s & TERMS_MATCH;
	*state = s & ~TERMS_MATCH;
	return at;
}

static uint64_t count_runes(const uint8_t *text, size_t len)
{
	uint64_t runes = 0;

	for (size_t i = 0; i < len; i++)
		runes += (text[i] & 0xc0) != 0x80;
	return runes;
}

void terms_cursor_init(struct terms_cursor *cursor)
{
	*cursor = (struct terms_cursor){0};
}

void terms_cursor_done(struct terms_cursor *cursor)
{
	terms_cursor_done_folded(cursor);
	terms_cursor_init(cursor);
}

int terms_scan(const struct terms *terms, struct terms_cursor *cursor, const uint8_t *text,
	       size_t len, uint64_t runes)
{
	size_t at;
	int r;

	if (cursor->matched) {
		cursor->runes += runes;
		return 1;
	}
	if (terms->fold) {
		r = terms_scan_folded(terms, cursor, text, len);
		if (r < 0)
			return r;
	} else {
		at = terms_run(terms, &cursor->state, text, len, &cursor->matched);
		if (cursor->matched) {
			uint32_t term = terms->term[cursor->state];

			cursor->match.term = term;
			cursor->match.end = cursor->runes + count_runes(text, at);
			cursor->match.start = cursor->match.end - terms->lengths[term];
		}
	}
	cursor->runes += runes;
	return cursor->matched;
}

int terms_end(const struct terms *terms, struct terms_cursor *cursor)
{
	if (cursor->matched)
		return 1;
	if (terms->fold) {
		int r = terms_end_folded(terms, cursor);

		if (r < 0 || cursor->matched)
			return r < 0 ? r : 1;
	}
	cursor->state = 0;
	cursor->runes = 0;
	return 0;
}

uint64_t terms_pending(const struct terms *terms, const struct terms_cursor *cursor)
{
	if (terms->fold)
		return cursor->runes - terms_cleared_folded(terms, cursor);
	if (cursor->matched)
		return cursor->runes - (cursor->match.end - terms->runes[cursor->state]);
	return terms->runes[cursor->state];
}
