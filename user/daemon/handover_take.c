/* SPDX-License-Identifier: Apache-2.0 */
/* The successor's side of a handover, up to the commit. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/text.h"
#include "daemon/audit.h"
#include "daemon/daemon.h"
#include "daemon/handover.h"
#include "daemon/handover_taking.h"
#include "daemon/limits.h"
#include "sys/clock.h"
#include "sys/fd.h"
#include "sys/log.h"

static int connect_to(const char *path, int *ret_fd)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd cleanup(fd_closep) = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	int r;

	if (fd < 0)
		return -errno;
	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	(void)strcpy(address.sun_path, path);
	r = handover_set_patience(fd, LIMIT_HANDOVER_MS);
	if (!r && connect(fd, (struct sockaddr *)&address, sizeof(address)))
		r = -errno;
	if (!r)
		*ret_fd = take_fd(fd);
	return r;
}

/* The line for what came instead of what was waited for. */
static int failed(const struct handover_taking *taking, int r, char *error, size_t error_len)
{
	switch (r) {
	case -EREMOTEIO:
		(void)snprintf(error, error_len, "the running daemon refuses: %s",
			       taking->message.line);
		break;
	case -ECONNRESET:
	case -EPIPE:
		(void)snprintf(error, error_len, "the running daemon went away: see its log");
		break;
	case -ETIMEDOUT:
		(void)snprintf(error, error_len, "the running daemon did not answer in time");
		break;
	case -EMFILE:
		(void)snprintf(error, error_len,
			       "there are not enough descriptors for what is open (ulimit -n)");
		break;
	case -EPROTO:
		(void)snprintf(error, error_len,
			       "the running daemon does not speak this version of the handover's "
			       "messages; restart it instead");
		break;
	default:
		(void)snprintf(error, error_len, "handover: %s", strerror(-r));
		break;
	}
	return r;
}

/* Signs of life, and what is told of the end, go where the daemon's went. */
static void adopt_manager(const struct handover_welcome *welcome)
{
	char text[24];

	(void)unsetenv("WATCHDOG_PID");
	(void)unsetenv("WATCHDOG_USEC");
	if (!welcome->notify[0] || !memchr(welcome->notify, '\0', sizeof(welcome->notify)))
		return;
	(void)setenv("NOTIFY_SOCKET", welcome->notify, 1);
	if (!welcome->watchdog_us)
		return;
	(void)snprintf(text, sizeof(text), "%llu", (unsigned long long)welcome->watchdog_us);
	(void)setenv("WATCHDOG_USEC", text, 1);
}

static int ask(struct daemon *daemon, struct handover_taking *taking)
{
	struct handover_hello hello = {
		.abi = SLUICE_ABI_VERSION,
		.wait_ms = daemon->options->takeover_wait_s * 1000,
		.port = daemon->options->port,
	};
	int r;

	(void)snprintf(hello.instance, sizeof(hello.instance), "%s", daemon->options->name);
	r = handover_send(taking->fd, HANDOVER_HELLO, &hello, sizeof(hello), NULL, 0);
	/* What was sent away already has its line to read. */
	if (!r || r == -EPIPE)
		r = handover_expect(taking->fd, HANDOVER_WELCOME, &taking->message);
	if (r)
		return r;
	taking->pid = (pid_t)taking->message.welcome.pid;
	taking->audit_device = taking->message.welcome.audit_device;
	taking->audit_file = taking->message.welcome.audit_file;
	adopt_manager(&taking->message.welcome);
	return taking->pid > 0 ? 0 : -EPROTO;
}

int handover_ask(struct daemon *daemon, char *error, size_t error_len)
{
	const char *path = daemon->instance.handover;
	struct handover_taking *taking = calloc(1, sizeof(*taking));
	int r;

	if (!taking) {
		(void)snprintf(error, error_len, "out of memory");
		return -ENOMEM;
	}
	taking->fd = -1;
	daemon->handover.taking = taking;
	r = connect_to(path, &taking->fd);
	if (r == -ENOENT || r == -ECONNREFUSED) {
		(void)snprintf(error, error_len,
			       "no daemon of instance '%s' answers at '%s': start it without "
			       "--takeover",
			       daemon->options->name, path);
		return r;
	}
	if (r) {
		(void)snprintf(error, error_len, "'%s': %s", path, strerror(-r));
		return r;
	}
	r = ask(daemon, taking);
	return r ? failed(taking, r, error, error_len) : 0;
}

pid_t handover_predecessor(const struct daemon *daemon)
{
	return daemon->handover.taking ? daemon->handover.taking->pid : 0;
}

bool handover_keeps_trail(const struct daemon *daemon)
{
	const struct handover_taking *taking = daemon->handover.taking;

	return audit_is_named(daemon, taking->audit_device, taking->audit_file);
}

bool handover_is_pending(const struct daemon *daemon)
{
	return daemon->handover.taking && daemon->handover.taking->fd >= 0;
}

/* Descriptors of the lock, of the log, and of what listens, in this order. */
static int take_listeners(struct daemon *daemon, struct handover_taking *taking, int *ret_log)
{
	struct handover_message *message = &taking->message;
	const struct handover_listeners *head = &message->listeners;
	struct listener *listener = &daemon->listener;
	size_t at = 2;

	if (head->v4 > 1 || head->v6 > 1 || head->port != daemon->options->port)
		return -EPROTO;
	if (message->fd_count != at + head->v4 + head->v6)
		return -EMFILE;
	listener->port = head->port;
	daemon->instance.lock_fd = message->fds[0];
	*ret_log = message->fds[1];
	if (head->v4)
		listener->fds[LISTENER_V4] = message->fds[at++];
	if (head->v6)
		listener->fds[LISTENER_V6] = message->fds[at++];
	message->fd_count = 0;
	if (head->streams > daemon->streams_max)
		return -EMFILE;
	taking->given = calloc(head->streams + 1, sizeof(*taking->given));
	taking->policies = calloc((size_t)head->policies + 1, sizeof(*taking->policies));
	if (!taking->given || !taking->policies)
		return -ENOMEM;
	taking->room = head->streams;
	taking->policy_room = head->policies;
	return 0;
}

