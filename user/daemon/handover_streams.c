/* SPDX-License-Identifier: Apache-2.0 */
/* The streams that a successor was given. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/guard.h"
#include "daemon/daemon.h"
#include "daemon/handover.h"
#include "daemon/handover_taking.h"
#include "kern/kern.h"
#include "sys/clock.h"
#include "sys/fd.h"
#include "sys/log.h"

static uint64_t held(const struct handover_given *given, int track)
{
	const struct handover_flow *flow = &given->record.flows[track];

	return flow->received - flow->sent;
}

static struct handover_given *last_of(const struct handover_taking *taking)
{
	return taking->count ? &taking->given[taking->count - 1] : NULL;
}

static struct loaded_policy *find_policy(const struct handover_taking *taking, const char *digest)
{
	for (size_t i = 0; i < taking->policy_count; i++)
		if (strcmp(taking->policies[i].loaded->digest, digest) == 0)
			return taking->policies[i].loaded;
	return NULL;
}

int handover_begin_given(struct handover_taking *taking)
{
	struct handover_message *message = &taking->message;
	struct handover_given given = {.record = message->stream, .agent = -1, .peer = -1};
	int r = 0;

	if (taking->count == taking->room || !handover_stream_is_sane(&given.record))
		return -EPROTO;
	given.policy = find_policy(taking, given.record.policy);
	if (!given.policy)
		return -EPROTO;
	if (message->fd_count != 2)
		return -EMFILE;
	given.agent = message->fds[0];
	given.peer = message->fds[1];
	message->fd_count = 0;
	for (int track = 0; track < _SESSION_TRACK_MAX; track++) {
		given.bytes[track] = malloc(held(&given, track) + 1);
		r = given.bytes[track] ? r : -ENOMEM;
	}
	taking->given[taking->count++] = given;
	return r;
}

int handover_add_bytes(struct handover_taking *taking)
{
	struct handover_given *given = last_of(taking);
	const uint8_t *bytes = taking->message.bytes;
	size_t left = taking->message.len;

	for (int track = 0; given && left && track < _SESSION_TRACK_MAX; track++) {
		size_t part = MIN(left, held(given, track) - given->have[track]);

		(void)memcpy(given->bytes[track] + given->have[track], bytes, part);
		given->have[track] += part;
		bytes += part;
		left -= part;
	}
	return left ? -EPROTO : 0;
}

int handover_add_owner(struct handover_taking *taking)
{
	struct handover_message *message = &taking->message;

	if (taking->owner_count == ARRAY_SIZE(taking->owners))
		return -EPROTO;
	if (message->fd_count != 1)
		return -EMFILE;
	taking->owners[taking->owner_count++] =
		(struct handover_owner){message->run.cgroup, message->fds[0]};
	message->fd_count = 0;
	return 0;
}

bool handover_given_is_whole(const struct handover_taking *taking)
{
	const struct handover_given *given = last_of(taking);

	for (int track = 0; given && track < _SESSION_TRACK_MAX; track++)
		if (given->have[track] < held(given, track))
			return false;
	return true;
}

/* What was held of a message is what the daemon held. */
static bool is_intact(const struct handover_given *given)
{
	for (int track = 0; track < _SESSION_TRACK_MAX; track++) {
		const struct handover_flow *flow = &given->record.flows[track];
		size_t skip = (size_t)(flow->framed - flow->sent);

		if (!guard_partial_intact(flow->hash, given->bytes[track] + skip,
					  (size_t)(flow->received - flow->framed)))
			return false;
	}
	return true;
}

static int make_stream(struct daemon *daemon, struct handover_given *given)
{
	const int sockets[] = {given->peer, given->agent};
	struct sluice_open_stream open;
	const struct stream_legacy legacy = {
		.handed = &given->record,
		.open = &open,
		.policy = given->policy,
		.agent = given->agent,
		.peer = given->peer,
		.bytes = {given->bytes[SESSION_REQUEST], given->bytes[SESSION_RESPONSE]},
	};
	struct watch *watch;
	struct stream *stream;
	int r;

	/* Its record stays, and with it what settles it; its sockets end in a reset. */
	if (!is_intact(given)) {
		log_warning("stream %" PRIu64 ": what it held of a message is not what was handed "
			    "over; it is discarded",
			    given->record.stream);
		return 0;
	}
	r = kern_stream_take(daemon->kern, given->record.stream, sockets, &open);
	if (r == -ENOENT || r == -EXDEV) {
		log_warning("stream %" PRIu64 " is not as the kernel knows it; it is discarded",
			    given->record.stream);
		return 0;
	}
	if (r)
		return r;
	watch = watch_find(&daemon->watches, open.origin.cgroup);
	r = stream_adopt(daemon, &legacy, watch, &stream);
	if (r)
		return r;
	given->agent = given->peer = -1;
	if (watch) {
		watch->open++;
		watch->streams++;
	}
	return 0;
}

int handover_rest_policies(struct daemon *daemon)
{
	const struct handover_taking *taking = daemon->handover.taking;
	uint64_t now_ns = clock_boot_ns();
	int r = 0;

	for (size_t i = 0; taking && !r && i < taking->policy_count; i++) {
		const struct handover_taken_policy *policy = &taking->policies[i];

		if (!policy->number)
			continue;
		r = policies_watch(&daemon->policies, policy->loaded, policy->number, now_ns);
		if (!r)
			policies_retire(policy->loaded, now_ns);
	}
	return r;
}

int handover_make_streams(struct daemon *daemon)
{
	const struct handover_taking *taking = daemon->handover.taking;
	int r = 0;

	for (size_t i = 0; taking && !r && i < taking->count; i++)
		r = make_stream(daemon, &taking->given[i]);
	return r;
}

/* Runs go on to belong to who waits for them. */
static void give_owners(struct daemon *daemon, struct handover_taking *taking)
{
	for (size_t i = 0; i < taking->owner_count; i++) {
		struct handover_owner *owner = &taking->owners[i];
		struct watch *watch = watch_find(&daemon->watches, owner->cgroup);

		if (watch && watch->kind == WATCH_RUN)
			watch->owner = control_adopt(daemon, take_fd(owner->fd));
	}
}

void handover_resume(struct daemon *daemon)
{
	struct stream *stream, *next;

	if (!daemon->handover.taking)
		return;
	give_owners(daemon, daemon->handover.taking);
	handover_taking_free(daemon);
	for (stream = TAILQ_FIRST(&daemon->streams.all); stream; stream = next) {
		next = TAILQ_NEXT(stream, entry);
		for (int track = 0; track < _SESSION_TRACK_MAX; track++)
			if (stream->state == STREAM_OPEN)
				flow_resume(&stream->flows[track]);
	}
	stream_reap(daemon);
}

void handover_taking_free(struct daemon *daemon)
{
	struct handover_taking *taking = take_ptr(daemon->handover.taking);

	if (!taking)
		return;
	for (size_t i = 0; i < taking->count; i++) {
		struct handover_given *given = &taking->given[i];

		fd_close(given->agent);
		fd_close(given->peer);
		for (int track = 0; track < _SESSION_TRACK_MAX; track++)
			free(given->bytes[track]);
	}
	for (size_t i = 0; i < taking->owner_count; i++)
		fd_close(taking->owners[i].fd);
	for (size_t i = 0; i < taking->policy_count; i++)
		loaded_policy_unref(taking->policies[i].loaded);
	fd_close(taking->fd);
	free(taking->given);
	free(taking->policies);
	free(taking);
}
