/* SPDX-License-Identifier: Apache-2.0 */
/* Terms in text that folds: what is found, where, and what is held back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "core/fold.h"
#include "core/terms.h"
#include "core/utf8.h"
#include "unit/fold_reference.h"

static uint64_t runes_before(const uint8_t *text, size_t len)
{
	uint64_t runes = 0;

	for (size_t i = 0; i < len; i++)
		runes += (text[i] & 0xc0) != 0x80;
	return runes;
}

/* A term of one to four folded runes of the text, so that it is found often. */
static bool pick_term(const uint8_t *folded, size_t len, unsigned int *seed, char *term)
{
	size_t begin, end;

	if (len == 0)
		return false;
	begin = draw(seed, (unsigned int)len);
	while ((folded[begin] & 0xc0) == 0x80)
		begin--;
	end = begin;
	for (unsigned int runes = 1 + draw(seed, 4); runes > 0 && end < len; runes--)
		for (end++; end < len && (folded[end] & 0xc0) == 0x80;)
			end++;
	memcpy(term, folded + begin, end - begin);
	term[end - begin] = '\0';
	return true;
}

/* Runs text through the cursor in pieces; how[i] ends a piece after rune i. */
static int scan_pieces(const struct terms *terms, struct terms_cursor *cursor,
		       const struct text *text, const bool *how, uint64_t *pending)
{
	unsigned int from = 0;
	int r = 0;

	for (unsigned int i = 0; i < text->count; i++) {
		if (!how[i] && i + 1 < text->count)
			continue;
		r = terms_scan(terms, cursor, text->bytes + text->offsets[from],
			       text->offsets[i + 1] - text->offsets[from], i + 1 - from);
		assert_in_range(r, 0, 1);
		from = i + 1;
		pending[i] = terms_pending(terms, cursor);
		assert_true(pending[i] <= from);
	}
	return terms_end(terms, cursor);
}

/*
 * The folded text, the answer for it, and that what is cleared stays so: no match
 * begins in it. That it may fold otherwise by what follows, test_terms_tail.c tries.
 */
static void check_text(const struct terms *terms, unsigned int steps, const char *term,
		       const struct text *text, const bool *how, uint64_t *pending)
{
	static uint8_t folded[FOLDED_SIZE + 1], part[FOLDED_SIZE];
	size_t len = fold_whole(steps, text->runes, text->count, folded);
	const char *found;
	struct terms_cursor cursor;
	uint64_t cleared = 0;
	size_t start;
	int r;

	folded[len] = '\0';
	found = strstr((const char *)folded, term);
	start = found ? (size_t)(found - (const char *)folded) : len;
	terms_cursor_init(&cursor);
	r = scan_pieces(terms, &cursor, text, how, pending);
	assert_int_equal(r, found != NULL);
	if (found) {
		/* Before its start lies none of it, and up to its end all of it. */
		assert_true(cursor.match.start < cursor.match.end);
		assert_true(cursor.match.end <= text->count);
		assert_true(fold_whole(steps, text->runes, (unsigned int)cursor.match.start,
				       part) <= start);
		assert_true(fold_whole(steps, text->runes, (unsigned int)cursor.match.end, part) >=
			    start + strlen(term));
	} else {
		assert_int_equal(terms_pending(terms, &cursor), 0);
	}
	for (unsigned int i = 0; i < text->count; i++) {
		if (!how[i] && i + 1 < text->count)
			continue;
		assert_true(i + 1 - pending[i] >= cleared);
		cleared = i + 1 - pending[i];
		assert_true(!found || cleared <= cursor.match.start);
	}
	terms_cursor_done(&cursor);
}

static void every_split_finds_the_same(void **state)
{
	static uint8_t folded[FOLDED_SIZE];
	unsigned int seed = 5;

	(void)state;
	for (unsigned int round = 0; round < 900; round++) {
		unsigned int steps = 1 + draw(&seed, STEPS_END - 1);
		uint64_t pending[TEXT_RUNES], other[TEXT_RUNES];
		const char *list[] = {(char[FOLDED_SIZE]){0}};
		bool all[TEXT_RUNES], none[TEXT_RUNES] = {false}, some[TEXT_RUNES];
		struct terms *terms = NULL;
		struct text text;
		size_t bad, len;

		text_random(&text, 24, &seed);
		len = fold_whole(steps, text.runes, text.count, folded);
		if (!pick_term(folded, len, &seed, (char *)list[0]))
			continue;
		/* Some sets of steps fold once more what they folded: not those terms. */
		if (!folds_to_itself(steps, list[0]))
			continue;
		assert_int_equal(terms_new(list, 1, steps, &bad, &terms), 0);
		memset(all, true, sizeof(all));
		for (unsigned int i = 0; i < TEXT_RUNES; i++)
			some[i] = draw(&seed, 3) == 0;
		check_text(terms, steps, list[0], &text, all, pending);
		check_text(terms, steps, list[0], &text, none, other);
		check_text(terms, steps, list[0], &text, some, other);
		for (unsigned int i = 0; i < text.count; i++)
			if (some[i])
				assert_int_equal(other[i], pending[i]);
		terms_free(terms);
	}
}

