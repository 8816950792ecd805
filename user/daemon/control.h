/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Control: JSON-RPC 2.0, one object a line, on a Unix socket.
 *
 * Invariants:
 *  J1. A client is uid 0 and outside every watched cgroup, or is told so and closed.
 *  J2. Every request with an id gets one answer, in the order of the requests but
 *      for run.finish, which answers when the run is over.
 *  J3. A client costs at most LIMIT_CONTROL_LINE of input and LIMIT_CONTROL_UNREAD
 *      of output, and never makes the loop wait.
 */
#ifndef SLUICE_DAEMON_CONTROL_H
#define SLUICE_DAEMON_CONTROL_H

#include <event2/event.h>
#include <event2/event_struct.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "base/macros.h"
#include "sys/unix_socket.h"

struct control_client;
struct daemon;

struct control {
	int fd;
	char path[256];
	struct event acceptable;
	LIST_HEAD(, control_client) clients;
	LIST_HEAD(, control_client) dead; /* freed when the callback is over */
	size_t count;
};

#define CONTROL_PARSE_ERROR	 (-32700)
#define CONTROL_INVALID_REQUEST	 (-32600)
#define CONTROL_METHOD_NOT_FOUND (-32601)
#define CONTROL_INVALID_PARAMS	 (-32602)
#define CONTROL_FAILED		 (-32000)
/* The method answers later, by control_answer(). */
#define CONTROL_LATER 1

void control_init(struct control *control);
int control_start(struct daemon *daemon, char *error, size_t error_len) must_check;
/* Sends what it can of what is unsent, closes all, removes the socket's file. */
void control_done(struct daemon *daemon);

/* Takes result over; NULL: no memory. id NULL: a notification, which gets no answer. */
void control_answer(struct control_client *client, const json_t *id, json_t *result);
void control_answer_error(struct control_client *client, const json_t *id, int code,
			  const char *message);

/* Who asked, as the socket told when it connected. */
const struct unix_peer *control_peer(const struct control_client *client);

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
int control_stream(struct control_call *call, json_t **ret_result);
int control_deny(struct control_call *call, json_t **ret_result);
int control_watch(struct control_call *call, json_t **ret_result);
int control_unwatch(struct control_call *call, json_t **ret_result);
int control_run_create(struct control_call *call, json_t **ret_result);
int control_run_finish(struct control_call *call, json_t **ret_result);
int control_audit_head(struct control_call *call, json_t **ret_result);

/* Fills call->error; returns code. */
int control_fail(struct control_call *call, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
