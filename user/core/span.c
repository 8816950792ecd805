/* SPDX-License-Identifier: Apache-2.0 */
#include "core/span.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/fold.h"
#include "core/sentence.h"
#include "core/span_internal.h"
#include "core/utf8.h"

#define TEXT_CAPACITY 256u

static void *take_memory(struct span_set *set, size_t size)
{
	void *memory = calloc(1, size);

	if (memory)
		set->memory += size;
	return memory;
}

static void give_back(struct span_set *set, void *memory, size_t size)
{
	free(memory);
	set->memory -= size;
}

int span_set_new(const struct span_config *config, struct span_set **ret_set)
{
	struct span_set *set;

	if (!config->in_flight || coverage_check(&config->coverage, NULL, NULL, 0) < 0)
		return -EINVAL;
	set = calloc(1, sizeof(*set));
	if (!set)
		return -ENOMEM;
	set->config = *config;
	set->track = config->start;
	set->memory = sizeof(*set);
	*ret_set = set;
	return 0;
}

void span_free_channel(struct span_set *set, struct span_channel *channel)
{
	if (channel->prev)
		channel->prev->next = channel->next;
	else
		set->channels = channel->next;
	if (channel->next)
		channel->next->prev = channel->prev;
	give_back(set, channel->name, strlen(channel->name) + 1);
	give_back(set, channel->text, channel->capacity);
	give_back(set, channel, sizeof(*channel));
}

void span_end_loan(struct span_set *set)
{
	if (set->lender)
		span_keep_last(set, take_ptr(set->lender));
}

static void free_span(struct span_set *set, struct span *span)
{
	if (span->prev)
		span->prev->next = span->next;
	else
		set->first = span->next;
	if (span->next)
		span->next->prev = span->prev;
	else
		set->last = span->prev;
	give_back(set, span, sizeof(*span));
}

void span_set_free(struct span_set *set)
{
	if (!set)
		return;
	while (set->first)
		free_span(set, set->first);
	while (set->channels)
		span_free_channel(set, set->channels);
	free(set);
}

int span_open(struct span_set *set, const char *name, enum span_text_kind kind,
	      struct span_channel **ret_channel)
{
	size_t size = strlen(name) + 1;
	struct span_channel *channel = take_memory(set, sizeof(*channel));

	span_end_loan(set);
	if (!channel)
		return -ENOMEM;
	channel->name = take_memory(set, size);
	if (!channel->name) {
		give_back(set, channel, sizeof(*channel));
		return -ENOMEM;
	}
	memcpy(channel->name, name, size);
	channel->kind = kind;
	channel->next = set->channels;
	if (channel->next)
		channel->next->prev = channel;
	set->channels = channel;
	*ret_channel = channel;
	return 0;
}

/* Keeps text, and forgets what no window sees any more where that is half of it. */
static int keep(struct span_set *set, struct span_channel *channel, const uint8_t *text, size_t len)
{
	size_t gone = (size_t)(channel->need - channel->base);
	size_t capacity = MAX(channel->capacity, (size_t)TEXT_CAPACITY);
	uint8_t *grown;

	if (len > channel->capacity - channel->len && gone && gone >= channel->len / 2) {
		channel->len -= gone;
		memmove(channel->text, channel->text + gone, channel->len);
		channel->base = channel->need;
	}
	while (len > capacity - channel->len)
		capacity *= 2;
	if (capacity != channel->capacity) {
		grown = realloc(channel->text, capacity);
		if (!grown)
			return -ENOMEM;
		set->memory += capacity - channel->capacity;
		channel->text = grown;
		channel->capacity = capacity;
	}
	memcpy(channel->text + channel->len, text, len);
	channel->len += len;
	return 0;
}

int span_prime(struct span_set *set, struct span_channel *channel, const uint8_t *text, size_t len)
{
	uint64_t runes = utf8_count(text, len);
	uint64_t kept = MIN(runes, (uint64_t)set->config.coverage.window - 1);
	int err;

	span_end_loan(set);
	text += len;
	len = (size_t)(text - span_back(text, kept));
	if (!len)
		return 0;
	err = keep(set, channel, text - len, len);
	if (err)
		return err;
	channel->runes = kept;
	channel->bytes = len;
	return 0;
}

