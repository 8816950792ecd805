/* SPDX-License-Identifier: Apache-2.0 */
#include "core/extract_raw.h"

static enum fault runes_text(struct extract_raw *raw, const uint8_t *text, size_t len,
			     uint64_t runes)
{
	return raw->text ? extract_text_add(raw->text, raw->set, text, len, runes)
			 : channel_text(raw->set, raw->channel, text, len, runes);
}

/* One rune that did not come in one piece, or stands for what was ill-formed. */
static enum fault rune(struct extract_raw *raw, const uint8_t *text, size_t len)
{
	raw->utf8.have = 0;
	if (!raw->channel)
		return FAULT_NONE;
	if (!raw->channel->waiting)
		return runes_text(raw, text, len, 1);
	return raw->text ? extract_text_arrived(raw->text, raw->set, text, len)
			 : channel_arrived(raw->set, raw->channel, text, len);
}

static enum fault ill_formed(struct extract_raw *raw)
{
	if (!raw->replace)
		return FAULT_BAD_UTF8;
	return rune(raw, (const uint8_t *)UTF8_REPLACEMENT, UTF8_REPLACEMENT_LEN);
}

/* A byte that utf8_prefix() stopped at, or that follows a sequence under way. */
static enum fault byte_text(struct extract_raw *raw, const uint8_t *byte, size_t *ret_taken)
{
	struct utf8 done;

	*ret_taken = 1;
	switch (utf8_push(&raw->utf8, *byte)) {
	case UTF8_MORE:
		return FAULT_NONE;
	case UTF8_DONE:
		done = raw->utf8;
		return rune(raw, done.bytes, done.have);
	default:
		/* What broke a sequence off is looked at anew. */
		*ret_taken = raw->utf8.have == 0;
		return ill_formed(raw);
	}
}

enum fault extract_raw_text(struct extract_raw *raw, const uint8_t *text, size_t len)
{
	enum fault fault = FAULT_NONE;

	while (len && !fault) {
		uint64_t runes = 0;
		size_t taken = raw->utf8.have ? 0 : utf8_prefix(text, len, &runes);

		if (!taken)
			fault = byte_text(raw, text, &taken);
		else if (raw->channel)
			fault = runes_text(raw, text, taken, runes);
		text += taken;
		len -= taken;
	}
	return fault;
}

enum fault extract_raw_end(struct extract_raw *raw)
{
	return raw->utf8.have ? ill_formed(raw) : FAULT_NONE;
}

enum fault extract_raw_cut(struct extract_raw *raw)
{
	if (!raw->utf8.have || !raw->channel || raw->channel->waiting)
		return FAULT_NONE;
	return channel_wait(raw->set, raw->channel);
}
