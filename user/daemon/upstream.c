/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/upstream.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/address.h"
#include "daemon/daemon.h"
#include "daemon/reason.h"
#include "daemon/stream.h"
#include "kern/kern.h"
#include "sys/fd.h"

/* An IPv4 destination is an IPv4 connection, whatever family the agent's socket spoke. */
static socklen_t to_sockaddr(const struct sluice_address *from, struct sockaddr_storage *ret_to)
{
	*ret_to = (struct sockaddr_storage){0};
	if (address_is_v4(from->addr)) {
		struct sockaddr_in *v4 = (struct sockaddr_in *)ret_to;

		v4->sin_family = AF_INET;
		v4->sin_port = htons(from->port);
		(void)memcpy(&v4->sin_addr, from->addr + ADDRESS_V4_AT, sizeof(v4->sin_addr));
		return sizeof(*v4);
	}
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret_to;

	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons(from->port);
	(void)memcpy(&v6->sin6_addr, from->addr, sizeof(v6->sin6_addr));
	return sizeof(*v6);
}

static void from_sockaddr(const struct sockaddr_storage *from, struct sluice_address *ret_to)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)from;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)from;

	*ret_to = (struct sluice_address){.family = from->ss_family};
	if (from->ss_family == AF_INET) {
		address_from_v4(ret_to->addr, &v4->sin_addr);
		ret_to->port = ntohs(v4->sin_port);
	} else {
		(void)memcpy(ret_to->addr, &v6->sin6_addr, sizeof(v6->sin6_addr));
		ret_to->port = ntohs(v6->sin6_port);
	}
}

static enum reason reason_of(int err)
{
	switch (-err) {
	case ECONNREFUSED:
		return REASON_UPSTREAM_REFUSED;
	case ETIMEDOUT:
		return REASON_UPSTREAM_TIMEOUT;
	case EMFILE:
	case ENFILE:
		return REASON_STREAM_LIMIT;
	case ENOMEM:
	case ENOBUFS:
		return REASON_OUT_OF_MEMORY;
	default:
		return REASON_UPSTREAM_UNREACHABLE;
	}
}

/* So that the agent's getsockname() answers what its peer sees. */
static int publish_local(struct stream *stream, int fd)
{
	struct sockaddr_storage local;
	struct sluice_address address;
	socklen_t len = sizeof(local);

	if (getsockname(fd, (struct sockaddr *)&local, &len))
		return -errno;
	from_sockaddr(&local, &address);
	return kern_upstream_set(stream->daemon->kern, stream->origin.stream, &address);
}

static int begin(struct stream *stream, enum reason *reason)
{
	const struct flow *request = &stream->flows[SESSION_REQUEST];
	int fd cleanup(fd_closep) = -1;
	struct sockaddr_storage address;
	socklen_t len = to_sockaddr(&stream->origin.peer, &address);
	int r;

	fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0) {
		*reason = reason_of(-errno);
		return -errno;
	}
	*reason = REASON_INTERNAL;
	r = endpoint_set_options(fd)
		    ?: kern_mark_data(stream->daemon->kern, fd, request->slot, request->generation,
				      stream_is_relayed(stream), stream->origin.stream);
	if (r)
		return r;
	if (connect(fd, (struct sockaddr *)&address, len) && errno != EINPROGRESS) {
		r = -errno;
		*reason = reason_of(r);
		return r;
	}
	r = publish_local(stream, fd) ?: endpoint_open(&stream->peer, stream->daemon->base, fd);
	if (!r)
		fd = -1; /* the endpoint has it */
	return r;
}

void upstream_connect(struct stream *stream)
{
	enum reason reason = REASON_INTERNAL;

	if (begin(stream, &reason))
		stream_fail(stream, NULL, reason_name(reason));
}

void upstream_answered(struct stream *stream)
{
	int r = endpoint_error(&stream->peer);

	if (r)
		stream_fail(stream, NULL, reason_name(reason_of(r)));
	else
		stream_open(stream);
}
