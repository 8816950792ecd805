/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Init: the first process of the command's pid namespace. It is born inside the
 * watched cgroup, gives up everything, starts the command, reaps what is left to
 * it, passes signals on, and ends with the command's status, which ends all that
 * still lives in the namespace.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/run.h"
#include "sys/fd.h"

#define STATUS_OF_SIGNAL 128

static void report(const struct run_child *child, int status, int err, const char *step)
{
	struct run_failure failure = {.status = status, .err = err};

	(void)snprintf(failure.step, sizeof(failure.step), "%s", step);
	/* A pipe takes this whole or not at all; without it sluicectl sees the exit status. */
	if (write(child->report, &failure, sizeof(failure)) < 0)
		_exit(CLI_EXIT_SLUICE);
	_exit(status);
}

/* Closes everything but 0 to 2 and the two pipes. */
static int close_others(const struct run_child *child)
{
	unsigned int low = (unsigned int)MIN(child->lifeline, child->report);
	unsigned int high = (unsigned int)MAX(child->lifeline, child->report);

	if (low > 3 && close_range(3, low - 1, 0))
		return -errno;
	if (high > low + 1 && close_range(low + 1, high - 1, 0))
		return -errno;
	return close_range(high + 1, ~0u, 0) ? -errno : 0;
}

/* Whether PATH leads to a file of that name that this user can see. */
static bool is_on_path(const char *name)
{
	const char *path = getenv("PATH"), *end;
	char candidate[PATH_MAX];

	for (; path && *path; path = *end ? end + 1 : end) {
		end = strchrnul(path, ':');
		if (snprintf(candidate, sizeof(candidate), "%.*s/%s", (int)(end - path), path,
			     name) < (int)sizeof(candidate) &&
		    access(candidate, F_OK) == 0)
			return true;
	}
	return false;
}

/*
 * Why execvp() failed. It says EACCES where any directory of PATH is closed to
 * this user, root's own for instance, although the command is nowhere.
 */
static int exec_error(const char *name, int err)
{
	return err == EACCES && !strchr(name, '/') && !is_on_path(name) ? ENOENT : err;
}

static int exec_status(int err)
{
	return err == ENOENT || err == ENOTDIR ? CLI_EXIT_NOT_FOUND : CLI_EXIT_NOT_EXECUTABLE;
}

/* The command's process: the filter goes in last, then nothing of ours is left. */
static void __attribute__((noreturn)) start_command(const struct run_child *child)
{
	int err;

	(void)close(child->lifeline);
	if (sigprocmask(SIG_SETMASK, &child->signals, NULL))
		report(child, CLI_EXIT_SLUICE, -errno, "restoring the signal mask");
	err = seccomp_load(child->filter);
	if (err)
		report(child, CLI_EXIT_SLUICE, err, "loading the system call filter");
	(void)execvp(child->args[0], child->args);
	err = exec_error(child->args[0], errno);
	report(child, exec_status(err), -err, child->args[0]);
	_exit(CLI_EXIT_SLUICE);
}

/* What a wait status is as an exit status, the way a shell says it. */
static int status_code(int status)
{
	return WIFSIGNALED(status) ? STATUS_OF_SIGNAL + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Reaps all; ends init where the command is among them. */
static void reap(pid_t command)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (pid == command)
			_exit(status_code(status));
}

static void handle_signal(const struct signalfd_siginfo *info, pid_t command)
{
	if (info->ssi_signo == SIGCHLD)
		reap(command);
	else if (info->ssi_code != SI_KERNEL)
		(void)kill(command, (int)info->ssi_signo);
	/* A signal of the terminal has reached the whole foreground group by itself. */
}

static void __attribute__((noreturn))
supervise(const struct run_child *child, int signals, pid_t command)
{
	struct pollfd polled[] = {{.fd = signals, .events = POLLIN}, {.fd = child->lifeline}};
	struct signalfd_siginfo info;

	for (;;) {
		if (poll(polled, ARRAY_SIZE(polled), -1) < 0 && errno != EINTR)
			_exit(CLI_EXIT_SLUICE);
		if (polled[1].revents)
			_exit(CLI_EXIT_SLUICE); /* sluicectl is gone */
		if (polled[0].revents && read(signals, &info, sizeof(info)) == sizeof(info))
			handle_signal(&info, command);
	}
}

/*
 * Init must not outlive sluicectl. The kernel forgets this at every change of
 * identity, so it comes after; a parent that died before shows in the lifeline.
 */
static int tie_to_parent(const struct run_child *child)
{
	struct pollfd lifeline = {.fd = child->lifeline};

	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0))
		return -errno;
	return poll(&lifeline, 1, 0) == 0 ? 0 : -EOWNERDEAD;
}

static int open_signals(int *ret_fd)
{
	sigset_t all;
	int fd;

	if (sigfillset(&all) || sigdelset(&all, SIGSEGV) || sigdelset(&all, SIGBUS) ||
	    sigdelset(&all, SIGFPE) || sigdelset(&all, SIGILL) || sigdelset(&all, SIGABRT) ||
	    sigdelset(&all, SIGCONT) || sigdelset(&all, SIGTSTP) || sigdelset(&all, SIGTTIN) ||
	    sigdelset(&all, SIGTTOU) || sigdelset(&all, SIGPIPE) || sigdelset(&all, SIGWINCH))
		return -errno;
	if (sigprocmask(SIG_SETMASK, &all, NULL))
		return -errno;
	fd = signalfd(-1, &all, SFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

static void __attribute__((noreturn)) init_main(const struct run_child *child)
{
	const char *step = "closing descriptors";
	int err, signals = -1;
	pid_t command;

	err = close_others(child);
	if (!err)
		err = run_sandbox_view(&step);
	if (!err)
		err = run_sandbox_drop(child->user, &step);
	if (!err) {
		step = "tying init to sluicectl";
		err = tie_to_parent(child);
	}
	if (!err) {
		step = "taking signals";
		err = open_signals(&signals);
	}
	if (err)
		report(child, CLI_EXIT_SLUICE, err, step);
	command = fork();
	if (command < 0)
		report(child, CLI_EXIT_SLUICE, -errno, "starting the command's process");
	if (command == 0)
		start_command(child);
	(void)close(child->report);
	supervise(child, signals, command);
}

int run_init_start(const char *cgroup, const struct run_child *child, pid_t *ret_pid,
		   int *ret_pidfd)
{
	int cgroup_fd cleanup(fd_closep) = open(cgroup, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int pidfd = -1;
	struct clone_args args = {
		.flags = CLONE_INTO_CGROUP | CLONE_NEWPID | CLONE_NEWNS | CLONE_PIDFD,
		.pidfd = (uintptr_t)&pidfd,
		.exit_signal = SIGCHLD,
	};
	long pid;

	if (cgroup_fd < 0)
		return -errno;
	args.cgroup = (uint64_t)cgroup_fd;
	/* Born in the cgroup: there is no moment at which it is outside. */
	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (pid < 0)
		return -errno;
	if (pid == 0)
		init_main(child);
	*ret_pid = (pid_t)pid;
	*ret_pidfd = pidfd;
	return 0;
}
