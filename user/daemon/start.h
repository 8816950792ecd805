/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The start, in the order that makes it safe: the lock; the daemon's own cgroup,
 * before any socket exists; the gate; the self-test; what a predecessor left;
 * routes and policies; the control socket; and only then the listeners.
 */
#ifndef SLUICE_DAEMON_START_H
#define SLUICE_DAEMON_START_H

#include <stddef.h>

#include "base/macros.h"

struct daemon;

/* error has the line where it fails; what was made by then is the caller's to take down. */
int start_daemon(struct daemon *daemon, char *error, size_t error_len) must_check;

#endif
