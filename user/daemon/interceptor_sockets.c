/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sockets of connections to interceptors. Those of questions are in one epoll instance, which
 * the loop looks at as at one socket; those that wait for their next question in another, which
 * is looked at before a question goes out.
 */
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/daemon.h"
#include "daemon/interceptor_internal.h"
#include "sys/clock.h"

#define DRAIN 4096u
/* Reads of one connection; whoever says more than that is ended with the rest unread. */
#define DRAINS_MAX 64u

/* What one brings may close another, and its number be somebody else's: each is asked for anew. */
static bool take_one(struct interceptors *interceptors)
{
	struct epoll_event event;

	if (epoll_wait(interceptors->busy_fd, &event, 1, 0) < 1)
		return false;
	transfer_act(interceptors, event.data.fd,
		     (event.events & (EPOLLIN | EPOLLHUP | EPOLLERR) ? CURL_CSELECT_IN : 0) |
			     (event.events & EPOLLOUT ? CURL_CSELECT_OUT : 0));
	return true;
}

static bool is_ready(int epoll_fd)
{
	return poll(&(struct pollfd){.fd = epoll_fd, .events = POLLIN}, 1, 0) == 1;
}

/*
 * Verdicts come in bursts, and streams that wait for none would wait for the whole of one. A turn
 * of the loop takes one, or as many as take the time that the loop spent on others since the last
 * turn: neither starves. What that one left has kept the loop from resting: all of it was work.
 */
static void on_ready(evutil_socket_t fd, short what, void *context)
{
	struct interceptors *interceptors = context;
	uint64_t began_ns = clock_boot_ns();
	uint64_t others_ns = interceptors->left_over ? began_ns - interceptors->turn_ns : 0;

	(void)what;
	while (take_one(interceptors) && clock_boot_ns() - began_ns < others_ns)
		;
	interceptors->left_over = is_ready(fd);
	interceptors->turn_ns = clock_boot_ns();
}

static int set(int epoll_fd, int fd, int operation, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.fd = fd};

	return epoll_ctl(epoll_fd, operation, fd, &event) ? -errno : 0;
}

int sockets_start(struct interceptors *interceptors)
{
	interceptors->busy_fd = epoll_create1(EPOLL_CLOEXEC);
	interceptors->idle_fd = epoll_create1(EPOLL_CLOEXEC);
	if (interceptors->busy_fd < 0 || interceptors->idle_fd < 0)
		return -errno;
	if (event_assign(&interceptors->ready, interceptors->daemon->base, interceptors->busy_fd,
			 EV_READ | EV_PERSIST, on_ready, interceptors) ||
	    event_add(&interceptors->ready, NULL))
		return -ENOMEM;
	return 0;
}

void sockets_stop(struct interceptors *interceptors)
{
	if (event_initialized(&interceptors->ready))
		(void)event_del(&interceptors->ready);
	if (interceptors->busy_fd >= 0)
		(void)close(interceptors->busy_fd);
	if (interceptors->idle_fd >= 0)
		(void)close(interceptors->idle_fd);
}

int sockets_watch(struct interceptors *interceptors, int fd, uint32_t events, bool is_watched)
{
	if (is_watched)
		return set(interceptors->busy_fd, fd, EPOLL_CTL_MOD, events);
	/* It was of no question so far, or is new. */
	(void)set(interceptors->idle_fd, fd, EPOLL_CTL_DEL, 0);
	return set(interceptors->busy_fd, fd, EPOLL_CTL_ADD, events);
}

/*
 * libcurl 7.88 uses a connection again on which there is something to read. Once that is gone
 * and the connection shut, it finds it dead, or asks again on another.
 */
static void end_connection(int fd)
{
	char room[DRAIN];

	(void)shutdown(fd, SHUT_RDWR);
	for (unsigned int i = 0; i < DRAINS_MAX; i++)
		if (recv(fd, room, sizeof(room), MSG_DONTWAIT) <= 0)
			break;
}

void sockets_rest(struct interceptors *interceptors, int fd)
{
	(void)set(interceptors->busy_fd, fd, EPOLL_CTL_DEL, 0);
	if (set(interceptors->idle_fd, fd, EPOLL_CTL_ADD, EPOLLIN))
		end_connection(fd);
}

void sockets_sweep(struct interceptors *interceptors)
{
	struct epoll_event event;

	while (epoll_wait(interceptors->idle_fd, &event, 1, 0) == 1) {
		end_connection(event.data.fd);
		(void)set(interceptors->idle_fd, event.data.fd, EPOLL_CTL_DEL, 0);
	}
}
