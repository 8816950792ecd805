/* SPDX-License-Identifier: Apache-2.0 */
/* What judges a stream: its exchanges, and a pipeline for each of its flows. */
#include <errno.h>

#include "core/exchange.h"
#include "core/pipeline.h"
#include "daemon/ahead.h"
#include "daemon/asking.h"
#include "daemon/audit.h"
#include "daemon/daemon.h"
#include "daemon/findings.h"
#include "daemon/handover_wire.h"
#include "daemon/ledger.h"
#include "daemon/limits.h"
#include "daemon/stream_internal.h"

static const struct extract *extract_of(const struct stream *stream)
{
	return stream->destination ? &stream->destination->extract
				   : &stream->policy->policy->extract;
}

static void on_unit(void *context, const struct pipeline_unit *unit)
{
	struct flow *flow = context;

	ahead_add_unit(flow->ahead, unit->end);
}

/* As configured; of auto what the first bytes told, where another process has seen them. */
static struct framing framing_of(const struct stream *stream)
{
	const struct handover_stream *handed = stream->handed;

	if (handed && handed->identified)
		return (struct framing){.kind = (enum framing_kind)handed->framing};
	return *stream_framing(stream);
}

static int new_pipeline(struct stream *stream, struct flow *flow, struct session *session)
{
	const struct policy *policy = stream->policy->policy;
	const struct handover_flow *handed =
		stream->handed ? &stream->handed->flows[flow->track] : NULL;
	struct pipeline_config config = {
		.framing = framing_of(stream),
		.extract = *extract_of(stream),
		.max_message = policy->limits.max_message_bytes,
		.max_pending_units = LIMIT_PENDING_UNITS,
		.track = flow->track,
		.level = policy->level,
		.exchanges = stream->exchanges,
		.release_opaque = policy->release_opaque,
		.tasks = stream->policy->tasks[flow->track],
		.task_count = policy->track_task_count[flow->track],
		.watchers = stream->policy->watchers[flow->track],
		.watcher_count = stream->policy->watcher_count[flow->track],
		.on_finding = findings_take,
		.context = flow,
	};
	int r;

	if (config.task_count)
		config.session = session;
	if (handed) {
		config.start = handed->framed;
		config.start_runes = handed->runes;
		config.start_released_runes = handed->released_runes;
	}
	if (policy->limits.eager_bytes && policy->on_deny == POLICY_RESET) {
		flow->ahead = ahead_new(policy->limits.eager_bytes);
		if (!flow->ahead)
			return -ENOMEM;
		config.on_unit = on_unit;
	}
	r = asking_new(flow, &flow->asking);
	return r ? r : pipeline_new(&config, &flow->pipeline);
}

static void on_session_begin(void *context, uint64_t number, const struct session *session)
{
	struct stream *stream = context;

	(void)session;
	stream->daemon->metrics.open_sessions++;
	/* It began in another process, and is judged anew here. */
	if (number < stream->told)
		return;
	audit_session_opened(stream, number);
	ledger_begin(stream, number);
}

static void on_session_end(void *context, uint64_t number, const struct session *session,
			   const struct session_state *state)
{
	struct stream *stream = context;

	if (stream->given)
		return;
	/* One that began and ended in one piece was never under way between two. */
	for (int track = 0; track < _SESSION_TRACK_MAX; track++)
		flow_record_watermark(&stream->flows[track], number, state);
	audit_session_settled(stream, number, session, state);
	ledger_end(stream, number);
	stream->sessions[state->end]++;
	stream->daemon->metrics.open_sessions--;
	stream->daemon->stats.sessions[state->end]++;
	if (stream->watch)
		stream->watch->stats.sessions[state->end]++;
}

static int new_exchanges(struct stream *stream)
{
	const struct policy *policy = stream->policy->policy;
	struct exchanges_config config = {
		.session = {.level = policy->level,
			    .output_tasks = stream->policy->output_names,
			    .output_count = policy->output.count},
		.on_begin = on_session_begin,
		.on_end = on_session_end,
		.context = stream,
		.first = stream->handed ? stream->handed->next : 0,
		.resumes = {.table = stream->daemon->resumes,
			    .owner = stream->watch ? stream->watch->id : 0,
			    .policy = stream->policy->digest,
			    .peer = &stream->origin.peer,
			    .peer_len = sizeof(stream->origin.peer),
			    .keep = policy_tail(policy, SESSION_RESPONSE)},
	};

	for (int track = 0; track < _SESSION_TRACK_MAX; track++) {
		config.session.tasks[track] = stream->policy->names[track];
		config.session.task_count[track] = policy->track_task_count[track];
	}
	return exchanges_new(&config, &stream->exchanges);
}

/* Both messages of the one exchange. */
static int begin_exchange(struct stream *stream, struct session **ret_session)
{
	enum fault fault = exchanges_whole(stream->exchanges, SESSION_REQUEST, ret_session);

	if (!fault)
		fault = exchanges_whole(stream->exchanges, SESSION_RESPONSE, ret_session);
	if (fault)
		return fault == FAULT_NO_MEMORY ? -ENOMEM : -EINVAL;
	return 0;
}

int stream_new_pipelines(struct stream *stream)
{
	const struct framing framing = framing_of(stream);
	struct session *session = NULL;
	int r = new_exchanges(stream);

	if (!r && stream->handed && stream->handed->identified)
		exchanges_identify(stream->exchanges, framing.kind);
	/* These begin their own, once they know of what. */
	if (!r && framing.kind != FRAMING_HTTP1 && framing.kind != FRAMING_AUTO)
		r = begin_exchange(stream, &session);
	for (int track = 0; !r && track < _SESSION_TRACK_MAX; track++)
		r = new_pipeline(stream, &stream->flows[track], session);
	return r;
}
