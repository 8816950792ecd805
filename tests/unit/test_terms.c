/* SPDX-License-Identifier: Apache-2.0 */
/* The automaton without folding, against a search that compares every term everywhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "core/terms.h"
#include "core/terms_automaton.h"

#define TERM_RUNES 8u
#define TEXT_RUNES 96u

/* A string as runes of up to four bytes, so that it can be cut anywhere between them. */
struct word {
	const char *runes[TEXT_RUNES];
	unsigned int count;
	char bytes[TEXT_RUNES * 4 + 1];
	unsigned int len;
};

static unsigned int draw(unsigned int *seed, unsigned int below)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (*seed >> 8) % below;
}

static void word_append(struct word *word, const char *rune)
{
	word->runes[word->count++] = rune;
	strcpy(word->bytes + word->len, rune);
	word->len += (unsigned int)strlen(rune);
}

static void word_random(struct word *word, unsigned int runes, const char *const *alphabet,
			unsigned int letters, unsigned int *seed)
{
	*word = (struct word){0};
	for (unsigned int i = 0; i < runes; i++)
		word_append(word, alphabet[draw(seed, letters)]);
}

/* Does term lie in text so that it ends after `end` runes? */
static bool ends_at(const struct word *term, const struct word *text, unsigned int end)
{
	if (term->count > end)
		return false;
	for (unsigned int i = 0; i < term->count; i++)
		if (strcmp(term->runes[i], text->runes[end - term->count + i]) != 0)
			return false;
	return true;
}

/* The match that ends first, of those the longest, of those the first given. */
static bool search(const struct word *terms, unsigned int count, const struct word *text,
		   struct terms_match *match)
{
	for (unsigned int end = 1; end <= text->count; end++) {
		const struct word *best = NULL;

		for (unsigned int t = 0; t < count; t++)
			if (ends_at(&terms[t], text, end) &&
			    (!best || terms[t].count > best->count))
				best = &terms[t];
		if (!best)
			continue;
		match->term = (uint32_t)(best - terms);
		match->end = end;
		match->start = end - best->count;
		return true;
	}
	return false;
}

/* The longest suffix of the first `end` runes that is a proper prefix of a term. */
static unsigned int hold_back(const struct word *terms, unsigned int count, const struct word *text,
			      unsigned int end)
{
	unsigned int longest = 0;

	for (unsigned int t = 0; t < count; t++) {
		struct word prefix = terms[t];

		for (prefix.count--; prefix.count > longest; prefix.count--)
			if (ends_at(&prefix, text, end))
				longest = prefix.count;
	}
	return longest;
}

static struct terms *build(const struct word *words, unsigned int count)
{
	const char *list[16];
	struct terms *terms = NULL;
	size_t bad;

	for (unsigned int i = 0; i < count; i++)
		list[i] = words[i].bytes;
	assert_int_equal(terms_new(list, count, 0, &bad, &terms), 0);
	return terms;
}

static void assert_match(const struct terms_cursor *cursor, const struct terms_match *want)
{
	assert_true(cursor->matched);
	assert_int_equal(cursor->match.term, want->term);
	assert_int_equal(cursor->match.start, want->start);
	assert_int_equal(cursor->match.end, want->end);
}

/* Feeds runes [begin, end); checks the answer and the hold-back against the naive ones. */
static int feed(const struct terms *terms, struct terms_cursor *cursor, const struct word *text,
		unsigned int begin, unsigned int end)
{
	size_t from = 0, to = 0;

	for (unsigned int i = 0; i < end; i++) {
		to += strlen(text->runes[i]);
		if (i < begin)
			from = to;
	}
	return terms_scan(terms, cursor, (const uint8_t *)text->bytes + from, to - from,
			  end - begin);
}