/* Where each rune folds by itself the hold-back is known from its definition. */
static void hold_back_is_exact_without_joining(void **state)
{
	static const unsigned int sets[] = {TERMS_FOLD_CASEFOLD, TERMS_FOLD_IGNORABLE,
					    TERMS_FOLD_CASEFOLD | TERMS_FOLD_IGNORABLE};
	static const uint32_t letters[] = {'a', 'A', 'b', 0xdf, 's', 0x200b, 0xfb01, 'f', 'i'};
	static const char *const list[] = {"assist", "bfib", "aab", "ss", "sfiba"};
	unsigned int seed = 9;

	(void)state;
	for (unsigned int round = 0; round < 1500; round++) {
		unsigned int steps = sets[round % ARRAY_SIZE(sets)], term = draw(&seed, 5);
		uint8_t folded[TEXT_RUNES * 12];
		size_t ends[TEXT_RUNES + 1] = {0};
		struct terms_cursor cursor;
		struct terms *terms = NULL;
		struct text text = {.count = 0};
		size_t bad;

		assert_int_equal(terms_new(&list[term], 1, steps, &bad, &terms), 0);
		terms_cursor_init(&cursor);
		for (unsigned int i = 0; i < TEXT_RUNES; i++) {
			size_t held, most, first = i + 1;
			int r;

			text_append(&text, letters[draw(&seed, ARRAY_SIZE(letters))]);
			r = terms_scan(terms, &cursor, text.bytes + text.offsets[i],
				       text.offsets[i + 1] - text.offsets[i], 1);
			ends[i + 1] = fold_whole(steps, text.runes, i + 1, folded);
			folded[ends[i + 1]] = '\0';
			assert_int_equal(r, strstr((const char *)folded, list[term]) != NULL);
			if (r)
				break;
			most = MIN(strlen(list[term]) - 1, ends[i + 1]);
			for (held = most; held > 0; held--)
				if (!memcmp(folded + ends[i + 1] - held, list[term], held))
					break;
			/* The rune whose fold holds the first held byte, and all after it. */
			while (held > 0 && ends[first] > ends[i + 1] - held)
				first--;
			assert_int_equal(terms_pending(terms, &cursor), i + 1 - first);
		}
		terms_cursor_done(&cursor);
		terms_free(terms);
	}
}

struct example {
	const char *term;
	unsigned int steps;
	const char *text;
	int matched;	  /* 0, 1, or 2: only at the end of the text */
	uint64_t pending; /* after the text, before its end; of a match: its start */
};

#define NFKC TERMS_FOLD_NFKC
#define CASE TERMS_FOLD_CASEFOLD
#define IGN  TERMS_FOLD_IGNORABLE
#define MN   TERMS_FOLD_STRIP_MN
#define CONF TERMS_FOLD_CONFUSABLE

