/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of a watch outlives the daemon: its kind, its policy's text and, where it is bound to
 * a name, that; one file each.
 */
#ifndef SLUICE_DAEMON_WATCH_STORE_H
#define SLUICE_DAEMON_WATCH_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "daemon/watch.h"

struct instance;

int watch_store_write(const struct instance *instance, const struct watch *watch) must_check;

struct watch_stored {
	enum watch_kind kind;
	char *text;
	size_t len;
	char *name; /* NULL: for its text alone */
};

/* -ENOENT: not there. -EBADMSG: not what was written. */
int watch_store_read(const struct instance *instance, uint64_t id,
		     struct watch_stored *ret_stored) must_check;
void watch_stored_done(struct watch_stored *stored);
void watch_store_remove(const struct instance *instance, uint64_t id);

#endif
