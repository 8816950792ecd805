/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/control.h"

#include <errno.h>
#include <event2/buffer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/daemon.h"
#include "daemon/limits.h"
#include "daemon/run.h"
#include "sys/fd.h"
#include "sys/log.h"
#include "sys/unix_socket.h"

/* Requests wait while this much of the answers is unread. */
#define UNREAD_PAUSE (1u << 20)

struct control_client {
	LIST_ENTRY(control_client) entry;
	struct daemon *daemon;
	int fd;
	struct event readable, writable;
	struct evbuffer *in, *out;
	size_t scanned; /* of in, without a newline */
	bool last;	/* nothing more is read; closed when out is empty */
	bool dead;
	struct unix_peer peer;
};

static void kill_client(struct control_client *client)
{
	struct control *control = &client->daemon->control;

	if (client->dead)
		return;
	client->dead = true;
	run_client_gone(client->daemon, client);
	(void)event_del(&client->readable);
	(void)event_del(&client->writable);
	(void)close(client->fd);
	LIST_REMOVE(client, entry);
	LIST_INSERT_HEAD(&control->dead, client, entry);
	control->count--;
}

static void free_dead(struct control *control)
{
	struct control_client *client;

	while ((client = LIST_FIRST(&control->dead))) {
		LIST_REMOVE(client, entry);
		evbuffer_free(client->in);
		evbuffer_free(client->out);
		free(client);
	}
}

/* Sends what the socket takes now, and asks for events accordingly. */
static void flush(struct control_client *client)
{
	size_t unsent;

	if (client->dead)
		return;
	if (evbuffer_get_length(client->out) && evbuffer_write(client->out, client->fd) < 0 &&
	    errno != EAGAIN && errno != EINTR) {
		kill_client(client);
		return;
	}
	unsent = evbuffer_get_length(client->out);
	if (unsent > LIMIT_CONTROL_UNREAD || (!unsent && client->last)) {
		kill_client(client);
		return;
	}
	if (unsent)
		(void)event_add(&client->writable, NULL);
	else
		(void)event_del(&client->writable);
	if (client->last || unsent > UNREAD_PAUSE)
		(void)event_del(&client->readable);
	else
		(void)event_add(&client->readable, NULL);
}

static void queue_object(struct control_client *client, json_t *object)
{
	char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;

	json_decref(object);
	if (client->dead) {
		free(text);
		return;
	}
	/* An answer that cannot be built is no answer: the client sees the end instead. */
	if (!text || evbuffer_add(client->out, text, strlen(text)) ||
	    evbuffer_add(client->out, "\n", 1))
		kill_client(client);
	else
		flush(client);
	free(text);
}

