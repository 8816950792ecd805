/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sockets that processes had before their cgroup was watched. They are looked
 * for with the hooks attached and the processes stopped, so that none can be
 * handed around meanwhile; how they are told apart is the census's.
 */
#ifndef SLUICE_DAEMON_WATCH_LIVE_H
#define SLUICE_DAEMON_WATCH_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

/*
 * Looks, and with destroy destroys what is connected or listens. -EBUSY: there are
 * some that can stay neither so nor destroyed, or destroy is false. -EOPNOTSUPP: it
 * is a threaded cgroup. error has the line whatever the reason. *ret_held: how
 * many Unix sockets the processes keep, with whoever is at their other end.
 */
int watch_live_take(const char *path, uint64_t id, bool destroy, size_t *ret_held, char *error,
		    size_t error_len) must_check;

#endif
