/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's side of a handover, up to the moment of it. */
#include "daemon/handover.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/exchange.h"
#include "core/pipeline.h"
#include "daemon/audit.h"
#include "daemon/daemon.h"
#include "daemon/handover_wire.h"
#include "daemon/limits.h"
#include "daemon/listener.h"
#include "sys/cgroup.h"
#include "sys/clock.h"
#include "sys/fd.h"
#include "sys/log.h"
#include "sys/notify.h"
#include "sys/unix_socket.h"

static const struct timeval step_interval = {.tv_usec = LIMIT_HANDOVER_STEP_MS * 1000};
static const struct timeval prepare_interval = {.tv_sec = LIMIT_HANDOVER_PREPARE_MS / 1000};

void handover_init(struct handover *handover)
{
	*handover = (struct handover){.fd = -1, .client = -1};
}

/* Framings whose state between two units is that of the beginning. */
static bool begins_anew(const struct stream *stream, enum framing_kind kind)
{
	const struct policy *policy = stream->policy->policy;

	if (kind != FRAMING_NDJSON && kind != FRAMING_SENTINEL && kind != FRAMING_LENPREFIX &&
	    kind != FRAMING_JSONRPC_CL)
		return false;
	for (int track = 0; track < _SESSION_TRACK_MAX; track++)
		if (policy->track_task_count[track] || stream->policy->watcher_count[track])
			return false;
	return true;
}

/* Nothing is framed yet; or what was framed is over, and leaves nothing for what comes. */
static bool exchanges_are_between(const struct stream *stream)
{
	const struct pipeline *request = stream->flows[SESSION_REQUEST].pipeline;
	enum framing_kind kind = pipeline_framing(request);

	if (kind == FRAMING_HTTP1)
		return exchanges_repeat(stream->exchanges);
	if (!pipeline_framed(request) && !pipeline_framed(stream->flows[SESSION_RESPONSE].pipeline))
		return true;
	return begins_anew(stream, kind);
}

static bool flow_is_between(const struct flow *flow)
{
	const struct pipeline *pipeline = flow->pipeline;

	return !pipeline_fault(pipeline) && !pipeline_waits(pipeline) &&
	       !pipeline_watches(pipeline) && pipeline_received(pipeline) == flow->received &&
	       pipeline_framed(pipeline) == flow->released && flow->sent <= flow->released &&
	       flow->over == flow->ended;
}

bool handover_is_ready(const struct stream *stream)
{
	if (stream->end != STREAM_UNSETTLED || stream->over || stream->agent.broken ||
	    stream->peer.broken || stream->agent.fd < 0 || stream->peer.fd < 0)
		return false;
	if (stream->state == STREAM_CONNECTING || stream_is_relayed(stream) || stream->unjudged)
		return true;
	return flow_is_between(&stream->flows[SESSION_REQUEST]) &&
	       flow_is_between(&stream->flows[SESSION_RESPONSE]) && exchanges_are_between(stream);
}

static void set_parked(struct stream *stream, bool parked)
{
	stream->parked = parked;
	for (int track = 0; track < _SESSION_TRACK_MAX && stream->state == STREAM_OPEN; track++)
		flow_update_reading(&stream->flows[track]);
}

void handover_look(struct stream *stream)
{
	if (stream->daemon->handover.state == HANDOVER_PARKING && !stream->parked &&
	    stream->state == STREAM_OPEN && handover_is_ready(stream))
		set_parked(stream, true);
}

/* Streams, and runs that finish: who waits for one hears of it here. */
static size_t count_unready(const struct daemon *daemon)
{
	const struct stream *stream;
	const struct watch *watch;
	size_t count = 0;

	LIST_FOREACH(watch, &daemon->watches.list, entry)
	count += watch->state == WATCH_FINISHING;

	TAILQ_FOREACH(stream, &daemon->streams.all, entry)
	count += !handover_is_ready(stream);
	return count;
}

