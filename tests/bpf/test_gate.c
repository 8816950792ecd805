/* SPDX-License-Identifier: Apache-2.0 */
/* The gate: marks, slots, generations, what it counts and tells. */
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "bpf/harness.h"

static const char bytes[4096] = "what the daemon may not let go before its time";

/* A slot that a socket may not have: 0, and one past the array. */
static void test_slots_out_of_bounds_hold(void **state)
{
	struct harness *harness = *state;
	const uint32_t wrong[] = {0, SLUICE_SLOTS, SLUICE_SLOTS + 1, UINT32_MAX};
	int sockets = harness_map(harness, "sockets");
	struct sluice_socket mark;
	struct flow flow;
	size_t i;

	assert_int_equal(kern_mark_data(harness->kern, -1, 0, 0, false, 1), -EINVAL);
	assert_int_equal(kern_mark_data(harness->kern, -1, SLUICE_SLOTS, 0, false, 1), -EINVAL);
	flow_open(harness, &flow, AF_INET, "127.0.0.1", false);
	assert_int_equal(bpf_map_lookup_elem(sockets, &flow.data, &mark), 0);
	mark.flags |= SLUICE_SOCKET_OPEN;
	mark.generation = 0;
	assert_int_equal(send(flow.data, bytes, 100, MSG_EOR), 100);
	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		const uint64_t before = harness_counter(harness, SLUICE_COUNT_DROPPED_SLOT);

		mark.slot = wrong[i];
		assert_int_equal(bpf_map_update_elem(sockets, &flow.data, &mark, BPF_ANY), 0);
		flow_poke(&flow);
		assert_silent(flow.peer);
		assert_true(harness_counter(harness, SLUICE_COUNT_DROPPED_SLOT) > before);
	}
	flow_close(harness, &flow);
	(void)close(sockets);
}

static void test_given_slot_closes_its_old_flow(void **state)
{
	struct harness *harness = *state;
	struct flow flow;
	uint64_t before;

	flow_open(harness, &flow, AF_INET, "127.0.0.1", false);
	kern_release(harness->kern, flow.slot, flow.generation, 1000);
	assert_int_equal(send(flow.data, bytes, 100, MSG_EOR), 100);
	assert_reads(flow.peer, bytes, 100);
	kern_slot_give(harness->kern, flow.slot);
	before = harness_counter(harness, SLUICE_COUNT_DROPPED_GENERATION);
	assert_int_equal(send(flow.data, bytes, 100, MSG_EOR), 100);
	assert_silent(flow.peer);
	assert_true(harness_counter(harness, SLUICE_COUNT_DROPPED_GENERATION) > before);
	/* Whoever has the old generation cannot publish any more either. */
	flow_release(harness, &flow, 2000);
	assert_silent(flow.peer);
	/* Nor does the slot's next user release for it. */
	kern_release(harness->kern, flow.slot, (uint16_t)(flow.generation + 1), 2000);
	flow_poke(&flow);
	assert_silent(flow.peer);
	flow_close(harness, &flow);
}

static void test_slots_are_handed_out_with_new_generations(void **state)
{
	struct harness *harness = *state;
	int slots = harness_map(harness, "slots");
	uint16_t generation, first = 0;
	uint32_t slot, i, seen = 0;
	uint64_t word;

	/* First in, first out: the first slot comes again after all the others. */
	for (i = 0; i < SLUICE_SLOTS; i++) {
		assert_int_equal(kern_slot_take(harness->kern, &slot, &generation), 0);
		assert_true(slot > 0 && slot < SLUICE_SLOTS);
		assert_int_equal(bpf_map_lookup_elem(slots, &slot, &word), 0);
		assert_int_equal(sluice_slot_generation(word), generation);
		assert_int_equal(sluice_slot_offset(word), 0);
		if (i == 0) {
			seen = slot;
			first = generation;
		} else {
			assert_true((slot == seen) == (i == SLUICE_SLOTS - 1));
		}
		kern_release(harness->kern, slot, generation, 77);
		kern_slot_give(harness->kern, slot);
		kern_slot_give(harness->kern, slot); /* twice is once */
	}
	assert_int_equal(generation, (uint16_t)(first + 1));
	for (i = 1; i < SLUICE_SLOTS; i++)
		assert_int_equal(kern_slot_take(harness->kern, &slot, &generation), 0);
	assert_int_equal(kern_slot_take(harness->kern, &slot, &generation), -ENOSPC);
	(void)close(slots);
}

