/* SPDX-License-Identifier: Apache-2.0 */
#include "core/extract_form.h"

static const struct tree_edge edges[] = {
	TREE_MEMBER(NODE_ROOT, "type", TREE_STRING, NODE_TYPE),
	TREE_MEMBER(NODE_ROOT, "index", TREE_ANY, NODE_INDEX),
	TREE_MEMBER(NODE_ROOT, "error", TREE_OBJECT, NODE_ERROR),
	TREE_MEMBER(NODE_ERROR, "message", TREE_STRING, NODE_ERROR_MESSAGE),
	TREE_END,
};

const struct extract_form extract_common = {.edges = edges};
