/* SPDX-License-Identifier: Apache-2.0 */
/* Which sockets the processes of a cgroup have, and where these were made. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpf/harness.h"

#define RECORDS_MAX 8192
/* More than the kernel's buffer for one reading holds. */
#define DUPLICATES 5000

/* What the census said of one process. */
struct told {
	pid_t pid;
	size_t count;
	struct sluice_census records[RECORDS_MAX];
};

static int collect(void *context, const struct sluice_census *record)
{
	struct told *told = context;

	if (record->pid != (uint32_t)told->pid)
		return 0;
	assert_true(told->count < RECORDS_MAX);
	told->records[told->count++] = *record;
	return 0;
}

static uint64_t cgroup_id(const char *path)
{
	struct stat status;

	assert_int_equal(stat(path, &status), 0);
	return status.st_ino;
}

static struct told *take(const char *cgroup, pid_t pid)
{
	static struct told told;

	told.pid = pid;
	told.count = 0;
	assert_int_equal(kern_census(cgroup_id(cgroup), collect, &told), 0);
	return &told;
}

static const struct sluice_census *find(const struct told *told, int fd)
{
	size_t i;

	for (i = 0; i < told->count; i++)
		if (told->records[i].fd == (uint32_t)fd)
			return &told->records[i];
	fail_msg("the census does not tell of descriptor %d of process %d", fd, told->pid);
	return NULL;
}

static void check(const struct told *told, int fd, bool inside, int family, int type, int protocol,
		  int state)
{
	const struct sluice_census *record = find(told, fd);
	struct stat status;

	assert_int_equal(fstat(fd, &status), 0);
	assert_int_equal(record->inode, status.st_ino);
	assert_int_equal(record->inside, inside);
	assert_int_equal(record->family, family);
	assert_int_equal(record->type, type);
	assert_int_equal(record->protocol, protocol);
	assert_int_equal(record->state, state);
	assert_int_not_equal(record->cgroup, 0);
}

/* A process that holds what the test has, until it is told to go or the test is gone. */
struct holder {
	int ready[2], go[2];
	const char *leave, *below; /* cgroup to move to; one to make a socket in first */
	uint16_t port;
	pid_t pid;
};

static void holder_say(const struct holder *holder)
{
	(void)!write(holder->ready[1], "", 1);
}

static void holder_rest(const struct holder *holder)
{
	char byte;

	(void)!read(holder->go[0], &byte, 1);
}

static void holder_body(void *context)
{
	holder_say(context);
	holder_rest(context);
}

static void holder_start(struct holder *holder, const char *cgroup, void (*body)(void *context))
{
	char byte;

	assert_int_equal(pipe2(holder->ready, O_CLOEXEC), 0);
	assert_int_equal(pipe2(holder->go, O_CLOEXEC), 0);
	holder->pid = harness_fork(cgroup, body, holder);
	assert_true(holder->pid > 0);
	(void)close(holder->ready[1]);
	assert_int_equal(read(holder->ready[0], &byte, 1), 1);
}

/* Tells it to go on to its end; its exit status. */
static int holder_end(struct holder *holder)
{
	int status;

	(void)!write(holder->go[1], "", 1);
	status = harness_wait(holder->pid);
	(void)close(holder->go[0]);
	(void)close(holder->go[1]);
	(void)close(holder->ready[0]);
	return status;
}

