/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instance: the names one daemon owns on this machine, and its lock on them.
 *
 *   /run/sluice/NAME.lock   held as long as it lives
 *   /run/sluice/NAME.sock   control socket
 *   /run/sluice/NAME.handover   where a successor asks
 *   /run/sluice/NAME/       what a successor needs: one file per watch, mode 0600
 *   BPFFS/sluice/NAME/      pins
 *   CGROUP2/sluice.NAME/daemon, CGROUP2/sluice.NAME/run-N
 */
#ifndef SLUICE_DAEMON_INSTANCE_H
#define SLUICE_DAEMON_INSTANCE_H

#include <stddef.h>

#include "base/macros.h"
#include "sys/cgroup.h"

struct options;

#define INSTANCE_RUN_DIR  "/run/sluice"
#define INSTANCE_BPFFS	  "/sys/fs/bpf"
#define INSTANCE_PATH_LEN 256u

struct instance {
	char lock[INSTANCE_PATH_LEN], socket[INSTANCE_PATH_LEN], state[INSTANCE_PATH_LEN];
	char pins[INSTANCE_PATH_LEN], handover[INSTANCE_PATH_LEN];
	char cgroup2[CGROUP_PATH_MAX]; /* mount point */
	char cgroup[CGROUP_PATH_MAX];  /* parent of those below */
	char daemon_cgroup[CGROUP_PATH_MAX];
	char origin[CGROUP_PATH_MAX]; /* where the daemon was before it joined its own */
	int lock_fd;
};

/* Fills in the names. -ENOENT: no cgroup2 mount; error has the line. */
int instance_init(struct instance *instance, const struct options *options, char *error,
		  size_t error_len) must_check;
/*
 * -EBUSY: another process holds it; error has the line, in every case. The file held is
 * the one at its path, so that no two hold it although holders remove it.
 */
int instance_lock(struct instance *instance, char *error, size_t error_len) must_check;
/* The lock is held already, by a descriptor that was handed over: it names this process now. */
int instance_own(const struct instance *instance) must_check;
/* Mounts bpffs, makes the cgroups, joins the daemon's own. */
int instance_enter(struct instance *instance, char *error, size_t error_len) must_check;
/* Leaves the cgroup; removes of what instance_enter made what nobody else uses. */
void instance_leave(struct instance *instance);
/* Leaves, and removes all: runs with what lives in them, stored policies, the lock. */
void instance_remove(struct instance *instance);
/*
 * The same for a dead daemon's, its pins included; says so where there is nothing. error
 * has the line where it fails.
 */
int instance_remove_dead(struct instance *instance, char *error, size_t error_len) must_check;
/* Removes the file of the lock, where it is held; the last thing before giving it back. */
void instance_forget(struct instance *instance);
/* Gives the lock back. */
void instance_done(struct instance *instance);

#endif
