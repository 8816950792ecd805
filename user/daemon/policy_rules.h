/* SPDX-License-Identifier: Apache-2.0 */
/* A policy's addresses as the kernel needs them: destinations, resolvers, Unix addresses. */
#ifndef SLUICE_DAEMON_POLICY_RULES_H
#define SLUICE_DAEMON_POLICY_RULES_H

#include <stdint.h>

#include "base/macros.h"
#include "core/policy.h"

struct kern;

#define POLICY_RULES_DNS_PORT 53u

/* -E2BIG: more destinations, or a longer Unix address, than the kernel's table has room for. */
int policy_rules_publish(struct kern *kern, uint32_t number,
			 const struct policy *policy) must_check;

#endif
