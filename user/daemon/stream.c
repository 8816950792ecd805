/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/stream.h"

#include <errno.h>
#include <stdlib.h>

#include "core/exchange.h"
#include "core/pipeline.h"
#include "daemon/ahead.h"
#include "daemon/asking.h"
#include "daemon/audit.h"
#include "daemon/daemon.h"
#include "daemon/findings.h"
#include "daemon/ledger.h"
#include "daemon/limits.h"
#include "daemon/upstream.h"
#include "kern/kern.h"
#include "sys/clock.h"

void stream_table_init(struct stream_table *table)
{
	for (size_t i = 0; i < ARRAY_SIZE(table->buckets); i++)
		LIST_INIT(&table->buckets[i]);
	TAILQ_INIT(&table->all);
	TAILQ_INIT(&table->dead);
	table->count = 0;
}

struct stream *stream_find(struct stream_table *table, uint64_t id)
{
	struct stream *stream;

	LIST_FOREACH(stream, &table->buckets[id % STREAM_BUCKETS], bucket)
	if (stream->origin.stream == id)
		return stream;
	return NULL;
}

const struct framing *stream_framing(const struct stream *stream)
{
	return stream->destination ? &stream->destination->framing
				   : &stream->policy->policy->framing;
}

static const struct extract *stream_extract(const struct stream *stream)
{
	return stream->destination ? &stream->destination->extract
				   : &stream->policy->policy->extract;
}

bool stream_is_relayed(const struct stream *stream)
{
	return stream->destination && stream->destination->action == POLICY_PASS;
}

bool stream_is_settled(const struct stream *stream)
{
	return stream->end != STREAM_UNSETTLED;
}

size_t stream_open_sessions(const struct stream *stream)
{
	const struct policy *policy = stream->policy->policy;

	if (!stream->exchanges || stream_is_settled(stream) ||
	    (!policy->track_task_count[SESSION_REQUEST] &&
	     !policy->track_task_count[SESSION_RESPONSE]))
		return 0;
	return exchanges_open(stream->exchanges);
}

static void open_event(struct stream *stream, struct endpoint *endpoint, short what)
{
	bool from_agent = endpoint == &stream->agent;
	enum session_track read = from_agent ? SESSION_REQUEST : SESSION_RESPONSE;
	enum session_track written = from_agent ? SESSION_RESPONSE : SESSION_REQUEST;

	/* Reading would find an error by itself; what is not read has to be asked. */
	if (!endpoint->reading && endpoint_error(endpoint)) {
		stream_broken(stream, endpoint);
		return;
	}
	if (what & EV_WRITE)
		flow_flush(&stream->flows[written], false);
	if ((what & EV_READ) && stream->state == STREAM_OPEN)
		flow_read(&stream->flows[read]);
}

static void on_event(struct stream *stream, struct endpoint *endpoint, short what)
{
	struct daemon *daemon = stream->daemon;

	switch (stream->state) {
	case STREAM_CONNECTING:
		if (endpoint == &stream->peer)
			upstream_answered(stream);
		else if (endpoint_error(endpoint))
			stream_broken(stream, endpoint);
		break;
	case STREAM_OPEN:
		open_event(stream, endpoint, what);
		break;
	case STREAM_DRAINING:
	case STREAM_LINGERING:
		if (stream->refusing.begun)
			refusing_discard(stream);
		closing_step(stream);
		break;
	default:
		break;
	}
	stream_reap(daemon);
}

static void on_agent_event(void *context, short what)
{
	struct stream *stream = context;

	on_event(stream, &stream->agent, what);
}

static void on_peer_event(void *context, short what)
{
	struct stream *stream = context;

	on_event(stream, &stream->peer, what);
}

static void on_unit(void *context, const struct pipeline_unit *unit)
{
	struct flow *flow = context;

	ahead_add_unit(flow->ahead, unit->end);
}

