/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/unix_socket.h"

#include <endian.h>
#include <errno.h>
#include <linux/posix_acl.h>
#include <linux/posix_acl_xattr.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/xattr.h>

#include "sys/fd.h"

/* Linux 6.5; the headers of Debian 12 are older. */
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

#define BACKLOG 64
/* Groups that a socket is opened to. */
#define ADMITTED_MAX 2u

static int fill_address(const char *path, struct sockaddr_un *address)
{
	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof(address->sun_path))
		return -ENAMETOOLONG;
	(void)memcpy(address->sun_path, path, strlen(path) + 1);
	return 0;
}

/* Makes room for a new socket where the old one is a socket file that nobody serves. */
static int clear_stale(const char *path, const struct sockaddr_un *address)
{
	int fd cleanup(fd_closep) = -1;
	struct stat st;

	if (lstat(path, &st))
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -EADDRINUSE;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (!connect(fd, (const struct sockaddr *)address, sizeof(*address)) ||
	    errno != ECONNREFUSED)
		return -EADDRINUSE;
	return unlink(path) ? -errno : 0;
}

static int listen_at(const char *path, mode_t mode, int type, int *ret_fd)
{
	int fd cleanup(fd_closep) = -1;
	struct sockaddr_un address;
	mode_t mask;
	int r = fill_address(path, &address);

	if (r)
		return r;
	r = clear_stale(path, &address);
	if (r)
		return r;
	fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	/* Nobody connects between bind() and chmod(): the file is born without permissions. */
	mask = umask(0777);
	r = bind(fd, (const struct sockaddr *)&address, sizeof(address)) ? -errno : 0;
	(void)umask(mask);
	if (r)
		return r;
	if (chmod(path, mode) || listen(fd, BACKLOG)) {
		r = -errno;
		(void)unlink(path);
		return r;
	}
	*ret_fd = take_fd(fd);
	return 0;
}

int unix_socket_listen(const char *path, mode_t mode, int *ret_fd)
{
	return listen_at(path, mode, SOCK_STREAM | SOCK_NONBLOCK, ret_fd);
}

int unix_socket_listen_packets(const char *path, mode_t mode, int *ret_fd)
{
	return listen_at(path, mode, SOCK_SEQPACKET | SOCK_NONBLOCK, ret_fd);
}

/* Of who listens there, as it was when it began to. */
static bool is_served_by(const char *path, pid_t server)
{
	int fd cleanup(fd_closep) = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address;
	struct unix_peer peer;

	return fd >= 0 && !fill_address(path, &address) &&
	       !connect(fd, (const struct sockaddr *)&address, sizeof(address)) &&
	       !unix_socket_peer(fd, &peer) && peer.pid == server;
}

int unix_socket_check(const char *path, pid_t server)
{
	int fd cleanup(fd_closep) = -1;
	int r = unix_socket_listen(path, 0, &fd);

	if (r == -EADDRINUSE && is_served_by(path, server))
		return 0;
	return r || !unlink(path) ? r : -errno;
}

/* The form in which the kernel takes a list: <linux/posix_acl_xattr.h>, little endian. */
static void put_entry(struct posix_acl_xattr_entry *entry, unsigned int tag, unsigned int perm,
		      uint32_t id)
{
	entry->e_tag = htole16(tag);
	entry->e_perm = htole16(perm);
	entry->e_id = htole32(id);
}

int unix_socket_admit(const char *path, const gid_t *gids, size_t count)
{
	static const unsigned int all = ACL_READ | ACL_WRITE;
	struct {
		struct posix_acl_xattr_header header;
		struct posix_acl_xattr_entry entries[4 + ADMITTED_MAX];
	} list = {.header.a_version = htole32(POSIX_ACL_XATTR_VERSION)};
	size_t n = 0;

	if (count > ADMITTED_MAX)
		return -E2BIG;
	put_entry(&list.entries[n++], ACL_USER_OBJ, all, (uint32_t)ACL_UNDEFINED_ID);
	put_entry(&list.entries[n++], ACL_GROUP_OBJ, 0, (uint32_t)ACL_UNDEFINED_ID);
	for (size_t i = 0; i < count; i++)
		put_entry(&list.entries[n++], ACL_GROUP, all, gids[i]);
	put_entry(&list.entries[n++], ACL_MASK, all, (uint32_t)ACL_UNDEFINED_ID);
	put_entry(&list.entries[n++], ACL_OTHER, 0, (uint32_t)ACL_UNDEFINED_ID);
	return setxattr(path, "system.posix_acl_access", &list,
			sizeof(list.header) + n * sizeof(list.entries[0]), 0)
		       ? -errno
		       : 0;
}

int unix_socket_peer(int fd, struct unix_peer *ret_peer)
{
	struct ucred ucred;
	socklen_t len = sizeof(ucred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &ucred, &len))
		return -errno;
	*ret_peer = (struct unix_peer){.pid = ucred.pid, .uid = ucred.uid, .gid = ucred.gid};
	return 0;
}

bool unix_socket_peer_lives(int fd)
{
	int pidfd cleanup(fd_closep) = -1;
	struct pollfd end = {.events = POLLIN};
	socklen_t len = sizeof(pidfd);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &len))
		return errno == ENOPROTOOPT;
	end.fd = pidfd;
	return !poll(&end, 1, 0);
}

bool unix_socket_peer_is_in(int fd, const struct unix_peer *peer, gid_t gid)
{
	socklen_t len = 0;
	bool found = peer->gid == gid;
	gid_t *gids;

	/* Without room it says how much there is; without groups there is nothing to say. */
	if (found || !getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &len) || errno != ERANGE)
		return found;
	gids = malloc(len);
	if (gids && !getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, gids, &len))
		for (size_t i = 0; i < len / sizeof(*gids); i++)
			found |= gids[i] == gid;
	free(gids);
	return found;
}
