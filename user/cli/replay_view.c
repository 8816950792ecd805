/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/replay_view.h"

#include "core/pipeline_progress.h"

#define NS_PER_US 1000u

json_t *replay_view_policy(const struct replay_setup *setup)
{
	const struct policy *policy = setup->policy;

	return json_pack("{s:s, s:s, s:s}", "policy", policy->name, "mode",
			 policy_mode_name(policy->mode), "safety_level",
			 session_level_name(policy->level));
}

static const char *reason_of(const struct replay_stream *stream)
{
	if (stream->destination.action == POLICY_DENY)
		return "policy_denied";
	return replay_session_count(stream) ? session_reason(&stream->state) : NULL;
}

static int add_denial(json_t *view, const struct replay_stream *stream)
{
	const struct pipeline *pipeline = stream->flows[stream->faulted].pipeline;
	const struct pipeline_denial *denial =
		stream->fault && pipeline ? pipeline_denial(pipeline) : NULL;
	json_t *found;

	if (!denial)
		return 0;
	found = replay_found(stream->setup->policy, denial->task, denial->rule, denial->start,
			     denial->end);
	return json_object_set_new(view, "denial", found);
}

json_t *replay_view_stream(const struct replay_stream *stream)
{
	uint64_t sessions = replay_session_count(stream);
	json_t *view = json_pack("{s:s, s:s, s:s, s:I, s:s?, s:s?, s:b}", "destination",
				 stream->destination.match, "action",
				 policy_action_name(stream->destination.action), "fault",
				 fault_name(stream->fault), "sessions", (json_int_t)sessions,
				 "session", sessions ? session_end_name(stream->state.end) : NULL,
				 "reason", reason_of(stream), "unjudged", stream->unjudged);
	json_t *settled = json_object();
	int err = !settled;

	for (int end = 0; !err && end < _SESSION_END_MAX; end++)
		if (stream->sessions[end])
			err = json_object_set_new(settled, session_end_name((enum session_end)end),
						  json_integer((json_int_t)stream->sessions[end]));
	err = json_object_set_new(view, "settled", settled) || err;
	if (!err && stream->fault)
		err = json_object_set_new(
			view, "fault_track",
			json_string(stream->faulted == SESSION_REQUEST ? "request" : "response"));
	if (!err && stream->fault)
		err = json_object_set_new(view, "fault_at",
					  json_integer((json_int_t)stream->fault_at));
	if (err || add_denial(view, stream)) {
		json_decref(view);
		return NULL;
	}
	return view;
}

/* What is not released: why it was not. */
static const char *stopped_by(const struct replay_flow *flow, const char *otherwise)
{
	const struct replay_stream *stream = flow->stream;

	if (!stream->fault)
		return otherwise;
	return stream->faulted == flow->track ? fault_name(stream->fault) : "other_flow";
}

static json_t *span_json(uint64_t first, uint64_t last, uint64_t began, bool alone)
{
	if (!alone) {
		first = (first - began) / NS_PER_US;
		last = (last - began) / NS_PER_US;
	}
	return json_pack("[I, I]", (json_int_t)first, (json_int_t)last);
}

static json_t *row_json(const struct replay_flow *flow, const struct timeline_row *row,
			uint64_t began)
{
	bool alone = flow->stream->one_sided, left = row->left || flow->stream->unjudged;
	const char *wait = timeline_wait_name(row->wait);
	uint64_t delay = alone ? row->delay : row->delay / NS_PER_US;
	json_t *json = json_pack(
		"{s:I, s:I, s:I, s:I, s:I, s:s, s:s, s:s?, s:o}", "start", (json_int_t)row->start,
		"end", (json_int_t)row->end, "units", (json_int_t)row->count, "messages",
		(json_int_t)row->messages, "runes", (json_int_t)row->runes, "state",
		left		      ? "released"
		: flow->stream->fault ? "withheld"
				      : "held",
		"why", left ? wait : stopped_by(flow, wait), "task", row->task, "whole",
		span_json(row->whole_first, row->whole_last, began, alone));

	if (row->left &&
	    (json_object_set_new(json, "left",
				 span_json(row->left_first, row->left_last, began, alone)) ||
	     json_object_set_new(json, "delay", json_integer((json_int_t)delay)))) {
		json_decref(json);
		return NULL;
	}
	return json;
}

