/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/watch_live.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "daemon/census.h"
#include "daemon/limits.h"
#include "kern/kern.h"
#include "sys/cgroup.h"
#include "sys/log.h"

#define FREEZE_MS 1000u

/* What the steps below share. */
struct live {
	const char *path;
	uint64_t id;
	bool destroy;
	size_t held;
	char *error;
	size_t error_len;
};

/* The kernel lists a process as 0 to whoever is in a namespace that does not have it. */
static int require_visible(void *context, pid_t pid)
{
	(void)context;
	return pid > 0 ? 0 : -EXDEV;
}

static int count_sockets(struct live *live, struct census *census)
{
	int r = cgroup_for_each_process(live->path, require_visible, NULL);

	if (r == -EXDEV) {
		(void)snprintf(live->error, live->error_len,
			       "processes in '%s' are out of this daemon's sight, in a process-id "
			       "namespace that is not below its own",
			       live->path);
		return r;
	}
	if (!r)
		r = kern_census(live->id, census_add, census);
	if (r)
		(void)snprintf(live->error, live->error_len,
			       "cannot tell which sockets the processes in '%s' have (%s), and so "
			       "not watch them: end them first; see `sluicectl doctor`",
			       live->path, strerror(-r));
	else
		census_sum(census);
	return r;
}

/* -EBUSY: there are some that nothing helps against but a new process. */
static int refuse_lasting(const struct live *live, const struct census *census)
{
	const struct census_sockets *foreign = &census->kinds[CENSUS_FOREIGN];
	const struct census_sockets *strange = &census->kinds[CENSUS_STRANGE];

	if (foreign->count) {
		(void)snprintf(live->error, live->error_len,
			       "process %u in '%s' holds a %s socket, which cannot be destroyed; "
			       "end it first",
			       foreign->pid, live->path, census->foreign);
		return -EBUSY;
	}
	if (strange->count) {
		(void)snprintf(live->error, live->error_len,
			       "processes in '%s', first %u, hold TCP or UDP sockets made outside "
			       "it (%zu), which no hook of it sees, destroyed or not; start them "
			       "anew inside it",
			       live->path, strange->pid, strange->count);
		return -EBUSY;
	}
	return 0;
}

static int destroy_sockets(const struct live *live, const struct census_sockets *sockets)
{
	size_t left;
	int r;

	if (!live->destroy) {
		(void)snprintf(live->error, live->error_len,
			       "processes in '%s' hold %zu TCP or UDP sockets; end them first, or "
			       "have the sockets destroyed (--destroy)",
			       live->path, sockets->count);
		return -EBUSY;
	}
	/* How many are left is for the next look to say, which sees every network namespace. */
	r = kern_destroy_sockets(sockets->inodes, sockets->count, &left);
	if (r)
		(void)snprintf(live->error, live->error_len,
			       "cannot destroy the sockets in '%s': %s", live->path, strerror(-r));
	return r;
}

/* 1: some were there and are destroyed; another look is needed. */
static int look(struct live *live)
{
	const struct census_sockets *sockets;
	struct census census = {0};
	int r = count_sockets(live, &census);

	if (!r)
		r = refuse_lasting(live, &census);
	sockets = &census.kinds[CENSUS_LIVE];
	if (!r && sockets->count) {
		r = destroy_sockets(live, sockets);
		if (!r)
			r = 1;
	}
	live->held = census.kinds[CENSUS_LOCAL].count;
	census_done(&census);
	return r;
}

int watch_live_take(const char *path, uint64_t id, bool destroy, size_t *ret_held, char *error,
		    size_t error_len)
{
	struct live live = {
		.path = path, .id = id, .destroy = destroy, .error = error, .error_len = error_len};
	int r = 1;

	if (cgroup_is_threaded(path)) {
		(void)snprintf(
			error, error_len,
			"'%s' is a threaded cgroup, whose threads share sockets with others; "
			"watch the cgroup of their process",
			path);
		return -EOPNOTSUPP;
	}
	if (!cgroup_is_populated(path)) {
		*ret_held = 0;
		return 0;
	}
	/* Processes that cannot be stopped, in uninterruptible sleep, run no code either. */
	if (cgroup_freeze(path, true, FREEZE_MS))
		log_warning("processes in '%s' could not all be stopped, continuing", path);
	for (unsigned int round = 0; r > 0 && round < LIMIT_DESTROY_ROUNDS; round++)
		r = look(&live);
	(void)cgroup_freeze(path, false, 0);
	if (r > 0) {
		(void)snprintf(error, error_len,
			       "sockets in '%s' survive their destruction, as those of another "
			       "network namespace do; end their processes first",
			       path);
		return -EBUSY;
	}
	if (!r)
		*ret_held = live.held;
	return r;
}
