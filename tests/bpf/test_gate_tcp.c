/* SPDX-License-Identifier: Apache-2.0 */
/* The gate and TCP: bytes, sequence numbers, retransmission, headers, the end of a flow. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <linux/if_ether.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "bpf/harness.h"

#define GIB (1ull << 30)

static const char bytes[4096] = "what the daemon may not let go before its time";

static void hold_and_release(struct harness *harness, int family, const char *text)
{
	struct flow flow;

	flow_open(harness, &flow, family, text, false);
	assert_int_equal(send(flow.data, bytes, 100, MSG_EOR), 100);
	assert_silent(flow.peer);
	flow_release(harness, &flow, 99);
	assert_silent(flow.peer);
	flow_release(harness, &flow, 100);
	assert_reads(flow.peer, bytes, 100);
	assert_int_equal(send(flow.data, bytes + 100, 100, MSG_EOR), 100);
	assert_int_equal(send(flow.data, bytes + 200, 100, MSG_EOR), 100);
	flow_release(harness, &flow, 200);
	assert_reads(flow.peer, bytes + 100, 100);
	flow_release(harness, &flow, 300);
	assert_reads(flow.peer, bytes + 200, 100);
	flow_close(harness, &flow);
}

static void test_ipv4_is_held_and_released_exactly(void **state)
{
	hold_and_release(*state, AF_INET, "127.0.0.1");
}

static void test_ipv6_is_held_and_released_exactly(void **state)
{
	hold_and_release(*state, AF_INET6, "::1");
}

static void test_v4_mapped_is_held_and_released_exactly(void **state)
{
	hold_and_release(*state, AF_INET6, "::ffff:127.0.0.1");
}

static void *sink(void *context)
{
	const int fd = *(int *)context;

	/* Discards in the kernel, without a copy. */
	while (recv(fd, NULL, 1 << 20, MSG_TRUNC) > 0)
		;
	return NULL;
}

/* Sends that many bytes, all released, and lets a thread take them. */
static void relay(struct harness *harness, struct flow *flow, uint64_t from, uint64_t total)
{
	const size_t chunk = 1 << 20;
	char *buffer = calloc(1, chunk);
	uint64_t left = total;

	assert_non_null(buffer);
	kern_release(harness->kern, flow->slot, flow->generation, from + total);
	while (left > 0) {
		ssize_t sent = send(flow->data, buffer, MIN(left, chunk), MSG_EOR);

		assert_true(sent > 0);
		left -= (uint64_t)sent;
	}
	free(buffer);
}

static void write_word(int slots, uint32_t slot, uint64_t word)
{
	assert_int_equal(bpf_map_update_elem(slots, &slot, &word, BPF_ANY), 0);
}

/* The peer reads in a thread, so silence is seen by the gate's own position and by its counter. */
static void assert_held(struct harness *harness, const struct flow *flow, uint64_t position)
{
	flow_poke(flow);
	(void)usleep(20000);
	flow_wait(harness, flow, position);
}

/*
 * With 32-bit positions a difference turns negative past 2 GiB, and a slot that
 * is set back, zeroed or exchanged for slot 0 lets everything pass.
 */
static void test_slot_set_back_after_gibibytes_holds(void **state)
{
	struct harness *harness = *state;
	int slots = harness_map(harness, "slots"), sockets = harness_map(harness, "sockets");
	const uint64_t total = 2 * GIB + GIB / 2;
	struct sluice_socket mark, zero_slot;
	struct flow flow;
	pthread_t thread;

	flow_open(harness, &flow, AF_INET, "127.0.0.1", false);
	assert_int_equal(pthread_create(&thread, NULL, sink, &flow.peer), 0);
	relay(harness, &flow, 0, total);
	flow_wait(harness, &flow, total);

	write_word(slots, flow.slot, sluice_slot_word(flow.generation, 0));
	assert_int_equal(send(flow.data, bytes, 100, MSG_EOR), 100);
	assert_held(harness, &flow, total);
	write_word(slots, flow.slot, 0);
	assert_held(harness, &flow, total);
	write_word(slots, flow.slot, sluice_slot_word(flow.generation, 1));
	assert_int_equal(bpf_map_lookup_elem(sockets, &flow.data, &mark), 0);
	zero_slot = mark;
	zero_slot.slot = 0;
	zero_slot.generation = 0;
	assert_int_equal(bpf_map_update_elem(sockets, &flow.data, &zero_slot, BPF_ANY), 0);
	assert_held(harness, &flow, total);

	/* And it goes on where it was, over the wrap at 4 GiB. */
	assert_int_equal(bpf_map_update_elem(sockets, &flow.data, &mark, BPF_ANY), 0);
	flow_release(harness, &flow, total + 99);
	assert_held(harness, &flow, total);
	flow_release(harness, &flow, total + 100);
	flow_wait(harness, &flow, total + 100);
	relay(harness, &flow, total + 100, 2 * GIB);
	flow_wait(harness, &flow, total + 100 + 2 * GIB);
	(void)shutdown(flow.peer, SHUT_RDWR);
	assert_int_equal(pthread_join(thread, NULL), 0);
	flow_close(harness, &flow);
	(void)close(slots);
	(void)close(sockets);
}

