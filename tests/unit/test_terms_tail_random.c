/* SPDX-License-Identifier: Apache-2.0 */
/*
 * No part of a match is ever cleared, whatever it goes on with: random texts, and every
 * rune that has a decomposition.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unicode/uchar.h>
#include <unicode/unorm2.h>
#include <unicode/ustring.h>
#include <unicode/utf16.h>

#include "base/macros.h"
#include "core/terms.h"
#include "core/utf8.h"
#include "unit/fold_reference.h"

/* Draws of the random test: enough to fail where a rule of it is taken away. */
#define ROUNDS	      600u
#define CONTINUATIONS 12u

#define NFC  TERMS_FOLD_NFC
#define NFKC TERMS_FOLD_NFKC
#define CASE TERMS_FOLD_CASEFOLD
#define IGN  TERMS_FOLD_IGNORABLE
#define MN   TERMS_FOLD_STRIP_MN
#define CONF TERMS_FOLD_CONFUSABLE

static bool normalizes(unsigned int steps)
{
	return steps & (NFC | NFKC | MN | CONF);
}

/* --- Nothing of a match is cleared --------------------------------------------------------- */

#define UNITS_SIZE 8192

struct units {
	UChar units[UNITS_SIZE];
	int32_t len;
};

static void decompose(const uint8_t *text, size_t len, struct units *units)
{
	UErrorCode status = U_ZERO_ERROR;
	const UNormalizer2 *nfd = unorm2_getNFDInstance(&status);
	static UChar composed[UNITS_SIZE];
	int32_t composed_len = 0;

	u_strFromUTF8(composed, UNITS_SIZE, &composed_len, (const char *)text, (int32_t)len,
		      &status);
	units->len =
		unorm2_normalize(nfd, composed, composed_len, units->units, UNITS_SIZE, &status);
	assert_true(U_SUCCESS(status));
}

/*
 * The text's first match has nothing of its first runes. Either it is there without
 * them, or they stand unmoved, decomposed, at the front of the whole, before it.
 */
static bool is_free_of(unsigned int steps, const struct text *text, uint64_t cleared,
		       const char *term)
{
	static uint8_t whole[FOLDED_SIZE + 1], part[FOLDED_SIZE + 1];
	static struct units of_part, of_whole, of_front;
	unsigned int count = (unsigned int)cleared;
	size_t len = fold_whole(steps, text->runes + count, text->count - count, part);
	const char *found;

	part[len] = '\0';
	if (strstr((const char *)part, term))
		return true;
	len = fold_whole(steps, text->runes, text->count, whole);
	whole[len] = '\0';
	found = strstr((const char *)whole, term);
	assert_non_null(found);
	decompose(whole, len, &of_whole);
	decompose(whole, (size_t)(found - (const char *)whole), &of_front);
	decompose(part, fold_whole(steps, text->runes, count, part), &of_part);
	return of_front.len >= of_part.len &&
	       !memcmp(of_part.units, of_whole.units, (size_t)of_part.len * sizeof(UChar));
}

static bool whole_has(unsigned int steps, const struct text *text, const char *term)
{
	static uint8_t whole[FOLDED_SIZE + 1];

	whole[fold_whole(steps, text->runes, text->count, whole)] = '\0';
	return strstr((const char *)whole, term);
}

static uint64_t cleared_by(const struct terms *terms, const struct text *text, unsigned int runes)
{
	struct terms_cursor cursor;
	uint64_t cleared;
	int r;

	terms_cursor_init(&cursor);
	r = terms_scan(terms, &cursor, text->bytes, text->offsets[runes], runes);
	assert_in_range(r, 0, 1);
	cleared = runes - terms_pending(terms, &cursor);
	terms_cursor_done(&cursor);
	return cleared;
}

static void report(unsigned int steps, const struct text *text, unsigned int runes,
		   uint64_t cleared, const char *term)
{
	print_error("steps 0x%x, %u runes given, %u cleared, of", steps, runes,
		    (unsigned int)cleared);
	for (unsigned int i = 0; i < text->count; i++)
		print_error(" %x", text->runes[i]);
	print_error(", term '%s'\n", term);
}

