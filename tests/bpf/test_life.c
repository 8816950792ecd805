/* SPDX-License-Identifier: Apache-2.0 */
/* A daemon that dies, its successor, and what root can do to the pins. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "bpf/harness.h"

static const char text[] =
	"forty bytes that the daemon has cleared.sixty that it has not, and that "
	"nobody must ever get to see";

struct daemon {
	struct harness *harness;
	const char *cgroup;
	uint16_t port; /* of the peer */
	int ready;
};

static void daemon_body(void *context)
{
	struct daemon *daemon = context;
	struct harness *harness = daemon->harness;
	struct sluice_open_stream open = {.origin = {.stream = 77}, .opened_ns = 5};
	struct flow flow = {0};
	size_t side;

	harness_watch(harness);
	flow.data = socket(AF_INET, SOCK_STREAM, 0);
	for (side = 0; side < 2; side++)
		assert_int_equal(
			kern_slot_take(harness->kern, &open.slot[side], &open.generation[side]), 0);
	assert_int_equal(kern_stream_record(harness->kern, 77, &open), 0);
	assert_int_equal(kern_mark_data(harness->kern, flow.data, open.slot[0], open.generation[0],
					false, 77),
			 0);
	assert_int_equal(socket_connect(flow.data, "127.0.0.1", daemon->port), 0);
	kern_ledger_received(harness->kern, open.slot[0], open.generation[0], 100);
	kern_ledger_released(harness->kern, open.slot[0], open.generation[0], 40);
	kern_release(harness->kern, open.slot[0], open.generation[0], 40);
	assert_int_equal(send(flow.data, text, 40, MSG_EOR), 40);
	assert_int_equal(send(flow.data, text + 40, 60, MSG_EOR), 60);
	assert_int_equal(write(daemon->ready, "r", 1), 1);
	for (;;)
		(void)pause();
}

/* A daemon that has a watch, a stream, and 60 bytes held; the peer has the 40 before them. */
static pid_t daemon_start(struct harness *harness, const char *cgroup, int *ret_peer)
{
	struct daemon daemon = {.harness = harness, .cgroup = cgroup};
	int pipe_fds[2], listener;
	char ready;
	pid_t pid;

	listener = socket_listen(&harness->outside, AF_INET, "127.0.0.1", &daemon.port);
	assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
	daemon.ready = pipe_fds[1];
	pid = harness_fork(cgroup, daemon_body, &daemon);
	(void)close(pipe_fds[1]);
	assert_int_equal(read(pipe_fds[0], &ready, 1), 1);
	(void)close(pipe_fds[0]);
	*ret_peer = socket_accept(listener);
	(void)close(listener);
	assert_reads(*ret_peer, text, 40);
	return pid;
}

static void daemon_kill(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(harness_wait(pid), 128 + SIGKILL);
}

static __u32 link_id(struct harness *harness, const char *name)
{
	struct bpf_link_info info = {0};
	__u32 len = sizeof(info);
	char path[300];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/watch/%llu/%s", harness->pins,
		       (unsigned long long)harness->watch, name);
	fd = bpf_obj_get(path);
	assert_true(fd >= 0);
	assert_int_equal(bpf_obj_get_info_by_fd(fd, &info, &len), 0);
	(void)close(fd);
	return info.id;
}

struct settled {
	unsigned int count;
	struct sluice_open_stream open;
	struct kern_left left;
	int peer;
	bool peer_was_reset;
};

static bool is_told(void *context, uint64_t stream, const uint64_t *session)
{
	(void)context;
	(void)stream;
	(void)session;
	return false;
}

static int settle_session(void *context, const struct kern_left *left,
			  const struct kern_left_session *session)
{
	(void)context;
	(void)left;
	fail_msg("a session %d that nobody began", (int)session->number);
	return 0;
}

static int settle_stream(void *context, const struct kern_left *left)
{
	struct settled *settled = context;
	char end;

	settled->count++;
	settled->open = *left->open;
	settled->left = *left;
	settled->peer_was_reset =
		recv(settled->peer, &end, 1, MSG_DONTWAIT) < 0 && errno == ECONNRESET;
	return 0;
}

