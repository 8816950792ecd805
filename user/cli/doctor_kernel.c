/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's features are probed by the daemon's program, which alone knows BPF. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/doctor.h"
#include "sys/log.h"

#define ANSWER_MAX (1u << 20)

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

/* NULL after a line. */
static json_t *ask_sluiced(void)
{
	int pipes[2], status = 0;
	json_t *answer;
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
	if (json_is_array(answer))
		return answer;
	log_error("'sluiced --check' gives no answer%s",
		  WIFEXITED(status) && WEXITSTATUS(status) == CLI_EXIT_NOT_FOUND
			  ? ": there is no sluiced"
			  : "");
	json_decref(answer);
	return NULL;
}

/* A probe that was not permitted says nothing about the kernel. */
static enum doctor_state state_of(const json_t *feature, int error)
{
	if (json_is_true(json_object_get(feature, "present")))
		return DOCTOR_YES;
	return error == EPERM || error == EACCES ? DOCTOR_UNKNOWN : DOCTOR_NO;
}

bool doctor_check_kernel(json_t *rows)
{
	json_t *features = ask_sluiced();
	const json_t *feature;
	size_t i;

	json_array_foreach(features, i, feature)
	{
		const struct doctor_subject subject = {
			.name = cli_text(feature, "name"),
			.use = cli_text(feature, "use"),
			.loss = cli_text(feature, "loss"),
			.required = json_is_true(json_object_get(feature, "required")),
		};
		int error = (int)cli_number(feature, "error");

		doctor_add(rows, &subject, state_of(feature, error),
			   error ? strerror(error) : NULL);
	}
	json_decref(features);
	return features != NULL;
}
