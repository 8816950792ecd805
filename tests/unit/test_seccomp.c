/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The system call filter of run, tried by a child that loads it: which calls it
 * refuses, and how.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macros.h"
#include "cli/run.h"

#define HIGH (1l << 40)

/* err 0: allowed. The arguments are such that the kernel itself refuses otherwise. */
struct attempt {
	const char *name;
	long number, arg[6];
	int err;
};

static const struct attempt attempts[] = {
	{"unix", SYS_socket, {AF_UNIX, SOCK_STREAM, 0}, 0},
	{"inet", SYS_socket, {AF_INET, SOCK_STREAM, 0}, 0},
	{"inet6 udp", SYS_socket, {AF_INET6, SOCK_DGRAM, 0}, 0},
	{"inet, garbage above", SYS_socket, {AF_INET | HIGH, SOCK_STREAM, 0}, 0},
	{"netlink route", SYS_socket, {AF_NETLINK, SOCK_RAW, NETLINK_ROUTE}, 0},
	{"netlink diag", SYS_socket, {AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG}, EAFNOSUPPORT},
	{"netlink usersock", SYS_socket, {AF_NETLINK, SOCK_RAW, NETLINK_USERSOCK}, EAFNOSUPPORT},
	{"netlink protocol 2^31", SYS_socket, {AF_NETLINK, SOCK_RAW, 1l << 31}, EAFNOSUPPORT},
	{"netlink, hidden", SYS_socket, {AF_NETLINK | HIGH, SOCK_RAW, 4 | HIGH}, EAFNOSUPPORT},
	{"family 0", SYS_socket, {0, SOCK_STREAM, 0}, EAFNOSUPPORT},
	{"packet", SYS_socket, {AF_PACKET, SOCK_RAW, 0}, EAFNOSUPPORT},
	{"vsock", SYS_socket, {AF_VSOCK, SOCK_STREAM, 0}, EAFNOSUPPORT},
	{"vsock, hidden", SYS_socket, {AF_VSOCK | HIGH, SOCK_STREAM, 0}, EAFNOSUPPORT},
	{"alg", SYS_socket, {AF_ALG, SOCK_SEQPACKET, 0}, EAFNOSUPPORT},
	{"xdp", SYS_socket, {AF_XDP, SOCK_RAW, 0}, EAFNOSUPPORT},
	{"family 63", SYS_socket, {63, SOCK_STREAM, 0}, EAFNOSUPPORT},
	{"family 64", SYS_socket, {64, SOCK_STREAM, 0}, EAFNOSUPPORT},
	{"family 66", SYS_socket, {64 + AF_INET, SOCK_STREAM, 0}, EAFNOSUPPORT},
	{"family -1", SYS_socket, {-1, SOCK_STREAM, 0}, EAFNOSUPPORT},
	{"tipc pair", SYS_socketpair, {AF_TIPC, SOCK_STREAM, 0, 0}, EAFNOSUPPORT},
	{"unix pair", SYS_socketpair, {AF_UNIX, SOCK_STREAM, 0, 0}, EFAULT},
	{"bpf", SYS_bpf, {0, 0, 0}, EPERM},
	{"io_uring_setup", SYS_io_uring_setup, {1, 0}, ENOSYS},
	{"io_uring_enter", SYS_io_uring_enter, {-1, 0, 0, 0, 0}, ENOSYS},
	{"io_uring_register", SYS_io_uring_register, {-1, 0, 0, 0}, ENOSYS},
	{"clone3", SYS_clone3, {0, 0}, ENOSYS},
	{"clone of a user namespace", SYS_clone, {CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0}, EPERM},
	{"clone of a mount namespace", SYS_clone, {CLONE_NEWNS | SIGCHLD, 0, 0, 0, 0}, EPERM},
	{"unshare of nothing", SYS_unshare, {0}, 0},
	{"unshare of files", SYS_unshare, {CLONE_FILES}, 0},
	{"unshare of a user namespace", SYS_unshare, {CLONE_NEWUSER}, EPERM},
	{"unshare, garbage above", SYS_unshare, {CLONE_NEWUSER | HIGH}, EPERM},
	{"unshare of a net namespace", SYS_unshare, {CLONE_NEWNET | CLONE_FILES}, EPERM},
	{"unshare of a time namespace", SYS_unshare, {CLONE_NEWTIME}, EPERM},
	{"setns", SYS_setns, {-1, 0}, EPERM},
	{"ptrace", SYS_ptrace, {0x4206 /* PTRACE_SEIZE */, 0, 0, 0}, EPERM},
	{"process_vm_readv", SYS_process_vm_readv, {0, 0, 0, 0, 0, 0}, EPERM},
	{"process_vm_writev", SYS_process_vm_writev, {0, 0, 0, 0, 0, 0}, EPERM},
	{"pidfd_getfd", SYS_pidfd_getfd, {-1, 0, 0}, EPERM},
	{"pidfd_open", SYS_pidfd_open, {-1, 0}, EINVAL},
	{"kcmp", SYS_kcmp, {0, 0, 0, 0, 0}, EPERM},
	{"userfaultfd", SYS_userfaultfd, {0}, EPERM},
	{"perf_event_open", SYS_perf_event_open, {0, 0, -1, -1, 0}, EPERM},
	{"keyctl", SYS_keyctl, {0, 0, 0, 0, 0}, EPERM},
	{"add_key", SYS_add_key, {0, 0, 0, 0, 0}, EPERM},
	{"request_key", SYS_request_key, {0, 0, 0, 0}, EPERM},
	{"mount", SYS_mount, {0, 0, 0, 0, 0}, EPERM},
	{"umount2", SYS_umount2, {0, 0}, EPERM},
	{"pivot_root", SYS_pivot_root, {0, 0}, EPERM},
	{"open_tree", SYS_open_tree, {-1, 0, 0}, EPERM},
	{"move_mount", SYS_move_mount, {-1, 0, -1, 0, 0}, EPERM},
	{"fsopen", SYS_fsopen, {0, 0}, EPERM},
	{"fsmount", SYS_fsmount, {-1, 0, 0}, EPERM},
	{"mount_setattr", SYS_mount_setattr, {-1, 0, 0, 0, 0}, EPERM},
	{"TIOCSTI", SYS_ioctl, {-1, TIOCSTI, 0}, EPERM},
	{"TIOCSTI, hidden", SYS_ioctl, {-1, TIOCSTI | HIGH, 0}, EPERM},
	{"TIOCLINUX", SYS_ioctl, {-1, TIOCLINUX, 0}, EPERM},
	{"TIOCGWINSZ", SYS_ioctl, {-1, TIOCGWINSZ, 0}, EBADF},
};

