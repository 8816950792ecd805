/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Audit: what the daemon did to each session, kept where nobody can change it unseen
 * (core/audit_chain.h has the form of a record, daemon/audit_file.h its files).
 *
 * Invariants:
 *  T1. No record has text of a stream: identities, offsets, counts, names of the policy and
 *      of reasons, and the name of a process made printable (design 6, obligation 3).
 *  T2. What a turn of the loop recorded is written before the loop sleeps.
 *  T3. Where records cannot be written, no stream whose policy says on_full: close goes on,
 *      and none begins.
 *  T4. A watched cgroup causes no more records than its policy's quota: what is over is
 *      counted, and told by one record a second at most. Under on_full: close its streams end
 *      at the end of that turn, and how they and their sessions did is recorded.
 *
 * What is told of streams, sessions and calls is also told to who follows it (daemon/feed.h),
 * with or without a trail; without one the rest does nothing. Of the functions that take a stream none
 * ends it: that is done at the end of the turn.
 */
#ifndef SLUICE_DAEMON_AUDIT_H
#define SLUICE_DAEMON_AUDIT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/session.h"
#include "daemon/reason.h"
#include "sluice/abi.h"

struct audit;
struct daemon;
struct pipeline_finding;
struct pipeline_work;
struct verdict;
struct policy;
struct stream;
struct watch;

/* Opens the trail that the options name, if any. error has the line where it fails. */
int audit_open(struct daemon *daemon, char *error, size_t error_len) must_check;
/* What tells the open trail from others: the file of its lock. 0 and 0: none is open. */
void audit_identify(const struct daemon *daemon, uint64_t *ret_device, uint64_t *ret_file);
/* Is it the one that the options name? */
bool audit_is_named(const struct daemon *daemon, uint64_t device, uint64_t file);
/* Follows the loop, once there is one: needed before a stream begins. -ENOMEM. */
int audit_follow(struct daemon *daemon) must_check;
/* The daemon is open for business: says so in the trail. Errors of pthread_create(3). */
int audit_started(struct daemon *daemon) must_check;
/* Another process goes on with so many streams; so many could not be, and have settled. */
void audit_handed_over(struct daemon *daemon, uint32_t pid, uint64_t streams, uint64_t settled);
/* Writes and syncs what is left, behind a record that says so where it had started. */
void audit_close(struct daemon *daemon);
/* Tries again to write, syncs once a second, tells the head from time to time. */
void audit_tick(struct daemon *daemon, uint64_t now_ns);
/* Writes what was recorded, and does not wait for the disk. 0 also without a trail. */
int audit_write(struct daemon *daemon) must_check;
/*
 * Did a process that died write of it that it settled, the session or (NULL) the stream? Of
 * those that the kernel still has as open when the trail is opened; false without a trail.
 */
bool audit_is_told(const struct daemon *daemon, uint64_t stream, const uint64_t *session);

/*
 * May a stream of that policy begin? REASON_COMPLETE, or why not: REASON_AUDIT_FULL,
 * REASON_AUDIT_QUOTA. watch: NULL where it is not known.
 */
enum reason audit_refuses(struct daemon *daemon, struct watch *watch, const struct policy *policy);
/* A watch is about to be forgotten: tells what of it was not told. */
void audit_watch_gone(struct daemon *daemon, struct watch *watch);

/* A stream begins, before its first session; it settled, after its last one. */
void audit_stream_opened(struct stream *stream);
void audit_stream_settled(struct stream *stream);
/* An accepted connection that is no stream. watch: NULL where it is not known. */
void audit_stream_refused(struct daemon *daemon, struct watch *watch,
			  const struct sluice_origin *origin, const char *reason);
/* One of which nothing is known, and no quota bounds: told by one record a second at most. */
void audit_connection_refused(struct daemon *daemon, enum reason reason);

/*
 * number counts the exchanges of the stream from 0. The end of one that was denied or
 * rewritten, by whomever, is told by a record of the outcome and one of the end.
 */
void audit_session_opened(struct stream *stream, uint64_t number);
void audit_session_settled(struct stream *stream, uint64_t number, const struct session *session,
			   const struct session_state *state);
/* A watcher found what gates nothing, or what ends the session when it is complete. */
void audit_finding(struct stream *stream, enum session_track track,
		   const struct pipeline_finding *finding);
/* An interceptor allows, and warns. */
void audit_warned(struct stream *stream, enum session_track track, const struct pipeline_work *work,
		  bool enforcing, const struct verdict *verdict);
/* A watermark moved: recorded where the policy asks for that. */
void audit_watermark(struct stream *stream, uint64_t number, enum session_track track,
		     uint64_t confirmed);
/* What the receiver is told: task NULL where none denied. */
void audit_refusal(struct stream *stream, const char *reason, const char *task);

/* What a dead predecessor's records say of a flow, or of a track of a session. */
struct audit_left_track {
	uint64_t bytes_received, bytes_released;
	uint64_t runes_received, runes_confirmed;
};
/*
 * Settled as host_died: one session of such a stream, and then the stream, with the number of
 * them. The policy and the cgroup are named where they are known by now, else by "#NUMBER".
 */
void audit_session_left(struct daemon *daemon, const struct sluice_open_stream *open,
			uint64_t number, const struct audit_left_track tracks[_SESSION_TRACK_MAX]);
void audit_stream_left(struct daemon *daemon, const struct sluice_open_stream *open,
		       unsigned int sessions,
		       const struct audit_left_track tracks[_SESSION_TRACK_MAX]);

/* A control call that changes something: recorded before it is answered. target: NULL where there is none. */
struct audit_call {
	const char *method;
	uint32_t uid;
	int32_t pid;
	const char *target;
	const char *result; /* "done", or why not */
};
void audit_control(struct daemon *daemon, const struct audit_call *call);

/* Counts since the start. */
struct audit_counts {
	uint64_t records, bytes, errors, dropped, refused, quota_dropped, quota_refused;
	size_t files;
	bool failing;
};
/* False: there is no trail. */
bool audit_counts(const struct daemon *daemon, struct audit_counts *ret_counts) must_check;
/*
 * {"directory", "head", "records", "bytes", "files", "failing", "errors", "dropped",
 * "refused", "quota": {"dropped", "refused"}}: counts since the start; null without a trail.
 * A new reference, NULL without memory.
 */
json_t *audit_status_json(const struct daemon *daemon) must_check;
/* {"seq", "hash", "directory"} of the last record that is written; as above. */
json_t *audit_head_json(struct daemon *daemon) must_check;

#endif
