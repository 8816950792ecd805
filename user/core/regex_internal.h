/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of regex.h share. For core/regex*.c alone. */
#ifndef SLUICE_CORE_REGEX_INTERNAL_H
#define SLUICE_CORE_REGEX_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "core/regex.h"
#include "core/regex_prefilter.h"

/* The offset `runes` runes before `at`, or 0 where there are fewer. */
static inline size_t regex_back(const uint8_t *text, size_t at, uint32_t runes)
{
	for (; at > 0 && runes; runes--)
		do
			at--;
		while (at > 0 && (text[at] & 0xc0) == 0x80);
	return at;
}

/* pcre2_match(), or pcre2_jit_match() where there is code for it, without its checks. */
typedef int (*regex_matcher)(const pcre2_code *code, PCRE2_SPTR text, PCRE2_SIZE len,
			     PCRE2_SIZE from, uint32_t options, pcre2_match_data *data,
			     pcre2_match_context *limits);

struct regex_rule {
	pcre2_code *code;
	regex_matcher match;
	uint32_t window;   /* runes; 0 where its own bound is within the set's */
	regex_check check; /* or NULL */
};

struct regex {
	struct regex_rule *rules;
	size_t count;
	size_t words;	  /* of a bit per rule */
	uint64_t *always; /* those that the prefilter does not know */
	uint32_t behind;  /* runes before a start that some rule looks at */
	uint32_t longest; /* runes */
	pcre2_match_context *limits;
	struct regex_prefilter *prefilter;
};

/* The end of a text, as far as it is still needed. Offsets in bytes. */
struct regex_text {
	struct regex_active rules; /* NULLs where nothing is held */
	size_t len, capacity;
	uint8_t *bytes; /* those held, and `behind` runes before them */
};

/* One look of a rule at text[.., len), which may go on unless last. */
struct regex_look {
	const struct regex *regex;
	const uint8_t *text;
	size_t len;
	bool last;
	pcre2_match_data *data;
};

/*
 * The first match that begins at or past `from`: 1 with its bytes [*ret_start, *ret_end),
 * or 0; -errno as regex_scan(). *ret_from is where the next look has to begin: at the
 * match, at what may become one, or at the text's end.
 */
int regex_look(const struct regex_look *look, const struct regex_rule *rule, size_t from,
	       size_t *ret_from, size_t *ret_end) must_check;

/*
 * Of a match that the look finds, and that text[.., low) leaves open: the shortest text in
 * which it is decided.
 */
int regex_look_decided(const struct regex_look *look, const struct regex_rule *rule, size_t from,
		       size_t low, size_t *ret_decided) must_check;

#endif
