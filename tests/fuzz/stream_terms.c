/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz/stream_terms.h"

#include <string.h>
#include <strings.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/macros.h"
#include "core/regex.h"
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
	{.task_count = 2,
	 .words = {{"b.mb", "(?i)s[e3]cret"}, {"a{2,4}b|ba", "ab\\N{2}"}},
	 .kind = {FUZZ_PATTERNS, FUZZ_PATTERNS}},
	{.task_count = 1,
	 .words = {{"bomb", "ab"}},
	 .kind = {FUZZ_ASKED},
	 .spans = {{.coverage = {.detectable = 4, .span = 4, .window = 7}, .in_flight = 3}}},
	{.task_count = 2,
	 .words = {{"bomb", "a{2,4}b"}, {"secret"}},
	 .kind = {FUZZ_PATTERNS, FUZZ_ASKED},
	 .spans = {{0},
		   {.cadence = SPAN_SENTENCE,
		    .coverage = {.detectable = 6, .span = 3, .window = 8},
		    .in_flight = 2,
		    .finishes = true}}},
};

static void make_task(struct fuzz_terms *set, size_t i)
{
	struct pipeline_task *task = &set->tasks[i];
	struct regex_options options = {0};
	struct regex *regex = NULL;
	struct terms *terms = NULL;
	struct regex_error error;
	size_t count = 0, bad;

	while (count < FUZZ_TERMS_MAX && set->words[i][count])
		count++;
	switch (set->kind[i]) {
	case FUZZ_TERMS:
		fuzz_check(terms_new(set->words[i], count, set->fold[i], &bad, &terms) == 0);
		task->matcher.terms = terms;
		break;
	case FUZZ_PATTERNS:
		fuzz_check(regex_new(set->words[i], count, &options, &error, &regex) == 0);
		task->matcher.regex = regex;
		break;
	case FUZZ_ASKED:
		task->spans = &set->spans[i];
		break;
	}
}

static void make(struct fuzz_terms *set)
{
	static const char *const names[FUZZ_TASKS_MAX] = {"t0", "t1"};

	for (size_t i = 0; i < set->task_count; i++) {
		set->names[i] = set->tasks[i].name = names[i];
		make_task(set, i);
	}
}

const struct fuzz_terms *fuzz_terms_get(uint8_t option)
{
	struct fuzz_terms *set = &sets[option % ARRAY_SIZE(sets)];

	if (!set->task_count)
		return NULL;
	if (!set->tasks[0].name)
		make(set);
	return set;
}

bool fuzz_terms_fold(const struct fuzz_terms *terms)
{
	return terms && (terms->fold[0] || terms->fold[1]);
}

bool fuzz_terms_ask(const struct fuzz_terms *terms)
{
	return terms && (terms->kind[0] == FUZZ_ASKED || terms->kind[1] == FUZZ_ASKED);
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

/* As core/regex.h says a pattern's text is searched, as a whole. */
static size_t find_pattern(const uint8_t *text, size_t len, const char *pattern)
{
	pcre2_match_data *data = pcre2_match_data_create(1, NULL);
	PCRE2_SIZE offset, at;
	int code, r;
	pcre2_code *compiled = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, PCRE2_UTF,
					     &code, &offset, NULL);

	fuzz_check(data && compiled);
	r = pcre2_match(compiled, text, len, 0, PCRE2_NOTEMPTY, data, NULL);
	fuzz_check(r > 0 || r == PCRE2_ERROR_NOMATCH);
	at = pcre2_get_ovector_pointer(data)[0];
	pcre2_match_data_free(data);
	pcre2_code_free(compiled);
	return r > 0 ? at : SIZE_MAX;
}

static size_t find_word(const struct fuzz_terms *terms, size_t task, const char *word,
			const uint8_t *text, size_t len)
{
	size_t at;

	if (terms->kind[task] == FUZZ_PATTERNS)
		return find_pattern(text, len, word);
	at = find(text, len, word, terms->fold[task] != 0);
	/* What comes before its last letter may have been judged before that was there. */
	if (terms->kind[task] == FUZZ_ASKED && at != SIZE_MAX)
		at += strlen(word) - 1;
	return at;
}

size_t fuzz_terms_find(const struct fuzz_terms *terms, const uint8_t *text, size_t len)
{
	size_t first = SIZE_MAX;

	for (size_t i = 0; terms && i < terms->task_count; i++) {
		if (!is_searchable(terms, i))
			continue;
		for (size_t j = 0; j < FUZZ_TERMS_MAX && terms->words[i][j]; j++) {
			size_t at = find_word(terms, i, terms->words[i][j], text, len);

			first = MIN(first, at);
		}
	}
	return first;
}
