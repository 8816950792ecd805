/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/stream_terms.h"

#include <string.h>
#include <strings.h>

#include "base/macros.h"
#include "core/terms.h"
#include "fuzz/fuzz.h"

#define FOLD_MOST (TERMS_FOLD_CASEFOLD | TERMS_FOLD_NFKC | TERMS_FOLD_IGNORABLE)
#define FOLD_ALL  (FOLD_MOST | TERMS_FOLD_NFC | TERMS_FOLD_STRIP_MN | TERMS_FOLD_CONFUSABLE)

/* Filled in when they are first asked for (Z1: they do not change then). */
static struct fuzz_terms sets[] = {
	{.task_count = 0},
	{.task_count = 1, .words = {{"bomb", "secret"}}, .fold = {0}},
	{.task_count = 1, .words = {{"ab", "abba"}}, .fold = {0}},
	{.task_count = 1, .words = {{"a"}}, .fold = {0}},
	{.task_count = 1, .words = {{"bomb", "secret"}}, .fold = {TERMS_FOLD_CASEFOLD}},
	{.task_count = 1, .words = {{"\xf0\x9f\x98\x80", "\xc3\xa9"}}, .fold = {0}},
	{.task_count = 1, .words = {{"stra\xc3\x9f"}}, .fold = {FOLD_MOST}},
	{.task_count = 1, .words = {{"bomb"}}, .fold = {FOLD_ALL}},
	{.task_count = 2, .words = {{"bomb"}, {"mbo", "secret"}}, .fold = {0, 0}},
	{.task_count = 2, .words = {{"bomb"}, {"secret"}}, .fold = {0, FOLD_MOST}},
	{.task_count = 1, .words = {{"\n", "\"", "\\"}}, .fold = {0}},
	{.task_count = 1, .words = {{"data", "HTTP", "choices"}}, .fold = {0}},
	{.task_count = 1, .words = {{"\xef\xbf\xbd"}}, .fold = {0}},
};

static void make(struct fuzz_terms *set)
{
	static const char *const names[FUZZ_TASKS_MAX] = {"t0", "t1"};

	for (size_t i = 0; i < set->task_count; i++) {
		struct terms *terms = NULL;
		size_t count = 0, bad;

		while (count < FUZZ_TERMS_MAX && set->words[i][count])
			count++;
		fuzz_check(terms_new(set->words[i], count, set->fold[i], &bad, &terms) == 0);
		set->names[i] = names[i];
		set->tasks[i] = (struct pipeline_task){.name = names[i], .matcher.terms = terms};
	}
}

const struct fuzz_terms *fuzz_terms_get(uint8_t option)
{
	struct fuzz_terms *set = &sets[option % ARRAY_SIZE(sets)];

	if (!set->task_count)
		return NULL;
	if (!set->tasks[0].matcher.terms)
		make(set);
	return set;
}

bool fuzz_terms_fold(const struct fuzz_terms *terms)
{
	return terms && (terms->fold[0] || terms->fold[1]);
}

static bool is_searchable(const struct fuzz_terms *terms, size_t task)
{
	return !terms->fold[task] || terms->fold[task] == TERMS_FOLD_CASEFOLD;
}

static size_t find(const uint8_t *text, size_t len, const char *word, bool any_case)
{
	size_t size = strlen(word);

	for (size_t at = 0; size <= len && at <= len - size; at++)
		if (any_case ? strncasecmp((const char *)text + at, word, size) == 0
			     : memcmp(text + at, word, size) == 0)
			return at;
	return SIZE_MAX;
}

size_t fuzz_terms_find(const struct fuzz_terms *terms, const uint8_t *text, size_t len)
{
	size_t first = SIZE_MAX;

	for (size_t i = 0; terms && i < terms->task_count; i++) {
		if (!is_searchable(terms, i))
			continue;
		for (size_t j = 0; j < FUZZ_TERMS_MAX && terms->words[i][j]; j++) {
			size_t at = find(text, len, terms->words[i][j], terms->fold[i] != 0);

			first = MIN(first, at);
		}
	}
	return first;
}
