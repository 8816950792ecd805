/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/endpoint.h"

#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sys/fd.h"

static void on_event(evutil_socket_t fd, short what, void *context)
{
	struct endpoint *endpoint = context;

	(void)fd;
	endpoint->callback(endpoint->context, what);
}

void endpoint_init(struct endpoint *endpoint, endpoint_event_fn callback, void *context)
{
	*endpoint = (struct endpoint){.fd = -1, .callback = callback, .context = context};
}

int endpoint_open(struct endpoint *endpoint, struct event_base *base, int fd)
{
	(void)event_assign(&endpoint->read_event, base, fd, EV_READ | EV_PERSIST, on_event,
			   endpoint);
	(void)event_assign(&endpoint->write_event, base, fd, EV_WRITE | EV_PERSIST, on_event,
			   endpoint);
	(void)event_assign(&endpoint->edge_event, base, fd, EV_READ | EV_WRITE | EV_ET | EV_PERSIST,
			   on_event, endpoint);
	if (event_add(&endpoint->edge_event, NULL))
		return -ENOMEM;
	endpoint->fd = fd;
	endpoint->registered = true;
	return 0;
}

static int set_reset_on_close(int fd, bool reset)
{
	const struct linger linger = {.l_onoff = reset};

	return setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)) ? -errno : 0;
}

void endpoint_reset_fd(int fd)
{
	(void)set_reset_on_close(fd, true);
	(void)close(fd);
}

void endpoint_leave(struct endpoint *endpoint)
{
	if (endpoint->registered) {
		(void)event_del(&endpoint->read_event);
		(void)event_del(&endpoint->write_event);
		(void)event_del(&endpoint->edge_event);
		endpoint->registered = false;
	}
	fd_close(take_fd(endpoint->fd));
}

void endpoint_close(struct endpoint *endpoint, bool reset)
{
	if (endpoint->fd >= 0)
		(void)set_reset_on_close(endpoint->fd, reset);
	endpoint_leave(endpoint);
}

int endpoint_set_reading(struct endpoint *endpoint, bool reading)
{
	int r;

	if (endpoint->reading == reading)
		return 0;
	if (reading) {
		r = event_del(&endpoint->edge_event);
		r = r ? r : event_add(&endpoint->read_event, NULL);
		if (!r && endpoint->wants_write)
			r = event_add(&endpoint->write_event, NULL);
	} else {
		r = event_del(&endpoint->read_event);
		r = r ? r : event_del(&endpoint->write_event);
		r = r ? r : event_add(&endpoint->edge_event, NULL);
	}
	endpoint->reading = reading;
	return r ? -ENOMEM : 0;
}

int endpoint_set_wants_write(struct endpoint *endpoint, bool wants_write)
{
	int r = 0;

	if (endpoint->wants_write == wants_write)
		return 0;
	endpoint->wants_write = wants_write;
	/* The edge-triggered event covers writing already. */
	if (endpoint->reading)
		r = wants_write ? event_add(&endpoint->write_event, NULL)
				: event_del(&endpoint->write_event);
	return r ? -ENOMEM : 0;
}

static ssize_t receive(struct endpoint *endpoint, uint8_t *room, size_t len, int flags)
{
	ssize_t n;

	do
		n = recv(endpoint->fd, room, len, MSG_DONTWAIT | flags);
	while (n < 0 && errno == EINTR);
	if (!n)
		endpoint->ended = true;
	return n < 0 ? -errno : n;
}

ssize_t endpoint_receive(struct endpoint *endpoint, uint8_t *room, size_t len)
{
	return receive(endpoint, room, len, 0);
}

ssize_t endpoint_discard(struct endpoint *endpoint, size_t len)
{
	/* tcp(7): with MSG_TRUNC bytes are dropped where they lie. */
	return receive(endpoint, NULL, len, MSG_TRUNC);
}

ssize_t endpoint_send(struct endpoint *endpoint, struct iovec *pieces, int count, bool boundary)
{
	int flags = MSG_DONTWAIT | MSG_NOSIGNAL | (boundary ? MSG_EOR : 0);
	struct msghdr message = {.msg_iov = pieces, .msg_iovlen = (size_t)count};
	ssize_t n;

	do {
		if (count == 1)
			n = send(endpoint->fd, pieces[0].iov_base, pieces[0].iov_len, flags);
		else
			n = sendmsg(endpoint->fd, &message, flags);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

void endpoint_shut(struct endpoint *endpoint)
{
	endpoint->shut = true;
	(void)shutdown(endpoint->fd, SHUT_WR);
}

void endpoint_poke(struct endpoint *endpoint)
{
	const int on = 1;

	(void)setsockopt(endpoint->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

int endpoint_error(struct endpoint *endpoint)
{
	socklen_t len = sizeof(int);
	int error = 0;

	if (getsockopt(endpoint->fd, SOL_SOCKET, SO_ERROR, &error, &len))
		return -errno;
	return -error;
}

size_t endpoint_unacknowledged(const struct endpoint *endpoint)
{
	struct tcp_info info = {0};
	socklen_t len = sizeof(info);
	int queued = 0;

	if (endpoint->fd < 0 || ioctl(endpoint->fd, SIOCOUTQ, &queued) || queued <= 0)
		return 0;
	/* A connection that was reset still counts what it will never send. */
	if (!getsockopt(endpoint->fd, IPPROTO_TCP, TCP_INFO, &info, &len) &&
	    info.tcpi_state == TCP_CLOSE)
		return 0;
	return (size_t)queued;
}

int endpoint_set_options(int fd)
{
	const int on = 1;

	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)))
		return -errno;
	/* An urgent byte is a byte of the stream: judged and sent on in its place. */
	if (setsockopt(fd, SOL_SOCKET, SO_OOBINLINE, &on, sizeof(on)))
		return -errno;
	return set_reset_on_close(fd, true);
}
