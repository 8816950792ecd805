/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sys/socket.h>

#include "kern/internal.h"
#include "sys/fd.h"

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

/* Of the calling thread's network namespace. */
static int netns_cookie(uint64_t *ret_cookie)
{
	int fd cleanup(fd_closep) = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	uint64_t cookie;
	socklen_t len = sizeof(cookie);

	if (fd < 0)
		return -errno;
	if (getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &len) < 0)
		return -errno;
	*ret_cookie = cookie;
	return 0;
}

int kern_route_set(struct kern *kern, int family, bool exists)
{
	int fd = bpf_map__fd(kern->skel->maps.routes);
	struct sluice_route_key key = {.family = (uint32_t)family};
	const __u32 one = 1;
	int r;

	r = netns_cookie((uint64_t *)&key.netns);
	if (r < 0)
		return r;
	if (exists)
		return bpf_map_update_elem(fd, &key, &one, BPF_ANY);
	r = bpf_map_delete_elem(fd, &key);
	return r == -ENOENT ? 0 : r;
}
