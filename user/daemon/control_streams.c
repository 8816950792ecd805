/* SPDX-License-Identifier: Apache-2.0 */
/* Control methods `streams`, `stream` and `deny`. */
#include <stdio.h>
#include <string.h>

#include "core/exchange.h"
#include "core/pipeline.h"
#include "daemon/control.h"
#include "daemon/daemon.h"
#include "daemon/partial.h"
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

static json_t *task_names(const struct flow *flow)
{
	const struct loaded_policy *loaded = flow->stream->policy;
	json_t *list = json_array();

	if (!flow->pipeline)
		return list;
	for (size_t i = 0; i < loaded->policy->track_task_count[flow->track]; i++)
		(void)json_array_append_new(list, json_string(loaded->names[flow->track][i]));
	return list;
}

static json_t *flow_json(const struct flow *flow)
{
	const struct pipeline *pipeline = flow->pipeline;
	enum fault fault = pipeline ? pipeline_fault(pipeline) : FAULT_NONE;
	struct session_state state = {0};

	if (flow->stream->exchanges)
		(void)exchanges_state(flow->stream->exchanges, &state);
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s?, s:o, s:b, s:o?}", "received",
			 (json_int_t)flow->received, "framed",
			 (json_int_t)(pipeline ? pipeline_framed(pipeline) : flow->received),
			 "released", (json_int_t)flow->released, "sent", (json_int_t)flow->sent,
			 "held", (json_int_t)flow_held(flow), "runes_received",
			 (json_int_t)(pipeline ? pipeline_runes(pipeline) : 0), "runes_confirmed",
			 (json_int_t)state.track[flow->track].confirmed, "fault",
			 fault ? fault_name(fault) : NULL, "tasks", task_names(flow), "eof",
			 (int)flow->source->ended, "message",
			 partial_json(flow, stream_framing(flow->stream)));
}

/* The session of the exchange under way, else the last one. */
static json_t *session_json(const struct stream *stream)
{
	struct session_state state;

	if (!stream->exchanges || !exchanges_state(stream->exchanges, &state))
		return json_null();
	return json_pack("{s:s, s:s?, s:s?}", "end", session_end_name(state.end), "error",
			 state.end == SESSION_FAILED_END ? session_result_name(state.error) : NULL,
			 "reason", session_reason(&state));
}

static json_t *sessions_json(const struct stream *stream)
{
	uint64_t sessions[_SESSION_END_MAX];

	(void)memcpy(sessions, stream->sessions, sizeof(sessions));
	sessions[SESSION_OPEN] = stream_open_sessions(stream);
	return stats_sessions_json(sessions);
}

static json_t *stream_json(const struct stream *stream)
{
	const struct sluice_origin *origin = &stream->origin;
	double age_s = (double)(clock_boot_ns() - stream->opened_ns) / (double)CLOCK_NS_PER_S;
	bool relayed = stream_is_relayed(stream);
	char peer[SETTLE_ADDRESS_LEN], comm[SLUICE_COMM_LEN + 1];

	settle_format_address(&origin->peer, peer, sizeof(peer));
	settle_format_comm(origin, comm);
	return json_pack(
		"{s:I, s:s, s:s, s:I, s:I, s:o, s:s, s:s, s:s?, s:s, s:s?, s:f, s:o, s:o, s:o, "
		"s:o}",
		"id", (json_int_t)origin->stream, "cgroup",
		stream->watch ? stream->watch->path : "", "policy", stream->policy->policy->name,
		"pid", (json_int_t)origin->pid, "uid", (json_int_t)origin->uid, "comm",
		json_string(comm), "peer", peer, "action", relayed ? "pass" : "mediate", "framing",
		relayed ? NULL
			: framing_names[pipeline_framing(stream->flows[SESSION_REQUEST].pipeline)],
		"state", state_names[stream->state], "ended", stream->reason, "age_s", age_s,
		"request", flow_json(&stream->flows[SESSION_REQUEST]), "response",
		flow_json(&stream->flows[SESSION_RESPONSE]), "session", session_json(stream),
		"sessions", sessions_json(stream));
}

int control_streams(struct control_call *call, json_t **ret_result)
{
	const struct stream *stream;
	json_t *list = json_array();

	TAILQ_FOREACH(stream, &call->daemon->streams.all, entry)
	{
		if (json_array_append_new(list, stream_json(stream))) {
			json_decref(list);
			return control_fail(call, CONTROL_FAILED, "out of memory");
		}
	}
	*ret_result = json_pack("{s:o}", "streams", list);
	return 0;
}

/* 0, or the code of the failure. */
static int find(struct control_call *call, struct stream **ret_stream)
{
	json_int_t id;

	if (json_unpack(call->params, "{s:I}", "id", &id) || id < 0)
		return control_fail(call, CONTROL_INVALID_PARAMS, "id is not a number");
	*ret_stream = stream_find(&call->daemon->streams, (uint64_t)id);
	if (!*ret_stream)
		return control_fail(call, CONTROL_FAILED, "no stream %lld", (long long)id);
	return 0;
}

int control_stream(struct control_call *call, json_t **ret_result)
{
	struct stream *stream;
	int r = find(call, &stream);

	if (!r)
		*ret_result = stream_json(stream);
	return r;
}

int control_deny(struct control_call *call, json_t **ret_result)
{
	struct stream *stream;
	int r = find(call, &stream);

	if (r)
		return r;
	if (stream_is_settled(stream))
		return control_fail(call, CONTROL_FAILED, "the stream has ended: %s",
				    stream->reason);
	stream_deny(stream);
	*ret_result = json_object();
	return 0;
}
