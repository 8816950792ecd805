/* SPDX-License-Identifier: Apache-2.0 */
#include "core/percent.h"

#include "core/http1_grammar.h"

size_t percent_end(struct percent *percent, uint8_t out[2])
{
	size_t len = percent->have;

	if (len > 0)
		out[0] = '%';
	if (len > 1)
		out[1] = percent->first;
	percent->have = 0;
	return len;
}

/* Up to 3 bytes. */
static size_t push(struct percent *percent, uint8_t byte, uint8_t *out)
{
	bool hex = http1_sets[byte] & HTTP1_HEX;
	size_t len = 0;

	if (percent->have == 1 && hex) {
		percent->first = byte;
		percent->have = 2;
		return 0;
	}
	if (percent->have == 2 && hex) {
		out[0] = (uint8_t)(http1_hex(percent->first) << 4 | http1_hex(byte));
		percent->have = 0;
		return 1;
	}
	/* What was under way is none; this byte may begin one. */
	len = percent_end(percent, out);
	if (byte == '%')
		percent->have = 1;
	else
		out[len++] = percent->plus && byte == '+' ? ' ' : byte;
	return len;
}

size_t percent_decode(struct percent *percent, const uint8_t *data, size_t len, uint8_t *out,
		      size_t room, size_t *ret_used)
{
	size_t used = 0, have = 0;

	while (used < len && room - have >= 3)
		have += push(percent, data[used++], out + have);
	*ret_used = used;
	return have;
}
