/* SPDX-License-Identifier: Apache-2.0 */
/* Capture: where connects go, and what the socket then says of itself. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "bpf/harness.h"

static const uint8_t v4_9[16] = {[10] = 0xff, [11] = 0xff, 203, 0, 113, 9};

static struct sluice_origin origin_of(struct harness *harness, const struct steered *steered)
{
	struct sluice_origin origin;

	assert_int_equal(kern_accepted_origin(harness->kern, steered->accepted, &origin), 0);
	return origin;
}

static void check_captured(struct harness *harness, int family, const char *text,
			   const char *want_peer)
{
	struct steered steered;
	struct sluice_origin origin;
	char peer[64];

	steered_open(harness, &steered, family, text, 443);
	origin = origin_of(harness, &steered);
	assert_true(origin.stream != 0);
	assert_int_equal(origin.cgroup, harness->watch);
	assert_int_equal(origin.policy, HARNESS_POLICY);
	assert_int_equal(origin.peer.port, 443);
	assert_int_equal(origin.peer.family, family);
	assert_int_equal(origin.pid, getpid());
	address_text(steered.agent, true, peer, sizeof(peer));
	assert_string_equal(peer, want_peer);
	assert_int_equal(send(steered.agent, "hello", 5, 0), 5);
	assert_reads(steered.accepted, "hello", 5);
	steered_close(&steered);
}

static void test_ipv4_is_steered(void **state)
{
	struct harness *harness = *state;
	struct steered steered;

	check_captured(harness, AF_INET, "203.0.113.9", "[203.0.113.9]:443");
	steered_open(harness, &steered, AF_INET, "203.0.113.9", 80);
	assert_memory_equal(origin_of(harness, &steered).peer.addr, v4_9, 16);
	steered_close(&steered);
}

static void test_ipv6_is_steered(void **state)
{
	check_captured(*state, AF_INET6, "2001:db8::7", "[2001:db8::7]:443");
}

static void test_v4_mapped_is_steered(void **state)
{
	check_captured(*state, AF_INET6, "::ffff:203.0.113.9", "[::ffff:203.0.113.9]:443");
}

/* A socket that is connected again answers for where it is now, not for where it was. */
static void test_origin_is_new_on_every_connect(void **state)
{
	struct harness *harness = *state;
	struct sockaddr nowhere = {.sa_family = AF_UNSPEC};
	struct steered steered;
	uint64_t first;
	char peer[64];

	steered_open(harness, &steered, AF_INET, "198.51.100.7", 80);
	first = origin_of(harness, &steered).stream;
	(void)close(steered.accepted);
	assert_int_equal(connect(steered.agent, &nowhere, sizeof(nowhere)), 0);
	assert_int_equal(socket_connect(steered.agent, "203.0.113.9", 443), 0);
	steered.accepted = socket_accept(harness->listener[0]);
	assert_memory_equal(origin_of(harness, &steered).peer.addr, v4_9, 16);
	assert_int_equal(origin_of(harness, &steered).peer.port, 443);
	assert_true(origin_of(harness, &steered).stream > first);
	address_text(steered.agent, true, peer, sizeof(peer));
	assert_string_equal(peer, "[203.0.113.9]:443");
	steered_close(&steered);
}

static void connect_bound(struct harness *harness, struct steered *steered, int family,
			  const char *local, uint16_t port, const char *text, uint16_t to,
			  bool later)
{
	struct sockaddr_storage address;
	socklen_t len = address_make(&address, family, local, port);
	int one = 1;

	steered->agent = helper_socket(&harness->agent, family,
				       SOCK_STREAM | (later ? SOCK_NONBLOCK : 0), 0);
	assert_int_equal(setsockopt(steered->agent, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)),
			 0);
	assert_int_equal(bind(steered->agent, (struct sockaddr *)&address, len), 0);
	assert_int_equal(socket_connect(steered->agent, text, to), later ? -EINPROGRESS : 0);
}

