/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/audit_quota.h"

#include "base/macros.h"
#include "sys/clock.h"

#define NS_PER_HOUR  (3600 * CLOCK_NS_PER_S)
#define PER_HOUR_MAX (1ull << 62)

bool audit_quota_allows(struct audit_quota *quota, uint64_t per_hour, uint64_t now_ns)
{
	uint64_t elapsed_ns = now_ns - quota->filled_ns, bytes;

	if (!per_hour)
		return true;
	per_hour = MIN(per_hour, PER_HOUR_MAX);
	if (!quota->begun || elapsed_ns >= NS_PER_HOUR) {
		int64_t debt = quota->begun && quota->bytes < 0 ? quota->bytes : 0;

		quota->begun = true;
		quota->bytes = (int64_t)per_hour + debt;
		quota->filled_ns = now_ns;
		return quota->bytes > 0;
	}
	bytes = (uint64_t)((unsigned __int128)per_hour * elapsed_ns / NS_PER_HOUR);
	if (bytes) {
		/* Only the time of whole bytes is spent, so that none are lost between two looks. */
		quota->filled_ns +=
			(uint64_t)(((unsigned __int128)bytes * NS_PER_HOUR + per_hour - 1) /
				   per_hour);
		quota->bytes = MIN(quota->bytes + (int64_t)bytes, (int64_t)per_hour);
	}
	return quota->bytes > 0;
}

void audit_quota_charge(struct audit_quota *quota, uint64_t bytes)
{
	quota->bytes -= (int64_t)bytes;
}

bool audit_quota_is_due(const struct audit_quota *quota, uint64_t now_ns)
{
	return (quota->records || quota->streams) &&
	       (!quota->told_ns || now_ns - quota->told_ns >= CLOCK_NS_PER_S);
}

void audit_quota_told(struct audit_quota *quota, uint64_t now_ns)
{
	quota->records = quota->streams = 0;
	quota->told_ns = now_ns;
}
