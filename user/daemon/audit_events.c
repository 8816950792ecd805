/* SPDX-License-Identifier: Apache-2.0 */
/* Audit: the records of streams, sessions and control calls. */
#include <stdio.h>
#include <string.h>

#include "core/exchange.h"
#include "core/pipeline.h"
#include "daemon/audit.h"
#include "daemon/audit_internal.h"
#include "daemon/audit_outcome.h"
#include "daemon/daemon.h"
#include "daemon/feed.h"
#include "daemon/limits.h"
#include "daemon/reason.h"
#include "daemon/settle.h"
#include "sys/clock.h"

static const struct policy_audit *settings(const struct watch *watch)
{
	/* Of a cgroup whose policy is not known: what a policy has that says nothing. */
	static const struct policy_audit unknown = {
		.on_full = POLICY_ON_FULL_CLOSE,
		.quota_bytes_per_hour = LIMIT_AUDIT_QUOTA,
	};

	return watch->policy ? &watch->policy->policy->audit : &unknown;
}

static bool is_over(struct watch *watch)
{
	return watch && !audit_quota_allows(&watch->quota, settings(watch)->quota_bytes_per_hour,
					    clock_boot_ns());
}

/* What was to be told is counted; what it settled is published with this turn. */
static bool drop(struct audit *audit, struct watch *watch)
{
	watch->quota.records++;
	audit->over_dropped++;
	audit_wake(audit);
	return false;
}

/*
 * A record of a stream that goes on, beyond its cgroup's share too, but it ends then; unless
 * the record is of those that its text may repeat without end.
 */
static bool begin_record(struct stream *stream, bool repeats, struct audit_line *line)
{
	struct audit *audit = stream->daemon->audit;
	struct watch *watch = stream->watch;

	if (!audit)
		return false;
	if (!is_over(watch))
		return audit_begin(audit, line);
	if (settings(watch)->on_full == POLICY_ON_FULL_DROP)
		return drop(audit, watch);
	if (!stream_is_settled(stream)) {
		stream->over_quota = audit->ends_over = true;
		audit_wake(audit);
	}
	return repeats ? drop(audit, watch) : audit_begin(audit, line);
}

/* What is told: of the trail, or where that takes none, of those who follow alone. */
struct telling {
	struct daemon *daemon;
	struct watch *watch;
	struct audit_line line;
	struct audit_stamp *stamp;
	bool recorded;
};

/* False: nobody is told. */
static bool begin_telling(struct telling *telling)
{
	struct daemon *daemon = telling->daemon;

	if (!telling->recorded)
		return feed_begin(&daemon->feed, &telling->line, &telling->stamp);
	telling->stamp = &daemon->audit->stamp;
	return true;
}

static bool begin(struct stream *stream, bool repeats, struct telling *telling)
{
	telling->daemon = stream->daemon;
	telling->watch = stream->watch;
	telling->recorded = begin_record(stream, repeats, &telling->line);
	return begin_telling(telling);
}

static void end(struct telling *telling, const struct audit_who *who)
{
	size_t len;

	feed_tell(telling->daemon, &telling->line, who->stream, who->cgroup);
	if (!telling->recorded)
		return;
	len = audit_end(telling->daemon->audit, &telling->line);
	if (telling->watch)
		audit_quota_charge(&telling->watch->quota, len);
}

static void tell_loss(struct audit *audit, struct audit_loss *loss, struct audit_quota *quota,
		      uint64_t now_ns)
{
	struct audit_line line;

	if (!audit_begin(audit, &line))
		return;
	loss->records = quota->records;
	loss->streams = quota->streams;
	audit_record_dropped(&line, &audit->stamp, loss);
	if (audit_end(audit, &line))
		audit_quota_told(quota, now_ns);
}

static void tell_quota(struct audit *audit, struct watch *watch, uint64_t now_ns)
{
	struct audit_loss loss = {
		.reason = reason_name(REASON_AUDIT_QUOTA),
		.policy = watch->policy ? watch->policy->policy->name : NULL,
		.cgroup = watch->path,
	};

	tell_loss(audit, &loss, &watch->quota, now_ns);
}

/* Connections that are nobody's, by reason. */
static const enum reason nameless[AUDIT_NAMELESS] = {REASON_NO_ORIGIN, REASON_STREAM_LIMIT};

void audit_connection_refused(struct daemon *daemon, enum reason reason)
{
	for (size_t i = 0; daemon->audit && i < AUDIT_NAMELESS; i++)
		if (nameless[i] == reason)
			daemon->audit->nameless[i].streams++;
}

void audit_tell_quotas(struct audit *audit, uint64_t now_ns, bool now)
{
	struct watch *watch;

	for (size_t i = 0; i < AUDIT_NAMELESS; i++) {
		struct audit_loss loss = {.reason = reason_name(nameless[i])};

		if (audit_quota_is_due(&audit->nameless[i], now ? UINT64_MAX : now_ns))
			tell_loss(audit, &loss, &audit->nameless[i], now_ns);
	}
	LIST_FOREACH(watch, &audit->daemon->watches.list, entry)
	if (audit_quota_is_due(&watch->quota, now ? UINT64_MAX : now_ns))
		tell_quota(audit, watch, now_ns);
}

