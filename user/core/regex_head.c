/* SPDX-License-Identifier: Apache-2.0 */
#include "core/regex_head.h"

#include <ctype.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

void regex_head_empty(struct regex_head *head)
{
	*head = (struct regex_head){.fixed = true};
}

void regex_head_any(struct regex_head *head)
{
	*head = (struct regex_head){.fixed = false};
}

static void set_byte(struct regex_head *head, unsigned int byte)
{
	head->sets[0][byte / 64] |= 1ull << byte % 64;
}

static bool has_byte(const struct regex_head *head, unsigned int byte)
{
	return head->sets[0][byte / 64] >> byte % 64 & 1;
}

/* CaseFolding.txt: the long s and the Kelvin sign are cases of ASCII letters. */
static void narrow(struct regex_head *head, bool caseless)
{
	if (caseless && (has_byte(head, 's') || has_byte(head, 'k')))
		regex_head_any(head);
}

void regex_head_rune(struct regex_head *head, uint32_t rune, bool caseless)
{
	if (rune >= 0x80) {
		regex_head_any(head);
		return;
	}
	*head = (struct regex_head){.count = 1, .fixed = true};
	set_byte(head, rune);
	if (caseless && isalpha((int)rune))
		set_byte(head, rune ^ 0x20);
	narrow(head, caseless);
}

/* Can the class have only ASCII runes, by what it is written with? Without PCRE2_UCP. */
static bool is_ascii(const char *text, size_t len)
{
	if (len > 1 && text[0] == '[' && text[1] == '^')
		return false;
	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)text[i] >= 0x80)
			return false;
		if (text[i] == '[' && i + 2 < len && text[i + 1] == ':' && text[i + 2] == '^')
			return false;
		if (text[i] != '\\')
			continue;
		i++;
		if (isalnum((unsigned char)text[i]) && !strchr("dwsnrt", text[i]))
			return false;
	}
	return true;
}

void regex_head_class(struct regex_head *head, const char *text, size_t len, bool caseless)
{
	pcre2_match_data *data = NULL;
	pcre2_code *code = NULL;
	PCRE2_SIZE offset;
	int error;

	regex_head_any(head);
	if (!is_ascii(text, len))
		return;
	code = pcre2_compile((PCRE2_SPTR)text, len, PCRE2_UTF | (caseless ? PCRE2_CASELESS : 0),
			     &error, &offset, NULL);
	if (code)
		data = pcre2_match_data_create(1, NULL);
	if (data) {
		*head = (struct regex_head){.count = 1, .fixed = true};
		for (unsigned int b = 0; b < 128; b++) {
			uint8_t byte = (uint8_t)b;

			/* Any failure says less, which is right as well. */
			if (pcre2_match(code, &byte, 1, 0, 0, data, NULL) != PCRE2_ERROR_NOMATCH)
				set_byte(head, b);
		}
		narrow(head, caseless);
	}
	pcre2_match_data_free(data);
	pcre2_code_free(code);
}

void regex_head_follow(struct regex_head *head, const struct regex_head *next)
{
	if (!head->fixed)
		return;
	head->fixed = next->fixed;
	for (unsigned int i = 0; i < next->count && head->count < REGEX_HEAD_MAX; i++)
		memcpy(head->sets[head->count++], next->sets[i], sizeof(next->sets[i]));
}

void regex_head_or(struct regex_head *head, const struct regex_head *other)
{
	head->fixed = head->fixed && other->fixed && head->count == other->count;
	head->count = MIN(head->count, other->count);
	for (unsigned int i = 0; i < head->count; i++) {
		head->sets[i][0] |= other->sets[i][0];
		head->sets[i][1] |= other->sets[i][1];
	}
}

void regex_head_repeat(struct regex_head *head, uint32_t min, uint32_t max)
{
	const struct regex_head once = *head;

	if (min == 0) {
		regex_head_any(head);
		return;
	}
	for (uint32_t n = 1; n < min && n < REGEX_HEAD_MAX; n++)
		regex_head_follow(head, &once);
	head->fixed = head->fixed && min == max;
}

void regex_heads_add(struct regex_heads *heads, unsigned int bucket, const struct regex_head *head)
{
	unsigned int shift = bucket * REGEX_HEAD_MAX;

	if (bucket >= heads->buckets) {
		heads->buckets = bucket + 1;
		heads->count[bucket] = head->count;
	}
	heads->count[bucket] = MIN(heads->count[bucket], head->count);
	for (unsigned int i = 0; i < heads->count[bucket]; i++)
		for (unsigned int b = 0; b < 128; b++)
			if (head->sets[i][b / 64] >> b % 64 & 1)
				heads->masks[b] |= 1ull << (shift + i);
}

void regex_heads_finish(struct regex_heads *heads)
{
	heads->begin = heads->end = 0;
	for (unsigned int i = 0; i < heads->buckets; i++) {
		unsigned int shift = i * REGEX_HEAD_MAX;

		heads->begin |= 1ull << shift;
		heads->end |= 1ull << (shift + heads->count[i] - 1);
	}
}
