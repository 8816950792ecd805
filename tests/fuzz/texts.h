/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The texts of channels, by name, joined over everything that was said of them: more than
 * is joined anywhere else, so that what is not found here is nowhere.
 *
 * Units: bytes.
 */
#ifndef SLUICE_TESTS_FUZZ_TEXTS_H
#define SLUICE_TESTS_FUZZ_TEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fuzz_text {
	char *name;
	uint8_t *text; /* NUL behind it */
	size_t len, capacity;
	size_t mark; /* the owner's */
};

struct fuzz_texts {
	struct fuzz_text *texts;
	size_t count, capacity;
};

/* NULL: nothing was said of it. */
struct fuzz_text *fuzz_texts_find(const struct fuzz_texts *texts, const char *name);
/* Appends well-formed text, at least a byte, to that channel's. */
struct fuzz_text *fuzz_texts_add(struct fuzz_texts *texts, const char *name, const uint8_t *text,
				 size_t len);
uint64_t fuzz_texts_runes(const struct fuzz_texts *texts);
/* The same channels with the same text. */
bool fuzz_texts_same(const struct fuzz_texts *a, const struct fuzz_texts *b);
void fuzz_texts_done(struct fuzz_texts *texts);

#endif
