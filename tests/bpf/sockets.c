/* SPDX-License-Identifier: Apache-2.0 */
/* The sockets of the harness: addresses, limits in time, flows and streams. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include "bpf/harness.h"

#define LIMIT_MS   1000
#define SILENCE_MS 60

socklen_t address_make(struct sockaddr_storage *address, int family, const char *text,
		       uint16_t port)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)address;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)address;

	memset(address, 0, sizeof(*address));
	address->ss_family = (sa_family_t)family;
	if (family == AF_INET) {
		v4->sin_port = htons(port);
		assert_int_equal(inet_pton(AF_INET, text, &v4->sin_addr), 1);
		return sizeof(*v4);
	}
	v6->sin6_port = htons(port);
	assert_int_equal(inet_pton(AF_INET6, text, &v6->sin6_addr), 1);
	return sizeof(*v6);
}

static int socket_family(int fd)
{
	int family = 0;
	socklen_t len = sizeof(family);

	assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &len), 0);
	return family;
}

uint16_t address_port(int fd)
{
	struct sockaddr_storage address;
	socklen_t len = sizeof(address);

	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
	/* The port is at the same place in both families. */
	return ntohs(((struct sockaddr_in *)&address)->sin_port);
}

void address_text(int fd, bool peer, char *text, size_t len)
{
	struct sockaddr_storage address;
	socklen_t size = sizeof(address);
	char host[INET6_ADDRSTRLEN] = "?";
	const void *raw;
	int r;

	r = peer ? getpeername(fd, (struct sockaddr *)&address, &size)
		 : getsockname(fd, (struct sockaddr *)&address, &size);
	if (r < 0) {
		(void)snprintf(text, len, "%s", strerror(errno));
		return;
	}
	raw = address.ss_family == AF_INET ? (void *)&((struct sockaddr_in *)&address)->sin_addr
					   : (void *)&((struct sockaddr_in6 *)&address)->sin6_addr;
	(void)inet_ntop(address.ss_family, raw, host, sizeof(host));
	(void)snprintf(text, len, "[%s]:%u", host,
		       ntohs(((struct sockaddr_in *)&address)->sin_port));
}

static void limit_time(int fd, int ms)
{
	struct timeval limit = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};

	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

int socket_connect(int fd, const char *text, uint16_t port)
{
	struct sockaddr_storage address;
	socklen_t len = address_make(&address, socket_family(fd), text, port);
	int r;

	limit_time(fd, LIMIT_MS);
	r = connect(fd, (struct sockaddr *)&address, len) < 0 ? -errno : 0;
	limit_time(fd, 0);
	return r;
}

int socket_listen(const struct helper *helper, int family, const char *text, uint16_t *ret_port)
{
	struct sockaddr_storage address;
	socklen_t len = address_make(&address, family, text, 0);
	int fd = helper_socket(helper, family, SOCK_STREAM, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, len), 0);
	assert_int_equal(listen(fd, 128), 0);
	*ret_port = address_port(fd);
	return fd;
}

static bool wait_readable(int fd, int timeout_ms)
{
	struct pollfd poller = {.fd = fd, .events = POLLIN};

	return poll(&poller, 1, timeout_ms) > 0;
}

int socket_accept(int listener)
{
	int fd;

	if (!wait_readable(listener, LIMIT_MS))
		return -ETIMEDOUT;
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

size_t socket_read(int fd, void *buffer, size_t len, int timeout_ms)
{
	size_t have = 0;

	while (have < len && wait_readable(fd, timeout_ms)) {
		ssize_t got = recv(fd, (char *)buffer + have, len - have, MSG_DONTWAIT);

		if (got <= 0)
			break;
		have += (size_t)got;
	}
	return have;
}

void assert_silent(int fd)
{
	assert_false(wait_readable(fd, SILENCE_MS));
}

void assert_reads(int fd, const void *bytes, size_t len)
{
	char *buffer = malloc(len);

	assert_non_null(buffer);
	assert_int_equal(socket_read(fd, buffer, len, LIMIT_MS), len);
	assert_memory_equal(buffer, bytes, len);
	free(buffer);
	assert_silent(fd);
}

void assert_reset(int fd)
{
	char byte;

	assert_true(wait_readable(fd, LIMIT_MS));
	assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, ECONNRESET);
}

void assert_end(int fd)
{
	char byte;

	assert_true(wait_readable(fd, LIMIT_MS));
	assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT), 0);
}

void flow_open(struct harness *harness, struct flow *flow, int family, const char *text, bool open)
{
	const int peer_family = strncmp(text, "::ffff:", 7) == 0 ? AF_INET : family;
	const char *peer_text = peer_family == family ? text : text + 7;
	uint16_t port;
	int listener = socket_listen(&harness->outside, peer_family, peer_text, &port);

	flow->data = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(flow->data >= 0);
	assert_int_equal(kern_slot_take(harness->kern, &flow->slot, &flow->generation), 0);
	assert_int_equal(
		kern_mark_data(harness->kern, flow->data, flow->slot, flow->generation, open, 42),
		0);
	assert_int_equal(socket_connect(flow->data, text, port), 0);
	flow->peer = socket_accept(listener);
	assert_true(flow->peer >= 0);
	(void)close(listener);
}

void flow_close(struct harness *harness, struct flow *flow)
{
	const struct linger reset = {.l_onoff = 1};

	(void)setsockopt(flow->data, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	(void)close(flow->data);
	(void)close(flow->peer);
	kern_slot_give(harness->kern, flow->slot);
}

void flow_release(struct harness *harness, struct flow *flow, uint64_t offset)
{
	kern_release(harness->kern, flow->slot, flow->generation, offset);
	flow_poke(flow);
}

void flow_poke(const struct flow *flow)
{
	int one = 1;

	(void)setsockopt(flow->data, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

void flow_wait(struct harness *harness, const struct flow *flow, uint64_t position)
{
	struct sluice_gate gate;
	int tries;

	for (tries = 0; tries < 500; tries++) {
		assert_int_equal(kern_gate_state(harness->kern, flow->data, &gate), 0);
		if (gate.position == position)
			return;
		(void)usleep(10000);
	}
	fail_msg("position %llu instead of %llu", gate.position, (unsigned long long)position);
}

void steered_open(struct harness *harness, struct steered *steered, int family, const char *text,
		  uint16_t port)
{
	const bool v4 = family == AF_INET || strncmp(text, "::ffff:", 7) == 0;

	steered->agent = helper_socket(&harness->agent, family, SOCK_STREAM, 0);
	assert_true(steered->agent >= 0);
	assert_int_equal(socket_connect(steered->agent, text, port), 0);
	steered->accepted = socket_accept(harness->listener[v4 ? 0 : 1]);
	assert_true(steered->accepted >= 0);
}

void steered_close(struct steered *steered)
{
	(void)close(steered->agent);
	(void)close(steered->accepted);
}

int harness_connect(struct harness *harness, int family, const char *text, uint16_t port)
{
	int fd = helper_socket(&harness->agent, family, SOCK_STREAM, 0), r;

	assert_true(fd >= 0);
	r = socket_connect(fd, text, port);
	(void)close(fd);
	return r;
}
