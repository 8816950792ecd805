/* SPDX-License-Identifier: Apache-2.0 */
/* What a successor has of its predecessor, until it runs. For daemon/handover_*.c alone. */
#ifndef SLUICE_DAEMON_HANDOVER_TAKING_H
#define SLUICE_DAEMON_HANDOVER_TAKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/macros.h"
#include "daemon/handover_wire.h"
#include "daemon/limits.h"

struct daemon;
struct loaded_policy;

/* A stream that came, and is not made yet. */
struct handover_given {
	struct handover_stream record;
	int agent, peer;		    /* -1: another's by now */
	uint8_t *bytes[_SESSION_TRACK_MAX]; /* sent..received of each flow */
	uint64_t have[_SESSION_TRACK_MAX];  /* so many of them came */
	struct loaded_policy *policy;
};

struct handover_taken_policy {
	struct loaded_policy *loaded;
	uint32_t number; /* under which it rests; 0: under none */
};

/* A run, and the client that waits for it. */
struct handover_owner {
	uint64_t cgroup;
	int fd; /* -1: another's by now */
};

struct handover_taking {
	int fd; /* the daemon's other end; -1: it has committed */
	pid_t pid;
	uint64_t audit_device, audit_file; /* as of the daemon's WELCOME */
	struct handover_given *given;
	size_t count, room;
	struct handover_taken_policy *policies;
	size_t policy_count, policy_room;
	struct handover_owner owners[LIMIT_CONTROL_CLIENTS];
	size_t owner_count;
	struct handover_message message;
};

/*
 * The next stream's record, whose bytes follow. -EPROTO: it does not fit in itself, or its policy
 * did not come. -EMFILE: without its descriptors. -ENOMEM.
 */
int handover_begin_given(struct handover_taking *taking) must_check;
/* Some of its bytes. -EPROTO: more than it has. */
int handover_add_bytes(struct handover_taking *taking) must_check;
/* A run, with its client. -EPROTO: more than there can be. -EMFILE: without a descriptor. */
int handover_add_owner(struct handover_taking *taking) must_check;
/* Has the last one all its bytes? */
bool handover_given_is_whole(const struct handover_taking *taking);

#endif
