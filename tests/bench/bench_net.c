/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two ends for the network benchmarks, which tests/bench/net.py puts a relay
 * between:
 *
 *   bench_net echo PORT              serves: returns what it reads
 *   bench_net source PORT            serves: sends zeros until the client closes
 *   bench_net idle PORT              serves: accepts and waits
 *   bench_net rtt ADDR PORT N SIZE   N round trips of one SIZE-byte JSON line
 *   bench_net bulk ADDR PORT BYTES   reads BYTES as fast as they come
 *   bench_net hold ADDR PORT N SECS  opens N connections, sends a line on each,
 *                                    and keeps them open
 *   bench_net forward PORT ADDR PORT relays: the least that one can do, in one thread
 *
 * Servers bind 127.0.0.1 and fork per connection. Clients print one JSON line.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BULK_CHUNK (1u << 20)
#define WARM_UP	   500
#define FDS_MAX	   65536

static void die(const char *what)
{
	fprintf(stderr, "bench_net: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void no_delay(int fd)
{
	int one = 1;

	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)))
		die("TCP_NODELAY");
}

static struct sockaddr_in address(const char *addr, const char *port)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};

	if (inet_pton(AF_INET, addr, &in.sin_addr) != 1)
		die(addr);
	return in;
}

static int dial(const char *addr, const char *port)
{
	struct sockaddr_in in = address(addr, port);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&in, sizeof(in)))
		die("connect");
	no_delay(fd);
	return fd;
}

static bool write_all(int fd, const char *data, size_t len)
{
	while (len) {
		ssize_t n = send(fd, data, len, MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		data += n;
		len -= (size_t)n;
	}
	return true;
}

static bool read_all(int fd, char *data, size_t len)
{
	while (len) {
		ssize_t n = recv(fd, data, len, 0);

		if (n <= 0)
			return false;
		data += n;
		len -= (size_t)n;
	}
	return true;
}

static void serve_echo(int fd)
{
	static char buffer[65536];
	ssize_t n;

	while ((n = recv(fd, buffer, sizeof(buffer), 0)) > 0)
		if (!write_all(fd, buffer, (size_t)n))
			break;
}

static void serve_source(int fd)
{
	static char buffer[BULK_CHUNK];

	while (write_all(fd, buffer, sizeof(buffer)))
		;
}

static int listen_on(const char *port)
{
	struct sockaddr_in in = address("127.0.0.1", port);
	int one = 1, fd = socket(AF_INET, SOCK_STREAM, 0);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(fd, (struct sockaddr *)&in, sizeof(in)) || listen(fd, 4096))
		die("listen");
	return fd;
}

static void serve(const char *port, void (*each)(int fd))
{
	int fd = listen_on(port);

	signal(SIGCHLD, SIG_IGN);
	for (;;) {
		int client = accept(fd, NULL, NULL);

		if (client < 0)
			die("accept");
		if (!each)
			continue; /* idle: the descriptor stays open */
		if (fork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			close(fd);
			no_delay(client);
			each(client);
			_exit(0);
		}
		close(client);
	}
}

static void watch(int epoll, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	if (fd >= FDS_MAX || epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event))
		die("epoll_ctl");
}

/* What it reads, it writes before it does anything else. The end of one side ends the other. */
static void forward_some(int from, int *peer)
{
	static char buffer[65536];
	int to = peer[from];
	ssize_t len = recv(from, buffer, sizeof(buffer), MSG_DONTWAIT);

	if ((len > 0 && write_all(to, buffer, (size_t)len)) || (len < 0 && errno == EAGAIN))
		return;
	close(from);
	if (to < 0)
		return;
	peer[to] = -1;
	shutdown(to, SHUT_WR);
}

