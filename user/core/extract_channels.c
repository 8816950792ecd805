/* SPDX-License-Identifier: Apache-2.0 */
#include "core/extract_channels.h"

#include <stdlib.h>
#include <string.h>

void extract_channels_init(struct extract_channels *c, struct channel_set *set)
{
	*c = (struct extract_channels){.set = set};
}

void extract_channels_done(struct extract_channels *c)
{
	for (uint32_t i = 0; i < c->count; i++) {
		extract_text_done(c->entries[i].text);
		free(c->entries[i].text);
	}
	free(c->entries);
	c->entries = NULL;
	c->count = c->capacity = 0;
}

struct extract_channel *extract_channels_from(const struct extract_channels *c, uint32_t key)
{
	uint32_t low = 0, high = c->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (c->entries[middle].key < key)
			low = middle + 1;
		else
			high = middle;
	}
	return c->entries + low;
}

struct extract_text *extract_channels_find(struct extract_channels *c, uint32_t key)
{
	struct extract_channel *recent = &c->recent[key % EXTRACT_RECENT], *at;

	if (recent->text && recent->key == key)
		return recent->text;
	if (!c->count)
		return NULL;
	at = extract_channels_from(c, key);
	if (at == c->entries + c->count || at->key != key)
		return NULL;
	*recent = *at;
	return at->text;
}

static enum fault grow(struct extract_channels *c)
{
	uint32_t capacity = c->capacity ? c->capacity * 2 : 4;
	struct extract_channel *grown = realloc(c->entries, capacity * sizeof(*grown));

	if (!grown)
		return FAULT_NO_MEMORY;
	c->entries = grown;
	c->capacity = capacity;
	return FAULT_NONE;
}

enum fault extract_channels_add(struct extract_channels *c, uint32_t key, const char *name,
				bool whole, struct extract_text **ret_text)
{
	struct extract_channel *at;
	struct extract_text *text;

	if (c->count == EXTRACT_CHANNELS_MAX)
		return FAULT_TOO_LARGE;
	if (c->count == c->capacity && grow(c))
		return FAULT_NO_MEMORY;
	text = calloc(1, sizeof(*text));
	if (!text || channel_set_join(c->set, name, whole, &text->channel) < 0) {
		free(text);
		return FAULT_NO_MEMORY;
	}
	text->name = text->channel->name;
	at = extract_channels_from(c, key);
	memmove(at + 1, at, (size_t)(c->entries + c->count - at) * sizeof(*at));
	*at = (struct extract_channel){key, text};
	c->count++;
	c->recent[key % EXTRACT_RECENT] = *at;
	*ret_text = text;
	return FAULT_NONE;
}

size_t extract_channels_memory(const struct extract_channels *c)
{
	size_t bytes = c->capacity * sizeof(*c->entries) + c->count * sizeof(struct extract_text);

	for (uint32_t i = 0; i < c->count; i++)
		bytes += extract_text_memory(c->entries[i].text);
	return bytes;
}
