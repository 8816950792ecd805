/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rule sets that a policy names (kind `builtin`): patterns of regex.h, each with the
 * check that its syntax cannot say (check digits, a token's header), and with examples.
 * Every pattern has a bound of its own: none needs a window. The format of each is
 * documented where the comment over its table says.
 */
#ifndef SLUICE_CORE_BUILTIN_H
#define SLUICE_CORE_BUILTIN_H

#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/regex.h"

#define BUILTIN_SETS	 5u
#define BUILTIN_EXAMPLES 4u

struct builtin_rule {
	const char *name; /* [a-z0-9_]+, one of its kind in the set */
	const char *pattern;
	regex_check check; /* or NULL */
	/* What it matches, and what nothing of its set does; up to a NULL. No real secrets. */
	const char *good[BUILTIN_EXAMPLES + 1];
	const char *bad[BUILTIN_EXAMPLES + 1];
};

struct builtin_set {
	const char *name;
	const struct builtin_rule *rules;
	size_t count;
};

extern const struct builtin_set builtin_api_keys;
extern const struct builtin_set builtin_private_keys;
extern const struct builtin_set builtin_payment_cards;
extern const struct builtin_set builtin_iban;
extern const struct builtin_set builtin_jwt;

/* Set number i in order of name, or NULL past the last. */
const struct builtin_set *builtin_at(size_t i);

/*
 * The patterns of sets, one set after the other in one regex: what regex_match.term counts.
 * -ENOMEM, and what regex_new() answers for a pattern that is none.
 */
int builtin_regex(const struct builtin_set *const *sets, size_t count,
		  struct regex **ret_regex) must_check;
/* The rule of regex_match.term in such a regex. */
const struct builtin_rule *builtin_rule_of(const struct builtin_set *const *sets, size_t count,
					   size_t term);

#endif
