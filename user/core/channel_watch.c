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
			most = MAX(most, matcher_pending(&set->matchers[i],
							 &channel->cursors[i].matcher));
	return most;
}

static void rest(struct channel_set *set, size_t task)
{
	set->watch[task - set->task_count].rests = true;
	set->rested = true;
}

/* Where those that gate decided counts from the channel's base. */
static bool is_late(const struct channel_set *set, const struct channel *channel, size_t task,
		    uint64_t decided)
{
	const struct matcher_cursor *cursor = &channel->cursors[task].matcher;

	return decided != UINT64_MAX &&
	       matcher_decided(&set->matchers[task], cursor) > channel->base + decided;
}

/* What a matcher answered: a match that is decided too late was never in the track. */
static enum fault take(struct channel_set *set, const struct channel *channel, size_t task, int r,
		       uint64_t decided)
{
	struct channel_match match;

	if (r < 0) {
		/* Memory is short for the flow as well. */
		if (r == -ENOMEM || set->watch[task - set->task_count].must)
			return channel_matcher_fault(r);
		rest(set, task);
		return FAULT_NONE;
	}
	if (!r || is_late(set, channel, task, decided))
		return FAULT_NONE;
	match = channel_match_of(set, channel, task, 0);
	rest(set, task);
	set->on_found(set->found_context, &match);
	return FAULT_NONE;
}

enum fault channel_watch(struct channel_set *set, struct channel *channel, const uint8_t *text,
			 size_t len, uint64_t runes, uint64_t decided)
{
	enum fault fault = FAULT_NONE;

	for (size_t i = set->task_count; i < channel_cursors(set) && !fault; i++)
		if (!set->watch[i - set->task_count].rests)
			fault = take(set, channel, i,
				     matcher_scan(&set->matchers[i], &channel->cursors[i].matcher,
						  text, len, runes),
				     decided);
	return fault;
}

enum fault channel_watch_end(struct channel_set *set, struct channel *channel, uint64_t decided)
{
	enum fault fault = FAULT_NONE;

	for (size_t i = set->task_count; i < channel_cursors(set) && !fault; i++)
		if (!set->watch[i - set->task_count].rests)
			fault = take(set, channel, i,
				     matcher_end(&set->matchers[i], &channel->cursors[i].matcher),
				     decided);
	return fault;
}

static void reset(const struct channel_set *set, struct channel *channel)
{
	for (size_t i = set->task_count; channel && i < channel_cursors(set); i++)
		matcher_cursor_done(&set->matchers[i], &channel->cursors[i].matcher);
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
