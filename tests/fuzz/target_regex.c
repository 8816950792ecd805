/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Patterns over a text that comes in pieces. Option 0: how many patterns, and whether they are
 * interpreted; option 1: the window; option 2: where the text is gone on with behind its tail.
 * The data spells the patterns, by a grammar of its own, up to a byte of 0xff; then a text, of
 * which the well-formed part is scanned, no longer than that what is held is always looked at.
 *
 * Without a window the answer is that of one search of the whole text.
 */
#include "core/regex.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/macros.h"
#include "core/utf8.h"
#include "fuzz/fuzz.h"
#include "fuzz/targets.h"

#define PATTERNS_MAX 3u
#define PATTERN_SIZE 512u
#define DEPTH_MAX    4u

/* What patterns are spelled by. */
struct spelling {
	const uint8_t *at, *end;
	char text[PATTERN_SIZE];
	size_t len;
};

struct set {
	struct spelling spelled[PATTERNS_MAX];
	const char *patterns[PATTERNS_MAX];
	size_t count;
	bool windowed;
	struct regex *regex;
};

struct scan {
	int status;
	struct regex_match match;
	uint64_t pending; /* before the end of the text was told */
};

static uint8_t next(struct spelling *s)
{
	return s->at < s->end ? *s->at++ : 0;
}

static void put(struct spelling *s, const char *text)
{
	size_t len = strlen(text);

	if (s->len + len >= sizeof(s->text))
		return;
	memcpy(s->text + s->len, text, len + 1);
	s->len += len;
}

static void spell_branches(struct spelling *s, unsigned int depth);

static void spell_group(struct spelling *s, unsigned int depth, const char *open)
{
	put(s, open);
	if (depth < DEPTH_MAX)
		spell_branches(s, depth + 1);
	else
		put(s, "a");
	put(s, ")");
}

static void spell_item(struct spelling *s, unsigned int depth)
{
	static const char *const runes[] = {
		"a",	  "b",	 "c",	"A",	   ".",		"\xc3\xa9", "[ab]",
		"[^a]",	  "\\w", "\\d", "\\s",	   "\n",	" ",	    "\\S",
		"[a-c ]", "\\N", "\\R", "(?:\\R)", "\\N{U+61}", "[\\c]]",   "\r"};
	static const char *const anchors[] = {
		"^",	   "$",	    "\\b",   "\\B",	 "\\A",	 "\\z", "(?i)",	  "(?m)", "(?<=a)",
		"(?<!ab)", "(?=b)", "(?!c)", "(?<=^|b)", "(?#)", "\\E", "\\Q\\E", "(?m)^"};
	static const char *const groups[] = {"(?:", "(", "(?>", "(?=", "(?!"};
	static const char *const times[] = {"?", "{2}", "{1,3}", "{0,2}?", "+", "*", "+?", "{2}+"};
	uint8_t byte = next(s);

	switch (byte >> 5) {
	case 6:
		put(s, anchors[byte % ARRAY_SIZE(anchors)]);
		return;
	case 5:
		spell_group(s, depth, groups[byte % ARRAY_SIZE(groups)]);
		break;
	default:
		put(s, runes[byte % ARRAY_SIZE(runes)]);
	}
	byte = next(s);
	if (byte & 0x40)
		put(s, times[byte % ARRAY_SIZE(times)]);
}

static void spell_branches(struct spelling *s, unsigned int depth)
{
	for (unsigned int branches = 1 + (next(s) % 4 == 3); branches; branches--) {
		for (unsigned int items = 1 + next(s) % 4; items; items--)
			spell_item(s, depth);
		if (branches > 1)
			put(s, "|");
	}
}

/* Scans one piece; what was cleared stays so, and no match begins in it. */
static int scan_piece(const struct set *set, struct regex_cursor *cursor, const uint8_t *text,
		      size_t len, uint64_t *cleared)
{
	uint8_t *copy = fuzz_copy(text, len);
	uint64_t now;
	int r = regex_scan(set->regex, cursor, copy, len, utf8_count(copy, len));

	free(copy);
	fuzz_check(r == 0 || r == 1 || r == -ELOOP);
	if (r < 0)
		return r;
	fuzz_check(regex_pending(set->regex, cursor) <= cursor->runes);
	now = cursor->runes - regex_pending(set->regex, cursor);
	fuzz_check(now >= *cleared);
	*cleared = now;
	fuzz_check(!r || cursor->match.start >= *cleared);
	return r;
}

/* Goes on to the end of the text; input NULL: in one piece. */
static struct scan scan_on(const struct set *set, struct regex_cursor *cursor,
			   const struct fuzz_input *input, const uint8_t *text, size_t len)
{
	uint64_t cleared = cursor->runes - regex_pending(set->regex, cursor);
	struct scan scan = {0};
	size_t at = 0, n = 0;

	while (at < len && !scan.status) {
		size_t size = len - at;

		if (input)
			size = fuzz_whole_runes(text + at, size, fuzz_cut(input, n++));
		scan.status = scan_piece(set, cursor, text + at, size, &cleared);
		at += size;
	}
	if (scan.status == 0) {
		scan.pending = regex_pending(set->regex, cursor);
		fuzz_check(scan.pending < MAX(regex_longest(set->regex), 1u));
		scan.status = regex_end(set->regex, cursor);
	}
	if (scan.status == 1) {
		scan.match = cursor->match;
		fuzz_check(scan.match.start >= cleared && scan.match.start < scan.match.end);
		fuzz_check(scan.match.end <= scan.match.decided);
		fuzz_check(scan.match.term < set->count);
	}
	regex_cursor_done(cursor);
	return scan;
}

