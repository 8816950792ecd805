/* SPDX-License-Identifier: Apache-2.0 */
#include "core/extract_attempt.h"

#include <string.h>

enum state {
	UNDECIDED, /* nothing but white space has come */
	READING,
	OVER, /* it is no JSON, or no more */
};

void extract_attempt_init(struct extract_attempt *a, struct extract_raw *raw)
{
	a->state = UNDECIDED;
	a->raw = raw;
	a->len = 0;
	json_init(&a->scanner, &extract_tokens_sink, &a->tokens);
	a->scanner.lenient = true;
	a->scanner.replace = raw->replace;
	extract_tokens_init(&a->tokens, raw->set, &a->scanner);
}

void extract_attempt_done(struct extract_attempt *a)
{
	json_done(&a->scanner);
	extract_tokens_done(&a->tokens);
}

/* No more of it is JSON: what was under way ends. */
static enum fault give_up(struct extract_attempt *a)
{
	enum fault fault = extract_tokens_break(&a->tokens);

	json_reset(&a->scanner);
	extract_path_clear(&a->tokens.path);
	a->state = OVER;
	return fault;
}

static enum fault read_block(struct extract_attempt *a, const uint8_t *text, size_t len)
{
	enum fault fault = extract_raw_text(a->raw, text, len);
	size_t used;

	if (fault || a->state != READING)
		return fault;
	fault = json_scan(&a->scanner, text, len, &used);
	return fault == FAULT_BAD_JSON || fault == FAULT_BAD_UTF8 ? give_up(a) : fault;
}

static enum fault read_on(struct extract_attempt *a, const uint8_t *text, size_t len,
			  size_t *ret_taken)
{
	size_t taken = MIN(len, ATTEMPT_BLOCK - a->len);
	enum fault fault;

	*ret_taken = taken;
	if (!a->len && taken == ATTEMPT_BLOCK)
		return read_block(a, text, taken);
	memcpy(a->block + a->len, text, taken);
	a->len += taken;
	if (a->len < ATTEMPT_BLOCK)
		return FAULT_NONE;
	fault = read_block(a, a->block, a->len);
	a->len = 0;
	return fault;
}

static size_t white_space(const uint8_t *text, size_t len)
{
	size_t n = 0;

	while (n < len && (text[n] == ' ' || text[n] == '\t' || text[n] == '\n' || text[n] == '\r'))
		n++;
	return n;
}

enum fault extract_attempt_text(struct extract_attempt *a, const uint8_t *text, size_t len)
{
	enum fault fault = FAULT_NONE;
	size_t taken;

	while (len && !fault) {
		taken = len;
		if (a->state == UNDECIDED) {
			taken = white_space(text, len);
			if (taken < len)
				a->state = memchr("{[\"", text[taken], 3) ? READING : OVER;
			fault = extract_raw_text(a->raw, text, taken);
		} else if (a->state == READING) {
			fault = read_on(a, text, len, &taken);
		} else {
			fault = extract_raw_text(a->raw, text, len);
		}
		text += taken;
		len -= taken;
	}
	return fault;
}

enum fault extract_attempt_end(struct extract_attempt *a)
{
	enum fault fault = read_block(a, a->block, a->len);

	a->len = 0;
	if (!fault && a->state == READING) {
		fault = json_end(&a->scanner);
		if (!fault || fault == FAULT_BAD_JSON)
			fault = give_up(a);
	}
	a->state = UNDECIDED;
	return fault;
}

size_t extract_attempt_memory(const struct extract_attempt *a)
{
	return json_memory(&a->scanner) + extract_tokens_memory(&a->tokens);
}