static int settle_all(struct harness *harness, struct settled *settled)
{
	const struct kern_settling settling = {is_told, settle_session, settle_stream, settled};

	return kern_settle_left(harness->kern, &settling);
}

static void test_killed_daemons_bytes_stay_held(void **state)
{
	struct harness *harness = *state;
	struct kern_watch_info info;
	struct settled settled = {0};
	struct steered steered;
	int peer, fd, slots;
	__u32 link;
	pid_t pid;

	pid = daemon_start(harness, harness->daemon_cgroup, &peer);
	daemon_kill(pid);
	assert_silent(peer);
	/* Without a daemon, whoever connects is refused, and the fence still stands. */
	fd = helper_socket(&harness->agent, AF_INET, SOCK_STREAM, 0);
	assert_int_equal(socket_connect(fd, "203.0.113.1", 80), -ECONNREFUSED);
	(void)close(fd);
	assert_int_equal(helper_socket(&harness->agent, AF_INET, SOCK_RAW, 1), -EPERM);

	harness_open(harness);
	assert_silent(peer);
	assert_int_equal(kern_watches(harness->kern, &info, 1), 1);
	assert_int_equal(info.policy, HARNESS_POLICY);
	assert_string_equal(info.path, harness->agent_cgroup);
	settled.peer = peer;
	assert_int_equal(settle_all(harness, &settled), 0);
	assert_int_equal(settled.count, 1);
	assert_int_equal(settled.open.origin.stream, 77);
	assert_int_equal(settled.open.opened_ns, 5);
	assert_int_equal(settled.left.released[0], 40);
	assert_int_equal(settled.left.released[1], 0);
	assert_int_equal(settled.left.received[0], 100);
	assert_int_equal(settled.left.received[1], 0);
	assert_int_equal(settled.left.session_count, 0);
	assert_true(settled.peer_was_reset);
	assert_int_equal(settle_all(harness, &settled), 0);
	assert_int_equal(settled.count, 1);
	(void)close(peer);

	/* What was taken over works on, by the new programs in the old links. */
	harness->watch = info.id;
	link = link_id(harness, "connect4");
	harness_listen(harness);
	steered_open(harness, &steered, AF_INET, "203.0.113.1", 80);
	steered_close(&steered);
	kern_close(harness->kern);
	harness->kern = NULL;
	harness_open(harness);
	assert_int_equal(link_id(harness, "connect4"), link);
	slots = harness_map(harness, "slots");
	(void)close(slots);
}

/* The stream's record is gone, or was never written: its bytes stay held all the same. */
static void test_orphan_without_record_stays_held(void **state)
{
	struct harness *harness = *state;
	struct settled settled = {0};
	const uint64_t stream = 77;
	int peer, streams;

	daemon_kill(daemon_start(harness, harness->daemon_cgroup, &peer));
	streams = harness_map(harness, "streams");
	assert_int_equal(bpf_map_delete_elem(streams, &stream), 0);
	(void)close(streams);
	harness_open(harness);
	assert_silent(peer);
	assert_int_equal(settle_all(harness, &settled), 0);
	assert_int_equal(settled.count, 0);
	assert_reset(peer);
	(void)close(peer);
}

