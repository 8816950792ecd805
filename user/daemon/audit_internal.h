/* SPDX-License-Identifier: Apache-2.0 */
/* The audit trail of a daemon, as the parts of audit.h share it. */
#ifndef SLUICE_DAEMON_AUDIT_INTERNAL_H
#define SLUICE_DAEMON_AUDIT_INTERNAL_H

#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/audit_chain.h"
#include "daemon/audit_file.h"
#include "daemon/audit_quota.h"
#include "daemon/audit_record.h"
#include "daemon/audit_syncer.h"
#include "daemon/audit_tail.h"
#include "sluice/abi.h"

#define AUDIT_NAMELESS 2u /* reasons */

struct audit {
	struct daemon *daemon;
	struct audit_chain chain;
	struct audit_head written; /* the last record that is in the file */
	struct audit_file file;
	struct audit_syncer syncer;
	struct audit_stamp stamp;
	struct event flush; /* of this turn's records */
	bool following;	    /* there is a loop */
	bool running;	    /* open for business: what may wait is the syncer's */
	bool continues;	    /* a predecessor wrote before */
	char *buffer;	    /* whole records; those before `sent` are written */
	size_t used, sent;
	int error;	/* of the last write; 0: it worked */
	int sync_error; /* of the last sync */
	int lost;	/* of the last look at the file: nothing is written to it */
	bool unsynced;
	struct audit_tail tail; /* as a predecessor left it */
	bool grows;		/* no next file could be made */
	uint64_t size_max;
	size_t keep;
	uint64_t synced_ns, told_ns, checked_ns;
	bool ends_full, ends_over; /* streams are to be ended at the end of the turn */
	/* Since the start; untold: since the last record that said so. */
	uint64_t records, bytes, errors, dropped, refused, dropped_untold, refused_untold;
	uint64_t over_dropped, over_refused; /* of a quota */
	/* Connections that are nobody's: what of them was not told. */
	struct audit_quota nameless[AUDIT_NAMELESS];
};

/* policy, cgroup: by name; NULL where it is not known. */
static inline struct audit_who audit_who_of(const struct sluice_origin *origin, const char *policy,
					    const char *cgroup)
{
	return (struct audit_who){
		.stream = origin->stream,
		.policy = policy,
		.cgroup = cgroup,
		.pid = origin->pid,
		.uid = origin->uid,
	};
}

/* Room for one more record; false: it is dropped, and counted. */
bool audit_begin(struct audit *audit, struct audit_line *line) must_check;
/* Seals it; it is written by the end of the turn. Returns its bytes; 0: it was dropped. */
size_t audit_end(struct audit *audit, const struct audit_line *line);
/* Writes what waits, and begins the next file where this one is full. */
int audit_write_out(struct audit *audit);
/* The same, unless it has just failed: then the tick tries again. */
void audit_flush(struct audit *audit);
/* Asks for what is done at the end of the turn. */
void audit_wake(struct audit *audit);
/* Begins a file; where it cannot, the one before grows. */
int audit_next_file(struct audit *audit) must_check;
/* Syncs it, closes it where it is `last`, and then tells the head. */
void audit_sync_file(struct audit *audit, int fd, bool last, bool tell);
/* Syncs once a second, and not while the last one still runs. */
void audit_sync_tick(struct audit *audit, uint64_t now_ns);
/* Looks once a second whether the file is still there, and whole. */
void audit_check_tick(struct audit *audit, uint64_t now_ns);
bool audit_is_failing(const struct audit *audit);
/* What of a quota was not written is told, where it is time for it or `now`. */
void audit_tell_quotas(struct audit *audit, uint64_t now_ns, bool now);

#endif