static void load_filter(void)
{
	scmp_filter_ctx filter;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || run_seccomp_new(&filter) ||
	    seccomp_load(filter))
		_exit(1);
}

/* The errno of each attempt goes into the pipe; 0 where it succeeded. */
static void try_all(int out)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(attempts); i++) {
		const long *arg = attempts[i].arg;
		long result =
			syscall(attempts[i].number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
		int err = result < 0 ? errno : 0;

		if (write(out, &err, sizeof(err)) != sizeof(err))
			_exit(1);
	}
	_exit(0);
}

static void each_call_answers_as_it_should(void **state)
{
	int pipes[2], status, err;
	pid_t child;
	size_t i;

	(void)state;
	assert_int_equal(pipe(pipes), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		load_filter();
		try_all(pipes[1]);
	}
	(void)close(pipes[1]);
	for (i = 0; i < ARRAY_SIZE(attempts); i++) {
		assert_int_equal(read(pipes[0], &err, sizeof(err)), sizeof(err));
		if (err != attempts[i].err)
			fail_msg("%s gives errno %d, not %d", attempts[i].name, err,
				 attempts[i].err);
	}
	(void)close(pipes[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void a_process_can_still_be_made(void **state)
{
	int status;
	pid_t child = fork(), grandchild;

	(void)state;
	assert_true(child >= 0);
	if (child == 0) {
		load_filter();
		grandchild = fork();
		if (grandchild == 0)
			_exit(7);
		_exit(waitpid(grandchild, &status, 0) == grandchild ? WEXITSTATUS(status) : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

#ifdef __x86_64__
/* A system call of another architecture ends the process: how is 0 for x32, 1 for i386. */
static int foreign_call_status(int how)
{
	int status, result;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		load_filter();
		if (how == 0)
			(void)syscall(0x40000000 | SYS_getppid);
		else
			__asm__ volatile("int $0x80" : "=a"(result) : "a"(20) : "memory");
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static void foreign_calls_end_the_process(void **state)
{
	int how, status;

	(void)state;
	for (how = 0; how < 2; how++) {
		status = foreign_call_status(how);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), SIGSYS);
	}
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_call_answers_as_it_should),
		cmocka_unit_test(a_process_can_still_be_made),
#ifdef __x86_64__
		cmocka_unit_test(foreign_calls_end_the_process),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