void audit_watch_gone(struct daemon *daemon, struct watch *watch)
{
	if (daemon->audit && audit_quota_is_due(&watch->quota, UINT64_MAX))
		tell_quota(daemon->audit, watch, clock_boot_ns());
}

enum reason audit_refuses(struct daemon *daemon, struct watch *watch, const struct policy *policy)
{
	struct audit *audit = daemon->audit;

	if (!audit || policy->audit.on_full != POLICY_ON_FULL_CLOSE)
		return REASON_COMPLETE;
	if (audit_is_failing(audit))
		return REASON_AUDIT_FULL;
	return is_over(watch) ? REASON_AUDIT_QUOTA : REASON_COMPLETE;
}

static struct audit_who who_is(const struct stream *stream)
{
	return audit_who_of(&stream->origin, stream->policy->policy->name,
			    stream->watch ? stream->watch->path : NULL);
}

static void record_connection(struct telling *telling, const struct audit_who *who,
			      const struct sluice_origin *origin, const char *action,
			      const char *reason)
{
	char comm[SLUICE_COMM_LEN + 1], peer[SETTLE_ADDRESS_LEN];
	const struct audit_connection connection = {
		.comm = comm,
		.peer = peer,
		.action = action,
		.reason = reason,
	};

	settle_format_comm(origin, comm);
	settle_format_address(&origin->peer, peer, sizeof(peer));
	audit_record_connection(&telling->line, telling->stamp, who, &connection);
}

void audit_stream_opened(struct stream *stream)
{
	const struct audit_who who = who_is(stream);
	struct telling telling;

	if (!begin(stream, /* repeats: */ false, &telling))
		return;
	record_connection(
		&telling, &who, &stream->origin,
		policy_action_name(stream_is_relayed(stream) ? POLICY_PASS : POLICY_MEDIATE), NULL);
	end(&telling, &who);
}

/* What is refused for want of a record is counted, and told later. */
static bool count_refused(struct audit *audit, struct watch *watch, const char *reason)
{
	if (!strcmp(reason, reason_name(REASON_AUDIT_FULL))) {
		audit->refused++;
		audit->refused_untold++;
		return true;
	}
	if (!watch || strcmp(reason, reason_name(REASON_AUDIT_QUOTA)))
		return false;
	audit->over_refused++;
	watch->quota.streams++;
	return true;
}

void audit_stream_refused(struct daemon *daemon, struct watch *watch,
			  const struct sluice_origin *origin, const char *reason)
{
	const struct audit_who who =
		audit_who_of(origin, watch && watch->policy ? watch->policy->policy->name : NULL,
			     watch ? watch->path : NULL);
	struct telling telling = {.daemon = daemon, .watch = watch};
	struct audit *audit = daemon->audit;

	telling.recorded = audit && !count_refused(audit, watch, reason) &&
			   (!is_over(watch) || drop(audit, watch)) &&
			   audit_begin(audit, &telling.line);
	if (!begin_telling(&telling))
		return;
	record_connection(&telling, &who, origin, NULL, reason);
	end(&telling, &who);
}

static void fill_flows(const struct stream *stream, struct audit_settlement *settlement)
{
	for (int track = 0; track < _SESSION_TRACK_MAX; track++) {
		const struct flow *flow = &stream->flows[track];
		struct audit_figures *figures = &settlement->tracks[track];

		figures->bytes_received = flow->received;
		figures->bytes_released = flow->released;
		if (!flow->pipeline)
			continue;
		figures->flow_received = pipeline_runes(flow->pipeline);
		figures->flow_released = pipeline_released_runes(flow->pipeline);
	}
}

static const char *end_name(enum stream_end end)
{
	switch (end) {
	case STREAM_COMPLETE:
		return "complete";
	case STREAM_DENIED:
		return "denied";
	default:
		return "failed";
	}
}

void audit_stream_settled(struct stream *stream)
{
	const struct audit_who who = who_is(stream);
	struct audit_settlement settlement = {
		.end = end_name(stream->end),
		.reason = stream->reason,
	};
	struct telling telling;

	if (!begin(stream, /* repeats: */ false, &telling))
		return;
	fill_flows(stream, &settlement);
	(void)memcpy(settlement.sessions, stream->sessions, sizeof(settlement.sessions));
	audit_record_stream_settled(&telling.line, telling.stamp, &who, &settlement);
	end(&telling, &who);
}

void audit_session_opened(struct stream *stream, uint64_t number)
{
	const struct audit_who who = who_is(stream);
	struct telling telling;

	if (!begin(stream, /* repeats: */ false, &telling))
		return;
	audit_record_session_opened(&telling.line, telling.stamp, &who, number,
				    stream->policy->policy->level);
	end(&telling, &who);
}

