/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "kern/internal.h"
#include "sys/fd.h"

#define STATES_ALL (~0u)
/*
 * Of TCP: what can have something to send, or will. Not TIME_WAIT, which has no
 * socket any more, and not what is closed but still bound (listed since 6.8).
 */
#define STATES_LIVE                                                               \
	((1u << TCP_ESTABLISHED) | (1u << TCP_SYN_SENT) | (1u << TCP_SYN_RECV) |  \
	 (1u << TCP_FIN_WAIT1) | (1u << TCP_FIN_WAIT2) | (1u << TCP_CLOSE_WAIT) | \
	 (1u << TCP_LAST_ACK) | (1u << TCP_LISTEN) | (1u << TCP_CLOSING))

struct found {
	struct inet_diag_sockid id;
	uint8_t family, protocol;
};

/* Which sockets a dump looks for. */
struct search {
	bool (*wants)(const struct search *search, const struct inet_diag_msg *msg,
		      uint64_t cgroup);
	const uint64_t *inodes; /* sorted */
	size_t inode_count;
	uint64_t cgroup;
	bool only_orphans;
	uint8_t protocol; /* of the dump that runs */
	struct found *found;
	size_t count, room;
};

struct request {
	struct nlmsghdr head;
	struct inet_diag_req_v2 body;
};

static int diag_open(void)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

	return fd < 0 ? -errno : fd;
}

static int diag_send(int fd, uint16_t type, uint16_t flags, const struct inet_diag_req_v2 *body)
{
	struct request request = {
		.head = {.nlmsg_len = sizeof(request),
			 .nlmsg_type = type,
			 .nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags)},
		.body = *body,
	};

	return send(fd, &request, sizeof(request), 0) < 0 ? -errno : 0;
}

/* The cgroup in which the socket was made; 0 where the kernel does not say. */
static uint64_t message_cgroup(const struct nlmsghdr *head, const struct inet_diag_msg *msg)
{
	const struct rtattr *attr = (const struct rtattr *)(msg + 1);
	int len = (int)(head->nlmsg_len - NLMSG_LENGTH(sizeof(*msg)));
	uint64_t cgroup = 0;

	for (; RTA_OK(attr, len); attr = RTA_NEXT(attr, len))
		if (attr->rta_type == INET_DIAG_CGROUP_ID && RTA_PAYLOAD(attr) >= sizeof(cgroup))
			memcpy(&cgroup, RTA_DATA(attr), sizeof(cgroup));
	return cgroup;
}

