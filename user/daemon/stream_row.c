/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/stream_row.h"

#include "core/pipeline.h"
#include "core/pipeline_progress.h"
#include "daemon/daemon.h"
#include "daemon/stream_json.h"
#include "daemon/waiting.h"
#include "sys/clock.h"

static const char *const end_names[] = {
	[STREAM_UNSETTLED] = "open",
	[STREAM_COMPLETE] = "complete",
	[STREAM_DENIED] = "denied",
	[STREAM_FAILED] = "failed",
};

const char stream_row_columns[] =
	"\"columns\":[\"id\",\"state\",\"end\",\"reason\",\"cgroup\",\"policy\",\"mode\",\"level\","
	"\"action\",\"pid\",\"uid\",\"comm\",\"peer\",\"framing\",\"age_ms\",\"request\","
	"\"response\"],"
	"\"track_columns\":[\"received\",\"framed\",\"released\",\"sent\",\"held\",\"held_ms\","
	"\"runes\","
	"\"runes_cleared\",\"runes_released\",\"waits_for\",\"slowest\"]";

static json_t *track_row(const struct flow *flow, uint64_t now_ns)
{
	const struct pipeline *pipeline = flow->pipeline;
	struct pipeline_progress slowest = {0};
	bool gated = pipeline && pipeline_slowest(pipeline, &slowest);
	struct waiting waiting = {0};
	uint64_t age_ns, held = flow_held(flow);
	bool waits = waiting_age(flow, now_ns, &age_ns);

	if (held)
		waiting_get(flow, now_ns, &waiting);
	return json_pack("[I, I, I, I, I, o, I, o, I, s?, s?]", (json_int_t)flow->received,
			 (json_int_t)(pipeline ? pipeline_framed(pipeline) : flow->received),
			 (json_int_t)flow->released, (json_int_t)flow->sent, (json_int_t)held,
			 waits ? json_integer((json_int_t)(age_ns / CLOCK_NS_PER_MS)) : json_null(),
			 (json_int_t)(pipeline ? pipeline_runes(pipeline) : 0),
			 gated ? json_integer((json_int_t)slowest.cleared) : json_null(),
			 (json_int_t)(pipeline ? pipeline_released_runes(pipeline) : 0),
			 held ? waiting_name(waiting.kind) : NULL, gated ? slowest.task : NULL);
}

json_t *stream_row(const struct stream *stream, uint64_t now_ns)
{
	const struct sluice_origin *origin = &stream->origin;
	const struct policy *policy = stream->policy->policy;
	char peer[SETTLE_ADDRESS_LEN], comm[SLUICE_COMM_LEN + 1];

	settle_format_address(&origin->peer, peer, sizeof(peer));
	settle_format_comm(origin, comm);
	return json_pack("[I, s, s, s?, s, s, s, s, s, I, I, s, s, s?, I, o, o]",
			 (json_int_t)origin->stream, stream_state_name(stream),
			 end_names[stream->end], stream->reason,
			 stream->watch ? stream->watch->path : "", policy->name,
			 policy_mode_name(policy->mode), session_level_name(policy->level),
			 stream_is_relayed(stream) ? "pass" : "mediate", (json_int_t)origin->pid,
			 (json_int_t)origin->uid, comm, peer, stream_framing_name(stream),
			 (json_int_t)((now_ns - stream->opened_ns) / CLOCK_NS_PER_MS),
			 track_row(&stream->flows[SESSION_REQUEST], now_ns),
			 track_row(&stream->flows[SESSION_RESPONSE], now_ns));
}