/* Payload on a SYN leaves before there is a base: the gate drops it, a plain SYN follows. */
static void test_payload_on_a_syn_is_dropped(void **state)
{
	struct harness *harness = *state;
	struct sockaddr_storage address;
	struct flow flow;
	uint16_t port;
	socklen_t len;
	int listener;

	harness_sysctl("net/ipv4/tcp_fastopen", "1541"); /* both sides, no cookie wanted */
	listener = socket_listen(&harness->outside, AF_INET, "127.0.0.1", &port);
	flow.data = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(kern_slot_take(harness->kern, &flow.slot, &flow.generation), 0);
	assert_int_equal(
		kern_mark_data(harness->kern, flow.data, flow.slot, flow.generation, false, 1), 0);
	len = address_make(&address, AF_INET, "127.0.0.1", port);
	assert_int_equal(sendto(flow.data, bytes, 100, MSG_FASTOPEN | MSG_EOR,
				(struct sockaddr *)&address, len),
			 100);
	assert_true(harness_counter(harness, SLUICE_COUNT_DROPPED_NO_BASE) > 0);
	(void)usleep(1200000); /* the SYN is sent again after a second */
	flow.peer = socket_accept(listener);
	assert_true(flow.peer >= 0);
	assert_silent(flow.peer);
	flow_release(harness, &flow, 99);
	assert_silent(flow.peer);
	flow_release(harness, &flow, 100);
	assert_reads(flow.peer, bytes, 100);
	flow_close(harness, &flow);
	(void)close(listener);
}

static void with_initial_sequence(struct harness *harness, int family, uint32_t isn)
{
	int on = 1, off = 0, queue = TCP_SEND_QUEUE;
	struct sluice_gate gate;
	struct flow flow;
	uint16_t port;
	int listener;

	listener = socket_listen(&harness->outside, family, family == AF_INET ? "127.0.0.1" : "::1",
				 &port);
	flow.data = socket(family, SOCK_STREAM, 0);
	assert_int_equal(setsockopt(flow.data, IPPROTO_TCP, TCP_REPAIR, &on, sizeof(on)), 0);
	assert_int_equal(
		setsockopt(flow.data, IPPROTO_TCP, TCP_REPAIR_QUEUE, &queue, sizeof(queue)), 0);
	assert_int_equal(setsockopt(flow.data, IPPROTO_TCP, TCP_QUEUE_SEQ, &isn, sizeof(isn)), 0);
	assert_int_equal(setsockopt(flow.data, IPPROTO_TCP, TCP_REPAIR, &off, sizeof(off)), 0);
	assert_int_equal(kern_slot_take(harness->kern, &flow.slot, &flow.generation), 0);
	assert_int_equal(
		kern_mark_data(harness->kern, flow.data, flow.slot, flow.generation, false, 1), 0);
	assert_int_equal(socket_connect(flow.data, family == AF_INET ? "127.0.0.1" : "::1", port),
			 0);
	flow.peer = socket_accept(listener);
	assert_int_equal(kern_gate_state(harness->kern, flow.data, &gate), 0);
	assert_int_equal(gate.base, isn + 1);

	assert_int_equal(send(flow.data, bytes, 1000, MSG_EOR), 1000);
	assert_int_equal(send(flow.data, bytes + 1000, 1000, MSG_EOR), 1000);
	flow_release(harness, &flow, 999);
	assert_silent(flow.peer);
	flow_release(harness, &flow, 1000);
	assert_reads(flow.peer, bytes, 1000);
	flow_release(harness, &flow, 1999);
	assert_silent(flow.peer);
	flow_release(harness, &flow, 2000);
	assert_reads(flow.peer, bytes + 1000, 1000);
	flow_close(harness, &flow);
	(void)close(listener);
}

