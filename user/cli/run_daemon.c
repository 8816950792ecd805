/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon that a run uses: the one that answers, or a private one for the command's lifetime. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/run.h"
#include "sys/clock.h"
#include "sys/fd.h"
#include "sys/log.h"

#define START_TIMEOUT_MS 60000
#define STOP_TIMEOUT_MS	 20000
#define READY_FD	 3

/* The daemon's process: of sluicectl's descriptors only 2 and its end of the lifeline. */
static void __attribute__((noreturn))
exec_daemon(const struct run_daemon *daemon, int lifeline, const char *program)
{
	const char *args[] = {program,	    "--private", "--instance", "",   "--socket", "",
			      "--ready-fd", "3",	 NULL,	       NULL, NULL};
	sigset_t none;
	int null;

	args[3] = daemon->instance;
	args[5] = daemon->socket;
	if (daemon->audit) {
		args[8] = "--audit";
		args[9] = daemon->audit;
	}
	/* A session of its own: the terminal's signals are for the command. */
	(void)setsid();
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	if (lifeline == READY_FD ? fcntl(READY_FD, F_SETFD, 0) : dup2(lifeline, READY_FD) < 0)
		_exit(CLI_EXIT_SLUICE);
	if (close_range(READY_FD + 1, ~0u, 0))
		_exit(CLI_EXIT_SLUICE);
	null = open("/dev/null", O_RDWR);
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
		_exit(CLI_EXIT_SLUICE);
	(void)close(null);
	(void)execvp(program, (char *const *)args);
	_exit(errno == ENOENT ? CLI_EXIT_NOT_FOUND : CLI_EXIT_NOT_EXECUTABLE);
}

/* The line that says how it went, without its newline; -ETIMEDOUT, -ECONNRESET without one. */
static int read_line(int fd, char *line, size_t room)
{
	uint64_t deadline = clock_boot_ns() + START_TIMEOUT_MS * CLOCK_NS_PER_MS;
	struct pollfd polled = {.fd = fd, .events = POLLIN};
	uint64_t now;
	size_t len = 0;
	ssize_t got;

	while ((now = clock_boot_ns()) < deadline) {
		if (poll(&polled, 1, (int)((deadline - now) / CLOCK_NS_PER_MS) + 1) < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		if (!polled.revents)
			continue;
		got = read(fd, line + len, room - 1 - len);
		if (got <= 0)
			return got < 0 ? -errno : -ECONNRESET;
		len += (size_t)got;
		line[len] = '\0';
		if (strchr(line, '\n')) {
			*strchr(line, '\n') = '\0';
			return 0;
		}
		if (len == room - 1)
			return -EPROTO;
	}
	return -ETIMEDOUT;
}

static int say_not_ready(struct run_daemon *daemon, int err, const char *line, const char *program)
{
	int status = 0;

	if (!err) {
		log_error("sluiced: %s",
			  strncmp(line, "error: ", 7) == 0 ? line + 7 : "an answer it cannot give");
		return -EREMOTEIO;
	}
	if (err == -ECONNRESET && waitpid(daemon->pid, &status, 0) == daemon->pid) {
		daemon->pid = 0;
		if (WIFEXITED(status) && WEXITSTATUS(status) == CLI_EXIT_NOT_FOUND)
			log_error("no daemon answers, and there is no '%s' to start one", program);
		else
			log_error("'%s' ended before it was ready (%s %d)", program,
				  WIFSIGNALED(status) ? "signal" : "status",
				  WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
		return err;
	}
	return log_errno(LOG_ERR, err, "'%s' does not become ready", program);
}

static int start_private(struct run_daemon *daemon)
{
	char program[PATH_MAX], line[512] = "";
	int pair[2], err;

	cli_find_sluiced(program);
	(void)snprintf(daemon->instance, sizeof(daemon->instance), "run-%d", (int)getpid());
	(void)snprintf(daemon->socket, sizeof(daemon->socket), "/run/sluice/%s.sock",
		       daemon->instance);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return log_errno(LOG_ERR, -errno, "cannot start a private daemon");
	daemon->lifeline = pair[0];
	daemon->pid = fork();
	if (daemon->pid == 0)
		exec_daemon(daemon, pair[1], program);
	err = daemon->pid < 0 ? -errno : 0;
	(void)close(pair[1]);
	if (err) {
		daemon->pid = 0;
		return log_errno(LOG_ERR, err, "cannot start a private daemon");
	}
	err = read_line(daemon->lifeline, line, sizeof(line));
	if (err || strcmp(line, "ready") != 0)
		return say_not_ready(daemon, err, line, program);
	err = rpc_client_new(daemon->socket, RPC_PATIENCE_MS, &daemon->client);
	if (err)
		return log_errno(LOG_ERR, err, "cannot reach the private daemon at '%s'",
				 daemon->socket);
	return 0;
}

int run_daemon_open(const struct cli *cli, bool has_policy, const char *audit,
		    struct run_daemon *ret_daemon)
{
	struct run_daemon daemon = {.lifeline = -1, .audit = audit};
	int err;

	err = cli_connect(cli, true, &daemon.client);
	if (err == -ENOENT || err == -ECONNREFUSED) {
		if (!has_policy) {
			log_error("no policy: no daemon answers at '%s', and a private one needs "
				  "--policy FILE",
				  cli->socket);
			return -EINVAL;
		}
		err = start_private(&daemon);
	} else if (!err && audit) {
		log_error("--audit is for a private daemon: the one at '%s' has a trail of its "
			  "own",
			  cli->socket);
		err = -EINVAL;
	}
	if (err) {
		run_daemon_close(&daemon);
		return err;
	}
	*ret_daemon = daemon;
	return 0;
}

/* Waits for the daemon's end and its wait status; false where it takes too long. */
static bool wait_end(pid_t pid, int *ret_status)
{
	uint64_t deadline = clock_boot_ns() + STOP_TIMEOUT_MS * CLOCK_NS_PER_MS;
	const struct timespec pause = {.tv_nsec = 5 * CLOCK_NS_PER_MS};
	struct pollfd polled = {.events = POLLIN};
	int fd cleanup(fd_closep) = (int)syscall(SYS_pidfd_open, pid, 0);

	polled.fd = fd;
	if (fd >= 0)
		(void)poll(&polled, 1, STOP_TIMEOUT_MS);
	while (waitpid(pid, ret_status, WNOHANG) == 0) {
		if (clock_boot_ns() >= deadline)
			return false;
		(void)nanosleep(&pause, NULL);
	}
	return true;
}

/* What a daemon that was killed has left: it could not clean up itself. */
static void remove_left(const struct run_daemon *daemon)
{
	char program[PATH_MAX];
	int status = 0;
	pid_t pid;

	cli_find_sluiced(program);
	pid = fork();
	if (pid == 0) {
		(void)execlp(program, program, "--remove", "--instance", daemon->instance,
			     (char *)NULL);
		_exit(CLI_EXIT_SLUICE);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
		log_warning("'sluiced --remove --instance %s' clears what the private daemon left",
			    daemon->instance);
}

void run_daemon_close(struct run_daemon *daemon)
{
	int status = 0;

	rpc_client_free(take_ptr(daemon->client));
	fd_close(take_fd(daemon->lifeline));
	if (!daemon->pid)
		return;
	if (!wait_end(daemon->pid, &status)) {
		log_warning("the private daemon does not end: it is killed");
		(void)kill(daemon->pid, SIGKILL);
		(void)waitpid(daemon->pid, &status, 0);
	}
	daemon->pid = 0;
	if (WIFSIGNALED(status))
		remove_left(daemon);
}
