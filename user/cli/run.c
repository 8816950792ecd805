/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/fd.h"
#include "sys/log.h"

struct run_config {
	const char *policy, *user, *audit;
};

static const struct option_spec options[] = {
	{"policy", "FILE", OPTION_TEXT, offsetof(struct run_config, policy),
	 "policy of this run (else the daemon's own)", 0, 0},
	{"user", "USER", OPTION_TEXT, offsetof(struct run_config, user),
	 "run as this user (else who called sudo, else nobody)", 0, 0},
	{"audit", "DIR", OPTION_TEXT, offsetof(struct run_config, audit),
	 "audit trail of a private daemon (else it keeps none)", 0, 0},
};

/* What sluicectl passes on to the command. */
static const int passed_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

struct run {
	struct run_user user;
	struct run_daemon daemon;
	json_int_t id; /* of the run; 0 before run.create */
	char *cgroup;
	struct run_child child;
	int signals;  /* signalfd */
	int lifeline; /* write end; init dies when it closes */
	int report;   /* read end */
	int pidfd;    /* of init */
	bool daemon_lost;
};

/* None of 0 to 2 is a socket by which a stream could pass the hooks. */
static int check_standard(void)
{
	socklen_t len;
	struct stat found;
	int fd, domain;

	for (fd = 0; fd <= 2; fd++) {
		if (fstat(fd, &found))
			return log_errno(LOG_ERR, -errno, "cannot look at descriptor %d", fd);
		len = sizeof(domain);
		if (!S_ISSOCK(found.st_mode))
			continue;
		if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) || domain != AF_UNIX) {
			log_error("descriptor %d is a network socket, which would not be mediated: "
				  "redirect it",
				  fd);
			return -EPERM;
		}
	}
	return 0;
}

static int open_signals(struct run *run)
{
	sigset_t passed;
	size_t i;

	(void)sigemptyset(&passed);
	for (i = 0; i < ARRAY_SIZE(passed_signals); i++)
		(void)sigaddset(&passed, passed_signals[i]);
	if (sigprocmask(SIG_BLOCK, &passed, &run->child.signals))
		return -errno;
	run->signals = signalfd(-1, &passed, SFD_CLOEXEC);
	return run->signals < 0 ? -errno : 0;
}

static int open_pipes(struct run *run)
{
	int lifeline[2], report[2];

	if (pipe2(lifeline, O_CLOEXEC))
		return -errno;
	run->child.lifeline = lifeline[0];
	run->lifeline = lifeline[1];
	if (pipe2(report, O_CLOEXEC))
		return -errno;
	run->report = report[0];
	run->child.report = report[1];
	return 0;
}

/* All that can fail without the daemon, before there is one. */
static int prepare(struct run *run, const struct run_config *config, char **args)
{
	int err;

	if (geteuid() != 0) {
		log_error("run needs root: sudo sluicectl run ... (the command runs as you)");
		return -EPERM;
	}
	err = check_standard();
	if (err)
		return err;
	err = run_user_find(config->user, &run->user);
	if (err)
		return err;
	err = run_seccomp_new(&run->child.filter);
	if (err)
		return log_errno(LOG_ERR, err, "cannot build the system call filter");
	err = open_pipes(run);
	if (err)
		return log_errno(LOG_ERR, err, "cannot prepare the run");
	run->child.user = &run->user;
	run->child.args = args;
	return 0;
}

static int create(struct run *run, const char *text)
{
	json_t *result = NULL;
	const char *procs;
	char error[512];
	json_t *params = json_pack("{s:s*}", "policy_text", text);
	int err;

	if (!params)
		return log_errno(LOG_ERR, -ENOMEM, "cannot create the run");
	err = rpc_client_call(run->daemon.client, "run.create", params, &result, error,
			      sizeof(error));
	if (err) {
		log_error("%s", error);
		return err;
	}
	run->id = cli_number(result, "id");
	/* The directory that holds cgroup.procs. */
	procs = json_string_value(json_object_get(result, "procs"));
	run->cgroup = procs && strrchr(procs, '/') ? strdup(procs) : NULL;
	json_decref(result);
	if (!run->cgroup)
		return log_errno(LOG_ERR, -EPROTO, "the daemon names no cgroup for the run");
	*strrchr(run->cgroup, '/') = '\0';
	return 0;
}

/* Waits until the command runs, or says why it does not. Returns 0 or an exit status. */
static int await_command(const struct run *run)
{
	struct run_failure failure;
	ssize_t got;

	do {
		got = read(run->report, &failure, sizeof(failure));
	} while (got < 0 && errno == EINTR);
	if (got == 0)
		return 0;
	if (got != sizeof(failure)) {
		log_error("the command's process sends no proper report");
		return CLI_EXIT_SLUICE;
	}
	failure.step[sizeof(failure.step) - 1] = '\0';
	(void)log_errno(LOG_ERR, failure.err, "%s '%s'",
			failure.status == CLI_EXIT_SLUICE ? "sandbox:" : "cannot run",
			failure.step);
	return failure.status;
}

