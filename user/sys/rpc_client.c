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

/* JSON-RPC 2.0, 5.1 */
#define METHOD_NOT_FOUND (-32601)

struct rpc_client {
	int fd;
	json_int_t id; /* of the last call */
	char *line;    /* what has been read: len bytes of room */
	size_t len, room;
	size_t taken; /* of len: the line that was taken last */
	char *text;   /* of a result, where it is not in the line */
};

/* What errno a socket call left, with a time limit that passed told from the rest. */
static int socket_error(void)
{
	if (errno == EAGAIN || errno == EWOULDBLOCK)
		return -ETIMEDOUT;
	return errno == EPIPE ? -ECONNRESET : -errno;
}

static int limit(const struct rpc_client *client, int option, unsigned int ms)
{
	struct timeval patience = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};

	return setsockopt(client->fd, SOL_SOCKET, option, &patience, sizeof(patience)) ? -errno : 0;
}

int rpc_client_new(const char *path, unsigned int patience_ms, struct rpc_client **ret_client)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct rpc_client *client cleanup(rpc_client_freep) = calloc(1, sizeof(*client));
	int err;

	if (!client)
		return -ENOMEM;
	client->fd = -1;
	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	(void)memcpy(address.sun_path, path, strlen(path) + 1);
	client->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (client->fd < 0)
		return -errno;
	err = limit(client, SO_RCVTIMEO, patience_ms);
	if (!err)
		err = limit(client, SO_SNDTIMEO, patience_ms);
	if (err)
		return err;
	if (connect(client->fd, (struct sockaddr *)&address, sizeof(address)))
		return socket_error();
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
	free(client->text);
	free(client);
}

int rpc_client_patience(struct rpc_client *client, unsigned int ms)
{
	return limit(client, SO_RCVTIMEO, ms);
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

/* Drops the line that was taken last. */
static void drop_taken(struct rpc_client *client)
{
	client->len -= client->taken;
	(void)memmove(client->line, client->line + client->taken, client->len);
	client->taken = 0;
}

/* Takes the next line; what follows it stays for the next call of this. */
static int receive_line(struct rpc_client *client)
{
	const char *newline;
	size_t scanned = 0;
	ssize_t got;
	int err;

	if (client->taken)
		drop_taken(client);
	for (;;) {
		newline = client->len > scanned
				  ? memchr(client->line + scanned, '\n', client->len - scanned)
				  : NULL;
		if (newline) {
			client->taken = (size_t)(newline + 1 - client->line);
			return 0;
		}
		scanned = client->len;
		err = client->len == client->room ? grow(client) : 0;
		if (err)
			return err;
		got = recv(client->fd, client->line + client->len, client->room - client->len, 0);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return socket_error();
		if (got == 0)
			return -ECONNRESET;
		client->len += (size_t)got;
	}
}

static int receive_object(struct rpc_client *client, json_t **ret_object)
{
	int err = receive_line(client);

	if (err)
		return err;
	*ret_object = json_loadb(client->line, client->taken, JSON_REJECT_DUPLICATES, NULL);
	return *ret_object ? 0 : -EPROTO;
}

/* Takes the parameters over. */
static int send_request(struct rpc_client *client, const char *method, json_t *params)
{
	json_t *request = json_pack("{s:s, s:I, s:s, s:o}", "jsonrpc", "2.0", "id", ++client->id,
				    "method", method, "params", params ? params : json_object());
	char *text = request ? json_dumps(request, JSON_COMPACT) : NULL;
	int err = -ENOMEM;

	json_decref(request);
	if (text)
		err = send_line(client, text, strlen(text));
	free(text);
	return err ? err : send_line(client, "\n", 1);
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
		return json_integer_value(json_object_get(refusal, "code")) == METHOD_NOT_FOUND
			       ? -ENOSYS
			       : -EREMOTEIO;
	}
	if (!json_is_integer(id) || json_integer_value(id) != client->id || !result)
		return failed(-EPROTO, error, error_len, "the daemon's answer");
	*ret_result = json_incref(result);
	return 0;
}

int rpc_client_call(struct rpc_client *client, const char *method, json_t *params,
		    json_t **ret_result, char *error, size_t error_len)
{
	json_t *answer = NULL;
	int err = send_request(client, method, params);

	if (!err)
		err = receive_object(client, &answer);
	if (err)
		return failed(err, error, error_len, "talking to the daemon");
	err = read_answer(client, answer, ret_result, error, error_len);
	json_decref(answer);
	return err;
}

/* Where the result of the line begins and ends, if it is written as sluiced does. */
static bool find_result(const struct rpc_client *client, const char **ret_text, size_t *ret_len)
{
	char head[96];
	size_t len = (size_t)snprintf(
		head, sizeof(head),
		"{\"jsonrpc\":\"2.0\",\"id\":%lld,\"result\":", (long long)client->id);

	if (client->taken < len + 2 || memcmp(client->line, head, len) != 0 ||
	    memcmp(client->line + client->taken - 2, "}\n", 2) != 0)
		return false;
	*ret_text = client->line + len;
	*ret_len = client->taken - len - 2;
	return true;
}

int rpc_client_call_text(struct rpc_client *client, const char *method, json_t *params,
			 const char **ret_text, size_t *ret_len, char *error, size_t error_len)
{
	json_t *answer, *result = NULL;
	int err = send_request(client, method, params);

	if (!err)
		err = receive_line(client);
	if (err)
		return failed(err, error, error_len, "talking to the daemon");
	if (find_result(client, ret_text, ret_len))
		return 0;
	answer = json_loadb(client->line, client->taken, JSON_REJECT_DUPLICATES, NULL);
	err = read_answer(client, answer, &result, error, error_len);
	json_decref(answer);
	if (err)
		return err;
	free(client->text);
	client->text = json_dumps(result, JSON_COMPACT | JSON_ENCODE_ANY);
	json_decref(result);
	if (!client->text)
		return failed(-ENOMEM, error, error_len, method);
	*ret_text = client->text;
	*ret_len = strlen(client->text);
	return 0;
}

int rpc_client_next(struct rpc_client *client, const char *method, json_t **ret_params)
{
	json_t *object = NULL, *params;
	const char *name;
	int err;

	do {
		json_decref(object);
		err = receive_object(client, &object);
		if (err)
			return err;
		name = json_string_value(json_object_get(object, "method"));
	} while (!name || strcmp(name, method) != 0);
	params = json_object_get(object, "params");
	if (json_is_object(params))
		*ret_params = json_incref(params);
	else
		err = -EPROTO;
	json_decref(object);
	return err;
}
