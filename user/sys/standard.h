/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The descriptors that a program is started with, 0 to 2. One that is closed would be the next
 * socket's number, and what is meant for a terminal would be written to a peer.
 */
#ifndef SLUICE_SYS_STANDARD_H
#define SLUICE_SYS_STANDARD_H

#include "base/macros.h"

/* Before anything else is opened: what is closed fails to read and to write from then on. -errno. */
int standard_open(void) must_check;
/*
 * The last thing before the end: 0 where all that was printed on standard output was written,
 * else -EIO; the cause may be that of an earlier write, and is not known any more.
 */
int standard_close(void) must_check;

#endif
