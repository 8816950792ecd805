/* SPDX-License-Identifier: Apache-2.0 */
/*
 * handover: starts a successor of the running daemon, which takes it over, and says how it went.
 * Without a program it is the command line of the running one, from where that was started: an
 * upgrade has put another program in its place.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/cli.h"
#include "sys/fd.h"
#include "sys/log.h"

#define WAIT_DEFAULT_S 10u
#define READY_FD       3
#define COMMAND_MAX    (64u << 10)
#define ARGUMENTS_MAX  512u

struct handover {
	uint64_t wait_s; /* 0: not given */
};

static const struct option_spec options[] = {
	{"wait", "SECONDS", OPTION_NUMBER, offsetof(struct handover, wait_s),
	 "for streams amid a message, at most (10)", 1, 3600},
};

/* The arguments of the running daemon, and where it was started. */
static int read_command(pid_t pid, char *text, size_t *ret_len, char *here, size_t here_len)
{
	char path[64];
	size_t len;
	FILE *file;

	(void)snprintf(here, here_len, "/proc/%d/cwd", (int)pid);
	(void)snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	len = fread(text, 1, COMMAND_MAX - 1, file);
	(void)fclose(file);
	if (!len || len == COMMAND_MAX - 1)
		return -ENODATA;
	text[len] = '\0';
	*ret_len = len;
	return 0;
}

/* Those but what concerned that process alone: of whom it took over, and who waited for it. */
static size_t split(char *text, size_t len, char **args, size_t room)
{
	size_t count = 0;
	bool value = false;

	for (char *at = text; at < text + len && count < room; at += strlen(at) + 1) {
		if (value)
			value = false;
		else if (strcmp(at, "--takeover") == 0 || strcmp(at, "--ready-fd") == 0)
			value = true;
		else
			args[count++] = at;
	}
	return count;
}

/* The daemon's process, and the policies that it has by name; 0 after a line. */
static pid_t find_daemon(const struct cli *cli, json_t **ret_policies)
{
	struct rpc_client *client cleanup(rpc_client_freep) = NULL;
	struct ucred peer;
	socklen_t len = sizeof(peer);
	char error[512];

	if (cli_connect(cli, false, &client))
		return 0;
	if (getsockopt(rpc_client_fd(client), SOL_SOCKET, SO_PEERCRED, &peer, &len)) {
		(void)log_errno(LOG_ERR, -errno, "cannot tell the daemon's process");
		return 0;
	}
	if (rpc_client_call(client, "policy.show", NULL, ret_policies, error, sizeof(error)))
		*ret_policies = NULL;
	return peer.pid;
}

static const json_t *find_policy(const json_t *policies, const char *name)
{
	const json_t *list = json_object_get(policies, "policies"), *policy;
	size_t i;

	json_array_foreach(list, i, policy)
	{
		if (strcmp(cli_text(policy, "name"), name) == 0)
			return policy;
	}
	return NULL;
}

/* The successor has its own files: what calls had loaded is gone. */
static void print_dropped(const struct cli *cli, const json_t *before)
{
	const json_t *list = json_object_get(before, "policies"), *policy, *now;
	json_t *after = NULL;
	const char *name;
	size_t i;

	if (!json_array_size(list) || cli_call(cli, "policy.show", NULL, &after))
		return;
	json_array_foreach(list, i, policy)
	{
		name = cli_text(policy, "name");
		now = find_policy(after, name);
		if (now && strcmp(cli_text(now, "digest"), cli_text(policy, "digest")) == 0)
			continue;
		(void)printf("policy ");
		cli_print_safe(name);
		(void)printf(now ? " has another text now, that of the new daemon's file\n"
				 : " is gone: 'sluicectl policy load FILE' brings it back\n");
	}
	json_decref(after);
}

/* In a session of its own: it outlives this process and its terminal. */
static void __attribute__((noreturn)) exec_successor(char **args, const char *here, int ready)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)setsid();
	if (here && chdir(here))
		_exit(CLI_EXIT_NOT_EXECUTABLE);
	if (ready == READY_FD ? fcntl(READY_FD, F_SETFD, 0) : dup2(ready, READY_FD) < 0)
		_exit(CLI_EXIT_FAILED);
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
	    close_range(READY_FD + 1, ~0u, 0))
		_exit(CLI_EXIT_FAILED);
	(void)execvp(args[0], args);
	_exit(errno == ENOENT ? CLI_EXIT_NOT_FOUND : CLI_EXIT_NOT_EXECUTABLE);
}

