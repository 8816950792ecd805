/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the end of a text holds back, where it may still fold with what follows, by
 * example: text that no way to go on makes a part of a term is cleared.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/macros.h"
#include "core/terms.h"
#include "core/utf8.h"
#include "unit/fold_reference.h"

#define NFC  TERMS_FOLD_NFC
#define NFKC TERMS_FOLD_NFKC
#define CASE TERMS_FOLD_CASEFOLD
#define IGN  TERMS_FOLD_IGNORABLE
#define MN   TERMS_FOLD_STRIP_MN
#define CONF TERMS_FOLD_CONFUSABLE

/* What a text holds back, given in one call; the text is not to match. */
static uint64_t pending_of(const struct terms *terms, const char *bytes)
{
	const uint8_t *text = (const uint8_t *)bytes;
	size_t len = strlen(bytes);
	struct terms_cursor cursor;
	uint64_t runes, pending;

	assert_int_equal(utf8_prefix(text, len, &runes), len);
	terms_cursor_init(&cursor);
	assert_int_equal(terms_scan(terms, &cursor, text, len, runes), 0);
	pending = terms_pending(terms, &cursor);
	terms_cursor_done(&cursor);
	return pending;
}

static void text_that_cannot_begin_a_term_is_cleared(void **state)
{
	static const char *const list[] = {"forbidden"};

	(void)state;
	for (unsigned int steps = 0; steps < STEPS_END; steps++) {
		struct terms *terms = fold_terms_new(list, 1, steps);

		assert_int_equal(pending_of(terms, "hello"), 0);
		assert_int_equal(pending_of(terms, "hello "), 0);
		assert_int_equal(pending_of(terms, "{\"t\":\"h\"}"), 0);
		assert_int_equal(pending_of(terms, "helf"), 1);
		assert_int_equal(pending_of(terms, "hel for"), 3);
		/* A term under way does not hold what cannot go on with it. */
		assert_int_equal(pending_of(terms, "a fox"), 0);
		assert_int_equal(pending_of(terms, "forbiddem"), 0);
		assert_int_equal(pending_of(terms, "forbiddef"), 1);
		assert_int_equal(pending_of(terms, "na\u00efvet\u00e9"), 0);
		assert_int_equal(pending_of(terms, "naivete\u0301"), 0);
		assert_int_equal(pending_of(terms, "\uc548\ub155\ud558\uc138\uc694"), 0);
		assert_int_equal(pending_of(terms, "\u3053\u3093\u306b\u3061\u306f"), 0);
		assert_int_equal(
			pending_of(terms, "\u041f\u0440\u0438\u0432\u0435\u0442\u0438\u0438"), 0);
		terms_free(terms);
	}
}

struct example {
	const char *term;
	unsigned int steps;
	const char *text;
	uint64_t pending;
};

