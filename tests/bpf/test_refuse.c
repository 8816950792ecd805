/* SPDX-License-Identifier: Apache-2.0 */
/* What capture refuses: by rule, for want of a listener, a route, an event or a policy. */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "bpf/harness.h"

/* Nobody's, below the ports that the kernel gives out. */
#define LOOPBACK_PORT 21987

static void test_own_listener_is_refused(void **state)
{
	struct harness *harness = *state;

	assert_int_equal(harness_connect(harness, AF_INET, "127.0.0.1", HARNESS_PORT), -EPERM);
	assert_int_equal(harness_connect(harness, AF_INET, "0.0.0.0", HARNESS_PORT), -EPERM);
	assert_int_equal(harness_connect(harness, AF_INET6, "::1", HARNESS_PORT), -EPERM);
	assert_int_equal(harness_connect(harness, AF_INET6, "::", HARNESS_PORT), -EPERM);
	assert_int_equal(harness_connect(harness, AF_INET6, "::ffff:127.0.0.1", HARNESS_PORT),
			 -EPERM);
	assert_int_equal(harness_counter(harness, SLUICE_COUNT_REFUSED_LISTENER_PORT), 5);
	/* Elsewhere it is a port as any other. */
	assert_int_equal(harness_connect(harness, AF_INET, "203.0.113.1", HARNESS_PORT), 0);
}

static struct sluice_rule rule(const char *text, uint8_t prefix, uint16_t port, uint8_t action)
{
	struct sluice_rule made = {.prefix_len = prefix, .port = port, .action = action};
	struct sockaddr_storage address;

	(void)address_make(&address, AF_INET6, text, 0);
	memcpy(made.addr, &((struct sockaddr_in6 *)&address)->sin6_addr, 16);
	return made;
}

static void test_first_matching_rule_decides(void **state)
{
	struct harness *harness = *state;
	struct sluice_policy policy = {
		.rules =
			{
				rule("::ffff:10.1.0.0", 96 + 16, 443, SLUICE_RULE_ALLOW),
				rule("::ffff:10.0.0.0", 96 + 8, 0, SLUICE_RULE_DENY),
				rule("2001:db8:8000::", 33, 0, SLUICE_RULE_DENY),
				rule("::ffff:127.0.0.0", 96 + 8, 0, SLUICE_RULE_DENY),
				rule("::", 0, 25, SLUICE_RULE_DENY),
				rule("::ffff:192.0.2.7", 128, 0, SLUICE_RULE_DENY),
			},
	};

	assert_int_equal(kern_policy_set(harness->kern, HARNESS_POLICY, &policy, NULL, 0), 0);
	assert_int_equal(harness_connect(harness, AF_INET, "10.1.2.3", 443), 0);
	assert_int_equal(harness_connect(harness, AF_INET, "10.1.2.3", 80), -EPERM);
	assert_int_equal(harness_connect(harness, AF_INET, "10.2.2.3", 443), -EPERM);
	assert_int_equal(harness_connect(harness, AF_INET6, "::ffff:10.2.2.3", 443), -EPERM);
	assert_int_equal(harness_connect(harness, AF_INET, "11.0.0.1", 443), 0);
	assert_int_equal(harness_connect(harness, AF_INET, "9.255.255.255", 443), 0);
	assert_int_equal(harness_connect(harness, AF_INET6, "2001:db8:8000::1", 443), -EPERM);
	assert_int_equal(harness_connect(harness, AF_INET6, "2001:db8:ffff::1", 443), -EPERM);
	assert_int_equal(harness_connect(harness, AF_INET6, "2001:db8:7fff::1", 443), 0);
	assert_int_equal(harness_connect(harness, AF_INET, "192.0.2.7", 443), -EPERM);
	assert_int_equal(harness_connect(harness, AF_INET, "192.0.2.6", 443), 0);
	assert_int_equal(harness_connect(harness, AF_INET, "192.0.2.6", 25), -EPERM);
	assert_int_equal(harness_connect(harness, AF_INET6, "2001:db8::1", 25), -EPERM);
	/* The unspecified address is another name of loopback. */
	assert_int_equal(harness_connect(harness, AF_INET, "127.0.0.1", 80), -EPERM);
	assert_int_equal(harness_connect(harness, AF_INET, "0.0.0.0", 80), -EPERM);
	assert_int_equal(harness_connect(harness, AF_INET6, "::ffff:0.0.0.0", 80), -EPERM);
	assert_int_equal(harness_connect(harness, AF_INET6, "::", 80), -ECONNREFUSED);
	assert_true(harness_counter(harness, SLUICE_COUNT_REFUSED_DENIED) >= 11);
	/* A cleared policy denies, and one of no rules does not. */
	kern_policy_clear(harness->kern, HARNESS_POLICY);
	assert_int_equal(harness_connect(harness, AF_INET, "11.0.0.1", 443), -EPERM);
	policy = (struct sluice_policy){0};
	assert_int_equal(kern_policy_set(harness->kern, HARNESS_POLICY, &policy, NULL, 0), 0);
	assert_int_equal(harness_connect(harness, AF_INET, "10.2.2.3", 443), 0);
}

