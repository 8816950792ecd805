/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of the older iptables, as IPT_SO_GET_ENTRIES gives it
 * (linux/netfilter_ipv4/ip_tables.h): rules behind each other, each with the offset
 * of its target and of the next one. A built-in chain goes from the entry of its hook
 * to its underflow, its policy; another begins behind a rule with the target ERROR,
 * which has its name.
 */
#ifndef SLUICE_SYS_XTABLES_H
#define SLUICE_SYS_XTABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sys/netfilter.h"

struct xtables_table {
	bool ipv6;
	const char *name;
	const uint8_t *rules;
	size_t len;
	unsigned int valid_hooks; /* bits 1 << NF_INET_* */
	unsigned int hook_entry[NF_INET_NUMHOOKS], underflow[NF_INET_NUMHOOKS];
};

/* Tells what its chains do that the hooks reach. -EBADMSG: it is no such table. -ENOMEM. */
int xtables_visit(const struct xtables_table *table,
		  const struct netfilter_visitor *visitor) must_check;

#endif
