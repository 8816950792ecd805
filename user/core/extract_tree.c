/* SPDX-License-Identifier: Apache-2.0 */
#include "core/extract_tree.h"

#include <assert.h>
#include <string.h>

/* Most names that are not known, those of chunks of chats above all, are told by their bit. */
static uint64_t name_bit(const void *name, size_t len)
{
	const uint8_t *text = name;

	return 1ull << ((text[0] + 3u * text[len - 1] + 5u * text[len / 2] + 17u * len) & 63u);
}

static void add_form(struct extract_tree *tree, uint8_t form)
{
	const struct tree_edge *edges = tree->forms[form]->edges;
	uint8_t i = 0;

	for (size_t node = 0; node < _NODE_SHARED_MAX; node++) {
		tree->shared[node][form] = i;
		for (; edges[i].from == node; i++)
			for (size_t type = 0; type < TREE_TYPES; type++)
				if (edges[i].types >> type & 1)
					tree->names[node][type] |=
						name_bit(edges[i].name, edges[i].len);
	}
	for (i = 0; edges[i].from != UINT8_MAX; i++) {
		uint8_t from = edges[i].from;

		tree->types[from] |= edges[i].types;
		if (i && edges[i - 1].from == from)
			continue;
		tree->form[from] = form;
		tree->first[from] = i;
	}
}

void extract_tree_init(struct extract_tree *tree, const struct extract_form *const *forms,
		       size_t count)
{
	assert(count <= TREE_FORMS_MAX);
	*tree = (struct extract_tree){
		.forms = forms,
		.form_count = (uint8_t)count,
		.types = {[NODE_UNKNOWN] = TREE_OBJECT},
	};
	for (uint8_t form = 0; form < count; form++)
		add_form(tree, form);
}

void extract_tree_enter(struct extract_tree *tree, const uint8_t *nodes, uint8_t count)
{
	for (uint8_t i = 0; i < count; i++) {
		tree->nodes[tree->known++] = tree->node;
		tree->node = nodes[i];
	}
}

static inline uint8_t find_in(const struct tree_edge *edge, uint8_t node, enum tree_type type,
			      const uint8_t *name, size_t len)
{
	for (; edge->from == node; edge++)
		if ((edge->types & type) &&
		    (!edge->name || (edge->len == len && memcmp(edge->name, name, len) == 0)))
			return edge->to;
	return NODE_UNKNOWN;
}

/* Of a node that several forms have; all its edges have names. */
static uint8_t find_shared(const struct extract_tree *tree, enum tree_type type,
			   const uint8_t *name, size_t len)
{
	uint8_t node = tree->node, found = NODE_UNKNOWN;

	if (!len || !(tree->names[node][__builtin_ctz(type)] & name_bit(name, len)))
		return NODE_UNKNOWN;
	for (uint8_t form = 0; form < tree->form_count && !found; form++)
		found = find_in(&tree->forms[form]->edges[tree->shared[node][form]], node, type,
				name, len);
	return found;
}

uint8_t extract_tree_find(const struct extract_tree *tree, const struct json *json,
			  enum tree_type type)
{
	uint8_t node = tree->node;
	const uint8_t *name;
	size_t len;

	/* What is around all has no names, and but one thing in it. */
	if (node == NODE_UNKNOWN)
		return NODE_ROOT;
	name = json_names_last(&json->names, &len);
	if (node < _NODE_SHARED_MAX)
		return find_shared(tree, type, name, len);
	return find_in(&tree->forms[tree->form[node]]->edges[tree->first[node]], node, type, name,
		       len);
}
