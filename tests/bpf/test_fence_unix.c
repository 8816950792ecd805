/* SPDX-License-Identifier: Apache-2.0 */
/* The fence around Unix addresses, on kernels that have hooks for them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "bpf/harness.h"

static socklen_t unix_address(struct sockaddr_un *address, const char *path, bool with_nul)
{
	const size_t len = strlen(path);

	memset(address, 0x5a, sizeof(*address)); /* what is behind the path means nothing */
	address->sun_family = AF_UNIX;
	memcpy(address->sun_path, path, len + 1);
	if (!with_nul)
		address->sun_path[len] = 'x';
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + with_nul);
}

static int unix_listen(struct harness *harness, int type, const struct sockaddr_un *address,
		       socklen_t len)
{
	int fd = helper_socket(&harness->outside, AF_UNIX, type, 0);

	assert_int_equal(bind(fd, (const struct sockaddr *)address, len), 0);
	if (type != SOCK_DGRAM)
		assert_int_equal(listen(fd, 16), 0);
	return fd;
}

static int unix_connect(struct harness *harness, int type, const struct sockaddr_un *address,
			socklen_t len)
{
	int fd = helper_socket(&harness->agent, AF_UNIX, type, 0), r;

	r = connect(fd, (const struct sockaddr *)address, len) < 0 ? -errno : 0;
	(void)close(fd);
	return r;
}

static int unix_send(struct harness *harness, const struct sockaddr_un *address, socklen_t len)
{
	int fd = helper_socket(&harness->agent, AF_UNIX, SOCK_DGRAM, 0), r;

	r = sendto(fd, "x", 1, 0, (const struct sockaddr *)address, len) < 0 ? -errno : 0;
	(void)close(fd);
	return r;
}

static void require_unix_hooks(void)
{
	struct kern_feature features[64];
	size_t count = kern_probe(features, ARRAY_SIZE(features)), i;

	for (i = 0; i < count; i++)
		if (strcmp(features[i].name, "connect_unix") == 0 && !features[i].present) {
			print_message("          this kernel has no Unix address hooks\n");
			skip();
		}
}

static void allow_unix(struct harness *harness, const char *name, uint32_t len)
{
	const struct sluice_policy policy = {0};
	struct sluice_unix_key key = {.len = len};

	memcpy(key.path, name, len);
	assert_int_equal(kern_policy_set(harness->kern, HARNESS_POLICY, &policy, &key, 1), 0);
}

static void test_unix_paths_by_policy(void **state)
{
	struct harness *harness = *state;
	struct sockaddr_un stream, datagram, address;
	socklen_t stream_len, datagram_len, len;
	char path[96], other[96], empty[sizeof(path)];
	const struct sluice_policy policy = {0};
	int stream_fd, datagram_fd;

	require_unix_hooks();
	(void)snprintf(path, sizeof(path), "%s/stream", harness->dir);
	(void)snprintf(other, sizeof(other), "%s/datagram", harness->dir);
	stream_len = unix_address(&stream, path, true);
	datagram_len = unix_address(&datagram, other, true);
	stream_fd = unix_listen(harness, SOCK_STREAM, &stream, stream_len);
	datagram_fd = unix_listen(harness, SOCK_DGRAM, &datagram, datagram_len);

	assert_int_equal(unix_connect(harness, SOCK_STREAM, &stream, stream_len), -EPERM);
	assert_int_equal(unix_connect(harness, SOCK_DGRAM, &datagram, datagram_len), -EPERM);
	assert_int_equal(unix_send(harness, &datagram, datagram_len), -EPERM);
	assert_int_equal(harness_counter(harness, SLUICE_COUNT_FENCE_UNIX), 3);

	allow_unix(harness, path, (uint32_t)strlen(path));
	assert_int_equal(unix_connect(harness, SOCK_STREAM, &stream, stream_len), 0);
	len = unix_address(&address, path, false);
	assert_int_equal(unix_connect(harness, SOCK_STREAM, &address, len), 0);
	/* The whole of the struct, as many programs pass it. */
	memset(&address, 0, sizeof(address));
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	address.sun_family = AF_UNIX;
	assert_int_equal(unix_connect(harness, SOCK_STREAM, &address, sizeof(address)), 0);
	assert_int_equal(unix_connect(harness, SOCK_DGRAM, &datagram, datagram_len), -EPERM);
	(void)snprintf(empty, sizeof(empty), "%s.", path);
	len = unix_address(&address, empty, true);
	assert_int_equal(unix_connect(harness, SOCK_STREAM, &address, len), -EPERM);
	len = unix_address(&address, path, true) - 2;
	assert_int_equal(unix_connect(harness, SOCK_STREAM, &address, len), -EPERM);

	allow_unix(harness, other, (uint32_t)strlen(other));
	assert_int_equal(unix_send(harness, &datagram, datagram_len), 0);
	assert_int_equal(unix_connect(harness, SOCK_DGRAM, &datagram, datagram_len), 0);
	assert_int_equal(unix_connect(harness, SOCK_STREAM, &stream, stream_len), -EPERM);
	assert_int_equal(kern_policy_set(harness->kern, HARNESS_POLICY, &policy, NULL, 0), 0);
	assert_int_equal(unix_send(harness, &datagram, datagram_len), -EPERM);
	(void)close(stream_fd);
	(void)close(datagram_fd);
	(void)unlink(path);
	(void)unlink(other);
}

