/* SPDX-License-Identifier: Apache-2.0 */
/* Whole texts of channels, and which of them need not be judged again. */
#include <stdlib.h>
#include <string.h>

#include "core/channel.h"
#include "core/channel_internal.h"

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

/* Out of line, so that what a known text needs stays small. */
__attribute__((noinline)) static enum fault whole_unknown(struct channel_set *set, const char *name,
							  const uint8_t *text, size_t len,
							  uint64_t runes)
{
	const struct channel_short key = make_short(text, len);
	enum fault fault = channel_whole(set, name, text, len, runes);

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
		return channel_whole(set, name, text, len, runes);
	if (!is_known(set, text, len))
		return whole_unknown(set, name, text, len, runes);
	set->track += runes;
	if (set->on_text)
		set->on_text(set->context, name, text, len);
	set->aside->name = name;
	return set->span_count ? channel_spans_text(set, set->aside, text, len, runes) : FAULT_NONE;
}
