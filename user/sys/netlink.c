/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/netlink.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "sys/fd.h"

/* The kernel's dumps come in pieces of at most this. */
#define ANSWER_LEN 65536u

static int dump_end(const struct nlmsghdr *message)
{
	int r = 0;

	if (message->nlmsg_len >= NLMSG_LENGTH(sizeof(r)))
		(void)memcpy(&r, NLMSG_DATA(message), sizeof(r));
	return r;
}

/* 1: there is more to come. */
static int read_messages(const uint8_t *answer, size_t len, bool dump,
			 const struct netlink_reader *reader)
{
	const struct nlmsghdr *message = (const struct nlmsghdr *)answer;
	unsigned int left = (unsigned int)len;
	int r;

	for (; NLMSG_OK(message, left); message = NLMSG_NEXT(message, left)) {
		if (message->nlmsg_type == NLMSG_ERROR)
			return dump_end(message);
		if (message->nlmsg_type == NLMSG_DONE)
			return dump_end(message);
		if (message->nlmsg_flags & NLM_F_DUMP_INTR)
			return -EAGAIN;
		r = reader->message(reader->context, message);
		if (r || !dump)
			return r;
	}
	return left ? -EBADMSG : 1;
}

int netlink_ask(int protocol, const struct nlmsghdr *request, const struct netlink_reader *reader)
{
	uint8_t answer[ANSWER_LEN] __attribute__((aligned(NLMSG_ALIGNTO)));
	bool dump = (request->nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP;
	int fd cleanup(fd_closep) = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
	ssize_t got;
	int r = 1;

	if (fd < 0)
		return -errno;
	if (send(fd, request, request->nlmsg_len, 0) < 0)
		return -errno;
	while (r == 1) {
		got = recv(fd, answer, sizeof(answer), MSG_TRUNC);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if ((size_t)got > sizeof(answer))
			return -EMSGSIZE;
		r = got ? read_messages(answer, (size_t)got, dump, reader) : -EBADMSG;
	}
	return r;
}

int netlink_routes(int family, const struct netlink_reader *reader)
{
	const struct {
		struct nlmsghdr head;
		struct rtmsg route;
	} request = {
		.head = {.nlmsg_len = sizeof(request),
			 .nlmsg_type = RTM_GETROUTE,
			 .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
		.route = {.rtm_family = (unsigned char)family},
	};

	return netlink_ask(NETLINK_ROUTE, &request.head, reader);
}

struct netlink_span netlink_attributes(const struct nlmsghdr *message, size_t header)
{
	size_t skip = NLMSG_SPACE(header);

	if (message->nlmsg_len < skip)
		return (struct netlink_span){0};
	return (struct netlink_span){(const uint8_t *)message + skip, message->nlmsg_len - skip};
}

struct netlink_span netlink_nested(const struct netlink_attribute *attribute)
{
	return (struct netlink_span){attribute->data, attribute->len};
}

bool netlink_next(struct netlink_span *span, struct netlink_attribute *ret_attribute)
{
	struct nlattr head;
	size_t step;

	if (span->len < sizeof(head))
		return false;
	(void)memcpy(&head, span->data, sizeof(head));
	if (head.nla_len < sizeof(head) || head.nla_len > span->len)
		return false;
	*ret_attribute = (struct netlink_attribute){
		.type = (uint16_t)(head.nla_type & (uint16_t)NLA_TYPE_MASK),
		.data = span->data + sizeof(head),
		.len = head.nla_len - sizeof(head),
	};
	step = MIN((size_t)NLA_ALIGN(head.nla_len), span->len);
	span->data += step;
	span->len -= step;
	return true;
}

bool netlink_find(struct netlink_span span, uint16_t type, struct netlink_attribute *ret_attribute)
{
	struct netlink_attribute attribute;

	while (netlink_next(&span, &attribute)) {
		if (attribute.type == type) {
			*ret_attribute = attribute;
			return true;
		}
	}
	return false;
}

uint32_t netlink_u32(struct netlink_span span, uint16_t type, uint32_t other)
{
	struct netlink_attribute attribute;
	uint32_t value;

	if (!netlink_find(span, type, &attribute) || attribute.len < sizeof(value))
		return other;
	(void)memcpy(&value, attribute.data, sizeof(value));
	return value;
}

uint32_t netlink_be32(struct netlink_span span, uint16_t type, uint32_t other)
{
	return ntohl(netlink_u32(span, type, htonl(other)));
}

void netlink_text(struct netlink_span span, uint16_t type, char *text, size_t len)
{
	struct netlink_attribute attribute = {0};
	size_t take;

	if (!netlink_find(span, type, &attribute))
		attribute.len = 0;
	take = MIN(attribute.len, len - 1);
	if (take)
		(void)memcpy(text, attribute.data, take);
	text[take] = '\0';
}
