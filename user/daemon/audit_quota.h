/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The share of the audit trail that a watched cgroup may fill: a bucket of bytes that fills
 * at so many an hour and holds an hour's. A record is written while there is something in
 * it, and may overdraw it by its own length.
 *
 * Units: bytes, and nanoseconds of the boot clock.
 */
#ifndef SLUICE_DAEMON_AUDIT_QUOTA_H
#define SLUICE_DAEMON_AUDIT_QUOTA_H

#include <stdbool.h>
#include <stdint.h>

/* All zero at the beginning. */
struct audit_quota {
	bool begun;
	int64_t bytes;
	uint64_t filled_ns;
	/* Not written, since the last record that said so. */
	uint64_t records, streams;
	uint64_t told_ns;
};

/* Whether a record may be written; per_hour 0: any may. */
bool audit_quota_allows(struct audit_quota *quota, uint64_t per_hour, uint64_t now_ns);
void audit_quota_charge(struct audit_quota *quota, uint64_t bytes);
/* Whether it is time to tell what was not written: there is some, and no more than one a second. */
bool audit_quota_is_due(const struct audit_quota *quota, uint64_t now_ns);
void audit_quota_told(struct audit_quota *quota, uint64_t now_ns);

#endif
