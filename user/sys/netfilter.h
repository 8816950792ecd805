/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Netfilter rules of this process's network namespace that see, copy or lead away
 * what mediated sockets carry.
 *
 * Netfilter's output and postrouting hooks come before the egress hook of a cgroup,
 * so that a rule there has a packet which the gate does not let go; and what agents
 * send to the daemon, or peers to it, passes the hooks of that path before anybody
 * has judged it. Looked at are chains that the hooks of IPv4 and IPv6 reach, by
 * jumps too. Not looked at are hooks that come after the gate and carry no loopback
 * traffic past it (netdev, bridge), and rules that log to the kernel's log, since
 * that has headers alone.
 *
 * Reads nf_tables by netlink, and the older iptables by the socket options that its
 * own tool uses, where /proc/net lists tables of it: to ask for one that is not
 * there would make it. Needs CAP_NET_ADMIN in that namespace.
 */
#ifndef SLUICE_SYS_NETFILTER_H
#define SLUICE_SYS_NETFILTER_H

#include <netinet/in.h>
#include <stddef.h>

/* Behind <netinet/in.h>, whose names it has too. */
#include <linux/netfilter.h>

#include "base/macros.h"

/* What a rule does with a packet. */
enum netfilter_act {
	NETFILTER_LOG,	    /* hands a copy to a process, through a netlink log group */
	NETFILTER_QUEUE,    /* hands it to a process, which decides about it */
	NETFILTER_COPY,	    /* sends a copy elsewhere, which no gate sees */
	NETFILTER_REDIRECT, /* gives it another destination */
	NETFILTER_TPROXY,   /* gives it to another listener */
	_NETFILTER_ACT_MAX
};

/* The rules of a chain that do one thing. Strings live as long as the call. */
struct netfilter_finding {
	const char *source; /* "nftables", "iptables", "ip6tables" */
	const char *family; /* "ip", "ip6", "inet" */
	const char *table, *chain;
	enum netfilter_act act;
	unsigned int hooks; /* bits 1 << NF_INET_*: from which of them it is reached */
	unsigned int count; /* of its rules */
};

struct netfilter_visitor {
	void (*finding)(void *context, const struct netfilter_finding *finding);
	void *context;
};

/*
 * Both return 0 also where the kernel has none of it. -EPERM: not permitted to look.
 * -EAGAIN: the rules changed meanwhile.
 */
int netfilter_scan_nft(const struct netfilter_visitor *visitor) must_check;
int netfilter_scan_xtables(const struct netfilter_visitor *visitor) must_check;

/* The hooks at which that matters here. */
unsigned int netfilter_hooks_of(enum netfilter_act act);
/* What an extension of iptables does, by its name; _NETFILTER_ACT_MAX: nothing of it. */
enum netfilter_act netfilter_target(const char *name);

#endif
