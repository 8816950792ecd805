/* SPDX-License-Identifier: Apache-2.0 */
#include "core/regex_node.h"

#include "core/regex_literals.h"

static uint32_t add(uint32_t a, uint32_t b)
{
	return a > REGEX_UNBOUNDED - b ? REGEX_UNBOUNDED : a + b;
}

static uint32_t times(uint32_t a, uint32_t b)
{
	return a && b > REGEX_UNBOUNDED / a ? REGEX_UNBOUNDED : a * b;
}

/* What is left of a look of `reach` runes once `less` of them are known to be the other node's. */
static uint32_t beyond(uint32_t reach, uint32_t less)
{
	if (reach == REGEX_UNBOUNDED)
		return reach;
	return reach > less ? reach - less : 0;
}

void regex_node_empty(struct regex_node *node)
{
	node->extent = (struct regex_extent){0};
	regex_literals_empty(&node->literals);
	regex_head_empty(&node->head);
}

void regex_node_any(struct regex_node *node, uint32_t min, uint32_t max)
{
	node->extent = (struct regex_extent){.min = min, .max = max};
	regex_literals_any(&node->literals);
	regex_head_any(&node->head);
}

void regex_node_anchor(struct regex_node *node, uint32_t behind, uint32_t ahead)
{
	regex_node_empty(node);
	node->extent.behind = behind;
	node->extent.ahead = ahead;
}

void regex_node_follow(struct regex_node *node, const struct regex_node *next)
{
	struct regex_extent *a = &node->extent;
	const struct regex_extent *b = &next->extent;

	a->behind = MAX(a->behind, beyond(b->behind, a->min));
	a->ahead = MAX(b->ahead, beyond(a->ahead, b->min));
	a->min = add(a->min, b->min);
	a->max = add(a->max, b->max);
	regex_literals_follow(&node->literals, &next->literals);
	regex_head_follow(&node->head, &next->head);
}

void regex_node_or(struct regex_node *node, const struct regex_node *other)
{
	struct regex_extent *a = &node->extent;
	const struct regex_extent *b = &other->extent;

	a->min = MIN(a->min, b->min);
	a->max = MAX(a->max, b->max);
	a->behind = MAX(a->behind, b->behind);
	a->ahead = MAX(a->ahead, b->ahead);
	regex_literals_or(&node->literals, &other->literals);
	regex_head_or(&node->head, &other->head);
}

void regex_node_repeat(struct regex_node *node, uint32_t min, uint32_t max)
{
	node->extent.min = times(node->extent.min, min);
	node->extent.max = times(node->extent.max, max);
	regex_head_repeat(&node->head, min, max);
	if (min == 0)
		regex_literals_any(&node->literals);
	else if (max != 1)
		node->literals.exact = false;
}

/*
 * The node is only looked at, before the place where the pattern goes on or after it. What
 * is looked at ahead may leave a start open that what follows excludes: nothing is said of
 * that, so that a start is open for the filter of starts where it is for PCRE2.
 */
void regex_node_look(struct regex_node *node, bool behind)
{
	struct regex_extent extent = node->extent;

	regex_node_empty(node);
	node->extent.behind = behind ? add(extent.max, extent.behind) : extent.behind;
	node->extent.ahead = behind ? extent.ahead : add(extent.max, extent.ahead);
	if (!node->extent.ahead)
		return;
	regex_literals_any(&node->literals);
	regex_head_any(&node->head);
}

void regex_node_literal(struct regex_node *node, uint32_t rune, bool caseless)
{
	node->extent = (struct regex_extent){.min = 1, .max = 1};
	regex_literals_rune(&node->literals, rune, caseless);
	regex_head_rune(&node->head, rune, caseless);
}
