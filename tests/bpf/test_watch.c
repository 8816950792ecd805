/* SPDX-License-Identifier: Apache-2.0 */
/* Which cgroups can be watched, and what watching and unwatching leaves. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "bpf/harness.h"

static int watch(struct harness *harness, const char *path)
{
	uint64_t id = 0;
	int r = kern_watch(harness->kern, path, HARNESS_POLICY, SLUICE_DNS_DENY, &id);

	assert_true((r == 0) == (id != 0));
	return r;
}

static void below(char path[400], const char *cgroup, const char *name)
{
	assert_in_range(snprintf(path, 400, "%s/%s", cgroup, name), 1, 399);
}

static unsigned int programs_at(const char *cgroup, enum bpf_attach_type type)
{
	__u32 ids[64], count = ARRAY_SIZE(ids);
	int fd = open(cgroup, O_RDONLY | O_DIRECTORY), r;

	assert_true(fd >= 0);
	r = bpf_prog_query(fd, type, 0, NULL, ids, &count);
	assert_int_equal(r, 0);
	(void)close(fd);
	return count;
}

static void test_watched_above_or_below_is_refused(void **state)
{
	struct harness *harness = *state;
	char child[400], grandchild[400];

	below(child, harness->agent_cgroup, "child");
	below(grandchild, child, "grandchild");
	assert_int_equal(mkdir(child, 0755), 0);
	assert_int_equal(mkdir(grandchild, 0755), 0);
	assert_int_equal(watch(harness, child), 0);
	assert_int_equal(watch(harness, child), -EEXIST);
	assert_int_equal(watch(harness, grandchild), -EEXIST);
	assert_int_equal(watch(harness, harness->agent_cgroup), -EEXIST);
	/* A refusal leaves nothing where it was refused. */
	assert_int_equal(programs_at(harness->agent_cgroup, BPF_CGROUP_INET_EGRESS), 0);
	assert_int_equal(programs_at(grandchild, BPF_CGROUP_INET_EGRESS), 0);
	assert_int_equal(rmdir(grandchild), 0);
	assert_int_equal(rmdir(child), 0);
}

static void test_another_daemons_watch_counts(void **state)
{
	struct harness *harness = *state;
	struct kern *first = harness->kern;
	char pins[sizeof(harness->pins)], child[400];
	struct kern *second;

	assert_int_equal(watch(harness, harness->agent_cgroup), 0);
	(void)snprintf(pins, sizeof(pins), "%s", harness->pins);
	(void)snprintf(harness->pins, sizeof(harness->pins), "%s/bpf/sluice/other", harness->dir);
	harness_open(harness);
	second = harness->kern;
	below(child, harness->agent_cgroup, "child");
	assert_int_equal(mkdir(child, 0755), 0);
	assert_int_equal(watch(harness, child), -EEXIST);
	assert_int_equal(watch(harness, harness->agent_cgroup), -EEXIST);
	assert_int_equal(rmdir(child), 0);
	assert_int_equal(kern_remove(second), 0);
	harness->kern = first;
	(void)snprintf(harness->pins, sizeof(harness->pins), "%s", pins);
}

static void test_a_cgroup_with_a_daemon_is_refused(void **state)
{
	struct harness *harness = *state;
	char child[400];
	int above;

	assert_int_equal(watch(harness, harness->daemon_cgroup), -EBUSY);
	/* What another daemon watches below it is found first. */
	above = watch(harness, harness->old_cgroup);
	assert_true(above == -EBUSY || above == -EEXIST);
	below(child, harness->daemon_cgroup, "child");
	assert_int_equal(mkdir(child, 0755), 0);
	assert_int_equal(watch(harness, child), -EBUSY);
	assert_int_equal(rmdir(child), 0);
}

static void test_only_a_cgroup_can_be_watched(void **state)
{
	struct harness *harness = *state;
	char missing[400], file[400];
	uint64_t id = 7;

	below(missing, harness->agent_cgroup, "missing");
	below(file, harness->agent_cgroup, "cgroup.procs");
	assert_int_equal(watch(harness, missing), -ENOENT);
	assert_int_equal(watch(harness, file), -ENOTDIR);
	assert_int_equal(watch(harness, "/tmp"), -ENOTDIR);
	assert_int_equal(kern_watch(harness->kern, harness->agent_cgroup, 0, SLUICE_DNS_DENY, &id),
			 -EINVAL);
	assert_int_equal(kern_watch(harness->kern, harness->agent_cgroup, SLUICE_POLICIES,
				    SLUICE_DNS_DENY, &id),
			 -EINVAL);
	assert_int_equal(id, 7);
	assert_int_equal(kern_unwatch(harness->kern, 12345), -ENOENT);
}

static void test_unwatching_leaves_nothing(void **state)
{
	struct harness *harness = *state;
	struct kern_watch_info info;
	char dir[300];
	int fd;

	harness_watch(harness);
	assert_int_equal(kern_watches(harness->kern, &info, 1), 1);
	assert_int_equal(info.id, harness->watch);
	assert_int_equal(info.policy, HARNESS_POLICY);
	assert_string_equal(info.path, harness->agent_cgroup);
	assert_int_equal(programs_at(harness->agent_cgroup, BPF_CGROUP_INET4_CONNECT), 1);
	(void)snprintf(dir, sizeof(dir), "%s/watch/%llu", harness->pins,
		       (unsigned long long)harness->watch);
	assert_int_equal(access(dir, F_OK), 0);

	assert_int_equal(kern_unwatch(harness->kern, harness->watch), 0);
	assert_int_equal(kern_watches(harness->kern, &info, 1), 0);
	assert_int_equal(programs_at(harness->agent_cgroup, BPF_CGROUP_INET4_CONNECT), 0);
	assert_int_equal(programs_at(harness->agent_cgroup, BPF_CGROUP_INET_EGRESS), 0);
	assert_int_equal(access(dir, F_OK), -1);
	fd = helper_socket(&harness->agent, AF_INET, SOCK_RAW, IPPROTO_ICMP);
	assert_true(fd >= 0);
	(void)close(fd);
}

