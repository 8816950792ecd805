/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sockets that processes had before their cgroup was watched. They are looked
 * for with the hooks attached and the processes stopped, so that none can be
 * handed around meanwhile.
 */
#ifndef SLUICE_DAEMON_WATCH_LIVE_H
#define SLUICE_DAEMON_WATCH_LIVE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/macros.h"

/*
 * -EBUSY: there are some, and destroy is false, or the kernel cannot destroy
 * them; error has the line in every case. *ret_held: how many the processes
 * still have in hand, destroyed.
 */
int watch_live_take(const char *path, bool destroy, size_t *ret_held, char *error,
		    size_t error_len) must_check;

#endif
