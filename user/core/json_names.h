/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The member names of the objects that are open in a JSON text: what makes a
 * duplicate known, exactly and by the decoded name, and what the path of a value
 * is made of.
 *
 * Invariants:
 *  N1. Memory is a stack: an object's names go when it closes.
 *  N2. Adding a name costs time linear in its length, whatever the names are
 *      (a short object is compared name by name, a long one has a crit-bit tree,
 *      so no choice of names makes it slow as with a hash).
 *  N3. An unpaired surrogate counts as U+FFFD: names that a reader could take
 *      for the same one are the same one.
 */
#ifndef SLUICE_CORE_JSON_NAMES_H
#define SLUICE_CORE_JSON_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/fault.h"

struct json_key {
	uint32_t offset, len; /* in bytes[] */
};

struct json_node;

struct json_object {
	uint32_t first_key, first_node;
	uint32_t root; /* of its tree, once it has one */
};

/* The names of a text's outermost object alone, as far as they are few. */
#define JSON_NAMES_MARK 8u

struct json_names_mark {
	uint32_t used, key_count;
	struct json_key keys[JSON_NAMES_MARK];
	uint8_t bytes[192];
};

struct json_names {
	uint8_t *bytes;
	struct json_key *keys; /* the last is the one under way, or the current one */
	struct json_node *nodes;
	struct json_object *objects;
	uint32_t used, capacity;
	uint32_t key_count, key_capacity;
	uint32_t node_count, node_capacity;
	uint32_t object_count, object_capacity;
	uint16_t high; /* the name under way ends in this high surrogate */
};

/* All zero is an empty set of names. Frees what it holds. */
void json_names_done(struct json_names *names);
/* Forgets everything; large arenas are freed, small ones kept. */
void json_names_clear(struct json_names *names);

/* FAULT_NONE, FAULT_NO_MEMORY, or FAULT_TOO_LARGE: more than 4 GiB of names. */
enum fault json_names_open(struct json_names *names) must_check;
void json_names_close(struct json_names *names);

/* A name of the innermost object: begin, any number of pieces, end. */
enum fault json_names_begin(struct json_names *names) must_check;
enum fault json_names_text(struct json_names *names, const uint8_t *text, size_t len) must_check;
enum fault json_names_surrogate(struct json_names *names, uint32_t unit) must_check;
/* FAULT_DUPLICATE_KEY: the object has it already. */
enum fault json_names_end(struct json_names *names) must_check;

/* A whole name at once. */
enum fault json_names_add(struct json_names *names, const uint8_t *text, size_t len) must_check;

/* The current name in the open object of that depth, 0 being the outermost. */
const uint8_t *json_names_at(const struct json_names *names, uint32_t depth, size_t *ret_len);

/* The same in the innermost one; before its first name, that of the object around it. */
static inline const uint8_t *json_names_last(const struct json_names *names, size_t *ret_len)
{
	const struct json_key *key = &names->keys[names->key_count - 1];

	*ret_len = key->len;
	return names->bytes + key->offset;
}

/* Where only the outermost object is open, notes its names. False: it cannot. */
bool json_names_note(const struct json_names *names, struct json_names_mark *ret_mark);
/* Where none is open, opens one with these names. False: there is no room kept for them. */
bool json_names_recall(struct json_names *names, const struct json_names_mark *mark);

size_t json_names_memory(const struct json_names *names);

#endif
