/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sockets a process holds, told apart by protocol, through /proc/PID/fd.
 *
 * Invariant: a descriptor that cannot be looked at is an error, never "no socket".
 */
#ifndef SLUICE_SYS_SOCKETS_H
#define SLUICE_SYS_SOCKETS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/macros.h"

#define SOCKETS_MAX (1u << 20)

enum socket_kind {
	SOCKET_LOCAL,	  /* Unix, netlink: they reach no other machine by themselves */
	SOCKET_DESTROYED, /* TCP and UDP: the kernel can destroy them */
	SOCKET_FOREIGN,	  /* packet, vsock, raw, and all else: it cannot */
	_SOCKET_KIND_MAX,
};

struct socket_list {
	uint64_t *inodes; /* of SOCKET_DESTROYED ones */
	size_t count, room;
	size_t kinds[_SOCKET_KIND_MAX];
	char foreign[32]; /* protocol of one of the foreign ones */
};

/* By the name the kernel gives the protocol ("TCP", "UNIX-STREAM", "PACKET"…). */
enum socket_kind socket_kind_of(const char *protocol);
/* Adds what pid holds. A process that is gone holds nothing. -E2BIG: over SOCKETS_MAX. */
int socket_list_add_process(struct socket_list *list, pid_t pid) must_check;
/* Frees; the list is empty afterwards. */
void socket_list_done(struct socket_list *list);

#endif
