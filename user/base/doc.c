/* SPDX-License-Identifier: Apache-2.0 */
#include "base/doc.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int doc_node_new(enum doc_kind kind, const char *key, const char *scalar, unsigned int line,
		 unsigned int column, struct doc_node **ret_node)
{
	struct doc_node *node cleanup(doc_node_freep) = calloc(1, sizeof(*node));

	if (!node)
		return -ENOMEM;
	node->kind = kind;
	node->line = node->key_line = line;
	node->column = node->key_column = column;
	if (key) {
		node->key = strdup(key);
		if (!node->key)
			return -ENOMEM;
	}
	if (scalar) {
		node->scalar = strdup(scalar);
		if (!node->scalar)
			return -ENOMEM;
	}
	*ret_node = take_ptr(node);
	return 0;
}

int doc_node_append(struct doc_node *parent, struct doc_node *child)
{
	struct doc_node **grown;
	size_t room;

	/* The list is full at 0 and at each power of two: then it doubles. */
	if ((parent->count & (parent->count - 1)) == 0) {
		room = parent->count ? parent->count * 2 : 1;
		if (room > SIZE_MAX / sizeof(*grown))
			return -ENOMEM;
		grown = realloc(parent->children, room * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		parent->children = grown;
	}
	parent->children[parent->count++] = child;
	return 0;
}

const struct doc_node *doc_node_get(const struct doc_node *node, const char *key)
{
	size_t i;

	if (!node || node->kind != DOC_MAP)
		return NULL;
	for (i = 0; i < node->count; i++)
		if (node->children[i]->key && strcmp(node->children[i]->key, key) == 0)
			return node->children[i];
	return NULL;
}

void doc_node_free(struct doc_node *node)
{
	size_t i;

	if (!node)
		return;
	for (i = 0; i < node->count; i++)
		doc_node_free(node->children[i]);
	free(node->children);
	free(node->scalar);
	free(node->key);
	free(node);
}
