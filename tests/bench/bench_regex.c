/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What searching for a hundred patterns costs, of the kinds that secret scanners use:
 * most begin with a literal that a provider gives its tokens, some with an assignment's
 * name in any case, some with a class alone, which have to be tried everywhere. Over
 * text of several kinds, in calls of several lengths. Prints one JSON object a line:
 * name, value, unit. Each figure is the best of several runs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "bench/bench.h"
#include "core/regex.h"

#define REPEATS	  3u
#define TEXT_SIZE (4u << 20)
#define PATTERNS  100u

static const char *const code[] = {
	"if (",	     "return ", "token = ", "key: ",   "\"0x7f3a\"",  "{\n\t", "}\n",
	"8d2f17c0 ", "static ", "sk_",	    "int ",    "import os\n", "//",    "ghp_",
	"password ", "config.", "secrets[", "api_key", "https://",    "3.14",
};
static const char *const hanzi[] = {"你", "好", "世", "界", "机", "器", "学", "习", "，"};
/* The beginnings of what patterns look for, one after the other. */
static const char *const hostile[] = {"AKIA ", "ghp_ ",	     "sk-",	"xoxb-",
				      "eyJ",   "0f1e2d3c4.", "api_key="};

static const char *const shapes[] = {
	"AKIA[0-9A-Z]{16}",
	"ghp_[0-9A-Za-z]{36}",
	"xox[bp]-[0-9]{10,13}-[0-9A-Za-z]{24}",
	"sk-[A-Za-z0-9]{20}T3BlbkFJ[A-Za-z0-9]{20}",
	"AIza[0-9A-Za-z_-]{35}",
	"-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----",
	"(?i)api_?key['\" ]{0,3}[:=]['\" ]{0,3}[0-9a-z]{32}",
	"\\b[0-9a-f]{32}-us[0-9]{1,2}\\b",
	"\\b[MN][A-Za-z0-9_-]{23}\\.[A-Za-z0-9_-]{6}\\.[A-Za-z0-9_-]{27}",
	"(?<![0-9])[0-9]{8,10}:[A-Za-z0-9_-]{35}\\b",
};

struct corpus {
	const char *name;
	const char *const *parts;
	size_t count;
	const char *between;
};

/* Whole runes only; *ret_len is at most TEXT_SIZE. */
static uint8_t *make_text(const struct corpus *corpus, size_t *ret_len)
{
	char *text = malloc(TEXT_SIZE + 64), *end = text;
	unsigned int seed = 1;

	if (!text)
		exit(1);
	while (end < text + TEXT_SIZE - 64) {
		end = stpcpy(end, corpus->parts[draw(&seed, corpus->count)]);
		end = stpcpy(end, corpus->between);
	}
	*ret_len = (size_t)(end - text);
	return (uint8_t *)text;
}

/*
 * The six that begin with literals in 15 versions each, as of 15 providers; the four that
 * do not, or say little, in two or three.
 */
static struct regex *make_regex(void)
{
	static char texts[PATTERNS][160];
	const struct regex_options options = {0};
	const char *list[PATTERNS];
	struct regex_error error;
	struct regex *regex;

	for (unsigned int i = 0; i < PATTERNS; i++) {
		const char *shape = i < 90 ? shapes[i % 6] : shapes[6 + i % 4];

		/* Another provider's keys begin with two letters more. */
		if (i < 6 || i >= 90)
			snprintf(texts[i], sizeof(texts[i]), "%s", shape);
		else
			snprintf(texts[i], sizeof(texts[i]), "%c%c%s", 'a' + (int)i % 26,
				 'a' + (int)i * 7 % 26, shape);
		list[i] = texts[i];
	}
	if (regex_new(list, PATTERNS, &options, &error, &regex) < 0) {
		fprintf(stderr, "%s: %s\n", list[error.pattern], error.message);
		exit(1);
	}
	return regex;
}

static double scan(const struct regex *regex, const uint8_t *text, size_t len, size_t run)
{
	double best = 0;

	for (unsigned int i = 0; i < REPEATS; i++) {
		struct regex_cursor cursor;
		double start = cpu_now();

		regex_cursor_init(&cursor);
		for (size_t at = 0, next; at < len; at = next) {
			next = next_cut(text, at, run, len);
			/* The count of runes has no part in the search. */
			if (regex_scan(regex, &cursor, text + at, next - at, next - at) != 0)
				exit(1);
		}
		regex_cursor_done(&cursor);
		best = MAX(best, (double)len / 1e6 / (cpu_now() - start));
	}
	return best;
}

int main(void)
{
	static const struct corpus corpora[] = {
		{"english", english_words, ARRAY_SIZE(english_words), " "},
		{"code", code, ARRAY_SIZE(code), ""},
		{"chinese", hanzi, ARRAY_SIZE(hanzi), ""},
		{"hostile", hostile, ARRAY_SIZE(hostile), ""},
	};
	static const size_t runs[] = {16, 256, 4096, 1 << 20};
	struct regex *regex = make_regex();

	for (size_t i = 0; i < ARRAY_SIZE(corpora); i++) {
		size_t len;
		uint8_t *text = make_text(&corpora[i], &len);

		for (size_t k = 0; k < ARRAY_SIZE(runs); k++) {
			char name[64];

			snprintf(name, sizeof(name), "regex_%s_%u_run%zu", corpora[i].name,
				 PATTERNS, runs[k]);
			report(name, scan(regex, text, len, runs[k]), "MB/s");
		}
		free(text);
	}
	regex_free(regex);
	return 0;
}
