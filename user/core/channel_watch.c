/* SPDX-License-Identifier: Apache-2.0 */
/* The tasks of a channel set that watch: what they find ends nothing. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/channel.h"
#include "core/channel_internal.h"

uint64_t channel_watched(const struct channel_set *set, const struct channel *channel)
{
	uint64_t most = 0;

	for (size_t i = set->task_count; i < channel_cursors(set); i++)
		if (!set->watch[i - set->task_count].rests)
			most = MAX(most, terms_pending(set->terms[i], &channel->cursors[i].terms));
	return most;
}

static void rest(struct channel_set *set, size_t task)
{
	set->watch[task - set->task_count].rests = true;
	set->rested = true;
}

/* What a matcher answered: a match that ends too late was never in the track. */
static enum fault take(struct channel_set *set, const struct channel *channel, size_t task, int r,
		       uint64_t end)
{
	const struct terms_cursor *cursor = &channel->cursors[task].terms;
	struct channel_match match;

	if (r < 0) {
		/* Memory is short for the flow as well. */
		if (r == -ENOMEM || set->watch[task - set->task_count].must)
			return channel_matcher_fault(r);
		rest(set, task);
		return FAULT_NONE;
	}
	/* The ends of those that gate count from the channel's base. */
	if (!r || (end != UINT64_MAX && cursor->match.end > channel->base + end))
		return FAULT_NONE;
	match = channel_match_of(channel, task, 0);
	rest(set, task);
	set->on_found(set->found_context, &match);
	return FAULT_NONE;
}

enum fault channel_watch(struct channel_set *set, struct channel *channel, const uint8_t *text,
			 size_t len, uint64_t runes, uint64_t end)
{
	enum fault fault = FAULT_NONE;

	for (size_t i = set->task_count; i < channel_cursors(set) && !fault; i++)
		if (!set->watch[i - set->task_count].rests)
			fault = take(set, channel, i,
				     terms_scan(set->terms[i], &channel->cursors[i].terms, text,
						len, runes),
				     end);
	return fault;
}

enum fault channel_watch_end(struct channel_set *set, struct channel *channel, uint64_t end)
{
	enum fault fault = FAULT_NONE;

	for (size_t i = set->task_count; i < channel_cursors(set) && !fault; i++)
		if (!set->watch[i - set->task_count].rests)
			fault = take(set, channel, i,
				     terms_end(set->terms[i], &channel->cursors[i].terms), end);
	return fault;
}

static void reset(const struct channel_set *set, struct channel *channel)
{
	for (size_t i = set->task_count; channel && i < channel_cursors(set); i++)
		terms_cursor_done(&channel->cursors[i].terms);
}

void channel_set_wake(struct channel_set *set)
{
	if (!set->rested)
		return;
	for (size_t i = set->task_count; i < channel_cursors(set); i++)
		set->watch[i - set->task_count].rests = false;
	set->rested = false;
	/* They were left amid texts, and texts are known that not all of them have seen. */
	reset(set, set->scratch);
	reset(set, set->aside);
	reset(set, set->spare);
	memset(set->shorts, 0, sizeof(set->shorts));
	free(set->longs);
	set->longs = NULL;
}