static int new_pipeline(struct stream *stream, struct flow *flow, struct session *session)
{
	const struct policy *policy = stream->policy->policy;
	struct pipeline_config config = {
		.framing = *stream_framing(stream),
		.extract = *stream_extract(stream),
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
	(void)session;
	audit_session_opened(context, number);
	ledger_begin(context, number);
}

static void on_session_end(void *context, uint64_t number, const struct session *session,
			   const struct session_state *state)
{
	struct stream *stream = context;

	/* One that began and ended in one piece was never under way between two. */
	for (int track = 0; track < _SESSION_TRACK_MAX; track++)
		flow_record_watermark(&stream->flows[track], number, state);
	audit_session_settled(stream, number, session, state);
	ledger_end(stream, number);
	stream->sessions[state->end]++;
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

static int new_pipelines(struct stream *stream)
{
	struct session *session = NULL;
	int r = new_exchanges(stream);

	/* These begin their own, once they know of what. */
	if (!r && stream_framing(stream)->kind != FRAMING_HTTP1 &&
	    stream_framing(stream)->kind != FRAMING_AUTO)
		r = begin_exchange(stream, &session);
	for (int track = 0; !r && track < _SESSION_TRACK_MAX; track++)
		r = new_pipeline(stream, &stream->flows[track], session);
	return r;
}

static int take_slots(struct stream *stream)
{
	for (int track = 0; track < _SESSION_TRACK_MAX; track++) {
		struct flow *flow = &stream->flows[track];
		int r = kern_slot_take(stream->daemon->kern, &flow->slot, &flow->generation);

		if (r)
			return r;
	}
	return 0;
}

static void give_slots(struct stream *stream)
{
	for (int track = 0; track < _SESSION_TRACK_MAX; track++) {
		if (stream->flows[track].slot)
			kern_slot_give(stream->daemon->kern, stream->flows[track].slot);
		stream->flows[track].slot = 0;
	}
}

/* A successor learns of it, and the agent's side is bounded by its slot. */
static int enter_kernel(struct stream *stream, int fd)
{
	struct kern *kern = stream->daemon->kern;
	const struct flow *response = &stream->flows[SESSION_RESPONSE];
	struct sluice_open_stream record = {
		.origin = stream->origin,
		.opened_ns = stream->opened_ns,
	};

	for (int track = 0; track < _SESSION_TRACK_MAX; track++) {
		record.slot[track] = stream->flows[track].slot;
		record.generation[track] = stream->flows[track].generation;
	}
	return kern_stream_record(kern, stream->origin.stream, &record)
		       ?: kern_mark_data(kern, fd, response->slot, response->generation,
					 stream_is_relayed(stream), stream->origin.stream);
}

static int prepare(struct stream *stream, int fd)
{
	int r = take_slots(stream);

	/* Its record is there before its first session begins. */
	if (!r)
		r = enter_kernel(stream, fd);
	if (!r)
		audit_stream_opened(stream);
	if (!r && !stream_is_relayed(stream))
		r = new_pipelines(stream);
	return r ? r : endpoint_open(&stream->agent, stream->daemon->base, fd);
}

static void free_stream(struct stream *stream)
{
	for (int track = 0; track < _SESSION_TRACK_MAX; track++)
		flow_done(&stream->flows[track]);
	exchanges_free(stream->exchanges);
	loaded_policy_unref(stream->policy);
	free(stream);
}

int stream_new(struct daemon *daemon, int fd, const struct sluice_origin *origin,
	       struct loaded_policy *policy, const struct policy_destination *destination,
	       struct watch *watch, struct stream **ret_stream)
{
	struct stream *stream = calloc(1, sizeof(*stream));
	int r;

	if (!stream)
		return -ENOMEM;
	stream->daemon = daemon;
	stream->origin = *origin;
	stream->policy = loaded_policy_ref(policy);
	stream->destination = destination;
	stream->watch = watch;
	stream->opened_ns = clock_boot_ns();
	stream->deadline_ns = stream->opened_ns + LIMIT_CONNECT_MS * CLOCK_NS_PER_MS;
	endpoint_init(&stream->agent, on_agent_event, stream);
	endpoint_init(&stream->peer, on_peer_event, stream);
	flow_init(&stream->flows[SESSION_REQUEST], stream, SESSION_REQUEST, &stream->agent,
		  &stream->peer, stream_is_relayed(stream));
	flow_init(&stream->flows[SESSION_RESPONSE], stream, SESSION_RESPONSE, &stream->peer,
		  &stream->agent, stream_is_relayed(stream));
	r = prepare(stream, fd);
	if (r) {
		kern_stream_forget(daemon->kern, origin->stream);
		give_slots(stream);
		if (stream->exchanges)
			exchanges_fail(stream->exchanges, SESSION_NO_MEMORY);
		free_stream(stream);
		return r;
	}
	LIST_INSERT_HEAD(&daemon->streams.buckets[origin->stream % STREAM_BUCKETS], stream, bucket);
	TAILQ_INSERT_TAIL(&daemon->streams.all, stream, entry);
	daemon->streams.count++;
	*ret_stream = stream;
	return 0;
}

void stream_open(struct stream *stream)
{
	stream->state = STREAM_OPEN;
	for (int track = 0; track < _SESSION_TRACK_MAX && stream->state == STREAM_OPEN; track++)
		flow_update_reading(&stream->flows[track]);
}

void stream_close(struct stream *stream, bool reset)
{
	struct daemon *daemon = stream->daemon;

	if (stream->state == STREAM_DEAD)
		return;
	closing_remove(stream);
	endpoint_close(&stream->agent, reset);
	endpoint_close(&stream->peer, reset);
	give_slots(stream);
	kern_upstream_clear(daemon->kern, stream->origin.stream);
	stream->state = STREAM_DEAD;
	LIST_REMOVE(stream, bucket);
	TAILQ_REMOVE(&daemon->streams.all, stream, entry);
	TAILQ_INSERT_TAIL(&daemon->streams.dead, stream, entry);
	daemon->streams.count--;
	for (int track = 0; track < _SESSION_TRACK_MAX; track++)
		flow_uncharge(&stream->flows[track]);
	/* The watch may be gone before the stream is freed. */
	if (stream->watch)
		stream->watch->streams--;
	stream->watch = NULL;
}

void stream_reap(struct daemon *daemon)
{
	struct stream *stream;

	while ((stream = TAILQ_FIRST(&daemon->streams.dead))) {
		TAILQ_REMOVE(&daemon->streams.dead, stream, entry);
		free_stream(stream);
	}
}
