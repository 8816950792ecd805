/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns on a stream, at every cut, against PCRE2 over each beginning of the text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/macros.h"
#include "core/regex.h"
#include "core/utf8.h"
#include "unit/allocation.h"

#define TEXT_RUNES 40u
#define SET_MOST   6u

static const struct regex_options jit = {0}, interpreted = {.interpret = true};

static const char *const tricky[] = {
	"ab",
	"abcab",
	"a{2,4}",
	"a{2,4}?b?",
	"a{2,4}+b",
	"(?>a|ab)c",
	"ab|abc|b c",
	"(?:ab){1,3}c",
	"(?:a|b|ab){2,5}cc",
	"^ab",
	"\\Aab|bb",
	"(?m)^ab",
	"(?m)b\n^a",
	"(?m)b\n(?!^a)[ab]",
	"(?m)a\n^",
	"ab$",
	"(?m)ab$",
	"ab\\z",
	"\\bab\\b",
	"\\Bb",
	"ab\\B",
	"(?<=ab)c",
	"(?<!a)bc",
	"(?<=\\bab)c",
	"(?<=(?<!b)a)bc",
	"a(?=bc)",
	"ab(?!c)",
	"a(?!b{0,3}c)b",
	"(?=ab)[abc]{3}",
	"(?i)AB",
	"(?i)aB(?-i)C",
	"(?i)kab",
	"(?i:a)b(?#no)c",
	"(?i)k[s]b",
	"\\Qa.\\E{1,3}?b{0,2} ",
	"[^a]b",
	"[]a]c",
	"[[:alpha:]]{3}\\.",
	"\\p{Cyrillic}{2}",
	"ж[aж]",
	".ж.",
	"a\\Rb",
	"a(?:\\R){1,2}(?<=\n)",
	"a(?#no)?b(?#no){1,3}c",
	"a\\E?b\\Q\\E{1,3}c",
	"\\N{2}c\\N{U+61}",
	"[\\c]]?a",
	"\\x61\\x{62}",
	"(?s)a.b",
	"a.b",
	"(?<n>a)(?'m'b)c",
	"(?|ab|bc)a",
	"a?b?c?abc",
	"(?:a{1,3}b{1,3}){1,3}c",
	"(?:(?:ab|ba)|c){2}",
	"b?(?<=ab)c",
	"\\W\\w{2}\\W",
	"(?<![ab])a{3}(?![ab])",
};

static const char *const unbounded[] = {
	"a+b",	     "a+b|a",	   "[ab]*c",	  "(?:ab)+",	"a.*c",		 "a.*?c",
	"(?=.*c)ab", "\\w+\\b",	   "(?i)a[^b]*S", "a+?b+c",	"\xd0\xb6.*\\.", "(?<=b)a+c",
	"a(?!.*c)b", "(?:a|b)++c", "(?>a*)b",	  "a{2,}b{3,}", "b*ab*",	 "[^c]+c",
};

static const char *const alphabet[] = {"a",  "b", "c", "a", "b", " ",
				       "\n", "ж", "A", "B", ".", "\xe2\x84\xaa",
				       "S",  "a", "b", "\r"};

struct text {
	uint8_t bytes[TEXT_RUNES * UTF8_MAX];
	size_t at[TEXT_RUNES + 1]; /* where each rune begins */
	unsigned int runes;
};

/* A pattern as PCRE2 has it, and the window of each start, or 0. */
struct reference {
	pcre2_code *code;
	pcre2_match_data *data;
	unsigned int window;
};

static unsigned int draw(unsigned int *seed, unsigned int below)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (*seed >> 8) % below;
}

static void random_text(struct text *text, unsigned int letters, unsigned int *seed)
{
	text->runes = draw(seed, TEXT_RUNES);
	text->at[0] = 0;
	for (unsigned int i = 0; i < text->runes; i++) {
		const char *rune = alphabet[draw(seed, letters)];

		memcpy(text->bytes + text->at[i], rune, strlen(rune));
		text->at[i + 1] = text->at[i] + strlen(rune);
	}
}

static struct reference reference_new(const char *pattern, unsigned int window)
{
	struct reference reference = {.window = window};
	PCRE2_SIZE offset;
	int error;

	reference.code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
				       PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_ALT_CIRCUMFLEX,
				       &error, &offset, NULL);
	assert_non_null(reference.code);
	reference.data = pcre2_match_data_create(1, NULL);
	assert_non_null(reference.data);
	return reference;
}

static void reference_free(struct reference *reference)
{
	pcre2_match_data_free(reference->data);
	pcre2_code_free(reference->code);
}

