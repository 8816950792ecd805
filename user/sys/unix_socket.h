/* SPDX-License-Identifier: Apache-2.0 */
/* The server side of a Unix stream socket, and who is at its other end. */
#ifndef SLUICE_SYS_UNIX_SOCKET_H
#define SLUICE_SYS_UNIX_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/macros.h"

struct unix_peer {
	pid_t pid; /* 0: in a process namespace that is not visible here */
	uid_t uid;
	gid_t gid;
};

/*
 * A non-blocking listener with that file mode. A socket file that nobody serves
 * is replaced. -EADDRINUSE: somebody serves it, or it is no socket. -ENAMETOOLONG.
 */
int unix_socket_listen(const char *path, mode_t mode, int *ret_fd) must_check;
/* The same, of a socket that keeps messages apart (SOCK_SEQPACKET). */
int unix_socket_listen_packets(const char *path, mode_t mode, int *ret_fd) must_check;
/*
 * Would unix_socket_listen() succeed, once that process does not listen there any more? Leaves
 * nothing. -errno as of that.
 */
int unix_socket_check(const char *path, pid_t server) must_check;
/*
 * Lets those groups connect beside the owner, and nobody else: by an access list, since a
 * file has one group. -EOPNOTSUPP: the file system has no such lists.
 */
int unix_socket_admit(const char *path, const gid_t *gids, size_t count) must_check;
/* The peer of a connected socket, as it was when it connected. */
int unix_socket_peer(int fd, struct unix_peer *ret_peer) must_check;
/*
 * Whether the process that connected is there still: what was read by its number before this
 * was asked is not about another that got the number since. Before Linux 6.5, which cannot
 * tell, always.
 */
bool unix_socket_peer_lives(int fd);
/* Whether the peer was in that group when it connected, by its own or a supplementary one. */
bool unix_socket_peer_is_in(int fd, const struct unix_peer *peer, gid_t gid);

#endif
