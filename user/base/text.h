/* SPDX-License-Identifier: Apache-2.0 */
/* What texts that people read have in common, be they logged, printed or recorded. */
#ifndef SLUICE_BASE_TEXT_H
#define SLUICE_BASE_TEXT_H

#include <stddef.h>

/*
 * Bytes of the control character that a text, ended by a NUL, begins with; 0: it begins with
 * none. Those of C1, U+0080 to U+009F in UTF-8, are some: there are terminals that obey them.
 */
static inline size_t text_control_len(const char *text)
{
	unsigned char first = (unsigned char)text[0], second;

	if (first == 0xc2) {
		second = (unsigned char)text[1];
		return second >= 0x80 && second < 0xa0 ? 2 : 0;
	}
	return (first && first < 0x20) || first == 0x7f;
}

/* Replaces each byte of control characters by '?'; in place. */
static inline void text_make_safe(char *text)
{
	while (*text) {
		size_t len = text_control_len(text);

		for (size_t i = 0; i < len; i++)
			text[i] = '?';
		text += len ? len : 1;
	}
}

/* The end of a word behind that number. */
#define text_plural(count) ((count) == 1 ? "" : "s")

#endif