static unsigned int rune_of(const struct text *text, size_t at)
{
	for (unsigned int i = 0;; i++)
		if (text->at[i] >= at)
			return i;
}

/* The same as reference_match(), each start tried by itself, in its window. */
static int reference_windows(const struct reference *reference, const struct text *text,
			     unsigned int runes, bool last, unsigned int *start, unsigned int *end)
{
	const PCRE2_SIZE *found = pcre2_get_ovector_pointer(reference->data);

	for (*start = 0; *start < runes; ++*start) {
		bool whole = *start + reference->window <= runes;
		unsigned int limit = whole ? *start + reference->window : runes;
		/* Its check of UTF-8 would hide what is further before a start than a look-behind. */
		uint32_t options = PCRE2_NOTEMPTY | PCRE2_ANCHORED | PCRE2_NO_UTF_CHECK |
				   (last && !whole ? 0 : PCRE2_PARTIAL_HARD);
		int r = pcre2_match(reference->code, text->bytes, text->at[limit], text->at[*start],
				    options, reference->data, NULL);

		if (r == PCRE2_ERROR_NOMATCH || (r == PCRE2_ERROR_PARTIAL && whole))
			continue;
		*end = rune_of(text, found[1]);
		return r;
	}
	return PCRE2_ERROR_NOMATCH;
}

/* Of the first `runes` runes: PCRE2_ERROR_NOMATCH or _PARTIAL, else a match. In runes. */
static int reference_match(const struct reference *reference, const struct text *text,
			   unsigned int runes, bool last, unsigned int *start, unsigned int *end)
{
	const PCRE2_SIZE *found = pcre2_get_ovector_pointer(reference->data);
	int r = pcre2_match(reference->code, text->bytes, text->at[runes], 0,
			    PCRE2_NOTEMPTY | (last ? 0 : PCRE2_PARTIAL_HARD), reference->data,
			    NULL);

	if (r == PCRE2_ERROR_NOMATCH) {
		*start = runes;
		return r;
	}
	assert_true(r == PCRE2_ERROR_PARTIAL || r >= 0);
	*start = rune_of(text, found[0]);
	*end = rune_of(text, found[1]);
	return r;
}

/* What X2, X4 and X5 say of the text, found a rune at a time. */
struct expected {
	bool matched, at_end;
	struct regex_match match;
	/* Per runes seen, up to the match; one more for the end of the text. */
	unsigned int open[TEXT_RUNES + 2];
};

static void expect(const struct reference *references, size_t count, const struct text *text,
		   struct expected *ret)
{
	ret->matched = false;
	for (unsigned int seen = 0; seen <= text->runes + 1 && !ret->matched; seen++) {
		bool last = seen > text->runes;
		unsigned int runes = MIN(seen, text->runes), open = runes, best = UINT32_MAX;

		for (size_t i = 0; i < count; i++) {
			unsigned int start, end;
			int r = references[i].window ? reference_windows(&references[i], text,
									 runes, last, &start, &end)
						     : reference_match(&references[i], text, runes,
								       last, &start, &end);

			open = MIN(open, start);
			if (r < 0 || start >= best)
				continue;
			best = start;
			ret->matched = true;
			ret->at_end = last;
			ret->match = (struct regex_match){(uint32_t)i, start, end, runes};
		}
		ret->open[seen] = open;
	}
}

/* However a search of parts of the text puts it, this is what one of the whole finds. */
static void check_whole(const struct reference *reference, const struct text *text,
			const struct expected *expected)
{
	unsigned int start, end;
	int r = reference_match(reference, text, text->runes, true, &start, &end);

	assert_int_equal(expected->matched, r >= 0);
	if (r < 0)
		return;
	assert_int_equal(expected->match.start, start);
	assert_int_equal(expected->match.end, end);
}

