/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/census.h"

#include <errno.h>
#include <stdbool.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#define ROOM_FIRST 64u

static enum census_kind kind_of_internet(const struct sluice_census *record)
{
	const bool tcp = record->type == SOCK_STREAM && record->protocol == IPPROTO_TCP;
	const bool udp = record->type == SOCK_DGRAM && record->protocol == IPPROTO_UDP;

	if (!tcp && !udp)
		return CENSUS_FOREIGN;
	if (!record->inside)
		return CENSUS_STRANGE;
	return record->state == TCP_CLOSE ? CENSUS_FREE : CENSUS_LIVE;
}

enum census_kind census_kind_of(const struct sluice_census *record)
{
	switch (record->family) {
	case AF_INET:
	case AF_INET6:
		return kind_of_internet(record);
	case AF_UNIX:
		return record->inside && record->state == TCP_CLOSE ? CENSUS_FREE : CENSUS_LOCAL;
	case AF_NETLINK:
		return CENSUS_FREE;
	default:
		return CENSUS_FOREIGN;
	}
}

struct numbered {
	int number;
	const char *name;
};

static const struct numbered families[] = {
	{AF_PACKET, "packet"}, {AF_VSOCK, "vsock"}, {AF_XDP, "XDP"}, {AF_ALG, "crypto"}};
static const struct numbered protocols[] = {
	{IPPROTO_MPTCP, "MPTCP"}, {IPPROTO_SCTP, "SCTP"}, {IPPROTO_UDPLITE, "UDP-Lite"},
	{IPPROTO_DCCP, "DCCP"},	  {IPPROTO_ICMP, "ping"}, {IPPROTO_ICMPV6, "ping"}};

static void write_name(const struct numbered *list, size_t count, int number, const char *what,
		       char *name, size_t len)
{
	for (size_t i = 0; i < count; i++)
		if (list[i].number == number) {
			(void)snprintf(name, len, "%s", list[i].name);
			return;
		}
	(void)snprintf(name, len, "%s %d", what, number);
}

static void name_foreign(const struct sluice_census *record, char *name, size_t len)
{
	if (record->family != AF_INET && record->family != AF_INET6)
		write_name(families, ARRAY_SIZE(families), record->family, "family", name, len);
	else if (record->type == SOCK_RAW)
		(void)snprintf(name, len, "raw");
	else
		write_name(protocols, ARRAY_SIZE(protocols), record->protocol, "protocol", name,
			   len);
}

static int add_inode(struct census_sockets *sockets, uint64_t inode)
{
	if (sockets->count == sockets->room) {
		size_t room = sockets->room ? 2 * sockets->room : ROOM_FIRST;
		uint64_t *grown;

		if (room > CENSUS_MAX)
			return -E2BIG;
		grown = realloc(sockets->inodes, room * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		sockets->inodes = grown;
		sockets->room = room;
	}
	sockets->inodes[sockets->count++] = inode;
	return 0;
}

int census_add(void *context, const struct sluice_census *record)
{
	struct census *census = context;
	enum census_kind kind = census_kind_of(record);
	struct census_sockets *sockets = &census->kinds[kind];

	if (!sockets->count) {
		sockets->pid = record->pid;
		if (kind == CENSUS_FOREIGN)
			name_foreign(record, census->foreign, sizeof(census->foreign));
	}
	return kind == CENSUS_FREE ? 0 : add_inode(sockets, record->inode);
}

static int compare_inodes(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

void census_sum(struct census *census)
{
	for (size_t kind = 0; kind < _CENSUS_KIND_MAX; kind++) {
		struct census_sockets *sockets = &census->kinds[kind];
		size_t kept = 0;

		if (!sockets->count)
			continue;
		qsort(sockets->inodes, sockets->count, sizeof(*sockets->inodes), compare_inodes);
		for (size_t i = 0; i < sockets->count; i++)
			if (!kept || sockets->inodes[i] != sockets->inodes[kept - 1])
				sockets->inodes[kept++] = sockets->inodes[i];
		sockets->count = kept;
	}
}

void census_done(struct census *census)
{
	for (size_t kind = 0; kind < _CENSUS_KIND_MAX; kind++)
		free(census->kinds[kind].inodes);
	*census = (struct census){0};
}
