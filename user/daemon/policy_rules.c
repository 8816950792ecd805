/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/policy_rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/address.h"
#include "kern/kern.h"
#include "sys/resolvers.h"

static size_t fill_closed(const struct sluice_address *closed, struct sluice_rule *rule)
{
	static const uint8_t unspecified[ADDRESS_LEN];
	bool v4 = address_is_v4(closed->addr);
	size_t from = v4 ? ADDRESS_V4_AT : 0;

	if (!closed->port)
		return 0;
	(void)memcpy(rule->addr, closed->addr, sizeof(rule->addr));
	rule->prefix_len = ADDRESS_LEN * 8;
	if (!memcmp(closed->addr + from, unspecified, ADDRESS_LEN - from))
		rule->prefix_len = (uint8_t)(from * 8);
	rule->port = closed->port;
	rule->action = SLUICE_RULE_DENY;
	return 1;
}

/* The first that matches decides. */
static int fill_rules(const struct policy *policy, const struct sluice_address *closed,
		      struct sluice_policy *rules)
{
	size_t first = fill_closed(closed, &rules->rules[0]);

	if (policy->destination_count > ARRAY_SIZE(rules->rules) - first)
		return -E2BIG;
	for (size_t i = 0; i < policy->destination_count; i++) {
		const struct policy_destination *destination = &policy->destinations[i];
		struct sluice_rule *rule = &rules->rules[first + i];

		(void)memcpy(rule->addr, destination->addr, sizeof(rule->addr));
		rule->prefix_len = destination->prefix_len;
		rule->port = destination->port;
		rule->action =
			destination->action == POLICY_DENY ? SLUICE_RULE_DENY : SLUICE_RULE_ALLOW;
	}
	return 0;
}

static void fill_resolvers(const struct policy *policy, struct sluice_policy *rules)
{
	uint8_t host[SLUICE_RESOLVERS_PER_POLICY][16];
	const uint8_t(*list)[16] = policy->resolvers;
	size_t count = policy->resolver_count;

	if (policy->dns != POLICY_DNS_RESOLVERS)
		return;
	if (!count) {
		count = resolvers_of_host(host, ARRAY_SIZE(host));
		list = (const uint8_t(*)[16])host;
	}
	for (size_t i = 0; i < MIN(count, ARRAY_SIZE(rules->resolvers)); i++) {
		struct sluice_address *resolver = &rules->resolvers[i];

		(void)memcpy(resolver->addr, list[i], sizeof(resolver->addr));
		resolver->port = POLICY_RULES_DNS_PORT;
		resolver->family = address_is_v4(list[i]) ? AF_INET : AF_INET6;
	}
}

static int fill_unix(const struct policy *policy, uint32_t number, struct sluice_unix_key *keys)
{
	for (size_t i = 0; i < policy->unix_count; i++) {
		const char *address = policy->unix_addresses[i];
		size_t len = strlen(address);

		if (len > sizeof(keys[i].path))
			return -E2BIG;
		keys[i].policy = number;
		keys[i].len = (uint32_t)len;
		(void)memcpy(keys[i].path, address, len);
		if (address[0] == '@')
			keys[i].path[0] = '\0';
	}
	return 0;
}

int policy_rules_publish(struct kern *kern, uint32_t number, const struct policy *policy,
			 const struct sluice_address *closed)
{
	struct sluice_policy *rules = calloc(1, sizeof(*rules));
	struct sluice_unix_key *keys = calloc(policy->unix_count + 1, sizeof(*keys));
	int r = -ENOMEM;

	if (rules && keys) {
		r = fill_rules(policy, closed, rules);
		fill_resolvers(policy, rules);
		if (!r)
			r = fill_unix(policy, number, keys);
		if (!r)
			r = kern_policy_set(kern, number, rules, keys, policy->unix_count);
	}
	free(rules);
	free(keys);
	return r;
}
