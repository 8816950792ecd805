/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Share: how much one watched cgroup may take of what all streams have in common,
 * the bytes that are held and the streams themselves.
 *
 * Invariant: whatever one cgroup does, and for as long as it does it, a part is
 * left for the others; and of that a part to the next, however many they are.
 */
#ifndef SLUICE_DAEMON_SHARE_H
#define SLUICE_DAEMON_SHARE_H

#include <stdint.h>

/* A cgroup may have this many times what is left free: four fifths, where it is alone. */
#define SHARE_OF_FREE 4u

/*
 * How much more it may take. taken: by all, its own included; sure: what it may
 * have without leaving anything, as long as there is some.
 */
uint64_t share_left(uint64_t total, uint64_t taken, uint64_t own, uint64_t sure);

#endif