/* Feeds text in pieces of 1 to `most` runes, each answer compared. */
static void feed(const struct regex *regex, const struct text *text,
		 const struct expected *expected, unsigned int most, unsigned int *seed)
{
	struct regex_cursor cursor;
	unsigned int seen = 0;
	int r = 0;

	regex_cursor_init(&cursor);
	while (seen < text->runes) {
		unsigned int n = MIN(1 + draw(seed, most), text->runes - seen);

		r = regex_scan(regex, &cursor, text->bytes + text->at[seen],
			       text->at[seen + n] - text->at[seen], n);
		seen += n;
		assert_int_equal(cursor.runes, seen);
		assert_int_equal(r, expected->matched && !expected->at_end &&
					    expected->match.decided <= seen);
		if (r == 0)
			assert_int_equal(regex_pending(regex, &cursor),
					 seen - expected->open[seen]);
	}
	assert_int_equal(regex_end(regex, &cursor), expected->matched);
	if (expected->matched) {
		assert_int_equal(cursor.match.term, expected->match.term);
		assert_int_equal(cursor.match.start, expected->match.start);
		assert_int_equal(cursor.match.end, expected->match.end);
		assert_int_equal(cursor.match.decided, expected->match.decided);
		assert_int_equal(
			regex_pending(regex, &cursor),
			text->runes - expected->open[expected->match.decided + expected->at_end]);
	} else {
		assert_int_equal(regex_pending(regex, &cursor), 0);
		assert_int_equal(regex_cursor_memory(regex, &cursor), 0);
	}
	regex_cursor_done(&cursor);
}

static void compare(const char *const *patterns, size_t count, const struct regex_options *options,
		    unsigned int texts, unsigned int *seed)
{
	struct reference references[SET_MOST];
	struct regex_error error;
	struct regex *regex;

	if (regex_new(patterns, count, options, &error, &regex) != 0)
		fail_msg("%s: %s", patterns[error.pattern], error.message);
	for (size_t i = 0; i < count; i++)
		references[i] = reference_new(patterns[i], options->max_runes);
	for (unsigned int n = 0; n < texts; n++) {
		struct expected expected;
		struct text text;

		random_text(&text, n % 2 ? 3 : ARRAY_SIZE(alphabet), seed);
		expect(references, count, &text, &expected);
		if (count == 1 && !options->max_runes)
			check_whole(references, &text, &expected);
		feed(regex, &text, &expected, 1, seed);
		feed(regex, &text, &expected, 6, seed);
		feed(regex, &text, &expected, TEXT_RUNES, seed);
	}
	for (size_t i = 0; i < count; i++)
		reference_free(&references[i]);
	regex_free(regex);
}

static void each_pattern_agrees_with_pcre2_at_every_cut(void **state)
{
	unsigned int seed = 1;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(tricky); i++) {
		compare(&tricky[i], 1, &jit, 150, &seed);
		compare(&tricky[i], 1, &interpreted, 150, &seed);
	}
}

static void sets_answer_what_is_decided_first(void **state)
{
	unsigned int seed = 2;

	(void)state;
	for (unsigned int n = 0; n < 300; n++) {
		const char *patterns[SET_MOST];

		for (unsigned int i = 0; i < SET_MOST; i++)
			patterns[i] = tricky[draw(&seed, ARRAY_SIZE(tricky))];
		compare(patterns, 1 + draw(&seed, SET_MOST), &jit, 10, &seed);
	}
}

/* Literals that other literals end with or go on from; and heads of several lengths. */
static void what_patterns_begin_with_hides_none(void **state)
{
	static const char *const literals[] = {"abca[^b]{2}c", "bca[^c]b", "ca[^b]{2}c",
					       "caa[^a]bc"};
	static const char *const heads[] = {"[ab]{9}[^a]c", "[bc]{2}[a ]{2}[^b]", "[ab][bc]\\d?aa",
					    "\\w\\W[ab]{2}c"};
	/* More kinds of heads than are told apart, of which some are longer than is looked at. */
	static const char *const crowded[] = {"[ab]{17}c",  "[ac]{5}bc",   "[bc]{6}a\\b",
					      "[ab]c[ab]c", "\\d[a-c]{3}", "[ab]{3} [^a]c"};
	unsigned int seed = 4;

	(void)state;
	compare(literals, ARRAY_SIZE(literals), &jit, 2000, &seed);
	compare(heads, ARRAY_SIZE(heads), &jit, 2000, &seed);
	compare(crowded, ARRAY_SIZE(crowded), &jit, 2000, &seed);
}

static void a_window_bounds_each_start(void **state)
{
	unsigned int seed = 3;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(unbounded); i++)
		for (unsigned int window = 3; window <= 12; window += 3) {
			struct regex_options options = {.max_runes = window};

			compare(&unbounded[i], 1, &options, 100, &seed);
		}
	/* A bound of its own that is longer is cut as well, one that is not is kept. */
	for (size_t i = 0; i < ARRAY_SIZE(tricky); i++) {
		struct regex_options options = {.max_runes = 3};

		compare(&tricky[i], 1, &options, 50, &seed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_pattern_agrees_with_pcre2_at_every_cut),
		cmocka_unit_test(sets_answer_what_is_decided_first),
		cmocka_unit_test(what_patterns_begin_with_hides_none),
		cmocka_unit_test(a_window_bounds_each_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
