/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A text that may have literals of JSON in it, which are evaluated besides (extract_literals.h):
 * a body that nothing says more of; in strings of JSON the arguments of calls, and what begins as
 * an object or an array does.
 *
 * Invariants:
 *  G1. A text begins with its first byte that is no white space of JSON.
 *  G2. How the text is cut into calls does not decide which of the two readings of a rune comes
 *      first: its literals are read in blocks, counted from where it began or was flushed,
 *      each after all of it was evaluated as it stands.
 */
#ifndef SLUICE_CORE_EXTRACT_TEXT_H
#define SLUICE_CORE_EXTRACT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/channel.h"
#include "core/extract_literals.h"
#include "core/fault.h"

#define EXTRACT_TEXT_BLOCK 1024u

/* Of strings of no known place. */
extern const char extract_strings_name[];

enum extract_text_state { TEXT_BEGINS, TEXT_PLAIN, TEXT_LITERALS };

struct extract_text {
	struct channel *channel; /* the caller's, as the next three are */
	const char *name;	 /* of the text; NULL: the channel's */
	bool joins;		 /* literals of one name are one text */
	bool always;		 /* whatever it begins with */

	uint8_t state;
	uint32_t len;			   /* of the block under way */
	uint8_t *block;			   /* NULL: none came yet */
	struct extract_literals *literals; /* the same */
};

void extract_text_done(struct extract_text *text);

/* Does what begins so begin as an object or an array does, as far as it goes? */
static inline bool extract_text_is_json(const uint8_t *bytes, size_t len)
{
	while (len && (*bytes == ' ' || *bytes == '\t' || *bytes == '\n' || *bytes == '\r')) {
		bytes++;
		len--;
	}
	return len && (*bytes == '{' || *bytes == '[');
}

/* The next of it, as channel_text(), channel_surrogate() and channel_arrived(). */
enum fault extract_text_read(struct extract_text *text, struct channel_set *set,
			     const uint8_t *bytes, size_t len, uint64_t runes) must_check;
static inline enum fault extract_text_add(struct extract_text *text, struct channel_set *set,
					  const uint8_t *bytes, size_t len, uint64_t runes)
{
	return text->state == TEXT_PLAIN ? channel_text(set, text->channel, bytes, len, runes)
					 : extract_text_read(text, set, bytes, len, runes);
}
enum fault extract_text_surrogate(struct extract_text *text, struct channel_set *set,
				  uint32_t unit) must_check;
enum fault extract_text_arrived(struct extract_text *text, struct channel_set *set,
				const uint8_t *bytes, size_t len) must_check;

/* The block under way is read, at a place that no cut of the text has a say in. */
enum fault extract_text_read_block(struct extract_text *text) must_check;
static inline enum fault extract_text_flush(struct extract_text *text)
{
	return text->len ? extract_text_read_block(text) : FAULT_NONE;
}

/* It ends, and the next may begin. The channel is the caller's to end. */
enum fault extract_text_end_literals(struct extract_text *text) must_check;
static inline enum fault extract_text_end(struct extract_text *text)
{
	text->state = TEXT_BEGINS;
	return text->literals ? extract_text_end_literals(text) : FAULT_NONE;
}

size_t extract_text_memory(const struct extract_text *text); /* beside the struct itself */

#endif
