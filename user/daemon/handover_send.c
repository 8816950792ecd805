/* SPDX-License-Identifier: Apache-2.0 */
/* The moment of a handover: what is sent, and the commit. Nothing else runs meanwhile. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "core/exchange.h"
#include "core/pipeline.h"
#include "daemon/audit.h"
#include "daemon/daemon.h"
#include "daemon/handover.h"
#include "daemon/handover_wire.h"
#include "daemon/limits.h"
#include "daemon/partial.h"
#include "daemon/reason.h"
#include "daemon/web.h"
#include "sys/clock.h"
#include "sys/fd.h"
#include "sys/log.h"
#include "sys/notify.h"

/* Nothing else runs meanwhile: the time is that of all of it, however slowly it is read. */
static int keep_time(const struct handover *handover)
{
	uint64_t now_ns = clock_boot_ns();

	if (now_ns >= handover->deadline_ns)
		return -ETIMEDOUT;
	return handover_set_patience(handover->client,
				     (handover->deadline_ns - now_ns) / CLOCK_NS_PER_MS + 1);
}

static int send_in_time(const struct handover *handover, enum handover_type type, const void *body,
			size_t len, const int *fds, size_t fd_count)
{
	int r = keep_time(handover);

	return r ? r : handover_send(handover->client, type, body, len, fds, fd_count);
}

static int send_bytes(const struct handover *handover, const uint8_t *bytes, size_t len)
{
	size_t part;
	int r = 0;

	for (; len && !r; bytes += part, len -= part) {
		part = MIN(len, (size_t)HANDOVER_BODY_MAX);
		r = send_in_time(handover, HANDOVER_BYTES, bytes, part, NULL, 0);
	}
	return r;
}

static int send_held(void *context, const uint8_t *bytes, size_t len)
{
	return send_bytes(context, bytes, len);
}

static int send_policy(const struct handover *handover, const struct loaded_policy *policy)
{
	struct handover_policy head = {
		.len = policy->text_len,
		.number = loaded_policy_rests(policy) ? policy->number : 0,
	};
	int r;

	(void)memcpy(head.digest, policy->digest, sizeof(head.digest));
	r = send_in_time(handover, HANDOVER_POLICY, &head, sizeof(head), NULL, 0);
	return r ? r : send_bytes(handover, (const uint8_t *)policy->text, policy->text_len);
}

static int fill_flow(const struct flow *flow, struct handover_flow *handed)
{
	bool judged = flow->pipeline && !flow->stream->unjudged;
	/* Of one that no tick has looked at yet. */
	uint64_t now_ns = clock_boot_ns();

	*handed = (struct handover_flow){
		.received = flow->received,
		.released = flow->released,
		.sent = flow->sent,
		.framed = judged ? pipeline_framed(flow->pipeline) : flow->received,
		.last_byte_ns = flow->clocks.last_byte_ns ?: now_ns,
		.unit_ns = flow->clocks.unit_ns ?: now_ns,
		.ended = flow->ended,
		.shut = flow->sink->shut,
	};
	if (!flow->pipeline)
		return 0;
	handed->released_runes = pipeline_released_runes(flow->pipeline);
	/* Those of a message that is judged anew come again. */
	handed->runes = judged ? handed->released_runes : pipeline_runes(flow->pipeline);
	if (!judged)
		return 0;
	handed->expected = pipeline_expected(flow->pipeline);
	return partial_hash(flow, handed->hash);
}

static int fill_stream(const struct stream *stream, struct handover_stream *handed)
{
	int r = 0;

	*handed = (struct handover_stream){
		.stream = stream->origin.stream,
		.asked = stream->asked,
		.deadline_ns = stream->deadline_ns,
		.connecting = stream->state == STREAM_CONNECTING,
		.unjudged = stream->unjudged,
		.over_quota = stream->over_quota,
	};
	(void)memcpy(handed->policy, stream->policy->digest, sizeof(handed->policy));
	(void)memcpy(handed->sessions, stream->sessions, sizeof(handed->sessions));
	if (stream->exchanges) {
		enum framing_kind kind = FRAMING_AUTO;

		handed->told = exchanges_next(stream->exchanges);
		handed->next = handed->told - exchanges_open(stream->exchanges);
		handed->identified = exchanges_identified(stream->exchanges, &kind);
		handed->framing = kind;
	}
	for (int track = 0; !r && track < _SESSION_TRACK_MAX; track++)
		r = fill_flow(&stream->flows[track], &handed->flows[track]);
	return r;
}

static int send_stream(struct handover *handover, const struct stream *stream)
{
	const int fds[] = {stream->agent.fd, stream->peer.fd};
	struct handover_stream handed;
	int r = fill_stream(stream, &handed);

	if (!r)
		r = send_in_time(handover, HANDOVER_STREAM, &handed, sizeof(handed), fds,
				 ARRAY_SIZE(fds));
	for (int track = 0; !r && track < _SESSION_TRACK_MAX; track++)
		r = hold_visit(&stream->flows[track].hold, 0, send_held, handover);
	return r;
}

static int send_listeners(const struct daemon *daemon, const struct handover_listeners *head)
{
	const struct listener *listener = &daemon->listener;
	int fds[HANDOVER_FDS_MAX] = {daemon->instance.lock_fd, STDERR_FILENO};
	size_t count = 2;

	if (head->v4)
		fds[count++] = listener->fds[LISTENER_V4];
	if (head->v6)
		fds[count++] = listener->fds[LISTENER_V6];
	return send_in_time(&daemon->handover, HANDOVER_LISTENERS, head, sizeof(*head), fds, count);
}