/* The rune may have waited while others came. */
int span_begin(struct span_set *set, struct span_channel *channel, uint64_t track)
{
	struct span *span = take_memory(set, sizeof(*span)), *before = set->last;

	if (!span)
		return -ENOMEM;
	while (before && before->start > track)
		before = before->prev;
	span->prev = before;
	span->next = before ? before->next : set->first;
	if (span->next)
		span->next->prev = span;
	else
		set->last = span;
	if (before)
		before->next = span;
	else
		set->first = span;
	span->channel = channel;
	span->start = span->end = track;
	span->id = set->next_id++;
	if (channel) {
		channel->under_way = span;
		return 0;
	}
	span->state = SPAN_CUT;
	set->cut_count++;
	return 0;
}

/* The span under way ends here; a rune that waits begins the next one. */
static int cut(struct span_set *set, struct span_channel *channel)
{
	struct span *span = take_ptr(channel->under_way);

	span->state = SPAN_CUT;
	span->rune_end = channel->runes;
	span->byte_end = channel->bytes;
	channel->latest = span;
	channel->cut_count++;
	set->cut_count++;
	channel->stopped = false;
	return channel->waits ? span_begin(set, channel, channel->awaited) : 0;
}

/* What of a text the span under way takes, and whether it ends there. */
struct part {
	size_t len;
	uint64_t runes;
	bool ends;
};

/* At most `limit` runes, up to the end of a sentence. */
static struct part sentence(struct span_channel *channel, const uint8_t *text, uint64_t limit)
{
	struct part part = {0};

	while (part.runes < limit && !part.ends) {
		uint32_t rune;
		unsigned int len = fold_decode(text + part.len, &rune);

		if (channel->stopped && sentence_is_space(rune)) {
			part.ends = true;
			break;
		}
		channel->stopped = sentence_is_stop(rune);
		part.ends = sentence_is_end(rune);
		part.len += len;
		part.runes++;
	}
	return part;
}

/* Runes of the span under way at most. */
static uint64_t longest(const struct span_set *set, const struct span_channel *channel)
{
	if ((set->config.long_first || channel->kind == SPAN_TEXT_WHOLE) &&
	    channel->runes == channel->under_way->runes)
		return set->config.coverage.window;
	return set->config.coverage.span;
}

static struct part next_part(const struct span_set *set, struct span_channel *channel,
			     const uint8_t *text, size_t len, uint64_t runes)
{
	uint64_t room = longest(set, channel) - channel->under_way->runes;
	uint64_t limit = channel->waits ? 1 : MIN(room, runes);
	struct part part = {.runes = limit};

	if (set->config.cadence == SPAN_SENTENCE && channel->kind != SPAN_TEXT_WHOLE)
		part = sentence(channel, text, limit);
	else
		part.len = utf8_bytes(text, len, limit);
	part.ends |= part.runes == room;
	return part;
}

/* Puts what was taken into the span under way. */
static void place(struct span_set *set, struct span_channel *channel, const struct part *part)
{
	struct span *span = channel->under_way;

	if (!part->runes)
		return;
	if (channel->waits) {
		channel->waits = false;
		span->end = channel->awaited + 1;
	} else {
		set->track += part->runes;
		span->end = set->track;
	}
	span->runes += part->runes;
	channel->end = MAX(channel->end, span->end);
	channel->runes += part->runes;
	channel->bytes += part->len;
}

int span_text(struct span_set *set, struct span_channel *channel, const uint8_t *text, size_t len,
	      uint64_t runes)
{
	int err;

	span_end_loan(set);
	if (!len)
		return 0;
	err = keep(set, channel, text, len);
	while (!err && len) {
		struct part part;

		if (!channel->under_way) {
			err = span_begin(set, channel, set->track);
			if (err)
				break;
		}
		part = next_part(set, channel, text, len, runes);
		place(set, channel, &part);
		text += part.len;
		len -= part.len;
		runes -= part.runes;
		if (part.ends)
			err = cut(set, channel);
	}
	return err;
}

int span_wait(struct span_set *set, struct span_channel *channel)
{
	int err = 0;

	span_end_loan(set);
	if (!channel->under_way)
		err = span_begin(set, channel, set->track);
	if (err)
		return err;
	channel->waits = true;
	channel->awaited = set->track++;
	return 0;
}