static void test_the_last_rule_counts(void **state)
{
	struct harness *harness = *state;
	struct sluice_policy policy = {0};
	size_t i;

	for (i = 0; i < SLUICE_RULES_PER_POLICY - 1; i++)
		policy.rules[i] = rule("::ffff:192.0.2.1", 128, 1, SLUICE_RULE_DENY);
	policy.rules[i] = rule("::", 0, 0, SLUICE_RULE_DENY);
	assert_int_equal(kern_policy_set(harness->kern, HARNESS_POLICY, &policy, NULL, 0), 0);
	assert_int_equal(harness_connect(harness, AF_INET, "11.0.0.1", 443), -EPERM);
	assert_int_equal(kern_policy_set(harness->kern, 0, &policy, NULL, 0), -EINVAL);
	assert_int_equal(kern_policy_set(harness->kern, SLUICE_POLICIES, &policy, NULL, 0),
			 -EINVAL);
}

/* Without a daemon, or with someone else on its port, a connect goes nowhere. */
static void test_only_the_daemons_listener_is_steered_to(void **state)
{
	struct harness *harness = *state;
	struct sockaddr_storage address;
	socklen_t len = address_make(&address, AF_INET, "127.0.0.1", HARNESS_PORT);
	int squatter, unmarked, one = 1;

	(void)close(harness->listener[0]);
	harness->listener[0] = -1;
	assert_int_equal(harness_connect(harness, AF_INET, "203.0.113.1", 80), -ECONNREFUSED);
	assert_int_equal(harness_connect(harness, AF_INET6, "2001:db8::1", 80), 0);

	squatter = helper_socket(&harness->outside, AF_INET, SOCK_STREAM, 0);
	assert_int_equal(setsockopt(squatter, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)), 0);
	assert_int_equal(bind(squatter, (struct sockaddr *)&address, len), 0);
	assert_int_equal(listen(squatter, 1), 0);
	assert_int_equal(harness_connect(harness, AF_INET, "203.0.113.1", 80), -ECONNREFUSED);
	assert_int_equal(socket_accept(squatter), -ETIMEDOUT);
	(void)close(squatter);

	/* One of the daemon's own that it has not marked is no better. */
	unmarked = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(setsockopt(unmarked, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)), 0);
	assert_int_equal(bind(unmarked, (struct sockaddr *)&address, len), 0);
	assert_int_equal(listen(unmarked, 1), 0);
	assert_int_equal(harness_connect(harness, AF_INET, "203.0.113.1", 80), -ECONNREFUSED);
	(void)close(unmarked);
	assert_int_equal(harness_counter(harness, SLUICE_COUNT_REFUSED_NO_LISTENER), 3);
}

