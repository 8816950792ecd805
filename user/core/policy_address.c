/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses as text, strictly: octal and short forms, which the C library takes, are refused. */
#include "core/policy_parse.h"

#include <errno.h>
#include <string.h>

#include "base/address.h"

/* One decimal number of at most max without leading zeros; moves *text on. */
static bool take_decimal(const char **text, const char *end, unsigned int max,
			 unsigned int *ret_value)
{
	const char *at = *text;
	unsigned int value = 0;

	if (at == end || *at < '0' || *at > '9')
		return false;
	if (*at == '0' && at + 1 < end && at[1] >= '0' && at[1] <= '9')
		return false;
	for (; at < end && *at >= '0' && *at <= '9'; at++) {
		value = value * 10 + (unsigned int)(*at - '0');
		if (value > max)
			return false;
	}
	*text = at;
	*ret_value = value;
	return true;
}

static bool read_v4(const char *text, const char *end, uint8_t ret_addr[4])
{
	uint8_t addr[4];
	unsigned int i, value;

	for (i = 0; i < 4; i++) {
		if (i && (text == end || *text++ != '.'))
			return false;
		if (!take_decimal(&text, end, 255, &value))
			return false;
		addr[i] = (uint8_t)value;
	}
	if (text != end)
		return false;
	memcpy(ret_addr, addr, sizeof(addr));
	return true;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* One group of 1 to 4 hexadecimal digits; moves *text on. */
static bool take_group(const char **text, const char *end, uint8_t ret_group[2])
{
	const char *at = *text;
	unsigned int value = 0, digits = 0;

	for (; at < end && hex_digit(*at) >= 0; at++) {
		if (++digits > 4)
			return false;
		value = value << 4 | (unsigned int)hex_digit(*at);
	}
	if (!digits)
		return false;
	ret_group[0] = (uint8_t)(value >> 8);
	ret_group[1] = (uint8_t)value;
	*text = at;
	return true;
}

/* RFC 4291 2.2: groups, one "::" for a run of zeros, IPv4 in dots at the end. */
static bool read_v6(const char *text, const char *end, uint8_t ret_addr[16])
{
	uint8_t addr[16] = {0};
	size_t filled = 0, gap = 0;
	bool has_gap = false, colon = false;

	if (end - text >= 2 && text[0] == ':' && text[1] == ':') {
		has_gap = true;
		text += 2;
	}
	while (text < end) {
		const char *dot = memchr(text, '.', (size_t)(end - text));

		if (filled <= 12 && dot && !memchr(text, ':', (size_t)(end - text))) {
			if (!read_v4(text, end, addr + filled))
				return false;
			filled += 4;
			colon = false;
			break;
		}
		if (filled > 14 || !take_group(&text, end, addr + filled))
			return false;
		filled += 2;
		colon = false;
		if (text == end)
			break;
		if (*text++ != ':')
			return false;
		colon = true;
		if (text < end && *text == ':') {
			if (has_gap)
				return false;
			has_gap = true;
			gap = filled;
			colon = false;
			text++;
		}
	}
	if (colon || (has_gap ? filled > 14 : filled != 16))
		return false;
	memcpy(ret_addr, addr, gap);
	memset(ret_addr + gap, 0, 16 - filled);
	memcpy(ret_addr + gap + 16 - filled, addr + gap, filled - gap);
	return true;
}

int policy_parse_address(const char *text, size_t len, uint8_t ret_addr[16], bool *ret_v6)
{
	const char *end = text + len;
	uint8_t v4[ADDRESS_V4_LEN];

	if (memchr(text, ':', len)) {
		if (!read_v6(text, end, ret_addr))
			return -EINVAL;
		*ret_v6 = true;
		return 0;
	}
	if (!read_v4(text, end, v4))
		return -EINVAL;
	address_from_v4(ret_addr, v4);
	*ret_v6 = false;
	return 0;
}

int policy_parse_port(const char *text, size_t len, uint16_t *ret_port)
{
	const char *end = text + len;
	unsigned int value;

	if (!take_decimal(&text, end, 65535, &value) || text != end || value == 0)
		return -EINVAL;
	*ret_port = (uint16_t)value;
	return 0;
}

int policy_parse_peer(const char *text, uint8_t ret_addr[16], uint16_t *ret_port)
{
	const char *colon = strrchr(text, ':');
	uint8_t addr[16] = {0};
	uint16_t port;
	bool v6, brackets;
	size_t len;

	if (!colon)
		return -EINVAL;
	len = (size_t)(colon - text);
	brackets = len >= 2 && text[0] == '[' && colon[-1] == ']';
	if (policy_parse_address(text + brackets, len - (brackets ? 2 : 0), addr, &v6) ||
	    v6 != brackets || policy_parse_port(colon + 1, strlen(colon + 1), &port))
		return -EINVAL;
	memcpy(ret_addr, addr, sizeof(addr));
	*ret_port = port;
	return 0;
}
