/* SPDX-License-Identifier: Apache-2.0 */
#include "core/span.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/fold.h"
#include "core/sentence.h"
#include "core/utf8.h"

#define TEXT_CAPACITY 256u

enum span_state { SPAN_UNDER_WAY, SPAN_CUT, SPAN_LENT };

struct span {
	struct span *next, *prev; /* of the set's, by their starts */
	enum span_state state;
	struct span_channel *channel; /* until it is lent */
	uint64_t id;
	uint64_t start, end; /* of the track */
	uint64_t runes;
	uint64_t rune_end, byte_end; /* of the text, once it is cut */
	bool final;
};

struct span_channel {
	struct span_channel *next, *prev; /* of the set's */
	char *name;
	/* The text from byte `base` on; from `need` on a window may have to see it. */
	uint8_t *text;
	size_t len, capacity;
	uint64_t base, need;
	uint64_t runes, bytes;	/* that are in spans, or primed */
	struct span *under_way; /* NULL: none */
	struct span *latest;	/* cut, and not lent; NULL: none is */
	size_t cut_count;	/* of those that are not lent */
	bool closed;
	bool stopped; /* its last rune ends a sentence where a space follows */
	bool waits;
	uint64_t awaited; /* the number of the rune that waits */
};

struct span_set {
	struct span_config config;
	uint64_t track; /* number of the next rune */
	uint64_t next_id;
	struct span *first, *last;
	struct span_channel *channels;
	struct span_channel *lender; /* closed; its text is lent until the next call */
	uint32_t lent_count;
	size_t cut_count;
	size_t memory;
};

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

static void free_channel(struct span_set *set, struct span_channel *channel)
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

/* The text that was lent last need not be kept any longer. */
static void end_loan(struct span_set *set)
{
	if (set->lender)
		free_channel(set, take_ptr(set->lender));
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
		free_channel(set, set->channels);
	free(set);
}

int span_open(struct span_set *set, const char *name, struct span_channel **ret_channel)
{
	size_t size = strlen(name) + 1;
	struct span_channel *channel;

	end_loan(set);
	channel = take_memory(set, sizeof(*channel));
	if (!channel)
		return -ENOMEM;
	channel->name = take_memory(set, size);
	if (!channel->name) {
		give_back(set, channel, sizeof(*channel));
		return -ENOMEM;
	}
	memcpy(channel->name, name, size);
	channel->next = set->channels;
	if (channel->next)
		channel->next->prev = channel;
	set->channels = channel;
	*ret_channel = channel;
	return 0;
}

/* Where the last `runes` runes of the text begin that ends there. */
static const uint8_t *back(const uint8_t *end, uint64_t runes)
{
	while (runes--)
		do
			end--;
		while ((*end & 0xc0) == 0x80);
	return end;
}

/* Bytes of that many runes. */
static size_t bytes_of(const uint8_t *text, size_t len, uint64_t runes)
{
	size_t at = utf8_ascii(text, (size_t)MIN((uint64_t)len, runes));

	for (runes -= at; runes; runes--)
		at += utf8_length(text[at]);
	return at;
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

	end_loan(set);
	text += len;
	len = (size_t)(text - back(text, kept));
	if (!len)
		return 0;
	err = keep(set, channel, text - len, len);
	if (err)
		return err;
	channel->runes = kept;
	channel->bytes = len;
	return 0;
}

/* A span begins with the rune of that number. It may have waited while others came. */
static int begin(struct span_set *set, struct span_channel *channel, uint64_t track)
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
	channel->under_way = span;
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
	return channel->waits ? begin(set, channel, channel->awaited) : 0;
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

static struct part next_part(const struct span_set *set, struct span_channel *channel,
			     const uint8_t *text, size_t len, uint64_t runes)
{
	uint64_t room = set->config.coverage.span - channel->under_way->runes;
	uint64_t limit = channel->waits ? 1 : MIN(room, runes);
	struct part part = {.runes = limit};

	if (set->config.cadence == SPAN_SENTENCE)
		part = sentence(channel, text, limit);
	else
		part.len = bytes_of(text, len, limit);
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
	channel->runes += part->runes;
	channel->bytes += part->len;
}

int span_text(struct span_set *set, struct span_channel *channel, const uint8_t *text, size_t len,
	      uint64_t runes)
{
	int err;

	end_loan(set);
	if (!len)
		return 0;
	err = keep(set, channel, text, len);
	while (!err && len) {
		struct part part;

		if (!channel->under_way) {
			err = begin(set, channel, set->track);
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
	int err;

	end_loan(set);
	if (!channel->under_way) {
		err = begin(set, channel, set->track);
		if (err)
			return err;
	}
	channel->waits = true;
	channel->awaited = set->track++;
	return 0;
}

int span_break(struct span_set *set, struct span_channel *channel)
{
	struct span *span;
	int err;

	end_loan(set);
	if (!channel->runes)
		return 0;
	err = keep(set, channel, (const uint8_t *)"\n", 1);
	if (!err && !channel->under_way)
		err = begin(set, channel, set->track);
	if (err)
		return err;
	span = channel->under_way;
	span->runes++;
	channel->runes++;
	channel->bytes++;
	channel->stopped = false;
	return span->runes == set->config.coverage.span ? cut(set, channel) : 0;
}

int span_unit_end(struct span_set *set)
{
	int err = 0;

	end_loan(set);
	if (set->config.cadence != SPAN_UNIT)
		return 0;
	for (struct span_channel *c = set->channels; c && !err; c = c->next)
		if (c->under_way && c->under_way->runes)
			err = cut(set, c);
	return err;
}

int span_close(struct span_set *set, struct span_channel *channel)
{
	int err = 0;

	end_loan(set);
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
		free_channel(set, channel);
	return 0;
}

/* The window of a span that is cut; what it and later ones do not see is not needed any more. */
static void lend(struct span_set *set, struct span *span, struct span_item *ret_item)
{
	struct span_channel *channel = take_ptr(span->channel);
	const uint8_t *end = channel->text + (span->byte_end - channel->base);
	uint64_t runes = MIN(span->rune_end, (uint64_t)set->config.coverage.window);
	const uint8_t *from = back(end, runes);

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
	if (runes == set->config.coverage.window)
		channel->need += utf8_length(*from);
	if (channel->latest == span)
		channel->latest = NULL;
	if (!--channel->cut_count && channel->closed)
		set->lender = channel;
}

bool span_next(struct span_set *set, struct span_item *ret_item)
{
	struct span *span = set->first;

	end_loan(set);
	if (!set->cut_count || set->lent_count == set->config.in_flight)
		return false;
	while (span->state != SPAN_CUT)
		span = span->next;
	span->state = SPAN_LENT;
	set->lent_count++;
	set->cut_count--;
	lend(set, span, ret_item);
	return true;
}

int span_clear(struct span_set *set, uint64_t id)
{
	struct span *span = set->first;

	end_loan(set);
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