static void test_without_a_route_there_is_none(void **state)
{
	struct harness *harness = *state;

	assert_int_equal(kern_route_set(harness->kern, AF_INET6, false), 0);
	assert_int_equal(kern_route_set(harness->kern, AF_INET6, false), 0);
	assert_int_equal(harness_connect(harness, AF_INET6, "2001:db8::1", 80), -ENETUNREACH);
	assert_int_equal(harness_connect(harness, AF_INET6, "::ffff:203.0.113.1", 80), 0);
	assert_int_equal(harness_connect(harness, AF_INET, "203.0.113.1", 80), 0);
	assert_int_equal(kern_route_set(harness->kern, AF_INET, false), 0);
	assert_int_equal(harness_connect(harness, AF_INET, "203.0.113.1", 80), -ENETUNREACH);
	assert_int_equal(harness_counter(harness, SLUICE_COUNT_REFUSED_NO_ROUTE), 2);
}

static int listen_at(const char *text, uint16_t port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	assert_int_equal(inet_pton(AF_INET, text, &address.sin_addr), 1);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)), 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 1), 0);
	return fd;
}

/* A client that tries ::1 first has to learn that nobody is there. Routes play no part. */
static void test_on_the_loopback_somebody_has_to_listen(void **state)
{
	struct harness *harness = *state;
	int fd;

	assert_int_equal(kern_route_set(harness->kern, AF_INET, false), 0);
	assert_int_equal(kern_route_set(harness->kern, AF_INET6, false), 0);
	assert_int_equal(harness_connect(harness, AF_INET6, "::1", LOOPBACK_PORT), -ECONNREFUSED);
	assert_int_equal(harness_connect(harness, AF_INET, "127.0.0.1", LOOPBACK_PORT),
			 -ECONNREFUSED);
	fd = listen_at("127.0.0.1", LOOPBACK_PORT);
	assert_int_equal(harness_connect(harness, AF_INET6, "::1", LOOPBACK_PORT), -ECONNREFUSED);
	assert_int_equal(harness_connect(harness, AF_INET, "127.0.0.2", LOOPBACK_PORT),
			 -ECONNREFUSED);
	assert_int_equal(harness_connect(harness, AF_INET, "127.0.0.1", LOOPBACK_PORT), 0);
	assert_int_equal(harness_connect(harness, AF_INET, "0.0.0.0", LOOPBACK_PORT), 0);
	assert_int_equal(harness_connect(harness, AF_INET6, "::ffff:127.0.0.1", LOOPBACK_PORT), 0);
	(void)close(fd);
	assert_int_equal(harness_connect(harness, AF_INET, "127.0.0.1", LOOPBACK_PORT),
			 -ECONNREFUSED);
	assert_int_equal(harness_counter(harness, SLUICE_COUNT_REFUSED_NO_PEER), 5);
}

static int agent_bind(struct harness *harness, int family, const char *text, uint16_t port)
{
	struct sockaddr_storage address;
	socklen_t len = address_make(&address, family, text, port);
	int fd = helper_socket(&harness->agent, family, SOCK_STREAM, 0), one = 1, r;

	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	r = bind(fd, (struct sockaddr *)&address, len) < 0 ? -errno : 0;
	(void)close(fd);
	return r;
}

static void test_the_listeners_port_cannot_be_bound(void **state)
{
	struct harness *harness = *state;

	assert_int_equal(agent_bind(harness, AF_INET, "127.0.0.2", HARNESS_PORT), -EPERM);
	assert_int_equal(agent_bind(harness, AF_INET, "0.0.0.0", HARNESS_PORT), -EPERM);
	assert_int_equal(agent_bind(harness, AF_INET6, "::", HARNESS_PORT), -EPERM);
	assert_int_equal(agent_bind(harness, AF_INET, "127.0.0.1", HARNESS_PORT + 1), 0);
	assert_int_equal(agent_bind(harness, AF_INET6, "::1", 0), 0);
	assert_int_equal(harness_counter(harness, SLUICE_COUNT_REFUSED_BIND), 3);
}

