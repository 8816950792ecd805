/* SPDX-License-Identifier: Apache-2.0 */
#include "core/channel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/attempt.h"
#include "core/channel_internal.h"
#include "core/span.h"
#include "core/utf8.h"

#define BUCKETS_MIN 16u

int channel_set_init(struct channel_set *set)
{
	set->parked_tail = &set->parked;
	set->scratch = channel_new(set);
	set->aside = channel_new(set);
	return set->scratch && set->aside ? 0 : -ENOMEM;
}

static void free_list(const struct channel_set *set, struct channel *list)
{
	while (list) {
		struct channel *next = list->next;

		channel_free(set, list);
		list = next;
	}
}

void channel_set_done(struct channel_set *set)
{
	channel_free(set, set->scratch);
	channel_free(set, set->aside);
	channel_free(set, set->spare);
	free_list(set, set->joined);
	free_list(set, set->parked);
	free(set->buckets);
	free(set->longs);
}

void channel_set_restart(struct channel_set *set, uint64_t track)
{
	free_list(set, set->joined);
	set->joined = NULL;
	set->attempt = NULL;
	for (size_t i = 0; i < set->span_count; i++)
		set->unit_texts[i] = NULL;
	set->unit_name = 0;
	set->track = set->floor = track;
}

static bool is_word(const uint8_t *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!(text[i] >= 'a' && text[i] <= 'z') && !(text[i] >= 'A' && text[i] <= 'Z') &&
		    text[i] != '_')
			return false;
	return len > 0;
}

void channel_set_finished(struct channel_set *set, const uint8_t *reason, size_t len)
{
	if (len > CHANNEL_FINISH_MAX || !is_word(reason, len))
		return;
	memcpy(set->finish, reason, len);
	set->finish[len] = '\0';
}

/* H6. What the tasks find in that alone they find again in what comes. */
static int prime(struct channel_set *set, struct channel *channel)
{
	const uint8_t *text;
	size_t len = attempt_tail(set->attempt, channel->name, &text);
	uint64_t runes = utf8_count(text, len);

	for (size_t i = 0; len && i < set->task_count; i++)
		if (matcher_prime(&set->matchers[i], &channel->cursors[i].matcher, text, len,
				  runes) < 0)
			return -ENOMEM;
	channel->runes = channel->primed = len ? runes : 0;
	return channel_spans_prime(set, channel, text, len);
}

int channel_set_join(struct channel_set *set, const char *name, bool whole,
		     struct channel **ret_channel)
{
	struct channel *channel = channel_new(set);

	if (!channel)
		return -ENOMEM;
	channel->key = strdup(name);
	if (!channel->key) {
		channel_free(set, channel);
		return -ENOMEM;
	}
	channel->key_len = strlen(name);
	channel->name = channel->key;
	channel->joined = true;
	channel->whole = whole;
	if (set->attempt && prime(set, channel)) {
		channel_free(set, channel);
		return -ENOMEM;
	}
	channel->next = set->joined;
	set->joined = channel;
	*ret_channel = channel;
	return 0;
}

/* Seeded by an address, which a peer does not know; a chain is bounded in any case. */
static uint64_t hash_name(const struct channel_set *set, const char *name, size_t len)
{
	uint64_t hash = (uint64_t)(uintptr_t)set * 0x9e3779b97f4a7c15ull, word;

	for (size_t i = 0; i < len; i += sizeof(word)) {
		word = 0;
		memcpy(&word, name + i, MIN(len - i, sizeof(word)));
		hash = (hash ^ word) * 0x9fb21c651e98df25ull;
		hash ^= hash >> 29;
	}
	return hash;
}

struct channel *channel_set_scratch(struct channel_set *set, const char *name)
{
	set->scratch->name = name;
	return set->scratch;
}

struct channel *channel_set_find(struct channel_set *set, const char *name, size_t len)
{
	uint64_t hash;