static void pass_signal(const struct run *run)
{
	struct signalfd_siginfo info;

	/* The terminal's signals reach the command by themselves: it is in our group. */
	if (read(run->signals, &info, sizeof(info)) == sizeof(info) && info.ssi_code != SI_KERNEL)
		(void)syscall(SYS_pidfd_send_signal, run->pidfd, (int)info.ssi_signo, NULL, 0);
}

/* Until init ends. The daemon's end is said once: streams are closed from then on. */
static int wait_command(struct run *run)
{
	struct pollfd polled[] = {
		{.fd = run->pidfd, .events = POLLIN},
		{.fd = run->signals, .events = POLLIN},
		{.fd = rpc_client_fd(run->daemon.client), .events = POLLIN | POLLRDHUP},
	};
	siginfo_t info = {.si_pid = 0};

	while (!polled[0].revents) {
		if (poll(polled, ARRAY_SIZE(polled), -1) < 0)
			continue;
		if (polled[1].revents)
			pass_signal(run);
		if (polled[2].revents) {
			log_error("the daemon is gone: the command's streams are closed");
			run->daemon_lost = true;
			polled[2].fd = -1;
		}
	}
	while (waitid(P_PIDFD, (id_t)run->pidfd, &info, WEXITED) && errno == EINTR)
		;
	return info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
}

/* Ends the run with the daemon; its summary is printed unless Sluice failed. */
static int finish(struct run *run, bool summed_up)
{
	json_t *result = NULL;
	char error[512];
	int err;

	err = rpc_client_call(run->daemon.client, "run.finish", json_pack("{s:I}", "id", run->id),
			      &result, error, sizeof(error));
	if (err) {
		log_error("the run cannot be finished: %s", error);
		return err;
	}
	if (summed_up)
		run_summary_print(json_object_get(result, "summary"));
	json_decref(result);
	return 0;
}

static int execute(struct run *run)
{
	int status, ended, err;
	pid_t pid;

	/* Until here a signal ends sluicectl, and the daemon the run. */
	err = open_signals(run);
	if (!err)
		err = run_init_start(run->cgroup, &run->child, &pid, &run->pidfd);
	fd_close(take_fd(run->child.report));
	fd_close(take_fd(run->child.lifeline));
	if (err) {
		(void)log_errno(LOG_ERR, err, "cannot start a process in '%s'", run->cgroup);
		(void)finish(run, false);
		return CLI_EXIT_SLUICE;
	}
	status = await_command(run);
	ended = wait_command(run);
	if (run->daemon_lost) {
		log_error("the command ended with status %d; there is no summary", ended);
		return CLI_EXIT_SLUICE;
	}
	if (finish(run, status != CLI_EXIT_SLUICE))
		return CLI_EXIT_SLUICE;
	return status ? status : ended;
}

static int run_with_daemon(struct run *run, const struct cli *cli, const struct run_config *wanted,
			   const char *text)
{
	int status = CLI_EXIT_SLUICE;

	if (run_daemon_open(cli, text != NULL, wanted->audit, &run->daemon))
		return status;
	if (!create(run, text))
		status = execute(run);
	else if (run->id)
		(void)finish(run, false);
	run_daemon_close(&run->daemon);
	return status;
}

static int run_main(const struct cli *cli, const void *config, int count, char **args)
{
	const struct run_config *wanted = config;
	struct policy *policy cleanup(policy_unrefp) = NULL;
	struct run run = {.daemon.lifeline = -1,
			  .child = {.lifeline = -1, .report = -1},
			  .signals = -1,
			  .lifeline = -1,
			  .report = -1,
			  .pidfd = -1};
	char *text = NULL;
	int status = CLI_EXIT_SLUICE;

	(void)count;
	if ((!wanted->policy || !cli_load_policy(wanted->policy, &text, &policy)) &&
	    !prepare(&run, wanted, args))
		status = run_with_daemon(&run, cli, wanted, text);
	if (run.child.filter)
		seccomp_release(run.child.filter);
	fd_close(run.child.lifeline);
	fd_close(run.child.report);
	fd_close(run.signals);
	fd_close(run.lifeline);
	fd_close(run.report);
	fd_close(run.pidfd);
	free(run.cgroup);
	free(text);
	return status;
}

const struct command command_run = {
	.name = "run",
	.arguments = "[--] COMMAND [ARGUMENT...]",
	.summary = "Run a command whose streams are held until policy clears them",
	.details =
		"Needs root; the command never has it. Where no daemon answers, a private one\n"
		"serves this run and ends with it. The exit status is the command's, 128 plus\n"
		"the signal it died of, or 125 Sluice failed, 126 not executable, 127 not found.",
	.flags = COMMAND_SOCKET | COMMAND_STOP_EARLY,
	.usage_status = CLI_EXIT_SLUICE,
	.min_args = 1,
	.missing = "a command is missing: what is to run",
	.max_args = -1,
	.options = options,
	.option_count = ARRAY_SIZE(options),
	.config_size = sizeof(struct run_config),
	.run = run_main,
};
