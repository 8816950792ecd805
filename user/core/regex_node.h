/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a part of a pattern can match, put together from that of its own parts. For
 * core/regex_syntax.c.
 */
#ifndef SLUICE_CORE_REGEX_NODE_H
#define SLUICE_CORE_REGEX_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/regex_syntax.h"

struct regex_node {
	struct regex_extent extent;
	struct regex_literals literals;
	struct regex_head head;
};

/* Nothing; from min to max runes of which nothing is known; a look at the runes next to it. */
void regex_node_empty(struct regex_node *node);
void regex_node_any(struct regex_node *node, uint32_t min, uint32_t max);
void regex_node_anchor(struct regex_node *node, uint32_t behind, uint32_t ahead);
void regex_node_literal(struct regex_node *node, uint32_t rune, bool caseless);
/* The node and then the next; one of two; the node min to max times; a look at it. */
void regex_node_follow(struct regex_node *node, const struct regex_node *next);
void regex_node_or(struct regex_node *node, const struct regex_node *other);
void regex_node_repeat(struct regex_node *node, uint32_t min, uint32_t max);
void regex_node_look(struct regex_node *node, bool behind);

#endif
