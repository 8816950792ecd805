/* SPDX-License-Identifier: Apache-2.0 */
#include "core/builtin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct builtin_set *const all[BUILTIN_SETS] = {
	&builtin_api_keys,	&builtin_iban,	       &builtin_jwt,
	&builtin_payment_cards, &builtin_private_keys,
};

const struct builtin_set *builtin_at(size_t i)
{
	return i < ARRAY_SIZE(all) ? all[i] : NULL;
}

const struct builtin_rule *builtin_rule_of(const struct builtin_set *const *sets, size_t count,
					   size_t term)
{
	for (size_t i = 0; i < count; i++) {
		if (term < sets[i]->count)
			return &sets[i]->rules[term];
		term -= sets[i]->count;
	}
	return NULL;
}

int builtin_regex(const struct builtin_set *const *sets, size_t count, struct regex **ret_regex)
{
	struct regex_options options = {0};
	struct regex_error error;
	const char **patterns;
	regex_check *checks;
	size_t total = 0;
	int r = -ENOMEM;

	for (size_t i = 0; i < count; i++)
		total += sets[i]->count;
	patterns = calloc(total + 1, sizeof(*patterns));
	checks = calloc(total + 1, sizeof(*checks));
	for (size_t i = 0; patterns && checks && i < total; i++) {
		const struct builtin_rule *rule = builtin_rule_of(sets, count, i);

		patterns[i] = rule->pattern;
		checks[i] = rule->check;
	}
	options.checks = checks;
	if (patterns && checks)
		r = regex_new(patterns, total, &options, &error, ret_regex);
	free(patterns);
	free(checks);
	return r;
}
