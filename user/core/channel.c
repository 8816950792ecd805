/* SPDX-License-Identifier: Apache-2.0 */
#include "core/channel.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/attempt.h"
#include "core/channel_internal.h"
#include "core/utf8.h"

#define NOT_HELD UINT64_MAX
/* Runs that a channel with nothing pending may keep room for. */
#define KEEP_RUNS 8u

struct channel *channel_new(const struct channel_set *set)
{
	size_t cursors = channel_cursors(set);
	struct channel *channel;

	channel = calloc(1, sizeof(*channel) + cursors * sizeof(channel->cursors[0]) +
				    set->span_count * sizeof(channel->texts[0]));
	if (!channel)
		return NULL;
	if (set->span_count)
		channel->texts = (struct span_channel **)&channel->cursors[cursors];
	channel->runs = channel->first;
	channel->run_capacity = ARRAY_SIZE(channel->first);
	channel->begun = NOT_HELD;
	for (size_t i = 0; i < channel_cursors(set); i++) {
		matcher_cursor_init(&set->matchers[i], &channel->cursors[i].matcher);
		channel->cursors[i].held = NOT_HELD;
	}
	return channel;
}

void channel_free(const struct channel_set *set, struct channel *channel)
{
	if (!channel)
		return;
	for (size_t i = 0; i < channel_cursors(set); i++)
		matcher_cursor_done(&set->matchers[i], &channel->cursors[i].matcher);
	if (channel->runs != channel->first)
		free(channel->runs);
	free(channel->key);
	free(channel);
}

uint64_t channel_track_of(const struct channel *channel, uint64_t rune)
{
	uint32_t low = 0, high = channel->run_count - 1;

	if (channel->runs[high].rune <= rune)
		low = high;
	while (low < high) {
		uint32_t middle = high - (high - low) / 2;

		if (channel->runs[middle].rune <= rune)
			low = middle;
		else
			high = middle - 1;
	}
	return channel->runs[low].track + (rune - channel->runs[low].rune);
}

uint64_t channel_gated(const struct channel_set *set, const struct channel *channel)
{
	uint64_t most = 0;

	for (size_t i = 0; i < set->task_count; i++)
		most = MAX(most, matcher_pending(&set->matchers[i], &channel->cursors[i].matcher));
	return most;
}

uint64_t channel_pending(const struct channel_set *set, const struct channel *channel)
{
	uint64_t most = channel_gated(set, channel);

	return set->watch_count ? MAX(most, channel_watched(set, channel)) : most;
}

static enum fault grow_runs(struct channel *channel)
{
	bool own = channel->runs != channel->first;
	uint32_t capacity = channel->run_capacity * 2;
	struct channel_run *grown;

	grown = realloc(own ? channel->runs : NULL, capacity * sizeof(*grown));
	if (!grown)
		return FAULT_NO_MEMORY;
	if (!own)
		memcpy(grown, channel->first, sizeof(channel->first));
	channel->runs = grown;
	channel->run_capacity = capacity;
	return FAULT_NONE;
}

static void drop_runs(struct channel *channel)
{
	channel->run_count = 0;
	if (channel->run_capacity <= KEEP_RUNS)
		return;
	free(channel->runs);
	channel->runs = channel->first;
	channel->run_capacity = ARRAY_SIZE(channel->first);
}

/*
 * Makes room for one more run: forgets those that nothing pending is in, or grows
 * where that would not free half, so that the moves are paid for.
 */
static enum fault reserve_run(const struct channel_set *set, struct channel *channel)
{
	uint64_t runes = channel->run_count ? channel_pending(set, channel) : 0;
	uint32_t drop = 0;

	if (!runes) {
		drop_runs(channel);
		return FAULT_NONE;
	}
	if (channel->run_count < channel->run_capacity)
		return FAULT_NONE;
	while (drop + 1 < channel->run_count &&
	       channel->runs[drop + 1].rune <= channel->runes - runes)
		drop++;
	if (drop < channel->run_count / 2)
		return grow_runs(channel);
	channel->run_count -= drop;
	memmove(channel->runs, channel->runs + drop, channel->run_count * sizeof(*channel->runs));
	return FAULT_NONE;
}

/* Numbers the next runes of a channel. */
static enum fault place(struct channel_set *set, struct channel *channel, uint64_t runes)
{
	enum fault fault;

	if (runes > set->ceiling - set->track)
		return FAULT_ACCOUNTING;
	if (!channel->run_count || channel_track_of(channel, channel->runes) != set->track) {
		fault = reserve_run(set, channel);
		if (fault)
			return fault;
		channel->runs[channel->run_count++] =
			(struct channel_run){.rune = channel->runes, .track = set->track};
	}
	if (channel->whole)
		channel->begun = MIN(channel->begun, set->track);
	set->track += runes;
	return FAULT_NONE;
}

