/* SPDX-License-Identifier: Apache-2.0 */
#include "core/sentence.h"

bool sentence_is_stop(uint32_t rune)
{
	return rune == '.' || rune == '!' || rune == '?';
}

/* Space, tabulator, no-break space, ideographic space. */
bool sentence_is_space(uint32_t rune)
{
	return rune == ' ' || rune == '\t' || rune == 0xa0 || rune == 0x3000;
}

/* Ends a sentence whatever follows: line ends, and the stops of Chinese and Japanese. */
bool sentence_is_end(uint32_t rune)
{
	return rune == '\n' || rune == 0x2028 || rune == 0x2029 || rune == 0x3002 ||
	       rune == 0xff01 || rune == 0xff0e || rune == 0xff1f || rune == 0xff61;
}
