/* SPDX-License-Identifier: Apache-2.0 */
/* Control method `audit.head`. */
#include "daemon/audit.h"
#include "daemon/control.h"
#include "daemon/daemon.h"

int control_audit_head(struct control_call *call, json_t **ret_result)
{
	if (!call->daemon->audit)
		return control_fail(call, CONTROL_FAILED,
				    "this daemon keeps no audit trail; start it with --audit DIR");
	*ret_result = audit_head_json(call->daemon);
	return 0;
}
