/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What searching for terms and accounting cost: text of several kinds against
 * sets of 100 and of 10,000 terms, in calls of several lengths, with folding and
 * without, and the session's inner operations. Prints one JSON object a line:
 * name, value, unit. Each figure is the best of several runs, since only the
 * machine can make a run slower.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/macros.h"
#include "bench/bench.h"
#include "core/session.h"
#include "core/terms.h"

#define REPEATS	   5u
#define TEXT_SIZE  (16u << 20)
#define TERMS_MOST 10000u
#define TERM_SIZE  24u

static const char *const syllables[] = {
	"for", "bid", "den", "se",   "cret", "pass", "word", "to",  "ken",  "key",
	"ad",  "min", "ex",  "plo",  "sive", "wea",  "pon",  "mal", "ware", "hack",
	"tra", "vol", "mor", "phos", "gra",  "tor",  "zin",  "qua", "bel",  "dro",
};

static const char *const cyrillic[] = {"при", "вет", "как", "де", "ла", "сло", "во", "йо", " "};
static const char *const chinese[] = {"你", "好", "世", "界", "机", "器", "学", "习", "，"};

/* English as a model writes it, with what casefold folds. */
static const char *const prose[] = {
	"The",	   "language", "model",	   "answers", "each",	 "question,", "and",	"people",
	"read",	   "it",       "as",	   "it",      "streams", "past.",     "In",	"London",
	"Mr.",	   "Smith",    "asked:",   "How",     "much",	 "of",	      "this",	"system",
	"is",	   "new?",     "Nothing,", "she",     "said;",	 "the",	      "answer", "was",
	"written", "before",   "I",	   "came.",
};

struct corpus {
	const char *name;
	const char *const *parts;
	size_t count;
	bool spaces;
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Whole runes only; *ret_len is at most TEXT_SIZE. */
static uint8_t *make_text(const struct corpus *corpus, size_t *ret_len)
{
	char *text = malloc(TEXT_SIZE + 64);
	unsigned int seed = 1;
	size_t len = 0;

	if (!text)
		exit(1);
	while (len < TEXT_SIZE - 64) {
		len = (size_t)(stpcpy(text + len, corpus->parts[draw(&seed, corpus->count)]) -
			       text);
		if (corpus->spaces)
			text[len++] = ' ';
	}
	*ret_len = len;
	return (uint8_t *)text;
}

static struct terms *make_terms(size_t count, unsigned int fold)
{
	static char texts[TERMS_MOST][TERM_SIZE];
	const char *list[TERMS_MOST];
	struct terms *terms;
	unsigned int seed = 5;
	size_t bad;

