/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base64.h"

int base64_digit(uint8_t c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Padding fills a group of which there are two or three digits, with no bits left over. */
static enum base64_step pad(struct base64 *b)
{
	if (b->digits < 2 || b->digits + b->pads == 4 || b->bits)
		return BASE64_ILL;
	b->pads++;
	return BASE64_MORE;
}

enum base64_step base64_push(struct base64 *b, uint8_t c, uint8_t *ret_byte)
{
	int digit = base64_digit(c);
	unsigned int bits, left;

	if (c == '=')
		return pad(b);
	if (digit < 0 || b->pads)
		return BASE64_ILL;
	/* Of six bits and those before them, eight are a byte. */
	bits = (unsigned int)b->bits << 6 | (unsigned int)digit;
	if (!b->digits++) {
		b->bits = (uint8_t)bits;
		return BASE64_MORE;
	}
	left = 8 - 2u * b->digits;
	*ret_byte = (uint8_t)(bits >> left);
	b->bits = (uint8_t)(bits & ((1u << left) - 1));
	b->digits &= 3;
	return BASE64_BYTE;
}

bool base64_whole(const struct base64 *b)
{
	return !b->digits || b->digits + b->pads == 4;
}