static void test_release_never_lowers(void **state)
{
	struct harness *harness = *state;
	int slots = harness_map(harness, "slots");
	uint16_t generation;
	uint64_t word;
	uint32_t slot;

	assert_int_equal(kern_slot_take(harness->kern, &slot, &generation), 0);
	kern_release(harness->kern, slot, generation, 500);
	kern_release(harness->kern, slot, generation, 400);
	kern_release(harness->kern, slot, (uint16_t)(generation + 1), 600);
	kern_release(harness->kern, slot, generation, SLUICE_OFFSET_MAX + 1);
	assert_int_equal(bpf_map_lookup_elem(slots, &slot, &word), 0);
	assert_int_equal(word, sluice_slot_word(generation, 500));
	kern_slot_give(harness->kern, slot);
	(void)close(slots);
}

/* `words` is the map itself: update_elem copies, on some processors byte by byte. */
struct race {
	uint64_t *words;
	const struct flow *flow;
	volatile bool stop;
};

/* The slot changes hands: another generation with a large offset, then the old one with none. */
static void *recycle(void *context)
{
	struct race *race = context;
	const uint16_t old = race->flow->generation, other = (uint16_t)(old + 1);
	uint64_t *word = &race->words[race->flow->slot];

	while (!race->stop) {
		__atomic_store_n(word, sluice_slot_word(other, SLUICE_OFFSET_MAX),
				 __ATOMIC_RELEASE);
		__atomic_store_n(word, sluice_slot_word(old, 0), __ATOMIC_RELEASE);
	}
	return NULL;
}

/* Were generation and offset two words, old generation and new offset could be read together. */
static void test_a_slot_word_is_never_torn(void **state)
{
	struct harness *harness = *state;
	const size_t len = SLUICE_SLOTS * sizeof(uint64_t);
	int slots = harness_map(harness, "slots"), i;
	struct race race = {0};
	struct flow flow;
	pthread_t thread;

	race.words = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, slots, 0);
	assert_true(race.words != MAP_FAILED);
	flow_open(harness, &flow, AF_INET, "127.0.0.1", false);
	race.flow = &flow;
	assert_int_equal(send(flow.data, bytes, 100, MSG_EOR), 100);
	assert_int_equal(pthread_create(&thread, NULL, recycle, &race), 0);
	for (i = 0; i < 200000; i++)
		flow_poke(&flow);
	race.stop = true;
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_silent(flow.peer);
	flow_close(harness, &flow);
	(void)munmap(race.words, len);
	(void)close(slots);
}

static void test_open_flow_passes_while_its_generation_lasts(void **state)
{
	struct harness *harness = *state;
	struct flow flow;

	flow_open(harness, &flow, AF_INET6, "::1", true);
	assert_int_equal(send(flow.data, bytes, sizeof(bytes), 0), sizeof(bytes));
	assert_reads(flow.peer, bytes, sizeof(bytes));
	kern_slot_give(harness->kern, flow.slot);
	assert_int_equal(send(flow.data, bytes, 100, 0), 100);
	assert_silent(flow.peer);
	flow_close(harness, &flow);
}

static int connect_to(struct harness *harness, int data, int *ret_peer)
{
	uint16_t port;
	int listener = socket_listen(&harness->outside, AF_INET, "127.0.0.1", &port), r;

	r = socket_connect(data, "127.0.0.1", port);
	*ret_peer = r < 0 ? -1 : socket_accept(listener);
	(void)close(listener);
	return r;
}

