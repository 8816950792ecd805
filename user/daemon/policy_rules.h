/* SPDX-License-Identifier: Apache-2.0 */
/* A policy's addresses as the kernel needs them: destinations, resolvers, Unix addresses. */
#ifndef SLUICE_DAEMON_POLICY_RULES_H
#define SLUICE_DAEMON_POLICY_RULES_H

#include <stdint.h>

#include "base/macros.h"
#include "core/policy.h"
#include "sluice/abi.h"

struct kern;

#define POLICY_RULES_DNS_PORT 53u

/*
 * closed: a listener of the daemon's own, which no destination of the policy opens; port 0:
 * none. One at the unspecified address closes its port at every address of the family.
 * -E2BIG: more destinations, or a longer Unix address, than the kernel's table has room for.
 */
int policy_rules_publish(struct kern *kern, uint32_t number, const struct policy *policy,
			 const struct sluice_address *closed) must_check;

#endif
