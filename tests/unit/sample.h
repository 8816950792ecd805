/* SPDX-License-Identifier: Apache-2.0 */
/* An extractor by itself, for tests: payloads in, and what came of them. */
#ifndef SLUICE_TESTS_UNIT_SAMPLE_H
#define SLUICE_TESTS_UNIT_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/extract.h"
#include "core/fault.h"
#include "core/terms.h"

struct sample {
	struct extract config;
	unsigned int flags;
	const struct terms *terms; /* NULL: only observed */
};

struct sample_result {
	char text[16384]; /* "name=piece;" as they came, pieces of one name joined */
	char last[64];
	size_t len;
	enum fault fault;
	size_t payload; /* the one at fault, or their count */
	bool complete;
	uint64_t track, frontier;
};

#define PAYLOADS(...)             \
	(const char *const[])     \
	{                         \
		__VA_ARGS__, NULL \
	}
size_t sample_count(const char *const *payloads);

/* Each payload cut in two at an offset where it is as long, and in pieces of that size. */
void sample_run(const struct sample *sample, const char *const *payloads, size_t cut, size_t size,
		struct sample_result *ret);

/*
 * In one piece, in pieces of each size up to 9 bytes, and cut in two at each offset:
 * the text, or the fault and the payload it comes in.
 */
void sample_check(const struct sample *sample, const char *const *payloads, const char *text,
		  enum fault fault, size_t payload);
bool sample_completes(const struct sample *sample, const char *const *payloads);

/* Each allocation failing in turn, with the sample's terms: FAULT_NO_MEMORY, and no leak. */
void sample_check_allocations(const struct sample *sample, const char *const *payloads);

struct terms *sample_terms(const char *term);

#endif
