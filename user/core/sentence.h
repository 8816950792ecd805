/* SPDX-License-Identifier: Apache-2.0 */
/* Where sentences end, by single runes. */
#ifndef SLUICE_CORE_SENTENCE_H
#define SLUICE_CORE_SENTENCE_H

#include <stdbool.h>
#include <stdint.h>

/* Ends one where a space follows: full stop, question and exclamation mark. */
bool sentence_is_stop(uint32_t rune);
bool sentence_is_space(uint32_t rune);
/* Ends one whatever follows. */
bool sentence_is_end(uint32_t rune);

#endif