struct channel_match channel_match_of(const struct channel_set *set, const struct channel *channel,
				      size_t task, uint64_t base)
{
	const struct matcher_match match =
		matcher_match(&set->matchers[task], &channel->cursors[task].matcher);
	uint64_t first = channel->primed;

	assert(match.start < match.end && match.end <= match.decided);
	return (struct channel_match){
		.task = task,
		.rule = match.rule,
		.start = channel_track_of(channel, MAX(first, base + match.start)),
		.end = channel_track_of(channel, MAX(first, base + match.end - 1)) + 1,
		.decided = channel_track_of(channel, MAX(first, base + match.decided - 1)) + 1,
	};
}

/*
 * A task denied. The track ends where the match was decided, or with the last complete unit
 * where it was told late, however much more came in the same read.
 */
static enum fault matched(struct channel_set *set, const struct channel *channel, size_t task)
{
	set->match = channel_match_of(set, channel, task, channel->base);
	set->track = MAX(set->match.decided, set->floor);
	return FAULT_BLOCKED;
}

enum fault channel_matcher_fault(int r)
{
	switch (r) {
	case -E2BIG:
		return FAULT_TOO_LARGE;
	case -ELOOP:
		return FAULT_MATCH_LIMIT;
	case -ENOMEM:
		return FAULT_NO_MEMORY;
	default:
		return FAULT_ACCOUNTING;
	}
}

/*
 * Does a task still hold something of an earlier unit for what comes here? What comes
 * before the end of a channel that is whole releases nothing.
 */
static bool holds_earlier(const struct channel_set *set, const struct channel *channel)
{
	if (channel->begun < set->floor)
		return false;
	for (size_t i = 0; i < set->task_count; i++)
		if (channel->cursors[i].held < set->floor)
			return true;
	return false;
}

static void update_held(const struct channel_set *set, struct channel *channel)
{
	for (size_t i = 0; i < set->task_count; i++) {
		struct channel_cursor *cursor = &channel->cursors[i];
		uint64_t runes = matcher_pending(&set->matchers[i], &cursor->matcher);

		runes = MIN(runes, channel->runes - channel->primed);
		cursor->held = runes ? channel_track_of(channel, channel->runes - runes) : NOT_HELD;
	}
}

/* The match that is decided first counts, then the first task. */
static bool is_first(const struct matcher *matcher, const struct matcher_cursor *cursor,
		     uint64_t *decided)
{
	const uint64_t now = matcher_decided(matcher, cursor);

	if (now >= *decided)
		return false;
	*decided = now;
	return true;
}

/* Every task over the same text; those that watch as far as those that gate let it come. */
static enum fault scan_tasks(struct channel_set *set, struct channel *channel, const uint8_t *text,
			     size_t len, uint64_t runes)
{
	uint64_t decided = UINT64_MAX;
	enum fault fault;
	size_t task = 0;

	for (size_t i = 0; i < set->task_count; i++) {
		struct matcher_cursor *cursor = &channel->cursors[i].matcher;
		int r = matcher_scan(&set->matchers[i], cursor, text, len, runes);

		if (r < 0)
			return channel_matcher_fault(r);
		if (r && is_first(&set->matchers[i], cursor, &decided))
			task = i;
	}
	if (set->watch_count) {
		fault = channel_watch(set, channel, text, len, runes, decided);
		if (fault)
			return fault;
	}
	if (decided != UINT64_MAX)
		return matched(set, channel, task);
	channel->runes += runes;
	return FAULT_NONE;
}

/*
 * Scans numbered text. While a task holds back an earlier unit for what comes,
 * rune by rune: the unit is released by what comes before a match, whether or
 * not it came in the same read as the match.
 */
static enum fault scan(struct channel_set *set, struct channel *channel, const uint8_t *text,
		       size_t len, uint64_t runes)
{
	enum fault fault = FAULT_NONE;

	if (set->on_text)
		set->on_text(set->context, channel->name, text, len);
	if (set->span_count)
		fault = channel_spans_text(set, channel, text, len, runes);
	if (fault)
		return fault;
	if (!channel->joined)
		return scan_tasks(set, channel, text, len, runes);
	if (set->attempt)
		attempt_text(set->attempt, channel->name, text, len, channel->ended);
	channel->ended = false;
	while (len && !fault) {
		bool step = holds_earlier(set, channel);
		size_t n = step ? utf8_length(text[0]) : len;
		uint64_t count = step ? 1 : runes;

		fault = scan_tasks(set, channel, text, n, count);
		if (!fault)
			update_held(set, channel);
		text += n;
		len -= n;
		runes -= count;
	}
	return fault;
}

