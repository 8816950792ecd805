/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of this host, by name. */
#ifndef SLUICE_SYS_GROUP_H
#define SLUICE_SYS_GROUP_H

#include <sys/types.h>

#include "base/macros.h"

/* -ENOENT: there is none of that name. Else what the host's databases failed with. */
int group_find(const char *name, gid_t *ret_gid) must_check;

#endif
