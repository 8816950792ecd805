/* SPDX-License-Identifier: Apache-2.0 */
#include "core/regex_literals.h"

#include <ctype.h>
#include <string.h>

#include "core/utf8.h"

/* Members of a class that are worth a literal each. */
#define CLASS_MOST 8u

void regex_literals_empty(struct regex_literals *literals)
{
	literals->count = 1;
	literals->exact = true;
	literals->len[0] = 0;
}

void regex_literals_any(struct regex_literals *literals)
{
	regex_literals_empty(literals);
	literals->exact = false;
}

static void add_rune(struct regex_literals *literals, uint32_t rune)
{
	unsigned int i = literals->count++;

	literals->len[i] = (uint8_t)utf8_encode(rune, literals->text[i]);
}

void regex_literals_rune(struct regex_literals *literals, uint32_t rune, bool caseless)
{
	/* A literal ends with a NUL. What is not ASCII has cases that PCRE2 alone knows. */
	if (rune == 0 || (caseless && rune >= 0x80)) {
		regex_literals_any(literals);
		return;
	}
	literals->count = 0;
	literals->exact = true;
	add_rune(literals, rune);
	if (!caseless || !isalpha((int)rune))
		return;
	add_rune(literals, rune ^ 0x20);
	/* CaseFolding.txt: the long s and the Kelvin sign are cases of ASCII letters. */
	if ((rune | 0x20) == 's')
		add_rune(literals, 0x17f);
	if ((rune | 0x20) == 'k')
		add_rune(literals, 0x212a);
}

void regex_literals_class(struct regex_literals *literals, const char *members, size_t len)
{
	regex_literals_any(literals);
	if (len == 0 || len > CLASS_MOST)
		return;
	for (size_t i = 0; i < len; i++)
		if (!strchr("-[]\\^", members[i]) && (unsigned char)members[i] < 0x80)
			continue;
		else
			return;
	literals->count = 0;
	literals->exact = true;
	for (size_t i = 0; i < len; i++)
		add_rune(literals, (unsigned char)members[i]);
}

static bool joins(const struct regex_literals *literals, const struct regex_literals *next)
{
	size_t longest = 0, most = 0;

	for (unsigned int i = 0; i < literals->count; i++)
		longest = MAX(longest, literals->len[i]);
	for (unsigned int k = 0; k < next->count; k++)
		most = MAX(most, next->len[k]);
	/* One byte stays free, for the NUL of a string. */
	return literals->count * next->count <= REGEX_LITERALS_MAX &&
	       longest + most < REGEX_LITERAL_SIZE;
}

void regex_literals_follow(struct regex_literals *literals, const struct regex_literals *next)
{
	const struct regex_literals first = *literals;

	if (!first.exact)
		return;
	if (!joins(&first, next)) {
		/* What there is already says more than what follows. */
		literals->exact = false;
		return;
	}
	literals->exact = next->exact;
	literals->count = 0;
	for (unsigned int i = 0; i < first.count; i++) {
		for (unsigned int k = 0; k < next->count; k++) {
			uint8_t *text = literals->text[literals->count];

			memcpy(text, first.text[i], first.len[i]);
			memcpy(text + first.len[i], next->text[k], next->len[k]);
			literals->len[literals->count++] = (uint8_t)(first.len[i] + next->len[k]);
		}
	}
}

void regex_literals_or(struct regex_literals *literals, const struct regex_literals *other)
{
	literals->exact = literals->exact && other->exact;
	if (literals->count + other->count > REGEX_LITERALS_MAX) {
		regex_literals_any(literals);
		return;
	}
	for (unsigned int k = 0; k < other->count; k++) {
		unsigned int i = literals->count++;

		literals->len[i] = other->len[k];
		memcpy(literals->text[i], other->text[k], other->len[k]);
	}
}