static void test_sockets_tell_where_they_were_made(void **state)
{
	struct harness *harness = *state;
	struct holder holder = {0};
	struct told *told;
	uint16_t port;
	int listener = socket_listen(&harness->agent, AF_INET, "127.0.0.1", &port);
	int peer = socket_listen(&harness->outside, AF_INET6, "::1", &port);
	int idle = helper_socket(&harness->agent, AF_INET6, SOCK_STREAM, 0);
	int udp = helper_socket(&harness->agent, AF_INET, SOCK_DGRAM, 0);
	int strange = helper_socket(&harness->outside, AF_INET, SOCK_STREAM, 0);
	int connected = helper_socket(&harness->outside, AF_INET6, SOCK_STREAM, 0);
	int raw = helper_socket(&harness->outside, AF_INET, SOCK_RAW, IPPROTO_TCP);
	int packet = helper_socket(&harness->agent, AF_PACKET, SOCK_DGRAM, 0);

	assert_int_equal(socket_connect(connected, "::1", port), 0);
	assert_int_equal(socket_connect(udp, "127.0.0.1", port), 0);
	holder_start(&holder, harness->agent_cgroup, holder_body);
	told = take(harness->agent_cgroup, holder.pid);
	check(told, listener, true, AF_INET, SOCK_STREAM, IPPROTO_TCP, TCP_LISTEN);
	check(told, peer, false, AF_INET6, SOCK_STREAM, IPPROTO_TCP, TCP_LISTEN);
	check(told, idle, true, AF_INET6, SOCK_STREAM, IPPROTO_TCP, TCP_CLOSE);
	check(told, udp, true, AF_INET, SOCK_DGRAM, IPPROTO_UDP, TCP_ESTABLISHED);
	check(told, strange, false, AF_INET, SOCK_STREAM, IPPROTO_TCP, TCP_CLOSE);
	check(told, connected, false, AF_INET6, SOCK_STREAM, IPPROTO_TCP, TCP_ESTABLISHED);
	check(told, raw, false, AF_INET, SOCK_RAW, IPPROTO_TCP, TCP_CLOSE);
	/* Between the helper of the agent and this process: made before either was anywhere. */
	assert_int_equal(find(told, harness->agent.fd)->family, AF_UNIX);
	assert_int_equal(find(told, harness->agent.fd)->state, TCP_ESTABLISHED);
	assert_int_equal(find(told, packet)->family, AF_PACKET);
	assert_int_equal(find(told, idle)->cgroup, cgroup_id(harness->agent_cgroup));
	/* The same descriptors, in a process that is elsewhere. */
	assert_int_equal(take(harness->agent_cgroup, getpid())->count, 0);
	assert_int_equal(take(harness->daemon_cgroup, holder.pid)->count, 0);
	assert_int_equal(holder_end(&holder), 0);
	assert_int_equal(take(harness->agent_cgroup, holder.pid)->count, 0);
	(void)close(listener);
	(void)close(peer);
	(void)close(idle);
	(void)close(udp);
	(void)close(strange);
	(void)close(connected);
	(void)close(raw);
	(void)close(packet);
}

static void child_of(char path[400], const char *cgroup)
{
	assert_in_range(snprintf(path, 400, "%s/child", cgroup), 1, 399);
	assert_int_equal(mkdir(path, 0755), 0);
}

static void test_below_is_inside_and_above_is_not(void **state)
{
	struct harness *harness = *state;
	int above = helper_socket(&harness->agent, AF_INET, SOCK_STREAM, 0);
	struct holder holder = {0};
	char child[400];

	child_of(child, harness->agent_cgroup);
	holder_start(&holder, child, holder_body);
	assert_int_equal(find(take(harness->agent_cgroup, holder.pid), above)->inside, 1);
	assert_int_equal(find(take(child, holder.pid), above)->inside, 0);
	assert_int_equal(holder_end(&holder), 0);
	holder_start(&holder, harness->agent_cgroup, holder_body);
	assert_int_equal(take(child, holder.pid)->count, 0);
	assert_int_equal(holder_end(&holder), 0);
	assert_int_equal(rmdir(child), 0);
	(void)close(above);
}

static void many_body(void *context)
{
	const struct rlimit limit = {DUPLICATES + 1000, DUPLICATES + 1000};
	const struct holder *holder = context;
	int i, fd = socket(AF_INET, SOCK_STREAM, 0);

	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		_exit(1);
	for (i = 1; i < DUPLICATES; i++)
		if (dup(fd) < 0)
			_exit(2);
	holder_say(holder);
	holder_rest(holder);
}

static void test_none_is_lost_among_many(void **state)
{
	struct harness *harness = *state;
	struct holder holder = {0};
	struct told *told;
	size_t i, found = 0;

	holder_start(&holder, harness->agent_cgroup, many_body);
	told = take(harness->agent_cgroup, holder.pid);
	for (i = 0; i < told->count; i++)
		if (told->records[i].family == AF_INET) {
			assert_int_equal(told->records[i].inside, 1);
			assert_true(i == 0 || told->records[i].fd > told->records[i - 1].fd);
			found++;
		}
	assert_int_equal(found, DUPLICATES);
	assert_int_equal(holder_end(&holder), 0);
}

/* /proc/PID/fd shows nothing of it: the process's first thread is gone. */
static void *lone_thread(void *context)
{
	if (unshare(CLONE_FILES) < 0 || socket(AF_INET, SOCK_DGRAM, 0) < 0)
		_exit(3);
	holder_say(context);
	holder_rest(context);
	_exit(0);
}

