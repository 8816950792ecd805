/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Base64 (RFC 4648 4), decoded strictly and in any pieces: no character that is not of the
 * alphabet, padding in its place and whole, no bit set that does not count.
 *
 * Invariants:
 *  B1. How the text is cut into calls changes no answer.
 */
#ifndef SLUICE_CORE_BASE64_H
#define SLUICE_CORE_BASE64_H

#include <stdbool.h>
#include <stdint.h>

/* All zero is before the first character. */
struct base64 {
	uint8_t digits; /* of the group under way */
	uint8_t pads;	/* that have come, after which nothing does but another */
	uint8_t bits;	/* of the digits, those that are no byte yet */
};

enum base64_step {
	BASE64_MORE,
	BASE64_BYTE, /* *ret_byte is one more */
	BASE64_ILL,
};

/* The value of a digit, or -1. */
int base64_digit(uint8_t c);

enum base64_step base64_push(struct base64 *base64, uint8_t c, uint8_t *ret_byte);

/* May the text end here? */
bool base64_whole(const struct base64 *base64);

#endif
