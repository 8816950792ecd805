/* SPDX-License-Identifier: Apache-2.0 */
/* Who is at the other end of a Unix socket, and who may connect to one. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cmocka.h>

#include "sys/group.h"
#include "sys/unix_socket.h"

static void test_peer_is_this_process(void **state)
{
	struct unix_peer peer;
	gid_t *gids;
	int pair[2], count;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(unix_socket_peer(pair[0], &peer), 0);
	assert_int_equal(peer.pid, getpid());
	assert_int_equal(peer.uid, getuid());
	assert_int_equal(peer.gid, getgid());
	assert_true(unix_socket_peer_is_in(pair[0], &peer, getgid()));
	assert_false(unix_socket_peer_is_in(pair[0], &peer, 4000000000u));
	count = getgroups(0, NULL);
	gids = calloc((size_t)count + 1, sizeof(*gids));
	assert_non_null(gids);
	assert_int_equal(getgroups(count, gids), count);
	for (int i = 0; i < count; i++)
		assert_true(unix_socket_peer_is_in(pair[0], &peer, gids[i]));
	free(gids);
	(void)close(pair[0]);
	(void)close(pair[1]);
}

/* What it connected outlives it here: the descriptors are this process's. */
static void test_peer_that_ends(void **state)
{
	char dir[] = "/tmp/sluice-test-XXXXXX";
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int listener, sock, accepted, hold[2];
	struct unix_peer peer;
	pid_t child;

	(void)state;
	assert_non_null(mkdtemp(dir));
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/s", dir);
	assert_int_equal(unix_socket_listen(address.sun_path, 0600, &listener), 0);
	sock = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(pipe(hold), 0);
	child = fork();
	if (!child) {
		bool connected = !connect(sock, (void *)&address, sizeof(address));

		(void)close(hold[1]);
		/* Until the other end is closed. */
		_exit(connected && !read(hold[0], dir, 1) ? 0 : 1);
	}
	assert_true(child > 0);
	do {
		accepted = accept(listener, NULL, NULL);
	} while (accepted < 0 && errno == EAGAIN);
	assert_int_equal(unix_socket_peer(accepted, &peer), 0);
	assert_int_equal(peer.pid, child);
	assert_true(unix_socket_peer_lives(accepted));
	(void)close(hold[1]);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_false(unix_socket_peer_lives(accepted));
	assert_false(unix_socket_peer_lives(0x7fff));
	(void)close(accepted);
	(void)close(sock);
	(void)close(hold[0]);
	(void)close(listener);
	(void)unlink(address.sun_path);
	(void)rmdir(dir);
}

static void test_no_socket_has_no_peer(void **state)
{
	struct unix_peer peer = {.uid = 7, .gid = 8};

	(void)state;
	assert_int_equal(unix_socket_peer(0x7fff, &peer), -EBADF);
	assert_int_equal(peer.uid, 7);
	assert_false(unix_socket_peer_is_in(0x7fff, &peer, 9));
}

/* The mode's group bits are the list's mask: what any group at all may. */
static void test_admits_groups(void **state)
{
	char dir[] = "/tmp/sluice-test-XXXXXX", path[64];
	const gid_t gids[] = {4321, 4322, 4323};
	struct stat st;
	int fd, r;

	(void)state;
	assert_non_null(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/s", dir);
	assert_int_equal(unix_socket_listen(path, 0600, &fd), 0);
	assert_int_equal(unix_socket_admit(path, gids, 3), -E2BIG);
	r = unix_socket_admit(path, gids, 2);
	if (r != -EOPNOTSUPP) {
		assert_int_equal(r, 0);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode & 0777, 0660);
		/* A header of 4 bytes, and 8 an entry: owner, its group, two more, mask, others. */
		assert_int_equal(getxattr(path, "system.posix_acl_access", NULL, 0), 4 + 6 * 8);
	}
	assert_int_equal(unix_socket_admit("/none", gids, 1), -ENOENT);
	(void)close(fd);
	(void)unlink(path);
	(void)rmdir(dir);
}

static void test_groups_by_name(void **state)
{
	gid_t gid = 7;

	(void)state;
	assert_int_equal(group_find("root", &gid), 0);
	assert_int_equal(gid, 0);
	gid = 7;
	assert_int_equal(group_find("none-of-that-name", &gid), -ENOENT);
	assert_int_equal(gid, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_peer_is_this_process),  cmocka_unit_test(test_peer_that_ends),
		cmocka_unit_test(test_no_socket_has_no_peer), cmocka_unit_test(test_admits_groups),
		cmocka_unit_test(test_groups_by_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
