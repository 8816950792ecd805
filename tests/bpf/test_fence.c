/* SPDX-License-Identifier: Apache-2.0 */
/* The fence: every way out of a watched cgroup but a captured stream. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bpf/harness.h"
#include "sys/clock.h"

#define AF_XDP_FAMILY	44
#define AF_VSOCK_FAMILY 40

struct socket_kind {
	int family, type, protocol;
};

/* The agent's is refused; that the kernel would make one is shown by another's. */
static void refused_at_creation(struct harness *harness, const struct socket_kind *kind)
{
	const uint64_t before = harness_counter(harness, SLUICE_COUNT_FENCE_SOCKET);
	int fd = helper_socket(&harness->outside, kind->family, kind->type, kind->protocol);

	if (fd < 0) {
		print_message("          no such socket on this kernel: %s\n", strerror(-fd));
		skip();
	}
	(void)close(fd);
	assert_int_equal(helper_socket(&harness->agent, kind->family, kind->type, kind->protocol),
			 -EPERM);
	assert_int_equal(harness_counter(harness, SLUICE_COUNT_FENCE_SOCKET), before + 1);
}

static void test_raw_sockets_are_refused(void **state)
{
	refused_at_creation(*state, &(struct socket_kind){AF_INET, SOCK_RAW, IPPROTO_ICMP});
	refused_at_creation(*state, &(struct socket_kind){AF_INET, SOCK_RAW, IPPROTO_TCP});
	refused_at_creation(*state, &(struct socket_kind){AF_INET, SOCK_RAW, IPPROTO_RAW});
	refused_at_creation(*state, &(struct socket_kind){AF_INET6, SOCK_RAW, IPPROTO_ICMPV6});
	refused_at_creation(*state, &(struct socket_kind){AF_INET6, SOCK_RAW, IPPROTO_UDP});
}

static void test_ping_sockets_are_refused(void **state)
{
	harness_sysctl("net/ipv4/ping_group_range", "0 2147483647");
	refused_at_creation(*state, &(struct socket_kind){AF_INET, SOCK_DGRAM, IPPROTO_ICMP});
	refused_at_creation(*state, &(struct socket_kind){AF_INET6, SOCK_DGRAM, IPPROTO_ICMPV6});
}

static void test_mptcp_sockets_are_refused(void **state)
{
	refused_at_creation(*state, &(struct socket_kind){AF_INET, SOCK_STREAM, IPPROTO_MPTCP});
	refused_at_creation(*state, &(struct socket_kind){AF_INET6, SOCK_STREAM, IPPROTO_MPTCP});
}

static void test_udplite_sockets_are_refused(void **state)
{
	refused_at_creation(*state, &(struct socket_kind){AF_INET, SOCK_DGRAM, IPPROTO_UDPLITE});
}

static void test_sctp_sockets_are_refused(void **state)
{
	refused_at_creation(*state, &(struct socket_kind){AF_INET, SOCK_STREAM, IPPROTO_SCTP});
	refused_at_creation(*state, &(struct socket_kind){AF_INET, SOCK_SEQPACKET, IPPROTO_SCTP});
}

/*
 * The hooks of a cgroup do not see these: what keeps an agent from them is
 * seccomp (run), a security module, or that it lacks CAP_NET_RAW (packet, XDP).
 */
static void test_families_that_no_cgroup_hook_sees(void **state)
{
	static const struct socket_kind kinds[] = {
		{AF_PACKET, SOCK_RAW, 0},	   {AF_XDP_FAMILY, SOCK_RAW, 0},
		{AF_VSOCK_FAMILY, SOCK_STREAM, 0}, {AF_NETLINK, SOCK_RAW, 0},
		{AF_UNIX, SOCK_STREAM, 0},
	};
	struct harness *harness = *state;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		int other = helper_socket(&harness->outside, kinds[i].family, kinds[i].type,
					  kinds[i].protocol);
		int agent = helper_socket(&harness->agent, kinds[i].family, kinds[i].type,
					  kinds[i].protocol);

		/* Both or neither: no hook made a difference. */
		assert_int_equal(other < 0 ? other : 0, agent < 0 ? agent : 0);
		(void)close(other);
		(void)close(agent);
	}
	assert_int_equal(harness_counter(harness, SLUICE_COUNT_FENCE_SOCKET), 0);
}

