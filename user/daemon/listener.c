/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/listener.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/accept.h"
#include "daemon/daemon.h"
#include "daemon/endpoint.h"
#include "daemon/limits.h"
#include "kern/kern.h"
#include "sys/fd.h"
#include "sys/log.h"

void listener_init(struct listener *listener)
{
	*listener = (struct listener){.reserved = {-1, -1}, .fds = {-1, -1}, .reserve_fd = -1};
}

static int open_socket(int which, uint16_t port, bool reuse, int *ret_fd)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET,
				 .sin_port = htons(port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6,
				  .sin6_port = htons(port),
				  .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	struct sockaddr *address = which == LISTENER_V4 ? (void *)&v4 : (void *)&v6;
	socklen_t len = which == LISTENER_V4 ? sizeof(v4) : sizeof(v6);
	int fd cleanup(fd_closep) = -1;
	const int on = 1;

	fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (reuse && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)))
		return -errno;
	if (which == LISTENER_V6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)))
		return -errno;
	if (bind(fd, address, len))
		return -errno;
	*ret_fd = take_fd(fd);
	return 0;
}

static bool family_is_missing(int r)
{
	return r == -EAFNOSUPPORT || r == -EADDRNOTAVAIL;
}

/*
 * reuse lets a restart have its port back while old connections fade away; it
 * would also let two daemons that look for a free port bind the same one. Once
 * bound, the reservation admits the socket that will listen.
 */
static int reserve_port(struct listener *listener, uint16_t port, bool reuse)
{
	int fds[_LISTENER_MAX] = {-1, -1};
	const int on = 1;

	for (int which = 0; which < _LISTENER_MAX; which++) {
		int r = open_socket(which, port, reuse, &fds[which]);

		if (r && !(which == LISTENER_V6 && family_is_missing(r))) {
			fd_close(fds[LISTENER_V4]);
			return r;
		}
	}
	for (int which = 0; which < _LISTENER_MAX; which++)
		if (fds[which] >= 0)
			(void)setsockopt(fds[which], SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	(void)memcpy(listener->reserved, fds, sizeof(fds));
	listener->port = port;
	return 0;
}

int listener_reserve(struct listener *listener, uint16_t port, char *error, size_t error_len)
{
	uint16_t from = port ? port : OPTIONS_PORT_MAX, to = port ? port : 1;
	int r = -EADDRINUSE;

	for (uint16_t candidate = from; candidate >= to && r == -EADDRINUSE; candidate--)
		r = reserve_port(listener, candidate, port != 0);
	if (r == -EADDRINUSE && port)
		(void)snprintf(error, error_len,
			       "port %u of 127.0.0.1 or ::1 is in use; choose another --port",
			       port);
	else if (r)
		(void)snprintf(error, error_len, "cannot bind a loopback port below 1024: %s",
			       strerror(-r));
	if (!r && listener->reserved[LISTENER_V6] < 0)
		log_warning("this machine has no ::1; IPv6 connections are refused, continuing");
	return r;
}

static void on_connection(evutil_socket_t fd, short what, void *context)
{
	struct daemon *daemon = context;

	(void)what;
	for (unsigned int i = 0; i < LIMIT_ACCEPT_BATCH; i++)
		if (!accept_one(daemon, fd))
			break;
	stream_reap(daemon);
}

static void on_rested(evutil_socket_t fd, short what, void *context)
{
	struct daemon *daemon = context;

	(void)fd;
	(void)what;
	listener_resume(&daemon->listener);
}

/*
 * The kernel closes a dead process's descriptors from the highest down. What
 * listens goes first, so that a connection made after the death of a stream is
 * refused and not accepted by nobody.
 */
static void move_up(int *fd, size_t files_limit)
{
	int from = (int)MIN((size_t)LIMIT_LISTENER_FILE, files_limit - _LISTENER_MAX);
	int moved = fcntl(*fd, F_DUPFD_CLOEXEC, from);

	if (moved < 0)
		return;
	(void)close(*fd);
	*fd = moved;
}

/* Inherited by what is accepted. */
static int set_probes(int fd)
{
	const int on = 1, interval = LIMIT_PROBE_S, count = LIMIT_PROBES_MAX;

	if (setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on)) ||
	    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &interval, sizeof(interval)) ||
	    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval)) ||
	    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count)))
		return -errno;
	return 0;
}

static int start_one(struct daemon *daemon, int which)
{
	struct listener *listener = &daemon->listener;
	bool handed = listener->fds[which] >= 0;
	int fd, r = 0;

	if (!handed && listener->reserved[which] < 0)
		return 0;
	if (!handed)
		r = open_socket(which, listener->port, /* reuse: */ true, &listener->fds[which]);
	if (r)
		return r;
	fd_close(take_fd(listener->reserved[which]));
	move_up(&listener->fds[which], daemon->files_limit);
	fd = listener->fds[which];
	r = endpoint_set_options(fd) ?: set_probes(fd) ?: kern_mark_listener(daemon->kern, fd);
	if (r)
		return r;
	if (!handed && listen(fd, LIMIT_BACKLOG))
		return -errno;
	(void)event_assign(&listener->events[which], daemon->base, fd, EV_READ | EV_PERSIST,
			   on_connection, daemon);
	return event_add(&listener->events[which], NULL) ? -ENOMEM : 0;
}

int listener_start(struct daemon *daemon, char *error, size_t error_len)
{
	struct listener *listener = &daemon->listener;
	int r = 0;

	(void)evtimer_assign(&listener->rest, daemon->base, on_rested, daemon);
	listener->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (listener->reserve_fd < 0)
		r = -errno;
	for (int which = 0; which < _LISTENER_MAX && !r; which++)
		r = start_one(daemon, which);
	if (r)
		(void)snprintf(error, error_len, "cannot listen on loopback port %u: %s",
			       listener->port, strerror(-r));
	return r;
}

void listener_pause(struct listener *listener)
{
	(void)evtimer_del(&listener->rest);
	for (int which = 0; which < _LISTENER_MAX; which++)
		if (listener->fds[which] >= 0)
			(void)event_del(&listener->events[which]);
}

void listener_resume(struct listener *listener)
{
	for (int which = 0; which < _LISTENER_MAX; which++)
		if (listener->fds[which] >= 0)
			(void)event_add(&listener->events[which], NULL);
}

void listener_done(struct listener *listener)
{
	if (event_initialized(&listener->rest))
		(void)evtimer_del(&listener->rest);
	for (int which = 0; which < _LISTENER_MAX; which++) {
		if (event_initialized(&listener->events[which]))
			(void)event_del(&listener->events[which]);
		fd_close(take_fd(listener->fds[which]));
		fd_close(take_fd(listener->reserved[which]));
	}
	fd_close(take_fd(listener->reserve_fd));
}
