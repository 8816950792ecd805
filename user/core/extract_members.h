/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The texts that literals of one member name join to: a channel for each name, and what is
 * found in its text. For core/extract_literals.c alone.
 *
 * Invariants:
 *  M1. A text, with the texts in it, has EXTRACT_NAMES_MAX names at most. Where there is one
 *      more it takes the place of one that was not used for long, whose text ends.
 *  M2. These channels hold nothing of a unit back: they are of texts that end with it.
 */
#ifndef SLUICE_CORE_EXTRACT_MEMBERS_H
#define SLUICE_CORE_EXTRACT_MEMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/channel.h"
#include "core/fault.h"

#define EXTRACT_NAMES_MAX   64u
#define EXTRACT_LITERAL_MAX 36u /* bytes of a literal that is known again */

struct extract_literals;

struct extract_member {
	uint64_t key;
	struct channel *channel;
	struct extract_literals *inner; /* NULL: nothing was found in it yet */
	uint8_t next;			/* of its bucket: 1 + position, or 0 */
	bool used;			/* since it was last passed over */
	/* A literal that left nothing pending, where nothing was: it will again. */
	uint8_t known_len;
	uint8_t known[EXTRACT_LITERAL_MAX];
};

struct extract_members {
	struct channel_set *set; /* the caller's, as the next one is */
	const char *name;	 /* of the channels; borrowed */

	struct extract_member *all;
	uint8_t count, capacity, hand;
	uint8_t buckets[EXTRACT_NAMES_MAX]; /* 1 + position, or 0 */
};

/* Frees what is found in each, too. */
void extract_members_done(struct extract_members *members);

/*
 * The member of that key; one that is new is counted in *names, those of the whole text.
 * *ret_member is NULL where there can be no more. It is valid until the next one is asked
 * for. FAULT_NO_MEMORY, and those of a text that ends.
 */
enum fault extract_members_find(struct extract_members *members, uint64_t key, unsigned int *names,
				struct extract_member **ret_member) must_check;

/* A whole literal of a member that nothing is found in. */
enum fault extract_members_literal(struct extract_members *members, struct extract_member *member,
				   const uint8_t *text, size_t len) must_check;

/* The texts end. */
enum fault extract_members_end(struct extract_members *members) must_check;

size_t extract_members_memory(const struct extract_members *members); /* beside the struct itself */

#endif