/* A UDP socket outside that listens at 127.0.0.N:53, or any port where it is 0. */
static int resolver_make(struct harness *harness, int family, const char *text, uint16_t port)
{
	struct sockaddr_storage address;
	socklen_t len = address_make(&address, family, text, port);
	int fd = helper_socket(&harness->outside, family, SOCK_DGRAM, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&address, len), 0);
	return fd;
}

static int agent_send(struct harness *harness, int family, const char *text, uint16_t port)
{
	struct sockaddr_storage address;
	socklen_t len = address_make(&address, family, text, port);
	int fd = helper_socket(&harness->agent, family, SOCK_DGRAM, 0), r;

	assert_true(fd >= 0);
	r = sendto(fd, "query", 5, 0, (struct sockaddr *)&address, len) < 0 ? -errno : 0;
	(void)close(fd);
	return r;
}

static int agent_send_connected(struct harness *harness, int family, const char *text,
				uint16_t port)
{
	int fd = helper_socket(&harness->agent, family, SOCK_DGRAM, 0), r;

	r = socket_connect(fd, text, port);
	if (r == 0 && send(fd, "query", 5, 0) < 0)
		r = -errno;
	(void)close(fd);
	return r;
}

static void set_resolvers(struct harness *harness)
{
	struct sluice_policy policy = {0};
	struct sockaddr_storage address;

	policy.resolvers[0].addr[10] = policy.resolvers[0].addr[11] = 0xff;
	memcpy(policy.resolvers[0].addr + 12, (const uint8_t[]){127, 0, 0, 53}, 4);
	policy.resolvers[0].family = AF_INET;
	(void)address_make(&address, AF_INET6, "::1", 0);
	memcpy(policy.resolvers[1].addr, &((struct sockaddr_in6 *)&address)->sin6_addr, 16);
	policy.resolvers[1].family = AF_INET6;
	assert_int_equal(kern_policy_set(harness->kern, HARNESS_POLICY, &policy, NULL, 0), 0);
}

static void test_udp_goes_to_resolvers_alone(void **state)
{
	struct harness *harness = *state;
	int good = resolver_make(harness, AF_INET, "127.0.0.53", 53);
	int good6 = resolver_make(harness, AF_INET6, "::1", 53);
	int other = resolver_make(harness, AF_INET, "127.0.0.54", 53);

	set_resolvers(harness);
	assert_int_equal(agent_send(harness, AF_INET, "127.0.0.53", 53), 0);
	assert_reads(good, "query", 5);
	assert_int_equal(agent_send_connected(harness, AF_INET, "127.0.0.53", 53), 0);
	assert_reads(good, "query", 5);
	assert_int_equal(agent_send(harness, AF_INET6, "::ffff:127.0.0.53", 53), 0);
	assert_reads(good, "query", 5);
	assert_int_equal(agent_send(harness, AF_INET6, "::1", 53), 0);
	assert_reads(good6, "query", 5);

	assert_int_equal(agent_send(harness, AF_INET, "127.0.0.54", 53), -EPERM);
	assert_int_equal(agent_send(harness, AF_INET, "127.0.0.53", 54), -EPERM);
	assert_int_equal(agent_send(harness, AF_INET6, "::ffff:127.0.0.54", 53), -EPERM);
	assert_int_equal(agent_send(harness, AF_INET6, "2001:db8::1", 53), -EPERM);
	assert_int_equal(agent_send(harness, AF_INET, "224.0.0.251", 5353), -EPERM);
	assert_int_equal(agent_send_connected(harness, AF_INET, "127.0.0.54", 53), -EPERM);
	assert_int_equal(agent_send_connected(harness, AF_INET6, "::1", 54), -EPERM);
	assert_silent(other);
	assert_int_equal(harness_counter(harness, SLUICE_COUNT_FENCE_UDP), 7);
	(void)close(good);
	(void)close(good6);
	(void)close(other);
}

