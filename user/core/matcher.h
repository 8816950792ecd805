/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matcher: what a task searches text with, terms or patterns, by one interface. terms.h and
 * regex.h have the contracts; what they say of a cursor's text holds here.
 *
 * A match counts from where it is decided: for terms that is its end, for a pattern it may
 * be runes later. Of the matches of several tasks the one that is decided first counts, and
 * there the text ends for the track.
 *
 * Units are runes.
 */
#ifndef SLUICE_CORE_MATCHER_H
#define SLUICE_CORE_MATCHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/regex.h"
#include "core/terms.h"

/* One of both, borrowed; neither: no matcher. */
struct matcher {
	const struct terms *terms;
	const struct regex *regex;
};

struct matcher_match {
	uint32_t rule; /* index of the term or pattern in its list */
	uint64_t start, end, decided;
};

/* Of one matcher, which tells what it holds. */
struct matcher_cursor {
	union {
		struct terms_cursor terms;
		struct regex_cursor regex;
	};
};

static inline bool matcher_is_set(const struct matcher *matcher)
{
	return matcher->terms || matcher->regex;
}

/* The detectable length L: terms_longest() or regex_longest(). */
uint32_t matcher_longest(const struct matcher *matcher);
/* Runes of a text's end that matcher_prime() needs: L - 1, and what patterns look behind. */
uint32_t matcher_tail(const struct matcher *matcher);

void matcher_cursor_init(const struct matcher *matcher, struct matcher_cursor *cursor);
void matcher_cursor_done(const struct matcher *matcher, struct matcher_cursor *cursor);
size_t matcher_cursor_memory(const struct matcher *matcher, const struct matcher_cursor *cursor);

/*
 * A cursor that is new goes on behind a text of which these are the last runes, matcher_tail()
 * or more, or all of them. Returns as matcher_scan().
 */
int matcher_prime(const struct matcher *matcher, struct matcher_cursor *cursor, const uint8_t *text,
		  size_t len, uint64_t runes) must_check;

/* As terms_scan() and regex_scan(): 0, 1, or -E2BIG, -ELOOP, -ENOMEM, -EIO. */
static inline int matcher_scan(const struct matcher *matcher, struct matcher_cursor *cursor,
			       const uint8_t *text, size_t len, uint64_t runes)
{
	if (matcher->terms)
		return terms_scan(matcher->terms, &cursor->terms, text, len, runes);
	return regex_scan(matcher->regex, &cursor->regex, text, len, runes);
}

static inline int matcher_end(const struct matcher *matcher, struct matcher_cursor *cursor)
{
	if (matcher->terms)
		return terms_end(matcher->terms, &cursor->terms);
	return regex_end(matcher->regex, &cursor->regex);
}

static inline uint64_t matcher_pending(const struct matcher *matcher,
				       const struct matcher_cursor *cursor)
{
	if (matcher->terms)
		return terms_pending(matcher->terms, &cursor->terms);
	return regex_pending(matcher->regex, &cursor->regex);
}

/* Of a cursor that has matched: the rune by which it was decided. */
static inline uint64_t matcher_decided(const struct matcher *matcher,
				       const struct matcher_cursor *cursor)
{
	return matcher->terms ? cursor->terms.match.end : cursor->regex.match.decided;
}

/* Of a cursor that has matched. */
struct matcher_match matcher_match(const struct matcher *matcher,
				   const struct matcher_cursor *cursor);

#endif