/* What came behind the last unit that is whole. */
static json_t *rest_json(const struct replay_flow *flow, uint64_t start)
{
	bool left = replay_released(flow) == flow->received;

	return json_pack("{s:I, s:I, s:i, s:i, s:i, s:s, s:s, s:n}", "start", (json_int_t)start,
			 "end", (json_int_t)flow->received, "units", 0, "messages", 0, "runes", 0,
			 "state",
			 left				      ? "released"
			 : flow->stream->fault || flow->ended ? "withheld"
							      : "held",
			 "why", left ? "unjudged" : stopped_by(flow, "not_whole"), "task");
}

static json_t *timeline_json(const struct replay_flow *flow, uint64_t began, bool each)
{
	const struct timeline *timeline = &flow->timeline;
	json_t *rows = json_array();
	struct timeline_row row = {0};
	int err = !rows;

	for (size_t i = 0; !err && i < timeline->count; i += row.count) {
		timeline_row(timeline, i, each, &row);
		err = json_array_append_new(rows, row_json(flow, &row, began));
	}
	if (!err && flow->pipeline && flow->received > row.end)
		err = json_array_append_new(rows, rest_json(flow, row.end));
	if (err) {
		json_decref(rows);
		return NULL;
	}
	return rows;
}

/* How often each interceptor would have been asked. */
static json_t *asked_json(const struct replay_flow *flow)
{
	const struct policy *policy = flow->stream->setup->policy;
	const char *deny_by = flow->stream->setup->deny_by;
	json_t *asked = json_array();
	int err = !asked;

	for (size_t i = 0; !err && i < policy->task_count; i++)
		if (flow->asked[i])
			err = json_array_append_new(
				asked,
				json_pack("{s:s, s:I, s:s}", "task", policy->tasks[i].name,
					  "emissions", (json_int_t)flow->asked[i], "taken_to",
					  policy->tasks[i].name == deny_by ? "deny" : "allow"));
	if (err) {
		json_decref(asked);
		return NULL;
	}
	return asked;
}

/* How far all its tasks have cleared it; without any, what is framed is. */
static uint64_t cleared_of(const struct replay_flow *flow)
{
	struct pipeline_progress slowest;

	if (!flow->pipeline)
		return replay_released(flow);
	if (!pipeline_slowest(flow->pipeline, &slowest))
		return MAX(pipeline_framed(flow->pipeline), replay_released(flow));
	return MAX(timeline_cleared(&flow->timeline, slowest.cleared), replay_released(flow));
}

static json_t *ranges_json(uint64_t released)
{
	return released ? json_pack("[[i, I]]", 0, (json_int_t)released) : json_array();
}

json_t *replay_view_flow(const struct replay_stream *stream, enum session_track track,
			 uint64_t began, bool each)
{
	const struct replay_flow *flow = &stream->flows[track];
	const struct pipeline *pipeline = flow->pipeline;
	uint64_t released = replay_released(flow);

	return json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:O, s:o, s:o}",
			 "track", track == SESSION_REQUEST ? "request" : "response", "framing",
			 pipeline ? policy_framing_name(pipeline_framing(pipeline)) : "none",
			 "received", (json_int_t)flow->received, "framed",
			 (json_int_t)(pipeline ? pipeline_framed(pipeline) : 0), "units",
			 (json_int_t)flow->timeline.count, "runes",
			 (json_int_t)(pipeline ? pipeline_runes(pipeline) : 0), "cleared",
			 (json_int_t)cleared_of(flow), "released", (json_int_t)released, "withheld",
			 (json_int_t)(flow->received - released), "ranges", ranges_json(released),
			 "findings", flow->findings, "timeline", timeline_json(flow, began, each),
			 "asked", asked_json(flow));
}
