/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control: JSON-RPC 2.0, one object a line, on a Unix socket.
 *
 * Invariants:
 *  J1. A client is outside every watched cgroup, and is root or in one of the two groups
 *      that the command line names, or is told why not and closed; one whose cgroup becomes
 *      watched is closed then. Who it is, is what the socket recorded when it connected: who
 *      hands its descriptor on has asked for what is sent on it.
 *  J2. A method that changes anything is for root and the first group, and every call of
 *      one is in the trail before it is answered, refused or not.
 *  J3. Every request with an id gets one answer, in the order of the requests but
 *      for run.finish, which answers when the run is over, and streams, which answers when the
 *      list is made.
 *  J4. A client costs at most LIMIT_CONTROL_LINE of input and LIMIT_CONTROL_UNREAD
 *      of output, and never makes the loop wait: one request a turn. Those that are not
 *      root's leave room for root's.
 */
#ifndef SLUICE_DAEMON_CONTROL_H
#define SLUICE_DAEMON_CONTROL_H

#include <event2/event.h>
#include <event2/event_struct.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/macros.h"
#include "sys/unix_socket.h"

struct control_client;
struct daemon;
struct evbuffer;
struct streams_call;

/* What a method asks of who calls it, each more than the one before. */
enum control_right { CONTROL_NOTHING, CONTROL_READ, CONTROL_CHANGE };

/* A group of the host whose members have a right. */
struct control_group {
	const char *name;
	bool known; /* this host has it */
	gid_t gid;
	enum control_right right;
};
#define CONTROL_GROUPS 2u

struct control {
	int fd;
	struct control_group groups[CONTROL_GROUPS];
	uint64_t refused_second; /* of the boot clock; refused calls of it that were recorded */
	unsigned int refused_count;
	uint64_t refused_untold;
	char path[256];
	struct event acceptable, rest;
	LIST_HEAD(, control_client) clients;
	LIST_HEAD(, control_client) dead;   /* freed when the callback is over */
	LIST_HEAD(, streams_call) listings; /* calls of `streams` under way (control_streams.c) */
	size_t count;
};

#define CONTROL_PARSE_ERROR	 (-32700)
#define CONTROL_INVALID_REQUEST	 (-32600)
#define CONTROL_METHOD_NOT_FOUND (-32601)
#define CONTROL_INVALID_PARAMS	 (-32602)
#define CONTROL_FAILED		 (-32000)
#define CONTROL_FORBIDDEN	 (-32001)
/* The method answers later, by control_answer(). */
#define CONTROL_LATER 1

void control_init(struct control *control);
int control_start(struct daemon *daemon, char *error, size_t error_len) must_check;
/* Sends what it can of what is unsent, closes all, removes the socket's file. */
void control_done(struct daemon *daemon);

/* Its descriptor, for another process to go on with; -1: something of it is under way here. */
int control_idle_fd(const struct control_client *client);
/* Goes on with a client that another process had. NULL: it may not ask. Takes fd over. */
struct control_client *control_adopt(struct daemon *daemon, int fd) must_check;

/* Takes result over; NULL: no memory. id NULL: a notification, which gets no answer. */
void control_answer(struct control_client *client, const json_t *id, json_t *result);
/* A result that is JSON text already, which is moved out of the buffer. */
void control_answer_text(struct control_client *client, const json_t *id, struct evbuffer *result);
void control_answer_error(struct control_client *client, const json_t *id, int code,
			  const char *message);

/* Ends the clients that are in watched cgroups since a moment ago; asking after its answer. */
void control_end_watched(struct daemon *daemon, const struct control_client *asking);

/* Who asked, as the socket told when it connected, and what it may. */
const struct unix_peer *control_peer(const struct control_client *client);
enum control_right control_right(const struct control_client *client);

/* Queues text that no request asked for, to be sent with this turn. -ENOMEM: nothing of it is. */
int control_push(struct control_client *client, const char *text, size_t len) must_check;
/* Bytes queued for it that it has not read. */
size_t control_unread(const struct control_client *client);

/* Looks the groups up (control_access.c). error has the line where it fails. */
int control_find_groups(struct daemon *daemon, char *error, size_t error_len) must_check;
/* Lets those that there are connect to the socket's file. */
int control_admit(const struct control *control, const char *path) must_check;
/* By what the socket recorded when the peer connected; root needs no group. */
enum control_right control_right_of(const struct control *control, int fd,
				    const struct unix_peer *peer);

/* One line of a client: parsed, dispatched, answered (control_rpc.c). */
void control_take_line(struct daemon *daemon, struct control_client *client, const char *line,
		       size_t len);

/* A call under way. */
struct control_call {
	struct daemon *daemon;
	struct control_client *client;
	json_t *id;
	json_t *params; /* an object */
	char error[512];
};

/* 0 and *ret_result, CONTROL_LATER, or one of the codes above with call->error filled. */
typedef int (*control_method_fn)(struct control_call *call, json_t **ret_result);

int control_status(struct control_call *call, json_t **ret_result);
int control_streams(struct control_call *call, json_t **ret_result);
/* A client is gone: nothing is listed for it any more. */
void control_streams_gone(struct daemon *daemon, const struct control_client *client);
int control_stream(struct control_call *call, json_t **ret_result);
int control_deny(struct control_call *call, json_t **ret_result);
int control_watch(struct control_call *call, json_t **ret_result);
int control_unwatch(struct control_call *call, json_t **ret_result);
int control_run_create(struct control_call *call, json_t **ret_result);
int control_run_finish(struct control_call *call, json_t **ret_result);
int control_policy_load(struct control_call *call, json_t **ret_result);
int control_policy_show(struct control_call *call, json_t **ret_result);
int control_policy_reload(struct control_call *call, json_t **ret_result);
int control_events(struct control_call *call, json_t **ret_result);
int control_audit_head(struct control_call *call, json_t **ret_result);

/* Fills call->error; returns code. */
int control_fail(struct control_call *call, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
