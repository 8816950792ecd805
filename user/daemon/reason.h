/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a stream ended. Names match [a-z0-9_.:-]{1,64} and are part of what
 * metrics, logs and summaries show; a task's denial is "denied:TASK" instead.
 */
#ifndef SLUICE_DAEMON_REASON_H
#define SLUICE_DAEMON_REASON_H

#include "core/fault.h"

enum reason {
	REASON_COMPLETE,
	REASON_OPERATOR,
	REASON_UPSTREAM_REFUSED,
	REASON_UPSTREAM_TIMEOUT,
	REASON_UPSTREAM_UNREACHABLE,
	REASON_NO_ORIGIN,
	REASON_NO_POLICY,
	REASON_POLICY_DENIED,
	REASON_CLIENT_RESET,
	REASON_PEER_RESET,
	REASON_STREAM_LIMIT,
	REASON_SLOT_LIMIT,
	REASON_OUT_OF_MEMORY,
	REASON_INTERNAL, /* a kernel operation on a socket of the daemon failed */
	REASON_RUN_FINISHED,
	REASON_SHUTDOWN,
	REASON_HOST_DIED,
	REASON_AUDIT_FULL,  /* the audit trail cannot be written */
	REASON_AUDIT_QUOTA, /* the cgroup has used its share of the trail up */
	REASON_HANDED_OVER, /* amid a message when a successor took over */
	_REASON_MAX,
};

/* Never NULL. */
const char *reason_name(enum reason reason);
/* The reason a fault gives; memory and accounting have names of their own. */
const char *reason_of_fault(enum fault fault);

#endif
