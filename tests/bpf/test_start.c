/* SPDX-License-Identifier: Apache-2.0 */
/* Starts: what is refused, what a start that fails leaves, what goes on from the last. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <linux/capability.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "bpf/harness.h"

static void test_two_daemons_that_start_at_once(void **state)
{
	struct harness *harness = *state;
	char error[256];
	int fd;

	harness_open(harness);
	kern_close(harness->kern);
	harness->kern = NULL;
	fd = open(harness->pins, O_RDONLY | O_DIRECTORY);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_int_equal(harness_reopen(harness, error), -EBUSY);
	assert_int_equal(kern_remove_pins(harness->pins, NULL, error, sizeof(error)), -EBUSY);
	(void)close(fd);
	assert_int_equal(harness_reopen(harness, error), 0);
}

static void test_pins_of_another_abi_are_refused(void **state)
{
	struct harness *harness = *state;
	struct sluice_config config;
	const uint32_t zero = 0;
	char error[256], path[300];
	int fd;

	harness_watch(harness);
	kern_close(harness->kern);
	harness->kern = NULL;
	fd = harness_map(harness, "config");
	assert_int_equal(bpf_map_lookup_elem(fd, &zero, &config), 0);
	assert_int_equal(config.owner_pid, 0);
	config.abi = SLUICE_ABI_VERSION + 1;
	assert_int_equal(bpf_map_update_elem(fd, &zero, &config, BPF_ANY), 0);
	assert_int_equal(harness_reopen(harness, error), -EPROTO);
	assert_non_null(strstr(error, "`sluiced --instance " HARNESS_INSTANCE " --remove`"));
	/* The cgroup is watched as it was. */
	assert_int_equal(helper_socket(&harness->agent, AF_INET, SOCK_RAW, 1), -EPERM);

	/* Of the same version, but not of the same layout. */
	config.abi = SLUICE_ABI_VERSION;
	assert_int_equal(bpf_map_update_elem(fd, &zero, &config, BPF_ANY), 0);
	(void)close(fd);
	(void)snprintf(path, sizeof(path), "%s/routes", harness->pins);
	assert_int_equal(unlink(path), 0);
	fd = bpf_map_create(BPF_MAP_TYPE_HASH, "routes", 16, 8, 64, NULL);
	assert_int_equal(bpf_obj_pin(fd, path), 0);
	(void)close(fd);
	assert_int_equal(harness_reopen(harness, error), -EPROTO);
	assert_non_null(strstr(error, "routes"));
	assert_non_null(strstr(error, "`sluiced --instance " HARNESS_INSTANCE " --remove`"));
	assert_int_equal(kern_remove_pins(harness->pins, NULL, error, sizeof(error)), 0);
	assert_int_equal(access(harness->pins, F_OK), -1);
	assert_int_equal(harness_reopen(harness, error), 0);
}

static void test_unfinished_pins_are_cleared(void **state)
{
	struct harness *harness = *state;
	char error[256], path[300];
	int fd;

	harness_watch(harness);
	kern_close(harness->kern);
	harness->kern = NULL;
	(void)snprintf(path, sizeof(path), "%s/config", harness->pins);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(harness_reopen(harness, error), 0);
	/* Nothing of before is left. */
	fd = helper_socket(&harness->agent, AF_INET, SOCK_RAW, 1);
	assert_true(fd >= 0);
	(void)close(fd);
}

static void drop_capabilities(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {0};

	if (syscall(SYS_capset, &head, none) < 0)
		_exit(99);
}

struct unprivileged {
	struct harness *harness;
	bool other_user;
};

static void open_unprivileged(void *context)
{
	struct unprivileged *unprivileged = context;
	char error[256];
	int r;

	if (!unprivileged->other_user)
		drop_capabilities();
	else if (setgid(65534) < 0 || setuid(65534) < 0)
		_exit(99);
	r = harness_reopen(unprivileged->harness, error);
	_exit(r == -EPERM && strstr(error, "root") && !strchr(error, '\n') ? 0 : 1);
}

static void test_without_privileges_nothing_is_left(void **state)
{
	struct harness *harness = *state;
	struct unprivileged unprivileged = {.harness = harness};

	assert_int_equal(harness_wait(harness_fork(harness->daemon_cgroup, open_unprivileged,
						   &unprivileged)),
			 0);
	assert_int_equal(access(harness->pins, F_OK), -1);
	unprivileged.other_user = true;
	assert_int_equal(harness_wait(harness_fork(harness->daemon_cgroup, open_unprivileged,
						   &unprivileged)),
			 0);
	assert_int_equal(access(harness->pins, F_OK), -1);
}

static unsigned int programs_at(const char *cgroup, enum bpf_attach_type type)
{
	__u32 ids[64], count = ARRAY_SIZE(ids);
	int fd = open(cgroup, O_RDONLY | O_DIRECTORY);

	assert_int_equal(bpf_prog_query(fd, type, 0, NULL, ids, &count), 0);
	(void)close(fd);
	return count;
}

