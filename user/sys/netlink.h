/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Netlink questions, netlink(7): one request, what the kernel answers, and the
 * attributes in it. Nothing is changed by any of them.
 */
#ifndef SLUICE_SYS_NETLINK_H
#define SLUICE_SYS_NETLINK_H

#include <linux/netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

/* Told of each message; what it returns other than 0 ends the reading, and is returned. */
struct netlink_reader {
	int (*message)(void *context, const struct nlmsghdr *message);
	void *context;
};

/*
 * Asks, and reads to the end of a dump (NLM_F_DUMP in the request), or else one message.
 * Errors are the kernel's own; -EPROTONOSUPPORT: this kernel has no such protocol.
 * -EAGAIN: what was dumped changed meanwhile. -EBADMSG, -EMSGSIZE: no answer of netlink's.
 */
int netlink_ask(int protocol, const struct nlmsghdr *request,
		const struct netlink_reader *reader) must_check;

/* All routes of a family, each an RTM_NEWROUTE; as netlink_ask(). */
int netlink_routes(int family, const struct netlink_reader *reader) must_check;

/* Attributes that follow each other; type is without the flags of nested ones. */
struct netlink_attribute {
	uint16_t type;
	const uint8_t *data;
	size_t len;
};
struct netlink_span {
	const uint8_t *data;
	size_t len;
};
/* What lies behind a message's own header of that size; empty where it is shorter. */
struct netlink_span netlink_attributes(const struct nlmsghdr *message, size_t header);
/* Those nested in an attribute. */
struct netlink_span netlink_nested(const struct netlink_attribute *attribute);
/* The next one; false at the end, and where what is left is none. */
bool netlink_next(struct netlink_span *span, struct netlink_attribute *ret_attribute);
/* The first of that type. */
bool netlink_find(struct netlink_span span, uint16_t type, struct netlink_attribute *ret_attribute);

/* The first of that type as a number of 32 bits, in network order or the machine's; else other. */
uint32_t netlink_be32(struct netlink_span span, uint16_t type, uint32_t other);
uint32_t netlink_u32(struct netlink_span span, uint16_t type, uint32_t other);
/* The same as text, cut to fit and ended; empty where there is none. */
void netlink_text(struct netlink_span span, uint16_t type, char *text, size_t len);

#endif
