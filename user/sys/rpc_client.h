/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client side of the control socket: JSON-RPC 2.0, one object a line, over a
 * Unix stream socket. One call at a time, blocking, with a time limit. After a call
 * that subscribes, notifications.
 *
 * Invariants: an answer belongs to the call whose id it carries, or the
 * connection is given up; a line is at most RPC_LINE_MAX bytes.
 */
#ifndef SLUICE_SYS_RPC_CLIENT_H
#define SLUICE_SYS_RPC_CLIENT_H

#include <jansson.h>

#include "base/macros.h"

#define RPC_LINE_MAX	(64u << 20)
#define RPC_PATIENCE_MS 60000u

struct rpc_client;

/*
 * patience_ms: how long to connect, and then each call, may take; 0: for ever. -ENOENT,
 * -ECONNREFUSED: nobody serves that path. -ETIMEDOUT: who serves it accepts nobody.
 * -ENAMETOOLONG. Otherwise errno of connect(2).
 */
int rpc_client_new(const char *path, unsigned int patience_ms,
		   struct rpc_client **ret_client) must_check;
/* Closes the connection. Accepts NULL. */
void rpc_client_free(struct rpc_client *client);
DEFINE_CLEANUP(struct rpc_client *, rpc_client_free)

/* How long an answer may take instead, in milliseconds; 0: for ever. -errno. */
int rpc_client_patience(struct rpc_client *client, unsigned int ms) must_check;

/* To poll: readable while no call is under way means that the server hung up. */
int rpc_client_fd(const struct rpc_client *client);

/*
 * Calls method; params (an object, or NULL for an empty one) is taken over in
 * every case. *ret_result is a new reference. error (of at least 256 bytes) has
 * one line where this fails: -EREMOTEIO: the server's own message; -EPROTO: its
 * answer is no JSON-RPC; -ENOSYS: it does not know the method; -ETIMEDOUT; -ECONNRESET: it
 * hung up; -ENOMEM.
 */
int rpc_client_call(struct rpc_client *client, const char *method, json_t *params,
		    json_t **ret_result, char *error, size_t error_len) must_check;

/*
 * The same, for answers that are large and only passed on: the text of the result, which is the
 * client's until the next call. It is not looked at where the answer begins and ends as those of
 * sluiced do.
 */
int rpc_client_call_text(struct rpc_client *client, const char *method, json_t *params,
			 const char **ret_text, size_t *ret_len, char *error,
			 size_t error_len) must_check;

/*
 * The parameters of the next notification of that method, a new reference; others are passed
 * over. -EPROTO, -ETIMEDOUT, -ECONNRESET, -ENOMEM, without a line.
 */
int rpc_client_next(struct rpc_client *client, const char *method, json_t **ret_params) must_check;

#endif
