/* SPDX-License-Identifier: Apache-2.0 */
#include "core/channel.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/utf8.h"

#define NOT_HELD UINT64_MAX
/* Runs that a channel with nothing pending may keep room for. */
#define KEEP_RUNS 8u

struct channel *channel_new(const struct channel_set *set)
{
	struct channel *channel;

	channel = calloc(1, sizeof(*channel) + set->task_count * sizeof(channel->cursors[0]));
	if (!channel)
		return NULL;
	channel->runs = channel->first;
	channel->run_capacity = ARRAY_SIZE(channel->first);
	channel->begun = NOT_HELD;
	for (size_t i = 0; i < set->task_count; i++) {
		terms_cursor_init(&channel->cursors[i].terms);
		channel->cursors[i].held = NOT_HELD;
	}
	return channel;
}

void channel_free(const struct channel_set *set, struct channel *channel)
{
	if (!channel)
		return;
	for (size_t i = 0; i < set->task_count; i++)
		terms_cursor_done(&channel->cursors[i].terms);
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

uint64_t channel_pending(const struct channel_set *set, const struct channel *channel)
{
	uint64_t most = 0;

	for (size_t i = 0; i < set->task_count; i++)
		most = MAX(most, terms_pending(set->terms[i], &channel->cursors[i].terms));
	return most;
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

/* A task denied. The track ends with the match, however much more came in the same read. */
static enum fault matched(struct channel_set *set, const struct channel *channel, size_t task)
{
	const struct terms_match *match = &channel->cursors[task].terms.match;

	assert(match->start < match->end);
	set->match = (struct channel_match){
		.task = task,
		.term = match->term,
		.start = channel_track_of(channel, match->start),
		.end = channel_track_of(channel, match->end - 1) + 1,
	};
	set->track = set->match.end;
	return FAULT_BLOCKED;
}

static enum fault matcher_fault(int r)
{
	switch (r) {
	case -E2BIG:
		return FAULT_TOO_LARGE;
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
		uint64_t runes = terms_pending(set->terms[i], &cursor->terms);

		cursor->held = runes ? channel_track_of(channel, channel->runes - runes) : NOT_HELD;
	}
}

/* The match that ends first counts, then the first task. */
static bool is_first(const struct terms_cursor *cursor, uint64_t *end)
{
	if (cursor->match.end >= *end)
		return false;
	*end = cursor->match.end;
	return true;
}

/* Every task over the same text. */
static enum fault scan_tasks(struct channel_set *set, struct channel *channel, const uint8_t *text,
			     size_t len, uint64_t runes)
{
	uint64_t end = UINT64_MAX;
	size_t task = 0;

	for (size_t i = 0; i < set->task_count; i++) {
		struct terms_cursor *cursor = &channel->cursors[i].terms;
		int r = terms_scan(set->terms[i], cursor, text, len, runes);

		if (r < 0)
			return matcher_fault(r);
		if (r && is_first(cursor, &end))
			task = i;
	}
	if (end != UINT64_MAX)
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
	if (!channel->joined)
		return scan_tasks(set, channel, text, len, runes);
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

static enum fault end_tasks(struct channel_set *set, struct channel *channel)
{
	uint64_t end = UINT64_MAX;
	size_t task = 0;

	for (size_t i = 0; i < set->task_count; i++) {
		struct terms_cursor *cursor = &channel->cursors[i].terms;
		int r = terms_end(set->terms[i], cursor);

		if (r < 0)
			return matcher_fault(r);
		if (r && is_first(cursor, &end))
			task = i;
	}
	if (end != UINT64_MAX)
		return matched(set, channel, task);
	channel->runes = 0;
	channel->run_count = 0;
	return FAULT_NONE;
}

enum fault channel_cut(struct channel_set *set, struct channel *channel)
{
	enum fault fault = channel->waiting ? give_up_waiting(set, channel) : FAULT_NONE;

	if (!fault)
		fault = end_tasks(set, channel);
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

static uint64_t load(const uint8_t *text, size_t len)
{
	uint64_t word = 0;

	memcpy(&word, text, len);
	return word;
}

static inline __attribute__((always_inline)) struct channel_short make_short(const uint8_t *text,
									     size_t len)
{
	struct channel_short key = {.len = len};

	if (len >= 8) {
		key.first = load(text, 8);
		key.last = load(text + len - 8, 8);
	} else if (len >= 4) {
		key.first = load(text, 4);
		key.last = load(text + len - 4, 4);
	} else {
		key.first = text[0];
		key.last = (uint64_t)text[len / 2] << 8 | text[len - 1];
	}
	return key;
}

static bool same_short(const struct channel_short *a, const struct channel_short *b)
{
	return a->first == b->first && a->last == b->last && a->len == b->len;
}

static uint64_t hash_short(const struct channel_short *key)
{
	return ((key->first ^ key->last << 7 ^ key->len) * 0x9e3779b97f4a7c15ull) >> 40;
}

/* The pair of slots that a short text may be in. */
static struct channel_short *short_slots(struct channel_set *set, const struct channel_short *key)
{
	return &set->shorts[hash_short(key) & (CHANNEL_SHORT_KEPT - 2)];
}

/* The same for a long one, where there are any. */
static struct channel_long *long_slots(struct channel_set *set, const struct channel_short *key)
{
	return &set->longs[hash_short(key) & (CHANNEL_LONG_KEPT - 2)];
}

static bool same_long(const struct channel_long *slot, const uint8_t *text, size_t len)
{
	return slot->len == len && memcmp(slot->text, text, len) == 0;
}

static void keep_short(struct channel_short *slots, const struct channel_short *key)
{
	slots[1] = slots[0];
	slots[0] = *key;
}

static enum fault keep_long(struct channel_set *set, const struct channel_short *key,
			    const uint8_t *text, size_t len)
{
	struct channel_long *slots;

	if (!set->longs)
		set->longs = calloc(CHANNEL_LONG_KEPT, sizeof(*set->longs));
	if (!set->longs)
		return FAULT_NO_MEMORY;
	slots = long_slots(set, key);
	slots[1] = slots[0];
	slots[0].len = (uint8_t)len;
	memcpy(slots[0].text, text, len);
	return FAULT_NONE;
}

__attribute__((noinline)) static enum fault whole(struct channel_set *set, const char *name,
						  const uint8_t *text, size_t len, uint64_t runes)
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
	fault = scan_tasks(set, channel, text, len, runes);
	return fault ? fault : end_tasks(set, channel);
}

/* Out of line, so that what a known text needs stays small. */
__attribute__((noinline)) static enum fault whole_unknown(struct channel_set *set, const char *name,
							  const uint8_t *text, size_t len,
							  uint64_t runes)
{
	const struct channel_short key = make_short(text, len);
	enum fault fault = whole(set, name, text, len, runes);

	if (fault)
		return fault;
	if (len > CHANNEL_SHORT_MAX)
		return keep_long(set, &key, text, len);
	keep_short(short_slots(set, &key), &key);
	return FAULT_NONE;
}

static inline bool is_known(struct channel_set *set, const uint8_t *text, size_t len)
{
	const struct channel_short key = make_short(text, len), *slots;
	const struct channel_long *longs;

	if (len <= CHANNEL_SHORT_MAX) {
		slots = short_slots(set, &key);
		return same_short(&slots[0], &key) || same_short(&slots[1], &key);
	}
	if (!set->longs)
		return false;
	longs = long_slots(set, &key);
	return same_long(&longs[0], text, len) || same_long(&longs[1], text, len);
}

enum fault channel_set_whole(struct channel_set *set, const char *name, const uint8_t *text,
			     size_t len, uint64_t runes, bool recurs)
{
	if (!len)
		return FAULT_NONE;
	if (!recurs || len > CHANNEL_LONG_MAX || runes > set->ceiling - set->track)
		return whole(set, name, text, len, runes);
	if (!is_known(set, text, len))
		return whole_unknown(set, name, text, len, runes);
	set->track += runes;
	if (set->on_text)
		set->on_text(set->context, name, text, len);
	return FAULT_NONE;
}
