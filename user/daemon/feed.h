/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Feed: what happens, told to the control clients that follow it, as it happens.
 *
 * Invariants:
 *  E1. Who follows never makes the daemon wait: what a client does not read is dropped
 *      for it beyond LIMIT_FEED_UNREAD, counted, and told to it once it reads again.
 *  E2. An event has what a record of the trail has and no more: no text of a stream.
 *  E3. Where nobody follows, an event costs one look at whether somebody does.
 *
 * An event is a record of the trail (daemon/audit_record.h) without its number and its
 * hash, as a JSON-RPC notification: {"jsonrpc":"2.0","method":"event","params":{"time":T,
 * "type":E, …}}; or one that the trail does not have: "fence", "watch", "unwatch", "policy",
 * and "lost" with the "count" of those that a client missed.
 */
#ifndef SLUICE_DAEMON_FEED_H
#define SLUICE_DAEMON_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/event_types.h"
#include "base/macros.h"
#include "daemon/audit_record.h"
#include "sluice/abi.h"

struct control_client;
struct daemon;
struct loaded_policy;
struct watch;

#define FEED_TYPE(type, name) FEED_##type,
enum feed_type { EVENT_TYPES(FEED_TYPE) _FEED_TYPE_MAX };
#undef FEED_TYPE

/* Every type but watermarks, of which there is one a released message. */
#define FEED_USUAL (((1u << _FEED_TYPE_MAX) - 1) & ~(1u << FEED_WATERMARK))

struct follower;

struct feed {
	LIST_HEAD(, follower) followers;
	struct audit_stamp stamp;
	char line[AUDIT_RECORD_MAX]; /* of an event that is no record */
};

/* "stream_opened" and so on. -ENOENT. */
int feed_type_of(const char *name, enum feed_type *ret_type) must_check;

/*
 * A client follows from now on, or follows something else: those types (bits of enum
 * feed_type), of that stream (0: all) and cgroup (NULL: all). What belongs to no stream, or
 * to no cgroup, is not told where one is given. -ENOMEM.
 */
int feed_follow(struct daemon *daemon, struct control_client *client, unsigned int types,
		uint64_t stream, const char *cgroup) must_check;
/* Also of a client that does not follow. */
void feed_unfollow(struct daemon *daemon, struct control_client *client);
/* The client has read all that was queued for it: what it missed is told. */
void feed_drained(struct daemon *daemon, struct control_client *client);

/* Does anybody follow that? */
bool feed_wants(const struct feed *feed, enum feed_type type);
/* Room for an event that is no record; false: nobody follows. */
bool feed_begin(struct feed *feed, struct audit_line *line, struct audit_stamp **ret_stamp);
/* Tells one that was built, sealed or not. stream 0, cgroup NULL: it belongs to none. */
void feed_tell(struct daemon *daemon, const struct audit_line *line, uint64_t stream,
	       const char *cgroup);

/* The fence refused something. watch: NULL where it is not known. */
void feed_fence(struct daemon *daemon, const struct watch *watch, const struct sluice_event *event);
/* A cgroup is watched from now on, or no longer. */
void feed_watch(struct daemon *daemon, const struct watch *watch, bool watched);
/* A name stands for that policy from now on. */
void feed_policy(struct daemon *daemon, const struct loaded_policy *loaded);

#endif
