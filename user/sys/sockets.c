/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/sockets.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#define PROTOCOL_LEN 32u
#define ROOM_FIRST   64u

enum socket_kind socket_kind_of(const char *protocol)
{
	static const char *const destroyable[] = {"TCP", "TCPv6", "UDP", "UDPv6"};

	if (!strncmp(protocol, "UNIX", 4) || !strcmp(protocol, "NETLINK"))
		return SOCKET_LOCAL;
	for (size_t i = 0; i < ARRAY_SIZE(destroyable); i++)
		if (!strcmp(protocol, destroyable[i]))
			return SOCKET_DESTROYED;
	return SOCKET_FOREIGN;
}

static int add_inode(struct socket_list *list, uint64_t inode)
{
	if (list->count == list->room) {
		size_t room = list->room ? 2 * list->room : ROOM_FIRST;
		uint64_t *grown;

		if (room > SOCKETS_MAX)
			return -E2BIG;
		grown = realloc(list->inodes, room * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		list->inodes = grown;
		list->room = room;
	}
	list->inodes[list->count++] = inode;
	return 0;
}

static int add_descriptor(struct socket_list *list, const char *path)
{
	char target[64], protocol[PROTOCOL_LEN];
	unsigned long long inode;
	enum socket_kind kind;
	ssize_t n;

	n = readlink(path, target, sizeof(target) - 1);
	if (n < 0)
		return errno == ENOENT ? 0 : -errno;
	target[n] = '\0';
	if (sscanf(target, "socket:[%llu]", &inode) != 1)
		return 0;
	n = getxattr(path, "system.sockprotoname", protocol, sizeof(protocol) - 1);
	if (n < 0)
		return errno == ENOENT ? 0 : -errno;
	protocol[n] = '\0';
	kind = socket_kind_of(protocol);
	list->kinds[kind]++;
	if (kind == SOCKET_FOREIGN)
		(void)snprintf(list->foreign, sizeof(list->foreign), "%s", protocol);
	return kind == SOCKET_DESTROYED ? add_inode(list, inode) : 0;
}

int socket_list_add_process(struct socket_list *list, pid_t pid)
{
	char path[64 + NAME_MAX];
	struct dirent *entry;
	int r = 0;
	DIR *dir;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? 0 : -errno;
	while (!r && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		(void)snprintf(path, sizeof(path), "/proc/%d/fd/%s", (int)pid, entry->d_name);
		r = add_descriptor(list, path);
	}
	(void)closedir(dir);
	/* The process went away while it was looked at. */
	return r == -ESRCH ? 0 : r;
}

void socket_list_done(struct socket_list *list)
{
	free(list->inodes);
	*list = (struct socket_list){0};
}
