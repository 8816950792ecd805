/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/netfilter.h"

#include <string.h>

#define BIT(hook) (1u << (hook))
#define LOCAL                                                                        \
	(BIT(NF_INET_PRE_ROUTING) | BIT(NF_INET_LOCAL_IN) | BIT(NF_INET_LOCAL_OUT) | \
	 BIT(NF_INET_POST_ROUTING))

unsigned int netfilter_hooks_of(enum netfilter_act act)
{
	static const unsigned int hooks[_NETFILTER_ACT_MAX] = {
		[NETFILTER_LOG] = LOCAL,
		[NETFILTER_QUEUE] = LOCAL,
		[NETFILTER_COPY] = LOCAL,
		/* What a packet's destination is was decided at output, for loopback too. */
		[NETFILTER_REDIRECT] = BIT(NF_INET_LOCAL_OUT),
		[NETFILTER_TPROXY] = BIT(NF_INET_PRE_ROUTING),
	};

	return hooks[act];
}

enum netfilter_act netfilter_target(const char *name)
{
	static const struct {
		const char *name;
		enum netfilter_act act;
	} targets[] = {
		{"NFLOG", NETFILTER_LOG},	  {"NFQUEUE", NETFILTER_QUEUE},
		{"TEE", NETFILTER_COPY},	  {"DNAT", NETFILTER_REDIRECT},
		{"REDIRECT", NETFILTER_REDIRECT}, {"NETMAP", NETFILTER_REDIRECT},
		{"TPROXY", NETFILTER_TPROXY},
	};

	for (size_t i = 0; i < ARRAY_SIZE(targets); i++)
		if (!strcmp(targets[i].name, name))
			return targets[i].act;
	return _NETFILTER_ACT_MAX;
}