/* A term of up to four runes across the point where the text is cut. */
static bool pick_term(unsigned int steps, const struct text *text, unsigned int cut,
		      unsigned int *seed, char *term)
{
	static uint8_t folded[FOLDED_SIZE];
	size_t before = fold_whole(steps, text->runes, cut, folded);
	size_t len = fold_whole(steps, text->runes, text->count, folded), begin, end;

	if (len == 0)
		return false;
	begin = MIN(before, len - 1);
	for (unsigned int back = draw(seed, 4); back > 0 && begin > 0; back--)
		for (begin--; begin > 0 && (folded[begin] & 0xc0) == 0x80;)
			begin--;
	while (begin > 0 && (folded[begin] & 0xc0) == 0x80)
		begin--;
	end = begin;
	for (unsigned int runes = 1 + draw(seed, 4); runes > 0 && end < len; runes--)
		for (end++; end < len && (folded[end] & 0xc0) == 0x80;)
			end++;
	memcpy(term, folded + begin, end - begin);
	term[end - begin] = '\0';
	return true;
}

/* Runes that join with what is before them, in the order in which they are found. */
struct pool {
	uint32_t joining[2048], composed[16384];
	unsigned int joining_count, composed_count;
	unsigned int alphabetic; /* of the composed: those before Hangul's syllables */
};

static void fill_pool(struct pool *pool)
{
	UErrorCode status = U_ZERO_ERROR;
	const UNormalizer2 *nfkc = unorm2_getNFKCInstance(&status);
	const UNormalizer2 *nfd = unorm2_getNFDInstance(&status);

	*pool = (struct pool){.joining_count = 0};
	for (UChar32 rune = 0x80; rune < 0x30000; rune++) {
		UChar parts[16];

		status = U_ZERO_ERROR;
		if (!U_IS_SURROGATE(rune) && !unorm2_hasBoundaryBefore(nfkc, rune))
			pool->joining[pool->joining_count++] = (uint32_t)rune;
		if (unorm2_getDecomposition(nfd, rune, parts, 16, &status) > 1)
			pool->composed[pool->composed_count++] = (uint32_t)rune;
		if (rune < 0xac00)
			pool->alphabetic = pool->composed_count;
	}
	assert_in_range(pool->joining_count, 500, ARRAY_SIZE(pool->joining) - 1);
	assert_in_range(pool->composed_count, 12000, ARRAY_SIZE(pool->composed) - 1);
}

/* The rune, or what it decomposes to. */
static void append_parts(struct text *text, uint32_t rune, bool compatible)
{
	UErrorCode status = U_ZERO_ERROR;
	const UNormalizer2 *form =
		compatible ? unorm2_getNFKCInstance(&status) : unorm2_getNFDInstance(&status);
	UChar parts[32];
	int32_t len = unorm2_getDecomposition(form, (UChar32)rune, parts, 32, &status), at = 0;

	if (len < 0)
		text_append(text, rune);
	while (at < len) {
		UChar32 part;

		U16_NEXT(parts, at, len, part);
		text_append(text, (uint32_t)part);
	}
}

static void append_random(struct text *text, const struct pool *pool, unsigned int *seed)
{
	static const uint32_t near[] = {0x301, 0x302,  0x308,  0x316,  0x323,	0x327,	 0x338,
					0x345, 0x11a8, 0x1161, 0x302e, 0x1d165, 0x1d16d, 0x200b,
					0x34f, 0xfe0f, 0x3099, 0xff9e, 0x9be,	0xcc2,	 0xcc6,
					0xe33, 0x3b1,  0x3b9,  0x2df7, 0x1fbc,	0x1fb3};
	bool any = draw(seed, 4) == 0;
	uint32_t rune = pool->composed[draw(seed, any ? pool->composed_count : pool->alphabetic)];

	switch (draw(seed, 6)) {
	case 0:
		text_append(text, pool->joining[draw(seed, pool->joining_count)]);
		break;
	case 1:
		append_parts(text, rune, /* compatible= */ false);
		break;
	case 2:
		text_append(text, rune);
		break;
	default:
		text_append(text, near[draw(seed, ARRAY_SIZE(near))]);
	}
}

static void no_continuation_matches_in_what_was_cleared(void **state)
{
	struct pool *pool = malloc(sizeof(*pool));
	unsigned int seed = 11, checked = 0;

	(void)state;
	assert_non_null(pool);
	fill_pool(pool);
	for (unsigned int round = 0; round < ROUNDS; round++) {
		unsigned int steps = 1 + round % (STEPS_END - 1), cut;
		static char term[FOLDED_SIZE];
		const char *list[] = {term};
		struct terms *terms = NULL;
		uint64_t cleared;
		struct text text;
		size_t bad;

		if (!normalizes(steps))
			continue;
		text_random(&text, 3, &seed);
		for (unsigned int more = 1 + draw(&seed, 3); more > 0; more--)
			append_random(&text, pool, &seed);
		cut = text.count;
		append_random(&text, pool, &seed);
		append_random(&text, pool, &seed);
		cut -= draw(&seed, 3) == 0 && cut > 1;
		if (!pick_term(steps, &text, cut, &seed, term))
			continue;
		if (!folds_to_itself(steps, term) || terms_new(list, 1, steps, &bad, &terms) < 0)
			continue;
		cleared = cleared_by(terms, &text, cut);
		for (unsigned int i = 0; i < CONTINUATIONS; i++) {
			struct terms_cursor cursor;
			int r;

			terms_cursor_init(&cursor);
			r = terms_scan(terms, &cursor, text.bytes, text.offsets[text.count],
				       text.count);
			if (r == 0)
				r = terms_end(terms, &cursor);
			if (r == 1 && whole_has(steps, &text, term)) {
				checked++;
				if (cursor.match.start < cleared ||
				    !is_free_of(steps, &text, cleared, term)) {
					report(steps, &text, cut, cleared, term);
					fail();
				}
			}
			terms_cursor_done(&cursor);
			text.count = cut;
			append_random(&text, pool, &seed);
			append_random(&text, pool, &seed);
		}
		terms_free(terms);
	}
	assert_true(checked > ROUNDS / 2);
	free(pool);
}