static void examples(void **state)
{
	static const struct example rows[] = {
		{"caf\u00e9", NFC, "cafe", 4},
		{"cafe", NFC, "cafe", 4},
		{"cafe", NFC, "caf\u00e9", 0},
		{"cafe", NFC, "cafe\u0301", 0},
		{"cafe", NFC | MN, "caf\u00e9", 4},
		{"ecole", NFKC | CASE, "caf\u00e9", 0},
		{"\u00e9cole", NFKC | CASE, "cafe", 1},
		{"\u00e9cole", NFKC | CASE, "caf\u00e9", 1},
		{"\u00e9cole", NFKC | CASE, "CAFE\u0301", 2},
		{"\u00e8re", NFKC | CASE, "caf\u00e9", 0},
		/* A lower mark takes the place of the accent, which then follows. */
		{"\u1eb9\u0301x", NFC, "\u00e9", 1},
		{"\u1eb9x", NFC, "\u00e9", 0},
		/* Marks order themselves: the term's first comes before the text's. */
		{"\u0316\u0301x", NFC, "q\u0301", 1},
		{"\u0316\u0301x", NFC, "q", 0},
		/* Or one is parted from what it composed with. */
		{"\u0345x", NFKC, "\u1fbc", 1},
		/* A subscript composes across marks that do not, and folds to a letter. */
		{"\u03b9\u2df7x", NFKC | CASE, "\u03b1\u2df7", 1},
		{"\u03b9\u2df7x", NFKC | CASE, "\u03b1\u0301", 0},
		{"\u03b9\u2df7x", NFKC | CASE, "\u03ac", 0},
		/* A starter that is dropped does not keep what is on it in order. */
		{"k\u302e\u03b9", NFKC | CASE | MN, "k\u0cc6\u0345", 3},
		{"\u0301x", NFC, "q\u0301", 1},
		/* A syllable grows, and does not change. */
		{"\ud55c", NFC, "\u1112", 1},
		{"\ud55c\uae00", NFC, "\ud558", 1},
		{"\ud55c\uae00", NFC, "\u1112\u1161", 2},
		{"\ud55c\uae00", NFC, "\ud638", 0},
		{"\ud558\uae00", NFC, "\ud55c", 0},
		{"\ud55c\uae00", NFC, "\u1100", 0},
		{"\u30ac", NFKC, "\uff76", 1},
		/* Each rune that one folds to can begin a term. */
		{"ing", NFKC, "\ufb01", 1},
		{"fin", NFKC, "\ufb01", 1},
		{"zing", NFKC, "\ufb01", 0},
		{"\u0399\u03c9", NFKC | CASE, "\u1fb3", 1},
		{"\u0399\u03c9", NFKC | CASE, "\u03b1", 0},
		{"install", CASE | NFKC, "\u0130", 1},
		{"install", CASE | NFKC, "I", 1},
		{"modern", CONF, "r", 1},
		/* A mark that looks like a full stop comes between a letter and its accent. */
		{"cafe.", CONF | NFC, "caf\u00e9", 4},
		{"admin", CONF, "ad\u200b", 3},
		{"admin", CONF, "ax\u200b\u200d\u200b", 0},
		{"admin", CONF | IGN, "a\u200b\u200d\u200b", 4},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct terms *terms = fold_terms_new(&rows[i].term, 1, rows[i].steps);
		uint64_t pending = pending_of(terms, rows[i].text);

		if (pending != rows[i].pending)
			print_error("row %zu: %s\n", i, rows[i].text);
		assert_int_equal(pending, rows[i].pending);
		terms_free(terms);
	}
}

/* What a rune more would hold again, by what is less exact of two, stays cleared. */
static void what_was_cleared_stays_so(void **state)
{
	static const char *const list[] = {"cafeteria", "\u00e9x"};
	struct terms *terms = fold_terms_new(list, 2, NFC);

	(void)state;
	assert_int_equal(pending_of(terms, "caf\u00e9"), 1);
	assert_int_equal(pending_of(terms, "caf\u00e9\u0316"), 2);
	terms_free(terms);
}

/* The match begins after what was cleared early, however the text comes. */
static void a_match_begins_after_what_was_cleared(void **state)
{
	static const char *const list[] = {"\u0316x"};
	static const uint8_t text[] = "aq\u0316x";
	struct terms *terms = fold_terms_new(list, 1, NFC);
	struct terms_cursor cursor;

	(void)state;
	for (unsigned int first = 1; first <= 2; first++) {
		terms_cursor_init(&cursor);
		assert_int_equal(terms_scan(terms, &cursor, text, first, first), 0);
		assert_int_equal(terms_pending(terms, &cursor), 0);
		assert_int_equal(terms_scan(terms, &cursor, text + first, 5 - first, 4 - first), 0);
		assert_int_equal(terms_end(terms, &cursor), 1);
		assert_int_equal(cursor.match.start, 2);
		assert_int_equal(cursor.match.end, 4);
		terms_cursor_done(&cursor);
	}
	terms_free(terms);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_that_cannot_begin_a_term_is_cleared),
		cmocka_unit_test(examples),
		cmocka_unit_test(what_was_cleared_stays_so),
		cmocka_unit_test(a_match_begins_after_what_was_cleared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