/* From here on those that are parked are those that are given, with the policies they need. */
static void choose(struct daemon *daemon, struct handover_listeners *ret_head)
{
	struct loaded_policy *policy;
	struct stream *stream;

	*ret_head = (struct handover_listeners){
		.port = daemon->listener.port,
		.v4 = daemon->listener.fds[LISTENER_V4] >= 0,
		.v6 = daemon->listener.fds[LISTENER_V6] >= 0,
	};
	LIST_FOREACH(policy, &daemon->policies.list, entry)
	policy->given = loaded_policy_rests(policy);
	TAILQ_FOREACH(stream, &daemon->streams.all, entry)
	{
		stream->parked = handover_is_ready(stream);
		ret_head->streams += stream->parked;
		stream->policy->given |= stream->parked;
	}
	LIST_FOREACH(policy, &daemon->policies.list, entry)
	ret_head->policies += policy->given;
}

/* Who waits for a run goes on to; what of it is under way here cannot. */
static int send_runs(const struct daemon *daemon)
{
	const struct watch *watch;
	int r = 0;

	LIST_FOREACH(watch, &daemon->watches.list, entry)
	{
		const struct handover_run run = {.cgroup = watch->id};
		int fd = watch->owner ? control_idle_fd(watch->owner) : -1;

		if (!r && fd >= 0)
			r = send_in_time(&daemon->handover, HANDOVER_RUN, &run, sizeof(run), &fd,
					 1);
	}
	return r;
}

static int send_all(struct daemon *daemon, const struct handover_listeners *head)
{
	const struct loaded_policy *policy;
	const struct stream *stream;
	struct handover *handover = &daemon->handover;
	int r = send_listeners(daemon, head);

	LIST_FOREACH(policy, &daemon->policies.list, entry)
	if (!r && policy->given)
		r = send_policy(handover, policy);
	TAILQ_FOREACH(stream, &daemon->streams.all, entry)
	if (!r && stream->parked)
		r = send_stream(handover, stream);
	if (!r)
		r = send_runs(daemon);
	return r ? r : send_in_time(handover, HANDOVER_END, NULL, 0, NULL, 0);
}

/* The successor's answer to all of it. */
static int await_ready(const struct handover *handover, char *line, size_t len)
{
	struct handover_message *message = malloc(sizeof(*message));
	int r = message ? keep_time(handover) : -ENOMEM;

	if (!r)
		r = handover_expect(handover->client, HANDOVER_READY, message);
	if (r == -EREMOTEIO)
		(void)snprintf(line, len, "%s", message->line);
	else if (r)
		(void)snprintf(line, len, "%s", strerror(-r));
	else
		handover_message_done(message);
	free(message);
	return r;
}

static uint64_t settle_rest(struct daemon *daemon)
{
	struct stream *stream, *next;
	uint64_t count = 0;

	for (stream = TAILQ_FIRST(&daemon->streams.all); stream; stream = next) {
		next = TAILQ_NEXT(stream, entry);
		if (stream->parked)
			continue;
		count += !stream_is_settled(stream);
		stream_fail(stream, NULL, reason_name(REASON_HANDED_OVER));
		stream_close(stream, true);
	}
	return count;
}

/* Nobody else has the instance's names from here until the successor has. */
static void commit(struct daemon *daemon, uint64_t streams)
{
	struct handover *handover = &daemon->handover;
	const struct handover_commit body = {.settled = settle_rest(daemon)};
	int fd = take_fd(handover->client), r;

	handover->state = HANDOVER_GIVEN;
	log_info("handed over to process %d: %" PRIu64 " stream%s, %" PRIu64 " settled",
		 (int)handover->pid, streams, text_plural(streams), body.settled);
	audit_handed_over(daemon, (uint32_t)handover->pid, streams, body.settled);
	audit_close(daemon);
	control_done(daemon);
	web_done(daemon);
	handover_done(daemon);
	notify_successor(handover->pid);
	r = handover_send(fd, HANDOVER_COMMIT, &body, sizeof(body), NULL, 0);
	if (r)
		log_errno(LOG_ERR, r,
			  "process %d is gone; what it was given is closed, until a daemon of "
			  "this instance is started",
			  (int)handover->pid);
	(void)close(fd);
	(void)event_base_loopbreak(daemon->base);
}

void handover_switch(struct daemon *daemon)
{
	struct handover *handover = &daemon->handover;
	struct handover_listeners head;
	char line[HANDOVER_LINE_MAX];
	int r;

	(void)event_del(&handover->readable);
	(void)event_del(&handover->step);
	if (handover->state == HANDOVER_WAITING) {
		handover->state = HANDOVER_PARKING;
		listener_pause(&daemon->listener);
	}
	choose(daemon, &head);
	handover->deadline_ns = clock_boot_ns() + LIMIT_HANDOVER_MS * CLOCK_NS_PER_MS;
	if (head.streams > handover->streams_max) {
		(void)snprintf(line, sizeof(line),
			       "it has room for %" PRIu64 " stream%s, and %" PRIu64 " %s open",
			       handover->streams_max, text_plural(handover->streams_max),
			       head.streams, head.streams == 1 ? "is" : "are");
		(void)!handover_send(handover->client, HANDOVER_REFUSED, line, strlen(line), NULL,
				     0);
		handover_give_up(daemon, line);
		return;
	}
	r = send_all(daemon, &head);
	if (r)
		(void)snprintf(line, sizeof(line), "%s", strerror(-r));
	else
		r = await_ready(handover, line, sizeof(line));
	if (r)
		handover_give_up(daemon, line);
	else
		commit(daemon, head.streams);
}
