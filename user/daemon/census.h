/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Census: the sockets that processes had before their cgroup was watched, told
 * apart by what becomes of them. Pure.
 *
 * Invariants:
 *  C1. Hooks follow the cgroup in which a socket was made. A TCP or UDP socket
 *      made elsewhere can connect unseen for ever, destroyed or not.
 *  C2. What is not known counts as a way out.
 */
#ifndef SLUICE_DAEMON_CENSUS_H
#define SLUICE_DAEMON_CENSUS_H

#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "sluice/abi.h"

#define CENSUS_MAX (1u << 20) /* descriptors of a kind */

enum census_kind {
	CENSUS_FREE,	/* the hooks see all that it can still do; and netlink */
	CENSUS_LOCAL,	/* Unix, with something at its other end or made elsewhere */
	CENSUS_LIVE,	/* TCP and UDP, connected or listening: the kernel can destroy them */
	CENSUS_STRANGE, /* TCP and UDP made elsewhere */
	CENSUS_FOREIGN, /* packet, vsock, raw and all else: can be neither destroyed nor hooked */
	_CENSUS_KIND_MAX,
};

struct census {
	struct census_sockets {
		uint64_t *inodes;
		size_t count, room;
		uint32_t pid; /* of the first that was found */
	} kinds[_CENSUS_KIND_MAX];
	char foreign[32]; /* what the first foreign one is */
};

enum census_kind census_kind_of(const struct sluice_census *record);
/* For kern_census(): context is a struct census. -E2BIG: over CENSUS_MAX. */
int census_add(void *context, const struct sluice_census *record) must_check;
/* Counts each socket once, however many descriptors there are of it. */
void census_sum(struct census *census);
/* Frees; it is empty afterwards. */
void census_done(struct census *census);

#endif