static void check_splits(const struct terms *terms, const struct word *words, unsigned int count,
			 const struct word *text, unsigned int step, unsigned int *seed)
{
	struct terms_cursor cursor;
	struct terms_match want;
	bool match = search(words, count, text, &want);
	unsigned int at = 0;

	terms_cursor_init(&cursor);
	assert_int_equal(terms_pending(terms, &cursor), 0);
	while (at < text->count) {
		unsigned int next = at + (step ? step : draw(seed, 9));
		int r;

		next = MIN(next, text->count);
		r = feed(terms, &cursor, text, at, next);
		at = next;
		assert_int_equal(r, match && want.end <= at);
		if (r) {
			assert_match(&cursor, &want);
			/* At least the match is held, and only what was seen. */
			assert_true(terms_pending(terms, &cursor) >= at - want.start);
			assert_true(terms_pending(terms, &cursor) <= at);
			continue;
		}
		assert_int_equal(cursor.runes, at);
		assert_int_equal(terms_pending(terms, &cursor), hold_back(words, count, text, at));
	}
	assert_int_equal(terms_end(terms, &cursor), match);
	if (match)
		assert_match(&cursor, &want);
	else
		assert_int_equal(terms_pending(terms, &cursor), 0);
	terms_cursor_done(&cursor);
}

static void random_terms_agree_with_a_naive_search(void **state)
{
	/* Runes that share lead or trail bytes, of each length. */
	static const char *const alphabet[] = {"a",
					       "b",
					       "\xc3\xa9",
					       "\xc3\xa8",
					       "\xe2\x82\xac",
					       "\xe2\x82\xad",
					       "\xf0\x9f\x98\x80",
					       "\xf0\x9f\x98\x81"};
	struct word words[8], text;
	unsigned int seed = 1;

	(void)state;
	for (unsigned int round = 0; round < 6000; round++) {
		unsigned int letters = 1 + draw(&seed, ARRAY_SIZE(alphabet));
		unsigned int count = 1 + draw(&seed, ARRAY_SIZE(words));
		unsigned int longest = 0;
		struct terms *terms;

		for (unsigned int i = 0; i < count; i++) {
			word_random(&words[i], 1 + draw(&seed, TERM_RUNES), alphabet, letters,
				    &seed);
			longest = MAX(longest, words[i].count);
		}
		terms = build(words, count);
		assert_int_equal(terms_longest(terms), longest);
		for (unsigned int i = 0; i < 4; i++) {
			word_random(&text, draw(&seed, 40), alphabet, letters, &seed);
			check_splits(terms, words, count, &text, TEXT_RUNES, &seed);
			check_splits(terms, words, count, &text, 1, &seed);
			check_splits(terms, words, count, &text, 2, &seed);
			check_splits(terms, words, count, &text, 0, &seed);
		}
		terms_free(terms);
	}
}

/* Text in which a term begins seldom: what skips ahead must stop where one does. */
static void rare_terms_are_found_in_long_text(void **state)
{
	static const char *const filler[] = {"x", "y", "z", " ", "\xc3\xb6", "\xe4\xb8\xad"};
	static const char *const letters[] = {"a", "b", "c", "x", "\xc3\xb6"};
	struct word words[5], text, piece;
	unsigned int seed = 7;

	(void)state;
	for (unsigned int round = 0; round < 4000; round++) {
		unsigned int count = 1 + draw(&seed, ARRAY_SIZE(words));
		struct terms *terms;

		for (unsigned int i = 0; i < count; i++) {
			word_random(&words[i], draw(&seed, TERM_RUNES - 1), letters,
				    ARRAY_SIZE(letters), &seed);
			word_append(&words[i], "q");
		}
		terms = build(words, count);
		word_random(&text, 20 + draw(&seed, 50), filler, ARRAY_SIZE(filler), &seed);
		/* A term, or all but its end, somewhere near the end. */
		piece = words[draw(&seed, count)];
		for (unsigned int i = 0; i + draw(&seed, 2) < piece.count; i++)
			word_append(&text, piece.runes[i]);
		for (unsigned int i = draw(&seed, 5); i > 0; i--)
			word_append(&text, filler[draw(&seed, ARRAY_SIZE(filler))]);
		check_splits(terms, words, count, &text, TEXT_RUNES, &seed);
		check_splits(terms, words, count, &text, 1, &seed);
		check_splits(terms, words, count, &text, 0, &seed);
		terms_free(terms);
	}
}

#define MANY	 6000u
#define MANY_LEN 16u

static void make_many(char (*texts)[MANY_LEN + 1], const char **list, unsigned int *seed)
{
	for (unsigned int i = 0; i < MANY; i++) {
		unsigned int at = 0, runes = 3 + draw(seed, 5);

		for (unsigned int k = 0; k < runes; k++) {
			/* U+0080..U+07FF and ASCII: most byte values occur. */
			unsigned int rune = 0x80 + draw(seed, 0x780);

			if (draw(seed, 3) == 0) {
				texts[i][at++] = (char)('!' + draw(seed, 90));
				continue;
			}
			texts[i][at++] = (char)(0xc0 | rune >> 6);
			texts[i][at++] = (char)(0x80 | (rune & 0x3f));
		}
		texts[i][at] = '\0';
		list[i] = texts[i];
	}
}

