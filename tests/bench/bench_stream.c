/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ends of token streams, which tests/bench/streams.py puts a relay between: a
 * server that sends each of its clients an event stream over chunked HTTP, a token
 * an event, so many events a second; and a client that tells how long each event was
 * on its way, from before it was sent until it was read.
 *
 *   bench_stream serve PORT STREAMS RATE SECONDS
 *   bench_stream read ADDR PORT STREAMS CONNECTS SECONDS
 *
 * RATE is events per stream and second; CONNECTS how many streams are opened in a
 * second. The server begins once all are open, each stream at a moment of its own,
 * and sends for SECONDS. What came in the first second is not counted. Each runs in
 * one thread, so that they leave the machine to what is measured; the events tell the
 * time on the machine's own clock. Both print a JSON line when the first event goes,
 * and one in the end.
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
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/macros.h"

#define FDS_MAX	    65536
#define BATCH	    256
#define SECOND	    UINT64_C(1000000000)
#define WARM_UP	    SECOND
#define EVENT_LEN   240 /* without its chunk */
#define TIME_LEN    20
#define EVENT_BEGIN "data: {\"id\":\"chatcmpl-"
#define CHUNK_BEGIN "f0\r\n"
/* In a chunk: where the time stands, where the event is whole, where the chunk is. */
#define TIME_AT	  (sizeof(CHUNK_BEGIN EVENT_BEGIN) - 1)
#define WHOLE_AT  (sizeof(CHUNK_BEGIN) - 1 + EVENT_LEN)
#define CHUNK_LEN (WHOLE_AT + 2)

_Static_assert(EVENT_LEN == 0xf0, "the chunk's size is written out");

static const char request[] =
	"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\n"
	"Content-Type: application/json\r\nContent-Length: 98\r\n\r\n"
	"{\"model\":\"gpt-4o-mini\",\"stream\":true,\"messages\":[{\"role\":\"user\","
	"\"content\":\"Tell me of rivers.\"}]}\n";
static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
			   "Transfer-Encoding: chunked\r\n\r\n";
static const char tail[] = "e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n";
static const char *const tokens[] = {
	" the",	   " quick", " brown", " stream",      " of",
	" tokens", " moves", " over",  " slow",	       " river",
	" and",	   " every", " word",  " caf\xc3\xa9", " \xe6\xb5\x81\xe3\x82\x8c",
	".",
};

static void die(const char *what)
{
	fprintf(stderr, "bench_stream: %s: %s\n", what, strerror(errno));
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

static double cpu_seconds(void)
{
	struct rusage usage;

	if (getrusage(RUSAGE_SELF, &usage))
		die("getrusage");
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static void sleep_until(uint64_t at)
{
	struct timespec t = {.tv_sec = (time_t)(at / SECOND), .tv_nsec = (long)(at % SECOND)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

static void raise_limits(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		die("RLIMIT_NOFILE");
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		die("RLIMIT_NOFILE");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_TIMERSLACK, 1);
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

static int dial(const struct sockaddr_in *in)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || fd >= FDS_MAX || connect(fd, (const struct sockaddr *)in, sizeof(*in)))
		die("connect");
	no_delay(fd);
	return fd;
}

static int bind_and_listen(const char *port)
{
	struct sockaddr_in in = address("127.0.0.1", port);
	int one = 1, fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
	    bind(fd, (struct sockaddr *)&in, sizeof(in)) || listen(fd, 8192))
		die("listen");
	return fd;
}

static int new_epoll(void)
{
	int epoll = epoll_create1(0);

	if (epoll < 0)
		die("epoll");
	return epoll;
}

static void watch(int epoll, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event))
		die("epoll_ctl");
}

/* What was measured, in units of 100 ns. */
struct samples {
	uint32_t *values;
	size_t count, capacity;
};

