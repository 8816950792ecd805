/* SPDX-License-Identifier: Apache-2.0 */
/* Audit: the records of what a dead predecessor left open. */
#include <inttypes.h>
#include <stdio.h>

#include "daemon/audit.h"
#include "daemon/audit_internal.h"
#include "daemon/daemon.h"
#include "daemon/reason.h"

/* "#" and a number, of what has no name any more. */
struct numbers {
	char policy[24], cgroup[24];
};

static struct audit_who who_was(const struct daemon *daemon, const struct sluice_open_stream *open,
				struct numbers *numbers)
{
	const struct loaded_policy *loaded = policies_find(&daemon->policies, open->origin.policy);
	const struct watch *watch = watch_find(&daemon->watches, open->origin.cgroup);

	(void)snprintf(numbers->policy, sizeof(numbers->policy), "#%" PRIu32,
		       (uint32_t)open->origin.policy);
	(void)snprintf(numbers->cgroup, sizeof(numbers->cgroup), "#%" PRIu64,
		       (uint64_t)open->origin.cgroup);
	return audit_who_of(&open->origin, loaded ? loaded->policy->name : numbers->policy,
			    watch ? watch->path : numbers->cgroup);
}

static void fill_left(const struct audit_left_track tracks[_SESSION_TRACK_MAX],
		      struct audit_settlement *settlement)
{
	for (int i = 0; i < _SESSION_TRACK_MAX; i++)
		settlement->tracks[i] = (struct audit_figures){
			.received = tracks[i].runes_received,
			.confirmed = tracks[i].runes_confirmed,
			.flow_received = tracks[i].runes_received,
			.flow_released = tracks[i].runes_confirmed,
			.bytes_received = tracks[i].bytes_received,
			.bytes_released = tracks[i].bytes_released,
		};
}

void audit_session_left(struct daemon *daemon, const struct sluice_open_stream *open,
			uint64_t number, const struct audit_left_track tracks[_SESSION_TRACK_MAX])
{
	const struct session_state died = {.end = SESSION_FAILED_END, .error = SESSION_HOST_DIED};
	struct audit_settlement settlement = {
		.end = session_end_name(died.end),
		.error = session_result_name(died.error),
		.reason = session_reason(&died),
	};
	struct numbers numbers;
	const struct audit_who who = who_was(daemon, open, &numbers);
	struct audit *audit = daemon->audit;
	struct audit_line line;

	if (!audit || !audit_begin(audit, &line))
		return;
	fill_left(tracks, &settlement);
	audit_record_session_settled(&line, &audit->stamp, &who, number, &settlement);
	(void)audit_end(audit, &line);
}

void audit_stream_left(struct daemon *daemon, const struct sluice_open_stream *open,
		       unsigned int sessions,
		       const struct audit_left_track tracks[_SESSION_TRACK_MAX])
{
	struct audit_settlement settlement = {
		.end = session_end_name(SESSION_FAILED_END),
		.reason = reason_name(REASON_HOST_DIED),
		.sessions = {[SESSION_FAILED_END] = sessions},
	};
	struct numbers numbers;
	const struct audit_who who = who_was(daemon, open, &numbers);
	struct audit *audit = daemon->audit;
	struct audit_line line;

	if (!audit || !audit_begin(audit, &line))
		return;
	fill_left(tracks, &settlement);
	audit_record_stream_settled(&line, &audit->stamp, &who, &settlement);
	(void)audit_end(audit, &line);
}
