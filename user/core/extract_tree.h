/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where in a known tree of JSON members a scanner stands, followed as containers open and close:
 * whether a value is a known one is then one look at the members of its parent, whatever its depth.
 * The tree is that of one form, or of several at once.
 *
 * Invariants:
 *  R1. A value is known only by its exact place: the names, and the types, of all the containers
 *      around it.
 */
#ifndef SLUICE_CORE_EXTRACT_TREE_H
#define SLUICE_CORE_EXTRACT_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "core/extract_form.h"
#include "core/extract_nodes.h"
#include "core/json.h"

/* Containers deeper than this are not known. */
#define TREE_DEPTH_MAX 16u
#define TREE_FORMS_MAX 10u

struct extract_tree {
	const struct extract_form *const *forms;
	uint8_t form_count;
	uint8_t known;		       /* so many of the open containers are */
	uint8_t node;		       /* the innermost of them */
	uint8_t nodes[TREE_DEPTH_MAX]; /* those around it, from the outermost on */
	/* Of each node: types of the values known in it, its form, and its first edge there. */
	uint8_t types[_NODE_MAX], form[_NODE_MAX], first[_NODE_MAX];
	/* Of each shared one: its first edge in each form; of each type a bit for each name. */
	uint8_t shared[_NODE_SHARED_MAX][TREE_FORMS_MAX];
	uint64_t names[_NODE_SHARED_MAX][TREE_TYPES];
};

/* The forms are borrowed; TREE_FORMS_MAX at most. */
void extract_tree_init(struct extract_tree *tree, const struct extract_form *const *forms,
		       size_t count);

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
		return NODE_UNKNOWN;
	return extract_tree_find(tree, json, type);
}

/* A container opened, and is counted already: what it is. */
static inline uint8_t extract_tree_open(struct extract_tree *tree, const struct json *json,
					bool object)
{
	enum tree_type type = object ? TREE_OBJECT : TREE_ARRAY;
	uint8_t node = NODE_UNKNOWN;

	if (tree->known + 1u == json->depth && tree->known < TREE_DEPTH_MAX &&
	    (tree->types[tree->node] & type))
		node = extract_tree_find(tree, json, type);
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
		return NODE_UNKNOWN;
	tree->node = tree->nodes[--tree->known];
	return node;
}

#endif
