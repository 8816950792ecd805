/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One of the two ways to take the quotes of a text for beginnings and ends of literals, and
 * which of its literals belong together: those behind one member's name, and those of lists.
 * For core/extract_literals.c alone, which says what is between quotes.
 *
 * Invariants:
 *  P1. How the text is cut changes no answer.
 *  P2. Lists behind a name, and those behind none, are told from the name's other literals,
 *      and from those of the other pairing, whose gaps are this one's literals.
 */
#ifndef SLUICE_CORE_EXTRACT_PAIRING_H
#define SLUICE_CORE_EXTRACT_PAIRING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXTRACT_NAME_BYTES 64u

/* What came since a literal: how the next one belongs to it. */
enum extract_gap {
	GAP_NONE,
	GAP_NAME,  /* white space: it may be a name */
	GAP_COLON, /* it is, and white space */
	GAP_LIST,  /* what may stand in a list before its next literal */
};

struct extract_pairing {
	uint64_t seed; /* the caller's: one that a peer does not know, and which one this is */
	bool odd;

	/* Words, and apart: what is written in bytes and read at once stalls at each quote. */
	uint32_t gap;	     /* enum extract_gap */
	size_t name_len;     /* of the literal before it; of one under way: what is kept so far */
	const uint8_t *name; /* the literal before the gap; valid in this call, or kept */
	uint32_t last;	     /* last byte of the gap that is no white space, or 0 */
	bool in_list;	     /* the literal before the gap, or under way, is */
	uint64_t list;	     /* key of the list it is in */
	uint8_t kept[EXTRACT_NAME_BYTES];
};

/* No literal came, or none that goes on; in_list: maybe the beginning of a list. */
void extract_pairing_reset(struct extract_pairing *pairing, bool in_list);

static inline bool extract_is_white(uint8_t c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* One more byte of a gap that is not GAP_NONE, and no white space. */
void extract_pairing_widen(struct extract_pairing *pairing, uint8_t c);

/* Text between its literals. */
static inline void extract_pairing_pass(struct extract_pairing *pairing, const uint8_t *text,
					size_t len)
{
	for (size_t i = 0; i < len && pairing->gap; i++)
		if (!extract_is_white(text[i]))
			extract_pairing_widen(pairing, text[i]);
	while (len && extract_is_white(text[len - 1]))
		len--;
	if (len)
		pairing->last = text[len - 1];
}

/* What lies there is none that JSON has between literals. */
static inline void extract_pairing_break(struct extract_pairing *pairing)
{
	pairing->gap = GAP_NONE;
	pairing->last = 0;
}

/* A literal begins. May it belong to a text? If not, that is all there is to be said of it. */
static inline bool extract_pairing_may_belong(const struct extract_pairing *pairing)
{
	return pairing->gap > GAP_NAME || (pairing->gap == GAP_NONE && pairing->last == '[');
}
static inline void extract_pairing_begin_alone(struct extract_pairing *pairing)
{
	pairing->in_list = false;
	pairing->name_len = 0;
}
/* Else: does it belong to one? *ret_key tells it from others. */
bool extract_pairing_begin(struct extract_pairing *pairing, uint64_t *ret_key);
/* More of it, which does not end it. */
void extract_pairing_keep(struct extract_pairing *pairing, const uint8_t *text, size_t len);
/* The last of it, before a quote; it is valid until the call below. */
void extract_pairing_end(struct extract_pairing *pairing, const uint8_t *text, size_t len);

/* The caller's text ends. */
void extract_pairing_pause(struct extract_pairing *pairing);

#endif