/* The storage of a cgroup outlives its programs: the next watch must not begin with it. */
static void test_watching_again_begins_closed(void **state)
{
	struct harness *harness = *state;
	int watches = harness_map(harness, "watches");
	struct sluice_watch left;

	harness_watch(harness);
	assert_int_equal(kern_unwatch(harness->kern, harness->watch), 0);
	assert_int_equal(bpf_map_lookup_elem(watches, &harness->watch, &left), 0);
	assert_int_equal(left.policy, 0);
	harness_watch(harness);
	assert_int_equal(bpf_map_lookup_elem(watches, &harness->watch, &left), 0);
	assert_int_equal(left.policy, HARNESS_POLICY);
	(void)close(watches);
}

static void test_a_cgroup_that_went_away(void **state)
{
	struct harness *harness = *state;
	struct kern_watch_info info;
	char child[400];
	uint64_t id;

	below(child, harness->agent_cgroup, "child");
	assert_int_equal(mkdir(child, 0755), 0);
	assert_int_equal(kern_watch(harness->kern, child, HARNESS_POLICY, SLUICE_DNS_DENY, &id), 0);
	assert_int_equal(rmdir(child), 0);
	assert_int_equal(kern_watches(harness->kern, &info, 1), 1);
	assert_int_equal(info.id, id);
	assert_string_equal(info.path, "");
	assert_int_equal(kern_unwatch(harness->kern, id), 0);
	assert_int_equal(kern_watches(harness->kern, &info, 1), 0);
}

/* Somewhere below, a link cannot be made: the whole of it is undone. */
static void test_a_watch_that_fails_leaves_nothing(void **state)
{
	const struct bpf_insn pass[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 1},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_CGROUP_INET6_BIND);
	struct harness *harness = *state;
	int fd = open(harness->agent_cgroup, O_RDONLY | O_DIRECTORY);
	int program = bpf_prog_load(BPF_PROG_TYPE_CGROUP_SOCK_ADDR, "alone", "GPL", pass,
				    ARRAY_SIZE(pass), &opts);
	char dir[300];

	assert_true(program >= 0);
	/* Without BPF_F_ALLOW_MULTI it will have no other beside it. */
	assert_int_equal(bpf_prog_attach(program, fd, BPF_CGROUP_INET6_BIND, 0), 0);
	assert_true(watch(harness, harness->agent_cgroup) < 0);
	assert_int_equal(programs_at(harness->agent_cgroup, BPF_CGROUP_INET_EGRESS), 0);
	assert_int_equal(programs_at(harness->agent_cgroup, BPF_CGROUP_INET4_CONNECT), 0);
	(void)snprintf(dir, sizeof(dir), "%s/watch", harness->pins);
	assert_int_equal(rmdir(dir), 0); /* it is empty */
	assert_int_equal(bpf_prog_detach2(program, fd, BPF_CGROUP_INET6_BIND), 0);
	assert_int_equal(watch(harness, harness->agent_cgroup), 0);
	(void)close(program);
	(void)close(fd);
}

static void test_sockets_are_destroyed_by_inode(void **state)
{
	struct harness *harness = *state;
	struct stat status[2];
	uint64_t inodes[3] = {0, 0, 999999999};
	uint16_t port;
	int listener = socket_listen(&harness->outside, AF_INET, "127.0.0.1", &port);
	int doomed = helper_socket(&harness->agent, AF_INET, SOCK_STREAM, 0);
	int udp = helper_socket(&harness->agent, AF_INET, SOCK_DGRAM, 0);
	int spared = helper_socket(&harness->agent, AF_INET, SOCK_STREAM, 0);
	size_t left = 99;
	char got;

	assert_int_equal(socket_connect(doomed, "127.0.0.1", port), 0);
	assert_int_equal(socket_connect(spared, "127.0.0.1", port), 0);
	assert_int_equal(socket_connect(udp, "127.0.0.1", port), 0);
	assert_int_equal(fstat(doomed, &status[0]), 0);
	assert_int_equal(fstat(udp, &status[1]), 0);
	inodes[0] = status[0].st_ino;
	inodes[1] = status[1].st_ino;
	assert_int_equal(kern_destroy_sockets(inodes, ARRAY_SIZE(inodes), &left), 0);
	assert_int_equal(left, 0);
	assert_int_equal(recv(doomed, &got, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, ECONNABORTED);
	assert_int_equal(recv(spared, &got, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(kern_destroy_sockets(NULL, 0, &left), 0);
	(void)close(doomed);
	(void)close(spared);
	(void)close(udp);
	(void)close(listener);
}

#define WATCH_TEST(f) cmocka_unit_test_setup_teardown(f, harness_setup_open, harness_teardown)

int main(void)
{
	const struct CMUnitTest watching[] = {
		WATCH_TEST(test_watched_above_or_below_is_refused),
		WATCH_TEST(test_another_daemons_watch_counts),
		WATCH_TEST(test_a_cgroup_with_a_daemon_is_refused),
		WATCH_TEST(test_only_a_cgroup_can_be_watched),
		WATCH_TEST(test_unwatching_leaves_nothing),
		WATCH_TEST(test_watching_again_begins_closed),
		WATCH_TEST(test_a_cgroup_that_went_away),
		WATCH_TEST(test_a_watch_that_fails_leaves_nothing),
		WATCH_TEST(test_sockets_are_destroyed_by_inode),
	};

	return harness_run(watching);
}
