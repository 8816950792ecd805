/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/instance.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "daemon/limits.h"
#include "daemon/options.h"
#include "kern/kern.h"
#include "sys/clock.h"
#include "sys/fd.h"
#include "sys/fs.h"
#include "sys/log.h"

static int failed(int r, char *error, size_t error_len, const char *what, const char *path)
{
	(void)snprintf(error, error_len, "%s '%s': %s", what, path, strerror(-r));
	return r;
}

int instance_init(struct instance *instance, const struct options *options, char *error,
		  size_t error_len)
{
	const char *name = options->name;
	int r;

	*instance = (struct instance){.lock_fd = -1};
	r = cgroup_mount(instance->cgroup2, sizeof(instance->cgroup2));
	if (r) {
		(void)snprintf(
			error, error_len,
			"no cgroup2 file system is mounted; mount one: mount -t cgroup2 none "
			"/sys/fs/cgroup");
		return r;
	}
	(void)snprintf(instance->lock, sizeof(instance->lock), "%s/%s.lock", INSTANCE_RUN_DIR,
		       name);
	(void)snprintf(instance->state, sizeof(instance->state), "%s/%s", INSTANCE_RUN_DIR, name);
	(void)snprintf(instance->pins, sizeof(instance->pins), "%s/sluice/%s", INSTANCE_BPFFS,
		       name);
	(void)snprintf(instance->handover, sizeof(instance->handover), "%s/%s.handover",
		       INSTANCE_RUN_DIR, name);
	if (options->socket) {
		if (strlen(options->socket) >= sizeof(instance->socket))
			return failed(-ENAMETOOLONG, error, error_len, "control socket",
				      options->socket);
		(void)strcpy(instance->socket, options->socket);
	} else {
		(void)snprintf(instance->socket, sizeof(instance->socket), "%s/%s.sock",
			       INSTANCE_RUN_DIR, name);
	}
	if (strlen(instance->cgroup2) + strlen(name) + sizeof("/sluice./daemon") >=
	    sizeof(instance->cgroup))
		return failed(-ENAMETOOLONG, error, error_len, "cgroup2 mount", instance->cgroup2);
	(void)snprintf(instance->cgroup, sizeof(instance->cgroup), "%.400s/sluice.%.*s",
		       instance->cgroup2, (int)OPTIONS_INSTANCE_MAX, name);
	(void)snprintf(instance->daemon_cgroup, sizeof(instance->daemon_cgroup), "%.490s/daemon",
		       instance->cgroup);
	return 0;
}

/* The process that wrote its number into the lock; 0 where none did. */
static int read_owner(int fd)
{
	char text[16] = "";

	return pread(fd, text, sizeof(text) - 1, 0) > 0 ? atoi(text) : 0;
}

/* Whether the file at path is the open one: its holder before may have removed that. */
static bool is_at(int fd, const char *path)
{
	struct stat open_one, found;

	return !fstat(fd, &open_one) && !lstat(path, &found) && open_one.st_dev == found.st_dev &&
	       open_one.st_ino == found.st_ino;
}

/* -EWOULDBLOCK: somebody else has it; the descriptor is handed out in that case too. */
static int open_locked(const char *path, int *ret_fd)
{
	for (;;) {
		int fd cleanup(fd_closep) =
			open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
		int r = fd < 0 || flock(fd, LOCK_EX | LOCK_NB) ? -errno : 0;

		if (!r && !is_at(fd, path))
			continue;
		if (!r || r == -EWOULDBLOCK)
			*ret_fd = take_fd(fd);
		return r;
	}
}

int instance_lock(struct instance *instance, char *error, size_t error_len)
{
	int r = fs_make_dir(INSTANCE_RUN_DIR, 0755);
	int fd cleanup(fd_closep) = -1;

	if (r)
		return failed(r, error, error_len, "directory", INSTANCE_RUN_DIR);
	r = open_locked(instance->lock, &fd);
	if (r) {
		if (r != -EWOULDBLOCK)
			return failed(r, error, error_len, "lock", instance->lock);
		(void)snprintf(error, error_len,
			       "a live sluiced (pid %d) holds '%s'; stop it, or choose another "
			       "--instance",
			       read_owner(fd), instance->lock);
		return -EBUSY;
	}
	instance->lock_fd = take_fd(fd);
	r = instance_own(instance);
	if (r) {
		instance_done(instance);
		return failed(r, error, error_len, "lock", instance->lock);
	}
	return 0;
}

