/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/watch_live.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "daemon/limits.h"
#include "kern/kern.h"
#include "sys/cgroup.h"
#include "sys/log.h"
#include "sys/sockets.h"

#define FREEZE_MS 1000u

static int add_process(void *context, pid_t pid)
{
	return socket_list_add_process(context, pid);
}

/* 1: some are left to destroy; another look is needed. */
static int look(const char *path, bool destroy, size_t *held, char *error, size_t error_len)
{
	struct socket_list list cleanup(socket_list_done) = {0};
	size_t left = 0;
	int r = cgroup_for_each_process(path, add_process, &list);

	if (r) {
		(void)snprintf(error, error_len, "cannot look at the sockets in '%s': %s", path,
			       strerror(-r));
		return r;
	}
	*held = list.count;
	if (list.kinds[SOCKET_FOREIGN]) {
		(void)snprintf(error, error_len,
			       "processes in '%s' hold a %s socket, which cannot be destroyed; end "
			       "them first",
			       path, list.foreign);
		return -EBUSY;
	}
	if (!list.count)
		return 0;
	if (!destroy) {
		(void)snprintf(error, error_len,
			       "processes in '%s' hold %zu TCP or UDP sockets; end them first, or "
			       "have the sockets destroyed (--destroy)",
			       path, list.count);
		return -EBUSY;
	}
	r = kern_destroy_sockets(list.inodes, list.count, &left);
	if (r)
		(void)snprintf(error, error_len, "cannot destroy the sockets in '%s': %s", path,
			       strerror(-r));
	return r ? r : left != 0;
}

int watch_live_take(const char *path, bool destroy, size_t *ret_held, char *error, size_t error_len)
{
	size_t held = 0;
	int r = 1;

	if (!cgroup_is_populated(path)) {
		*ret_held = 0;
		return 0;
	}
	/* Processes that cannot be stopped, in uninterruptible sleep, run no code either. */
	if (cgroup_freeze(path, true, FREEZE_MS))
		log_warning("processes in '%s' could not all be stopped, continuing", path);
	for (unsigned int round = 0; r > 0 && round < LIMIT_DESTROY_ROUNDS; round++)
		r = look(path, destroy, &held, error, error_len);
	(void)cgroup_freeze(path, false, 0);
	if (r > 0) {
		(void)snprintf(error, error_len, "sockets in '%s' survive their destruction", path);
		return -EBUSY;
	}
	if (!r)
		*ret_held = held;
	return r;
}
