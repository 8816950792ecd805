/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/accept.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>

#include "daemon/audit.h"
#include "daemon/daemon.h"
#include "daemon/endpoint.h"
#include "daemon/limits.h"
#include "daemon/reason.h"
#include "daemon/share.h"
#include "daemon/upstream.h"
#include "kern/kern.h"
#include "sys/fd.h"
#include "sys/log.h"

/* Nobody is to wait in the queue for a daemon that cannot take him: the reserve lets one out. */
static void turn_one_away(struct daemon *daemon, int listener_fd)
{
	struct listener *listener = &daemon->listener;
	int fd;

	fd_close(take_fd(listener->reserve_fd));
	fd = accept4(listener_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd >= 0) {
		endpoint_reset_fd(fd);
		settle_nameless(daemon, REASON_STREAM_LIMIT);
	}
	listener->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void rest(struct daemon *daemon)
{
	static const struct timeval pause = {.tv_usec = LIMIT_ACCEPT_REST_MS * 1000};
	struct listener *listener = &daemon->listener;

	if (evtimer_add(&listener->rest, &pause))
		return; /* without a timer there is no rest, only a busy loop */
	for (int which = 0; which < _LISTENER_MAX; which++)
		if (listener->fds[which] >= 0)
			(void)event_del(&listener->events[which]);
}

static enum reason reason_of(int err)
{
	switch (-err) {
	case ENOSPC:
		return REASON_SLOT_LIMIT;
	case ENOMEM:
		return REASON_OUT_OF_MEMORY;
	default:
		return REASON_INTERNAL;
	}
}

/* REASON_COMPLETE: it may become a stream. */
static enum reason judge(struct daemon *daemon, const struct loaded_policy *loaded,
			 const struct policy_destination *destination, struct watch *watch)
{
	if (!share_left(daemon->streams_max, daemon->streams.count, watch ? watch->streams : 0, 1))
		return REASON_STREAM_LIMIT;
	if (!loaded)
		return REASON_NO_POLICY;
	if (destination && destination->action == POLICY_DENY)
		return REASON_POLICY_DENIED;
	return audit_refuses(daemon, watch, loaded->policy);
}

static void begin(struct daemon *daemon, int fd, const struct sluice_origin *origin)
{
	struct loaded_policy *loaded = policies_find(&daemon->policies, origin->policy);
	const struct policy_destination *destination =
		loaded ? policy_match(loaded->policy, origin->peer.addr, origin->peer.port) : NULL;
	struct watch *watch = watch_find(&daemon->watches, origin->cgroup);
	enum reason reason = judge(daemon, loaded, destination, watch);
	struct stream *stream;
	int r = 0;

	if (reason == REASON_COMPLETE) {
		r = stream_new(daemon, fd, origin, loaded, destination, watch, &stream);
		if (r)
			reason = reason_of(r);
	}
	if (reason != REASON_COMPLETE) {
		endpoint_reset_fd(fd);
		settle_refused(daemon, watch, origin,
			       reason == REASON_POLICY_DENIED ? STREAM_DENIED : STREAM_FAILED,
			       reason_name(reason));
		return;
	}
	if (watch) {
		watch->open++;
		watch->streams++;
	}
	upstream_connect(stream);
}

bool accept_one(struct daemon *daemon, int listener_fd)
{
	struct sluice_origin origin;
	int fd = accept4(listener_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0) {
		switch (errno) {
		case EMFILE:
		case ENFILE:
		case ENOBUFS:
		case ENOMEM:
			turn_one_away(daemon, listener_fd);
			rest(daemon);
			return false;
		case ECONNABORTED:
		case EINTR:
		case EPERM:
			return true;
		default:
			return false;
		}
	}
	if (kern_accepted_origin(daemon->kern, fd, &origin)) {
		endpoint_reset_fd(fd);
		settle_nameless(daemon, REASON_NO_ORIGIN);
		return true;
	}
	begin(daemon, fd, &origin);
	return true;
}
