/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A parsed document as a tree of scalars, lists and maps, each node with the
 * line and column it came from. What reads a file (YAML) builds it; what gives
 * it a meaning (the policy) stays free of any file format.
 *
 * Invariants: the tree is acyclic and owned by its root; keys and scalars are
 * NUL-terminated UTF-8 without embedded NULs; map entries keep file order.
 */
#ifndef SLUICE_BASE_DOC_H
#define SLUICE_BASE_DOC_H

#include <stdbool.h>
#include <stddef.h>

#include "base/macros.h"

enum doc_kind { DOC_SCALAR, DOC_LIST, DOC_MAP };

struct doc_node {
	enum doc_kind kind;
	unsigned int line, column;	   /* of the value, from 1 */
	unsigned int key_line, key_column; /* of the key; without one, those of the value */
	char *key;			   /* in a map, else NULL */
	char *scalar;			   /* DOC_SCALAR */
	bool quoted;			   /* a quoted scalar is always a string */
	struct doc_node **children;	   /* DOC_LIST, DOC_MAP */
	size_t count;
};

/* -ENOMEM: nothing was allocated. The strings are copied; NULL stays NULL. */
int doc_node_new(enum doc_kind kind, const char *key, const char *scalar, unsigned int line,
		 unsigned int column, struct doc_node **ret_node) must_check;

/* Appends and takes over child; on -ENOMEM child still belongs to the caller. */
int doc_node_append(struct doc_node *parent, struct doc_node *child) must_check;

/* The map entry of that key, or NULL (also where node is NULL or no map). */
const struct doc_node *doc_node_get(const struct doc_node *node, const char *key);

/* Frees the whole tree. Accepts NULL. */
void doc_node_free(struct doc_node *node);
DEFINE_CLEANUP(struct doc_node *, doc_node_free)

#endif
