/* SPDX-License-Identifier: Apache-2.0 */
/* The literals of texts, for tests: what is heard of them, or found, in every cut. */
#ifndef SLUICE_TESTS_UNIT_LITERALS_H
#define SLUICE_TESTS_UNIT_LITERALS_H

#include <stddef.h>

#include "core/extract_literals.h"
#include "core/fault.h"
#include "core/terms.h"

#define LITERALS_TEXT_MAX 16384u

/* What was evaluated, of each level. */
struct literals_heard {
	char text[EXTRACT_LITERALS_DEEP][LITERALS_TEXT_MAX];
	size_t len[EXTRACT_LITERALS_DEEP];
};

struct terms *literals_terms(const char *term, unsigned int fold);

/* More of a text, in two pieces cut there or in pieces of that size, that are whole runes. */
enum fault literals_feed(struct extract_literals *literals, const char *text, size_t len,
			 size_t cut, size_t size);

/* A text from its beginning to its end. terms and heard may be NULL. */
enum fault literals_run(const struct terms *terms, const char *text, size_t len, size_t cut,
			size_t size, struct literals_heard *heard);

/* With the term "forbidden", in every cut; so that it is denied, or passes. */
void literals_check(const char *text, enum fault fault);

#endif
