/* SPDX-License-Identifier: Apache-2.0 */
/* What the benchmarks of core share: each is one file that includes this. */
#ifndef SLUICE_TESTS_BENCH_BENCH_H
#define SLUICE_TESTS_BENCH_BENCH_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "base/macros.h"

/* English, for texts that are drawn. */
static const char *const english_words[] __attribute__((unused)) = {
	"the",	  "of",	      "and",   "to",	 "in",	   "is",	  "that",    "for",
	"it",	  "as",	      "was",   "with",	 "be",	   "by",	  "on",	     "not",
	"this",	  "are",      "or",    "his",	 "from",   "which",	  "but",     "have",
	"people", "language", "model", "answer", "system", "information", "process", "streaming",
};

/* Seconds of processor time of this process. */
static inline double cpu_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* One figure, as a JSON object on a line. */
static inline void report(const char *name, double value, const char *unit)
{
	printf("{\"name\": \"%s\", \"value\": %.4g, \"unit\": \"%s\"}\n", name, value, unit);
	fflush(stdout);
}

/* A number below one, the same in every run. */
static inline unsigned int draw(unsigned int *seed, size_t below)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (unsigned int)((*seed >> 8) % below);
}

/* Where a piece of about `run` bytes from `at` on ends, so that it cuts no rune. */
static inline size_t next_cut(const uint8_t *text, size_t at, size_t run, size_t len)
{
	at = MIN(at + run, len);
	while (at < len && (text[at] & 0xc0) == 0x80)
		at++;
	return at;
}

#endif
