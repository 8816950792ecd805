/* SPDX-License-Identifier: Apache-2.0 */
/* The tasks of a channel set that evaluate elsewhere: which of its texts is which of theirs. */
#include <string.h>

#include "core/channel.h"
#include "core/channel_internal.h"
#include "core/span.h"

static enum fault fault_of(int err)
{
	return err ? FAULT_NO_MEMORY : FAULT_NONE;
}

static uint64_t hash_name(const char *name)
{
	uint64_t hash = 0xcbf29ce484222325ull;

	/* One whose text ends with its token need not have a name that anybody knows. */
	for (; name && *name; name++)
		hash = (hash ^ (uint8_t)*name) * 0x100000001b3ull;
	return hash | 1;
}

/* Does what comes stand apart from what came before it in the unit's text? */
static bool is_apart(struct channel_set *set, const struct channel *channel)
{
	uint64_t name = channel == set->aside ? 0 : hash_name(channel->name);
	bool apart = !name || name != set->unit_name;

	set->unit_name = name;
	return apart;
}

static struct span_channel **text_of(struct channel_set *set, struct channel *channel, size_t i)
{
	return channel->joined ? &channel->texts[i] : &set->unit_texts[i];
}

static int begin_text(struct channel_set *set, struct channel *channel, size_t i, bool apart)
{
	struct span_channel **text = text_of(set, channel, i);

	if (!*text && !channel->joined)
		return span_open(set->spans[i], CHANNEL_UNIT, SPAN_TEXT_PASSING, text);
	if (!*text)
		return span_open(set->spans[i], channel->name,
				 channel->whole ? SPAN_TEXT_WHOLE : SPAN_TEXT, text);
	return apart ? span_break(set->spans[i], *text) : 0;
}

/* Does the set see no more? What it had of the text is gone with it. */
static bool is_over(struct channel_set *set, struct channel *channel, size_t i)
{
	if (set->spans[i])
		return false;
	channel->texts[i] = NULL;
	set->unit_texts[i] = NULL;
	return true;
}

/* The rune that waited is there: its text is the unit's again, unless that has gone on. */
static int end_waiting(struct channel_set *set, struct channel *channel, size_t i)
{
	struct span_channel *text = channel->texts[i];

	if (channel->joined)
		return 0;
	channel->texts[i] = NULL;
	if (set->unit_texts[i])
		return span_close(set->spans[i], text);
	set->unit_texts[i] = text;
	return 0;
}

enum fault channel_spans_text(struct channel_set *set, struct channel *channel, const uint8_t *text,
			      size_t len, uint64_t runes)
{
	bool apart = !channel->joined && !channel->waiting && is_apart(set, channel);
	int err = 0;

	for (size_t i = 0; i < set->span_count && !err; i++) {
		if (is_over(set, channel, i))
			continue;
		if (channel->waiting) {
			err = span_text(set->spans[i], channel->texts[i], text, len, runes);
			if (!err)
				err = end_waiting(set, channel, i);
			continue;
		}
		err = begin_text(set, channel, i, apart);
		if (!err)
			err = span_text(set->spans[i], *text_of(set, channel, i), text, len, runes);
	}
	return fault_of(err);
}

enum fault channel_spans_wait(struct channel_set *set, struct channel *channel)
{
	bool apart = !channel->joined && is_apart(set, channel);
	int err = 0;

	for (size_t i = 0; i < set->span_count && !err; i++) {
		if (is_over(set, channel, i))
			continue;
		err = begin_text(set, channel, i, apart);
		if (!err)
			err = span_wait(set->spans[i], *text_of(set, channel, i));
		if (!err && !channel->joined)
			channel->texts[i] = take_ptr(set->unit_texts[i]);
	}
	return fault_of(err);
}

enum fault channel_spans_end(struct channel_set *set, struct channel *channel)
{
	int err = 0;

	if (!channel->joined)
		set->unit_name = 0;
	for (size_t i = 0; channel->joined && i < set->span_count && !err; i++)
		if (!is_over(set, channel, i) && channel->texts[i])
			err = span_close(set->spans[i], take_ptr(channel->texts[i]));
	return fault_of(err);
}

/* What of the joined texts is complete with the unit. */
static int complete(struct channel_set *set, size_t i)
{
	int err = 0;

	for (struct channel *c = set->joined; c && !err; c = c->next)
		if (c->whole && c->begun == UINT64_MAX && c->texts[i])
			err = span_complete(set->spans[i], c->texts[i]);
	return err;
}

enum fault channel_spans_unit_end(struct channel_set *set)
{
	int err = 0;

	set->unit_name = 0;
	for (size_t i = 0; i < set->span_count && !err; i++) {
		if (!set->spans[i] || set->assembles[i])
			continue;
		if (set->unit_texts[i])
			err = span_close(set->spans[i], take_ptr(set->unit_texts[i]));
		if (!err)
			err = complete(set, i);
		if (!err)
			err = span_unit_end(set->spans[i]);
	}
	return fault_of(err);
}

enum fault channel_set_assembled(struct channel_set *set)
{
	int err = 0;

	for (size_t i = 0; i < set->span_count && !err; i++)
		if (set->spans[i] && set->assembles[i] && set->unit_texts[i])
			err = span_close(set->spans[i], take_ptr(set->unit_texts[i]));
	return fault_of(err);
}

int channel_spans_prime(struct channel_set *set, struct channel *channel, const uint8_t *text,
			size_t len)
{
	int err = 0;

	for (size_t i = 0; i < set->span_count && len && !err; i++) {
		if (is_over(set, channel, i))
			continue;
		err = begin_text(set, channel, i, false);
		if (!err)
			err = span_prime(set->spans[i], channel->texts[i], text, len);
	}
	return err;
}
