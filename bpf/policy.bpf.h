/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The part of a policy that the kernel decides: destination rules by address
 * and port, and resolvers.
 */
#ifndef SLUICE_POLICY_BPF_H
#define SLUICE_POLICY_BPF_H

#include "watch.bpf.h"

struct rule_search {
	const struct sluice_policy *policy;
	const struct sluice_address *address;
	__u32 action; /* enum sluice_rule_action; NONE where nothing matched */
};

static __always_inline bool rule_matches(const struct sluice_rule *rule,
					 const struct sluice_address *address)
{
	const __u32 *want = (const __u32 *)rule->addr;
	const __u32 *have = (const __u32 *)address->addr;
	__u32 left = rule->prefix_len;
	__u32 mask;
	int i;

	if (rule->port && rule->port != address->port)
		return false;
	if (left > 128)
		return false;
#pragma unroll
	for (i = 0; i < 4; i++) {
		/* A shift by 32 would be undefined: none and all bits are their own cases. */
		if (left == 0)
			mask = 0;
		else if (left >= 32)
			mask = ~0u;
		else
			mask = bpf_htonl(~0u << (32 - left));
		if ((want[i] ^ have[i]) & mask)
			return false;
		left = left > 32 ? left - 32 : 0;
	}
	return true;
}

/* One rule; 1 ends the search. */
static long rule_visit(__u32 index, void *context)
{
	struct rule_search *search = context;
	const struct sluice_rule *rule;

	if (index >= SLUICE_RULES_PER_POLICY)
		return 1;
	rule = &search->policy->rules[index];
	if (rule->action == SLUICE_RULE_NONE)
		return 1;
	if (!rule_matches(rule, search->address))
		return 0;
	search->action = rule->action;
	return 1;
}

/* The first match wins; without a match a destination is allowed (and mediated). */
static __always_inline bool policy_allows(const struct sluice_policy *policy,
					  const struct sluice_address *address)
{
	struct rule_search search = {.policy = policy, .address = address};

	if (bpf_loop(SLUICE_RULES_PER_POLICY, rule_visit, &search, 0) < 0)
		return false;
	return search.action == SLUICE_RULE_NONE || search.action == SLUICE_RULE_ALLOW;
}

struct resolver_search {
	const struct sluice_policy *policy;
	const struct sluice_address *address;
	__u32 found;
};

static long resolver_visit(__u32 index, void *context)
{
	struct resolver_search *search = context;
	const struct sluice_address *resolver;
	const __u64 *want, *have;

	if (index >= SLUICE_RESOLVERS_PER_POLICY)
		return 1;
	resolver = &search->policy->resolvers[index];
	want = (const __u64 *)resolver->addr;
	have = (const __u64 *)search->address->addr;
	if (!want[0] && !want[1])
		return 1;
	if (want[0] != have[0] || want[1] != have[1])
		return 0;
	if (search->address->port != (resolver->port ? resolver->port : DNS_PORT))
		return 0;
	search->found = 1;
	return 1;
}

/* May a watched cgroup send UDP to this address? */
static __always_inline bool watch_allows_udp(const struct sluice_watch *watch,
					     const struct sluice_address *address)
{
	const struct sluice_policy *policy = policy_get(watch);
	struct resolver_search search = {.policy = policy, .address = address};

	if (!policy)
		return false;
	if (watch->dns == SLUICE_DNS_ANY)
		return address->port == DNS_PORT;
	if (watch->dns != SLUICE_DNS_RESOLVERS)
		return false;
	if (bpf_loop(SLUICE_RESOLVERS_PER_POLICY, resolver_visit, &search, 0) < 0)
		return false;
	return search.found;
}

#endif
