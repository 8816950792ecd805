/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses are 16 bytes in network order, IPv4 as v4-mapped IPv6 (RFC 4291 2.5.5.2). */
#ifndef SLUICE_BASE_ADDRESS_H
#define SLUICE_BASE_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define ADDRESS_LEN    16u
#define ADDRESS_V4_AT  12u /* where the four bytes of an IPv4 address stand */
#define ADDRESS_V4_LEN 4u

static inline bool address_is_v4(const uint8_t addr[static ADDRESS_LEN])
{
	static const uint8_t prefix[ADDRESS_V4_AT] = {[10] = 0xff, [11] = 0xff};

	return memcmp(addr, prefix, sizeof(prefix)) == 0;
}

static inline void address_from_v4(uint8_t ret_addr[static ADDRESS_LEN],
				   const void *v4 /* four bytes */)
{
	memset(ret_addr, 0, ADDRESS_V4_AT);
	ret_addr[10] = ret_addr[11] = 0xff;
	memcpy(ret_addr + ADDRESS_V4_AT, v4, ADDRESS_V4_LEN);
}

#endif