static void test_unmarked_socket_sends_no_payload(void **state)
{
	struct harness *harness = *state;
	int data = socket(AF_INET, SOCK_STREAM, 0), peer;

	assert_int_equal(connect_to(harness, data, &peer), 0);
	assert_int_equal(send(data, bytes, 100, 0), 100);
	assert_silent(peer);
	assert_true(harness_counter(harness, SLUICE_COUNT_DROPPED_UNMARKED) > 0);
	/* It can be closed, without losing the peer. */
	const struct linger reset = {.l_onoff = 1};

	(void)setsockopt(data, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	(void)close(data);
	assert_reset(peer);
	(void)close(peer);
}

static void test_udp_of_the_daemon_needs_exemption(void **state)
{
	struct harness *harness = *state;
	int from = socket(AF_INET, SOCK_DGRAM, 0);
	int to = helper_socket(&harness->outside, AF_INET, SOCK_DGRAM, 0);
	struct sockaddr_storage address;
	socklen_t len = address_make(&address, AF_INET, "127.0.0.1", 0);

	assert_int_equal(bind(to, (struct sockaddr *)&address, len), 0);
	assert_int_equal(socket_connect(from, "127.0.0.1", address_port(to)), 0);
	assert_int_equal(send(from, bytes, 10, 0), -1);
	assert_int_equal(errno, EPERM);
	assert_true(harness_counter(harness, SLUICE_COUNT_DROPPED_UNMARKED) > 0);
	assert_int_equal(kern_mark_exempt(harness->kern, from), 0);
	assert_int_equal(send(from, bytes, 10, 0), 10);
	assert_reads(to, bytes, 10);
	(void)close(from);
	(void)close(to);
}

static void test_exempt_socket_passes(void **state)
{
	struct harness *harness = *state;
	int data = socket(AF_INET, SOCK_STREAM, 0), peer;

	assert_int_equal(kern_mark_exempt(harness->kern, data), 0);
	assert_int_equal(connect_to(harness, data, &peer), 0);
	assert_int_equal(send(data, bytes, 100, 0), 100);
	assert_reads(peer, bytes, 100);
	(void)close(data);
	(void)close(peer);
}

/* Accepted sockets are held from birth: they have the listener's mark, which has no slot. */
static void test_accepted_socket_is_held_until_it_has_a_slot(void **state)
{
	struct harness *harness = *state;
	int client, accepted;
	uint16_t generation;
	uint32_t slot;

	harness_listen(harness);
	client = helper_socket(&harness->outside, AF_INET, SOCK_STREAM, 0);
	assert_int_equal(socket_connect(client, "127.0.0.1", HARNESS_PORT), 0);
	accepted = socket_accept(harness->listener[0]);
	assert_true(accepted >= 0);
	assert_int_equal(send(accepted, bytes, 60, MSG_EOR), 60);
	assert_silent(client);
	assert_int_equal(kern_slot_take(harness->kern, &slot, &generation), 0);
	assert_int_equal(kern_mark_data(harness->kern, accepted, slot, generation, false, 9), 0);
	kern_release(harness->kern, slot, generation, 60);
	flow_poke(&(struct flow){.data = accepted});
	assert_reads(client, bytes, 60);
	(void)close(accepted);
	(void)close(client);
}

/* SYN cookies make the socket late, and server TCP Fast Open early: both have mark and base. */
static void test_accepted_socket_is_held_with_syn_cookies(void **state)
{
	struct harness *harness = *state;

	harness_sysctl("net/ipv4/tcp_syncookies", "2");
	test_accepted_socket_is_held_until_it_has_a_slot(&(void *){harness});
	assert_int_equal(harness_counter(harness, SLUICE_COUNT_DROPPED_NO_BASE), 0);
}

/*
 * Accepted sockets belong to the listener's cgroup: what one made elsewhere
 * accepts is seen by no gate, so it is refused as a listener.
 */
static void test_listener_from_elsewhere_is_refused(void **state)
{
	struct harness *harness = *state;
	uint16_t port;
	int foreign = helper_socket(&harness->outside, AF_INET, SOCK_STREAM, 0);
	int listener, client, accepted;

	assert_int_equal(kern_mark_listener(harness->kern, foreign), -EXDEV);
	assert_int_equal(kern_mark_data(harness->kern, foreign, 1, 1, false, 1), -EXDEV);
	assert_int_equal(kern_mark_exempt(harness->kern, foreign), -EXDEV);
	(void)close(foreign);
	/* That there is something to refuse: */
	listener = socket_listen(&harness->outside, AF_INET, "127.0.0.1", &port);
	client = helper_socket(&harness->outside, AF_INET, SOCK_STREAM, 0);
	assert_int_equal(socket_connect(client, "127.0.0.1", port), 0);
	accepted = socket_accept(listener);
	assert_int_equal(send(accepted, bytes, 60, 0), 60);
	assert_reads(client, bytes, 60);
	assert_int_equal(kern_mark_data(harness->kern, accepted, 1, 1, false, 1), -EXDEV);
	(void)close(accepted);
	(void)close(client);
	(void)close(listener);
}

static void test_listener_is_marked_before_it_listens(void **state)
{
	struct harness *harness = *state;
	int late = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(listen(late, 1), 0);
	assert_int_equal(kern_mark_listener(harness->kern, late), -EINVAL);
	(void)close(late);
	harness_listen(harness);
	assert_int_equal(kern_mark_listener(harness->kern, harness->listener[0]), 0);
}

/* A base that is not known yet, or was never learnt, is no base. */
static void test_unknown_base_holds(void **state)
{
	struct harness *harness = *state;
	int gates = harness_map(harness, "gates");
	struct sluice_gate gate, unknown = {0};
	struct flow flow;

	flow_open(harness, &flow, AF_INET, "127.0.0.1", true);
	assert_int_equal(kern_gate_state(harness->kern, flow.data, &gate), 0);
	assert_int_equal(bpf_map_update_elem(gates, &flow.data, &unknown, BPF_ANY), 0);
	assert_int_equal(kern_gate_state(harness->kern, flow.data, &gate), -ENOENT);
	assert_int_equal(send(flow.data, bytes, 100, MSG_EOR), 100);
	assert_silent(flow.peer);
	assert_true(harness_counter(harness, SLUICE_COUNT_DROPPED_NO_BASE) > 0);
	flow_close(harness, &flow);
	(void)close(gates);
}

struct seen {
	unsigned int held, released, closed, others;
	uint64_t value;
};

static void see(void *context, const struct sluice_event *event)
{
	struct seen *seen = context;

	assert_true(event->time_ns > 0);
	if (event->stream != 42) {
		seen->others++;
		return;
	}
	seen->value = event->value;
	if (event->type == SLUICE_EVENT_HELD)
		seen->held++;
	else if (event->type == SLUICE_EVENT_RELEASED)
		seen->released++;
	else if (event->type == SLUICE_EVENT_CLOSED)
		seen->closed++;
	else
		seen->others++;
}

static void test_events_tell_transitions_only(void **state)
{
	struct harness *harness = *state;
	struct seen seen = {0};
	struct flow flow;
	int i;

	flow_open(harness, &flow, AF_INET, "127.0.0.1", false);
	for (i = 0; i < 5; i++) {
		assert_int_equal(send(flow.data, bytes, 100, MSG_EOR), 100);
		flow_poke(&flow);
	}
	assert_true(kern_events_consume(harness->kern, see, &seen) >= 1);
	assert_int_equal(seen.held, 1);
	assert_int_equal(seen.released, 0);
	assert_int_equal(seen.value, 100);
	assert_true(harness_counter(harness, SLUICE_COUNT_HELD_PACKETS) >= 5);
	flow_release(harness, &flow, 500);
	(void)usleep(10000);
	assert_true(kern_events_consume(harness->kern, see, &seen) >= 1);
	assert_int_equal(seen.held, 1);
	assert_int_equal(seen.released, 1);
	flow_close(harness, &flow);
	(void)usleep(10000);
	assert_true(kern_events_consume(harness->kern, see, &seen) >= 1);
	assert_int_equal(seen.closed, 1);
	assert_int_equal(seen.value, 500);
	assert_int_equal(seen.others, 0);
}

static void test_events_that_do_not_fit_are_counted(void **state)
{
	struct harness *harness = *state;
	struct seen seen = {0};
	uint64_t offset = 0;
	struct flow flow;
	int i;

	flow_open(harness, &flow, AF_INET, "127.0.0.1", false);
	/* Each turn is one hold and one release. */
	for (i = 0; i < 12000; i++) {
		assert_int_equal(send(flow.data, bytes, 1, MSG_EOR), 1);
		flow_release(harness, &flow, ++offset);
		assert_int_equal(recv(flow.peer, &(char){0}, 1, 0), 1);
	}
	assert_true(harness_counter(harness, SLUICE_COUNT_RING_FULL) > 0);
	/* What was lost was news only: the gate went on as it should. */
	flow_wait(harness, &flow, offset);
	assert_true(kern_events_consume(harness->kern, see, &seen) > 10000);
	flow_close(harness, &flow);
}

#define GATE_TEST(f) cmocka_unit_test_setup_teardown(f, harness_setup_open, harness_teardown)

int main(void)
{
	const struct CMUnitTest gate[] = {
		GATE_TEST(test_slots_out_of_bounds_hold),
		GATE_TEST(test_given_slot_closes_its_old_flow),
		GATE_TEST(test_slots_are_handed_out_with_new_generations),
		GATE_TEST(test_release_never_lowers),
		GATE_TEST(test_a_slot_word_is_never_torn),
		GATE_TEST(test_open_flow_passes_while_its_generation_lasts),
		GATE_TEST(test_unmarked_socket_sends_no_payload),
		GATE_TEST(test_udp_of_the_daemon_needs_exemption),
		GATE_TEST(test_exempt_socket_passes),
		GATE_TEST(test_accepted_socket_is_held_until_it_has_a_slot),
		GATE_TEST(test_accepted_socket_is_held_with_syn_cookies),
		GATE_TEST(test_listener_from_elsewhere_is_refused),
		GATE_TEST(test_listener_is_marked_before_it_listens),
		GATE_TEST(test_unknown_base_holds),
		GATE_TEST(test_events_tell_transitions_only),
		GATE_TEST(test_events_that_do_not_fit_are_counted),
	};

	return harness_run(gate);
}
