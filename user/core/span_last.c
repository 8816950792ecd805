/* SPDX-License-Identifier: Apache-2.0 */
/* The last that is said of a set of spans: S6, and what is left where it never comes. */
#include <stdlib.h>

#include "core/span_internal.h"

void span_keep_last(struct span_set *set, struct span_channel *channel)
{
	struct span_channel *other = set->kept;

	if (!set->config.finishes || channel->kind == SPAN_TEXT_PASSING) {
		span_free_channel(set, channel);
		return;
	}
	if (other && other->end > channel->end)
		other = channel;
	else
		set->kept = channel;
	if (other)
		span_free_channel(set, other);
}

/* The end of a text, up to a window of it. */
static void look_back(const struct span_set *set, const struct span_channel *channel,
		      struct span_item *item)
{
	const uint8_t *end = channel->text + channel->len;

	item->channel = channel->name;
	item->runes = MIN(channel->runes, (uint64_t)set->config.coverage.window);
	item->text = span_back(end, item->runes);
	item->len = (size_t)(end - item->text);
}

void span_lend_last(const struct span_set *set, const struct span *span, struct span_item *ret_item)
{
	struct span_item item = {
		.id = span->id,
		.start = span->start,
		.end = span->end,
		.final = true,
	};

	if (set->kept)
		look_back(set, set->kept, &item);
	item.before = item.runes;
	*ret_item = item;
}

/* Is what would be lent last of a text that passes, where others had more to say? */
static bool ends_in_passing(const struct span_set *set)
{
	const struct span *span = set->last;

	/* Where texts are whole nothing is asked twice. */
	if (set->config.long_first)
		return false;
	while (span->state != SPAN_CUT)
		span = span->prev;
	if (span->channel->kind != SPAN_TEXT_PASSING)
		return false;
	for (const struct span_channel *c = set->channels; c; c = c->next)
		if (c->kind != SPAN_TEXT_PASSING && c->runes)
			return true;
	return false;
}

int span_finish(struct span_set *set)
{
	span_end_loan(set);
	if (!set->config.finishes || set->finished)
		return 0;
	set->finished = true;
	if (set->cut_count ? !ends_in_passing(set) : !set->has_lent)
		return 0;
	return span_begin(set, NULL, set->track);
}

bool span_last_is_due(const struct span_set *set)
{
	return set->finished && set->last && !set->last->runes;
}

/* Runes of the text that no item had; *ret_start is the first one's number. */
static uint64_t unseen(const struct span_set *set, const struct span_channel *channel,
		       uint64_t *ret_start)
{
	uint64_t runes = 0;

	for (const struct span *span = set->first; span; span = span->next) {
		if (!span->runes || span->channel != channel)
			continue;
		if (!runes)
			*ret_start = span->start;
		runes += span->runes;
	}
	return runes;
}

bool span_left(const struct span_set *set, struct span_item *ret_item)
{
	struct span_item item = {.start = set->track, .end = set->track};
	const struct span_channel *latest = NULL;

	if (!set->config.finishes || set->last_lent || !set->has_lent)
		return false;
	for (const struct span_channel *c = set->channels; c; c = c->next)
		if (c->kind != SPAN_TEXT_PASSING && c->runes && (!latest || c->end >= latest->end))
			latest = c;
	if (latest) {
		look_back(set, latest, &item);
		item.before = item.runes - MIN(item.runes, unseen(set, latest, &item.start));
	}
	*ret_item = item;
	return true;
}
