/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/route.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include "sys/fd.h"

#define ANSWER_LEN 32768u

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
	char text[ANSWER_LEN];

	/* ENOBUFS says that some were lost: there is a change either way. */
	while (recv(fd, text, sizeof(text), MSG_DONTWAIT) > 0 || errno == ENOBUFS)
		;
}

static int ask(int fd, int family)
{
	struct {
		struct nlmsghdr header;
		struct rtmsg route;
	} request = {
		.header = {.nlmsg_len = sizeof(request),
			   .nlmsg_type = RTM_GETROUTE,
			   .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
		.route = {.rtm_family = (unsigned char)family},
	};

	return send(fd, &request, sizeof(request), 0) < 0 ? -errno : 0;
}

static bool destination_counts(const struct rtmsg *route, const struct rtattr *destination)
{
	const uint8_t *addr = destination ? RTA_DATA(destination) : NULL;

	if (route->rtm_family != AF_INET6 || !addr)
		return true;
	return !(addr[0] == 0xff || (addr[0] == 0xfe && (addr[1] & 0xc0) == 0x80));
}

static bool leaves_elsewhere(const struct rtattr *multipath, uint32_t interface, unsigned int lo)
{
	/* A nexthop object or a multipath list names its interfaces elsewhere: a way out. */
	return multipath || interface != lo;
}

static bool route_counts(const struct nlmsghdr *header, unsigned int lo)
{
	const struct rtmsg *route = NLMSG_DATA(header);
	const struct rtattr *attribute = RTM_RTA(route), *destination = NULL, *multipath = NULL;
	unsigned int left = (unsigned int)RTM_PAYLOAD(header);
	uint32_t table = route->rtm_table, interface = 0;

	for (; RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left)) {
		if (attribute->rta_type == RTA_TABLE)
			(void)memcpy(&table, RTA_DATA(attribute), sizeof(table));
		else if (attribute->rta_type == RTA_OIF)
			(void)memcpy(&interface, RTA_DATA(attribute), sizeof(interface));
		else if (attribute->rta_type == RTA_DST)
			destination = attribute;
		else if (attribute->rta_type == RTA_MULTIPATH || attribute->rta_type == RTA_NH_ID)
			multipath = attribute;
	}
	return route->rtm_type == RTN_UNICAST && !(route->rtm_flags & RTM_F_CLONED) &&
	       table != RT_TABLE_LOCAL && destination_counts(route, destination) &&
	       leaves_elsewhere(multipath, interface, lo);
}

/* 1: the dump goes on. */
static int read_answer(int fd, unsigned int lo, bool *exists)
{
	char answer[ANSWER_LEN] __attribute__((aligned(NLMSG_ALIGNTO)));
	const struct nlmsghdr *header = (const struct nlmsghdr *)answer;
	ssize_t n = recv(fd, answer, sizeof(answer), 0);
	unsigned int left;

	if (n < 0)
		return errno == EINTR ? 1 : -errno;
	left = (unsigned int)n;
	for (; NLMSG_OK(header, left); header = NLMSG_NEXT(header, left)) {
		if (header->nlmsg_type == NLMSG_DONE)
			return 0;
		if (header->nlmsg_type == NLMSG_ERROR)
			return ((const struct nlmsgerr *)NLMSG_DATA(header))->error;
		if (header->nlmsg_type == RTM_NEWROUTE && route_counts(header, lo))
			*exists = true;
	}
	return 1;
}

int route_exists(int family, bool *ret_exists)
{
	int fd cleanup(fd_closep) = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	unsigned int lo = if_nametoindex("lo");
	bool exists = false;
	int r;

	if (fd < 0)
		return -errno;
	r = ask(fd, family);
	if (r)
		return r;
	do
		r = read_answer(fd, lo, &exists);
	while (r > 0);
	if (r)
		return r;
	*ret_exists = exists;
	return 0;
}
