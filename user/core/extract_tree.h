/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where in a known tree of JSON members a scanner stands, followed as containers open
 * and close: whether a value is a known one is then one look at the members of its
 * parent, whatever its depth.
 *
 * Invariants:
 *  R1. A value is known only by its exact place: the names, and the types, of all the
 *      containers around it.
 */
#ifndef SLUICE_CORE_EXTRACT_TREE_H
#define SLUICE_CORE_EXTRACT_TREE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/json.h"

#define TREE_NODES_MAX 48u
#define TREE_DEPTH_MAX 12u

enum tree_type {
	TREE_OBJECT = 1 << 0,
	TREE_ARRAY = 1 << 1,
	TREE_STRING = 1 << 2,
	TREE_NUMBER = 1 << 3,
	TREE_LITERAL = 1 << 4,
};
#define TREE_ANY ((1u << 5) - 1)

/* From a container to what is in it; node 0 is whatever is not known, and what is around all. */
struct tree_edge {
	uint8_t from;
	uint8_t types; /* enum tree_type, any of them */
	uint8_t to;
	uint8_t len;
	const char *name; /* of the member; NULL: an element of an array, or the text itself */
};

#define TREE_MEMBER(from, name, types, to)              \
	{                                               \
		from, types, to, sizeof(name) - 1, name \
	}
#define TREE_ELEMENT(from, types, to)    \
	{                                \
		from, types, to, 0, NULL \
	}

struct extract_tree {
	const struct tree_edge *edges;
	uint8_t first[TREE_NODES_MAX + 1]; /* edge of each node; the next one's is the end */
	uint8_t types[TREE_NODES_MAX];	   /* of the values that are known in it */
	uint8_t known;			   /* so many of the open containers are */
	uint8_t node;			   /* the innermost of them */
	uint8_t nodes[TREE_DEPTH_MAX];	   /* those around it, from the outermost on */
};

/* Edges are sorted by `from`; the tree is no deeper than TREE_DEPTH_MAX. */
void extract_tree_init(struct extract_tree *tree, const struct tree_edge *edges, size_t count);

/* Where no container is open, goes into these, from the outermost on. */
void extract_tree_enter(struct extract_tree *tree, const uint8_t *nodes, uint8_t count);

/* What the value that begins is, of a container that is known with all around it. */
uint8_t extract_tree_find(const struct extract_tree *tree, const struct json *json,
			  enum tree_type type);

/* The same, where depth counts the containers around the value. */
static inline uint8_t extract_tree_value(const struct extract_tree *tree, const struct json *json,
					 enum tree_type type)
{
	if (tree->known != json->depth || !(tree->types[tree->node] & type))
		return 0;
	return extract_tree_find(tree, json, type);
}

/* A container opened, and is counted already: what it is. */
static inline uint8_t extract_tree_open(struct extract_tree *tree, const struct json *json,
					bool object)
{
	uint8_t node = 0;

	if (tree->known + 1u == json->depth)
		node = extract_tree_find(tree, json, object ? TREE_OBJECT : TREE_ARRAY);
	if (node) {
		tree->nodes[tree->known++] = tree->node;
		tree->node = node;
	}
	return node;
}

/* A container closes, and is still counted: what it was. */
static inline uint8_t extract_tree_close(struct extract_tree *tree, const struct json *json)
{
	uint8_t node = tree->node;

	if (tree->known != json->depth)
		return 0;
	tree->node = tree->nodes[--tree->known];
	return node;
}

#endif