/* A successor in another cgroup: the old gate stays while something may be behind it. */
static void test_successor_in_another_cgroup(void **state)
{
	struct harness *harness = *state;
	struct settled settled = {0};
	char other[sizeof(harness->daemon_cgroup) + 8], gate[300];
	struct stat status;
	int peer;

	(void)snprintf(other, sizeof(other), "%s/old", harness->daemon_cgroup);
	assert_int_equal(mkdir(other, 0755), 0);
	assert_int_equal(stat(other, &status), 0);
	{
		/* The gate of this one is attached to the cgroup below. */
		char own[sizeof(harness->daemon_cgroup)];

		memcpy(own, harness->daemon_cgroup, sizeof(own));
		memcpy(harness->daemon_cgroup, other, sizeof(own));
		daemon_kill(daemon_start(harness, other, &peer));
		memcpy(harness->daemon_cgroup, own, sizeof(own));
	}
	assert_int_equal(rmdir(other), 0);
	harness_open(harness);
	(void)snprintf(gate, sizeof(gate), "%s/gate/%llu/egress", harness->pins,
		       (unsigned long long)status.st_ino);
	assert_int_equal(access(gate, F_OK), 0);
	assert_silent(peer);
	settled.peer = peer;
	assert_int_equal(settle_all(harness, &settled), 0);
	assert_int_equal(settled.count, 1);
	assert_true(settled.peer_was_reset);
	(void)close(peer);
	/* Once nothing is left of it, the next start clears it away. */
	(void)usleep(200000);
	kern_close(harness->kern);
	harness_open(harness);
	assert_int_equal(access(gate, F_OK), -1);
}

static void test_pins_of_a_live_daemon_are_refused(void **state)
{
	struct harness *harness = *state;
	char error[256], pid_text[16];
	int peer;
	pid_t pid;

	pid = daemon_start(harness, harness->daemon_cgroup, &peer);
	(void)snprintf(pid_text, sizeof(pid_text), "%d", (int)pid);
	assert_int_equal(harness_reopen(harness, error), -EBUSY);
	assert_non_null(strstr(error, pid_text));
	error[0] = '\0';
	assert_int_equal(kern_remove_pins(harness->pins, NULL, error, sizeof(error)), -EBUSY);
	assert_non_null(strstr(error, pid_text));
	daemon_kill(pid);
	assert_silent(peer);
	/* Removing destroys what is held; nothing of it gets out. */
	assert_int_equal(kern_remove_pins(harness->pins, NULL, error, sizeof(error)), 0);
	assert_reset(peer);
	assert_int_equal(access(harness->pins, F_OK), -1);
	assert_int_equal(kern_remove_pins(harness->pins, NULL, error, sizeof(error)), -ENOENT);
	(void)close(peer);
}

static unsigned int programs_at(const char *cgroup, enum bpf_attach_type type)
{
	__u32 ids[64], count = ARRAY_SIZE(ids);
	int fd = open(cgroup, O_RDONLY | O_DIRECTORY);

	assert_int_equal(bpf_prog_query(fd, type, 0, NULL, ids, &count), 0);
	(void)close(fd);
	return count;
}

/* Removing destroys the sockets while the gate still stands. */
static void test_remove_lets_nothing_go(void **state)
{
	struct harness *harness = *state;
	struct flow flow;

	harness_open(harness);
	flow_open(harness, &flow, AF_INET, "127.0.0.1", false);
	assert_int_equal(send(flow.data, text, 100, MSG_EOR), 100);
	assert_silent(flow.peer);
	assert_int_equal(kern_remove(harness->kern), 0);
	harness->kern = NULL;
	assert_reset(flow.peer);
	assert_int_equal(access(harness->pins, F_OK), -1);
	assert_int_equal(programs_at(harness->daemon_cgroup, BPF_CGROUP_INET_EGRESS), 0);
	(void)close(flow.data);
	(void)close(flow.peer);
}

/* Why: without a gate, what it held leaves at the next push. */
static void test_without_the_gate_held_bytes_leave(void **state)
{
	struct harness *harness = *state;
	char path[300];
	struct stat status;
	struct flow flow;
	int fd;

	harness_open(harness);
	flow_open(harness, &flow, AF_INET, "127.0.0.1", false);
	assert_int_equal(send(flow.data, text, 100, MSG_EOR), 100);
	assert_silent(flow.peer);
	assert_int_equal(stat(harness->daemon_cgroup, &status), 0);
	(void)snprintf(path, sizeof(path), "%s/gate/%llu/egress", harness->pins,
		       (unsigned long long)status.st_ino);
	fd = bpf_obj_get(path);
	assert_int_equal(bpf_link_detach(fd), 0);
	(void)close(fd);
	flow_poke(&flow);
	assert_reads(flow.peer, text, 100);
	flow_close(harness, &flow);
}