static int search_add(struct search *search, const struct inet_diag_msg *msg)
{
	if (search->count == search->room) {
		size_t room = search->room ? search->room * 2 : 64;
		struct found *grown = reallocarray(search->found, room, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		search->found = grown;
		search->room = room;
	}
	search->found[search->count++] = (struct found){
		.id = msg->id,
		.family = msg->idiag_family,
		.protocol = search->protocol,
	};
	return 0;
}

/* One datagram of a dump; 1 at its end. */
static int dump_read(struct search *search, const void *data, size_t size)
{
	const struct nlmsghdr *head = data;
	unsigned int len = (unsigned int)size;

	for (; NLMSG_OK(head, len); head = NLMSG_NEXT(head, len)) {
		const struct inet_diag_msg *msg = NLMSG_DATA(head);
		const struct nlmsgerr *error = NLMSG_DATA(head);
		int r;

		if (head->nlmsg_type == NLMSG_DONE)
			return 1;
		if (head->nlmsg_type == NLMSG_ERROR)
			return error->error < 0 ? error->error : -EPROTO;
		if (!search->wants(search, msg, message_cgroup(head, msg)))
			continue;
		r = search_add(search, msg);
		if (r < 0)
			return r;
	}
	return 0;
}

static int dump(struct search *search, uint8_t family, uint8_t protocol)
{
	const struct inet_diag_req_v2 body = {
		.sdiag_family = family,
		.sdiag_protocol = protocol,
		.idiag_states = protocol == IPPROTO_TCP ? STATES_LIVE : STATES_ALL,
	};
	int fd cleanup(fd_closep) = diag_open();
	_Alignas(struct nlmsghdr) char buffer[32768];
	ssize_t got;
	int r;

	if (fd < 0)
		return fd;
	search->protocol = protocol;
	r = diag_send(fd, SOCK_DIAG_BY_FAMILY, NLM_F_DUMP, &body);
	while (r == 0) {
		got = recv(fd, buffer, sizeof(buffer), 0);
		if (got < 0)
			return -errno;
		r = dump_read(search, buffer, (size_t)got);
	}
	return r < 0 ? r : 0;
}

static int dump_families(struct search *search, uint8_t protocol)
{
	int r = dump(search, AF_INET, protocol);

	if (r == 0)
		r = dump(search, AF_INET6, protocol);
	/* A kernel without that protocol, or without its diagnosis, has none to find. */
	return r == -ENOENT && protocol != IPPROTO_TCP ? 0 : r;
}

static int destroy(int fd, const struct found *found)
{
	const struct inet_diag_req_v2 body = {
		.sdiag_family = found->family,
		.sdiag_protocol = found->protocol,
		.idiag_states = STATES_ALL,
		.id = found->id,
	};
	_Alignas(struct nlmsghdr) char buffer[1024];
	const struct nlmsghdr *head = (const struct nlmsghdr *)buffer;
	const struct nlmsgerr *error = NLMSG_DATA(head);
	ssize_t got;
	int r;

	r = diag_send(fd, SOCK_DESTROY, NLM_F_ACK, &body);
	if (r < 0)
		return r;
	got = recv(fd, buffer, sizeof(buffer), 0);
	if (got < 0)
		return -errno;
	if ((size_t)got < NLMSG_LENGTH(sizeof(*error)) || head->nlmsg_type != NLMSG_ERROR)
		return -EPROTO;
	return error->error == -ENOENT ? 0 : error->error;
}

static int destroy_found(const struct search *search)
{
	int fd cleanup(fd_closep) = diag_open();
	size_t i;
	int r = 0;

	if (fd < 0)
		return fd;
	for (i = 0; r == 0 && i < search->count; i++)
		r = destroy(fd, &search->found[i]);
	return r;
}

/* Finds, destroys, and counts what can still be found. */
static int destroy_search(struct search *search, bool with_udp, size_t *ret_left)
{
	bool again = false;
	int r = 0;

	for (;;) {
		search->count = 0;
		r = dump_families(search, IPPROTO_TCP);
		if (r == 0 && with_udp)
			r = dump_families(search, IPPROTO_UDP);
		if (r < 0 || again)
			break;
		r = destroy_found(search);
		if (r < 0)
			break;
		again = true;
	}
	free(search->found);
	if (r == 0)
		*ret_left = search->count;
	return r;
}

static bool wants_cgroup(const struct search *search, const struct inet_diag_msg *msg,
			 uint64_t cgroup)
{
	if (cgroup != search->cgroup)
		return false;
	return !search->only_orphans || (msg->idiag_inode == 0 && msg->idiag_state != TCP_LISTEN);
}

int kern_diag_destroy_cgroup(uint64_t cgroup, bool only_orphans, size_t *ret_left)
{
	struct search search = {
		.wants = wants_cgroup,
		.cgroup = cgroup,
		.only_orphans = only_orphans,
	};

	return destroy_search(&search, false, ret_left);
}

static int compare_inodes(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static bool wants_inode(const struct search *search, const struct inet_diag_msg *msg,
			uint64_t cgroup)
{
	const uint64_t inode = msg->idiag_inode;

	(void)cgroup;
	return inode && bsearch(&inode, search->inodes, search->inode_count,
				sizeof(*search->inodes), compare_inodes);
}

int kern_destroy_sockets(const uint64_t *inodes, size_t count, size_t *ret_left)
{
	struct search search = {.wants = wants_inode, .inode_count = count};
	uint64_t *sorted;
	int r;

	if (count == 0) {
		*ret_left = 0;
		return 0;
	}
	sorted = calloc(count, sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	memcpy(sorted, inodes, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), compare_inodes);
	search.inodes = sorted;
	r = destroy_search(&search, true, ret_left);
	free(sorted);
	return r;
}