static int count_keys(int map)
{
	struct sluice_origin_key key, next;
	int count = 0, r;

	for (r = bpf_map_get_next_key(map, NULL, &next); r == 0;
	     r = bpf_map_get_next_key(map, &key, &next)) {
		key = next;
		count++;
	}
	return count;
}

static void hold_handshakes(bool held)
{
	if (held && system("nft add table ip t && nft add table ip6 t && "
			   "nft add chain ip t i '{ type filter hook input priority 0; }' && "
			   "nft add chain ip6 t i '{ type filter hook input priority 0; }'"))
		skip(); /* no nft here */
	if (held)
		assert_int_equal(system("nft add rule ip t i tcp dport 1008 drop && "
					"nft add rule ip6 t i tcp dport 1008 drop"),
				 0);
	else
		assert_int_equal(system("nft delete table ip t && nft delete table ip6 t"), 0);
}

/* Sockets may have the same port, at another address or of the other family, at the same time. */
static void test_same_port_at_other_addresses(void **state)
{
	static const struct {
		int family;
		const char *local, *to;
	} agents[] = {
		{AF_INET, "127.0.0.1", "203.0.113.1"},
		{AF_INET, "127.0.0.2", "203.0.113.2"},
		{AF_INET6, "::1", "2001:db8::3"},
	};
	struct harness *harness = *state;
	struct steered steered[ARRAY_SIZE(agents)];
	int origins = harness_map(harness, "origins");
	size_t i;

	hold_handshakes(true);
	for (i = 0; i < ARRAY_SIZE(agents); i++)
		connect_bound(harness, &steered[i], agents[i].family, agents[i].local, 45678,
			      agents[i].to, (uint16_t)(1 + i), true);
	assert_int_equal(count_keys(origins), ARRAY_SIZE(agents));
	hold_handshakes(false);
	(void)usleep(1100000); /* the SYNs are sent again after a second */
	for (i = 0; i < ARRAY_SIZE(agents); i++) {
		char local[64], want[64];

		steered[i].accepted = socket_accept(harness->listener[i == 2]);
		assert_true(steered[i].accepted >= 0);
		/* Which of them it is says the far end. */
		address_text(steered[i].accepted, true, local, sizeof(local));
		(void)snprintf(want, sizeof(want), "[%s]:45678",
			       agents[origin_of(harness, &steered[i]).peer.port - 1].local);
		assert_string_equal(local, want);
	}
	for (i = 0; i < ARRAY_SIZE(agents); i++)
		steered_close(&steered[i]);
	(void)close(origins);
}

