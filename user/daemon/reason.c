/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/reason.h"

#include <assert.h>

#include "base/macros.h"

static const char *const names[] = {
	[REASON_COMPLETE] = "complete",
	[REASON_OPERATOR] = "operator",
	[REASON_UPSTREAM_REFUSED] = "upstream_refused",
	[REASON_UPSTREAM_TIMEOUT] = "upstream_timeout",
	[REASON_UPSTREAM_UNREACHABLE] = "upstream_unreachable",
	[REASON_NO_ORIGIN] = "no_origin",
	[REASON_NO_POLICY] = "no_policy",
	[REASON_POLICY_DENIED] = "policy_denied",
	[REASON_CLIENT_RESET] = "client_reset",
	[REASON_PEER_RESET] = "peer_reset",
	[REASON_STREAM_LIMIT] = "stream_limit",
	[REASON_SLOT_LIMIT] = "slot_limit",
	[REASON_OUT_OF_MEMORY] = "out_of_memory",
	[REASON_INTERNAL] = "internal",
	[REASON_RUN_FINISHED] = "run_finished",
	[REASON_SHUTDOWN] = "shutdown",
	[REASON_HOST_DIED] = "host_died",
	[REASON_AUDIT_FULL] = "audit_full",
	[REASON_AUDIT_QUOTA] = "audit_quota",
	[REASON_HANDED_OVER] = "handed_over",
};
_Static_assert(ARRAY_SIZE(names) == _REASON_MAX, "every reason has a name");

const char *reason_name(enum reason reason)
{
	assert(reason < _REASON_MAX);
	return names[reason];
}

const char *reason_of_fault(enum fault fault)
{
	return fault == FAULT_NO_MEMORY ? names[REASON_OUT_OF_MEMORY] : fault_name(fault);
}