	if (set->parked_count) {
		hash = hash_name(set, name, len);
		for (struct channel *c = set->buckets[hash & (set->bucket_count - 1)]; c;
		     c = c->chain)
			if (c->hash == hash && c->key_len == len && memcmp(c->key, name, len) == 0)
				return c;
	}
	return channel_set_scratch(set, name);
}

static void chain(struct channel_set *set, struct channel *channel)
{
	struct channel **bucket = &set->buckets[channel->hash & (set->bucket_count - 1)];

	channel->chain = *bucket;
	*bucket = channel;
}

static enum fault grow_buckets(struct channel_set *set)
{
	uint32_t count = set->bucket_count ? set->bucket_count * 4 : BUCKETS_MIN;
	struct channel **buckets = calloc(count, sizeof(*buckets));

	if (!buckets)
		return FAULT_NO_MEMORY;
	free(set->buckets);
	set->buckets = buckets;
	set->bucket_count = count;
	for (struct channel *c = set->parked; c; c = c->next)
		chain(set, c);
	return FAULT_NONE;
}

size_t channel_memory(const struct channel_set *set, const struct channel *channel)
{
	size_t bytes = sizeof(*channel) + channel_cursors(set) * sizeof(channel->cursors[0]) +
		       set->span_count * sizeof(channel->texts[0]);

	for (size_t i = 0; i < channel_cursors(set); i++)
		bytes += matcher_cursor_memory(&set->matchers[i], &channel->cursors[i].matcher);
	if (channel->runs != channel->first)
		bytes += channel->run_capacity * sizeof(*channel->runs);
	return bytes + (channel->key ? channel->key_len + 1 : 0);
}

/* What parked texts take is counted as it grows: there may be many. */
static void count_parked(struct channel_set *set, struct channel *channel)
{
	size_t memory = channel_memory(set, channel);

	set->parked_memory += memory - channel->memory;
	channel->memory = memory;
}

/* Would it be parked if nobody watched? */
static bool is_gated(const struct channel_set *set, const struct channel *channel)
{
	return channel->waiting || channel_gated(set, channel);
}

/* One that was parked for those that watch, with more text now. */
static enum fault park_again(struct channel_set *set, struct channel *channel)
{
	if (!is_gated(set, channel))
		return channel_end_gating(set, channel);
	if (set->parked_count - set->watched_count == CHANNEL_PARKED_MAX)
		return FAULT_TOO_LARGE;
	channel->watched = false;
	set->watched_count--;
	return FAULT_NONE;
}

/* Room for one more, for the sake of those that watch, or not. */
static enum fault park_room(struct channel_set *set, struct channel *channel, bool watched)
{
	enum fault fault = FAULT_NONE;

	if (watched)
		fault = channel_end_gating(set, channel);
	else if (set->parked_count - set->watched_count == CHANNEL_PARKED_MAX)
		fault = FAULT_TOO_LARGE;
	if (!fault && set->parked_count == set->bucket_count)
		fault = grow_buckets(set);
	return fault;
}

/* Nothing of it can begin a term, but its text may go on for those that evaluate elsewhere. */
static enum fault end_unparked(struct channel_set *set, struct channel *channel)
{
	uint64_t name = set->unit_name;
	enum fault fault = channel_end(set, channel);

	set->unit_name = name;
	return fault;
}

enum fault channel_park(struct channel_set *set, struct channel *channel, const char *name,
			size_t len)
{
	bool watched = !is_gated(set, channel);
	struct channel *scratch;
	enum fault fault;

	if (channel != set->scratch) {
		fault = channel->watched ? park_again(set, channel) : FAULT_NONE;
		count_parked(set, channel);
		return fault;
	}
	if (watched && (set->watched_count == CHANNEL_PARKED_MAX || !channel_pending(set, channel)))
		return end_unparked(set, channel);
	fault = park_room(set, channel, watched);
	if (fault)
		return fault;
	channel->key = malloc(len + 1);
	scratch = set->spare ? set->spare : channel_new(set);
	if (!channel->key || !scratch) {
		if (scratch != set->spare)
			channel_free(set, scratch);
		return FAULT_NO_MEMORY;
	}
	memcpy(channel->key, name, len);
	channel->key[len] = '\0';
	channel->key_len = len;
	channel->name = channel->key;
	channel->hash = hash_name(set, name, len);
	*set->parked_tail = channel;
	set->parked_tail = &channel->next;
	set->parked_count++;
	set->watched_count += channel->watched = watched;
	chain(set, channel);
	count_parked(set, channel);
	set->scratch = scratch;
	set->spare = NULL;
	return FAULT_NONE;
}

