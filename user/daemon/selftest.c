/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/selftest.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "daemon/endpoint.h"
#include "daemon/limits.h"
#include "kern/kern.h"
#include "sys/fd.h"

#define FIRST  40u /* bytes of the first write, which is released */
#define SECOND 60u /* of the second, which stays held */
/* What must come may take longer than what must not. */
#define ARRIVAL_MS 2000
#define FAMILIES   2

struct pair {
	int family;
	int listener, sender, receiver;
	uint32_t slot;
	uint16_t generation;
};

static int open_listener(int family, struct sockaddr_storage *ret_address, socklen_t *ret_len,
			 int *ret_fd)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	socklen_t len = family == AF_INET ? sizeof(v4) : sizeof(v6);
	int fd cleanup(fd_closep) = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	(void)memcpy(ret_address, family == AF_INET ? (void *)&v4 : (void *)&v6, len);
	if (bind(fd, (struct sockaddr *)ret_address, len) || listen(fd, 1) ||
	    getsockname(fd, (struct sockaddr *)ret_address, &len))
		return -errno;
	*ret_len = len;
	*ret_fd = take_fd(fd);
	return 0;
}

/* The sender is a data socket, bounded by its slot; the receiver is unmarked. */
static int open_pair(struct kern *kern, struct pair *pair)
{
	struct sockaddr_storage address = {0};
	socklen_t len = 0;
	int r = open_listener(pair->family, &address, &len, &pair->listener);

	if (!r)
		r = kern_slot_take(kern, &pair->slot, &pair->generation);
	if (r)
		return r;
	pair->sender = socket(pair->family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (pair->sender < 0)
		return -errno;
	r = endpoint_set_options(pair->sender)
		    ?: kern_mark_data(kern, pair->sender, pair->slot, pair->generation,
				      /* open: */ false, /* stream: */ 0);
	if (r)
		return r;
	if (connect(pair->sender, (struct sockaddr *)&address, len))
		return -errno;
	pair->receiver = accept4(pair->listener, NULL, NULL, SOCK_CLOEXEC);
	return pair->receiver < 0 ? -errno : 0;
}

static int send_bytes(int fd, size_t len)
{
	static const uint8_t bytes[FIRST + SECOND];
	ssize_t n = send(fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL | MSG_EOR);

	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EIO;
}

/* Exactly so many bytes: more of them in the same piece are too many. */
static bool arrives(int fd, size_t wanted)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
	uint8_t bytes[FIRST + SECOND];
	size_t total = 0;

	while (total < wanted && poll(&poll_fd, 1, ARRIVAL_MS) > 0) {
		ssize_t n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);

		if (n <= 0)
			break;
		total += (size_t)n;
	}
	return total == wanted;
}

static int failed(char *error, size_t error_len, const struct pair *pair, const char *what)
{
	(void)snprintf(error, error_len,
		       "self-test over %s: %s; the gate does not hold here, so nothing is opened",
		       pair->family == AF_INET ? "IPv4" : "IPv6", what);
	return -EPERM;
}

/* One wait for all of them: connects of agents wait as long, where a daemon is taken over. */
static int expect_nothing(const struct pair *pairs, size_t count, const char *at_receiver,
			  char *error, size_t error_len)
{
	struct pollfd fds[2 * FAMILIES];
	int n;

	for (size_t i = 0; i < count; i++) {
		fds[2 * i] = (struct pollfd){.fd = pairs[i].receiver, .events = POLLIN};
		fds[2 * i + 1] = (struct pollfd){.fd = pairs[i].sender, .events = POLLIN};
	}
	n = poll(fds, 2 * count, LIMIT_SELFTEST_MS);
	if (n < 0)
		return failed(error, error_len, &pairs[0], "it could not be waited for");
	for (size_t i = 0; n && i < count; i++) {
		if (fds[2 * i].revents)
			return failed(error, error_len, &pairs[i], at_receiver);
		if (fds[2 * i + 1].revents)
			return failed(error, error_len, &pairs[i],
				      "bytes of an unmarked socket arrived");
	}
	return 0;
}

static int send_all(const struct pair *pair, char *error, size_t error_len)
{
	int r = send_bytes(pair->sender, FIRST) ?: send_bytes(pair->sender, SECOND)
		?: send_bytes(pair->receiver, FIRST);

	if (r)
		(void)snprintf(error, error_len, "self-test: cannot send: %s", strerror(-r));
	return r;
}

static int release(struct kern *kern, const struct pair *pair, char *error, size_t error_len)
{
	struct sluice_gate gate = {0};

	if (kern_gate_state(kern, pair->sender, &gate) || !gate.valid || !gate.held)
		return failed(error, error_len, pair, "the gate did not see the held bytes");
	kern_release(kern, pair->slot, pair->generation, FIRST);
	if (setsockopt(pair->sender, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int)))
		return failed(error, error_len, pair, "the socket refused the poke");
	if (!arrives(pair->receiver, FIRST))
		return failed(error, error_len, pair, "released bytes did not arrive");
	return 0;
}

static int watch_pairs(struct kern *kern, const struct pair *pairs, size_t count, char *error,
		       size_t error_len)
{
	int r = 0;

	for (size_t i = 0; !r && i < count; i++)
		r = send_all(&pairs[i], error, error_len);
	if (!r)
		r = expect_nothing(pairs, count, "held bytes arrived", error, error_len);
	for (size_t i = 0; !r && i < count; i++)
		r = release(kern, &pairs[i], error, error_len);
	if (!r)
		r = expect_nothing(pairs, count, "more than was released arrived", error,
				   error_len);
	return r;
}

static void close_pair(struct kern *kern, const struct pair *pair)
{
	fd_close(pair->listener);
	if (pair->sender >= 0)
		endpoint_reset_fd(pair->sender);
	if (pair->receiver >= 0)
		endpoint_reset_fd(pair->receiver);
	if (pair->slot)
		kern_slot_give(kern, pair->slot);
}

int selftest_run(struct kern *kern, bool ipv6, char *error, size_t error_len)
{
	struct pair pairs[FAMILIES] = {
		{.family = AF_INET, .listener = -1, .sender = -1, .receiver = -1},
		{.family = AF_INET6, .listener = -1, .sender = -1, .receiver = -1},
	};
	const size_t count = ipv6 ? 2 : 1;
	int r = 0;

	for (size_t i = 0; !r && i < count; i++) {
		r = open_pair(kern, &pairs[i]);
		if (r)
			(void)snprintf(error, error_len, "self-test: no loopback connection: %s",
				       strerror(-r));
	}
	if (!r)
		r = watch_pairs(kern, pairs, count, error, error_len);
	for (size_t i = 0; i < count; i++)
		close_pair(kern, &pairs[i]);
	return r;
}