/* End of the first occurrence of any term, in bytes, or 0. */
static size_t first_end(const char *const *list, const char *text)
{
	size_t first = 0;

	for (unsigned int i = 0; i < MANY; i++) {
		const char *found = strstr(text, list[i]);
		size_t end = found ? (size_t)(found - text) + strlen(list[i]) : 0;

		if (end && (!first || end < first))
			first = end;
	}
	return first;
}

static uint64_t count_runes(const char *text, size_t len)
{
	uint64_t runes = 0;

	for (size_t i = 0; i < len; i++)
		runes += ((uint8_t)text[i] & 0xc0) != 0x80;
	return runes;
}

/* More states than have rows: the others follow their links. */
static void many_terms_outgrow_the_rows(void **state)
{
	char(*texts)[MANY_LEN + 1] = calloc(MANY, sizeof(*texts));
	const char **list = calloc(MANY, sizeof(*list));
	struct terms *terms = NULL;
	unsigned int seed = 11, matches = 0;
	size_t bad;

	(void)state;
	make_many(texts, list, &seed);
	assert_int_equal(terms_new(list, MANY, 0, &bad, &terms), 0);
	assert_true(terms->dense < terms->states);
	for (unsigned int round = 0; round < 300; round++) {
		char text[200] = "";
		struct terms_cursor cursor;
		size_t end, len;
		int r = 0;

		/* Terms without their last rune, so that many all but match. */
		while (strlen(text) < 150) {
			const char *term = list[draw(&seed, MANY)];
			size_t keep = strlen(term);

			if (draw(&seed, 12))
				do
					keep--;
				while (((uint8_t)term[keep] & 0xc0) == 0x80);
			strncat(text, term, keep);
		}
		end = first_end(list, text);
		len = strlen(text);
		terms_cursor_init(&cursor);
		for (size_t at = 0, next; at < len && !r; at = next) {
			next = at + 1;
			while (((uint8_t)text[next] & 0xc0) == 0x80)
				next++;
			r = terms_scan(terms, &cursor, (const uint8_t *)text + at, next - at, 1);
		}
		assert_int_equal(r, end > 0);
		if (r)
			assert_int_equal(cursor.match.end, count_runes(text, end));
		matches += r == 1;
		terms_cursor_done(&cursor);
	}
	assert_in_range(matches, 50, 299);
	terms_free(terms);
	free(texts);
	free(list);
}

static void terms_that_cannot_be_searched_are_refused(void **state)
{
	static const char *const empty[] = {"a", "", "b"};
	static const char *const ill[] = {"a", "b", "\xc3"};
	static const char *const surrogate[] = {"\xed\xa0\x80"};
	static const char *const fine[] = {"a"};
	struct terms *terms = NULL;
	size_t bad = 99;

	(void)state;
	assert_int_equal(terms_new(fine, 1, 1u << 30, &bad, &terms), -EINVAL);
	assert_int_equal(bad, 99);
	assert_int_equal(terms_new(empty, 3, 0, &bad, &terms), -EINVAL);
	assert_int_equal(bad, 1);
	assert_int_equal(terms_new(ill, 3, 0, &bad, &terms), -EINVAL);
	assert_int_equal(bad, 2);
	assert_int_equal(terms_new(surrogate, 1, 0, &bad, &terms), -EINVAL);
	assert_int_equal(bad, 0);
	assert_null(terms);
	terms_free(NULL);
}

static void no_terms_match_nothing(void **state)
{
	struct terms_cursor cursor;
	struct terms *terms = NULL;
	size_t bad;

	(void)state;
	assert_int_equal(terms_new(NULL, 0, 0, &bad, &terms), 0);
	assert_int_equal(terms_longest(terms), 0);
	terms_cursor_init(&cursor);
	assert_int_equal(terms_scan(terms, &cursor, (const uint8_t *)"any text", 8, 8), 0);
	assert_int_equal(terms_pending(terms, &cursor), 0);
	terms_cursor_done(&cursor);
	terms_free(terms);
}