static void rewatch(struct harness *harness, enum sluice_dns dns)
{
	assert_int_equal(kern_unwatch(harness->kern, harness->watch), 0);
	assert_int_equal(kern_watch(harness->kern, harness->agent_cgroup, HARNESS_POLICY, dns,
				    &harness->watch),
			 0);
}

static void test_udp_by_the_policys_dns(void **state)
{
	struct harness *harness = *state;
	int other = resolver_make(harness, AF_INET, "127.0.0.54", 53);

	set_resolvers(harness);
	rewatch(harness, SLUICE_DNS_ANY);
	assert_int_equal(agent_send(harness, AF_INET, "127.0.0.54", 53), 0);
	assert_reads(other, "query", 5);
	assert_int_equal(agent_send(harness, AF_INET, "127.0.0.54", 54), -EPERM);
	rewatch(harness, SLUICE_DNS_DENY);
	assert_int_equal(agent_send(harness, AF_INET, "127.0.0.53", 53), -EPERM);
	assert_int_equal(agent_send(harness, AF_INET, "127.0.0.54", 53), -EPERM);
	(void)close(other);
}

/* Sockets from before the watch were connected past the hooks: the packet is what counts. */
static void test_sockets_from_before_the_watch_send_nothing(void **state)
{
	struct harness *harness = *state;
	int udp = helper_socket(&harness->agent, AF_INET, SOCK_DGRAM, 0);
	int tcp = helper_socket(&harness->agent, AF_INET, SOCK_STREAM, 0);
	int raw = helper_socket(&harness->agent, AF_INET, SOCK_RAW, IPPROTO_ICMP);
	int sink = resolver_make(harness, AF_INET, "127.0.0.1", 0);
	struct sockaddr_storage address;
	socklen_t len = address_make(&address, AF_INET, "127.0.0.1", 0);
	const uint8_t echo[8] = {8, 0, 0xf7, 0xff};
	int listener, peer;
	uint16_t port;

	listener = socket_listen(&harness->outside, AF_INET, "127.0.0.1", &port);
	assert_int_equal(socket_connect(udp, "127.0.0.1", address_port(sink)), 0);
	assert_int_equal(socket_connect(tcp, "127.0.0.1", port), 0);
	peer = socket_accept(listener);
	assert_int_equal(send(udp, "a", 1, 0), 1);
	assert_reads(sink, "a", 1);
	assert_int_equal(send(tcp, "a", 1, 0), 1);
	assert_reads(peer, "a", 1);

	harness_watch(harness);
	assert_int_equal(send(udp, "a", 1, 0), -1);
	assert_int_equal(errno, EPERM);
	assert_silent(sink);
	assert_int_equal(send(tcp, "a", 1, 0), 1);
	assert_silent(peer);
	assert_int_equal(sendto(raw, echo, sizeof(echo), 0, (struct sockaddr *)&address, len), -1);
	assert_int_equal(errno, EPERM);
	/* Nor does anything reach them. */
	assert_int_equal(send(peer, "b", 1, 0), 1);
	assert_silent(tcp);
	assert_true(harness_counter(harness, SLUICE_COUNT_FENCE_UDP) > 0);
	assert_true(harness_counter(harness, SLUICE_COUNT_FENCE_TCP) > 0);
	assert_true(harness_counter(harness, SLUICE_COUNT_FENCE_PROTOCOL) > 0);
	(void)close(udp);
	(void)close(tcp);
	(void)close(raw);
	(void)close(sink);
	(void)close(peer);
	(void)close(listener);
}

