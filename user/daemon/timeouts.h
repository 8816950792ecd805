/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timeouts of messages and holds, looked at once a tick, on the boot clock.
 *
 * The path of a byte keeps no time: a tick sees by the counters what moved since
 * the one before, so that a timeout strikes at most one tick late. A flow that
 * is not read has its clocks of a message stopped. Whether a partial message is
 * still waited for is the framing guard's to say, for every mediated flow.
 */
#ifndef SLUICE_DAEMON_TIMEOUTS_H
#define SLUICE_DAEMON_TIMEOUTS_H

#include <stdint.h>

struct daemon;

void timeouts_tick(struct daemon *daemon, uint64_t now_ns);

#endif