static uint64_t milliseconds(void)
{
	struct timespec now;

	assert_int_equal(clock_gettime(CLOCK_BOOTTIME, &now), 0);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* One more connect of the same socket, without waiting for the handshake. */
static int connect_again(int fd)
{
	const struct sockaddr nowhere = {.sa_family = AF_UNSPEC};
	int r = socket_connect(fd, "203.0.113.9", 80);

	(void)connect(fd, &nowhere, sizeof(nowhere));
	return r == -EINPROGRESS ? 0 : r;
}

/* Connects until it is refused, other than with the error that is allowed; counts the others. */
static int connect_until(int fd, int allowed, int *ret_done)
{
	int done = 0, r = 0;

	while (done < 40000 && (r == 0 || r == allowed)) {
		r = connect_again(fd);
		if (r == 0)
			done++;
	}
	*ret_done = done;
	return r;
}

/* A cgroup that connects without end leaves room in the ring, and in the listener's queue. */
static void test_connects_are_paced(void **state)
{
	struct harness *harness = *state;
	int fd = helper_socket(&harness->agent, AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	uint64_t began = milliseconds(), syns, passed;
	int done, r;

	r = connect_until(fd, 0, &done);
	/* 16 a millisecond are within the pace: who is slower fills the ring, and never reaches it. */
	if (r == -EPERM && (uint64_t)done < 4096 + 16 * (milliseconds() - began)) {
		print_message("# this machine connects too slowly to reach the pace\n");
		skip();
	}
	assert_int_equal(r, -EAGAIN);
	assert_true(done >= 4096);
	syns = (uint64_t)done;
	assert_int_equal(harness_counter(harness, SLUICE_COUNT_CAPTURED), syns);
	assert_int_equal(harness_counter(harness, SLUICE_COUNT_RING_FULL), 0);
	/* 2,048 SYNs at once and two a millisecond pass; the connect that failed is one of the paced. */
	passed = 2048 + 2 * (milliseconds() - began + 1);
	assert_true(harness_counter(harness, SLUICE_COUNT_PACED) + passed > syns);
	(void)usleep(10000);
	assert_int_equal(connect_again(fd), 0);
	(void)close(fd);
}

#define RACE_ROUNDS 4000

/* Two connects of one cgroup, begun at the same moment in each of the rounds. */
struct race {
	int fds[2];
	cpu_set_t allowed;
	atomic_int begun, done; /* rounds */
	int refused;		/* of the second's connects */
};

/* Spins, since a sleeper would come too late; yields at times, for a machine of one processor. */
static void race_wait(atomic_int *rounds, int round)
{
	unsigned int spins = 0;

	while (atomic_load(rounds) < round)
		if (++spins % 65536 == 0)
			(void)sched_yield();
}

/* Keeps the calling thread on the first, or the last, of the processors that it may use. */
static void race_pin(const cpu_set_t *allowed, bool last)
{
	cpu_set_t one;
	size_t i, chosen = CPU_SETSIZE;

	for (i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, allowed) && (last || chosen == CPU_SETSIZE))
			chosen = i;
	CPU_ZERO(&one);
	CPU_SET(chosen, &one);
	(void)sched_setaffinity(0, sizeof(one), &one);
}

static void *race_second(void *context)
{
	struct race *race = context;
	int round;

	race_pin(&race->allowed, true);
	for (round = 1; round <= RACE_ROUNDS; round++) {
		race_wait(&race->begun, round);
		race->refused += connect_again(race->fds[1]) != 0;
		atomic_store(&race->done, round);
	}
	return NULL;
}

/* The paces of the watched cgroup, as they are before its first connect. */
static void forget_paces(struct harness *harness, int paces)
{
	struct sluice_refusal_key key = {.cgroup = harness->watch};

	key.kind = SLUICE_COUNT_CAPTURED;
	(void)bpf_map_delete_elem(paces, &key);
	key.kind = SLUICE_COUNT_PACED;
	(void)bpf_map_delete_elem(paces, &key);
}

/* The first connects of a cgroup are within its pace, also where two processors make them. */
static void test_first_connects_at_one_moment_are_not_paced(void **state)
{
	struct harness *harness = *state;
	int paces = harness_map(harness, "paces"), refused = 0, round, i;
	struct race race = {0};
	pthread_t second;

	for (i = 0; i < 2; i++)
		race.fds[i] =
			helper_socket(&harness->agent, AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	assert_int_equal(sched_getaffinity(0, sizeof(race.allowed), &race.allowed), 0);
	assert_int_equal(pthread_create(&second, NULL, race_second, &race), 0);
	race_pin(&race.allowed, false);
	for (round = 1; round <= RACE_ROUNDS; round++) {
		forget_paces(harness, paces);
		atomic_store(&race.begun, round);
		refused += connect_again(race.fds[0]) != 0;
		race_wait(&race.done, round);
		(void)kern_events_consume(harness->kern, NULL, NULL);
	}
	assert_int_equal(pthread_join(second, NULL), 0);
	assert_int_equal(sched_setaffinity(0, sizeof(race.allowed), &race.allowed), 0);
	assert_int_equal(refused + race.refused, 0);
	assert_int_equal(harness_counter(harness, SLUICE_COUNT_PACED), 0);
	assert_int_equal(harness_counter(harness, SLUICE_COUNT_CAPTURED), 2 * RACE_ROUNDS);
	for (i = 0; i < 2; i++)
		(void)close(race.fds[i]);
	(void)close(paces);
}

/* A stream that the daemon could not be told of is none. */
static void test_connect_is_refused_when_the_ring_is_full(void **state)
{
	struct harness *harness = *state;
	int fd = helper_socket(&harness->agent, AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	int done;

	assert_int_equal(connect_until(fd, -EAGAIN, &done), -EPERM);
	assert_int_equal(harness_counter(harness, SLUICE_COUNT_CAPTURED), done);
	assert_true(harness_counter(harness, SLUICE_COUNT_REFUSED_NO_EVENT) > 0);
	assert_true(harness_counter(harness, SLUICE_COUNT_RING_FULL) > 0);
	/* Refusals have a ring of their own, where there is room. */
	(void)usleep(10000);
	assert_int_equal(connect_again(fd), -EPERM);
	assert_int_equal(harness_counter(harness, SLUICE_COUNT_FENCE_RING_FULL), 0);
	assert_true(kern_events_consume(harness->kern, NULL, NULL) > 5000);
	(void)usleep(10000);
	assert_int_equal(connect_again(fd), 0);
	(void)close(fd);
}

/* Between attachment and the first write of its policy a cgroup is closed. */
static void test_a_watch_without_policy_refuses_everything(void **state)
{
	struct harness *harness = *state;
	int watches = harness_map(harness, "watches");
	const struct sluice_watch closed = {0};
	struct sluice_watch open;
	int fd = helper_socket(&harness->agent, AF_INET, SOCK_STREAM, 0);

	assert_int_equal(bpf_map_lookup_elem(watches, &harness->watch, &open), 0);
	assert_int_equal(open.policy, HARNESS_POLICY);
	assert_int_equal(bpf_map_update_elem(watches, &harness->watch, &closed, BPF_ANY), 0);
	assert_int_equal(socket_connect(fd, "203.0.113.9", 80), -EPERM);
	assert_int_equal(helper_socket(&harness->agent, AF_INET, SOCK_STREAM, 0), -EPERM);
	assert_int_equal(bpf_map_update_elem(watches, &harness->watch, &open, BPF_ANY), 0);
	assert_int_equal(socket_connect(fd, "203.0.113.9", 80), 0);
	(void)close(fd);
	(void)close(watches);
}

#define REFUSE_TEST(f) cmocka_unit_test_setup_teardown(f, harness_setup_watched, harness_teardown)

int main(void)
{
	const struct CMUnitTest refuse[] = {
		REFUSE_TEST(test_own_listener_is_refused),
		REFUSE_TEST(test_first_matching_rule_decides),
		REFUSE_TEST(test_the_last_rule_counts),
		REFUSE_TEST(test_only_the_daemons_listener_is_steered_to),
		REFUSE_TEST(test_without_a_route_there_is_none),
		REFUSE_TEST(test_on_the_loopback_somebody_has_to_listen),
		REFUSE_TEST(test_the_listeners_port_cannot_be_bound),
		REFUSE_TEST(test_connects_are_paced),
		REFUSE_TEST(test_first_connects_at_one_moment_are_not_paced),
		REFUSE_TEST(test_connect_is_refused_when_the_ring_is_full),
		REFUSE_TEST(test_a_watch_without_policy_refuses_everything),
	};

	return harness_run(refuse);
}
