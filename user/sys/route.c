/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/route.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>

#include "sys/fd.h"
#include "sys/netlink.h"

#define NOTICE_LEN 32768u
/* Of a dump during which something changed. */
#define TRIES_MAX 8

int route_watch(int *ret_fd)
{
	struct sockaddr_nl address = {
		.nl_family = AF_NETLINK,
		.nl_groups = RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE | RTMGRP_LINK |
			     RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR,
	};
	int fd cleanup(fd_closep) =
		socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);

	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)))
		return -errno;
	*ret_fd = take_fd(fd);
	return 0;
}

void route_drain(int fd)
{
	char text[NOTICE_LEN];

	/* ENOBUFS says that some were lost: there is a change either way. */
	while (recv(fd, text, sizeof(text), MSG_DONTWAIT) > 0 || errno == ENOBUFS)
		;
}

/* What a dump of routes is read for. */
struct search {
	unsigned int lo;
	bool exists;
};

static bool destination_counts(const struct rtmsg *route, struct netlink_span span)
{
	struct netlink_attribute destination;

	if (route->rtm_family != AF_INET6 || !netlink_find(span, RTA_DST, &destination) ||
	    destination.len < 2)
		return true;
	return !(destination.data[0] == 0xff ||
		 (destination.data[0] == 0xfe && (destination.data[1] & 0xc0) == 0x80));
}

static bool leaves_elsewhere(struct netlink_span span, unsigned int lo)
{
	struct netlink_attribute several;

	/* A nexthop object or a multipath list names its interfaces elsewhere: a way out. */
	return netlink_find(span, RTA_MULTIPATH, &several) ||
	       netlink_find(span, RTA_NH_ID, &several) || netlink_u32(span, RTA_OIF, 0) != lo;
}

static int read_route(void *context, const struct nlmsghdr *message)
{
	const struct netlink_span span = netlink_attributes(message, sizeof(struct rtmsg));
	const struct rtmsg *route = NLMSG_DATA(message);
	struct search *search = context;

	if (message->nlmsg_type != RTM_NEWROUTE ||
	    message->nlmsg_len < NLMSG_LENGTH(sizeof(*route)))
		return 0;
	if (route->rtm_type == RTN_UNICAST && !(route->rtm_flags & RTM_F_CLONED) &&
	    netlink_u32(span, RTA_TABLE, route->rtm_table) != RT_TABLE_LOCAL &&
	    destination_counts(route, span) && leaves_elsewhere(span, search->lo))
		search->exists = true;
	return 0;
}

int route_exists(int family, bool *ret_exists)
{
	struct search search;
	int r = -EAGAIN;

	for (int tries = 0; r == -EAGAIN && tries < TRIES_MAX; tries++) {
		search = (struct search){.lo = if_nametoindex("lo")};
		r = netlink_routes(family, &(const struct netlink_reader){read_route, &search});
	}
	if (r)
		return r;
	*ret_exists = search.exists;
	return 0;
}
