/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "core/regex_internal.h"

static size_t next_rune(const uint8_t *text, size_t at, size_t len)
{
	do
		at++;
	while (at < len && (text[at] & 0xc0) == 0x80);
	return at;
}

/* The offset `runes` runes past `at`, or len where there are fewer. */
static size_t advance(const uint8_t *text, size_t at, size_t len, uint64_t runes)
{
	/* A rune takes up to four bytes: most often there is nothing to count. */
	if (len - at <= runes)
		return len;
	while (at < len && runes--)
		at = next_rune(text, at, len);
	return at;
}

/* Are there `runes` runes in text[at, end)? */
static bool spans(const uint8_t *text, size_t at, size_t end, uint32_t runes)
{
	return end - at >= runes && advance(text, at, end, runes - 1) < end;
}

static int match_error(int r)
{
	switch (r) {
	case PCRE2_ERROR_MATCHLIMIT:
	case PCRE2_ERROR_DEPTHLIMIT:
	case PCRE2_ERROR_HEAPLIMIT:
	case PCRE2_ERROR_JIT_STACKLIMIT:
		return -ELOOP;
	case PCRE2_ERROR_NOMEMORY:
		return -ENOMEM;
	default:
		return -EIO;
	}
}

enum answer {
	NOTHING,  /* and nothing that begins in this text will match */
	OPEN,	  /* what begins at the start may match with more text */
	GIVEN_UP, /* so it may, but not within its window */
	MATCHED,
};

/* Looks in text[from, end) alone; *ret_start is set where the answer is not NOTHING. */
static int ask(const struct regex_look *look, const struct regex_rule *rule, size_t from,
	       size_t end, size_t *ret_start, size_t *ret_end)
{
	const PCRE2_SIZE *found = pcre2_get_ovector_pointer(look->data);
	uint32_t options = PCRE2_NOTEMPTY | PCRE2_NO_UTF_CHECK;
	int r;

	/* PCRE2_PARTIAL_HARD: to reach the end comes before any match, since more may follow. */
	if (!look->last || end < look->len)
		options |= PCRE2_PARTIAL_HARD;
	r = rule->match(rule->code, look->text, end, from, options, look->data,
			look->regex->limits);
	if (r == PCRE2_ERROR_NOMATCH)
		return NOTHING;
	if (r < 0 && r != PCRE2_ERROR_PARTIAL)
		return match_error(r);
	*ret_start = found[0];
	*ret_end = found[1];
	if (r < 0)
		return *ret_start < end ? OPEN : NOTHING;
	return MATCHED;
}

/* The same for a rule with a window: a start has no more text than that. */
static int ask_window(const struct regex_look *look, const struct regex_rule *rule, size_t from,
		      size_t end, size_t *ret_start, size_t *ret_end)
{
	int r = ask(look, rule, from, end, ret_start, ret_end);
	size_t limit;

	if (r < 0 || r == NOTHING)
		return r;
	if (r == OPEN)
		return spans(look->text, *ret_start, end, rule->window) ? GIVEN_UP : OPEN;
	limit = advance(look->text, *ret_start, look->len, rule->window);
	if (limit == look->len && !spans(look->text, *ret_start, limit, rule->window))
		return MATCHED;
	/* It may owe itself to text past its window, by what it tried there before. */
	r = ask(look, rule, *ret_start, limit, ret_start, ret_end);
	return r == OPEN ? GIVEN_UP : r;
}

int regex_look(const struct regex_look *look, const struct regex_rule *rule, size_t from,
	       size_t *ret_from, size_t *ret_end)
{
	const uint8_t *text = look->text;
	size_t until = look->len, start, end;
	int r;

	for (; from < look->len; from = r == NOTHING ? until : next_rune(text, start, look->len)) {
		if (rule->window) {
			/* What is open in the first half of two windows has had its own. */
			until = advance(text, from, look->len, 2 * (uint64_t)rule->window);
			r = ask_window(look, rule, from, until, &start, &end);
		} else {
			r = ask(look, rule, from, until, &start, &end);
		}
		if (r < 0)
			return r;
		if (r == OPEN) {
			*ret_from = start;
			if (until == look->len)
				return 0;
			until = start;
			r = NOTHING;
		} else if (r == MATCHED &&
			   (!rule->check || rule->check(text + start, end - start))) {
			*ret_from = start;
			*ret_end = end;
			return 1;
		}
	}
	*ret_from = look->len;
	return 0;
}

int regex_look_decided(const struct regex_look *look, const struct regex_rule *rule, size_t from,
		       size_t low, size_t *ret_decided)
{
	struct regex_look shorter = *look;
	size_t high = look->len;

	low = MAX(low, from);
	shorter.last = false;
	while (low + 1 < high) {
		size_t at, end;
		int r;

		/* The beginning of a rune is where the text before it ends. */
		shorter.len = low + (high - low) / 2;
		while (shorter.len > low && (look->text[shorter.len] & 0xc0) == 0x80)
			shorter.len--;
		if (shorter.len == low) {
			shorter.len = next_rune(look->text, low, high);
			if (shorter.len == high)
				break;
		}
		r = regex_look(&shorter, rule, from, &at, &end);
		if (r < 0)
			return r;
		if (r)
			high = shorter.len;
		else
			low = shorter.len;
	}
	*ret_decided = high;
	return 0;
}
