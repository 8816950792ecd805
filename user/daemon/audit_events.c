/* SPDX-License-Identifier: Apache-2.0 */
/* Audit: the records of streams, sessions and control calls. */
#include <stdio.h>
#include <string.h>

#include "core/exchange.h"
#include "core/pipeline.h"
#include "daemon/audit.h"
#include "daemon/audit_internal.h"
#include "daemon/daemon.h"
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
static bool begin(struct stream *stream, bool repeats, struct audit_line *line)
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

static void end(struct audit *audit, struct watch *watch, const struct audit_line *line)
{
	size_t len = audit_end(audit, line);

	if (watch)
		audit_quota_charge(&watch->quota, len);
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

static void record_connection(struct audit *audit, struct audit_line *line,
			      const struct audit_who *who, const struct sluice_origin *origin,
			      const char *action, const char *reason)
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
	audit_record_connection(line, &audit->stamp, who, &connection);
}

void audit_stream_opened(struct stream *stream)
{
	const struct audit_who who = who_is(stream);
	struct audit *audit = stream->daemon->audit;
	struct audit_line line;

	if (!begin(stream, /* repeats: */ false, &line))
		return;
	record_connection(
		audit, &line, &who, &stream->origin,
		policy_action_name(stream_is_relayed(stream) ? POLICY_PASS : POLICY_MEDIATE), NULL);
	end(audit, stream->watch, &line);
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
	struct audit *audit = daemon->audit;
	struct audit_line line;

	if (!audit || count_refused(audit, watch, reason) ||
	    (is_over(watch) && !drop(audit, watch)) || !audit_begin(audit, &line))
		return;
	record_connection(audit, &line, &who, origin, NULL, reason);
	end(audit, watch, &line);
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
	struct audit *audit = stream->daemon->audit;
	struct audit_settlement settlement = {
		.end = end_name(stream->end),
		.reason = stream->reason,
	};
	struct audit_line line;

	if (!begin(stream, /* repeats: */ false, &line))
		return;
	fill_flows(stream, &settlement);
	(void)memcpy(settlement.sessions, stream->sessions, sizeof(settlement.sessions));
	audit_record_stream_settled(&line, &audit->stamp, &who, &settlement);
	end(audit, stream->watch, &line);
}

void audit_session_opened(struct stream *stream, uint64_t number)
{
	const struct audit_who who = who_is(stream);
	struct audit *audit = stream->daemon->audit;
	struct audit_line line;

	if (!begin(stream, /* repeats: */ false, &line))
		return;
	audit_record_session_opened(&line, &audit->stamp, &who, number,
				    stream->policy->policy->level);
	end(audit, stream->watch, &line);
}

static void record_outcome(struct stream *stream, uint64_t number, bool repeats,
			   const struct audit_outcome *outcome)
{
	const struct audit_who who = who_is(stream);
	struct audit *audit = stream->daemon->audit;
	struct audit_line line;

	if (!begin(stream, repeats, &line))
		return;
	audit_record_outcome(&line, &audit->stamp, &who, number, outcome);
	end(audit, stream->watch, &line);
}

void audit_finding(struct stream *stream, uint64_t number, enum session_track track,
		   const struct pipeline_finding *finding)
{
	const struct audit_outcome outcome = {
		.has_track = true,
		.has_span = true,
		.has_rule = true,
		.track = track,
		.start = finding->start,
		.end = finding->end,
		.task = finding->task->name,
		.rule = finding->rule,
		.decision = "denied",
		.by = finding->task->output ? "output" : "watcher",
		.enforcing = finding->task->output,
	};

	record_outcome(stream, number, /* repeats: */ !finding->task->output, &outcome);
}

/* The task that ended it, where one did; the finding of one of `output` was told before. */
static void tell_outcome(struct stream *stream, uint64_t number, const struct session *session,
			 const struct session_state *state)
{
	const struct pipeline *pipeline = stream->flows[state->ended_track].pipeline;
	const struct pipeline_denial *denial = pipeline ? pipeline_denial(pipeline) : NULL;
	struct audit_outcome outcome = {
		.has_track = true,
		.has_span = true,
		.track = state->ended_track,
		.start = state->ended_start,
		.end = state->ended_span_end,
		.task = session_task_name(session, state->ended_track, state->ended_task),
		.decision = state->end == SESSION_REWRITTEN_END ? "transformed" : "denied",
		.by = "task",
		.enforcing = true,
	};

	if (state->ended_output)
		return;
	if (denial && outcome.task && !strcmp(denial->task, outcome.task)) {
		/* A verdict names no rule. */
		outcome.has_rule = !denial->reason;
		outcome.rule = denial->rule;
	}
	record_outcome(stream, number, /* repeats: */ false, &outcome);
}

static void tell_operator(struct stream *stream, uint64_t number)
{
	const struct audit_outcome outcome = {
		.decision = "denied",
		.by = "operator",
		.enforcing = true,
	};

	record_outcome(stream, number, /* repeats: */ false, &outcome);
}

void audit_session_settled(struct stream *stream, uint64_t number, const struct session *session,
			   const struct session_state *state)
{
	const struct audit_who who = who_is(stream);
	struct audit *audit = stream->daemon->audit;
	struct audit_settlement settlement = {
		.end = session_end_name(state->end),
		.reason = session_reason(state),
	};
	struct audit_line line;

	if (state->end == SESSION_DENIED_END || state->end == SESSION_REWRITTEN_END)
		tell_outcome(stream, number, session, state);
	else if (state->end == SESSION_FAILED_END && state->error == SESSION_OPERATOR)
		tell_operator(stream, number);
	if (!begin(stream, /* repeats: */ false, &line))
		return;
	if (state->end == SESSION_FAILED_END)
		settlement.error = session_result_name(state->error);
	fill_flows(stream, &settlement);
	for (int track = 0; track < _SESSION_TRACK_MAX; track++) {
		settlement.tracks[track].received = state->track[track].received;
		settlement.tracks[track].confirmed = state->track[track].confirmed;
	}
	audit_record_session_settled(&line, &audit->stamp, &who, number, &settlement);
	end(audit, stream->watch, &line);
}

void audit_watermark(struct stream *stream, uint64_t number, enum session_track track,
		     uint64_t confirmed)
{
	struct audit *audit = stream->daemon->audit;
	struct audit_who who;
	struct audit_line line;

	if (!begin(stream, /* repeats: */ true, &line))
		return;
	who = who_is(stream);
	audit_record_watermark(&line, &audit->stamp, &who, number, track, confirmed);
	end(audit, stream->watch, &line);
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
	struct audit *audit = stream->daemon->audit;
	struct audit_line line;

	if (!begin(stream, /* repeats: */ false, &line))
		return;
	audit_record_refusal(&line, &audit->stamp, &who,
			     exchanges_number(stream->exchanges, SESSION_RESPONSE), task, reason,
			     places[stream->refusing.mark.place]);
	end(audit, stream->watch, &line);
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
	struct audit *audit = daemon->audit;
	struct audit_line line;

	if (!audit || !audit_begin(audit, &line))
		return;
	audit_record_control(&line, &audit->stamp, &record);
	(void)audit_end(audit, &line);
	audit_flush(audit);
}
