/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/handover_wire.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "core/pipeline.h"
#include "sluice/abi.h"
#include "sys/fd.h"

/* Of a body; where min is less than max, whatever is between. */
static const struct {
	size_t min, max;
} lengths[] = {
	[HANDOVER_HELLO] = {sizeof(struct handover_hello), sizeof(struct handover_hello)},
	[HANDOVER_WELCOME] = {sizeof(struct handover_welcome), sizeof(struct handover_welcome)},
	[HANDOVER_PREPARED] = {sizeof(struct handover_prepared), sizeof(struct handover_prepared)},
	[HANDOVER_LISTENERS] = {sizeof(struct handover_listeners),
				sizeof(struct handover_listeners)},
	[HANDOVER_POLICY] = {sizeof(struct handover_policy), sizeof(struct handover_policy)},
	[HANDOVER_STREAM] = {sizeof(struct handover_stream), sizeof(struct handover_stream)},
	[HANDOVER_BYTES] = {1, HANDOVER_BODY_MAX},
	[HANDOVER_RUN] = {sizeof(struct handover_run), sizeof(struct handover_run)},
	[HANDOVER_END] = {0, 0},
	[HANDOVER_READY] = {0, 0},
	[HANDOVER_COMMIT] = {sizeof(struct handover_commit), sizeof(struct handover_commit)},
	[HANDOVER_REFUSED] = {1, HANDOVER_LINE_MAX},
};
_Static_assert(ARRAY_SIZE(lengths) == _HANDOVER_TYPE_MAX, "every type has a length");

void handover_message_done(struct handover_message *message)
{
	while (message->fd_count)
		fd_close(message->fds[--message->fd_count]);
}

int handover_set_patience(int fd, uint64_t ms)
{
	const struct timeval limit = {.tv_sec = (time_t)(ms / 1000),
				      .tv_usec = (suseconds_t)(ms % 1000 * 1000)};

	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)))
		return -errno;
	return 0;
}

int handover_send(int fd, enum handover_type type, const void *body, size_t len, const int *fds,
		  size_t fd_count)
{
	struct handover_head head = {HANDOVER_MAGIC, HANDOVER_VERSION, (uint16_t)type,
				     (uint32_t)len, 0};
	struct iovec pieces[] = {{&head, sizeof(head)}, {(void *)body, len}};
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(HANDOVER_FDS_MAX * sizeof(int))] = {0};
	struct msghdr message = {.msg_iov = pieces, .msg_iovlen = len ? 2 : 1};
	struct cmsghdr *header;
	ssize_t n;

	if (fd_count) {
		message.msg_control = control;
		message.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
		header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
		(void)memcpy(CMSG_DATA(header), fds, fd_count * sizeof(int));
	}
	do
		n = sendmsg(fd, &message, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? -ETIMEDOUT : -errno;
	return (size_t)n == sizeof(head) + len ? 0 : -EMSGSIZE;
}

static void take_fds(struct msghdr *header, struct handover_message *message)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c; c = CMSG_NXTHDR(header, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		message->fd_count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		(void)memcpy(message->fds, CMSG_DATA(c), message->fd_count * sizeof(int));
	}
}

static bool is_whole(const struct handover_head *head, size_t len)
{
	return len >= sizeof(*head) && head->magic == HANDOVER_MAGIC &&
	       head->version == HANDOVER_VERSION && head->type >= HANDOVER_HELLO &&
	       head->type < _HANDOVER_TYPE_MAX && head->len == len - sizeof(*head) &&
	       head->len >= lengths[head->type].min && head->len <= lengths[head->type].max;
}

static ssize_t receive(int fd, struct msghdr *header)
{
	ssize_t n;

	do
		n = recvmsg(fd, header, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	return n;
}

int handover_receive(int fd, struct handover_message *ret_message)
{
	struct handover_message *message = ret_message;
	struct handover_head head = {0};
	struct iovec pieces[] = {{&head, sizeof(head)}, {message->bytes, sizeof(message->bytes)}};
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(HANDOVER_FDS_MAX * sizeof(int))];
	struct msghdr header = {.msg_iov = pieces,
				.msg_iovlen = ARRAY_SIZE(pieces),
				.msg_control = control,
				.msg_controllen = sizeof(control)};
	ssize_t n;

	message->fd_count = 0;
	n = receive(fd, &header);
	/* Whoever ends with our last message unread is told of before theirs, and only once. */
	if (n < 0 && errno == ECONNRESET)
		n = receive(fd, &header);
	if (n < 0)
		return errno == EAGAIN ? -ETIMEDOUT : -errno;
	take_fds(&header, message);
	message->type = (enum handover_type)head.type;
	message->len = head.len;
	if (n > 0 && !(header.msg_flags & (MSG_CTRUNC | MSG_TRUNC)) && is_whole(&head, (size_t)n))
		return 0;
	handover_message_done(message);
	if (!n)
		return -ECONNRESET;
	return header.msg_flags & MSG_CTRUNC ? -EMFILE : -EPROTO;
}

int handover_expect(int fd, enum handover_type type, struct handover_message *ret_message)
{
	int r = handover_receive(fd, ret_message);

	if (r || ret_message->type == type)
		return r;
	handover_message_done(ret_message);
	if (ret_message->type != HANDOVER_REFUSED)
		return -EPROTO;
	ret_message->line[MIN(ret_message->len, HANDOVER_LINE_MAX - 1)] = '\0';
	return -EREMOTEIO;
}

static bool is_text(const char *text, size_t size)
{
	return memchr(text, '\0', size) != NULL;
}

static bool flow_is_sane(const struct handover_flow *flow)
{
	return flow->sent <= flow->released && flow->released == flow->framed &&
	       flow->framed <= flow->received && flow->received <= SLUICE_OFFSET_MAX &&
	       flow->released_runes <= flow->runes && flow->ended <= 1 &&
	       flow->shut <= flow->ended && is_text(flow->hash, sizeof(flow->hash)) &&
	       !flow->hash[0] == (flow->framed == flow->received);
}

bool handover_stream_is_sane(const struct handover_stream *stream)
{
	return stream->identified <= 1 && stream->connecting <= 1 && stream->unjudged <= 1 &&
	       stream->over_quota <= 1 && stream->framing < _FRAMING_MAX &&
	       stream->told >= stream->next && stream->told - stream->next <= 1 &&
	       is_text(stream->policy, sizeof(stream->policy)) &&
	       flow_is_sane(&stream->flows[SESSION_REQUEST]) &&
	       flow_is_sane(&stream->flows[SESSION_RESPONSE]);
}
