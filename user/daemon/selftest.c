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

struct pair {
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
static int open_pair(struct kern *kern, int family, struct pair *pair)
{
	struct sockaddr_storage address = {0};
	socklen_t len = 0;
	int r = open_listener(family, &address, &len, &pair->listener);

	if (!r)
		r = kern_slot_take(kern, &pair->slot, &pair->generation);
	if (r)
		return r;
	pair->sender = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
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

/* How many bytes arrive until wanted are there or nothing came for wait_ms. */
static size_t arrived(int fd, size_t wanted, int wait_ms)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
	uint8_t bytes[FIRST + SECOND];
	size_t total = 0;

	while (total < wanted && poll(&poll_fd, 1, wait_ms) > 0) {
		ssize_t n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);

		if (n <= 0)
			break;
		total += (size_t)n;
	}
	return total;
}

static int failed(char *error, size_t error_len, int family, const char *what)
{
	(void)snprintf(error, error_len,
		       "self-test over %s: %s; the gate does not hold here, so nothing is opened",
		       family == AF_INET ? "IPv4" : "IPv6", what);
	return -EPERM;
}

static int watch_pair(struct kern *kern, int family, const struct pair *pair, char *error,
		      size_t error_len)
{
	struct sluice_gate gate = {0};
	int r = send_bytes(pair->sender, FIRST) ?: send_bytes(pair->sender, SECOND)
		?: send_bytes(pair->receiver, FIRST);

	if (r) {
		(void)snprintf(error, error_len, "self-test: cannot send: %s", strerror(-r));
		return r;
	}
	if (arrived(pair->receiver, 1, LIMIT_SELFTEST_MS))
		return failed(error, error_len, family, "held bytes arrived");
	if (arrived(pair->sender, 1, LIMIT_SELFTEST_MS))
		return failed(error, error_len, family, "bytes of an unmarked socket arrived");
	if (kern_gate_state(kern, pair->sender, &gate) || !gate.valid || !gate.held)
		return failed(error, error_len, family, "the gate did not see the held bytes");
	kern_release(kern, pair->slot, pair->generation, FIRST);
	if (setsockopt(pair->sender, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int)))
		return failed(error, error_len, family, "the socket refused the poke");
	if (arrived(pair->receiver, FIRST, ARRIVAL_MS) != FIRST)
		return failed(error, error_len, family, "released bytes did not arrive");
	if (arrived(pair->receiver, 1, LIMIT_SELFTEST_MS))
		return failed(error, error_len, family, "more than was released arrived");
	return 0;
}

static int test_family(struct kern *kern, int family, char *error, size_t error_len)
{
	struct pair pair = {.listener = -1, .sender = -1, .receiver = -1};
	int r = open_pair(kern, family, &pair);

	if (r)
		(void)snprintf(error, error_len, "self-test: no loopback connection: %s",
			       strerror(-r));
	else
		r = watch_pair(kern, family, &pair, error, error_len);
	fd_close(pair.listener);
	if (pair.sender >= 0)
		endpoint_reset_fd(pair.sender);
	if (pair.receiver >= 0)
		endpoint_reset_fd(pair.receiver);
	if (pair.slot)
		kern_slot_give(kern, pair.slot);
	return r;
}

int selftest_run(struct kern *kern, bool ipv6, char *error, size_t error_len)
{
	int r = test_family(kern, AF_INET, error, error_len);

	if (!r && ipv6)
		r = test_family(kern, AF_INET6, error, error_len);
	return r;
}