static int await(int fd, const char *program)
{
	FILE *file = fdopen(fd, "r");
	char line[512] = "", taken[128] = "";
	bool said = file && fgets(line, sizeof(line), file);
	bool more = said && fgets(taken, sizeof(taken), file);

	if (file)
		(void)fclose(file);
	line[strcspn(line, "\n")] = '\0';
	if (said && strcmp(line, "ready") == 0) {
		taken[strcspn(taken, "\n")] = '\0';
		cli_print_safe(taken);
		(void)printf("%s", more ? "\n" : "");
		return CLI_EXIT_DONE;
	}
	if (said)
		log_error("%s; the running daemon goes on, unless that says otherwise",
			  strncmp(line, "error: ", 7) == 0 ? line + 7 : line);
	else
		log_error("'%s' could not be started, or ended before it was ready", program);
	return CLI_EXIT_FAILED;
}

static int start(char **args, const char *here)
{
	int pair[2];
	pid_t pid;

	if (pipe2(pair, O_CLOEXEC)) {
		(void)log_errno(LOG_ERR, -errno, "cannot start a successor");
		return CLI_EXIT_FAILED;
	}
	pid = fork();
	if (pid == 0)
		exec_successor(args, here, pair[1]);
	(void)close(pair[1]);
	if (pid < 0) {
		(void)log_errno(LOG_ERR, -errno, "cannot start a successor");
		(void)close(pair[0]);
		return CLI_EXIT_FAILED;
	}
	return await(pair[0], args[0]);
}

/* What is run: the arguments, or those of the running daemon, whose place is in here. */
static size_t choose(pid_t pid, int count, char **args, char *text, char *here, size_t here_len,
		     char **all, size_t room)
{
	size_t used = 0, len = 0;
	int err;

	for (; used < (size_t)count && used < room; used++)
		all[used] = args[used];
	if (count)
		return used;
	err = read_command(pid, text, &len, here, here_len);
	if (err)
		(void)log_errno(LOG_ERR, err, "cannot read the command line of process %d",
				(int)pid);
	return err ? 0 : split(text, len, all, room);
}

static int run(const struct cli *cli, const void *config, int count, char **args)
{
	const struct handover *handover = config;
	char text[COMMAND_MAX], here[64], wait[24], *all[ARGUMENTS_MAX + 5];
	json_t *policies = NULL;
	pid_t pid = find_daemon(cli, &policies);
	size_t used = 0;
	int status = CLI_EXIT_FAILED;

	if (pid)
		used = choose(pid, count, args, text, here, sizeof(here), all, ARGUMENTS_MAX);
	if (used) {
		(void)snprintf(
			wait, sizeof(wait), "%llu",
			(unsigned long long)(handover->wait_s ? handover->wait_s : WAIT_DEFAULT_S));
		all[used++] = "--takeover";
		all[used++] = wait;
		all[used++] = "--ready-fd";
		all[used++] = "3";
		all[used] = NULL;
		status = start(all, count ? NULL : here);
	}
	if (status == CLI_EXIT_DONE)
		print_dropped(cli, policies);
	json_decref(policies);
	return status;
}

const struct command command_handover = {
	.name = "handover",
	.arguments = "[-- COMMAND [ARGUMENT...]]",
	.summary = "Let another sluiced take the running one over, for an upgrade",
	.details =
		"Connects are not refused meanwhile, and streams between two messages go on. For\n"
		"the others the daemon waits; what is amid a message then ends as failed.\n"
		"Without COMMAND: as the running daemon was started. Prints how many streams were\n"
		"handed over, and which policies the new daemon lacks: those that calls had "
		"loaded.",
	.flags = COMMAND_SOCKET | COMMAND_STOP_EARLY,
	.usage_status = CLI_EXIT_USAGE,
	.max_args = -1,
	.options = options,
	.option_count = ARRAY_SIZE(options),
	.config_size = sizeof(struct handover),
	.run = run,
};