static enum fault give_up_waiting(struct channel_set *set, struct channel *channel)
{
	return channel_arrived(set, channel, (const uint8_t *)UTF8_REPLACEMENT,
			       UTF8_REPLACEMENT_LEN);
}

enum fault channel_wait(struct channel_set *set, struct channel *channel)
{
	enum fault fault = place(set, channel, 1);

	if (!fault && set->span_count)
		fault = channel_spans_wait(set, channel);
	if (!fault)
		channel->waiting = true;
	return fault;
}

enum fault channel_arrived(struct channel_set *set, struct channel *channel, const uint8_t *text,
			   size_t len)
{
	enum fault fault = scan(set, channel, text, len, 1);

	/* Up to a match the rune still waits, and with it the unit that began it. */
	if (!fault) {
		channel->waiting = false;
		channel->high = 0;
	}
	return fault;
}

enum fault channel_text(struct channel_set *set, struct channel *channel, const uint8_t *text,
			size_t len, uint64_t runes)
{
	enum fault fault = FAULT_NONE;

	if (!len)
		return FAULT_NONE;
	if (channel->waiting)
		fault = give_up_waiting(set, channel);
	if (!fault)
		fault = place(set, channel, runes);
	return fault ? fault : scan(set, channel, text, len, runes);
}

enum fault channel_surrogate(struct channel_set *set, struct channel *channel, uint32_t unit)
{
	uint8_t bytes[UTF8_MAX];
	enum fault fault = FAULT_NONE;

	if (utf8_is_low_surrogate(unit)) {
		uint32_t high = channel->high;

		if (!high)
			return channel_text(set, channel, (const uint8_t *)UTF8_REPLACEMENT,
					    UTF8_REPLACEMENT_LEN, 1);
		return channel_arrived(
			set, channel, bytes,
			utf8_encode(0x10000 + ((high - 0xd800) << 10) + (unit - 0xdc00), bytes));
	}
	if (channel->waiting)
		fault = give_up_waiting(set, channel);
	if (!fault)
		fault = channel_wait(set, channel);
	if (!fault)
		channel->high = (uint16_t)unit;
	return fault;
}

/* The text ends; for those that gate alone, where those that watch may see more of it. */
static enum fault end_tasks(struct channel_set *set, struct channel *channel, bool gating_alone)
{
	uint64_t decided = UINT64_MAX;
	enum fault fault;
	size_t task = 0;

	for (size_t i = 0; i < set->task_count; i++) {
		struct matcher_cursor *cursor = &channel->cursors[i].matcher;
		int r = matcher_end(&set->matchers[i], cursor);

		if (r < 0)
			return channel_matcher_fault(r);
		if (r && is_first(&set->matchers[i], cursor, &decided))
			task = i;
	}
	if (set->watch_count && !gating_alone) {
		fault = channel_watch_end(set, channel, decided);
		if (fault)
			return fault;
	}
	if (decided != UINT64_MAX)
		return matched(set, channel, task);
	if (gating_alone) {
		channel->base = channel->runes;
		return FAULT_NONE;
	}
	channel->runes = channel->base = channel->primed = 0;
	channel->run_count = 0;
	channel->ended = true;
	return FAULT_NONE;
}

enum fault channel_end_gating(struct channel_set *set, struct channel *channel)
{
	return end_tasks(set, channel, true);
}

enum fault channel_cut(struct channel_set *set, struct channel *channel)
{
	enum fault fault = channel->waiting ? give_up_waiting(set, channel) : FAULT_NONE;

	if (!fault)
		fault = end_tasks(set, channel, false);
	if (!fault && set->span_count)
		fault = channel_spans_end(set, channel);
	for (size_t i = 0; i < set->task_count && !fault; i++)
		channel->cursors[i].held = NOT_HELD;
	return fault;
}

enum fault channel_end(struct channel_set *set, struct channel *channel)
{
	enum fault fault = channel_cut(set, channel);

	if (!fault)
		channel_complete(channel);
	return fault;
}

enum fault channel_whole(struct channel_set *set, const char *name, const uint8_t *text, size_t len,
			 uint64_t runes)
{
	struct channel *channel = set->aside;
	enum fault fault;

	if (runes > set->ceiling - set->track)
		return FAULT_ACCOUNTING;
	channel->name = name;
	channel->runs[0] = (struct channel_run){.rune = 0, .track = set->track};
	channel->run_count = 1;
	set->track += runes;
	if (set->on_text)
		set->on_text(set->context, name, text, len);
	fault = set->span_count ? channel_spans_text(set, channel, text, len, runes) : FAULT_NONE;
	if (!fault)
		fault = scan_tasks(set, channel, text, len, runes);
	return fault ? fault : end_tasks(set, channel, false);
}
