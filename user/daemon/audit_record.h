/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of an audit trail, one function a kind: the line up to what seals it
 * (core/audit_chain.h). The members of a kind are always all there and in the same order;
 * what does not apply is null.
 *
 * Texts are of the policy, of paths and of processes, never of a stream. They are written
 * as JSON strings of at most AUDIT_TEXT_MAX bytes, quotes included, with '?' for each byte of
 * a control character, U+0080 to U+009F too, and for each that is not UTF-8. Offsets and counts
 * of runes belong to the session; what has "flow" or "bytes" in its name to the whole flow, as
 * it was then.
 */
#ifndef SLUICE_DAEMON_AUDIT_RECORD_H
#define SLUICE_DAEMON_AUDIT_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "core/audit_chain.h"
#include "core/session.h"

#define AUDIT_TEXT_MAX 512u

/* A line under way: at least AUDIT_RECORD_MAX bytes of room. */
struct audit_line {
	char *text;
	size_t len;
	const char *event;
	/* Where its time begins, its event, with a comma, and what follows that. */
	size_t time_at, event_at, rest_at;
};

/* The number and time of a record. The text of a second is kept, since it seldom changes. */
struct audit_stamp {
	uint64_t seq;
	struct timespec time; /* CLOCK_REALTIME */
	time_t second;
	char second_text[24];
};

/* Whose record it is. NULL: not known. */
struct audit_who {
	uint64_t stream;
	const char *policy, *cgroup;
	uint32_t pid, uid;
};

/* An accepted connection. reason: why it was refused; NULL where action is what became of it. */
struct audit_connection {
	const char *comm, *peer, *action, *reason;
};

/* by: "task", "watcher", "output" or "operator"; without a task the members of it are null. */
#define AUDIT_WARNED_MAX 4u

struct audit_outcome {
	bool has_track, has_span, has_rule;
	enum session_track track;
	uint64_t start, end;
	const char *task;
	uint32_t rule;
	const char *decision, *by;
	bool enforcing;
	/* Of an interceptor; NULL where it gave none. Never its words, but for the reasons. */
	const char *reason, *evidence; /* evidence: its digest */
	uint32_t warnings;
	const char
		*warned[AUDIT_WARNED_MAX]; /* reasons of the first ones, "" where there is none */
};

struct audit_figures {
	uint64_t received, confirmed;	       /* runes of the session; not for a stream */
	uint64_t flow_received, flow_released; /* runes */
	uint64_t bytes_received, bytes_released;
};

/* end, error, reason: names; error and reason may be NULL. */
struct audit_settlement {
	const char *end, *error, *reason;
	struct audit_figures tracks[_SESSION_TRACK_MAX];
	uint64_t sessions[_SESSION_END_MAX]; /* of a stream */
};

struct audit_control_call {
	uint32_t uid;
	int32_t pid;
	const char *method, *target, *result;
};

/* Of records that were not written: why, whose (NULL: all of them), how many of what. */
struct audit_loss {
	const char *reason, *policy, *cgroup;
	uint64_t records, streams;
};

void audit_record_file(struct audit_line *line, struct audit_stamp *stamp, const char *previous,
		       uint64_t oldest);
/* Room was wanted: the oldest file that is left begins with that record. */
void audit_record_pruned(struct audit_line *line, struct audit_stamp *stamp, uint64_t oldest);
void audit_record_started(struct audit_line *line, struct audit_stamp *stamp, const char *instance,
			  uint32_t pid, bool continues);
void audit_record_stopped(struct audit_line *line, struct audit_stamp *stamp);
void audit_record_handed_over(struct audit_line *line, struct audit_stamp *stamp, uint32_t pid,
			      uint64_t streams, uint64_t settled);
/* A predecessor's last record was not whole: so many bytes were cut off. */
void audit_record_recovered(struct audit_line *line, struct audit_stamp *stamp, const char *file,
			    uint64_t bytes);
void audit_record_dropped(struct audit_line *line, struct audit_stamp *stamp,
			  const struct audit_loss *loss);
void audit_record_control(struct audit_line *line, struct audit_stamp *stamp,
			  const struct audit_control_call *call);

/* Of no trail, but told to who follows (daemon/feed.h). peer: NULL where there is none. */
void audit_record_fence(struct audit_line *line, struct audit_stamp *stamp,
			const struct audit_who *who, const char *kind, const char *comm,
			const char *peer);
void audit_record_watch(struct audit_line *line, struct audit_stamp *stamp, bool watched,
			const char *cgroup, const char *policy, const char *kind);
void audit_record_policy(struct audit_line *line, struct audit_stamp *stamp, const char *policy,
			 const char *digest);

/* "stream_opened", or "stream_refused" where there is a reason. */
void audit_record_connection(struct audit_line *line, struct audit_stamp *stamp,
			     const struct audit_who *who,
			     const struct audit_connection *connection);
void audit_record_stream_settled(struct audit_line *line, struct audit_stamp *stamp,
				 const struct audit_who *who,
				 const struct audit_settlement *settlement);
void audit_record_session_opened(struct audit_line *line, struct audit_stamp *stamp,
				 const struct audit_who *who, uint64_t session,
				 enum session_level level);
void audit_record_outcome(struct audit_line *line, struct audit_stamp *stamp,
			  const struct audit_who *who, uint64_t session,
			  const struct audit_outcome *outcome);
void audit_record_watermark(struct audit_line *line, struct audit_stamp *stamp,
			    const struct audit_who *who, uint64_t session, enum session_track track,
			    uint64_t confirmed);
void audit_record_refusal(struct audit_line *line, struct audit_stamp *stamp,
			  const struct audit_who *who, uint64_t session, const char *task,
			  const char *reason, const char *place);
void audit_record_session_settled(struct audit_line *line, struct audit_stamp *stamp,
				  const struct audit_who *who, uint64_t session,
				  const struct audit_settlement *settlement);

#endif
