/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "bpf/harness.h"

/* Where cgroup2 is mounted: the line's fifth field, where its type says so. */
static void cgroup_mount(char *path, size_t len)
{
	char line[1024], where[128], type[64];
	FILE *file = fopen("/proc/self/mountinfo", "re");

	assert_non_null(file);
	path[0] = '\0';
	while (!path[0] && fgets(line, sizeof(line), file)) {
		const char *rest = strstr(line, " - ");

		if (rest && sscanf(line, "%*s %*s %*s %*s %127s", where) == 1 &&
		    sscanf(rest, " - %63s", type) == 1 && strcmp(type, "cgroup2") == 0)
			(void)snprintf(path, len, "%s", where);
	}
	(void)fclose(file);
	assert_true(path[0]);
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		fail_msg("cannot write '%s': %s", path, strerror(errno));
	(void)close(fd);
}

void harness_sysctl(const char *name, const char *value)
{
	char path[256];

	(void)snprintf(path, sizeof(path), "/proc/sys/%s", name);
	write_file(path, value);
}

void harness_join(const char *cgroup)
{
	char path[300];

	(void)snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
	write_file(path, "0");
}

static void loopback_up(void)
{
	struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	assert_true(fd >= 0);
	assert_int_equal(ioctl(fd, SIOCSIFFLAGS, &request), 0);
	(void)close(fd);
}

pid_t harness_fork(const char *cgroup, void (*body)(void *context), void *context)
{
	pid_t parent = getpid(), pid = fork();

	if (pid != 0)
		return pid;
	/* Nothing of the test outlives it. */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	if (cgroup)
		harness_join(cgroup);
	body(context);
	_exit(0);
}

int harness_wait(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

struct socket_request {
	int family, type, protocol;
};

/* Answers with an errno, and with the socket where there is one. */
static void helper_answer(int fd, int made, int error)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec part = {.iov_base = &error, .iov_len = sizeof(error)};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	if (made >= 0) {
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.head), &made, sizeof(made));
	}
	(void)sendmsg(fd, &message, MSG_NOSIGNAL);
}

static void helper_body(void *context)
{
	struct helper *helper = context;
	struct socket_request request;

	while (recv(helper->fd, &request, sizeof(request), 0) == sizeof(request)) {
		int made = socket(request.family, request.type, request.protocol);

		helper_answer(helper->fd, made, made < 0 ? errno : 0);
		if (made >= 0)
			(void)close(made);
	}
}

static void helper_start(struct helper *helper, const char *cgroup)
{
	struct helper child;
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	child.fd = pair[1];
	helper->fd = pair[0];
	helper->pid = harness_fork(cgroup, helper_body, &child);
	assert_true(helper->pid > 0);
	(void)close(pair[1]);
}

static void helper_stop(struct helper *helper)
{
	if (helper->pid <= 0)
		return;
	(void)close(helper->fd);
	(void)kill(helper->pid, SIGKILL);
	(void)harness_wait(helper->pid);
	helper->pid = 0;
}

int helper_socket(const struct helper *helper, int family, int type, int protocol)
{
	const struct socket_request request = {family, type, protocol};
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	int error = 0, fd;
	struct iovec part = {.iov_base = &error, .iov_len = sizeof(error)};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};

	assert_int_equal(send(helper->fd, &request, sizeof(request), 0), sizeof(request));
	assert_int_equal(recvmsg(helper->fd, &message, MSG_CMSG_CLOEXEC), sizeof(error));
	if (error)
		return -error;
	assert_non_null(CMSG_FIRSTHDR(&message));
	memcpy(&fd, CMSG_DATA(&control.head), sizeof(fd));
	return fd;
}

static void make_place(struct harness *harness)
{
	char mount_point[100], root[128];

	assert_int_equal(unshare(CLONE_NEWNS | CLONE_NEWNET), 0);
	assert_int_equal(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	loopback_up();
	(void)snprintf(harness->dir, sizeof(harness->dir), "/tmp/sluice-test.%d", (int)getpid());
	assert_int_equal(mkdir(harness->dir, 0700), 0);
	(void)snprintf(mount_point, sizeof(mount_point), "%s/bpf", harness->dir);
	assert_int_equal(mkdir(mount_point, 0700), 0);
	assert_int_equal(mount("bpf", mount_point, "bpf", 0, NULL), 0);
	(void)snprintf(harness->pins, sizeof(harness->pins), "%s/sluice/test", mount_point);

	cgroup_mount(root, sizeof(root));
	(void)snprintf(harness->old_cgroup, sizeof(harness->old_cgroup), "%s", root);
	(void)snprintf(harness->daemon_cgroup, sizeof(harness->daemon_cgroup),
		       "%s/sluice-test-%d-daemon", root, (int)getpid());
	(void)snprintf(harness->agent_cgroup, sizeof(harness->agent_cgroup),
		       "%s/sluice-test-%d-agent", root, (int)getpid());
	assert_int_equal(mkdir(harness->daemon_cgroup, 0755), 0);
	assert_int_equal(mkdir(harness->agent_cgroup, 0755), 0);
}

int harness_setup(void **state)
{
	struct harness *harness = calloc(1, sizeof(*harness));

	assert_non_null(harness);
	harness->listener[0] = harness->listener[1] = -1;
	*state = harness;
	make_place(harness);
	helper_start(&harness->agent, harness->agent_cgroup);
	helper_start(&harness->outside, NULL);
	harness_join(harness->daemon_cgroup);
	return 0;
}

int harness_setup_open(void **state)
{
	(void)harness_setup(state);
	harness_open(*state);
	return 0;
}

int harness_setup_watched(void **state)
{
	(void)harness_setup(state);
	harness_watch(*state);
	return 0;
}

static void remove_cgroup(const char *path)
{
	int tries;

	/* A process that was killed leaves it a moment later. */
	for (tries = 0; rmdir(path) < 0 && errno == EBUSY && tries < 100; tries++)
		(void)usleep(10000);
}

int harness_teardown(void **state)
{
	struct harness *harness = *state;
	char mount_point[100];
	int r = 0;

	helper_stop(&harness->agent);
	helper_stop(&harness->outside);
	(void)close(harness->listener[0]);
	(void)close(harness->listener[1]);
	if (harness->kern)
		r = kern_remove(harness->kern);
	harness_join(harness->old_cgroup);
	remove_cgroup(harness->daemon_cgroup);
	remove_cgroup(harness->agent_cgroup);
	(void)snprintf(mount_point, sizeof(mount_point), "%s/bpf", harness->dir);
	(void)umount2(mount_point, MNT_DETACH);
	(void)rmdir(mount_point);
	(void)rmdir(harness->dir);
	free(harness);
	return r;
}

void harness_open(struct harness *harness)
{
	const struct kern_options options = {
		.pin_dir = harness->pins,
		.instance = HARNESS_INSTANCE,
		.daemon_cgroup = harness->daemon_cgroup,
		.listen_port = HARNESS_PORT,
	};
	char error[256] = "";
	int r = kern_open(&options, &harness->kern, error, sizeof(error));

	if (r < 0)
		fail_msg("kern_open: %s (%s)", strerror(-r), error);
}

static int listen_marked(struct harness *harness, int family)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
	struct sockaddr_storage address;
	socklen_t len = address_make(&address, family, family == AF_INET ? "127.0.0.1" : "::1",
				     HARNESS_PORT);

	assert_true(fd >= 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)), 0);
	assert_int_equal(kern_mark_listener(harness->kern, fd), 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, len), 0);
	assert_int_equal(listen(fd, 4096), 0);
	return fd;
}