/* With SYN cookies the kernel answers without a socket, past every egress hook. */
static void an_agent_that_listens_is_refused(struct harness *harness, int family, const char *text)
{
	const uint64_t before = harness_counter(harness, SLUICE_COUNT_FENCE_TCP);
	uint16_t port;
	int listener = socket_listen(&harness->agent, family, text, &port);
	int client = helper_socket(&harness->outside, family, SOCK_STREAM, 0);

	assert_int_equal(socket_connect(client, text, port), -EINPROGRESS);
	assert_int_equal(socket_accept(listener), -ETIMEDOUT);
	assert_true(harness_counter(harness, SLUICE_COUNT_FENCE_TCP) > before);
	(void)close(client);
	(void)close(listener);
}

static void test_an_agent_that_listens_is_refused(void **state)
{
	an_agent_that_listens_is_refused(*state, AF_INET, "127.0.0.1");
	an_agent_that_listens_is_refused(*state, AF_INET6, "::1");
	harness_sysctl("net/ipv4/tcp_syncookies", "2");
	an_agent_that_listens_is_refused(*state, AF_INET, "127.0.0.1");
	an_agent_that_listens_is_refused(*state, AF_INET6, "::1");
}

static void test_datagrams_do_not_reach_the_agent(void **state)
{
	struct harness *harness = *state;
	int agent = helper_socket(&harness->agent, AF_INET, SOCK_DGRAM, 0);
	int stranger = resolver_make(harness, AF_INET, "127.0.0.54", 53);
	int resolver = resolver_make(harness, AF_INET, "127.0.0.53", 53);
	struct sockaddr_storage address;
	socklen_t len = address_make(&address, AF_INET, "127.0.0.1", 0);

	set_resolvers(harness);
	assert_int_equal(bind(agent, (struct sockaddr *)&address, len), 0);
	assert_int_equal(socket_connect(stranger, "127.0.0.1", address_port(agent)), 0);
	assert_int_equal(socket_connect(resolver, "127.0.0.1", address_port(agent)), 0);
	(void)send(stranger, "do this", 7, 0);
	assert_silent(agent);
	assert_int_equal(send(resolver, "answer", 6, 0), 6);
	assert_reads(agent, "answer", 6);
	(void)close(agent);
	(void)close(stranger);
	(void)close(resolver);
}