static void examples(void **state)
{
	static const struct example rows[] = {
		{"bomb", IGN, "bo\u200bm\u200db", 1, 0},
		{"bomb", IGN, "a bo\u00adm\u2060\u2060", 0, 6},
		{"bo\u200bmb", IGN, "bomb", 1, 0},
		{"bomb", CASE, "bo\u200bmb", 0, 1},
		{"sudo reboot", NFKC | CASE, "\uff53udo reboot", 2, 0},
		{"sudo reboot", NFKC | CASE, "\uff33UDO \u24e1eboot!", 1, 0},
		{"install all", CASE | MN, "\u0130NSTALL all", 1, 0},
		{"install all", CASE, "\u0130NSTALL all", 0, 0},
		{"install", CASE, "in\u017ftall", 1, 0},
		{"stra\u00dfe", CASE, "STRASSE", 1, 0},
		{"strasse", CASE, "xstra\u1e9ee", 1, 1},
		{"caf\u00e9", TERMS_FOLD_NFC, "cafe\u0301 x", 1, 0},
		{"cafe\u0301", TERMS_FOLD_NFC, "caf\u00e9!", 1, 0},
		{"caf\u00e9", TERMS_FOLD_NFC, "cafe", 0, 4},
		{"cafe", TERMS_FOLD_NFC, "cafe\u0301", 0, 0},
		{"cafe", MN, "caf\u00e9 ", 1, 0},
		{"cafe", MN, "c\u0327a\u0301fe\u0301\u0316", 1, 0},
		{"admin", CONF, "\u0430dm\u0456n", 1, 0},
		{"admin", CONF, "adrnin", 1, 0},
		{"paypal", CONF | CASE, "x\u0440ayp\u0430l", 1, 1},
		{"fire", NFKC, "\ufb01r", 0, 2},
		{"ire", NFKC, "x\ufb01r", 0, 2},
		{"kelvin", CASE, "\u212aELVIN", 1, 0},
		{"\ud55c\uae00", TERMS_FOLD_NFC, "\u1112\u1161\u11ab\u1100\u1173\u11af.", 1, 0},
		{"\u30ac", NFKC, "\uff76", 0, 1},
		{"\u30ac", NFKC, "\uff76\uff9e.", 1, 0},
		/* A rune that may still change is held only where a term is near. */
		{"zzz", TERMS_FOLD_NFC, "abc", 0, 0},
		{"zzz", TERMS_FOLD_NFC, "abc\u4e2d", 0, 0},
		{"zzz", CASE, "abc", 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const uint8_t *text = (const uint8_t *)rows[i].text;
		size_t len = strlen(rows[i].text), bad;
		struct terms_cursor cursor;
		struct terms *terms = NULL;
		int r;

		assert_int_equal(terms_new(&rows[i].term, 1, rows[i].steps, &bad, &terms), 0);
		terms_cursor_init(&cursor);
		r = terms_scan(terms, &cursor, text, len, runes_before(text, len));
		assert_int_equal(r, rows[i].matched == 1);
		if (!r)
			assert_int_equal(terms_pending(terms, &cursor),
					 rows[i].matched ? 11 : rows[i].pending);
		assert_int_equal(terms_end(terms, &cursor), rows[i].matched != 0);
		if (rows[i].matched)
			assert_int_equal(cursor.match.start, rows[i].pending);
		terms_cursor_done(&cursor);
		terms_free(terms);
	}
}

static void matches_lie_where_the_text_has_them(void **state)
{
	static const char *const list[] = {"bomb"};
	/* Four runes fold to two, two to none; then b, o, M with a mark between, B. */
	static const char text[] = "\u1112\u1161\u11ab\u200b\u200b \u200bbo\u200bM\u200bB\u200b.";
	struct terms_cursor cursor;
	struct terms *terms = NULL;
	size_t bad;

	(void)state;
	assert_int_equal(terms_new(list, 1, NFKC | CASE | IGN, &bad, &terms), 0);
	terms_cursor_init(&cursor);
	assert_int_equal(terms_scan(terms, &cursor, (const uint8_t *)text, strlen(text), 15), 1);
	assert_int_equal(cursor.match.start, 7);
	assert_int_equal(cursor.match.end, 13);
	assert_int_equal(terms_pending(terms, &cursor), 8);
	terms_cursor_done(&cursor);
	terms_free(terms);
}

static void the_cursor_serves_one_text_after_another(void **state)
{
	static const char *const list[] = {"bomb"};
	struct terms_cursor cursor;
	struct terms *terms = NULL;
	size_t bad;

	(void)state;
	assert_int_equal(terms_new(list, 1, NFKC | IGN, &bad, &terms), 0);
	terms_cursor_init(&cursor);
	assert_int_equal(terms_end(terms, &cursor), 0);
	assert_int_equal(terms_pending(terms, &cursor), 0);
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(terms_scan(terms, &cursor, (const uint8_t *)"x\u200bbom", 7, 5),
				 0);
		assert_int_equal(terms_pending(terms, &cursor), 3);
		assert_int_equal(terms_end(terms, &cursor), 0);
		assert_int_equal(terms_pending(terms, &cursor), 0);
	}
	assert_int_equal(terms_scan(terms, &cursor, (const uint8_t *)"bomb", 4, 4), 0);
	assert_int_equal(terms_end(terms, &cursor), 1);
	assert_int_equal(cursor.match.end, 4);
	assert_int_equal(terms_scan(terms, &cursor, (const uint8_t *)"y", 1, 1), 1);
	terms_cursor_done(&cursor);
	terms_free(terms);
}

