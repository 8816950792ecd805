/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/resolvers.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"
#include "sys/fs.h"

#define FILE_MAX (1u << 20)

static int parse_address(const char *text, uint8_t ret_addr[16])
{
	struct in_addr v4;

	if (inet_pton(AF_INET6, text, ret_addr) == 1)
		return 0;
	if (inet_pton(AF_INET, text, &v4) != 1)
		return -1;
	address_from_v4(ret_addr, &v4);
	return 0;
}

size_t resolvers_parse(const char *text, uint8_t (*ret_list)[16], size_t max)
{
	size_t count = 0;

	for (const char *line = text; *line && count < max;) {
		const char *end = strchrnul(line, '\n');
		char address[64];

		/* A scope ("fe80::1%eth0") has no meaning to the kernel's table. */
		if (sscanf(line, "nameserver %63[0-9a-fA-F.:]", address) == 1 &&
		    !parse_address(address, ret_list[count]))
			count++;
		line = *end ? end + 1 : end;
	}
	return count;
}

size_t resolvers_of_host(uint8_t (*ret_list)[16], size_t max)
{
	char *text = NULL;
	size_t count;

	if (fs_read_file(RESOLVERS_FILE, FILE_MAX, &text, NULL))
		return 0;
	count = resolvers_parse(text, ret_list, max);
	free(text);
	return count;
}