static void begin_parking(struct daemon *daemon)
{
	struct stream *stream, *next;

	daemon->handover.state = HANDOVER_PARKING;
	listener_pause(&daemon->listener);
	for (stream = TAILQ_FIRST(&daemon->streams.all); stream; stream = next) {
		next = TAILQ_NEXT(stream, entry);
		handover_look(stream);
	}
}

void handover_give_up(struct daemon *daemon, const char *line)
{
	struct handover *handover = &daemon->handover;
	struct stream *stream, *next;

	if (line)
		log_warning("the handover to process %d is given up: %s", (int)handover->pid, line);
	(void)event_del(&handover->readable);
	(void)event_del(&handover->step);
	fd_close(take_fd(handover->client));
	if (handover->state == HANDOVER_PARKING)
		listener_resume(&daemon->listener);
	handover->state = HANDOVER_NONE;
	for (stream = TAILQ_FIRST(&daemon->streams.all); stream; stream = next) {
		next = TAILQ_NEXT(stream, entry);
		set_parked(stream, false);
	}
}

/* Closes it with that line, which it is told. */
static void send_away(struct daemon *daemon, const char *line)
{
	(void)!handover_send(daemon->handover.client, HANDOVER_REFUSED, line, strlen(line), NULL,
			     0);
	handover_give_up(daemon, line);
}

/* Until the successor has prepared, its time is up with the first. */
static void on_step(evutil_socket_t fd, short what, void *context)
{
	struct daemon *daemon = context;
	struct handover *handover = &daemon->handover;
	uint64_t now_ns = clock_boot_ns();
	uint64_t park_ns = MIN(handover->wait_ns, LIMIT_HANDOVER_PARK_MS * CLOCK_NS_PER_MS);
	char line[HANDOVER_LINE_MAX];

	(void)fd;
	(void)what;
	if (handover->state < HANDOVER_WAITING) {
		(void)snprintf(line, sizeof(line), "it has not prepared within %u seconds",
			       LIMIT_HANDOVER_PREPARE_MS / 1000);
		send_away(daemon, line);
		return;
	}
	if (handover->state == HANDOVER_WAITING && now_ns + park_ns >= handover->deadline_ns)
		begin_parking(daemon);
	if (!count_unready(daemon) || now_ns >= handover->deadline_ns)
		handover_switch(daemon);
	stream_reap(daemon);
}

static void take_hello(struct daemon *daemon, const struct handover_hello *hello)
{
	struct handover *handover = &daemon->handover;
	struct handover_welcome welcome = {
		.watchdog_us = notify_watchdog_us(),
		.pid = (uint32_t)getpid(),
	};
	const char *notify = getenv("NOTIFY_SOCKET");
	char line[HANDOVER_LINE_MAX];

	audit_identify(daemon, &welcome.audit_device, &welcome.audit_file);
	line[0] = '\0';
	if (hello->abi != SLUICE_ABI_VERSION)
		(void)snprintf(line, sizeof(line), "its ABI is %u, the running daemon's is %u",
			       hello->abi, SLUICE_ABI_VERSION);
	else if (strncmp(hello->instance, daemon->options->name, sizeof(hello->instance)) != 0)
		(void)snprintf(line, sizeof(line), "the running daemon is instance '%s'",
			       daemon->options->name);
	else if (hello->port != daemon->listener.port)
		(void)snprintf(line, sizeof(line), "the running daemon has port %u",
			       daemon->listener.port);
	if (notify && strlen(notify) < sizeof(welcome.notify))
		(void)strcpy(welcome.notify, notify);
	handover->wait_ns = hello->wait_ms * CLOCK_NS_PER_MS;
	handover->state = HANDOVER_ASKED;
	if (line[0])
		send_away(daemon, line);
	else if (handover_send(handover->client, HANDOVER_WELCOME, &welcome, sizeof(welcome), NULL,
			       0))
		handover_give_up(daemon, "it does not read");
	else
		log_info("process %d prepares to take this daemon over", (int)handover->pid);
}

static void take_prepared(struct daemon *daemon, const struct handover_prepared *prepared)
{
	struct handover *handover = &daemon->handover;

	handover->streams_max = prepared->streams_max;
	handover->deadline_ns = clock_boot_ns() + handover->wait_ns;
	handover->state = HANDOVER_WAITING;
	if (event_add(&handover->step, &step_interval))
		handover_give_up(daemon, "out of memory");
	else
		on_step(-1, 0, daemon);
}

