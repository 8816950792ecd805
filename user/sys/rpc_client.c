/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/rpc_client.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

struct rpc_client {
	int fd;
	json_int_t id; /* of the last call */
	char *line;    /* what has been read: len bytes of room */
	size_t len, room;
};

int rpc_client_new(const char *path, struct rpc_client **ret_client)
{
	struct timeval patience = {.tv_sec = RPC_TIMEOUT_S};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct rpc_client *client cleanup(rpc_client_freep) = calloc(1, sizeof(*client));

	if (!client)
		return -ENOMEM;
	client->fd = -1;
	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	(void)memcpy(address.sun_path, path, strlen(path) + 1);
	client->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (client->fd < 0)
		return -errno;
	if (setsockopt(client->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) ||
	    setsockopt(client->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)))
		return -errno;
	if (connect(client->fd, (struct sockaddr *)&address, sizeof(address)))
		return -errno;
	*ret_client = take_ptr(client);
	return 0;
}

void rpc_client_free(struct rpc_client *client)
{
	if (!client)
		return;
	if (client->fd >= 0)
		(void)close(client->fd);
	free(client->line);
	free(client);
}

int rpc_client_fd(const struct rpc_client *client)
{
	return client->fd;
}

static int failed(int err, char *error, size_t error_len, const char *what)
{
	(void)snprintf(error, error_len, "%s: %s", what, strerror(-err));
	return err;
}

/* What errno a socket call left, with a time limit that passed told from the rest. */
static int socket_error(void)
{
	if (errno == EAGAIN || errno == EWOULDBLOCK)
		return -ETIMEDOUT;
	return errno == EPIPE ? -ECONNRESET : -errno;
}

static int send_line(struct rpc_client *client, const char *text, size_t len)
{
	ssize_t sent;

	while (len) {
		sent = send(client->fd, text, len, MSG_NOSIGNAL);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return socket_error();
		text += sent;
		len -= (size_t)sent;
	}
	return 0;
}

static int grow(struct rpc_client *client)
{
	size_t room = client->room ? client->room * 2 : 4096;
	char *line;

	if (room > RPC_LINE_MAX)
		return -EPROTO;
	line = realloc(client->line, room);
	if (!line)
		return -ENOMEM;
	client->line = line;
	client->room = room;
	return 0;
}

/* Reads up to the next newline; what follows it would answer no call: refused. */
static int receive_line(struct rpc_client *client, size_t *ret_len)
{
	char *newline;
	size_t len = 0;
	ssize_t got;
	int err;

	for (;;) {
		if (len == client->room) {
			err = grow(client);
			if (err)
				return err;
		}
		got = recv(client->fd, client->line + len, client->room - len, 0);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return socket_error();
		if (got == 0)
			return -ECONNRESET;
		newline = memchr(client->line + len, '\n', (size_t)got);
		len += (size_t)got;
		if (newline && newline + 1 != client->line + len)
			return -EPROTO;
		if (newline) {
			*ret_len = len;
			return 0;
		}
	}
}

static int exchange(struct rpc_client *client, json_t *request, json_t **ret_answer)
{
	char *text = json_dumps(request, JSON_COMPACT);
	size_t len = 0;
	int err;

	if (!text)
		return -ENOMEM;
	err = send_line(client, text, strlen(text));
	free(text);
	if (!err)
		err = send_line(client, "\n", 1);
	if (!err)
		err = receive_line(client, &len);
	if (err)
		return err;
	*ret_answer = json_loadb(client->line, len, JSON_REJECT_DUPLICATES, NULL);
	return *ret_answer ? 0 : -EPROTO;
}

static int read_answer(const struct rpc_client *client, json_t *answer, json_t **ret_result,
		       char *error, size_t error_len)
{
	const json_t *refusal = json_object_get(answer, "error");
	const char *message = json_string_value(json_object_get(refusal, "message"));
	json_t *result = json_object_get(answer, "result");
	const json_t *id = json_object_get(answer, "id");

	if (refusal && message) {
		(void)snprintf(error, error_len, "%s", message);
		return -EREMOTEIO;
	}
	if (!json_is_integer(id) || json_integer_value(id) != client->id || !result)
		return failed(-EPROTO, error, error_len, "the daemon's answer");
	*ret_result = json_incref(result);
	return 0;
}

int rpc_client_call(struct rpc_client *client, const char *method, json_t *params,
		    json_t **ret_result, char *error, size_t error_len)
{
	json_t *request, *answer = NULL;
	int err;

	client->id++;
	request = json_pack("{s:s, s:I, s:s, s:o}", "jsonrpc", "2.0", "id", client->id, "method",
			    method, "params", params ? params : json_object());
	if (!request)
		return failed(-ENOMEM, error, error_len, method);
	err = exchange(client, request, &answer);
	json_decref(request);
	if (err)
		return failed(err, error, error_len, "talking to the daemon");
	err = read_answer(client, answer, ret_result, error, error_len);
	json_decref(answer);
	return err;
}