struct attack {
	char path[300];
	uint32_t slot;
	uint64_t word;
};

static void attack_writes_a_map(void *context)
{
	struct attack *attack = context;
	int fd = bpf_obj_get(attack->path);

	_exit(fd < 0 || bpf_map_update_elem(fd, &attack->slot, &attack->word, BPF_ANY) < 0);
}

static void attack_detaches_a_link(void *context)
{
	struct attack *attack = context;
	int fd = bpf_obj_get(attack->path);

	_exit(fd < 0 || bpf_link_detach(fd) < 0);
}

/*
 * Two attacks of an agent that is root and sees the bpf file system. They are
 * real, which is why `sluicectl run` gives an agent neither.
 */
static void test_root_that_sees_the_pins_can_release(void **state)
{
	struct harness *harness = *state;
	struct attack attack;
	struct flow flow;

	harness_watch(harness);
	flow_open(harness, &flow, AF_INET, "127.0.0.1", false);
	assert_int_equal(send(flow.data, text, 100, MSG_EOR), 100);
	(void)snprintf(attack.path, sizeof(attack.path), "%s/slots", harness->pins);
	attack.slot = flow.slot;
	attack.word = sluice_slot_word(flow.generation, 100);
	assert_int_equal(
		harness_wait(harness_fork(harness->agent_cgroup, attack_writes_a_map, &attack)), 0);
	flow_poke(&flow);
	assert_reads(flow.peer, text, 100);
	flow_close(harness, &flow);
}

static void test_root_that_sees_the_pins_can_take_the_fence_down(void **state)
{
	struct harness *harness = *state;
	struct attack attack;
	int fd;

	harness_watch(harness);
	assert_int_equal(helper_socket(&harness->agent, AF_INET, SOCK_RAW, 1), -EPERM);
	(void)snprintf(attack.path, sizeof(attack.path), "%s/watch/%llu/sock_create", harness->pins,
		       (unsigned long long)harness->watch);
	assert_int_equal(
		harness_wait(harness_fork(harness->agent_cgroup, attack_detaches_a_link, &attack)),
		0);
	fd = helper_socket(&harness->agent, AF_INET, SOCK_RAW, 1);
	assert_true(fd >= 0);
	(void)close(fd);
}

static void pins_are_out_of_reach(void *context)
{
	struct attack *attack = context;

	if (setgid(65534) < 0 || setuid(65534) < 0)
		_exit(99);
	_exit(bpf_obj_get(attack->path) == -EACCES ? 0 : 1);
}

static void test_another_user_cannot_open_the_pins(void **state)
{
	struct harness *harness = *state;
	struct attack attack;

	harness_watch(harness);
	(void)snprintf(attack.path, sizeof(attack.path), "%s/slots", harness->pins);
	assert_int_equal(
		harness_wait(harness_fork(harness->agent_cgroup, pins_are_out_of_reach, &attack)),
		0);
}

#define LIFE_TEST(f) cmocka_unit_test_setup_teardown(f, harness_setup, harness_teardown)

int main(void)
{
	const struct CMUnitTest life[] = {
		LIFE_TEST(test_killed_daemons_bytes_stay_held),
		LIFE_TEST(test_orphan_without_record_stays_held),
		LIFE_TEST(test_successor_in_another_cgroup),
		LIFE_TEST(test_pins_of_a_live_daemon_are_refused),
		LIFE_TEST(test_remove_lets_nothing_go),
		LIFE_TEST(test_without_the_gate_held_bytes_leave),
		LIFE_TEST(test_root_that_sees_the_pins_can_release),
		LIFE_TEST(test_root_that_sees_the_pins_can_take_the_fence_down),
		LIFE_TEST(test_another_user_cannot_open_the_pins),
	};

	return harness_run(life);
}