static void on_readable(evutil_socket_t fd, short what, void *context)
{
	struct daemon *daemon = context;
	struct handover *handover = &daemon->handover;
	struct handover_message *message = malloc(sizeof(*message));
	int r = message ? handover_receive(fd, message) : -ENOMEM;

	(void)what;
	if (r == -ECONNRESET)
		handover_give_up(daemon, "it is gone");
	else if (r)
		send_away(daemon, "it does not speak this version of the handover's messages");
	else if (message->type == HANDOVER_HELLO && handover->state == HANDOVER_NONE)
		take_hello(daemon, &message->hello);
	else if (message->type == HANDOVER_PREPARED && handover->state == HANDOVER_ASKED)
		take_prepared(daemon, &message->prepared);
	else
		send_away(daemon, "a message that does not belong here");
	if (!r)
		handover_message_done(message);
	free(message);
	stream_reap(daemon);
}

/* The line for who may not ask; NULL: it may. */
static const char *refusal(const struct daemon *daemon, int fd, struct unix_peer *peer)
{
	char path[CGROUP_PATH_MAX];

	if (unix_socket_peer(fd, peer) || peer->uid)
		return "only root may take a daemon over";
	if (peer->pid <= 0 ||
	    cgroup_of_process(daemon->instance.cgroup2, peer->pid, path, sizeof(path)) ||
	    watch_covers(&daemon->watches, path))
		return "the asking process is in a watched cgroup, or cannot be seen";
	if (daemon->handover.client >= 0)
		return "another process takes it over already";
	if (daemon->stop_deadline_ns)
		return "the daemon stops";
	return NULL;
}

static void on_acceptable(evutil_socket_t listener, short what, void *context)
{
	struct daemon *daemon = context;
	struct handover *handover = &daemon->handover;
	int fd cleanup(fd_closep) = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	struct unix_peer peer = {0};
	const char *line;

	(void)what;
	if (fd < 0)
		return;
	line = refusal(daemon, fd, &peer);
	if (!line && handover_set_patience(fd, LIMIT_HANDOVER_MS))
		line = "its socket is no such socket";
	if (line) {
		if (settle_may_say(daemon))
			log_warning("handover to process %d refused: %s", (int)peer.pid, line);
		(void)!handover_send(fd, HANDOVER_REFUSED, line, strlen(line), NULL, 0);
		return;
	}
	(void)event_assign(&handover->readable, daemon->base, fd, EV_READ | EV_PERSIST, on_readable,
			   daemon);
	if (event_add(&handover->readable, NULL))
		return;
	if (event_add(&handover->step, &prepare_interval)) {
		(void)event_del(&handover->readable);
		return;
	}
	handover->client = take_fd(fd);
	handover->pid = peer.pid;
}

int handover_start(struct daemon *daemon, char *error, size_t error_len)
{
	struct handover *handover = &daemon->handover;
	const char *path = daemon->instance.handover;
	int r;

	if (daemon->options->private_daemon)
		return 0;
	r = unix_socket_listen_packets(path, 0600, &handover->fd);
	if (!r) {
		(void)event_assign(&handover->step, daemon->base, -1, EV_PERSIST, on_step, daemon);
		(void)event_assign(&handover->acceptable, daemon->base, handover->fd,
				   EV_READ | EV_PERSIST, on_acceptable, daemon);
		r = event_add(&handover->acceptable, NULL) ? -ENOMEM : 0;
	}
	if (r)
		(void)snprintf(error, error_len, "socket '%s': %s", path, strerror(-r));
	return r;
}

void handover_done(struct daemon *daemon)
{
	struct handover *handover = &daemon->handover;

	if (handover->client >= 0)
		handover_give_up(daemon, NULL);
	if (handover->fd < 0)
		return;
	(void)event_del(&handover->acceptable);
	fd_close(take_fd(handover->fd));
	(void)unlink(daemon->instance.handover);
}
