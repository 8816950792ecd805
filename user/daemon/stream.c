/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/exchange.h"
#include "daemon/audit.h"
#include "daemon/daemon.h"
#include "daemon/handover.h"
#include "daemon/handover_wire.h"
#include "daemon/limits.h"
#include "daemon/stream_internal.h"
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
	handover_look(stream);
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
		r = stream_new_pipelines(stream);
	return r ? r : endpoint_open(&stream->agent, stream->daemon->base, fd);
}

static void free_stream(struct stream *stream)
{
	for (int track = 0; track < _SESSION_TRACK_MAX; track++)
		flow_done(&stream->flows[track]);
	exchanges_free(stream->exchanges);
	loaded_policy_unref(stream->policy);
	free(stream->failure);
	free(stream);
}

static struct stream *make(struct daemon *daemon, const struct sluice_origin *origin,
			   struct loaded_policy *policy,
			   const struct policy_destination *destination, struct watch *watch)
{
	struct stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return NULL;
	stream->daemon = daemon;
	stream->origin = *origin;
	stream->policy = loaded_policy_ref(policy);
	stream->destination = destination;
	stream->watch = watch;
	endpoint_init(&stream->agent, on_agent_event, stream);
	endpoint_init(&stream->peer, on_peer_event, stream);
	flow_init(&stream->flows[SESSION_REQUEST], stream, SESSION_REQUEST, &stream->agent,
		  &stream->peer, stream_is_relayed(stream));
	flow_init(&stream->flows[SESSION_RESPONSE], stream, SESSION_RESPONSE, &stream->peer,
		  &stream->agent, stream_is_relayed(stream));
	return stream;
}

static void put_in(struct stream *stream)
{
	struct daemon *daemon = stream->daemon;

	LIST_INSERT_HEAD(&daemon->streams.buckets[stream->origin.stream % STREAM_BUCKETS], stream,
			 bucket);
	TAILQ_INSERT_TAIL(&daemon->streams.all, stream, entry);
	daemon->streams.count++;
	daemon->metrics.open_streams++;
}

int stream_new(struct daemon *daemon, int fd, const struct sluice_origin *origin,
	       struct loaded_policy *policy, const struct policy_destination *destination,
	       struct watch *watch, struct stream **ret_stream)
{
	struct stream *stream = make(daemon, origin, policy, destination, watch);
	int r;

	if (!stream)
		return -ENOMEM;
	stream->opened_ns = clock_boot_ns();
	stream->deadline_ns = stream->opened_ns + LIMIT_CONNECT_MS * CLOCK_NS_PER_MS;
	r = prepare(stream, fd);
	if (r) {
		kern_stream_forget(daemon->kern, origin->stream);
		give_slots(stream);
		if (stream->exchanges)
			exchanges_fail(stream->exchanges, SESSION_NO_MEMORY);
		free_stream(stream);
		return r;
	}
	put_in(stream);
	*ret_stream = stream;
	return 0;
}

/* All that another process had, but the sockets. */
static int inherit(struct stream *stream, const struct stream_legacy *legacy)
{
	const struct handover_stream *handed = legacy->handed;
	int r = 0;

	stream->opened_ns = legacy->open->opened_ns;
	stream->deadline_ns = handed->deadline_ns;
	stream->state = handed->connecting ? STREAM_CONNECTING : STREAM_OPEN;
	stream->unjudged = handed->unjudged;
	stream->over_quota = handed->over_quota;
	stream->asked = handed->asked;
	stream->told = handed->told;
	(void)memcpy(stream->sessions, handed->sessions, sizeof(stream->sessions));
	stream->handed = handed;
	if (!stream_is_relayed(stream))
		r = stream_new_pipelines(stream);
	stream->handed = NULL;
	for (int track = 0; !r && track < _SESSION_TRACK_MAX; track++) {
		struct flow *flow = &stream->flows[track];

		flow->slot = legacy->open->slot[track];
		flow->generation = legacy->open->generation[track];
		r = flow_adopt(flow, &handed->flows[track], legacy->bytes[track]);
	}
	return r;
}

int stream_adopt(struct daemon *daemon, const struct stream_legacy *legacy, struct watch *watch,
		 struct stream **ret_stream)
{
	const struct sluice_origin *origin = &legacy->open->origin;
	struct stream *stream = make(
		daemon, origin, legacy->policy,
		policy_match(legacy->policy->policy, origin->peer.addr, origin->peer.port), watch);
	int r;

	if (!stream)
		return -ENOMEM;
	r = inherit(stream, legacy);
	if (!r)
		r = endpoint_open(&stream->agent, daemon->base, legacy->agent);
	if (!r) {
		r = endpoint_open(&stream->peer, daemon->base, legacy->peer);
		if (r)
			stream->agent.fd = -1;
	}
	if (r) {
		/* What there is of it in the kernel stays, for who settles what this one leaves. */
		stream->given = true;
		endpoint_leave(&stream->agent);
		free_stream(stream);
		return r;
	}
	put_in(stream);
	*ret_stream = stream;
	return 0;
}

void stream_open(struct stream *stream)
{
	stream->state = STREAM_OPEN;
	for (int track = 0; track < _SESSION_TRACK_MAX && stream->state == STREAM_OPEN; track++)
		flow_update_reading(&stream->flows[track]);
}

static void take_out(struct stream *stream)
{
	struct daemon *daemon = stream->daemon;

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
	take_out(stream);
}

void stream_leave(struct stream *stream)
{
	stream->given = true;
	endpoint_leave(&stream->agent);
	endpoint_leave(&stream->peer);
	take_out(stream);
}

void stream_reap(struct daemon *daemon)
{
	struct stream *stream;

	while ((stream = TAILQ_FIRST(&daemon->streams.dead))) {
		TAILQ_REMOVE(&daemon->streams.dead, stream, entry);
		free_stream(stream);
	}
}