static void test_sequence_numbers_that_wrap(void **state)
{
	static const uint32_t isns[] = {
		(uint32_t)-150, (uint32_t)-500, (uint32_t)-2, (uint32_t)-1, (1u << 31) - 500,
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(isns); i++)
		with_initial_sequence(*state, i % 2 ? AF_INET6 : AF_INET, isns[i]);
}

/* Packets beyond 64 KiB: IPv6 then has a hop-by-hop header, IPv4 no length. */
static void bulk(struct harness *harness, int family, const char *text)
{
	const size_t len = 4 << 20, part = len / 2 + 12345;
	char *sent = malloc(len), *got = malloc(len);
	const int buffer = 16 << 20;
	struct flow flow;
	size_t have, i;

	assert_non_null(sent);
	assert_non_null(got);
	for (i = 0; i < len; i++)
		sent[i] = (char)(i * 2654435761u >> 13);
	flow_open(harness, &flow, family, text, false);
	assert_int_equal(setsockopt(flow.data, SOL_SOCKET, SO_SNDBUFFORCE, &buffer, sizeof(buffer)),
			 0);
	assert_int_equal(send(flow.data, sent, len, MSG_EOR), len);
	assert_silent(flow.peer);
	flow_release(harness, &flow, part);
	have = socket_read(flow.peer, got, len, 100);
	assert_true(have > 0 && have <= part);
	flow_release(harness, &flow, len);
	have += socket_read(flow.peer, got + have, len - have, 500);
	assert_int_equal(have, len);
	assert_memory_equal(sent, got, len);
	flow_close(harness, &flow);
	free(sent);
	free(got);
}

static void test_bulk_is_held_and_released(void **state)
{
	bulk(*state, AF_INET, "127.0.0.1");
	bulk(*state, AF_INET6, "::1");
	bulk(*state, AF_INET6, "::ffff:127.0.0.1");
	assert_int_equal(harness_counter(*state, SLUICE_COUNT_DROPPED_UNPARSED), 0);
}

static int run(const char *command)
{
	return system(command); /* a fixed text of this file */
}

static void test_retransmission_passes_and_frees_nothing(void **state)
{
	struct harness *harness = *state;
	struct flow flow;

	if (run("nft add table ip t && nft add chain ip t i '{ type filter hook input priority 0; "
		"}'"))
		skip(); /* no nft here */
	flow_open(harness, &flow, AF_INET, "127.0.0.1", false);
	assert_int_equal(run("nft add rule ip t i meta length \\> 90 drop"), 0);
	kern_release(harness->kern, flow.slot, flow.generation, 100);
	assert_int_equal(send(flow.data, bytes, 100, MSG_EOR), 100);
	assert_int_equal(send(flow.data, bytes + 100, 100, MSG_EOR), 100);
	assert_silent(flow.peer);
	flow_wait(harness, &flow, 100);
	assert_int_equal(run("nft flush chain ip t i"), 0);
	assert_reads(flow.peer, bytes, 100);
	(void)usleep(300000);
	assert_silent(flow.peer);
	flow_wait(harness, &flow, 100);
	flow_release(harness, &flow, 200);
	assert_reads(flow.peer, bytes + 100, 100);
	flow_close(harness, &flow);
}

/* The route puts another header around TCP before the gate sees it: nothing may leave. */
static void test_encapsulated_packets_are_dropped(void **state)
{
	struct harness *harness = *state;
	uint16_t generation;
	uint32_t slot;
	int data;

	if (run("ip link add veth0 type veth peer name veth1 && ip link set veth1 up && "
		"ip addr add fd00:1::1/64 dev veth0 nodad && ip link set veth0 up && "
		"ip -6 neigh add fd00:1::9 lladdr 02:00:00:00:00:09 dev veth0 && "
		"ip -6 route add fd00:2::/64 encap seg6 mode encap segs fd00:1::9 dev veth0"))
		skip(); /* no seg6 here */
	data = socket(AF_INET6, SOCK_STREAM, 0);
	assert_int_equal(kern_slot_take(harness->kern, &slot, &generation), 0);
	assert_int_equal(kern_mark_data(harness->kern, data, slot, generation, true, 1), 0);
	assert_true(socket_connect(data, "fd00:2::1", 80) < 0);
	assert_true(harness_counter(harness, SLUICE_COUNT_DROPPED_UNPARSED) > 0);
	(void)close(data);
}