static void test_abstract_unix_names_by_policy(void **state)
{
	struct harness *harness = *state;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char name[64];
	socklen_t len;
	int fd;

	require_unix_hooks();
	name[0] = '\0';
	(void)snprintf(name + 1, sizeof(name) - 1, "sluice-test-%d", (int)getpid());
	memcpy(address.sun_path, name, sizeof(name));
	len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name + 1));
	fd = unix_listen(harness, SOCK_STREAM, &address, len);
	assert_int_equal(unix_connect(harness, SOCK_STREAM, &address, len), -EPERM);
	allow_unix(harness, name, (uint32_t)(1 + strlen(name + 1)));
	assert_int_equal(unix_connect(harness, SOCK_STREAM, &address, len), 0);
	assert_int_equal(unix_connect(harness, SOCK_STREAM, &address, len + 1), -EPERM);
	(void)close(fd);
}

/* A listed path of the longest kind must not stand for one that goes on behind it. */
static void test_a_unix_path_that_was_cut_is_refused(void **state)
{
	struct harness *harness = *state;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char path[sizeof(address.sun_path)];
	const size_t longest = sizeof(path) - 1;

	require_unix_hooks();
	memset(path, 'p', sizeof(path));
	path[0] = '/';
	allow_unix(harness, path, (uint32_t)longest);
	memcpy(address.sun_path, path, sizeof(path));
	assert_int_equal(unix_connect(harness, SOCK_STREAM, &address, sizeof(address)), -EPERM);
	assert_int_equal(unix_connect(harness, SOCK_STREAM, &address, sizeof(address) - 1), -EPERM);
}

static void child_uses_a_pair(void *context)
{
	int pair[2];
	char got;

	(void)context;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0 || send(pair[0], "x", 1, 0) != 1 ||
	    recv(pair[1], &got, 1, 0) != 1)
		_exit(1);
}

/* Between processes of the agent: pairs need no address. */
static void test_unix_pairs_work(void **state)
{
	struct harness *harness = *state;
	pid_t pid = harness_fork(harness->agent_cgroup, child_uses_a_pair, NULL);

	assert_int_equal(harness_wait(pid), 0);
	assert_int_equal(harness_counter(harness, SLUICE_COUNT_FENCE_UNIX), 0);
}

#define FENCE_TEST(f) cmocka_unit_test_setup_teardown(f, harness_setup_watched, harness_teardown)

int main(void)
{
	const struct CMUnitTest fence_unix[] = {
		FENCE_TEST(test_unix_paths_by_policy),
		FENCE_TEST(test_abstract_unix_names_by_policy),
		FENCE_TEST(test_a_unix_path_that_was_cut_is_refused),
		FENCE_TEST(test_unix_pairs_work),
	};

	return harness_run(fence_unix);
}
