/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/web_host.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#define HOST_MAX 254u

static bool is_address(const char *host)
{
	unsigned char addr[16];

	return inet_pton(AF_INET, host, addr) == 1 || inet_pton(AF_INET6, host, addr) == 1;
}

/* Takes the port away, and what stands around the host. false: neither name nor address. */
static bool take_host(const char *text, char ret_host[static HOST_MAX + 1])
{
	bool brackets = *text == '[';
	const char *host = text + brackets;
	size_t len = strcspn(host, brackets ? "]" : ":");
	const char *port = host + len + brackets;

	/* More than one colon outside of brackets: an IPv6 address without a port. */
	if (!brackets && *port && strchr(port + 1, ':')) {
		len = strlen(host);
		port = host + len;
	}
	if (!len || len > HOST_MAX || (brackets && host[len] != ']'))
		return false;
	if (*port && (*port != ':' || port[1 + strspn(port + 1, "0123456789")]))
		return false;
	(void)memcpy(ret_host, host, len);
	ret_host[len] = '\0';
	return true;
}

bool web_host_allowed(const char *text, const char *const *names, size_t count)
{
	char host[HOST_MAX + 1];
	size_t len;

	if (!take_host(text, host))
		return false;
	if (is_address(host))
		return true;
	if (*text == '[')
		return false;
	len = strlen(host);
	if (host[len - 1] == '.')
		host[len - 1] = '\0';
	for (size_t i = 0; i < count; i++)
		if (!strcasecmp(host, names[i]))
			return true;
	return !strcasecmp(host, "localhost");
}