static void test_fin_waits_behind_what_is_held(void **state)
{
	struct harness *harness = *state;
	struct flow flow;

	flow_open(harness, &flow, AF_INET, "127.0.0.1", false);
	assert_int_equal(send(flow.data, bytes, 100, MSG_EOR), 100);
	assert_int_equal(shutdown(flow.data, SHUT_WR), 0);
	assert_silent(flow.peer);
	flow_release(harness, &flow, 100);
	assert_int_equal(recv(flow.peer, (char[100]){0}, 100, MSG_WAITALL), 100);
	assert_end(flow.peer);
	flow_close(harness, &flow);
}

static void test_reset_discards_what_is_held(void **state)
{
	struct harness *harness = *state;
	struct flow flow;

	flow_open(harness, &flow, AF_INET, "127.0.0.1", false);
	assert_int_equal(send(flow.data, bytes, 100, MSG_EOR), 100);
	const struct linger reset = {.l_onoff = 1};

	(void)setsockopt(flow.data, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	(void)close(flow.data);
	assert_reset(flow.peer);
	flow.data = -1;
	flow_close(harness, &flow);
}

/* Is the text in one of the packets that a tap has? */
static bool tap_has(int tap, const char *text, size_t len)
{
	char packet[4096];
	size_t got;

	while ((got = socket_read(tap, packet, sizeof(packet), 100)) > 0)
		if (memmem(packet, got, text, len))
			return true;
	return false;
}

/*
 * Why nothing waits in the kernel where someone else may administer the network:
 * netfilter comes before the gate, and its copy of a packet has no socket.
 */
static void test_netfilter_copies_what_is_held(void **state)
{
	struct harness *harness = *state;
	struct flow flow;
	int tap;

	if (run("ip link add veth0 type veth peer name veth1 && ip link set veth1 up && "
		"ip link set veth0 up && ip addr add 10.9.0.1/24 dev veth0 && "
		"ip neigh add 10.9.0.2 lladdr 02:00:00:00:00:02 dev veth0 && "
		"nft add table ip t && "
		"nft add chain ip t o '{ type filter hook output priority 0; }' && "
		"nft add rule ip t o tcp flags psh dup to 10.9.0.2 device veth0"))
		skip(); /* no nft, or none that copies */
	tap = helper_socket(&harness->outside, AF_PACKET, SOCK_DGRAM, htons(ETH_P_ALL));
	assert_true(tap >= 0);
	flow_open(harness, &flow, AF_INET, "127.0.0.1", false);
	assert_int_equal(send(flow.data, bytes, 40, MSG_EOR), 40);
	assert_silent(flow.peer);
	assert_true(tap_has(tap, bytes, 40));
	/* Without the copy the tap, which sees every device, sees nothing of it. */
	assert_int_equal(run("nft flush chain ip t o"), 0);
	/* TCP probed meanwhile: what was copied of that is read away. */
	while (tap_has(tap, bytes, 40))
		;
	flow_poke(&flow);
	assert_false(tap_has(tap, bytes, 40));
	flow_close(harness, &flow);
	(void)close(tap);
}

#define GATE_TEST(f) cmocka_unit_test_setup_teardown(f, harness_setup_open, harness_teardown)

int main(void)
{
	const struct CMUnitTest gate_tcp[] = {
		GATE_TEST(test_ipv4_is_held_and_released_exactly),
		GATE_TEST(test_ipv6_is_held_and_released_exactly),
		GATE_TEST(test_v4_mapped_is_held_and_released_exactly),
		GATE_TEST(test_slot_set_back_after_gibibytes_holds),
		GATE_TEST(test_payload_on_a_syn_is_dropped),
		GATE_TEST(test_sequence_numbers_that_wrap),
		GATE_TEST(test_bulk_is_held_and_released),
		GATE_TEST(test_retransmission_passes_and_frees_nothing),
		GATE_TEST(test_encapsulated_packets_are_dropped),
		GATE_TEST(test_netfilter_copies_what_is_held),
		GATE_TEST(test_fin_waits_behind_what_is_held),
		GATE_TEST(test_reset_discards_what_is_held),
	};

	return harness_run(gate_tcp);
}
