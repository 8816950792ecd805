/* SPDX-License-Identifier: Apache-2.0 */
#include "core/extract_inner.h"

#include <stdlib.h>
#include <string.h>

#include "core/extract_forms.h"
#include "core/extract_known.h"
#include "core/json.h"

/* Bytes that are decoded at once. */
#define BLOCK 1024u

struct extract_inner_reader {
	struct json scanner;
	struct extract_tokens tokens;
	struct extract_known known;
};

struct extract_inner *extract_inner_new(struct channel_set *set, bool replace)
{
	struct extract_inner *inner = calloc(1, sizeof(*inner));
	struct extract_inner_reader *reader = malloc(sizeof(*reader));

	if (!inner || !reader) {
		free(inner);
		free(reader);
		return NULL;
	}
	json_init(&reader->scanner, &extract_known_sink, &reader->known);
	reader->scanner.replace = replace;
	extract_tokens_init(&reader->tokens, set, &reader->scanner);
	extract_known_init(&reader->known, &reader->tokens, extract_forms_all,
			   extract_forms_all_count);
	inner->reader = reader;
	return inner;
}

void extract_inner_free(struct extract_inner *inner)
{
	if (!inner)
		return;
	extract_known_done(&inner->reader->known);
	extract_tokens_done(&inner->reader->tokens);
	json_done(&inner->reader->scanner);
	free(inner->reader);
	free(inner);
}

void extract_inner_begin(struct extract_inner *inner, bool certain)
{
	inner->state = certain ? INNER_DOCUMENT : INNER_UNDECIDED;
	inner->base64 = (struct base64){0};
	inner->begun = inner->foreign = false;
	inner->held_len = 0;
}

static enum fault scan(struct extract_inner *inner, const uint8_t *data, size_t len)
{
	struct extract_inner_reader *reader = inner->reader;
	size_t used;

	if (!len)
		return FAULT_NONE;
	inner->begun = true;
	return extract_known_scan(&reader->known, &reader->scanner, data, len, &used);
}

static enum fault decode(struct extract_inner *inner, const uint8_t *text, size_t len)
{
	enum base64_step step = BASE64_MORE;
	enum fault fault = FAULT_NONE;
	uint8_t block[BLOCK];
	size_t count = 0;

	for (size_t i = 0; i < len && step != BASE64_ILL && !fault; i++) {
		step = base64_push(&inner->base64, text[i], &block[count]);
		count += step == BASE64_BYTE;
		if (count == BLOCK) {
			fault = scan(inner, block, count);
			count = 0;
		}
	}
	/* What lies before a character at fault came before it. */
	if (!fault)
		fault = scan(inner, block, count);
	return !fault && step == BASE64_ILL ? FAULT_BAD_ENCODING : fault;
}

/* What a string is, by one more of its characters. */
static enum fault sniff(struct extract_inner *inner, uint8_t c)
{
	uint8_t byte = ' ';

	if (c >= 0x80) {
		inner->state = INNER_PLAIN;
		return FAULT_NONE;
	}
	if (inner->held_len == EXTRACT_INNER_HELD)
		return FAULT_BAD_ENCODING;
	inner->held[inner->held_len++] = c;
	if (base64_digit(c) < 0)
		inner->foreign = true;
	else
		(void)base64_push(&inner->base64, c, &byte);
	if (byte == '{' || byte == '[')
		inner->state = INNER_DOCUMENT;
	else if (byte != ' ' && byte != '\t' && byte != '\n' && byte != '\r')
		inner->state = INNER_PLAIN;
	return inner->state == INNER_DOCUMENT && inner->foreign ? FAULT_BAD_ENCODING : FAULT_NONE;
}

/* Takes the text up to where the string is known to be any other. */
static enum fault take(struct extract_inner *inner, const uint8_t *text, size_t len,
		       size_t *ret_used)
{
	enum fault fault = FAULT_NONE;
	size_t used = 0;

	while (inner->state == INNER_UNDECIDED && used < len && !fault) {
		fault = sniff(inner, text[used]);
		/* What is not ASCII was not held. */
		used += text[used] < 0x80;
		if (!fault && inner->state == INNER_DOCUMENT) {
			inner->base64 = (struct base64){0};
			fault = decode(inner, inner->held, inner->held_len);
		}
	}
	if (!fault && inner->state == INNER_DOCUMENT) {
		fault = decode(inner, text + used, len - used);
		used = len;
	}
	*ret_used = used;
	return fault;
}

/* The string ends; where that is not a document it is none. */
static enum fault end(struct extract_inner *inner)
{
	struct extract_inner_reader *reader = inner->reader;
	enum fault fault;

	if (!base64_whole(&inner->base64))
		return FAULT_BAD_ENCODING;
	fault = inner->begun ? json_end(&reader->scanner) : FAULT_NONE;
	inner->over |= reader->known.over;
	return fault;
}

/* It is any string: what was held, which is ASCII, is its beginning. */
static enum fault go_on_plain(struct extract_inner *inner, struct extract_tokens *tokens,
			      unsigned int *flags)
{
	size_t held = inner->held_len;
	unsigned int last = *flags & JSON_LAST;

	*flags = held ? last : JSON_FIRST | last;
	return held ? extract_tokens_text(tokens, JSON_STRING, JSON_FIRST, inner->held, held, held)
		    : FAULT_NONE;
}

enum fault extract_inner_text(struct extract_inner *inner, struct extract_tokens *tokens,
			      unsigned int flags, const uint8_t *text, size_t len, uint64_t runes)
{
	enum fault fault;
	size_t used = 0;

	if (inner->state == INNER_PLAIN)
		return extract_tokens_text(tokens, JSON_STRING, flags, text, len, runes);
	fault = take(inner, text, len, &used);
	if (!fault && inner->state == INNER_UNDECIDED && (flags & JSON_LAST))
		inner->state = INNER_PLAIN;
	if (fault || inner->state == INNER_UNDECIDED)
		return fault;
	if (inner->state == INNER_DOCUMENT)
		return flags & JSON_LAST ? end(inner) : FAULT_NONE;
	fault = go_on_plain(inner, tokens, &flags);
	return fault ? fault
		     : extract_tokens_text(tokens, JSON_STRING, flags, text + used, len - used,
					   runes - used);
}

enum fault extract_inner_surrogate(struct extract_inner *inner, struct extract_tokens *tokens,
				   uint32_t unit)
{
	enum fault fault = FAULT_NONE;
	unsigned int flags = 0;

	/* No reader of base64 takes what is not ASCII. */
	if (inner->state == INNER_DOCUMENT)
		return FAULT_BAD_ENCODING;
	if (inner->state == INNER_UNDECIDED)
		fault = go_on_plain(inner, tokens, &flags);
	inner->state = INNER_PLAIN;
	return fault ? fault : extract_tokens_surrogate(tokens, JSON_STRING, flags, unit);
}

enum fault extract_inner_unit_end(struct extract_inner *inner)
{
	extract_path_clear(&inner->reader->tokens.path);
	return extract_known_unit_end(&inner->reader->known);
}

size_t extract_inner_memory(const struct extract_inner *inner)
{
	const struct extract_inner_reader *reader = inner->reader;

	return sizeof(*inner) + sizeof(*reader) + json_memory(&reader->scanner) +
	       extract_tokens_memory(&reader->tokens) + extract_known_memory(&reader->known);
}
