/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/stream_json.h"

#include "core/exchange.h"
#include "core/pipeline_progress.h"
#include "daemon/daemon.h"
#include "daemon/json_text.h"
#include "daemon/partial.h"
#include "daemon/waiting.h"
#include "sys/clock.h"

static const char *const state_names[] = {
	[STREAM_CONNECTING] = "connecting", [STREAM_OPEN] = "open",
	[STREAM_DRAINING] = "draining",	    [STREAM_LINGERING] = "lingering",
	[STREAM_DEAD] = "closed",
};
_Static_assert(ARRAY_SIZE(state_names) == _STREAM_STATE_MAX, "every state has a name");

static const char *const framing_names[] = {
	[FRAMING_NDJSON] = "ndjson",
	[FRAMING_SENTINEL] = "sentinel",
	[FRAMING_LENPREFIX] = "lenprefix",
	[FRAMING_SSE] = "sse",
	[FRAMING_HTTP1] = "http1",
	[FRAMING_JSONRPC_CL] = "jsonrpc_cl",
	[FRAMING_AUTO] = "auto",
	[FRAMING_WS] = "ws",
	[FRAMING_GRPC] = "grpc",
	[FRAMING_EVENTSTREAM] = "eventstream",
	[FRAMING_JSON_ARRAY] = "json_array",
};
_Static_assert(ARRAY_SIZE(framing_names) == _FRAMING_MAX, "every framing has a name");

const char *stream_state_name(const struct stream *stream)
{
	return state_names[stream->state];
}

const char *stream_framing_name(const struct stream *stream)
{
	if (stream_is_relayed(stream))
		return NULL;
	return framing_names[pipeline_framing(stream->flows[SESSION_REQUEST].pipeline)];
}

/* In the order of the policy. */
static void put_tasks(struct json_text *text, const struct flow *flow)
{
	const struct loaded_policy *loaded = flow->stream->policy;

	json_text_begin(text, "tasks", '[');
	for (size_t i = 0; flow->pipeline && i < loaded->policy->track_task_count[flow->track]; i++)
		json_text_string(text, NULL, loaded->names[flow->track][i]);
	json_text_end(text, ']');
}

/* The watermark, and why the oldest byte is held. */
static void put_waiting(struct json_text *text, const struct flow *flow, uint64_t now_ns)
{
	struct pipeline_progress slowest = {0};
	char why[WAITING_TEXT_LEN];
	struct waiting waiting;
	uint64_t age;

	if (flow->pipeline && pipeline_slowest(flow->pipeline, &slowest))
		json_text_number(text, "runes_cleared", slowest.cleared);
	else
		json_text_null(text, "runes_cleared");
	json_text_string(text, "slowest", slowest.task);
	if (waiting_age(flow, now_ns, &age))
		json_text_seconds(text, "held_age_s", age);
	else
		json_text_null(text, "held_age_s");
	waiting_get(flow, now_ns, &waiting);
	waiting_explain(flow, &waiting, why);
	json_text_string(text, "waits_for", waiting_name(waiting.kind));
	json_text_string(text, "why", why);
}

/* The message under way (daemon/partial.h). */
static void put_message(struct json_text *text, const struct flow *flow)
{
	struct framing framing = *stream_framing(flow->stream);
	char delimiter[PARTIAL_DELIMITER_SIZE];
	uint64_t expected;

	if (!flow->pipeline) {
		json_text_null(text, "message");
		return;
	}
	framing.kind = pipeline_framing(flow->pipeline);
	partial_delimiter(&framing, delimiter);
	expected = pipeline_expected(flow->pipeline);
	json_text_begin(text, "message", '{');
	json_text_string(text, "message_boundary_delimiter", delimiter);
	json_text_number(text, "partial", pipeline_partial(flow->pipeline));
	if (expected)
		json_text_number(text, "expected_message_size", expected);
	else
		json_text_null(text, "expected_message_size");
	json_text_number(text, "incomplete_message_timeout",
			 flow->stream->policy->policy->limits.incomplete_message_timeout_s);
	json_text_end(text, '}');
}

