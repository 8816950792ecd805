/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose a text is: the numbers of its choice, block, call, and what the document's type says,
 * wherever in the document they stand. Texts that come before wait for them.
 *
 * Invariants:
 *  W1. Texts that wait are bounded by what came, and leave in the order they came in.
 *  W2. A number that is none (negative, with a fraction or an exponent, no number) is
 *      FAULT_BAD_JSON, and one over EXTRACT_INDEX_MAX FAULT_TOO_LARGE, where a text has it.
 *  W3. Each text that waits is looked at a few times at most, however many do.
 */
#ifndef SLUICE_CORE_EXTRACT_PLACE_H
#define SLUICE_CORE_EXTRACT_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/channel.h"
#include "core/extract_channels.h"
#include "core/extract_form.h"
#include "core/extract_nodes.h"
#include "core/extract_text.h"
#include "core/fault.h"

/* Values of a register that are no numbers. */
#define EXTRACT_NO_INDEX  (-2)
#define EXTRACT_TOO_LARGE ((int32_t)EXTRACT_INDEX_MAX + 1)

struct extract_piece;

struct extract_place {
	struct channel_set *set;
	bool replace; /* U+FFFD for what is ill-formed in a raw text */
	bool unit;    /* a text that ends with its unit has come in this one */
	struct extract_channels channels;
	struct extract_text *open; /* the string under way goes there; or NULL */
	struct extract_text plain; /* of strings that are any */
	uint16_t known; /* EXTRACT_NEED of each register that is, and EXTRACT_NEED_TYPE */
	int16_t value[_REGISTER_MAX];
	size_t from[_REGISTER_MAX];	 /* the first piece of each one's scope */
	const struct extract_type *type; /* NULL, with it known: none that says anything */
	/* Texts that wait, from `head` on; those before `barrier` do not go on. */
	struct extract_piece *pieces;
	uint8_t *bytes;
	size_t head, count, capacity, barrier;
	size_t byte_head, byte_count, byte_capacity;
};

void extract_place_init(struct extract_place *place, struct channel_set *set, bool replace);
void extract_place_done(struct extract_place *place);

/* What a text is by what is known: itself, or by the type another, or 0: any string. */
uint8_t extract_place_resolve(const struct extract_place *place, uint8_t node);

/* A part of a text; of a raw one, all of it, well-formed or not. */
enum fault extract_place_text(struct extract_place *place, uint8_t node, const uint8_t *text,
			      size_t len, uint64_t runes) must_check;
enum fault extract_place_surrogate(struct extract_place *place, uint8_t node,
				   uint32_t unit) must_check;
/* The string ends. */
enum fault extract_place_flush(struct extract_place *place) must_check;
static inline enum fault extract_place_string_end(struct extract_place *place)
{
	return place->open ? extract_place_flush(place) : FAULT_NONE;
}
enum fault extract_place_raw(struct extract_place *place, uint8_t node, const uint8_t *text,
			     size_t len) must_check;

/* A register's scope begins; it gets its value; the scope ends. */
void extract_place_open(struct extract_place *place, enum extract_register which);
enum fault extract_place_set(struct extract_place *place, enum extract_register which,
			     int32_t value) must_check;
static inline bool extract_place_knows(const struct extract_place *place,
				       enum extract_register which)
{
	return place->known & EXTRACT_NEED(which);
}
static inline void extract_place_close(struct extract_place *place, enum extract_register which)
{
	place->known &= (uint16_t)~EXTRACT_NEED(which);
}

/* The document's type is known; NULL: it says nothing. */
enum fault extract_place_type(struct extract_place *place,
			      const struct extract_type *type) must_check;
/* The document ends, all of it being known: the next begins. */
void extract_place_end(struct extract_place *place);

/* Calls with this number in that register are complete; of REGISTER_NONE all are. */
void extract_place_complete(struct extract_place *place, enum extract_register which,
			    int32_t value);

/* The unit ends, and with it the texts that do. */
enum fault extract_place_unit_end(struct extract_place *place) must_check;

size_t extract_place_memory(const struct extract_place *place); /* beside the struct itself */

#endif