static void add_sample(struct samples *samples, uint64_t ns)
{
	if (samples->count == samples->capacity) {
		samples->capacity = samples->capacity ? samples->capacity * 2 : 4096;
		samples->values =
			realloc(samples->values, samples->capacity * sizeof(*samples->values));
		if (!samples->values)
			die("memory");
	}
	samples->values[samples->count++] = (uint32_t)MIN(ns / 100, (uint64_t)UINT32_MAX);
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* "name": {"count": …, "p50_us": …, "p90_us": …, "p99_us": …, "max_us": …} */
static void print_samples(const char *name, struct samples *samples)
{
	static const unsigned int percent[] = {50, 90, 99};
	size_t n = samples->count;
	const uint32_t *values = samples->values;

	if (!n) {
		printf("\"%s\": null", name);
		return;
	}
	qsort(samples->values, n, sizeof(*samples->values), by_value);
	printf("\"%s\": {\"count\": %zu", name, n);
	for (size_t i = 0; i < ARRAY_SIZE(percent); i++)
		printf(", \"p%u_us\": %.1f", percent[i], values[(n - 1) * percent[i] / 100] / 10.0);
	printf(", \"max_us\": %.1f}", values[n - 1] / 10.0);
}

/* Measured in the first and in the second half of the time. */
struct halves {
	uint64_t begin, length;
	struct samples half[2];
};

static void add_to_half(struct halves *halves, uint64_t at, uint64_t ns)
{
	if (at >= halves->begin + WARM_UP)
		add_sample(&halves->half[at - halves->begin - WARM_UP >=
					 (halves->length - WARM_UP) / 2],
			   ns);
}

static void print_halves(struct halves *halves)
{
	print_samples("first_half", &halves->half[0]);
	printf(", ");
	print_samples("second_half", &halves->half[1]);
}

static void say_begin(void)
{
	printf("{\"begin\": true}\n");
	fflush(stdout);
}

struct server {
	int *fds; /* of the streams; -1: one that did not take what it was sent */
	size_t open, stalled;
};

/* All streams, each with its whole request read and the head of its answer sent. */
static void accept_streams(const char *port, size_t count, struct server *server)
{
	int listener = bind_and_listen(port), epoll = new_epoll();
	size_t *got = calloc(FDS_MAX, sizeof(*got));

	if (!got)
		die("memory");
	watch(epoll, listener);
	while (server->open < count) {
		struct epoll_event events[BATCH];
		int n = epoll_wait(epoll, events, BATCH, -1);

		for (int i = 0; i < n; i++) {
			int fd = events[i].data.fd;
			char buffer[sizeof(request)];
			ssize_t len;

			if (fd == listener) {
				fd = accept(listener, NULL, NULL);
				if (fd < 0 || fd >= FDS_MAX)
					die("accept");
				no_delay(fd);
				watch(epoll, fd);
				continue;
			}
			len = recv(fd, buffer, sizeof(buffer), 0);
			if (len <= 0)
				die("a client left");
			got[fd] += (size_t)len;
			if (got[fd] < sizeof(request) - 1)
				continue;
			if (send(fd, head, sizeof(head) - 1, MSG_NOSIGNAL) < 0)
				die("head");
			server->fds[server->open++] = fd;
		}
	}
	free(got);
	close(epoll);
	close(listener);
}

static void send_to(struct server *server, size_t stream, const char *data, size_t len)
{
	int fd = server->fds[stream];

	if (fd < 0 || send(fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)len)
		return;
	server->fds[stream] = -1;
	server->stalled++;
}

/* A chunk of one event, always of the same size; its time is filled in later. */
static void make_chunk(char *chunk, const char *token)
{
	char event[EVENT_LEN + 64];
	int len = snprintf(event, sizeof(event),
			   EVENT_BEGIN "%0*d\",\"object\":\"chat.completion.chunk\","
				       "\"created\":1755000000,\"model\":\"gpt-4o-mini\","
				       "\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%s\"},"
				       "\"finish_reason\":null}],\"obfuscation\":\"",
			   TIME_LEN, 0, token);

	memset(event + len, 'x', (size_t)(EVENT_LEN - 4 - len));
	memcpy(event + EVENT_LEN - 4, "\"}\n\n", 4);
	memcpy(chunk, CHUNK_BEGIN, sizeof(CHUNK_BEGIN) - 1);
	memcpy(chunk + sizeof(CHUNK_BEGIN) - 1, event, EVENT_LEN);
	memcpy(chunk + WHOLE_AT, "\r\n", 2);
}

static void put_time(char *chunk, uint64_t now)
{
	for (size_t i = TIME_LEN; i-- > 0; now /= 10)
		chunk[TIME_AT + i] = (char)('0' + now % 10);
}

static uint64_t send_events(struct server *server, double rate, uint64_t length,
			    struct halves *ret_late)
{
	double gap = (double)SECOND / (rate * (double)server->open);
	uint64_t total = (uint64_t)((double)length / gap), sent = 0, now;
	char chunks[ARRAY_SIZE(tokens)][CHUNK_LEN];

	for (size_t i = 0; i < ARRAY_SIZE(tokens); i++)
		make_chunk(chunks[i], tokens[i]);
	*ret_late = (struct halves){.begin = now_ns() + SECOND / 2, .length = length};
	sleep_until(ret_late->begin);
	say_begin();
	while (sent < total) {
		uint64_t due = ret_late->begin + (uint64_t)((double)sent * gap);
		char *chunk = chunks[sent % ARRAY_SIZE(tokens)];

		now = now_ns();
		if (due > now) {
			sleep_until(due);
			now = now_ns();
		}
		add_to_half(ret_late, due, now - due);
		put_time(chunk, now);
		send_to(server, sent % server->open, chunk, CHUNK_LEN);
		sent++;
	}
	return sent;
}

static int serve(char **argv)
{
	size_t count = strtoul(argv[1], NULL, 10);
	uint64_t length = (uint64_t)(atof(argv[3]) * (double)SECOND), sent;
	struct server server = {.fds = calloc(count + 1, sizeof(int))};
	struct halves late = {0};
	double cpu;

	if (!server.fds || !count)
		die("streams");
	accept_streams(argv[0], count, &server);
	cpu = cpu_seconds();
	sent = send_events(&server, atof(argv[2]), length, &late);
	cpu = cpu_seconds() - cpu;
	for (size_t i = 0; i < count; i++)
		send_to(&server, i, tail, sizeof(tail) - 1);
	printf("{\"sent\": %" PRIu64 ", \"seconds\": %.3f, \"cpu_seconds\": %.3f, "
	       "\"stalled\": %zu, \"late\": {",
	       sent, (double)(now_ns() - late.begin) / (double)SECOND, cpu, server.stalled);
	print_halves(&late);
	printf("}}\n");
	fflush(stdout);
	return 0;
}

/* A stream as it is read: the head, chunks all of one size, the tail. */
struct reading {
	uint8_t state; /* bytes of the head's end that came; 4: it is over */
	bool in_tail;
	uint32_t at;   /* bytes of the chunk under way, or of the tail */
	uint64_t sent; /* its time, as far as it came */
};

struct client {
	struct reading *readings; /* by descriptor */
	struct halves delays;
	size_t open, ended;
	uint64_t events;
	double cpu;
};

static void take_event(struct client *client, const struct reading *reading, uint64_t now)
{
	if (!client->events++) {
		client->delays.begin = reading->sent;
		client->cpu = cpu_seconds();
		say_begin();
	}
	add_to_half(&client->delays, reading->sent, now - reading->sent);
}

/* Some bytes of a chunk, up to its end; how many. */
static size_t take_chunk(struct client *client, struct reading *reading, const char *data,
			 size_t len, uint64_t now)
{
	size_t used = MIN(len, CHUNK_LEN - reading->at), from = reading->at;
	size_t first = MAX(from, TIME_AT), last = MIN(from + used, TIME_AT + TIME_LEN);

	for (size_t i = first; i < last; i++)
		reading->sent = reading->sent * 10 + (uint64_t)(data[i - from] - '0');
	if (from < WHOLE_AT && from + used >= WHOLE_AT)
		take_event(client, reading, now);
	reading->at += (uint32_t)used;
	if (reading->at == CHUNK_LEN) {
		reading->at = 0;
		reading->sent = 0;
	}
	return used;
}

static void take_bytes(struct client *client, struct reading *reading, const char *data, size_t len,
		       uint64_t now)
{
	for (size_t i = 0; i < len;) {
		if (reading->state < 4) {
			bool next = data[i] == "\r\n\r\n"[reading->state];

			reading->state = next ? reading->state + 1 : data[i] == '\r';
			i++;
		} else if (reading->in_tail || (!reading->at && data[i] == tail[0])) {
			reading->in_tail = true;
			reading->at += (uint32_t)(len - i);
			return;
		} else {
			i += take_chunk(client, reading, data + i, len - i, now);
		}
	}
}

static void read_stream(struct client *client, int fd)
{
	struct reading *reading = &client->readings[fd];
	char buffer[16384];
	ssize_t len = recv(fd, buffer, sizeof(buffer), MSG_DONTWAIT);

	if (len > 0)
		take_bytes(client, reading, buffer, (size_t)len, now_ns());
	if (len > 0 ? !reading->in_tail || reading->at < sizeof(tail) - 1 : len && errno == EAGAIN)
		return;
	client->ended += len > 0;
	client->open--;
	close(fd);
}

static int read_streams(char **argv)
{
	struct sockaddr_in in = address(argv[0], argv[1]);
	size_t count = strtoul(argv[2], NULL, 10);
	double connects = atof(argv[3]);
	struct client client = {.readings = calloc(FDS_MAX, sizeof(*client.readings))};
	uint64_t begin = now_ns();
	int epoll = new_epoll();

	if (!client.readings || !count)
		die("streams");
	client.delays.length = (uint64_t)(atof(argv[4]) * (double)SECOND);
	for (size_t i = 0; i < count; i++) {
		int fd;

		sleep_until(begin + (uint64_t)((double)i * (double)SECOND / connects));
		fd = dial(&in);
		if (send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL) < 0)
			die("request");
		watch(epoll, fd);
		client.open++;
	}
	while (client.open) {
		struct epoll_event events[BATCH];
		int n = epoll_wait(epoll, events, BATCH, 20000);

		if (n == 0)
			break;
		for (int i = 0; i < n; i++)
			read_stream(&client, events[i].data.fd);
	}
	printf("{\"events\": %" PRIu64 ", \"ended\": %zu, \"cpu_seconds\": %.3f, ", client.events,
	       client.ended, cpu_seconds() - client.cpu);
	print_halves(&client.delays);
	printf("}\n");
	return client.ended == count ? 0 : 1;
}

int main(int argc, char **argv)
{
	raise_limits();
	if (argc == 6 && !strcmp(argv[1], "serve"))
		return serve(argv + 2);
	if (argc == 7 && !strcmp(argv[1], "read"))
		return read_streams(argv + 2);
	fprintf(stderr, "usage: bench_stream serve PORT STREAMS RATE SECONDS | "
			"read ADDR PORT STREAMS CONNECTS SECONDS\n");
	return 2;
}
