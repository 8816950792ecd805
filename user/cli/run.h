/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run: a command in a watched cgroup of its own, from which nothing but mediated
 * streams leads out.
 *
 * The processes: sluicectl (root, outside) starts init (the first process of a
 * new pid namespace, born inside the cgroup), which starts the command and lives
 * as long as it does. When sluicectl dies, however it dies, init dies, and with
 * it everything in the namespace.
 *
 * Invariants:
 *  R1. Nothing of the command runs before it is in the cgroup, unprivileged, in
 *      its namespaces and under the filter; a step that fails ends the run.
 *  R2. The command and init never have uid 0, a capability, or a descriptor of
 *      sluicectl's but 0 to 2, none of which is a socket that leads out.
 *  R3. Every failure before the command runs is one line and status 125 (126,
 *      127 for the command itself), and leaves nothing behind.
 */
#ifndef SLUICE_CLI_RUN_H
#define SLUICE_CLI_RUN_H

#include <jansson.h>
#include <limits.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>
#include <sys/un.h>

#include "base/macros.h"
#include "cli/cli.h"

#define RUN_GROUPS_MAX 256

/* Whom the command runs as. */
struct run_user {
	uid_t uid;
	gid_t gid;
	gid_t groups[RUN_GROUPS_MAX];
	int group_count;
	char name[64];
	char home[PATH_MAX];
};

/* The daemon that is used; pid is 0 unless it is our own. */
struct run_daemon {
	pid_t pid;
	int lifeline; /* the private daemon ends when this closes; -1 */
	char instance[32];
	char socket[sizeof(((struct sockaddr_un *)0)->sun_path)];
	const char *audit; /* NULL: no trail */
	struct rpc_client *client;
};

/* What the child needs, made ready before it exists. */
struct run_child {
	const struct run_user *user;
	scmp_filter_ctx filter;
	sigset_t signals; /* the mask the command gets */
	char **args;
	int lifeline; /* read end: hangs up when sluicectl is gone */
	int report;   /* write end: struct run_failure, or closed where the command runs */
};

/* Why there is no command, written by the child into the report pipe. */
struct run_failure {
	int status; /* enum cli_exit */
	int err;    /* -errno */
	char step[160];
};

/* Says in one line why there is no such user, or why it may not be. */
int run_user_find(const char *wanted, struct run_user *ret_user) must_check;

/*
 * Connects to the daemon of that socket, or to a private one it starts. Says what failed.
 * audit: directory of a private one's trail, or NULL; a daemon that answers has its own, and
 * is then refused.
 */
int run_daemon_open(const struct cli *cli, bool has_policy, const char *audit,
		    struct run_daemon *ret_daemon) must_check;
/* Ends a private daemon and waits until it has cleaned up. */
void run_daemon_close(struct run_daemon *daemon);

/* The system call filter, built but not loaded; seccomp_release() frees it. */
int run_seccomp_new(scmp_filter_ctx *ret_filter) must_check;

/*
 * In the child. Namespaces' contents, then identity: on failure *ret_step names
 * the step. run_sandbox_view must come first and as root.
 */
int run_sandbox_view(const char **ret_step) must_check;
int run_sandbox_drop(const struct run_user *user, const char **ret_step) must_check;

/* Starts init in the cgroup; its command's failure comes through the report pipe. */
int run_init_start(const char *cgroup, const struct run_child *child, pid_t *ret_pid,
		   int *ret_pidfd) must_check;

/* The line at the end, and one of advice for each reason that has some. */
void run_summary_print(const json_t *summary);

#endif