/* --- Every rune that has a decomposition ---------------------------------------------------- */

/* Terms with no two alike in their first runes, so that none holds for another. */
struct batch {
	struct text texts[512];
	char terms[512][TEXT_RUNES * UTF8_MAX + 1];
	const char *list[512];
	unsigned int count;
};

static void add_to_batch(struct batch *batch, const struct text *text)
{
	unsigned int at = batch->count++;

	batch->texts[at] = *text;
	memcpy(batch->terms[at], text->bytes, text->offsets[text->count]);
	batch->terms[at][text->offsets[text->count]] = '\0';
	batch->list[at] = batch->terms[at];
}

/* Each beginning of each text holds what the rest of it needs to match. */
static void check_batch(const struct batch *batch, unsigned int steps)
{
	static uint8_t folded[FOLDED_SIZE + 1];
	struct terms *terms = fold_terms_new(batch->list, batch->count, steps);

	for (unsigned int i = 0; i < batch->count; i++) {
		const struct text *text = &batch->texts[i];
		size_t len = fold_whole(steps, text->runes, text->count, folded);

		folded[len] = '\0';
		for (unsigned int runes = 1; runes < text->count; runes++) {
			uint64_t cleared = cleared_by(terms, text, runes);

			if (!is_free_of(steps, text, cleared, (const char *)folded)) {
				report(steps, text, runes, cleared, (const char *)folded);
				fail();
			}
		}
	}
	terms_free(terms);
}

/* Some step drops all of it, or it is longer than a term of one rune need be. */
static bool folds_away(unsigned int steps, const struct text *text)
{
	static uint8_t folded[FOLDED_SIZE];

	return fold_whole(steps, text->runes, text->count, folded) == 0;
}

static void check_composed(struct batch *batch, const struct pool *pool, unsigned int steps,
			   unsigned int from)
{
	bool *taken = calloc(pool->composed_count, sizeof(*taken));
	unsigned int left = 1;

	assert_non_null(taken);
	while (left > 0) {
		uint32_t last = 0;

		left = batch->count = 0;
		for (unsigned int i = from; i < pool->composed_count; i++) {
			struct text text = {.count = 0};

			/* All of the alphabets, and every so many syllables. */
			if (taken[i] ||
			    (pool->composed[i] >= 0xac00 && pool->composed[i] < 0xd7a4 && i % 97))
				continue;
			if (i % 3 == 1)
				text_append(&text, 'x');
			append_parts(&text, pool->composed[i], steps & NFKC);
			if (i % 3 == 2)
				text_append(&text, 'x');
			left++;
			if (batch->count == ARRAY_SIZE(batch->texts) || text.runes[0] == last)
				continue;
			last = text.runes[0];
			taken[i] = true;
			if (!folds_away(steps, &text))
				add_to_batch(batch, &text);
		}
		if (batch->count)
			check_batch(batch, steps);
	}
	free(taken);
}

static void every_part_of_a_composed_rune_is_held(void **state)
{
	static const unsigned int sets[] = {
		NFC, NFKC, MN, CONF, NFKC | CASE, NFC | CASE | MN, NFKC | CASE | IGN | CONF};
	struct batch *batch = malloc(sizeof(*batch));
	struct pool *pool = malloc(sizeof(*pool));

	(void)state;
	assert_non_null(batch);
	assert_non_null(pool);
	fill_pool(pool);
	for (size_t s = 0; s < ARRAY_SIZE(sets); s++)
		check_composed(batch, pool, sets[s], 0);
	free(batch);
	free(pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_continuation_matches_in_what_was_cleared),
		cmocka_unit_test(every_part_of_a_composed_rune_is_held),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
