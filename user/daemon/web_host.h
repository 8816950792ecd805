/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host of a request (RFC 9110 7.2): which of them a browser cannot be made to send for a page of
 * somebody else. A foreign name may be made to resolve to this machine; an address is none.
 */
#ifndef SLUICE_DAEMON_WEB_HOST_H
#define SLUICE_DAEMON_WEB_HOST_H

#include <stdbool.h>
#include <stddef.h>

/*
 * An IPv4 address, an IPv6 address in brackets or without, localhost or one of the names, with
 * a port or without. Names compare without case, and a dot at the end does not count.
 */
bool web_host_allowed(const char *host, const char *const *names, size_t count);

#endif
