/* SPDX-License-Identifier: Apache-2.0 */
/* What of a watch outlives the daemon: its kind and its policy's text, one file each. */
#ifndef SLUICE_DAEMON_WATCH_STORE_H
#define SLUICE_DAEMON_WATCH_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "daemon/watch.h"

struct instance;

int watch_store_write(const struct instance *instance, const struct watch *watch) must_check;
/* -ENOENT: not there. -EBADMSG: not what was written. The caller frees *ret_text. */
int watch_store_read(const struct instance *instance, uint64_t id, enum watch_kind *ret_kind,
		     char **ret_text, size_t *ret_len) must_check;
void watch_store_remove(const struct instance *instance, uint64_t id);

#endif