static void put_flow_rest(struct json_text *text, const struct flow *flow)
{
	const struct pipeline *pipeline = flow->pipeline;
	struct session_state state = {0};

	if (flow->stream->exchanges)
		(void)exchanges_state(flow->stream->exchanges, &state);
	json_text_number(text, "framed", pipeline ? pipeline_framed(pipeline) : flow->received);
	json_text_number(text, "sent", flow->sent);
	json_text_number(text, "runes_confirmed", state.track[flow->track].confirmed);
	put_tasks(text, flow);
	json_text_bool(text, "eof", flow->source->ended);
	put_message(text, flow);
}

static void put_flow(struct json_text *text, const struct flow *flow, bool brief, uint64_t now_ns)
{
	const struct pipeline *pipeline = flow->pipeline;
	enum fault fault = pipeline ? pipeline_fault(pipeline) : FAULT_NONE;

	json_text_begin(text, flow->track == SESSION_REQUEST ? "request" : "response", '{');
	json_text_number(text, "received", flow->received);
	json_text_number(text, "released", flow->released);
	json_text_number(text, "held", flow_held(flow));
	json_text_number(text, "runes_received", pipeline ? pipeline_runes(pipeline) : 0);
	json_text_string(text, "fault", fault ? fault_name(fault) : NULL);
	put_waiting(text, flow, now_ns);
	if (!brief)
		put_flow_rest(text, flow);
	json_text_end(text, '}');
}

/* The session of the exchange under way, else the last one. */
static void put_session(struct json_text *text, const struct stream *stream)
{
	struct session_state state;
	bool failed;

	if (!stream->exchanges || !exchanges_state(stream->exchanges, &state)) {
		json_text_null(text, "session");
		return;
	}
	failed = state.end == SESSION_FAILED_END;
	json_text_begin(text, "session", '{');
	json_text_string(text, "end", session_end_name(state.end));
	json_text_string(text, "error", failed ? session_result_name(state.error) : NULL);
	json_text_string(text, "reason", session_reason(&state));
	json_text_end(text, '}');
}

static void put_sessions(struct json_text *text, const struct stream *stream)
{
	json_text_begin(text, "sessions", '{');
	for (int end = 0; end < _SESSION_END_MAX; end++)
		json_text_number(text, session_end_name((enum session_end)end),
				 end == SESSION_OPEN ? stream_open_sessions(stream)
						     : stream->sessions[end]);
	json_text_end(text, '}');
}

void stream_json_text(const struct stream *stream, bool brief, struct json_text *text)
{
	const struct sluice_origin *origin = &stream->origin;
	const struct policy *policy = stream->policy->policy;
	uint64_t now_ns = clock_boot_ns();
	char peer[SETTLE_ADDRESS_LEN], comm[SLUICE_COMM_LEN + 1];

	settle_format_address(&origin->peer, peer, sizeof(peer));
	settle_format_comm(origin, comm);
	json_text_begin(text, NULL, '{');
	json_text_number(text, "id", origin->stream);
	json_text_string(text, "cgroup", stream->watch ? stream->watch->path : "");
	json_text_string(text, "policy", policy->name);
	json_text_string(text, "mode", policy_mode_name(policy->mode));
	json_text_string(text, "safety_level", session_level_name(policy->level));
	json_text_number(text, "pid", origin->pid);
	json_text_number(text, "uid", origin->uid);
	json_text_string(text, "comm", comm);
	json_text_string(text, "peer", peer);
	json_text_string(text, "action", stream_is_relayed(stream) ? "pass" : "mediate");
	json_text_string(text, "framing", stream_framing_name(stream));
	json_text_string(text, "state", stream_state_name(stream));
	json_text_string(text, "ended", stream->reason);
	json_text_seconds(text, "age_s", now_ns - stream->opened_ns);
	for (int track = 0; track < _SESSION_TRACK_MAX; track++)
		put_flow(text, &stream->flows[track], brief, now_ns);
	if (!brief) {
		put_session(text, stream);
		put_sessions(text, stream);
	}
	json_text_end(text, '}');
}

json_t *stream_json(const struct stream *stream)
{
	struct json_text text = {0};
	json_t *object = NULL;

	stream_json_text(stream, /* brief: */ false, &text);
	if (!text.failed)
		object = json_loadb(text.text, text.len, 0, NULL);
	json_text_done(&text);
	return object;
}