/* The end of a steered connection is no way out, and must not be held up. */
static void test_steered_connections_close_and_reset(void **state)
{
	const struct linger reset = {.l_onoff = 1};
	struct harness *harness = *state;
	struct steered steered;

	steered_open(harness, &steered, AF_INET, "203.0.113.1", 80);
	assert_int_equal(shutdown(steered.agent, SHUT_WR), 0);
	assert_end(steered.accepted);
	(void)close(steered.accepted);
	assert_end(steered.agent);
	(void)close(steered.agent);

	steered_open(harness, &steered, AF_INET6, "2001:db8::1", 80);
	(void)setsockopt(steered.agent, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	(void)close(steered.agent);
	assert_reset(steered.accepted);
	(void)close(steered.accepted);
	assert_int_equal(harness_counter(harness, SLUICE_COUNT_FENCE_TCP), 0);
}

struct seen {
	unsigned int refused[_SLUICE_COUNTER_MAX];
};

static void see(void *context, const struct sluice_event *event)
{
	struct seen *seen = context;

	assert_int_equal(event->type, SLUICE_EVENT_REFUSED);
	assert_true(event->value < _SLUICE_COUNTER_MAX);
	seen->refused[event->value]++;
}

static void test_one_event_per_kind_and_second(void **state)
{
	struct harness *harness = *state;
	const uint64_t began = clock_boot_ns() / CLOCK_NS_PER_S;
	struct seen seen = {0};
	uint64_t seconds;
	int i;

	for (i = 0; i < 200; i++) {
		assert_int_equal(helper_socket(&harness->agent, AF_INET, SOCK_RAW, 1), -EPERM);
		assert_int_equal(agent_send(harness, AF_INET, "203.0.113.1", 9), -EPERM);
	}
	assert_int_equal(harness_counter(harness, SLUICE_COUNT_FENCE_SOCKET), 200);
	assert_int_equal(harness_counter(harness, SLUICE_COUNT_FENCE_UDP), 200);
	assert_true(kern_events_consume(harness->kern, see, &seen) > 0);
	/* One for each second that it took. */
	seconds = clock_boot_ns() / CLOCK_NS_PER_S - began + 1;
	assert_in_range(seen.refused[SLUICE_COUNT_FENCE_SOCKET], 1, seconds);
	assert_in_range(seen.refused[SLUICE_COUNT_FENCE_UDP], 1, seconds);
	(void)usleep(1100000);
	assert_int_equal(helper_socket(&harness->agent, AF_INET, SOCK_RAW, 1), -EPERM);
	seen = (struct seen){0};
	assert_int_equal(kern_events_consume(harness->kern, see, &seen), 1);
	assert_int_equal(seen.refused[SLUICE_COUNT_FENCE_SOCKET], 1);
}

/* Told once, counted all; and for a cgroup that is watched anew from the start. */
static void test_refusals_of_a_watched_cgroup(void **state)
{
	struct harness *harness = *state;
	uint64_t counts[_SLUICE_COUNTER_MAX], sum = 0;
	int i;

	assert_int_equal(kern_refusals(harness->kern, harness->watch, counts), 0);
	for (i = 0; i < _SLUICE_COUNTER_MAX; i++)
		assert_int_equal(counts[i], 0);
	for (i = 0; i < 200; i++)
		assert_int_equal(helper_socket(&harness->agent, AF_INET, SOCK_RAW, 1), -EPERM);
	for (i = 0; i < 3; i++)
		assert_int_equal(agent_send(harness, AF_INET, "203.0.113.1", 9), -EPERM);
	assert_int_equal(kern_refusals(harness->kern, harness->watch, counts), 0);
	assert_int_equal(counts[SLUICE_COUNT_FENCE_SOCKET], 200);
	assert_int_equal(counts[SLUICE_COUNT_FENCE_UDP], 3);
	for (i = 0; i < _SLUICE_COUNTER_MAX; i++)
		sum += counts[i];
	assert_int_equal(sum, 203);
	assert_int_equal(kern_refusals(harness->kern, harness->watch + 1, counts), 0);
	assert_int_equal(counts[SLUICE_COUNT_FENCE_SOCKET], 0);
	rewatch(harness, SLUICE_DNS_DENY);
	assert_int_equal(kern_refusals(harness->kern, harness->watch, counts), 0);
	assert_int_equal(counts[SLUICE_COUNT_FENCE_SOCKET], 0);
}

#define FENCE_TEST(f) cmocka_unit_test_setup_teardown(f, harness_setup_watched, harness_teardown)

int main(void)
{
	const struct CMUnitTest fence[] = {
		FENCE_TEST(test_raw_sockets_are_refused),
		FENCE_TEST(test_ping_sockets_are_refused),
		FENCE_TEST(test_mptcp_sockets_are_refused),
		FENCE_TEST(test_udplite_sockets_are_refused),
		FENCE_TEST(test_sctp_sockets_are_refused),
		FENCE_TEST(test_families_that_no_cgroup_hook_sees),
		FENCE_TEST(test_udp_goes_to_resolvers_alone),
		FENCE_TEST(test_udp_by_the_policys_dns),
		cmocka_unit_test_setup_teardown(test_sockets_from_before_the_watch_send_nothing,
						harness_setup_open, harness_teardown),
		FENCE_TEST(test_an_agent_that_listens_is_refused),
		FENCE_TEST(test_datagrams_do_not_reach_the_agent),
		FENCE_TEST(test_steered_connections_close_and_reset),
		FENCE_TEST(test_one_event_per_kind_and_second),
		FENCE_TEST(test_refusals_of_a_watched_cgroup),
	};

	return harness_run(fence);
}