static void test_a_start_that_fails_leaves_nothing(void **state)
{
	const struct bpf_insn pass[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 1},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_CGROUP_INET_SOCK_CREATE);
	struct harness *harness = *state;
	int fd = open(harness->daemon_cgroup, O_RDONLY | O_DIRECTORY);
	int program = bpf_prog_load(BPF_PROG_TYPE_CGROUP_SOCK, "alone", "GPL", pass,
				    ARRAY_SIZE(pass), &opts);
	char error[256], elsewhere[100], pins[sizeof(harness->pins)];

	/* The last hook of the gate will not have another beside it. */
	assert_int_equal(bpf_prog_attach(program, fd, BPF_CGROUP_INET_SOCK_CREATE, 0), 0);
	assert_int_equal(harness_reopen(harness, error), -EPERM);
	assert_non_null(strstr(error, harness->daemon_cgroup));
	assert_int_equal(programs_at(harness->daemon_cgroup, BPF_CGROUP_INET_EGRESS), 0);
	assert_int_equal(programs_at(harness->daemon_cgroup, BPF_CGROUP_SOCK_OPS), 0);
	assert_int_equal(access(harness->pins, F_OK), -1);
	assert_int_equal(bpf_prog_detach2(program, fd, BPF_CGROUP_INET_SOCK_CREATE), 0);
	(void)close(program);
	(void)close(fd);

	/* Not on a bpf file system; nothing is made there. */
	memcpy(pins, harness->pins, sizeof(pins));
	(void)snprintf(elsewhere, sizeof(elsewhere), "%s/pins", harness->dir);
	(void)snprintf(harness->pins, sizeof(harness->pins), "%s/main", elsewhere);
	assert_int_equal(harness_reopen(harness, error), -EOPNOTSUPP);
	assert_non_null(strstr(error, "mount -t bpf"));
	assert_int_equal(access(elsewhere, F_OK), -1);
	(void)snprintf(harness->pins, sizeof(harness->pins), "%s/bpf/a.b", harness->dir);
	assert_int_equal(harness_reopen(harness, error), -EINVAL);
	assert_non_null(strstr(error, "dot"));
	memcpy(harness->pins, pins, sizeof(pins));
	assert_int_equal(harness_reopen(harness, error), 0);
}

static uint64_t capture_one(struct harness *harness)
{
	struct sluice_origin origin;
	struct steered steered;

	steered_open(harness, &steered, AF_INET, "203.0.113.1", 80);
	assert_int_equal(kern_accepted_origin(harness->kern, steered.accepted, &origin), 0);
	steered_close(&steered);
	return origin.stream;
}

static void restart(struct harness *harness, bool removed)
{
	size_t i;

	for (i = 0; i < 2; i++) {
		(void)close(harness->listener[i]);
		harness->listener[i] = -1;
	}
	if (removed)
		assert_int_equal(kern_remove(harness->kern), 0);
	else
		kern_close(harness->kern);
	harness->kern = NULL;
	if (removed)
		harness_watch(harness);
	else
		harness_listen(harness);
}

static void test_stream_ids_do_not_repeat(void **state)
{
	struct harness *harness = *state;
	uint64_t first, second, third;

	harness_watch(harness);
	first = capture_one(harness);
	restart(harness, false);
	second = capture_one(harness);
	restart(harness, true);
	third = capture_one(harness);
	assert_true(first > 0 && second > first && third > second);
	/* They survive a number of JSON. */
	assert_true(third < 1ull << 53);
}

static void test_probe_knows_this_kernel(void **state)
{
	struct kern_feature features[64], one;
	size_t count, i, j;

	(void)state;
	count = kern_probe(features, ARRAY_SIZE(features));
	assert_in_range(count, 20, ARRAY_SIZE(features) - 1);
	for (i = 0; i < count; i++) {
		assert_true(features[i].name[0] && features[i].use[0] && features[i].loss[0]);
		assert_true(features[i].present == (features[i].error == 0));
		/* Everything else here ran on it. */
		if (features[i].required && !features[i].present)
			fail_msg("%s: %s", features[i].name, strerror(features[i].error));
		for (j = 0; j < i; j++)
			assert_string_not_equal(features[i].name, features[j].name);
	}
	assert_int_equal(kern_probe(&one, 1), 1);
}

static void test_counters_have_names(void **state)
{
	unsigned int i, j;

	(void)state;
	for (i = 0; i < _SLUICE_COUNTER_MAX; i++) {
		const char *name = kern_counter_name((enum sluice_counter)i);

		assert_int_equal(strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_"),
				 strlen(name));
		for (j = 0; j < i; j++)
			assert_string_not_equal(name, kern_counter_name((enum sluice_counter)j));
	}
	assert_string_equal(kern_counter_name(_SLUICE_COUNTER_MAX), "unknown");
}

#define START_TEST(f) cmocka_unit_test_setup_teardown(f, harness_setup, harness_teardown)

int main(void)
{
	const struct CMUnitTest start[] = {
		START_TEST(test_two_daemons_that_start_at_once),
		START_TEST(test_pins_of_another_abi_are_refused),
		START_TEST(test_unfinished_pins_are_cleared),
		START_TEST(test_without_privileges_nothing_is_left),
		START_TEST(test_a_start_that_fails_leaves_nothing),
		START_TEST(test_stream_ids_do_not_repeat),
		cmocka_unit_test(test_probe_knows_this_kernel),
		cmocka_unit_test(test_counters_have_names),
	};

	return harness_run(start);
}
