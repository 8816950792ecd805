/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cgroups: cgroup v2 directories, found, made, joined, emptied, removed.
 *
 * Invariants: every path here is absolute, below the cgroup2 mount, without a
 * final slash; nothing here follows a symbolic link out of the mount.
 */
#ifndef SLUICE_SYS_CGROUP_H
#define SLUICE_SYS_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/macros.h"

#define CGROUP_PATH_MAX 512u

/*
 * The first cgroup2 mount in the text of /proc/PID/mountinfo whose root is the
 * whole hierarchy. -ENOENT: there is none.
 */
int cgroup_parse_mountinfo(const char *text, char *ret_path, size_t path_len) must_check;
/* The cgroup2 path ("/a/b") in the text of /proc/PID/cgroup. -ENOENT. */
int cgroup_parse_membership(const char *text, char *ret_path, size_t path_len) must_check;
/* Whether path is dir or lies below it. */
bool cgroup_is_within(const char *path, const char *dir);

/* Where cgroup2 is mounted here. -ENOENT: nowhere. */
int cgroup_mount(char *ret_path, size_t path_len) must_check;
/*
 * What an operator wrote, made a path: absolute below the mount, or relative to
 * the mount with or without a leading slash. -ENOENT, -ENOTDIR: no such cgroup.
 */
int cgroup_resolve(const char *mount, const char *name, char *ret_path, size_t path_len) must_check;
/* The cgroup of a process as a path below mount. -ENOENT: no such process. */
int cgroup_of_process(const char *mount, pid_t pid, char *ret_path, size_t path_len) must_check;
/* The kernel's id of a cgroup: its inode number. */
int cgroup_id(const char *path, uint64_t *ret_id) must_check;

/* Makes it and what is missing above it; an existing one is fine. */
int cgroup_create(const char *path) must_check;
int cgroup_join(const char *path) must_check;
/* -EBUSY: something lives in it. -ENOENT: it is gone. */
int cgroup_remove(const char *path) must_check;
/* Whether a process lives in it or below. A cgroup that is gone is not populated. */
bool cgroup_is_populated(const char *path);
/* Whether it holds single threads of processes that may have others elsewhere. */
bool cgroup_is_threaded(const char *path);
/*
 * Whether a cgroup above it is in the hands of another user than root, whose
 * processes can then leave it for a sibling.
 */
bool cgroup_is_delegated(const char *path);
/* Kills all that lives in it and below. */
int cgroup_kill(const char *path);
/*
 * Stops or continues all that lives in it and below; waits, at most timeout_ms, until
 * it has stopped.
 */
int cgroup_freeze(const char *path, bool frozen, unsigned int timeout_ms);

/*
 * Calls each for every process in it and below; stops where each returns other than 0,
 * and returns that.
 */
int cgroup_for_each_process(const char *path, int (*each)(void *context, pid_t pid),
			    void *context) must_check;
/* The same for the cgroups directly below it. */
int cgroup_for_each_child(const char *path, int (*each)(void *context, const char *child),
			  void *context) must_check;

#endif
