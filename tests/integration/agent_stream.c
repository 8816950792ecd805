/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An unmodified C program as an agent: sends a file to an echo server, in one of
 * the ways a program may send, and checks that the same bytes come back.
 *
 *   agent_stream WAY PORT FILE
 *
 * Exit 0: all came back. 3: the connection was reset. Anything else: a fault.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define STATUS_RESET 3
#define PIECE	     4096u

struct agent {
	int fd;	  /* the connection */
	int file; /* what is sent */
	const char *data;
	size_t len;
	struct sockaddr_in peer;
};

static void fail(const char *what)
{
	if (errno == ECONNRESET || errno == EPIPE)
		exit(STATUS_RESET);
	perror(what);
	exit(1);
}

static void open_blocking(struct agent *agent)
{
	agent->fd = socket(AF_INET, SOCK_STREAM, 0);
	if (agent->fd < 0 || connect(agent->fd, (void *)&agent->peer, sizeof(agent->peer)))
		fail("connect");
}

static void open_nonblocking(struct agent *agent)
{
	struct pollfd poll_fd;
	int error = 0;
	socklen_t len = sizeof(error);

	agent->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	if (agent->fd < 0)
		fail("socket");
	if (connect(agent->fd, (void *)&agent->peer, sizeof(agent->peer)) && errno != EINPROGRESS)
		fail("connect");
	poll_fd = (struct pollfd){.fd = agent->fd, .events = POLLOUT};
	if (poll(&poll_fd, 1, 5000) != 1 ||
	    getsockopt(agent->fd, SOL_SOCKET, SO_ERROR, &error, &len) || error)
		fail("connect");
	if (fcntl(agent->fd, F_SETFL, 0))
		fail("fcntl");
}

/* The first bytes travel with the SYN where the kernel lets them. */
static size_t open_fast(struct agent *agent)
{
	ssize_t sent;

	agent->fd = socket(AF_INET, SOCK_STREAM, 0);
	if (agent->fd < 0)
		fail("socket");
	sent = sendto(agent->fd, agent->data, 100 < agent->len ? 100 : agent->len, MSG_FASTOPEN,
		      (void *)&agent->peer, sizeof(agent->peer));
	if (sent < 0)
		fail("sendto");
	return (size_t)sent;
}

static void send_plain(struct agent *agent, size_t at)
{
	while (at < agent->len) {
		size_t left = agent->len - at;
		ssize_t sent = send(agent->fd, agent->data + at, left < PIECE ? left : PIECE,
				    MSG_NOSIGNAL);

		if (sent < 0)
			fail("send");
		at += (size_t)sent;
	}
}

/* Three bytes at a time, gathered, so that a write never ends with a line. */
static void send_vectors(struct agent *agent)
{
	size_t at = 0;

	while (at < agent->len) {
		struct iovec vectors[3];
		struct msghdr message = {.msg_iov = vectors};
		ssize_t sent;

		for (; message.msg_iovlen < 3 && at + message.msg_iovlen < agent->len;
		     message.msg_iovlen++) {
			vectors[message.msg_iovlen].iov_base =
				(char *)agent->data + at + message.msg_iovlen;
			vectors[message.msg_iovlen].iov_len = 1;
		}
		sent = sendmsg(agent->fd, &message, MSG_NOSIGNAL);
		if (sent < 0)
			fail("sendmsg");
		at += (size_t)sent;
	}
}

static void send_file(struct agent *agent)
{
	off_t at = 0;

	while ((size_t)at < agent->len) {
		if (sendfile(agent->fd, agent->file, &at, agent->len - (size_t)at) < 0)
			fail("sendfile");
	}
}

static void send_zero_copy(struct agent *agent)
{
	size_t at = 0;
	int one = 1;

	if (setsockopt(agent->fd, SOL_SOCKET, SO_ZEROCOPY, &one, sizeof(one)))
		fail("SO_ZEROCOPY");
	while (at < agent->len) {
		ssize_t sent = send(agent->fd, agent->data + at, agent->len - at,
				    MSG_NOSIGNAL | MSG_ZEROCOPY);

		if (sent < 0)
			fail("send");
		at += (size_t)sent;
	}
}

static void send_spliced(struct agent *agent)
{
	size_t at = 0;
	int ends[2];

	if (pipe(ends))
		fail("pipe");
	while (at < agent->len) {
		ssize_t in = splice(agent->file, NULL, ends[1], NULL, agent->len - at, 0);

		if (in <= 0)
			fail("splice");
		for (at += (size_t)in; in > 0;) {
			ssize_t out = splice(ends[0], NULL, agent->fd, NULL, (size_t)in, 0);

			if (out < 0)
				fail("splice");
			in -= out;
		}
	}
	close(ends[0]);
	close(ends[1]);
}

static void receive(const struct agent *agent)
{
	static char buffer[65536];
	size_t at = 0;
	ssize_t got;

	if (shutdown(agent->fd, SHUT_WR))
		fail("shutdown");
	while ((got = recv(agent->fd, buffer, sizeof(buffer), 0)) > 0) {
		if (at + (size_t)got > agent->len ||
		    memcmp(buffer, agent->data + at, (size_t)got)) {
			fprintf(stderr, "other bytes came back near offset %zu\n", at);
			exit(1);
		}
		at += (size_t)got;
	}
	if (got < 0)
		fail("recv");
	if (at != agent->len) {
		fprintf(stderr, "%zu of %zu bytes came back\n", at, agent->len);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	struct agent agent = {.fd = -1};
	const char *way = argv[1];
	struct stat status;

	if (argc != 4)
		return 2;
	agent.peer = (struct sockaddr_in){.sin_family = AF_INET,
					  .sin_port = htons((uint16_t)atoi(argv[2])),
					  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	agent.file = open(argv[3], O_RDONLY | O_CLOEXEC);
	if (agent.file < 0 || fstat(agent.file, &status))
		fail(argv[3]);
	agent.len = (size_t)status.st_size;
	agent.data = mmap(NULL, agent.len, PROT_READ, MAP_PRIVATE, agent.file, 0);
	if (agent.data == MAP_FAILED)
		fail("mmap");

	if (!strcmp(way, "fastopen")) {
		send_plain(&agent, open_fast(&agent));
	} else if (!strcmp(way, "nonblocking")) {
		open_nonblocking(&agent);
		send_plain(&agent, 0);
	} else {
		open_blocking(&agent);
		if (!strcmp(way, "vectors"))
			send_vectors(&agent);
		else if (!strcmp(way, "sendfile"))
			send_file(&agent);
		else if (!strcmp(way, "zerocopy"))
			send_zero_copy(&agent);
		else if (!strcmp(way, "splice"))
			send_spliced(&agent);
		else
			send_plain(&agent, 0);
	}
	receive(&agent);
	return 0;
}
