/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The path of a value in a JSON text: the names of the members it is in, joined by '.',
 * with a backslash before their own dots and backslashes, array indexes dropped. '$' is
 * the path without names, "\\$" that of a member named so.
 *
 * Invariants:
 *  P1. Of many values deep in a text each costs only the names that are new.
 */
#ifndef SLUICE_CORE_EXTRACT_PATH_H
#define SLUICE_CORE_EXTRACT_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/fault.h"
#include "core/json_names.h"

/*
 * Bytes of the path of a string within an array. Looking it up takes time for each
 * such string, so that a unit with a longer one is too large.
 */
#define EXTRACT_NAME_MAX 1024u

/* All zero is the path of no value. */
struct extract_path {
	char *text; /* NUL-terminated, once made */
	size_t len, capacity;
	/* Where each name of the path ends; the first `names` of them are still right. */
	uint32_t *ends;
	uint32_t names, ends_capacity;
};

void extract_path_done(struct extract_path *path);
/* Forgets the path; what is large is freed. */
void extract_path_clear(struct extract_path *path);

/* A name begins: the path is another from there on. */
static inline void extract_path_name(struct extract_path *path, const struct json_names *names)
{
	path->names = MIN(path->names, names->object_count - 1);
}

/*
 * The path of the value under way. One over EXTRACT_NAME_MAX is FAULT_TOO_LARGE where
 * it has to be exact, else cut short. FAULT_NO_MEMORY.
 */
enum fault extract_path_make(struct extract_path *path, const struct json_names *names,
			     bool exact) must_check;

size_t extract_path_memory(const struct extract_path *path); /* beside the struct itself */

#endif
