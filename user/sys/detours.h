/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What else of this process's network namespace than netfilter sees what mediated
 * sockets carry, or leads it another way than the daemon expects.
 *
 * An agent's connection is steered to the loopback address, where the daemon listens:
 * that address has to be local, whatever the packet's mark, user or device. A stream's
 * other half leaves by an ordinary route. Where something between TCP and the gate
 * wraps its packets, the gate does not find TCP in them and lets none go.
 */
#ifndef SLUICE_SYS_DETOURS_H
#define SLUICE_SYS_DETOURS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

enum detour_kind {
	DETOUR_LOOPBACK, /* the loopback address is not a local one */
	DETOUR_RULE,	 /* a policy routing rule comes before the local table */
	DETOUR_PROGRAM,	 /* a route's BPF program sees packets before the gate */
	DETOUR_WRAPPED,	 /* a route wraps packets before the gate */
	DETOUR_IPSEC,	 /* the same by IPsec */
	DETOUR_BALANCED, /* IPVS gives connections another destination */
	DETOUR_PACKETS,	 /* packet sockets see loopback traffic */
	DETOUR_PATIENCE, /* TCP gives up on held bytes sooner than by default */
	DETOUR_UNKNOWN,	 /* could not be looked at */
	_DETOUR_MAX
};

struct detour_visitor {
	/* place says which one it is; it lives as long as the call. */
	void (*detour)(void *context, enum detour_kind kind, const char *place);
	void *context;
};

/* Looks at all of it; needs CAP_NET_ADMIN there for IPsec. */
void detours_scan(const struct detour_visitor *visitor);

/* Parts of it, of what the kernel says: */
/* Packet sockets in the text of /proc/net/packet that see IP traffic of that interface. */
unsigned int detours_count_packet_sockets(const char *text, unsigned int interface);
/* Services in the text of /proc/net/ip_vs. */
unsigned int detours_count_services(const char *text);
/* Whether the first bits of two addresses are the same; bits of at most 128. */
bool detours_same_prefix(const uint8_t *one, const uint8_t *other, unsigned int bits);

#endif
