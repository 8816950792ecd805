/* SPDX-License-Identifier: Apache-2.0 */
/* What this process may do, and what others may see of it. */
#ifndef SLUICE_SYS_PRIVILEGES_H
#define SLUICE_SYS_PRIVILEGES_H

#include <stddef.h>

#include "base/macros.h"

/* No core dump, no ptrace by its own user, no reading of its memory through /proc. */
int privileges_hide_memory(void) must_check;
/*
 * What this process has in memory, and will have, is never written to swap; a page counts
 * once it is used. -EPERM: without CAP_IPC_LOCK, which has to stay.
 */
int privileges_lock_memory(void) must_check;
/* Raises the limit of descriptors as far as it goes; returns what it is now. */
size_t privileges_raise_files(size_t wanted);
/*
 * Drops every capability but those listed (CAP_* of <linux/capability.h>), from
 * the bounding set too; one that the process never had is left out. New
 * privileges are ruled out for good.
 */
int privileges_keep(const unsigned int *capabilities, size_t count) must_check;

#endif
