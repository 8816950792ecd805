/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regex: finds any of a set of patterns in the text of a channel, as it comes, and says
 * how much of the text's end could still be a part of a match. The patterns are PCRE2's
 * (pcre2pattern(3)), of the syntax that regex_syntax.h accepts; the same interface as
 * terms.h.
 *
 * What a pattern means on a stream: what one pcre2_match() over the whole text finds
 * first, in UTF mode, with PCRE2_NOTEMPTY, PCRE2_DOLLAR_ENDONLY and PCRE2_ALT_CIRCUMFLEX:
 * the match with the earliest start. The text is that of the channel between its
 * beginning, where ^ and \A match, and its end, where $ and \z do; (?m)^ matches behind
 * every line feed. \d, \s, \w and \b know ASCII alone, letters of other scripts are not
 * of \w; (?i) folds all of Unicode; "." is any rune but a line feed. A pattern is decided
 * at the first rune after which no text that could follow changes what it finds: for
 * "ab", with its b; for "ab$" and "ab\b", one rune later or at the end; for "a{2,4}" with
 * the rune after the a's, or with the fourth a.
 *
 * A window of max_runes bounds a pattern whose matches have no bound of their own, or a
 * longer one: what from some start is not decided within max_runes runes is no match
 * from that start. What escapes is a longer match, and any that has to look further.
 *
 * Invariants:
 *  X1. How the text is cut into calls never changes an answer, but for X5.
 *  X2. No match, whatever follows, begins in what was cleared. Held back is the text from
 *      the earliest start at which a pattern is not decided, which is that where it
 *      could still match with more text, by PCRE2's partial matching.
 *  X3. The set is immutable after regex_new and shared by all cursors.
 *  X4. A match is final: the cursor answers the same match ever after.
 *  X5. The match is the one that is decided first; of those decided there, the one that
 *      starts first; of those, the first pattern's. Where a pattern holds more than
 *      REGEX_HELD_EXACT bytes it is looked at again only when that has grown by an eighth,
 *      or the text ends: till then a match, or that there is none, may stay unsaid, and
 *      another pattern's match be answered. So each call looks at no more of what is held
 *      than that, and otherwise each byte is looked at some eight times, whatever the cuts;
 *      with a window, from each start that is given up once more.
 *  X6. Each start may take REGEX_MATCH_LIMIT steps of PCRE2; past them the scan fails.
 *
 * Units are runes.
 */
#ifndef SLUICE_CORE_REGEX_H
#define SLUICE_CORE_REGEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

/* Runes that one match may span, and look around itself. */
#define REGEX_RUNES_MAX 16384u
/* Bytes of one pattern, and patterns of a set. */
#define REGEX_PATTERN_MAX  4096u
#define REGEX_PATTERNS_MAX 10000u
#define REGEX_HELD_EXACT   256u
#define REGEX_MATCH_LIMIT  10000u

struct regex;

/*
 * Is what a pattern matched, len bytes of text, what is meant by it? Where not, it is no
 * match, and the search goes on behind its first rune. Pure.
 */
typedef bool (*regex_check)(const uint8_t *text, size_t len);

struct regex_options {
	uint32_t max_runes;	   /* the window, up to REGEX_RUNES_MAX; 0: none */
	bool interpret;		   /* without JIT */
	const regex_check *checks; /* one per pattern, each may be NULL; or NULL */
};

/* Which pattern is refused, why, and at which byte of it. */
struct regex_error {
	size_t pattern, offset;
	char message[160]; /* one line, without a final newline */
};

struct regex_match {
	uint32_t term;	/* index in the list given to regex_new */
	uint64_t start; /* in runes of the text since the cursor's start */
	uint64_t end;
	uint64_t decided; /* at or past end */
};

/* State of one text: no memory of its own where nothing is held or looked back at. */
struct regex_cursor {
	bool matched;
	uint64_t runes; /* seen so far */
	uint64_t open;	/* the first of them that is not cleared */
	struct regex_match match;
	struct regex_text *text;
};

/*
 * -EINVAL: *ret_error says which pattern is none, is refused by regex_syntax.h, matches
 * the empty text, or needs a window and has none. -E2BIG: more than REGEX_PATTERNS_MAX,
 * or a window past REGEX_RUNES_MAX. -ENOMEM.
 */
int regex_new(const char *const *patterns, size_t count, const struct regex_options *options,
	      struct regex_error *ret_error, struct regex **ret_regex) must_check;
void regex_free(struct regex *regex);
DEFINE_CLEANUP(struct regex *, regex_free)

/*
 * The detectable length L of design 6: runes from the first that a match depends on, as
 * by \b or look-behind, to the last, as by look-ahead; not more than the window and what is
 * looked at before it.
 */
uint32_t regex_longest(const struct regex *regex);
/* Runes of a text's end that regex_prime() needs: L - 1, and what is looked at before them. */
uint32_t regex_tail(const struct regex *regex);

void regex_cursor_init(struct regex_cursor *cursor);
/* Frees what the cursor allocated; it is as after init. */
void regex_cursor_done(struct regex_cursor *cursor);

/*
 * A cursor that is new goes on behind a text of which these are the last runes: regex_tail()
 * of them or more, or all. What all of them tell of alone need not be found; what reaches
 * into the text that follows is, and only what would be if all had been scanned. Returns as
 * regex_scan().
 */
int regex_prime(const struct regex *regex, struct regex_cursor *cursor, const uint8_t *text,
		size_t len, uint64_t runes) must_check;

/*
 * Scans len bytes of well-formed UTF-8 that hold `runes` whole runes, following what the
 * cursor has seen. 0, or 1 where a pattern matched (cursor->match). Else the caller fails
 * closed: -ELOOP past a limit of PCRE2 (X6, its stack or its memory), -ENOMEM, -EIO for
 * any other failure of PCRE2.
 */
int regex_scan(const struct regex *regex, struct regex_cursor *cursor, const uint8_t *text,
	       size_t len, uint64_t runes) must_check;

/*
 * The text ends here. Returns as regex_scan. Afterwards, without a match, regex_pending()
 * is 0 and the cursor may be reused for a new text (its rune count starts at 0).
 */
int regex_end(const struct regex *regex, struct regex_cursor *cursor) must_check;

/*
 * Runes at the end of the text that are not cleared yet (X2). After a match, those from
 * where it, or what was held back when it was decided, starts.
 */
uint64_t regex_pending(const struct regex *regex, const struct regex_cursor *cursor);

/* Bytes the cursor allocated: bounded by L and the number of patterns, not by the text. */
size_t regex_cursor_memory(const struct regex *regex, const struct regex_cursor *cursor);

#endif
