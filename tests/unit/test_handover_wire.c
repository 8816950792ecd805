/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of a handover: what is taken, what is not, and whose descriptors are left open. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/pipeline.h"
#include "daemon/handover_wire.h"

static int pair[2];
static struct handover_message message;

static int open_pair(void **state)
{
	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	assert_int_equal(handover_set_patience(pair[0], 200), 0);
	assert_int_equal(handover_set_patience(pair[1], 200), 0);
	return 0;
}

static int close_pair(void **state)
{
	(void)state;
	(void)close(pair[0]);
	(void)close(pair[1]);
	return 0;
}

/* The lowest number that is free: it stays where nothing was left open. */
static int next_fd(void)
{
	int fd = dup(0);

	(void)close(fd);
	return fd;
}

static void what_is_sent_arrives(void **state)
{
	const struct handover_hello hello = {.abi = 4, .wait_ms = 9, .instance = "main", .port = 7};
	const int fds[] = {0, 1, 2};
	int free_fd = next_fd();

	(void)state;
	assert_int_equal(handover_send(pair[0], HANDOVER_HELLO, &hello, sizeof(hello), fds, 3), 0);
	assert_int_equal(handover_receive(pair[1], &message), 0);
	assert_int_equal(message.type, HANDOVER_HELLO);
	assert_int_equal(message.len, sizeof(hello));
	assert_memory_equal(&message.hello, &hello, sizeof(hello));
	assert_int_equal(message.fd_count, 3);
	handover_message_done(&message);
	assert_int_equal(next_fd(), free_fd);
	assert_int_equal(handover_send(pair[0], HANDOVER_END, NULL, 0, NULL, 0), 0);
	assert_int_equal(handover_expect(pair[1], HANDOVER_END, &message), 0);
	assert_int_equal(message.fd_count, 0);
}

static void the_largest_body_fits(void **state)
{
	static uint8_t bytes[HANDOVER_BODY_MAX + 1];

	(void)state;
	memset(bytes, 'x', sizeof(bytes));
	assert_int_equal(handover_send(pair[0], HANDOVER_BYTES, bytes, HANDOVER_BODY_MAX, NULL, 0),
			 0);
	assert_int_equal(handover_receive(pair[1], &message), 0);
	assert_int_equal(message.len, HANDOVER_BODY_MAX);
	assert_memory_equal(message.bytes, bytes, HANDOVER_BODY_MAX);
	assert_int_equal(
		handover_send(pair[0], HANDOVER_BYTES, bytes, HANDOVER_BODY_MAX + 1, NULL, 0), 0);
	assert_int_equal(handover_receive(pair[1], &message), -EPROTO);
}

static void check_head(struct handover_head head, size_t body)
{
	uint8_t bytes[512] = {0};
	int free_fd = next_fd();

	memcpy(bytes, &head, sizeof(head));
	assert_int_equal(send(pair[0], bytes, sizeof(head) + body, 0), sizeof(head) + body);
	assert_int_equal(handover_receive(pair[1], &message), -EPROTO);
	assert_int_equal(next_fd(), free_fd);
}

static void what_is_no_message_is_refused(void **state)
{
	const struct handover_head good = {HANDOVER_MAGIC, HANDOVER_VERSION, HANDOVER_PREPARED, 8,
					   0};
	struct handover_head head;

	(void)state;
	assert_int_equal(send(pair[0], "x", 1, 0), 1);
	assert_int_equal(handover_receive(pair[1], &message), -EPROTO);
	head = good;
	head.magic++;
	check_head(head, 8);
	head = good;
	head.version++;
	check_head(head, 8);
	head = good;
	head.type = 0;
	check_head(head, 8);
	head = good;
	head.type = _HANDOVER_TYPE_MAX;
	check_head(head, 8);
	check_head(good, 7);
	check_head(good, 9);
	head = good;
	head.len = 7;
	check_head(head, 7);
	head.len = 9;
	check_head(head, 9);
}

static void the_end_and_silence_are_told(void **state)
{
	(void)state;
	assert_int_equal(handover_receive(pair[1], &message), -ETIMEDOUT);
	(void)close(pair[0]);
	assert_int_equal(handover_receive(pair[1], &message), -ECONNRESET);
	assert_int_equal(handover_send(pair[1], HANDOVER_END, NULL, 0, NULL, 0), -EPIPE);
}

static void a_refusal_has_its_line(void **state)
{
	static const char line[] = "no";
	char longest[HANDOVER_LINE_MAX];

	(void)state;
	assert_int_equal(handover_send(pair[0], HANDOVER_REFUSED, line, strlen(line), NULL, 0), 0);
	assert_int_equal(handover_expect(pair[1], HANDOVER_READY, &message), -EREMOTEIO);
	assert_string_equal(message.line, line);
	memset(longest, 'x', sizeof(longest));
	assert_int_equal(
		handover_send(pair[0], HANDOVER_REFUSED, longest, sizeof(longest), NULL, 0), 0);
	assert_int_equal(handover_expect(pair[1], HANDOVER_READY, &message), -EREMOTEIO);
	assert_int_equal(strlen(message.line), HANDOVER_LINE_MAX - 1);
	assert_int_equal(handover_send(pair[0], HANDOVER_END, NULL, 0, NULL, 0), 0);
	assert_int_equal(handover_expect(pair[1], HANDOVER_READY, &message), -EPROTO);
}