/* A long text with a mark every few runes keeps no more than a term can reach. */
static void marks_of_old_text_are_forgotten(void **state)
{
	static const char *const list[] = {"abcabcabd"};
	struct terms_cursor cursor;
	struct terms *terms = NULL;
	size_t bad;

	(void)state;
	assert_int_equal(terms_new(list, 1, IGN, &bad, &terms), 0);
	terms_cursor_init(&cursor);
	assert_int_equal(terms_cursor_memory(&cursor), 0);
	for (unsigned int i = 0; i < 20000; i++) {
		const uint8_t *text = (const uint8_t *)"a\u00adbc\u00ad";

		assert_int_equal(terms_scan(terms, &cursor, text, 7, 5), 0);
		/* Up to the last three letters of the prefix "abcabc". */
		assert_int_equal(terms_pending(terms, &cursor), i == 0 ? 5 : 10);
		assert_true(terms_cursor_memory(&cursor) <= 1024);
	}
	assert_int_equal(terms_scan(terms, &cursor, (const uint8_t *)"abd", 3, 3), 1);
	assert_int_equal(cursor.match.start, 100000 - 10);
	assert_int_equal(cursor.match.end, 100000 + 3);
	terms_cursor_done(&cursor);
	terms_free(terms);
}

static void segments_up_to_the_cap(void **state)
{
	static const char *const list[] = {"ez"};
	struct terms_cursor cursor;
	struct terms *terms = NULL;
	size_t bad;
	int r = 0;

	(void)state;
	assert_int_equal(terms_new(list, 1, TERMS_FOLD_NFC | MN | IGN, &bad, &terms), 0);
	terms_cursor_init(&cursor);
	assert_int_equal(terms_scan(terms, &cursor, (const uint8_t *)"e", 1, 1), 0);
	for (unsigned int i = 1; i < FOLD_SEGMENT_MAX; i++)
		assert_int_equal(terms_scan(terms, &cursor, (const uint8_t *)"\u0301", 2, 1), 0);
	assert_int_equal(terms_pending(terms, &cursor), FOLD_SEGMENT_MAX);
	/* One more would have to be folded with all of them. */
	assert_int_equal(terms_scan(terms, &cursor, (const uint8_t *)"\u0301", 2, 1), -E2BIG);
	terms_cursor_done(&cursor);
	/* Runes that only stand between others are counted once a run. */
	for (unsigned int i = 0; i < 10 * FOLD_SEGMENT_MAX && r == 0; i++)
		r = terms_scan(terms, &cursor, (const uint8_t *)(i & 1 ? "\u200b" : "\u2060"), 3,
			       1);
	assert_int_equal(r, 0);
	assert_int_equal(terms_pending(terms, &cursor), 0);
	terms_cursor_done(&cursor);
	terms_free(terms);
}

static void terms_that_fold_away_are_refused(void **state)
{
	static const char *const gone[] = {"a", "\u200b\u200d"};
	static const char *const marks[] = {"\u0301"};
	struct terms *terms = NULL;
	char *many = malloc(2 * FOLD_SEGMENT_MAX + 4);
	const char *list[] = {many};
	size_t bad = 9;

	(void)state;
	assert_int_equal(terms_new(gone, 2, IGN, &bad, &terms), -EINVAL);
	assert_int_equal(bad, 1);
	assert_int_equal(terms_new(marks, 1, MN, &bad, &terms), -EINVAL);
	assert_int_equal(bad, 0);
	for (unsigned int i = 0; i <= FOLD_SEGMENT_MAX; i++)
		memcpy(many + 2 * i, "\u0301", 3);
	bad = 9;
	assert_int_equal(terms_new(list, 1, TERMS_FOLD_NFC, &bad, &terms), -EINVAL);
	assert_int_equal(bad, 0);
	assert_null(terms);
	free(many);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_split_finds_the_same),
		cmocka_unit_test(hold_back_is_exact_without_joining),
		cmocka_unit_test(examples),
		cmocka_unit_test(matches_lie_where_the_text_has_them),
		cmocka_unit_test(the_cursor_serves_one_text_after_another),
		cmocka_unit_test(marks_of_old_text_are_forgotten),
		cmocka_unit_test(segments_up_to_the_cap),
		cmocka_unit_test(terms_that_fold_away_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
