/* SPDX-License-Identifier: Apache-2.0 */
#include "core/extract_text.h"

#include <stdlib.h>
#include <string.h>

#include "core/utf8.h"

const char extract_strings_name[] = "strings";

void extract_text_done(struct extract_text *t)
{
	extract_literals_free(t->literals);
	free(t->block);
	t->literals = NULL;
	t->block = NULL;
	t->len = 0;
}

static size_t white_space(const uint8_t *bytes, size_t len)
{
	size_t n = 0;

	while (n < len &&
	       (bytes[n] == ' ' || bytes[n] == '\t' || bytes[n] == '\n' || bytes[n] == '\r'))
		n++;
	return n;
}

/* The first byte of a text. */
static enum fault begin(struct extract_text *t, struct channel_set *set, uint8_t first)
{
	t->state = TEXT_PLAIN;
	if (!t->always && first != '{' && first != '[')
		return FAULT_NONE;
	t->state = TEXT_LITERALS;
	if (!t->block)
		t->block = malloc(EXTRACT_TEXT_BLOCK);
	if (!t->literals)
		t->literals =
			extract_literals_new(set, t->name ? t->name : t->channel->name, t->joins);
	return t->block && t->literals ? FAULT_NONE : FAULT_NO_MEMORY;
}

enum fault extract_text_read_block(struct extract_text *t)
{
	size_t len = t->len;

	t->len = 0;
	return extract_literals_text(t->literals, t->block, len);
}

/* So much of the text goes to the block under way: whole runes; 0: none has room. */
static size_t room_for(const struct extract_text *t, const uint8_t *bytes, size_t len)
{
	size_t n = MIN(len, (size_t)(EXTRACT_TEXT_BLOCK - t->len));

	while (n && n < len && (bytes[n] & 0xc0) == 0x80)
		n--;
	return n;
}

static enum fault keep(struct extract_text *t, const uint8_t *bytes, size_t len)
{
	memcpy(t->block + t->len, bytes, len);
	t->len += (uint32_t)len;
	return t->len == EXTRACT_TEXT_BLOCK ? extract_text_read_block(t) : FAULT_NONE;
}

static enum fault read_both(struct extract_text *t, struct channel_set *set, const uint8_t *bytes,
			    size_t len)
{
	enum fault fault = FAULT_NONE;

	while (len && !fault) {
		size_t n = room_for(t, bytes, len);

		if (!n) {
			fault = extract_text_read_block(t);
			continue;
		}
		fault = channel_text(set, t->channel, bytes, n, utf8_count(bytes, n));
		if (!fault)
			fault = keep(t, bytes, n);
		bytes += n;
		len -= n;
	}
	return fault;
}

enum fault extract_text_read(struct extract_text *t, struct channel_set *set, const uint8_t *bytes,
			     size_t len, uint64_t runes)
{
	size_t white = t->state == TEXT_BEGINS && !t->always ? white_space(bytes, len) : 0;
	enum fault fault = channel_text(set, t->channel, bytes, white, white);

	bytes += white;
	len -= white;
	if (fault || !len)
		return fault;
	if (t->state == TEXT_BEGINS)
		fault = begin(t, set, bytes[0]);
	if (fault)
		return fault;
	return t->state == TEXT_PLAIN ? channel_text(set, t->channel, bytes, len, runes - white)
				      : read_both(t, set, bytes, len);
}

enum fault extract_text_arrived(struct extract_text *t, struct channel_set *set,
				const uint8_t *bytes, size_t len)
{
	enum fault fault = channel_arrived(set, t->channel, bytes, len);

	if (!fault && t->state == TEXT_BEGINS)
		fault = begin(t, set, bytes[0]);
	if (!fault && t->state == TEXT_LITERALS && !room_for(t, bytes, len))
		fault = extract_text_read_block(t);
	return fault || t->state == TEXT_PLAIN ? fault : keep(t, bytes, len);
}

enum fault extract_text_surrogate(struct extract_text *t, struct channel_set *set, uint32_t unit)
{
	enum fault fault = extract_text_flush(t);

	if (!fault)
		fault = channel_surrogate(set, t->channel, unit);
	if (!fault && t->state == TEXT_BEGINS)
		fault = begin(t, set, 0);
	return fault || t->state == TEXT_PLAIN ? fault
					       : extract_literals_surrogate(t->literals, unit);
}

enum fault extract_text_end_literals(struct extract_text *t)
{
	enum fault fault = extract_text_flush(t);

	return fault ? fault : extract_literals_end(t->literals);
}

size_t extract_text_memory(const struct extract_text *t)
{
	return extract_literals_memory(t->literals) + (t->block ? EXTRACT_TEXT_BLOCK : 0);
}