/* Without room for them none is left open, and the message is none. */
static void too_many_descriptors_are_refused(void **state)
{
	const int fds[] = {0, 1};
	struct rlimit before, now;
	int free_fd = next_fd();

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	now = before;
	now.rlim_cur = (rlim_t)free_fd + 1;
	assert_int_equal(handover_send(pair[0], HANDOVER_END, NULL, 0, fds, 2), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &now), 0);
	assert_int_equal(handover_receive(pair[1], &message), -EMFILE);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(next_fd(), free_fd);
}

static struct handover_stream a_stream(void)
{
	struct handover_stream stream = {
		.stream = 1, .next = 3, .told = 4, .framing = FRAMING_HTTP1};
	struct handover_flow *flow = &stream.flows[SESSION_REQUEST];

	strcpy(stream.policy, "digest");
	flow->received = 30;
	flow->released = flow->framed = 20;
	flow->sent = 10;
	flow->runes = flow->released_runes = 5;
	flow->ended = flow->shut = 1;
	strcpy(flow->hash, "hash");
	return stream;
}

#define REFUSED_WITH(change)                                                 \
	do {                                                                 \
		struct handover_stream stream = a_stream();                  \
		struct handover_flow *flow = &stream.flows[SESSION_REQUEST]; \
                                                                             \
		(void)flow;                                                  \
		change;                                                      \
		assert_false(handover_stream_is_sane(&stream));              \
	} while (0)

static void numbers_have_to_fit(void **state)
{
	struct handover_stream good = a_stream();

	(void)state;
	assert_true(handover_stream_is_sane(&good));
	good.next = 4;
	assert_true(handover_stream_is_sane(&good));
	REFUSED_WITH(flow->sent = 21);
	REFUSED_WITH(flow->released = 21);
	REFUSED_WITH(flow->released = 19);
	REFUSED_WITH(flow->received = 19);
	REFUSED_WITH(flow->received = 1ull << 60);
	REFUSED_WITH(flow->released_runes = 6);
	REFUSED_WITH(flow->ended = 2);
	REFUSED_WITH(flow->shut = 2);
	REFUSED_WITH(flow->ended = 0);
	REFUSED_WITH(flow->hash[0] = '\0');
	REFUSED_WITH(flow->received = 20);
	REFUSED_WITH(memset(flow->hash, 'x', sizeof(flow->hash)));
	REFUSED_WITH(memset(stream.policy, 'x', sizeof(stream.policy)));
	REFUSED_WITH(stream.identified = 2);
	REFUSED_WITH(stream.connecting = 2);
	REFUSED_WITH(stream.unjudged = 2);
	REFUSED_WITH(stream.over_quota = 2);
	REFUSED_WITH(stream.framing = _FRAMING_MAX);
	REFUSED_WITH(stream.next = 5);
	REFUSED_WITH(stream.next = 2);
	REFUSED_WITH(stream.flows[SESSION_RESPONSE].sent = 1);
}

/* Who was sent away before its own message was read has the line for it all the same. */
static void a_refusal_outlives_what_was_not_read(void **state)
{
	(void)state;
	assert_int_equal(handover_send(pair[1], HANDOVER_READY, NULL, 0, NULL, 0), 0);
	assert_int_equal(handover_send(pair[0], HANDOVER_REFUSED, "no", 2, NULL, 0), 0);
	(void)close(pair[0]);
	pair[0] = -1;
	assert_int_equal(handover_expect(pair[1], HANDOVER_WELCOME, &message), -EREMOTEIO);
	assert_string_equal(message.line, "no");
	assert_int_equal(handover_receive(pair[1], &message), -ECONNRESET);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_is_sent_arrives, open_pair, close_pair),
		cmocka_unit_test_setup_teardown(the_largest_body_fits, open_pair, close_pair),
		cmocka_unit_test_setup_teardown(what_is_no_message_is_refused, open_pair,
						close_pair),
		cmocka_unit_test_setup_teardown(the_end_and_silence_are_told, open_pair,
						close_pair),
		cmocka_unit_test_setup_teardown(a_refusal_has_its_line, open_pair, close_pair),
		cmocka_unit_test_setup_teardown(a_refusal_outlives_what_was_not_read, open_pair,
						close_pair),
		cmocka_unit_test_setup_teardown(too_many_descriptors_are_refused, open_pair,
						close_pair),
		cmocka_unit_test(numbers_have_to_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
