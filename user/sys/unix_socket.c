/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/unix_socket.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "sys/fd.h"

#define BACKLOG 64

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

int unix_socket_listen(const char *path, mode_t mode, int *ret_fd)
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
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
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

int unix_socket_peer(int fd, struct unix_peer *ret_peer)
{
	struct ucred ucred;
	socklen_t len = sizeof(ucred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &ucred, &len))
		return -errno;
	*ret_peer = (struct unix_peer){.pid = ucred.pid, .uid = ucred.uid};
	return 0;
}