/* The text follows; it was good for the daemon that gives it. */
static int take_policy(struct daemon *daemon, struct handover_taking *taking, char *error,
		       size_t error_len)
{
	const struct handover_policy head = taking->message.policy;
	struct loaded_policy *loaded;
	char *text;
	size_t have = 0;
	int r = 0;

	if (taking->policy_count == taking->policy_room || head.len > LIMIT_POLICY_TEXT ||
	    head.digest[sizeof(head.digest) - 1] || head.number >= SLUICE_POLICIES)
		return -EPROTO;
	text = malloc(head.len + 1);
	if (!text)
		return -ENOMEM;
	while (!r && have < head.len) {
		r = handover_expect(taking->fd, HANDOVER_BYTES, &taking->message);
		if (!r && taking->message.len > head.len - have)
			r = -EPROTO;
		if (r)
			break;
		(void)memcpy(text + have, taking->message.bytes, taking->message.len);
		have += taking->message.len;
	}
	text[have] = '\0';
	if (!r)
		r = policies_load(&daemon->policies, "a policy that is handed over", text, have,
				  &loaded, error, error_len);
	free(text);
	if (r)
		return r;
	taking->policies[taking->policy_count++] =
		(struct handover_taken_policy){loaded, head.number};
	return strcmp(loaded->digest, head.digest) ? -EPROTO : 0;
}

/* One message behind the listeners; *ret_end: it was the last. */
static int take_next(struct daemon *daemon, struct handover_taking *taking, bool *ret_end,
		     char *error, size_t error_len)
{
	struct handover_message *message = &taking->message;
	int r = handover_receive(taking->fd, message);

	if (r)
		return r;
	switch (message->type) {
	case HANDOVER_POLICY:
		r = take_policy(daemon, taking, error, error_len);
		break;
	case HANDOVER_STREAM:
		r = handover_given_is_whole(taking) ? handover_begin_given(taking) : -EPROTO;
		break;
	case HANDOVER_BYTES:
		r = handover_add_bytes(taking);
		break;
	case HANDOVER_RUN:
		r = handover_add_owner(taking);
		break;
	case HANDOVER_END:
		*ret_end = true;
		r = handover_given_is_whole(taking) && taking->count == taking->room ? 0 : -EPROTO;
		break;
	default:
		r = -EPROTO;
		break;
	}
	handover_message_done(message);
	return r;
}

static int receive(struct daemon *daemon, struct handover_taking *taking, int *ret_log, char *error,
		   size_t error_len)
{
	const struct handover_prepared prepared = {.streams_max = daemon->streams_max};
	uint64_t wait_ms = daemon->options->takeover_wait_s * 1000ull + LIMIT_HANDOVER_MS;
	bool end = false;
	int r = handover_set_patience(taking->fd, wait_ms);

	if (!r)
		r = handover_send(taking->fd, HANDOVER_PREPARED, &prepared, sizeof(prepared), NULL,
				  0);
	/* The same: it took too long to prepare, perhaps. */
	if (!r || r == -EPIPE)
		r = handover_expect(taking->fd, HANDOVER_LISTENERS, &taking->message);
	if (!r)
		r = take_listeners(daemon, taking, ret_log);
	if (!r)
		r = handover_set_patience(taking->fd, LIMIT_HANDOVER_MS);
	while (!r && !end)
		r = take_next(daemon, taking, &end, error, error_len);
	if (!r)
		r = handover_send(taking->fd, HANDOVER_READY, NULL, 0, NULL, 0);
	/* As long as the daemon lives: it may have given everything up already. */
	if (!r)
		r = handover_set_patience(taking->fd, 0);
	if (!r)
		r = handover_expect(taking->fd, HANDOVER_COMMIT, &taking->message);
	return r;
}

int handover_receive_all(struct daemon *daemon, char *error, size_t error_len)
{
	struct handover_taking *taking = daemon->handover.taking;
	int log cleanup(fd_closep) = -1;
	int r = receive(daemon, taking, &log, error, error_len);

	if (r) {
		(void)failed(taking, r, error, error_len);
		(void)!handover_send(taking->fd, HANDOVER_REFUSED, error,
				     MIN(strlen(error), (size_t)HANDOVER_LINE_MAX - 1), NULL, 0);
		return r;
	}
	fd_close(take_fd(taking->fd));
	/* What the daemon's log goes to goes on there. */
	(void)dup2(log, STDERR_FILENO);
	daemon->handover.taken_from = taking->pid;
	daemon->handover.taken = taking->count;
	daemon->handover.settled = taking->message.commit.settled;
	log_info("takes over from process %d: %zu stream%s", (int)taking->pid, taking->count,
		 text_plural(taking->count));
	return 0;
}

void handover_report(const struct daemon *daemon, int fd)
{
	const struct handover *handover = &daemon->handover;

	if (handover->taken_from)
		(void)dprintf(fd,
			      "took over from process %d: %" PRIu64 " stream%s, %" PRIu64
			      " settled\n",
			      (int)handover->taken_from, handover->taken,
			      text_plural(handover->taken), handover->settled);
}
