/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Syncing an audit trail, and telling its head to the journal, in a thread of its own: both
 * may wait for a disk, or for another program, and the loop may not.
 *
 * Invariants:
 *  K1. Jobs are done in the order in which they were given. A head is told once all before
 *      it is synced.
 *  K2. The thread takes no signal, and shares nothing with the loop but this structure.
 *
 * Capabilities that are dropped before the thread is started are not its.
 */
#ifndef SLUICE_DAEMON_AUDIT_SYNCER_H
#define SLUICE_DAEMON_AUDIT_SYNCER_H

#include <pthread.h>
#include <stdbool.h>

#include "base/macros.h"
#include "core/audit_chain.h"

/* A file to sync, and close where it is `last`, and a head to tell where seq is not 0. */
struct audit_syncer_job {
	int fd;
	bool last;
	struct audit_head head;
};

#define AUDIT_SYNCER_JOBS 8u

struct audit_syncer {
	const char *instance; /* of the daemon */
	pthread_t thread;
	bool running, stop;
	pthread_mutex_t mutex;
	pthread_cond_t given, done;
	struct audit_syncer_job jobs[AUDIT_SYNCER_JOBS];
	size_t count; /* the one under way included */
	int result;   /* of the last one that is done: 0 or -errno */
};

/* instance is borrowed. */
void audit_syncer_init(struct audit_syncer *syncer, const char *instance);
/* Starts the thread. Errors of pthread_create(3), and of what it needs. */
int audit_syncer_start(struct audit_syncer *syncer) must_check;
/* Does what is left, and ends the thread. */
void audit_syncer_done(struct audit_syncer *syncer);
/* Once it is started. -EAGAIN: too many wait. The descriptor is the caller's then. */
int audit_syncer_give(struct audit_syncer *syncer, const struct audit_syncer_job *job) must_check;
/* Is there no room for a file that ends and its directory, and for the next sync? */
bool audit_syncer_is_busy(struct audit_syncer *syncer);
/* The result of the last job that is done; *ret_idle: none waits. */
int audit_syncer_result(struct audit_syncer *syncer, bool *ret_idle) must_check;
/* Waits until none does, and returns the result of the last. */
int audit_syncer_wait(struct audit_syncer *syncer) must_check;

#endif