/* Reset, and the port used again, before the daemon accepts: each keeps its own origin. */
static void test_port_reused_before_accept(void **state)
{
	struct harness *harness = *state;
	const struct linger reset = {.l_onoff = 1};
	struct steered first, second;

	connect_bound(harness, &first, AF_INET, "127.0.0.1", 45679, "203.0.113.1", 1, false);
	assert_int_equal(send(first.agent, "one", 3, 0), 3);
	(void)setsockopt(first.agent, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	(void)close(first.agent);
	connect_bound(harness, &second, AF_INET, "127.0.0.1", 45679, "203.0.113.2", 2, false);
	assert_int_equal(send(second.agent, "two", 3, 0), 3);
	first.accepted = socket_accept(harness->listener[0]);
	second.accepted = socket_accept(harness->listener[0]);
	assert_int_equal(origin_of(harness, &first).peer.port, 1);
	assert_int_equal(origin_of(harness, &second).peer.port, 2);
	assert_reads(second.accepted, "two", 3);
	(void)close(first.accepted);
	steered_close(&second);
}

static void test_origin_is_retracted_when_no_one_takes_it(void **state)
{
	struct harness *harness = *state;
	int origins = harness_map(harness, "origins");
	struct steered steered;
	int fd, i;

	hold_handshakes(true);
	assert_int_equal(count_keys(origins), 0);
	fd = helper_socket(&harness->agent, AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	assert_int_equal(socket_connect(fd, "203.0.113.1", 80), -EINPROGRESS);
	assert_int_equal(count_keys(origins), 1);
	(void)close(fd);
	/* The agent's process may still have its own descriptor of it. */
	for (i = 0; i < 1000 && count_keys(origins); i++)
		(void)usleep(1000);
	assert_int_equal(count_keys(origins), 0);
	hold_handshakes(false);
	/* And what was taken is gone at once. */
	steered_open(harness, &steered, AF_INET, "203.0.113.1", 80);
	assert_int_equal(count_keys(origins), 0);
	steered_close(&steered);
	(void)close(origins);
}

static void test_connection_without_origin_is_told_apart(void **state)
{
	struct harness *harness = *state;
	struct sluice_origin origin = {.stream = 7};
	struct steered steered;

	steered.agent = helper_socket(&harness->outside, AF_INET, SOCK_STREAM, 0);
	assert_int_equal(socket_connect(steered.agent, "127.0.0.1", HARNESS_PORT), 0);
	steered.accepted = socket_accept(harness->listener[0]);
	assert_int_equal(kern_accepted_origin(harness->kern, steered.accepted, &origin), -ENOENT);
	assert_int_equal(origin.stream, 7);
	assert_int_equal(harness_counter(harness, SLUICE_COUNT_ORIGIN_LOST), 1);
	steered_close(&steered);
}

static void test_getsockname_answers_with_the_upstream(void **state)
{
	struct harness *harness = *state;
	struct sluice_address local = {.port = 5555, .family = AF_INET};
	struct sockaddr nowhere = {.sa_family = AF_UNSPEC};
	struct steered steered;
	char own[64], text[64];
	uint64_t stream;

	memcpy(local.addr, v4_9, 16);
	steered_open(harness, &steered, AF_INET, "203.0.113.1", 80);
	stream = origin_of(harness, &steered).stream;
	address_text(steered.agent, false, own, sizeof(own));
	assert_int_equal(strncmp(own, "[127.0.0.1]:", 12), 0);
	assert_int_equal(kern_upstream_set(harness->kern, stream, &local), 0);
	address_text(steered.agent, false, text, sizeof(text));
	assert_string_equal(text, "[203.0.113.9]:5555");
	kern_upstream_clear(harness->kern, stream);
	address_text(steered.agent, false, text, sizeof(text));
	assert_string_equal(text, own);
	/* Disconnected it has no upstream, whatever the daemon still says. */
	assert_int_equal(kern_upstream_set(harness->kern, stream, &local), 0);
	assert_int_equal(connect(steered.agent, &nowhere, sizeof(nowhere)), 0);
	address_text(steered.agent, false, text, sizeof(text));
	assert_string_not_equal(text, "[203.0.113.9]:5555");
	steered_close(&steered);

	steered_open(harness, &steered, AF_INET6, "::ffff:203.0.113.1", 80);
	assert_int_equal(
		kern_upstream_set(harness->kern, origin_of(harness, &steered).stream, &local), 0);
	address_text(steered.agent, false, text, sizeof(text));
	assert_string_equal(text, "[::ffff:203.0.113.9]:5555");
	steered_close(&steered);
}

struct seen {
	unsigned int marked, established, refused;
	struct sluice_origin origin;
};

/* The same, and what the way to the daemon added. */
static void assert_arrived(const struct sluice_origin *arrived, const struct sluice_origin *marked)
{
	struct sluice_origin expected = *marked;

	assert_int_equal(marked->reach, SLUICE_REACH_NONE);
	assert_int_equal(arrived->reach, SLUICE_REACH_DAEMON);
	expected.reach = arrived->reach;
	assert_memory_equal(arrived, &expected, sizeof(expected));
}

static void see(void *context, const struct sluice_event *event)
{
	struct seen *seen = context;

	if (event->type == SLUICE_EVENT_MARKED) {
		seen->marked++;
		seen->origin = event->origin;
		assert_int_equal(event->stream, event->origin.stream);
	} else if (event->type == SLUICE_EVENT_ESTABLISHED) {
		seen->established++;
		assert_arrived(&event->origin, &seen->origin);
	} else if (event->type == SLUICE_EVENT_REFUSED) {
		seen->refused++;
		assert_int_equal(event->value, SLUICE_COUNT_REFUSED_LISTENER_PORT);
		seen->origin = event->origin;
	}
}

static void test_marks_are_told(void **state)
{
	struct harness *harness = *state;
	struct steered steered;
	struct seen seen = {0};
	int i;

	steered_open(harness, &steered, AF_INET, "203.0.113.9", 80);
	assert_true(kern_events_consume(harness->kern, see, &seen) >= 2);
	assert_int_equal(seen.marked, 1);
	assert_int_equal(seen.established, 1);
	assert_memory_equal(seen.origin.peer.addr, v4_9, 16);
	assert_int_equal(seen.origin.uid, 0);
	assert_true(seen.origin.comm[0] != '\0');
	steered_close(&steered);
	/* Refusals of one kind: the first in a second, and so two where a second ends meanwhile. */
	for (i = 0; i < 20; i++)
		assert_int_equal(harness_connect(harness, AF_INET, "127.0.0.1", HARNESS_PORT),
				 -EPERM);
	(void)kern_events_consume(harness->kern, see, &seen);
	assert_true(seen.refused == 1 || seen.refused == 2);
	assert_int_equal(seen.origin.cgroup, harness->watch);
	assert_int_equal(seen.origin.peer.port, HARNESS_PORT);
	assert_int_equal(seen.origin.pid, getpid());
}

static void data_with_the_handshake(struct harness *harness)
{
	struct sockaddr_storage address;
	socklen_t len = address_make(&address, AF_INET, "203.0.113.9", 80);
	struct steered steered;

	steered.agent = helper_socket(&harness->agent, AF_INET, SOCK_STREAM, 0);
	assert_int_equal(
		sendto(steered.agent, "hello", 5, MSG_FASTOPEN, (struct sockaddr *)&address, len),
		5);
	steered.accepted = socket_accept(harness->listener[0]);
	assert_int_equal(origin_of(harness, &steered).peer.port, 80);
	assert_reads(steered.accepted, "hello", 5);
	steered_close(&steered);
}

static void test_fast_open_is_captured(void **state)
{
	struct harness *harness = *state;
	struct steered steered;
	int one = 1;

	harness_sysctl("net/ipv4/tcp_fastopen", "1");
	data_with_the_handshake(harness);

	steered.agent = helper_socket(&harness->agent, AF_INET, SOCK_STREAM, 0);
	assert_int_equal(
		setsockopt(steered.agent, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &one, sizeof(one)), 0);
	assert_int_equal(socket_connect(steered.agent, "203.0.113.9", 81), 0);
	assert_int_equal(send(steered.agent, "hello", 5, 0), 5);
	steered.accepted = socket_accept(harness->listener[0]);
	assert_int_equal(origin_of(harness, &steered).peer.port, 81);
	steered_close(&steered);
}

static void test_syn_cookies_keep_the_origin(void **state)
{
	struct harness *harness = *state;

	harness_sysctl("net/ipv4/tcp_syncookies", "2");
	check_captured(harness, AF_INET, "203.0.113.9", "[203.0.113.9]:443");
	check_captured(harness, AF_INET6, "2001:db8::7", "[2001:db8::7]:443");
}

/* The daemon's side knows of the connection only with what the agent sends, data included. */
static void test_data_with_the_handshake_under_syn_cookies(void **state)
{
	struct harness *harness = *state;

	harness_sysctl("net/ipv4/tcp_syncookies", "2");
	data_with_the_handshake(harness);
}

struct child {
	char cgroup[300];
};

static void child_connects(void *context)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	(void)context;
	_exit(fd >= 0 && socket_connect(fd, "203.0.113.9", 80) == 0 ? 0 : 1);
}

/* Programs run for the cgroup they are attached to, whichever one below it a process is in. */
static void test_cgroups_below_are_captured(void **state)
{
	struct harness *harness = *state;
	struct steered steered = {.agent = -1};
	struct sluice_origin origin;
	struct child child;
	pid_t pid;

	(void)snprintf(child.cgroup, sizeof(child.cgroup), "%s/below", harness->agent_cgroup);
	assert_int_equal(mkdir(child.cgroup, 0755), 0);
	pid = harness_fork(child.cgroup, child_connects, NULL);
	steered.accepted = socket_accept(harness->listener[0]);
	assert_int_equal(harness_wait(pid), 0);
	assert_int_equal(rmdir(child.cgroup), 0);
	origin = origin_of(harness, &steered);
	assert_int_equal(origin.cgroup, harness->watch);
	assert_int_equal(origin.pid, pid);
	assert_int_equal(origin.policy, HARNESS_POLICY);
	(void)close(steered.accepted);
}

struct racer {
	int fd;
	const char *text;
	uint16_t port;
	int result;
};

static void *race_connect(void *context)
{
	struct racer *racer = context;

	racer->result = socket_connect(racer->fd, racer->text, racer->port);
	return NULL;
}

/* Two threads connect one socket: what it answers is what the daemon was told. */
static void test_racing_connects_agree(void **state)
{
	struct harness *harness = *state;
	int i;

	for (i = 0; i < 300; i++) {
		struct steered steered;
		struct racer racers[2] = {{0, "203.0.113.1", 1, 0}, {0, "203.0.113.2", 2, 0}};
		pthread_t thread;
		char want[64], peer[64];

		steered.agent = helper_socket(&harness->agent, AF_INET, SOCK_STREAM, 0);
		racers[0].fd = racers[1].fd = steered.agent;
		assert_int_equal(pthread_create(&thread, NULL, race_connect, &racers[0]), 0);
		(void)race_connect(&racers[1]);
		assert_int_equal(pthread_join(thread, NULL), 0);
		steered.accepted = socket_accept(harness->listener[0]);
		assert_true(steered.accepted >= 0);
		address_text(steered.agent, true, peer, sizeof(peer));
		(void)snprintf(want, sizeof(want), "[203.0.113.%u]:%u",
			       origin_of(harness, &steered).peer.port,
			       origin_of(harness, &steered).peer.port);
		assert_string_equal(peer, want);
		steered_close(&steered);
	}
}

#define CAPTURE_TEST(f) cmocka_unit_test_setup_teardown(f, harness_setup_watched, harness_teardown)

int main(void)
{
	const struct CMUnitTest capture[] = {
		CAPTURE_TEST(test_ipv4_is_steered),
		CAPTURE_TEST(test_ipv6_is_steered),
		CAPTURE_TEST(test_v4_mapped_is_steered),
		CAPTURE_TEST(test_origin_is_new_on_every_connect),
		CAPTURE_TEST(test_same_port_at_other_addresses),
		CAPTURE_TEST(test_port_reused_before_accept),
		CAPTURE_TEST(test_origin_is_retracted_when_no_one_takes_it),
		CAPTURE_TEST(test_connection_without_origin_is_told_apart),
		CAPTURE_TEST(test_getsockname_answers_with_the_upstream),
		CAPTURE_TEST(test_marks_are_told),
		CAPTURE_TEST(test_fast_open_is_captured),
		CAPTURE_TEST(test_syn_cookies_keep_the_origin),
		CAPTURE_TEST(test_data_with_the_handshake_under_syn_cookies),
		CAPTURE_TEST(test_cgroups_below_are_captured),
		CAPTURE_TEST(test_racing_connects_agree),
	};

	return harness_run(capture);
}