void control_answer(struct control_client *client, const json_t *id, json_t *result)
{
	if (!id) {
		json_decref(result);
		return;
	}
	if (!result) {
		control_answer_error(client, id, CONTROL_FAILED, "out of memory");
		return;
	}
	queue_object(client,
		     json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", id, "result", result));
}

void control_answer_error(struct control_client *client, const json_t *id, int code,
			  const char *message)
{
	queue_object(client, json_pack("{s:s, s:O?, s:{s:i, s:s}}", "jsonrpc", "2.0", "id", id,
				       "error", "code", code, "message", message));
}

/* Takes one line out of what was read. false: there is no whole one. */
static bool take_line(struct control_client *client)
{
	struct evbuffer_ptr from, newline;
	size_t len;
	char *line;

	if (evbuffer_ptr_set(client->in, &from, client->scanned, EVBUFFER_PTR_SET))
		return false;
	newline = evbuffer_search(client->in, "\n", 1, &from);
	if (newline.pos < 0) {
		client->scanned = evbuffer_get_length(client->in);
		return false;
	}
	client->scanned = 0;
	line = evbuffer_readln(client->in, &len, EVBUFFER_EOL_LF);
	if (!line) {
		kill_client(client);
		return false;
	}
	control_take_line(client->daemon, client, line, len);
	free(line);
	return true;
}

static void on_readable(evutil_socket_t fd, short what, void *context)
{
	struct control_client *client = context;
	struct daemon *daemon = client->daemon;
	int n = evbuffer_read(client->in, fd, -1);

	(void)what;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	while (n > 0 && !client->dead && !client->last && take_line(client))
		;
	if (n > 0 && !client->dead && evbuffer_get_length(client->in) > LIMIT_CONTROL_LINE) {
		client->last = true;
		control_answer_error(client, NULL, CONTROL_INVALID_REQUEST,
				     "the request is too large");
	}
	if (n <= 0)
		kill_client(client);
	free_dead(&daemon->control);
	stream_reap(daemon);
}

static void on_writable(evutil_socket_t fd, short what, void *context)
{
	struct control_client *client = context;
	struct daemon *daemon = client->daemon;

	(void)fd;
	(void)what;
	flush(client);
	free_dead(&daemon->control);
}

/* NULL: the peer may ask. */
static const char *refusal(struct daemon *daemon, struct control_client *client)
{
	struct unix_peer *peer = &client->peer;
	char path[CGROUP_PATH_MAX];

	if (unix_socket_peer(client->fd, peer) || peer->uid)
		return "refused: only uid 0 may ask";
	if (peer->pid <= 0 ||
	    cgroup_of_process(daemon->instance.cgroup2, peer->pid, path, sizeof(path)))
		return "refused: the cgroup of the asking process cannot be told";
	if (watch_covers(&daemon->watches, path))
		return "refused: the asking process is in a watched cgroup";
	if (daemon->control.count > LIMIT_CONTROL_CLIENTS)
		return "refused: too many control clients";
	return NULL;
}

static struct control_client *new_client(struct daemon *daemon, int fd)
{
	struct control_client *client = calloc(1, sizeof(*client));

	if (!client)
		return NULL;
	client->daemon = daemon;
	client->fd = fd;
	client->in = evbuffer_new();
	client->out = evbuffer_new();
	(void)event_assign(&client->readable, daemon->base, fd, EV_READ | EV_PERSIST, on_readable,
			   client);
	(void)event_assign(&client->writable, daemon->base, fd, EV_WRITE | EV_PERSIST, on_writable,
			   client);
	if (client->in && client->out && !event_add(&client->readable, NULL))
		return client;
	if (client->in)
		evbuffer_free(client->in);
	if (client->out)
		evbuffer_free(client->out);
	free(client);
	return NULL;
}

const struct unix_peer *control_peer(const struct control_client *client)
{
	return &client->peer;
}

static void on_acceptable(evutil_socket_t listener, short what, void *context)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct daemon *daemon = context;
	struct control_client *client;
	const char *refused;

	(void)what;
	if (fd < 0)
		return;
	client = new_client(daemon, fd);
	if (!client) {
		(void)close(fd);
		return;
	}
	LIST_INSERT_HEAD(&daemon->control.clients, client, entry);
	daemon->control.count++;
	refused = refusal(daemon, client);
	if (refused) {
		log_warning("control client %s", refused);
		client->last = true;
		control_answer_error(client, NULL, CONTROL_FAILED, refused);
	}
	free_dead(&daemon->control);
}

void control_init(struct control *control)
{
	*control = (struct control){.fd = -1};
	LIST_INIT(&control->clients);
	LIST_INIT(&control->dead);
}

int control_start(struct daemon *daemon, char *error, size_t error_len)
{
	struct control *control = &daemon->control;
	const char *path = daemon->instance.socket;
	int r = unix_socket_listen(path, 0600, &control->fd);

	if (r == -EADDRINUSE)
		(void)snprintf(error, error_len,
			       "control socket '%s' is in use; stop who serves it, or choose "
			       "another --socket",
			       path);
	else if (r)
		(void)snprintf(error, error_len, "control socket '%s': %s", path, strerror(-r));
	if (r)
		return r;
	(void)snprintf(control->path, sizeof(control->path), "%s", path);
	(void)event_assign(&control->acceptable, daemon->base, control->fd, EV_READ | EV_PERSIST,
			   on_acceptable, daemon);
	if (event_add(&control->acceptable, NULL)) {
		(void)snprintf(error, error_len, "control socket '%s': out of memory", path);
		return -ENOMEM;
	}
	return 0;
}

void control_done(struct daemon *daemon)
{
	struct control *control = &daemon->control;
	struct control_client *client;

	if (control->fd < 0)
		return;
	(void)event_del(&control->acceptable);
	while ((client = LIST_FIRST(&control->clients))) {
		(void)evbuffer_write(client->out, client->fd);
		kill_client(client);
	}
	free_dead(control);
	fd_close(take_fd(control->fd));
	(void)unlink(control->path);
}