	for (size_t i = 0; i < count; i++) {
		/* The last character is in no text: terms begin everywhere and never end. */
		snprintf(texts[i], TERM_SIZE, "%s%s%s%s#", syllables[draw(&seed, 30)],
			 syllables[draw(&seed, 30)], syllables[draw(&seed, 30)],
			 syllables[draw(&seed, 30)]);
		list[i] = texts[i];
	}
	if (terms_new(list, count, fold, &bad, &terms) < 0)
		exit(1);
	return terms;
}

static double scan(const struct terms *terms, const uint8_t *text, size_t len, size_t run)
{
	double best = 0;

	for (unsigned int i = 0; i < REPEATS; i++) {
		struct terms_cursor cursor;
		double start = now();

		terms_cursor_init(&cursor);
		for (size_t at = 0, next; at < len; at = next) {
			next = next_cut(text, at, run, len);
			/* The count of runes has no part in the search. */
			if (terms_scan(terms, &cursor, text + at, next - at, next - at) != 0)
				exit(1);
		}
		terms_cursor_done(&cursor);
		best = MAX(best, (double)len / 1e6 / (now() - start));
	}
	return best;
}

static void bench_terms(const struct corpus *corpus, size_t count, unsigned int fold,
			const char *fold_name, size_t run)
{
	struct terms *terms = make_terms(count, fold);
	char name[96];
	size_t len;
	uint8_t *text = make_text(corpus, &len);

	snprintf(name, sizeof(name), "terms_%s_%zu_%s_run%zu", corpus->name, count, fold_name, run);
	report(name, scan(terms, text, len, run), "MB/s");
	terms_free(terms);
	free(text);
}

static void bench_build(size_t count, unsigned int fold, const char *name)
{
	double best = 1e9;

	for (unsigned int i = 0; i < REPEATS; i++) {
		double start = now();

		terms_free(make_terms(count, fold));
		best = MIN(best, now() - start);
	}
	report(name, best * 1e3, "ms");
}

/* One rune observed, cleared by one of four tasks, and the watermark asked for. */
static void bench_session(void)
{
	static const char *const names[] = {"a", "b", "c", "d"};
	const struct session_config config = {.tasks = {NULL, names}, .task_count = {0, 4}};
	const unsigned int rounds = 10000000;
	uint64_t received, mark;
	double best = 0;

	for (unsigned int i = 0; i < REPEATS; i++) {
		struct session *session;
		double start;

		if (session_new(&config, &session) != SESSION_OK)
			exit(1);
		start = now();
		for (unsigned int k = 0; k < rounds; k++) {
			if (session_observe(session, SESSION_RESPONSE, 1, &received) !=
				    SESSION_OK ||
			    session_outcome(session, SESSION_RESPONSE, (int)(k & 3),
					    k < 8 ? 0 : k - 8, k + 1,
					    SESSION_CLEARED) != SESSION_OK)
				exit(1);
			session_advance(session, SESSION_RESPONSE, &mark);
		}
		best = MAX(best, rounds / 1e6 / (now() - start));
		session_fail(session, SESSION_DISCONNECTED);
		session_free(session);
	}
	report("session_observe_outcome_advance_4_tasks", best, "M/s");
}

int main(void)
{
	static const struct corpus english = {"english", english_words, ARRAY_SIZE(english_words),
					      true};
	/* Text made of what terms are made of: something begins everywhere. */
	static const struct corpus hostile = {"hostile", syllables, ARRAY_SIZE(syllables), false};
	static const struct corpus written = {"prose", prose, ARRAY_SIZE(prose), true};
	static const struct corpus russian = {"cyrillic", cyrillic, ARRAY_SIZE(cyrillic), false};
	static const struct corpus hanzi = {"chinese", chinese, ARRAY_SIZE(chinese), false};
	const unsigned int all = TERMS_FOLD_CASEFOLD | TERMS_FOLD_NFKC | TERMS_FOLD_IGNORABLE;

	bench_terms(&english, 100, 0, "plain", 16);
	bench_terms(&english, 100, 0, "plain", 64);
	bench_terms(&english, 100, 0, "plain", 4096);
	bench_terms(&english, TERMS_MOST, 0, "plain", 4096);
	bench_terms(&hostile, 100, 0, "plain", 4096);
	bench_terms(&hostile, TERMS_MOST, 0, "plain", 4096);
	bench_terms(&hanzi, 100, 0, "plain", 4096);
	bench_terms(&english, 100, TERMS_FOLD_CASEFOLD, "casefold", 64);
	bench_terms(&english, 100, TERMS_FOLD_CASEFOLD, "casefold", 4096);
	bench_terms(&written, 1000, TERMS_FOLD_CASEFOLD, "casefold", 4096);
	bench_terms(&written, 1000, TERMS_FOLD_CASEFOLD, "casefold", 16384);
	bench_terms(&english, 100, all, "folded", 64);
	bench_terms(&english, 100, all, "folded", 4096);
	bench_terms(&hostile, 100, all, "folded", 4096);
	bench_terms(&russian, 100, all, "folded", 4096);
	bench_terms(&hanzi, 100, all, "folded", 4096);
	bench_build(100, 0, "terms_build_100_plain");
	bench_build(TERMS_MOST, 0, "terms_build_10000_plain");
	bench_build(100, all, "terms_build_100_folded");
	bench_session();
	return 0;
}
