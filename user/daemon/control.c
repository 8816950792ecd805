/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/control.h"

#include <errno.h>
#include <event2/buffer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/utf8.h"
#include "daemon/daemon.h"
#include "daemon/feed.h"
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
	struct event readable, writable, again;
	struct evbuffer *in, *out;
	size_t scanned; /* of in, without a newline */
	bool more;	/* a whole line waits in it for the next turn */
	bool last;	/* nothing more is read; closed when out is empty */
	bool dead;
	struct unix_peer peer;
	enum control_right right;
};

static void kill_client(struct control_client *client)
{
	struct control *control = &client->daemon->control;

	if (client->dead)
		return;
	client->dead = true;
	run_client_gone(client->daemon, client);
	feed_unfollow(client->daemon, client);
	control_streams_gone(client->daemon, client);
	(void)event_del(&client->readable);
	(void)event_del(&client->writable);
	(void)event_del(&client->again);
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

/* A client that does not read its answers asks nothing more; one asks once a turn. */
static void ask_again(struct control_client *client, size_t unsent)
{
	static const struct timeval now;
	bool reads = !client->last && unsent <= UNREAD_PAUSE;

	if (reads && client->more)
		(void)event_add(&client->again, &now);
	else
		(void)event_del(&client->again);
	if (reads && !client->more)
		(void)event_add(&client->readable, NULL);
	else
		(void)event_del(&client->readable);
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
	ask_again(client, unsent);
	if (!unsent)
		feed_drained(client->daemon, client);
}

size_t control_unread(const struct control_client *client)
{
	return evbuffer_get_length(client->out);
}

int control_push(struct control_client *client, const char *text, size_t len)
{
	if (client->dead || client->last)
		return 0;
	if (evbuffer_add(client->out, text, len) || event_add(&client->writable, NULL))
		return -ENOMEM;
	return 0;
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

void control_answer_text(struct control_client *client, const json_t *id, struct evbuffer *result)
{
	char *number;

	if (!id || client->dead)
		return;
	number = json_dumps(id, JSON_COMPACT | JSON_ENCODE_ANY);
	if (!number ||
	    evbuffer_add_printf(client->out, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":", number) <
		    0 ||
	    evbuffer_add_buffer(client->out, result) || evbuffer_add(client->out, "}\n", 2))
		kill_client(client);
	else
		flush(client);
	free(number);
}

/* A message that was cut to its room may be cut inside a rune, which JSON has no form for. */
static void mend_text(char *text)
{
	uint64_t runes;

	while (*(text += utf8_prefix((const uint8_t *)text, strlen(text), &runes)))
		*text = '?';
}

void control_answer_error(struct control_client *client, const json_t *id, int code,
			  const char *message)
{
	char *text = strdup(message);

	if (text)
		mend_text(text);
	queue_object(client, json_pack("{s:s, s:O?, s:{s:i, s:s?}}", "jsonrpc", "2.0", "id", id,
				       "error", "code", code, "message", text));
	free(text);
}

/* Is there a whole line in what was read? */
static bool has_line(struct control_client *client)
{
	struct evbuffer_ptr from;

	if (evbuffer_ptr_set(client->in, &from, client->scanned, EVBUFFER_PTR_SET))
		return false;
	if (evbuffer_search(client->in, "\n", 1, &from).pos >= 0)
		return true;
	client->scanned = evbuffer_get_length(client->in);
	return false;
}

/* Takes one line out of what was read, where there is a whole one. */
static void take_line(struct control_client *client)
{
	size_t len;
	char *line;

	if (!has_line(client))
		return;
	client->scanned = 0;
	line = evbuffer_readln(client->in, &len, EVBUFFER_EOL_LF);
	if (!line) {
		kill_client(client);
		return;
	}
	control_take_line(client->daemon, client, line, len);
	free(line);
	if (client->dead)
		return;
	client->more = has_line(client);
	flush(client);
}

static void on_readable(evutil_socket_t fd, short what, void *context)
{
	struct control_client *client = context;
	struct daemon *daemon = client->daemon;
	int n = evbuffer_read(client->in, fd, -1);

	(void)what;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0 && !client->last)
		take_line(client);
	/* No request is that long; whole ones that wait are taken before more is read. */
	if (n > 0 && !client->more && !client->dead &&
	    evbuffer_get_length(client->in) > LIMIT_CONTROL_LINE) {
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

static void on_again(evutil_socket_t fd, short what, void *context)
{
	struct control_client *client = context;
	struct daemon *daemon = client->daemon;

	(void)fd;
	(void)what;
	take_line(client);
	free_dead(&daemon->control);
	stream_reap(daemon);
}

/* Is there room for one more, which is counted already? */
static bool has_room(const struct control *control, const struct control_client *client)
{
	const struct control_client *other;
	size_t others = 0, same = 0;

	if (!client->peer.uid)
		return control->count <= LIMIT_CONTROL_CLIENTS;
	LIST_FOREACH(other, &control->clients, entry)
	{
		others += other->peer.uid != 0;
		same += other->peer.uid == client->peer.uid;
	}
	return others <= LIMIT_CONTROL_OTHERS && same <= LIMIT_CONTROL_OTHERS_OF;
}

/* The cgroup that the peer is in now; one that is gone has none. */
static bool find_cgroup(const struct control_client *client, char path[static CGROUP_PATH_MAX])
{
	pid_t pid = client->peer.pid;

	return pid > 0 &&
	       !cgroup_of_process(client->daemon->instance.cgroup2, pid, path, CGROUP_PATH_MAX) &&
	       unix_socket_peer_lives(client->fd);
}

/* The line for a peer that may not ask; false: it may. */
static bool is_refused(struct daemon *daemon, struct control_client *client, char *line, size_t len)
{
	const struct options *options = daemon->options;
	struct unix_peer *peer = &client->peer;
	char path[CGROUP_PATH_MAX];

	if (!unix_socket_peer(client->fd, peer))
		client->right = control_right_of(&daemon->control, client->fd, peer);
	line[0] = '\0';
	if (client->right == CONTROL_NOTHING)
		(void)snprintf(line, len,
			       "refused: uid %u is not root, nor in group '%.64s' or '%.64s'",
			       peer->uid, options->group, options->view_group);
	else if (!find_cgroup(client, path))
		(void)snprintf(line, len,
			       "refused: the cgroup of the asking process cannot be told");
	else if (watch_covers(&daemon->watches, path))
		(void)snprintf(line, len, "refused: the asking process is in a watched cgroup");
	else if (!has_room(&daemon->control, client))
		(void)snprintf(line, len, "refused: too many control clients");
	return line[0];
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
	(void)evtimer_assign(&client->again, daemon->base, on_again, client);
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

enum control_right control_right(const struct control_client *client)
{
	return client->right;
}

int control_idle_fd(const struct control_client *client)
{
	bool idle = !client->dead && !client->last && !evbuffer_get_length(client->in) &&
		    !evbuffer_get_length(client->out);

	return idle ? client->fd : -1;
}

struct control_client *control_adopt(struct daemon *daemon, int fd)
{
	struct control_client *client = new_client(daemon, fd);
	char refused[256];

	if (!client) {
		(void)close(fd);
		return NULL;
	}
	LIST_INSERT_HEAD(&daemon->control.clients, client, entry);
	daemon->control.count++;
	if (is_refused(daemon, client, refused, sizeof(refused))) {
		if (settle_may_say(daemon))
			log_warning("control client %s", refused);
		client->last = true;
		control_answer_error(client, NULL, CONTROL_FAILED, refused);
	}
	client = client->dead || client->last ? NULL : client;
	free_dead(&daemon->control);
	return client;
}

void control_end_watched(struct daemon *daemon, const struct control_client *asking)
{
	struct control_client *client, *next;
	char path[CGROUP_PATH_MAX];

	for (client = LIST_FIRST(&daemon->control.clients); client; client = next) {
		next = LIST_NEXT(client, entry);
		if (find_cgroup(client, path) && !watch_covers(&daemon->watches, path))
			continue;
		client->last = true;
		/* Who asks for it is told, and ends with that. */
		if (client != asking)
			flush(client);
	}
}

static void on_rested(evutil_socket_t listener, short what, void *context)
{
	struct control *control = context;

	(void)listener;
	(void)what;
	(void)event_add(&control->acceptable, NULL);
}

/* Without descriptors there is nothing to be had: who waits would keep the loop turning. */
static void rest(struct control *control)
{
	static const struct timeval interval = {.tv_usec = LIMIT_ACCEPT_REST_MS * 1000};

	if (!event_add(&control->rest, &interval))
		(void)event_del(&control->acceptable);
}

static void on_acceptable(evutil_socket_t listener, short what, void *context)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct daemon *daemon = context;

	(void)what;
	if (fd >= 0)
		(void)!control_adopt(daemon, fd);
	else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
		rest(&daemon->control);
}

void control_init(struct control *control)
{
	*control = (struct control){.fd = -1};
	LIST_INIT(&control->clients);
	LIST_INIT(&control->dead);
	LIST_INIT(&control->listings);
}

int control_start(struct daemon *daemon, char *error, size_t error_len)
{
	struct control *control = &daemon->control;
	const char *path = daemon->instance.socket;
	int r = control_find_groups(daemon, error, error_len);

	if (r)
		return r;
	r = unix_socket_listen(path, 0600, &control->fd);
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
	(void)evtimer_assign(&control->rest, daemon->base, on_rested, control);
	if (event_add(&control->acceptable, NULL)) {
		(void)snprintf(error, error_len, "control socket '%s': out of memory", path);
		return -ENOMEM;
	}
	r = control_admit(control, path);
	if (r)
		(void)snprintf(error, error_len,
			       "control socket '%s' cannot be opened to its groups: %s", path,
			       strerror(-r));
	return r;
}

void control_done(struct daemon *daemon)
{
	struct control *control = &daemon->control;
	struct control_client *client;

	if (control->fd < 0)
		return;
	(void)event_del(&control->acceptable);
	(void)event_del(&control->rest);
	while ((client = LIST_FIRST(&control->clients))) {
		(void)evbuffer_write(client->out, client->fd);
		kill_client(client);
	}
	free_dead(control);
	fd_close(take_fd(control->fd));
	(void)unlink(control->path);
}