static struct scan scan_text(const struct set *set, const struct fuzz_input *input,
			     const uint8_t *text, size_t len)
{
	struct regex_cursor cursor;

	regex_cursor_init(&cursor);
	return scan_on(set, &cursor, input, text, len);
}

static bool same(const struct scan *a, const struct scan *b)
{
	return a->status == b->status && a->match.term == b->match.term &&
	       a->match.start == b->match.start && a->match.end == b->match.end &&
	       a->match.decided == b->match.decided && a->pending == b->pending;
}

/* What one search of the whole text finds with a pattern: 1, 0 or a limit of PCRE2. */
static int search(const char *pattern, const uint8_t *text, size_t len, uint64_t *ret_start,
		  uint64_t *ret_end)
{
	pcre2_match_data *data = pcre2_match_data_create(1, NULL);
	PCRE2_SIZE offset, *found = data ? pcre2_get_ovector_pointer(data) : NULL;
	int code, r;
	pcre2_code *compiled = pcre2_compile(
		(PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
		PCRE2_UTF | PCRE2_DOLLAR_ENDONLY | PCRE2_ALT_CIRCUMFLEX, &code, &offset, NULL);

	fuzz_check(compiled && data);
	r = pcre2_match(compiled, text, len, 0, PCRE2_NOTEMPTY, data, NULL);
	/* 0: there is no room for what its groups matched. */
	if (r >= 0) {
		*ret_start = utf8_count(text, found[0]);
		*ret_end = utf8_count(text, found[1]);
	}
	pcre2_match_data_free(data);
	pcre2_code_free(compiled);
	if (r < 0)
		return r == PCRE2_ERROR_NOMATCH ? 0 : r;
	return 1;
}

/* What is found is the first match of its pattern, and nothing is only where none has one. */
static void compare(const struct set *set, const uint8_t *text, size_t len, const struct scan *scan)
{
	for (size_t i = 0; i < set->count; i++) {
		uint64_t start = 0, end = 0;
		int r = search(set->patterns[i], text, len, &start, &end);

		if (r < 0)
			continue;
		fuzz_check(scan->status == 1 || r == 0);
		if (scan->status != 1 || scan->match.term != i)
			continue;
		fuzz_check(r == 1);
		fuzz_check(scan->match.start == start && scan->match.end == end);
	}
}

/* Goes on behind what was scanned up to there, of which no more than the tail is known. */
static void check_tail(const struct set *set, const uint8_t *text, size_t len, size_t at,
		       const struct scan *whole)
{
	uint64_t runes = utf8_count(text, at), tail = MIN(runes, regex_tail(set->regex));
	size_t from = at;
	struct regex_cursor cursor;
	struct scan rest;
	int r;

	if (whole->status < 0 || (whole->status == 1 && whole->match.decided <= runes))
		return;
	for (uint64_t i = 0; i < tail; i++)
		do
			from--;
		while ((text[from] & 0xc0) == 0x80);
	regex_cursor_init(&cursor);
	r = regex_prime(set->regex, &cursor, text + from, at - from, tail);
	fuzz_check(r == 0);
	rest = scan_on(set, &cursor, NULL, text + at, len - at);
	rest.match.start += rest.status == 1 ? runes - tail : 0;
	rest.match.end += rest.status == 1 ? runes - tail : 0;
	rest.match.decided += rest.status == 1 ? runes - tail : 0;
	fuzz_check(same(whole, &rest));
}

static void check(const struct set *set, const struct fuzz_input *input, const uint8_t *text,
		  size_t len)
{
	struct scan whole = scan_text(set, NULL, text, len);
	struct scan cut = scan_text(set, input, text, len);

	/* A limit may be reached by the way in which text comes alone. */
	if (whole.status < 0 || cut.status < 0)
		return;
	fuzz_check(same(&whole, &cut));
	if (!set->windowed)
		compare(set, text, len, &whole);
	if (len)
		check_tail(set, text, len, fuzz_whole_runes(text, len, input->options[2] % len),
			   &whole);
}

static const uint8_t *spell(struct set *set, const struct fuzz_input *input)
{
	const uint8_t *end = memchr(input->data, 0xff, input->len), *at = input->data;

	if (!end)
		return NULL;
	set->count = 1 + input->options[0] % PATTERNS_MAX;
	for (size_t i = 0; i < set->count; i++) {
		struct spelling *s = &set->spelled[i];

		s->at = at;
		s->end = end;
		spell_branches(s, 0);
		at = s->at;
		set->patterns[i] = s->text;
	}
	return end + 1;
}

void fuzz_regex(const uint8_t *bytes, size_t len)
{
	struct regex_options options;
	struct regex_error error;
	struct fuzz_input input;
	struct set set = {0};
	const uint8_t *text;
	uint64_t runes;
	size_t text_len;
	int r;

	if (!fuzz_input_init(&input, bytes, len))
		return;
	text = spell(&set, &input);
	if (!text)
		return;
	options = (struct regex_options){.max_runes = input.options[1] & 31,
					 .interpret = input.options[0] & 0x80};
	set.windowed = options.max_runes;
	r = regex_new(set.patterns, set.count, &options, &error, &set.regex);
	if (r < 0) {
		fuzz_check(r == -EINVAL);
		fuzz_check(error.pattern < set.count && *error.message);
		fuzz_check(error.offset <= strlen(set.patterns[error.pattern]));
		return;
	}
	text_len = MIN((size_t)(input.data + input.len - text), (size_t)REGEX_HELD_EXACT);
	check(&set, &input, text, utf8_prefix(text, text_len, &runes));
	regex_free(set.regex);
}