int span_break(struct span_set *set, struct span_channel *channel)
{
	int err;

	span_end_loan(set);
	if (!channel->runes)
		return 0;
	err = keep(set, channel, (const uint8_t *)"\n", 1);
	if (!err && !channel->under_way)
		err = span_begin(set, channel, set->track);
	if (err)
		return err;
	channel->under_way->runes++;
	channel->runes++;
	channel->bytes++;
	channel->stopped = false;
	return channel->under_way->runes == longest(set, channel) ? cut(set, channel) : 0;
}

int span_unit_end(struct span_set *set)
{
	int err = 0;

	span_end_loan(set);
	if (set->config.cadence != SPAN_UNIT)
		return 0;
	for (struct span_channel *c = set->channels; c && !err; c = c->next)
		if (c->under_way && c->under_way->runes && c->kind != SPAN_TEXT_WHOLE)
			err = cut(set, c);
	return err;
}

int span_complete(struct span_set *set, struct span_channel *channel)
{
	span_end_loan(set);
	return channel->under_way && channel->under_way->runes ? cut(set, channel) : 0;
}

int span_close(struct span_set *set, struct span_channel *channel)
{
	int err = 0;

	span_end_loan(set);
	if (channel->waits)
		err = span_text(set, channel, (const uint8_t *)UTF8_REPLACEMENT,
				UTF8_REPLACEMENT_LEN, 1);
	if (!err && channel->under_way)
		err = cut(set, channel);
	if (err)
		return err;
	channel->closed = true;
	if (channel->latest)
		channel->latest->final = true;
	else
		span_keep_last(set, channel);
	return 0;
}

/* The window of a span that is cut; what it and later ones do not see is not needed any more. */
static void lend(struct span_set *set, struct span *span, struct span_item *ret_item)
{
	struct span_channel *channel = take_ptr(span->channel);
	const uint8_t *end = channel->text + (span->byte_end - channel->base);
	uint64_t runes = MIN(span->rune_end, (uint64_t)set->config.coverage.window);
	const uint8_t *from = span_back(end, runes);

	*ret_item = (struct span_item){
		.id = span->id,
		.channel = channel->name,
		.text = from,
		.len = (size_t)(end - from),
		.runes = runes,
		.before = runes - span->runes,
		.start = span->start,
		.end = span->end,
		.final = span->final,
	};
	channel->need = channel->base + (uint64_t)(from - channel->text);
	if (runes == set->config.coverage.window && !set->config.finishes)
		channel->need += utf8_length(*from);
	if (channel->latest == span)
		channel->latest = NULL;
	if (!--channel->cut_count && channel->closed)
		set->lender = channel;
}

bool span_next(struct span_set *set, struct span_item *ret_item)
{
	struct span *span = set->first;

	span_end_loan(set);
	if (!set->cut_count || set->lent_count == set->config.in_flight)
		return false;
	while (span->state != SPAN_CUT)
		span = span->next;
	span->state = SPAN_LENT;
	set->has_lent = true;
	set->lent_count++;
	set->cut_count--;
	if (span->channel)
		lend(set, span, ret_item);
	else
		span_lend_last(set, span, ret_item);
	ret_item->last = set->finished && !set->cut_count;
	set->last_lent |= ret_item->last;
	return true;
}

int span_clear(struct span_set *set, uint64_t id)
{
	struct span *span = set->first;

	span_end_loan(set);
	while (span && (span->state != SPAN_LENT || span->id != id))
		span = span->next;
	if (!span)
		return -ENOENT;
	free_span(set, span);
	set->lent_count--;
	return 0;
}

uint64_t span_frontier(const struct span_set *set)
{
	return set->first ? set->first->start : set->track;
}

uint64_t span_reach(const struct span_set *set)
{
	const struct span *span = set->first;

	while (span && span->state != SPAN_UNDER_WAY)
		span = span->next;
	return span ? span->start : set->track;
}

uint64_t span_end(const struct span_set *set)
{
	return set->track;
}

size_t span_waiting(const struct span_set *set)
{
	return set->cut_count;
}

size_t span_pending(const struct span_set *set)
{
	return set->cut_count + set->lent_count;
}

size_t span_memory(const struct span_set *set)
{
	return set->memory;
}
