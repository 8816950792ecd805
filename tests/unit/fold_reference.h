/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests of folding share: random texts of runes that fold in unlike ways,
 * and the fold of a whole text done by ICU in one go.
 */
#ifndef SLUICE_TESTS_UNIT_FOLD_REFERENCE_H
#define SLUICE_TESTS_UNIT_FOLD_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/terms.h"
#include "core/utf8.h"

#define STEPS_END   64u /* one past all sets of steps */
#define TEXT_RUNES  40u
#define FOLDED_SIZE 24576u /* holds the fold of any text of TEXT_RUNES runes */

struct text {
	uint32_t runes[TEXT_RUNES];
	size_t offsets[TEXT_RUNES + 1]; /* of the runes in bytes, and their end */
	uint8_t bytes[TEXT_RUNES * UTF8_MAX];
	unsigned int count;
};

unsigned int draw(unsigned int *seed, unsigned int below);
void text_append(struct text *text, uint32_t rune);
/* At most `most` runes. */
void text_random(struct text *text, unsigned int most, unsigned int *seed);

/* Folds the first count runes by whole-string steps; returns the bytes written to out. */
size_t fold_whole(unsigned int steps, const uint32_t *runes, unsigned int count, uint8_t *out);

/* Terms are folded once more, which need not leave them as they are. */
bool folds_to_itself(unsigned int steps, const char *term);

/* Terms that have to be taken. */
struct terms *fold_terms_new(const char *const *list, size_t count, unsigned int steps);

#endif
