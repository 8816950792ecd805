/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/resolvers.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sys/fs.h"

#define FILE_MAX (1u << 20)

static int parse_address(const char *text, uint8_t ret_addr[16])
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	if (inet_pton(AF_INET6, text, ret_addr) == 1)
		return 0;
	(void)memcpy(ret_addr, mapped, sizeof(mapped));
	return inet_pton(AF_INET, text, ret_addr + sizeof(mapped)) == 1 ? 0 : -1;
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