int instance_own(const struct instance *instance)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%d\n", (int)getpid());

	if (ftruncate(instance->lock_fd, 0) ||
	    pwrite(instance->lock_fd, text, (size_t)len, 0) != len)
		return -EIO;
	return 0;
}

int instance_enter(struct instance *instance, char *error, size_t error_len)
{
	char parent[INSTANCE_PATH_LEN];
	int r = fs_mount_bpffs(INSTANCE_BPFFS);

	if (r)
		return failed(r, error, error_len, "bpf file system at", INSTANCE_BPFFS);
	(void)snprintf(parent, sizeof(parent), "%s/sluice", INSTANCE_BPFFS);
	r = fs_make_dir(parent, 0700);
	if (r)
		return failed(r, error, error_len, "directory", parent);
	r = fs_make_dir(instance->state, 0700);
	if (r)
		return failed(r, error, error_len, "directory", instance->state);
	r = cgroup_of_process(instance->cgroup2, getpid(), instance->origin,
			      sizeof(instance->origin));
	if (!r)
		r = cgroup_create(instance->daemon_cgroup);
	if (r)
		return failed(r, error, error_len, "cgroup", instance->daemon_cgroup);
	r = cgroup_join(instance->daemon_cgroup);
	if (r)
		return failed(r, error, error_len, "cannot join the cgroup",
			      instance->daemon_cgroup);
	return 0;
}

static int remove_run(void *context, const char *child)
{
	struct timespec step = {.tv_nsec = LIMIT_STEP_MS * CLOCK_NS_PER_MS};
	uint64_t deadline = clock_boot_ns() + LIMIT_STOP_MS * CLOCK_NS_PER_MS;

	(void)context;
	(void)cgroup_kill(child);
	while (cgroup_is_populated(child) && clock_boot_ns() < deadline)
		(void)nanosleep(&step, NULL);
	if (cgroup_remove(child))
		log_warning("cgroup '%s' could not be removed, continuing", child);
	return 0;
}

void instance_leave(struct instance *instance)
{
	if (!instance->origin[0])
		return;
	if (cgroup_join(instance->origin))
		log_warning("cannot go back to the cgroup '%s', continuing", instance->origin);
	/* Each fails where it is not empty, and then has to stay. */
	(void)!cgroup_remove(instance->daemon_cgroup);
	(void)!cgroup_remove(instance->cgroup);
	(void)rmdir(instance->state);
}

void instance_remove(struct instance *instance)
{
	instance_leave(instance);
	(void)!cgroup_for_each_child(instance->cgroup, remove_run, NULL);
	(void)!cgroup_remove(instance->cgroup);
	(void)fs_remove_dir(instance->state);
	instance_forget(instance);
}

static bool is_known(const struct instance *instance)
{
	const char *const made[] = {instance->pins, instance->cgroup, instance->state,
				    instance->socket, instance->handover};

	for (size_t i = 0; i < ARRAY_SIZE(made); i++)
		if (!access(made[i], F_OK))
			return true;
	return false;
}

static void say_opened(const char *path)
{
	log_info("'%s' is no longer mediated", path);
}

int instance_remove_dead(struct instance *instance, char *error, size_t error_len)
{
	const struct kern_opened opened = {instance->cgroup2, say_opened};
	int r = instance_lock(instance, error, error_len);

	if (r)
		return r;
	if (!is_known(instance)) {
		log_info("nothing to remove: there is no '%s', nor another trace of it",
			 instance->pins);
		instance_forget(instance);
		return 0;
	}
	/* What still lives in a run dies before its fence goes. */
	(void)!cgroup_for_each_child(instance->cgroup, remove_run, NULL);
	r = fs_is_bpffs(INSTANCE_BPFFS)
		    ? kern_remove_pins(instance->pins, &opened, error, error_len)
		    : 0;
	if (r && r != -ENOENT)
		return r;
	(void)unlink(instance->socket);
	(void)unlink(instance->handover);
	instance_remove(instance);
	return 0;
}

void instance_forget(struct instance *instance)
{
	if (instance->lock_fd >= 0)
		(void)unlink(instance->lock);
}

void instance_done(struct instance *instance)
{
	if (instance->lock_fd >= 0)
		(void)close(instance->lock_fd);
	instance->lock_fd = -1;
}