void harness_listen(struct harness *harness)
{
	if (!harness->kern)
		harness_open(harness);
	if (harness->listener[0] >= 0)
		return;
	harness->listener[0] = listen_marked(harness, AF_INET);
	harness->listener[1] = listen_marked(harness, AF_INET6);
	assert_int_equal(kern_route_set(harness->kern, AF_INET, true), 0);
	assert_int_equal(kern_route_set(harness->kern, AF_INET6, true), 0);
}

void harness_watch(struct harness *harness)
{
	struct sluice_policy policy = {0};

	harness_listen(harness);
	assert_int_equal(kern_policy_set(harness->kern, HARNESS_POLICY, &policy, NULL, 0), 0);
	assert_int_equal(kern_watch(harness->kern, harness->agent_cgroup, HARNESS_POLICY,
				    SLUICE_DNS_RESOLVERS, &harness->watch),
			 0);
}

uint64_t harness_counter(struct harness *harness, enum sluice_counter counter)
{
	uint64_t counters[_SLUICE_COUNTER_MAX];

	assert_int_equal(kern_counters(harness->kern, counters), 0);
	return counters[counter];
}

int harness_map(const struct harness *harness, const char *name)
{
	char path[256];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", harness->pins, name);
	fd = bpf_obj_get(path);
	assert_true(fd >= 0);
	return fd;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
	(void)status;
	(void)kind;
	(void)walk;
	(void)remove(path);
	return 0;
}

/* What tests that were killed could not take away themselves. */
static void clean_up(pid_t pid)
{
	static const char *const kinds[] = {"daemon", "agent"};
	char root[128], path[256];
	size_t i;

	cgroup_mount(root, sizeof(root));
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		(void)snprintf(path, sizeof(path), "%s/sluice-test-%d-%s", root, (int)pid,
			       kinds[i]);
		remove_cgroup(path);
	}
	(void)snprintf(path, sizeof(path), "/tmp/sluice-test.%d", (int)pid);
	(void)nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

/*
 * The tests run in a child, so that a signal that ends them, or a crash, leaves
 * someone who cleans up: namespaces go by themselves, cgroups do not.
 */
int harness_run_tests(const char *name, const struct CMUnitTest *tests, size_t count)
{
	sigset_t wanted, old;
	int signal_number, status;
	pid_t pid;

	if (geteuid() != 0) {
		print_message("1..0 # SKIP %s: needs root\n", name);
		return HARNESS_SKIP;
	}
	(void)sigemptyset(&wanted);
	(void)sigaddset(&wanted, SIGCHLD);
	(void)sigaddset(&wanted, SIGTERM);
	(void)sigaddset(&wanted, SIGINT);
	(void)sigprocmask(SIG_BLOCK, &wanted, &old);
	pid = fork();
	if (pid == 0) {
		(void)sigprocmask(SIG_SETMASK, &old, NULL);
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)signal(SIGPIPE, SIG_IGN);
		status = _cmocka_run_group_tests(name, tests, count, NULL, NULL);
		(void)fflush(NULL);
		_exit(status > 125 ? 125 : status);
	}
	if (pid < 0 || sigwait(&wanted, &signal_number) != 0)
		return 1;
	if (signal_number != SIGCHLD)
		(void)kill(pid, SIGKILL);
	status = harness_wait(pid);
	clean_up(pid);
	return status;
}

int harness_reopen(struct harness *harness, char error[static HARNESS_ERROR])
{
	const struct kern_options options = {
		.pin_dir = harness->pins,
		.instance = HARNESS_INSTANCE,
		.daemon_cgroup = harness->daemon_cgroup,
		.listen_port = HARNESS_PORT,
	};
	struct kern *kern = NULL;
	int r;

	error[0] = '\0';
	r = kern_open(&options, &kern, error, HARNESS_ERROR);
	if (r == 0)
		harness->kern = kern;
	else
		assert_null(kern);
	return r;
}
