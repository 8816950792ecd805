/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The term automaton and its folding. Option 0: the fold steps. The data is terms, a line
 * each, up to a byte of 0xff; then a text, of which the well-formed part is scanned.
 *
 * Without folding the answer is that of a plain search.
 */
#include "core/terms.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "core/utf8.h"
#include "fuzz/fuzz.h"
#include "fuzz/targets.h"

#define TERMS_MAX 12u
#define TERM_SIZE 64u
#define FOLDS	  63u

struct set {
	char text[TERMS_MAX][TERM_SIZE];
	const char *words[TERMS_MAX];
	size_t count;
	unsigned int fold;
	struct terms *terms;
};

struct scan {
	int status; /* of terms_scan() or terms_end() */
	struct terms_match match;
	uint64_t pending; /* before the end of the text was told */
};

/* Where the text begins; NULL: there is none, or there are no terms. */
static const uint8_t *read_terms(struct set *set, const uint8_t *data, size_t len, size_t *ret_len)
{
	const uint8_t *all = data + len, *end = len ? memchr(data, 0xff, len) : NULL;

	while (end && data < end && set->count < TERMS_MAX) {
		const uint8_t *line = memchr(data, '\n', (size_t)(end - data));
		size_t size = (size_t)((line ? line : end) - data);

		if (size && size < TERM_SIZE && !memchr(data, 0, size)) {
			memcpy(set->text[set->count], data, size);
			set->words[set->count] = set->text[set->count];
			set->count++;
		}
		data = line ? line + 1 : end;
	}
	if (!end || !set->count)
		return NULL;
	*ret_len = (size_t)(all - end) - 1;
	return end + 1;
}

/* Scans one piece; what was cleared stays so, and no match begins in it. */
static int scan_piece(const struct set *set, struct terms_cursor *cursor, const uint8_t *text,
		      size_t len, uint64_t *cleared)
{
	uint8_t *copy = fuzz_copy(text, len);
	uint64_t runes, now;
	int r;

	fuzz_check(utf8_prefix(copy, len, &runes) == len);
	r = terms_scan(set->terms, cursor, copy, len, runes);
	free(copy);
	fuzz_check(r == 0 || r == 1 || r == -E2BIG);
	if (r < 0)
		return r;
	fuzz_check(terms_pending(set->terms, cursor) <= cursor->runes);
	now = cursor->runes - terms_pending(set->terms, cursor);
	fuzz_check(now >= *cleared);
	*cleared = now;
	fuzz_check(!r || cursor->match.start >= *cleared);
	return r;
}

static struct scan scan_text(const struct set *set, const struct fuzz_input *input,
			     const uint8_t *text, size_t len, bool cut)
{
	struct terms_cursor cursor;
	struct scan scan = {0};
	uint64_t cleared = 0;
	size_t at = 0, n = 0;

	terms_cursor_init(&cursor);
	while (at < len && !scan.status) {
		size_t size = cut ? fuzz_whole_runes(text + at, len - at, fuzz_cut(input, n++))
				  : len - at;

		scan.status = scan_piece(set, &cursor, text + at, size, &cleared);
		at += size;
	}
	if (scan.status >= 0)
		scan.pending = cursor.matched ? 0 : terms_pending(set->terms, &cursor);
	if (!scan.status)
		scan.status = terms_end(set->terms, &cursor);
	if (scan.status == 1) {
		scan.match = cursor.match;
		fuzz_check(scan.match.start >= cleared && scan.match.start < scan.match.end);
		fuzz_check(scan.match.term < set->count);
	}
	terms_cursor_done(&cursor);
	return scan;
}

static bool ends_here(const uint8_t *text, size_t end, const char *word)
{
	size_t len = strlen(word);

	return len <= end && memcmp(text + end - len, word, len) == 0;
}

/* Runes of the text's end that could still begin a term. */
static uint64_t plain_pending(const struct set *set, const uint8_t *text, size_t len)
{
	for (size_t start = 0; start < len; start++) {
		uint64_t runes;

		if ((text[start] & 0xc0) == 0x80)
			continue;
		for (size_t i = 0; i < set->count; i++) {
			size_t size = strlen(set->words[i]);

			if (len - start >= size || memcmp(text + start, set->words[i], len - start))
				continue;
			(void)utf8_prefix(text + start, len - start, &runes);
			return runes;
		}
	}
	return 0;
}

/* The match that ends first, and of those the longest. */
static void compare(const struct set *set, const uint8_t *text, size_t len, const struct scan *scan)
{
	uint64_t start_runes, end_runes;

	for (size_t end = 1; end <= len; end++) {
		const char *found = NULL;

		for (size_t i = 0; i < set->count; i++)
			if (ends_here(text, end, set->words[i]) &&
			    (!found || strlen(set->words[i]) > strlen(found)))
				found = set->words[i];
		if (!found)
			continue;
		(void)utf8_prefix(text, end - strlen(found), &start_runes);
		(void)utf8_prefix(text, end, &end_runes);
		fuzz_check(scan->status == 1);
		fuzz_check(scan->match.start == start_runes && scan->match.end == end_runes);
		fuzz_check(strcmp(set->words[scan->match.term], found) == 0);
		return;
	}
	fuzz_check(scan->status == 0);
	fuzz_check(scan->pending == plain_pending(set, text, len));
}

static void check(const struct set *set, const struct fuzz_input *input, const uint8_t *text,
		  size_t len)
{
	struct scan whole = scan_text(set, input, text, len, false);
	struct scan cut = scan_text(set, input, text, len, true);

	fuzz_check(whole.status == cut.status);
	fuzz_check(whole.match.term == cut.match.term && whole.match.start == cut.match.start &&
		   whole.match.end == cut.match.end);
	fuzz_check(whole.status || whole.pending == cut.pending);
	if (!set->fold)
		compare(set, text, len, &whole);
}

void fuzz_terms(const uint8_t *bytes, size_t len)
{
	struct fuzz_input input;
	struct set set = {0};
	const uint8_t *text;
	size_t text_len = 0, bad = SIZE_MAX;
	uint64_t runes;
	int r;

	if (!fuzz_input_init(&input, bytes, len))
		return;
	text = read_terms(&set, input.data, input.len, &text_len);
	if (!text)
		return;
	set.fold = input.options[0] & FOLDS;
	r = terms_new(set.words, set.count, set.fold, &bad, &set.terms);
	fuzz_check(r == 0 || (r == -EINVAL && bad < set.count));
	if (r == 0)
		check(&set, &input, text, utf8_prefix(text, text_len, &runes));
	terms_free(set.terms);
}
