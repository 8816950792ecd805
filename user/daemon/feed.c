/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/feed.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/control.h"
#include "daemon/daemon.h"
#include "daemon/limits.h"
#include "kern/kern.h"

#define HEAD "{\"jsonrpc\":\"2.0\",\"method\":\"event\",\"params\":{"
/* Of what is around a record's text, with the name of its type. */
#define AROUND_MAX (sizeof(HEAD) + 64u)

struct follower {
	LIST_ENTRY(follower) entry;
	struct control_client *client;
	unsigned int types;
	uint64_t stream;
	uint64_t lost; /* not told yet */
	char *cgroup;
};

#define TYPE_NAME(type, name) [FEED_##type] = (name),
static const char *const type_names[_FEED_TYPE_MAX] = {EVENT_TYPES(TYPE_NAME)};

int feed_type_of(const char *name, enum feed_type *ret_type)
{
	for (int type = 0; type < _FEED_TYPE_MAX; type++)
		if (!strcmp(type_names[type], name)) {
			*ret_type = (enum feed_type)type;
			return 0;
		}
	return -ENOENT;
}

static struct follower *find(const struct feed *feed, const struct control_client *client)
{
	struct follower *follower;

	LIST_FOREACH(follower, &feed->followers, entry)
	if (follower->client == client)
		return follower;
	return NULL;
}

int feed_follow(struct daemon *daemon, struct control_client *client, unsigned int types,
		uint64_t stream, const char *cgroup)
{
	struct follower *follower = find(&daemon->feed, client);
	char *copy = cgroup ? strdup(cgroup) : NULL;

	if (cgroup && !copy)
		return -ENOMEM;
	if (!follower) {
		follower = calloc(1, sizeof(*follower));
		if (!follower) {
			free(copy);
			return -ENOMEM;
		}
		follower->client = client;
		LIST_INSERT_HEAD(&daemon->feed.followers, follower, entry);
	}
	free(follower->cgroup);
	follower->cgroup = copy;
	follower->types = types;
	follower->stream = stream;
	return 0;
}

void feed_unfollow(struct daemon *daemon, struct control_client *client)
{
	struct follower *follower = find(&daemon->feed, client);

	if (!follower)
		return;
	LIST_REMOVE(follower, entry);
	free(follower->cgroup);
	free(follower);
}

static void tell_lost(struct follower *follower)
{
	char text[AROUND_MAX + 64];
	int len;

	if (!follower->lost)
		return;
	len = snprintf(text, sizeof(text), HEAD "\"type\":\"lost\",\"count\":%" PRIu64 "}}\n",
		       follower->lost);
	if (!control_push(follower->client, text, (size_t)len))
		follower->lost = 0;
}

void feed_drained(struct daemon *daemon, struct control_client *client)
{
	struct follower *follower = find(&daemon->feed, client);

	if (follower)
		tell_lost(follower);
}

static void push(struct follower *follower, const char *text, size_t len)
{
	if (control_unread(follower->client) <= LIMIT_FEED_UNREAD) {
		tell_lost(follower);
		if (!follower->lost && !control_push(follower->client, text, len))
			return;
	}
	follower->lost++;
}

bool feed_wants(const struct feed *feed, enum feed_type type)
{
	const struct follower *follower;

	LIST_FOREACH(follower, &feed->followers, entry)
	if (follower->types & 1u << type)
		return true;
	return false;
}

static bool is_meant(const struct follower *follower, enum feed_type type, uint64_t stream,
		     const char *cgroup)
{
	if (!(follower->types & 1u << type) || (follower->stream && follower->stream != stream))
		return false;
	return !follower->cgroup || (cgroup && !strcmp(follower->cgroup, cgroup));
}

bool feed_begin(struct feed *feed, struct audit_line *line, struct audit_stamp **ret_stamp)
{
	if (LIST_EMPTY(&feed->followers))
		return false;
	(void)clock_gettime(CLOCK_REALTIME, &feed->stamp.time);
	*line = (struct audit_line){.text = feed->line};
	*ret_stamp = &feed->stamp;
	return true;
}

/* The time of a record, its event as the type, and what follows. */
static size_t format(const struct audit_line *line, char *text, size_t size)
{
	int len =
		snprintf(text, size, HEAD "%.*s,\"type\":\"%s\"%.*s}}\n",
			 (int)(line->event_at - line->time_at), line->text + line->time_at,
			 line->event, (int)(line->len - line->rest_at), line->text + line->rest_at);

	return len < 0 ? 0 : MIN((size_t)len, size - 1);
}

void feed_tell(struct daemon *daemon, const struct audit_line *line, uint64_t stream,
	       const char *cgroup)
{
	char text[AUDIT_RECORD_MAX + AROUND_MAX];
	struct follower *follower;
	enum feed_type type;
	size_t len = 0;

	if (LIST_EMPTY(&daemon->feed.followers) || feed_type_of(line->event, &type))
		return;
	LIST_FOREACH(follower, &daemon->feed.followers, entry)
	{
		if (!is_meant(follower, type, stream, cgroup))
			continue;
		if (!len)
			len = format(line, text, sizeof(text));
		push(follower, text, len);
	}
}

void feed_fence(struct daemon *daemon, const struct watch *watch, const struct sluice_event *event)
{
	char comm[SLUICE_COMM_LEN + 1], peer[SETTLE_ADDRESS_LEN];
	const struct audit_who who = {
		.cgroup = watch ? watch->path : NULL,
		.policy = watch && watch->policy ? watch->policy->policy->name : NULL,
		.pid = event->origin.pid,
		.uid = event->origin.uid,
	};
	struct audit_stamp *stamp;
	struct audit_line line;

	if (!feed_begin(&daemon->feed, &line, &stamp))
		return;
	settle_format_comm(&event->origin, comm);
	settle_format_address(&event->origin.peer, peer, sizeof(peer));
	audit_record_fence(&line, stamp, &who, kern_counter_name((enum sluice_counter)event->value),
			   comm, event->origin.peer.family ? peer : NULL);
	feed_tell(daemon, &line, 0, who.cgroup);
}

void feed_watch(struct daemon *daemon, const struct watch *watch, bool watched)
{
	struct audit_stamp *stamp;
	struct audit_line line;

	if (!feed_begin(&daemon->feed, &line, &stamp))
		return;
	audit_record_watch(&line, stamp, watched, watch->path,
			   watch->policy ? watch->policy->policy->name : NULL,
			   watch->kind == WATCH_RUN ? "run" : "watch");
	feed_tell(daemon, &line, 0, watch->path);
}

void feed_policy(struct daemon *daemon, const struct loaded_policy *loaded)
{
	struct audit_stamp *stamp;
	struct audit_line line;

	if (!feed_begin(&daemon->feed, &line, &stamp))
		return;
	audit_record_policy(&line, stamp, loaded->policy->name, loaded->digest);
	feed_tell(daemon, &line, 0, NULL);
}
