/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stream: one captured connection, the agent's side and the upstream side, its
 * two flows, and the exchanges over them with their sessions.
 *
 * States, in order, never back:
 *  CONNECTING  the upstream has not answered; nothing is read
 *  OPEN        both flows run
 *  DRAINING    settled, not complete: what was released is on its way, then a reset;
 *              or, to the agent, a refusal and our end
 *  LINGERING   settled, complete: what the kernel has of it is being acknowledged
 *  DEAD        closed; freed when the callback that closed it is over
 *
 * Invariants:
 *  M1. Every stream settles exactly once, on leaving CONNECTING or OPEN.
 *  M2. Its record in the kernel is written before a byte moves and taken away
 *      when it settles.
 *  M3. Its slots keep their generation until nothing released waits in the kernel.
 */
#ifndef SLUICE_DAEMON_STREAM_H
#define SLUICE_DAEMON_STREAM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/macros.h"
#include "core/fault.h"
#include "core/policy.h"
#include "core/session.h"
#include "daemon/endpoint.h"
#include "daemon/flow.h"
#include "daemon/refusing.h"
#include "sluice/abi.h"

struct daemon;
struct exchanges;
struct handover_stream;
struct loaded_policy;
struct watch;

enum stream_state {
	STREAM_CONNECTING,
	STREAM_OPEN,
	STREAM_DRAINING,
	STREAM_LINGERING,
	STREAM_DEAD,
	_STREAM_STATE_MAX,
};

/* How a stream settled. */
enum stream_end { STREAM_UNSETTLED, STREAM_COMPLETE, STREAM_DENIED, STREAM_FAILED };

struct stream {
	LIST_ENTRY(stream) bucket;   /* of the table */
	TAILQ_ENTRY(stream) entry;   /* of all, then of the dead */
	TAILQ_ENTRY(stream) closing; /* DRAINING, LINGERING */
	struct daemon *daemon;
	struct watch *watch; /* NULL: no longer watched */
	struct loaded_policy *policy;
	const struct policy_destination *destination; /* NULL: the policy's defaults */
	struct exchanges *exchanges;		      /* NULL: relayed */
	uint64_t sessions[_SESSION_END_MAX];	      /* those that ended, by how */
	struct endpoint agent, peer;
	struct flow flows[_SESSION_TRACK_MAX];
	struct sluice_origin origin;
	uint64_t asked; /* of interceptors, of all its sessions */
	uint64_t opened_ns, deadline_ns, closing_ns;
	enum stream_state state;
	enum stream_end end;
	struct refusing refusing;
	/* A policy that observes met what cannot be framed or judged: both flows go on unjudged. */
	bool unjudged;
	/* Both flows have ended well; tasks that enforce nothing may still have verdicts to come. */
	bool over;
	bool parked;   /* between two messages, and not read: another process is to have it */
	bool given;    /* it has */
	uint64_t told; /* sessions below that number are in the trail already */
	const struct handover_stream *handed; /* while it is taken over */
	bool over_quota;    /* recorded beyond its cgroup's share of the audit trail */
	const char *reason; /* once settled; lives as long as the policy or the program */
	char *failure;	    /* which interceptor gave no verdict, and why; or NULL */
};

TAILQ_HEAD(stream_list, stream);

#define STREAM_BUCKETS 8192u

struct stream_table {
	LIST_HEAD(, stream) buckets[STREAM_BUCKETS];
	struct stream_list all, dead;
	size_t count;
};

void stream_table_init(struct stream_table *table);
/* NULL: no such stream. */
struct stream *stream_find(struct stream_table *table, uint64_t id);

/*
 * A stream in CONNECTING, without its upstream; takes fd over. -ENOSPC: no slot
 * is free. -ENOMEM. Other errors: a kernel operation failed. On failure fd is the caller's.
 */
int stream_new(struct daemon *daemon, int fd, const struct sluice_origin *origin,
	       struct loaded_policy *policy, const struct policy_destination *destination,
	       struct watch *watch, struct stream **ret_stream) must_check;
/* The upstream is connected: the flows run. */
void stream_open(struct stream *stream);

/* What another process gave: borrowed, but the descriptors, which are taken over. */
struct stream_legacy {
	const struct handover_stream *handed;
	const struct sluice_open_stream *open; /* the kernel's record of it, whose slots it has */
	struct loaded_policy *policy;
	int agent, peer;
	const uint8_t *bytes[_SESSION_TRACK_MAX]; /* sent..received */
};
/* A stream as it was there, which rests until flow_resume(). Errors and fds as stream_new(). */
int stream_adopt(struct daemon *daemon, const struct stream_legacy *legacy, struct watch *watch,
		 struct stream **ret_stream) must_check;
/* The other way: another process has it, with its record and its slots. DEAD afterwards. */
void stream_leave(struct stream *stream);
/* Frees the dead. At the end of every callback of the loop. */
void stream_reap(struct daemon *daemon);

const struct framing *stream_framing(const struct stream *stream);
bool stream_is_relayed(const struct stream *stream);
bool stream_is_settled(const struct stream *stream);
/* Sessions that have begun and not ended. */
size_t stream_open_sessions(const struct stream *stream);

/*
 * What ends a stream. Each settles it, unless it has, and leaves it DRAINING or
 * DEAD. flow: the one it happened in, or NULL. Under a policy that observes a fault
 * ends nothing but the judging.
 */
void stream_fault(struct stream *stream, struct flow *flow, enum fault fault);
void stream_fail(struct stream *stream, struct flow *flow, const char *reason);
void stream_deny(struct stream *stream);
/* A socket of it was reset, or failed: passed on to the other at once. */
void stream_broken(struct stream *stream, struct endpoint *endpoint);
/* Settles it as complete where both ends were sent on. */
void stream_check_complete(struct stream *stream);
/* Closes both sockets, gives the slots back; DEAD afterwards. */
void stream_close(struct stream *stream, bool reset);

#endif
