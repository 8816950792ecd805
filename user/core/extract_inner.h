/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A document in a string of another, as base64: decoded, and read as the outer one is.
 *
 * Invariants:
 *  I1. What is decoded is one JSON text, held to the same strictness, and the string is its
 *      canonical base64 (FAULT_BAD_ENCODING): no reader makes another text of it.
 *  I2. Where the string need not be one, what it is is told by the first byte that is no white
 *      space: { or [. Readers that pass over characters which are not base64 come to the same byte;
 *      where that is one of the two, such a character is at fault.
 */
#ifndef SLUICE_CORE_EXTRACT_INNER_H
#define SLUICE_CORE_EXTRACT_INNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/base64.h"
#include "core/channel.h"
#include "core/extract_tokens.h"
#include "core/fault.h"

/* Characters that may come before it is known what a string is. */
#define EXTRACT_INNER_HELD 64u

enum extract_inner_state {
	INNER_UNDECIDED, /* what came so far is in held[] */
	INNER_PLAIN,	 /* any other string */
	INNER_DOCUMENT,
};

struct extract_inner_reader;

struct extract_inner {
	bool over; /* a document said that the exchange is complete */
	enum extract_inner_state state;
	struct base64 base64;
	bool begun;
	bool foreign; /* undecided: a character that is not base64 has come */
	uint8_t held[EXTRACT_INNER_HELD];
	size_t held_len;
	struct extract_inner_reader *reader;
};

/* NULL: out of memory. Free accepts NULL. */
struct extract_inner *extract_inner_new(struct channel_set *set, bool replace);
void extract_inner_free(struct extract_inner *inner);

/* A string begins; certain: it is base64. */
void extract_inner_begin(struct extract_inner *inner, bool certain);
/*
 * Its next text, as the scanner hands it on, and the sink that any string goes to. Flags have
 * JSON_FIRST with a string's first text alone, and JSON_LAST with its last.
 */
enum fault extract_inner_text(struct extract_inner *inner, struct extract_tokens *tokens,
			      unsigned int flags, const uint8_t *text, size_t len,
			      uint64_t runes) must_check;
enum fault extract_inner_surrogate(struct extract_inner *inner, struct extract_tokens *tokens,
				   uint32_t unit) must_check;
/* The unit ends. */
enum fault extract_inner_unit_end(struct extract_inner *inner) must_check;

size_t extract_inner_memory(const struct extract_inner *inner); /* with the struct itself */

#endif
