/* SPDX-License-Identifier: Apache-2.0 */
#include "core/matcher.h"

#include "core/coverage.h"

uint32_t matcher_longest(const struct matcher *matcher)
{
	return matcher->terms ? terms_longest(matcher->terms) : regex_longest(matcher->regex);
}

uint32_t matcher_tail(const struct matcher *matcher)
{
	return matcher->terms ? coverage_tail(terms_longest(matcher->terms))
			      : regex_tail(matcher->regex);
}

void matcher_cursor_init(const struct matcher *matcher, struct matcher_cursor *cursor)
{
	if (matcher->terms)
		terms_cursor_init(&cursor->terms);
	else
		regex_cursor_init(&cursor->regex);
}

void matcher_cursor_done(const struct matcher *matcher, struct matcher_cursor *cursor)
{
	if (matcher->terms)
		terms_cursor_done(&cursor->terms);
	else
		regex_cursor_done(&cursor->regex);
}

size_t matcher_cursor_memory(const struct matcher *matcher, const struct matcher_cursor *cursor)
{
	return matcher->terms ? terms_cursor_memory(&cursor->terms)
			      : regex_cursor_memory(matcher->regex, &cursor->regex);
}

int matcher_prime(const struct matcher *matcher, struct matcher_cursor *cursor, const uint8_t *text,
		  size_t len, uint64_t runes)
{
	if (matcher->terms)
		return terms_scan(matcher->terms, &cursor->terms, text, len, runes);
	return regex_prime(matcher->regex, &cursor->regex, text, len, runes);
}

struct matcher_match matcher_match(const struct matcher *matcher,
				   const struct matcher_cursor *cursor)
{
	const struct terms_match *term = &cursor->terms.match;
	const struct regex_match *pattern = &cursor->regex.match;
	const uint64_t decided = matcher_decided(matcher, cursor);

	if (matcher->terms)
		return (struct matcher_match){term->term, term->start, term->end, decided};
	return (struct matcher_match){pattern->term, pattern->start, pattern->end, decided};
}