static void forward(const char *port, const char *to_addr, const char *to_port)
{
	int listener = listen_on(port), epoll = epoll_create1(0);
	int *peer = calloc(FDS_MAX, sizeof(*peer));

	if (epoll < 0 || !peer)
		die("epoll");
	watch(epoll, listener);
	for (;;) {
		struct epoll_event events[64];
		int n = epoll_wait(epoll, events, 64, -1);

		for (int i = 0; i < n; i++) {
			int fd = events[i].data.fd, other;

			if (fd != listener) {
				forward_some(fd, peer);
				continue;
			}
			fd = accept(listener, NULL, NULL);
			if (fd < 0)
				die("accept");
			no_delay(fd);
			other = dial(to_addr, to_port);
			watch(epoll, fd);
			watch(epoll, other);
			peer[fd] = other;
			peer[other] = fd;
		}
	}
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* One JSON line of exactly size bytes whose text no English term occurs in. */
static char *json_line(size_t size)
{
	static const char head[] = "{\"t\":\"", tail[] = "\"}\n", text[] = "the quick brown fox ";
	char *line = malloc(size + 1);

	if (!line || size < sizeof(head) + sizeof(tail))
		die("size");
	memcpy(line, head, sizeof(head) - 1);
	for (size_t i = sizeof(head) - 1; i < size - (sizeof(tail) - 1); i++)
		line[i] = text[i % (sizeof(text) - 1)];
	memcpy(line + size - (sizeof(tail) - 1), tail, sizeof(tail));
	return line;
}

static int run_rtt(char **argv)
{
	int fd = dial(argv[0], argv[1]);
	size_t count = strtoul(argv[2], NULL, 10), size = strtoul(argv[3], NULL, 10);
	char *line = json_line(size), *back = malloc(size);
	uint64_t *took = calloc(count ? count : 1, sizeof(*took));

	if (!back || !took || !count)
		die("count");
	for (size_t i = 0; i < count + WARM_UP; i++) {
		uint64_t start = now_ns();

		if (!write_all(fd, line, size) || !read_all(fd, back, size))
			die("round trip");
		if (memcmp(line, back, size))
			die("echo differs");
		if (i >= WARM_UP)
			took[i - WARM_UP] = now_ns() - start;
	}
	qsort(took, count, sizeof(*took), by_value);
	printf("{\"p50_us\": %.2f, \"p99_us\": %.2f}\n", (double)took[count / 2] / 1e3,
	       (double)took[count * 99 / 100] / 1e3);
	return 0;
}

static int run_bulk(char **argv)
{
	static char buffer[BULK_CHUNK];
	int fd = dial(argv[0], argv[1]);
	uint64_t want = strtoull(argv[2], NULL, 10), got = 0, start = now_ns();

	while (got < want) {
		ssize_t n = recv(fd, buffer, sizeof(buffer), 0);

		if (n <= 0)
			die("bulk read");
		got += (uint64_t)n;
	}
	printf("{\"gb_per_s\": %.3f}\n", (double)got / (double)(now_ns() - start));
	return 0;
}

static int run_hold(char **argv)
{
	size_t count = strtoul(argv[2], NULL, 10);
	char *line = json_line(120);

	for (size_t i = 0; i < count; i++)
		if (!write_all(dial(argv[0], argv[1]), line, 120))
			die("hold");
	printf("{\"open\": %zu}\n", count);
	fflush(stdout);
	sleep((unsigned int)atoi(argv[3]));
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "echo"))
		serve(argv[2], serve_echo);
	else if (argc == 3 && !strcmp(argv[1], "source"))
		serve(argv[2], serve_source);
	else if (argc == 3 && !strcmp(argv[1], "idle"))
		serve(argv[2], NULL);
	else if (argc == 5 && !strcmp(argv[1], "forward"))
		forward(argv[2], argv[3], argv[4]);
	else if (argc == 6 && !strcmp(argv[1], "rtt"))
		return run_rtt(argv + 2);
	else if (argc == 5 && !strcmp(argv[1], "bulk"))
		return run_bulk(argv + 2);
	else if (argc == 6 && !strcmp(argv[1], "hold"))
		return run_hold(argv + 2);
	fprintf(stderr, "usage: bench_net echo|source|idle PORT | rtt ADDR PORT N SIZE | "
			"bulk ADDR PORT BYTES | hold ADDR PORT N SECONDS | "
			"forward PORT ADDR PORT\n");
	return 2;
}