/* Forgets the parked texts; one is kept to park the next in. */
static void forget_parked(struct channel_set *set)
{
	struct channel *keep = set->parked;

	free_list(set, keep->next);
	free(keep->key);
	if (keep->runs != keep->first)
		free(keep->runs);
	keep->runs = keep->first;
	keep->run_capacity = ARRAY_SIZE(keep->first);
	keep->key = NULL;
	keep->memory = 0;
	keep->next = keep->chain = NULL;
	channel_free(set, set->spare);
	set->spare = keep;
	set->parked = NULL;
	set->parked_tail = &set->parked;
	set->parked_count = set->watched_count = 0;
	set->parked_memory = 0;
	if (set->bucket_count > BUCKETS_MIN) {
		free(set->buckets);
		set->buckets = NULL;
		set->bucket_count = 0;
	} else {
		memset(set->buckets, 0, set->bucket_count * sizeof(struct channel *));
	}
}

enum fault channel_set_unit_end(struct channel_set *set)
{
	enum fault fault = FAULT_NONE;

	for (struct channel *c = set->parked; c && !fault; c = c->next)
		fault = channel_end(set, c);
	if (fault)
		return fault;
	if (set->parked)
		forget_parked(set);
	if (set->span_count)
		fault = channel_spans_unit_end(set);
	set->floor = set->track;
	return fault;
}

enum fault channel_set_end(struct channel_set *set)
{
	enum fault fault = FAULT_NONE;

	for (struct channel *c = set->joined; c && !fault; c = c->next)
		fault = channel_end(set, c);
	return fault;
}

/* Up to which a task has cleared what is complete, by what its spans alone have come to. */
static uint64_t frontier_by(const struct channel_set *set, size_t task,
			    uint64_t (*spans)(const struct span_set *set))
{
	bool elsewhere = task >= set->task_count;
	uint64_t frontier = set->floor;

	/* Without memory for it a session begins, and fails, with no set: nothing is cleared. */
	if (elsewhere && !set->spans[task - set->task_count])
		return 0;
	if (elsewhere)
		frontier = MIN(frontier, spans(set->spans[task - set->task_count]));
	for (const struct channel *c = set->joined; c; c = c->next) {
		if (!elsewhere)
			frontier = MIN(frontier, c->cursors[task].held);
		frontier = MIN(frontier, c->begun);
		if (c->waiting)
			frontier = MIN(frontier, channel_track_of(c, c->runes));
	}
	return frontier;
}

uint64_t channel_set_frontier(const struct channel_set *set, size_t task)
{
	return frontier_by(set, task, span_frontier);
}

uint64_t channel_set_reach(const struct channel_set *set, size_t task)
{
	return frontier_by(set, task, span_reach);
}

size_t channel_set_memory(const struct channel_set *set)
{
	size_t bytes = set->parked_memory + set->bucket_count * sizeof(struct channel *);

	bytes += channel_memory(set, set->scratch) + channel_memory(set, set->aside);
	bytes += set->longs ? CHANNEL_LONG_KEPT * sizeof(*set->longs) : 0;
	bytes += set->spare ? channel_memory(set, set->spare) : 0;
	for (const struct channel *c = set->joined; c; c = c->next)
		bytes += channel_memory(set, c);
	return bytes;
}