static void record_outcome(struct stream *stream, uint64_t number, bool repeats,
			   const struct audit_outcome *outcome)
{
	const struct audit_who who = who_is(stream);
	struct telling telling;

	if (!begin(stream, repeats, &telling))
		return;
	audit_record_outcome(&telling.line, telling.stamp, &who, number, outcome);
	end(&telling, &who);
}

void audit_finding(struct stream *stream, enum session_track track,
		   const struct pipeline_finding *finding)
{
	const struct audit_outcome outcome = audit_outcome_found(track, finding);

	record_outcome(stream, finding->exchange, /* repeats: */ !finding->task->output, &outcome);
}

void audit_warned(struct stream *stream, enum session_track track, const struct pipeline_work *work,
		  bool enforcing, const struct verdict *verdict)
{
	const struct audit_outcome outcome = audit_outcome_warned(track, work, enforcing, verdict);

	record_outcome(stream, work->exchange, /* repeats: */ true, &outcome);
}

/* Who ended it, where a task or the operator did, or a task by saying nothing. */
static void tell_outcomes(struct stream *stream, uint64_t number, const struct session *session,
			  const struct session_state *state)
{
	for (int track = 0; track < _SESSION_TRACK_MAX; track++) {
		const struct pipeline *pipeline = stream->flows[track].pipeline;
		struct audit_outcome outcome;

		if (pipeline && audit_outcome_ended((enum session_track)track, pipeline, session,
						    state, &outcome))
			record_outcome(stream, number, /* repeats: */ false, &outcome);
	}
	if (state->end == SESSION_FAILED_END && state->error == SESSION_OPERATOR)
		record_outcome(stream, number, /* repeats: */ false, &audit_outcome_operator);
}

void audit_session_settled(struct stream *stream, uint64_t number, const struct session *session,
			   const struct session_state *state)
{
	const struct audit_who who = who_is(stream);
	struct audit_settlement settlement = {
		.end = session_end_name(state->end),
		.reason = session_reason(state),
	};
	struct telling telling;

	tell_outcomes(stream, number, session, state);
	if (!begin(stream, /* repeats: */ false, &telling))
		return;
	if (state->end == SESSION_FAILED_END)
		settlement.error = session_result_name(state->error);
	fill_flows(stream, &settlement);
	for (int track = 0; track < _SESSION_TRACK_MAX; track++) {
		settlement.tracks[track].received = state->track[track].received;
		settlement.tracks[track].confirmed = state->track[track].confirmed;
	}
	audit_record_session_settled(&telling.line, telling.stamp, &who, number, &settlement);
	end(&telling, &who);
}

void audit_watermark(struct stream *stream, uint64_t number, enum session_track track,
		     uint64_t confirmed)
{
	struct telling telling = {.daemon = stream->daemon, .watch = stream->watch};
	struct audit_who who;

	if (stream->policy->policy->audit.watermarks)
		telling.recorded = begin_record(stream, /* repeats: */ true, &telling.line);
	else if (!feed_wants(&stream->daemon->feed, FEED_WATERMARK))
		return;
	if (!begin_telling(&telling))
		return;
	who = who_is(stream);
	audit_record_watermark(&telling.line, telling.stamp, &who, number, track, confirmed);
	end(&telling, &who);
}

void audit_refusal(struct stream *stream, const char *reason, const char *task)
{
	static const char *const places[] = {
		[REFUSAL_MESSAGE] = "message", [REFUSAL_CHUNK] = "chunk",
		[REFUSAL_CHUNKS] = "chunks",   [REFUSAL_LENGTH] = "length",
		[REFUSAL_PLAIN] = "plain",     [REFUSAL_WEBSOCKET] = "websocket",
		[REFUSAL_JSONRPC] = "jsonrpc",
	};
	const struct audit_who who = who_is(stream);
	struct telling telling;

	if (!begin(stream, /* repeats: */ false, &telling))
		return;
	audit_record_refusal(&telling.line, telling.stamp, &who,
			     exchanges_number(stream->exchanges, SESSION_RESPONSE), task, reason,
			     places[stream->refusing.mark.place]);
	end(&telling, &who);
}

void audit_control(struct daemon *daemon, const struct audit_call *call)
{
	const struct audit_control_call record = {
		.uid = call->uid,
		.pid = call->pid,
		.method = call->method,
		.target = call->target,
		.result = call->result,
	};
	const struct audit_who nobody = {0};
	struct telling telling = {.daemon = daemon};
	struct audit *audit = daemon->audit;

	telling.recorded = audit && audit_begin(audit, &telling.line);
	if (!begin_telling(&telling))
		return;
	audit_record_control(&telling.line, telling.stamp, &record);
	end(&telling, &nobody);
	if (audit)
		audit_flush(audit);
}