static void states_up_to_the_cap(void **state)
{
	char *text = malloc(TERMS_STATES_MAX + 1);
	const char *list[] = {text};
	struct terms_cursor cursor;
	struct terms *terms = NULL;
	size_t bad, len = TERMS_STATES_MAX;

	(void)state;
	assert_non_null(text);
	/* The root is a state too. */
	memset(text, 'a', len);
	text[len] = '\0';
	assert_int_equal(terms_new(list, 1, 0, &bad, &terms), -E2BIG);
	assert_null(terms);
	text[--len] = '\0';
	assert_int_equal(terms_new(list, 1, 0, &bad, &terms), 0);
	assert_int_equal(terms_longest(terms), len);
	terms_cursor_init(&cursor);
	assert_int_equal(terms_scan(terms, &cursor, (const uint8_t *)text, len - 1, len - 1), 0);
	assert_int_equal(terms_pending(terms, &cursor), len - 1);
	assert_int_equal(terms_scan(terms, &cursor, (const uint8_t *)"b", 1, 1), 0);
	assert_int_equal(terms_pending(terms, &cursor), 0);
	assert_int_equal(terms_scan(terms, &cursor, (const uint8_t *)text, len, len), 1);
	assert_int_equal(cursor.match.start, len);
	terms_cursor_done(&cursor);
	terms_free(terms);
	free(text);
}

static void of_equal_terms_the_first_is_reported(void **state)
{
	static const char *const list[] = {"xab", "ab", "b", "ab", "xab"};
	struct terms_cursor cursor;
	struct terms *terms = NULL;
	size_t bad;

	(void)state;
	assert_int_equal(terms_new(list + 1, 4, 0, &bad, &terms), 0);
	terms_cursor_init(&cursor);
	assert_int_equal(terms_scan(terms, &cursor, (const uint8_t *)"..xa", 4, 4), 0);
	assert_int_equal(terms_pending(terms, &cursor), 2);
	assert_int_equal(terms_scan(terms, &cursor, (const uint8_t *)"b", 1, 1), 1);
	assert_int_equal(cursor.match.term, 3);
	assert_int_equal(cursor.match.start, 2);
	terms_cursor_done(&cursor);
	assert_int_equal(terms_scan(terms, &cursor, (const uint8_t *)"yab", 3, 3), 1);
	assert_int_equal(cursor.match.term, 0);
	assert_int_equal(cursor.match.start, 1);
	/* Final: more text, and the end of it, change nothing. */
	assert_int_equal(terms_scan(terms, &cursor, (const uint8_t *)"xab", 3, 3), 1);
	assert_int_equal(terms_end(terms, &cursor), 1);
	assert_int_equal(cursor.match.start, 1);
	assert_int_equal(cursor.match.end, 3);
	terms_cursor_done(&cursor);
	terms_free(terms);
}

static void a_term_does_not_span_two_texts(void **state)
{
	static const char *const list[] = {"bomb"};
	struct terms_cursor cursor;
	struct terms *terms = NULL;
	size_t bad;

	(void)state;
	assert_int_equal(terms_new(list, 1, 0, &bad, &terms), 0);
	terms_cursor_init(&cursor);
	assert_int_equal(terms_scan(terms, &cursor, (const uint8_t *)"a bo", 4, 4), 0);
	assert_int_equal(terms_end(terms, &cursor), 0);
	assert_int_equal(cursor.runes, 0);
	assert_int_equal(terms_pending(terms, &cursor), 0);
	assert_int_equal(terms_scan(terms, &cursor, (const uint8_t *)"mb", 2, 2), 0);
	assert_int_equal(terms_scan(terms, &cursor, (const uint8_t *)"bomb", 4, 4), 1);
	assert_int_equal(cursor.match.start, 2);
	terms_cursor_done(&cursor);
	terms_free(terms);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_terms_agree_with_a_naive_search),
		cmocka_unit_test(rare_terms_are_found_in_long_text),
		cmocka_unit_test(many_terms_outgrow_the_rows),
		cmocka_unit_test(terms_that_cannot_be_searched_are_refused),
		cmocka_unit_test(no_terms_match_nothing),
		cmocka_unit_test(states_up_to_the_cap),
		cmocka_unit_test(of_equal_terms_the_first_is_reported),
		cmocka_unit_test(a_term_does_not_span_two_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
