/* SPDX-License-Identifier: Apache-2.0 */
#include "core/extract_tree.h"

void extract_tree_init(struct extract_tree *tree, const struct tree_edge *edges, size_t count)
{
	size_t edge = 0;

	*tree = (struct extract_tree){.edges = edges};
	for (size_t i = 0; i < count; i++)
		tree->types[edges[i].from] |= edges[i].types;
	for (size_t node = 0; node <= TREE_NODES_MAX; node++) {
		while (edge < count && edges[edge].from < node)
			edge++;
		tree->first[node] = (uint8_t)edge;
	}
}

void extract_tree_enter(struct extract_tree *tree, const uint8_t *nodes, uint8_t count)
{
	for (uint8_t i = 0; i < count; i++) {
		tree->nodes[tree->known++] = tree->node;
		tree->node = nodes[i];
	}
}

uint8_t extract_tree_find(const struct extract_tree *tree, const struct json *json,
			  enum tree_type type)
{
	const struct tree_edge *edge = &tree->edges[tree->first[tree->node]];
	const struct tree_edge *end = &tree->edges[tree->first[tree->node + 1]];
	const uint8_t *name = NULL;
	size_t len = 0;

	if (edge < end && edge->name)
		name = json_names_last(&json->names, &len);
	for (; edge < end; edge++)
		if ((edge->types & type) && edge->len == len &&
		    (!len || memcmp(edge->name, name, len) == 0))
			return edge->to;
	return 0;
}
