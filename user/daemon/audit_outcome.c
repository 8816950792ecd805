/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/audit_outcome.h"

#include <string.h>

const struct audit_outcome audit_outcome_operator = {
	.decision = "denied",
	.by = "operator",
	.enforcing = true,
};

/* What an interceptor says of itself. */
static void add_verdict(struct audit_outcome *outcome, const struct verdict *verdict)
{
	_Static_assert(AUDIT_WARNED_MAX == VERDICT_WARNED_MAX, "warnings that are not recorded");
	outcome->reason = *verdict->reason ? verdict->reason : NULL;
	outcome->evidence = verdict->has_evidence ? verdict->evidence : NULL;
	outcome->warnings = verdict->warnings;
	for (size_t i = 0; i < AUDIT_WARNED_MAX; i++)
		outcome->warned[i] = verdict->warned[i];
}

/* The reserved reason of a failure (core/session.h). */
static const char *failure_reason(enum session_result failure)
{
	const struct session_state state = {.end = SESSION_FAILED_END, .error = failure};

	return session_reason(&state);
}

struct audit_outcome audit_outcome_found(enum session_track track,
					 const struct pipeline_finding *finding)
{
	const struct verdict *verdict = finding->verdict;
	struct audit_outcome outcome = {
		.has_track = true,
		.has_span = true,
		.track = track,
		.start = finding->start,
		.end = finding->end,
		.task = finding->task->name,
		.decision = "denied",
		.by = finding->task->output ? "output" : "watcher",
		.enforcing = finding->task->output,
	};

	if (finding->unjudged) {
		outcome.decision = "unjudged";
	} else if (finding->failure != SESSION_OK) {
		outcome.decision = "failed";
		outcome.reason = failure_reason(finding->failure);
	} else if (verdict) {
		if (verdict->decision == VERDICT_TRANSFORM)
			outcome.decision = "transformed";
		add_verdict(&outcome, verdict);
	} else {
		outcome.has_rule = true;
		outcome.rule = finding->rule;
	}
	return outcome;
}

struct audit_outcome audit_outcome_warned(enum session_track track,
					  const struct pipeline_work *work, bool enforcing,
					  const struct verdict *verdict)
{
	struct audit_outcome outcome = {
		.has_track = true,
		.has_span = true,
		.track = track,
		.start = work->item.start,
		.end = work->item.end,
		.task = work->task->name,
		.decision = "cleared",
		.by = work->task->output ? "output"
		      : enforcing	 ? "task"
					 : "watcher",
		.enforcing = enforcing,
	};

	add_verdict(&outcome, verdict);
	return outcome;
}

static struct audit_outcome denied(const struct pipeline *pipeline, const struct session *session,
				   const struct session_state *state)
{
	const struct pipeline_denial *denial = pipeline_denial(pipeline);
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

	if (!denial || !outcome.task || strcmp(denial->task, outcome.task))
		return outcome;
	/* A verdict names no rule. */
	outcome.has_rule = !denial->reason;
	outcome.rule = denial->rule;
	outcome.reason = denial->reason && *denial->reason ? denial->reason : NULL;
	outcome.evidence = denial->evidence;
	return outcome;
}

static bool lacks_verdict(const struct session_state *state)
{
	return state->end == SESSION_FAILED_END && (state->error == SESSION_INTERCEPTOR_FAILED ||
						    state->error == SESSION_INTERCEPTOR_TIMEOUT ||
						    state->error == SESSION_VERDICT_INVALID);
}

bool audit_outcome_ended(enum session_track track, const struct pipeline *pipeline,
			 const struct session *session, const struct session_state *state,
			 struct audit_outcome *ret_outcome)
{
	const struct pipeline_denial *failure = pipeline_failure(pipeline);

	if (state->end == SESSION_DENIED_END || state->end == SESSION_REWRITTEN_END) {
		if (state->ended_track != track || state->ended_output)
			return false;
		*ret_outcome = denied(pipeline, session, state);
		return true;
	}
	if (!lacks_verdict(state) || !failure)
		return false;
	*ret_outcome = (struct audit_outcome){
		.has_track = true,
		.has_span = true,
		.track = track,
		.start = failure->start,
		.end = failure->end,
		.task = failure->task,
		.decision = "failed",
		.by = "task",
		.enforcing = true,
		.reason = failure_reason(state->error),
	};
	return true;
}
