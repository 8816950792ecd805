/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor: what this machine lacks for Sluice, and what stays open. The kernel's
 * features are probed by the daemon's program, which alone knows BPF.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/run.h"
#include "sys/cgroup.h"
#include "sys/fd.h"
#include "sys/log.h"

#define ANSWER_MAX (1u << 20)

static void add_check(json_t *checks, const char *name, bool present, bool required,
		      const char *use, const char *loss)
{
	(void)json_array_append_new(checks, json_pack("{s:s, s:b, s:b, s:s, s:s}", "name", name,
						      "present", present, "required", required,
						      "use", use, "loss", loss));
}

static bool kernel_is_new(void)
{
	struct utsname name;
	unsigned int major = 0, minor = 0;

	return !uname(&name) && sscanf(name.release, "%u.%u", &major, &minor) == 2 &&
	       (major > 6 || (major == 6 && minor >= 1));
}

static bool filter_builds(void)
{
	scmp_filter_ctx filter;

	if (run_seccomp_new(&filter))
		return false;
	seccomp_release(filter);
	return true;
}

static void check_host(json_t *checks)
{
	char mount[CGROUP_PATH_MAX], program[PATH_MAX];

	add_check(checks, "root", geteuid() == 0, true, "loading BPF programs, starting runs",
		  "run this as root");
	add_check(checks, "kernel 6.1", kernel_is_new(), true, "the oldest supported kernel",
		  "nothing is tested here");
	add_check(checks, "cgroup v2", cgroup_mount(mount, sizeof(mount)) == 0, true,
		  "watched cgroups", "nothing can be watched: mount -t cgroup2");
	add_check(checks, "pid namespaces", access("/proc/self/ns/pid", F_OK) == 0, true, "run",
		  "no run");
	add_check(checks, "seccomp", filter_builds(), true,
		  "run: socket families that no cgroup hook sees", "no run");
	cli_find_sluiced(program);
	add_check(checks, "sluiced", strchr(program, '/') != NULL, false,
		  "the daemon's program beside this one", "what PATH finds is used");
}

static void __attribute__((noreturn)) exec_check(int output)
{
	char program[PATH_MAX];

	cli_find_sluiced(program);
	if (dup2(output, STDOUT_FILENO) < 0)
		_exit(CLI_EXIT_FAILED);
	(void)execlp(program, program, "--check", (char *)NULL);
	_exit(errno == ENOENT ? CLI_EXIT_NOT_FOUND : CLI_EXIT_FAILED);
}

static json_t *read_answer(int fd)
{
	char *text = malloc(ANSWER_MAX);
	json_t *answer;
	size_t len = 0;
	ssize_t got;

	while (text && len < ANSWER_MAX) {
		got = read(fd, text + len, ANSWER_MAX - len);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		len += (size_t)got;
	}
	answer = text ? json_loadb(text, len, 0, NULL) : NULL;
	free(text);
	return answer;
}

/* The rows of `sluiced --check`; NULL after a line where it gives none. */
static json_t *probe_kernel(void)
{
	int pipes[2], status = 0;
	json_t *answer, *rows;
	pid_t pid;

	if (pipe2(pipes, O_CLOEXEC))
		return NULL;
	(void)fflush(stdout);
	pid = fork();
	if (pid == 0)
		exec_check(pipes[1]);
	(void)close(pipes[1]);
	answer = pid < 0 ? NULL : read_answer(pipes[0]);
	(void)close(pipes[0]);
	if (pid > 0)
		(void)waitpid(pid, &status, 0);
	rows = json_is_array(answer) ? answer : json_object_get(answer, "features");
	if (!json_is_array(rows)) {
		log_error("'sluiced --check' gives no answer%s",
			  WIFEXITED(status) && WEXITSTATUS(status) == CLI_EXIT_NOT_FOUND
				  ? ": there is no sluiced"
				  : "");
		json_decref(answer);
		return NULL;
	}
	json_incref(rows);
	json_decref(answer);
	return rows;
}

/* The daemon's status, or NULL where none answers. */
static json_t *ask_daemon(const struct cli *cli)
{
	struct rpc_client *client cleanup(rpc_client_freep) = NULL;
	json_t *status = NULL;
	char error[512];

	if (cli_connect(cli, true, &client))
		return NULL;
	if (rpc_client_call(client, "status", NULL, &status, error, sizeof(error)))
		log_error("%s", error);
	return status;
}

static bool all_present(const json_t *checks)
{
	const json_t *check;
	size_t i;

	json_array_foreach(checks, i, check)
	{
		if (json_is_true(json_object_get(check, "required")) &&
		    !json_is_true(json_object_get(check, "present")))
			return false;
	}
	return true;
}

static void print_checks(const json_t *checks)
{
	static const char *const heads[] = {"CHECK", "RESULT", "FOR", "WITHOUT IT"};
	const json_t *check;
	struct table table;
	bool present, required;
	size_t i;

	table_init(&table, heads, ARRAY_SIZE(heads));
	json_array_foreach(checks, i, check)
	{
		present = json_is_true(json_object_get(check, "present"));
		required = json_is_true(json_object_get(check, "required"));
		table_add(&table, "%s", cli_text(check, "name"));
		table_add(&table, "%s", present ? "ok" : required ? "MISSING" : "absent");
		table_add(&table, "%s", cli_text(check, "use"));
		table_add(&table, "%s", present ? "" : cli_text(check, "loss"));
	}
	table_print(&table);
}

static void print_daemon(const struct cli *cli, const json_t *status)
{
	const json_t *watches, *watch, *ways, *way;
	size_t i, j;

	if (!status) {
		(void)printf("daemon: none answers at %s\n", cli->socket);
		return;
	}
	(void)printf("daemon: pid %lld, gate %s\n", (long long)cli_number(status, "pid"),
		     cli_text(status, "self_test"));
	watches = json_object_get(status, "watches");
	json_array_foreach(watches, i, watch)
	{
		ways = json_object_get(watch, "open_ways");
		json_array_foreach(ways, j, way)
		{
			(void)printf("open in ");
			cli_print_safe(cli_text(watch, "path"));
			(void)printf(": ");
			cli_print_safe(json_is_string(way) ? json_string_value(way) : "?");
			(void)printf("\n");
		}
	}
}

static int run(const struct cli *cli, const void *config, int count, char **args)
{
	json_t *checks = json_array(), *kernel, *status, *view;
	bool complete;

	(void)config;
	(void)count;
	(void)args;
	check_host(checks);
	kernel = probe_kernel();
	(void)json_array_extend(checks, kernel);
	complete = kernel && all_present(checks);
	status = ask_daemon(cli);
	if (cli->json) {
		view = json_pack("{s:b, s:O, s:O?}", "ok", complete, "checks", checks, "daemon",
				 status);
		cli_print_json(view);
		json_decref(view);
	} else {
		print_checks(checks);
		print_daemon(cli, status);
	}
	json_decref(kernel);
	json_decref(status);
	json_decref(checks);
	return complete ? CLI_EXIT_DONE : CLI_EXIT_FAILED;
}

const struct command command_doctor = {
	.name = "doctor",
	.arguments = "",
	.summary = "Check what this machine offers, and what stays open",
	.details = "Needs no daemon. Exit status 1 where something required is missing.",
	.flags = COMMAND_SOCKET | COMMAND_JSON,
	.usage_status = CLI_EXIT_USAGE,
	.run = run,
};
