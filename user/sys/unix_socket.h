/* SPDX-License-Identifier: Apache-2.0 */
/* The server side of a Unix stream socket, and who is at its other end. */
#ifndef SLUICE_SYS_UNIX_SOCKET_H
#define SLUICE_SYS_UNIX_SOCKET_H

#include <sys/types.h>

#include "base/macros.h"

struct unix_peer {
	pid_t pid; /* 0: in a process namespace that is not visible here */
	uid_t uid;
};

/*
 * A non-blocking listener with that file mode. A socket file that nobody serves
 * is replaced. -EADDRINUSE: somebody serves it, or it is no socket. -ENAMETOOLONG.
 */
int unix_socket_listen(const char *path, mode_t mode, int *ret_fd) must_check;
/* The peer of a connected socket, as it was when it connected. */
int unix_socket_peer(int fd, struct unix_peer *ret_peer) must_check;

#endif