static void threaded_body(void *context)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, lone_thread, context))
		_exit(4);
	pthread_exit(NULL);
}

static void test_a_thread_with_a_table_of_its_own(void **state)
{
	struct harness *harness = *state;
	struct holder holder = {0};
	struct told *told;
	size_t i, found = 0;

	holder_start(&holder, harness->agent_cgroup, threaded_body);
	told = take(harness->agent_cgroup, holder.pid);
	for (i = 0; i < told->count; i++)
		found += told->records[i].family == AF_INET &&
			 told->records[i].type == SOCK_DGRAM && told->records[i].inside;
	assert_int_equal(found, 1);
	assert_int_equal(holder_end(&holder), 0);
}

/* Makes a socket in a cgroup that is then gone, and connects it once the one above is watched. */
static void orphaned_body(void *context)
{
	const struct holder *holder = context;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	harness_join(holder->leave);
	if (rmdir(holder->below) < 0)
		_exit(5);
	holder_say(holder);
	holder_rest(holder);
	_exit((-socket_connect(fd, "127.0.0.1", holder->port)) & 0x7f);
}

static void test_a_cgroup_that_is_gone_was_inside(void **state)
{
	struct harness *harness = *state;
	struct holder holder = {.leave = harness->agent_cgroup};
	struct told *told;
	char child[400];
	int listener = socket_listen(&harness->outside, AF_INET, "127.0.0.1", &holder.port);
	size_t i, found = 0;
	uint64_t watch;

	child_of(child, harness->agent_cgroup);
	holder.below = child;
	holder_start(&holder, child, orphaned_body);
	told = take(harness->agent_cgroup, holder.pid);
	for (i = 0; i < told->count; i++)
		found += told->records[i].family == AF_INET &&
			 told->records[i].state == TCP_CLOSE && told->records[i].inside;
	assert_int_equal(found, 1);
	/* Inside means that the hooks see it: with no daemon listening they refuse. */
	assert_int_equal(kern_watch(harness->kern, harness->agent_cgroup, HARNESS_POLICY,
				    SLUICE_DNS_DENY, &watch),
			 0);
	assert_int_equal(holder_end(&holder), ECONNREFUSED);
	(void)close(listener);
}

static int stop(void *context, const struct sluice_census *record)
{
	(void)record;
	(*(int *)context)++;
	return -E2BIG;
}

static void test_what_cannot_be_asked(void **state)
{
	struct harness *harness = *state;
	int calls = 0;

	/* The helper of the agent's cgroup has sockets. */
	assert_int_equal(kern_census(cgroup_id(harness->agent_cgroup), stop, &calls), -E2BIG);
	assert_int_equal(calls, 1);
	assert_int_equal(kern_census(0, stop, &calls), -EINVAL);
	/* No cgroup has this id, so nothing is in it. */
	assert_int_equal(kern_census(UINT64_MAX, stop, &calls), 0);
	assert_int_equal(calls, 1);
}

static void unprivileged_body(void *context)
{
	const uint64_t *cgroup = context;
	int calls = 0;

	if (setuid(65534) < 0)
		_exit(6);
	_exit(kern_census(*cgroup, stop, &calls) == -EPERM && calls == 0 ? 0 : 7);
}

/* What the census cannot see is an error, never "no socket". */
static void test_without_privileges_it_fails(void **state)
{
	struct harness *harness = *state;
	uint64_t cgroup = cgroup_id(harness->agent_cgroup);

	assert_int_equal(harness_wait(harness_fork(NULL, unprivileged_body, &cgroup)), 0);
}

#define CENSUS_TEST(f) cmocka_unit_test_setup_teardown(f, harness_setup_open, harness_teardown)

int main(void)
{
	const struct CMUnitTest census[] = {
		CENSUS_TEST(test_sockets_tell_where_they_were_made),
		CENSUS_TEST(test_below_is_inside_and_above_is_not),
		CENSUS_TEST(test_none_is_lost_among_many),
		CENSUS_TEST(test_a_thread_with_a_table_of_its_own),
		CENSUS_TEST(test_a_cgroup_that_is_gone_was_inside),
		CENSUS_TEST(test_what_cannot_be_asked),
		CENSUS_TEST(test_without_privileges_it_fails),
	};

	return harness_run(census);
}
