/* SPDX-License-Identifier: Apache-2.0 */
/* Which network namespace this process is in. */
#ifndef SLUICE_SYS_NETNS_H
#define SLUICE_SYS_NETNS_H

#include <stdbool.h>

/*
 * Whether it is the machine's initial one, administered by nobody but the
 * machine's own root. Where that cannot be told the answer is no.
 */
bool netns_is_initial(void);

#endif
