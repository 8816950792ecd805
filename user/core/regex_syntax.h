/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a pattern can match, read from its syntax alone (pcre2pattern(3), PCRE2 10.42):
 * how many runes, how far it looks around them, and which literals it begins with.
 * Only what can be said so is accepted; the rest of the syntax is refused by name.
 *
 * Accepted: literals, escapes for runes and classes, \Q..\E, classes, groups of any
 * kind, alternation, quantifiers, look-around, comments, the flags i, m and s, and the
 * anchors ^ $ \A \z \b \B. Refused: back references, recursion, conditions, callouts,
 * verbs, \K, \G, \C, \X, \Z and other flags.
 *
 * Units are runes. The pattern is one that PCRE2 has compiled.
 */
#ifndef SLUICE_CORE_REGEX_SYNTAX_H
#define SLUICE_CORE_REGEX_SYNTAX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/regex_head.h"

#define REGEX_UNBOUNDED UINT32_MAX
/* Literals that a pattern may begin with, and bytes of one that are used. */
#define REGEX_LITERALS_MAX 32u
#define REGEX_LITERAL_SIZE 12u
/* Groups within groups. */
#define REGEX_NEST_MAX 50u

/* The first bytes of a match: one of these. Whole runes, no NUL; none: anything. */
struct regex_literals {
	unsigned int count;
	bool exact; /* they are all of the node, not only its beginning */
	uint8_t len[REGEX_LITERALS_MAX];
	uint8_t text[REGEX_LITERALS_MAX][REGEX_LITERAL_SIZE];
};

struct regex_extent {
	uint32_t min, max; /* of a match; max may be REGEX_UNBOUNDED */
	uint32_t behind;   /* how far before its start it looks: 1 for ^ and \b */
	uint32_t ahead;	   /* how far past its end: 1 for $ and \b, or REGEX_UNBOUNDED */
};

struct regex_syntax {
	struct regex_extent extent;
	struct regex_literals literals;
	struct regex_head head;
	/* Byte offset of what first made max or ahead unbounded. */
	size_t unbounded_at;
};

/* -EINVAL: *ret_offset and *ret_reason (static) say what is refused, and where. */
int regex_syntax_read(const char *pattern, struct regex_syntax *ret_syntax, size_t *ret_offset,
		      const char **ret_reason) must_check;

#endif
