/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tail of an audit trail, as a successor finds it: which sessions and streams it says
 * settled. What a process wrote last may not have reached the kernel's record of what is
 * open (daemon/ledger.h) when it died: never more than what lies in the tail.
 */
#ifndef SLUICE_DAEMON_AUDIT_TAIL_H
#define SLUICE_DAEMON_AUDIT_TAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

struct audit_file;

struct audit_told {
	uint64_t stream;
	uint64_t session; /* UINT64_MAX: the stream itself */
};

struct audit_tail {
	struct audit_told *told; /* sorted */
	size_t count, capacity;
};

/* The last len bytes of the newest files, whole lines. -ENOMEM, or that of reading. */
int audit_tail_read(struct audit_tail *tail, const struct audit_file *file, size_t len) must_check;
/* Adds what these lines say; the first is left out where it has lost its begin. -ENOMEM. */
int audit_tail_add(struct audit_tail *tail, const char *text, size_t len) must_check;
/* Once all is added, before the first question. */
void audit_tail_sort(struct audit_tail *tail);
/* Has it settled, the session or (NULL) the stream itself? */
bool audit_tail_has(const struct audit_tail *tail, uint64_t stream, const uint64_t *session);
void audit_tail_done(struct audit_tail *tail);

#endif
