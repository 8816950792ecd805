/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Self-test: the daemon opens for business only after it has seen the gate hold,
 * on real loopback connections of its own, for every family this machine has:
 * held bytes do not arrive, payload of an unmarked socket does not arrive, and
 * after a release exactly the released bytes arrive.
 */
#ifndef SLUICE_DAEMON_SELFTEST_H
#define SLUICE_DAEMON_SELFTEST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/macros.h"

struct kern;

/* -EPERM: the gate does not hold; error has the line, in every case. */
int selftest_run(struct kern *kern, bool ipv6, char *error, size_t error_len) must_check;

#endif
