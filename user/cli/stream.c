/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

static void print_line(const char *name, const char *text)
{
	(void)printf("%-10s ", name);
	cli_print_safe(text);
	(void)printf("\n");
}

/* The watermark, and who is behind. */
static void print_cleared(const json_t *flow)
{
	const char *slowest = json_string_value(json_object_get(flow, "slowest"));

	if (!json_is_integer(json_object_get(flow, "runes_cleared")))
		return;
	(void)printf("%-10s cleared %lld of %lld runes", "",
		     (long long)cli_number(flow, "runes_cleared"),
		     (long long)cli_number(flow, "runes_received"));
	if (slowest) {
		(void)printf("; slowest: ");
		cli_print_safe(slowest);
	}
	(void)printf("\n");
}

/* In a sentence, why its oldest byte is held, and for how long. */
static void print_why(const struct cli *cli, const json_t *flow)
{
	const char *why = json_string_value(json_object_get(flow, "why"));
	const json_t *age = json_object_get(flow, "held_age_s");

	if (!why)
		return;
	(void)printf("%-10s %s", "",
		     cli_number(flow, "held") ? cli_on(cli, STYLE_STRONG)
					      : cli_on(cli, STYLE_FAINT));
	cli_print_safe(why);
	if (json_is_real(age))
		(void)printf(" (held for %.1f s)", json_real_value(age));
	(void)printf("%s\n", cli_on(cli, STYLE_PLAIN));
}

static void print_flow(const struct cli *cli, const char *name, const json_t *flow)
{
	const json_t *tasks = json_object_get(flow, "tasks"), *task;
	const char *fault = json_string_value(json_object_get(flow, "fault"));
	size_t i;

	(void)printf("%-10s %lld bytes received, %lld framed, %lld released, %lld sent, %lld held; "
		     "%lld runes, %lld confirmed%s\n",
		     name, (long long)cli_number(flow, "received"),
		     (long long)cli_number(flow, "framed"), (long long)cli_number(flow, "released"),
		     (long long)cli_number(flow, "sent"), (long long)cli_number(flow, "held"),
		     (long long)cli_number(flow, "runes_received"),
		     (long long)cli_number(flow, "runes_confirmed"),
		     json_is_true(json_object_get(flow, "eof")) ? "; at its end" : "");
	(void)printf("%-10s %s", "", json_array_size(tasks) ? "tasks:" : "no tasks");
	json_array_foreach(tasks, i, task)
	{
		(void)printf("%s ", i ? "," : "");
		cli_print_safe(json_is_string(task) ? json_string_value(task)
						    : cli_text(task, "name"));
	}
	(void)printf("\n");
	print_cleared(flow);
	print_why(cli, flow);
	if (fault)
		print_line("  fault", fault);
}

/* "sessions   1 open, 3 complete" */
static void print_sessions(json_t *sessions)
{
	const char *end, *before = "";
	json_t *count;

	(void)printf("%-10s ", "sessions");
	json_object_foreach(sessions, end, count)
	{
		if (!json_integer_value(count))
			continue;
		(void)printf("%s%lld %s", before, (long long)json_integer_value(count), end);
		before = ", ";
	}
	(void)printf("%s\n", *before ? "" : "none");
}

static void print_stream(const struct cli *cli, const json_t *stream)
{
	const json_t *session = json_object_get(stream, "session");

	(void)printf("%-10s %lld\n", "stream", (long long)cli_number(stream, "id"));
	print_line("state", cli_text(stream, "state"));
	(void)printf("%-10s %.1f s\n", "age", json_number_value(json_object_get(stream, "age_s")));
	(void)printf("%-10s %lld (uid %lld) ", "process", (long long)cli_number(stream, "pid"),
		     (long long)cli_number(stream, "uid"));
	cli_print_safe(cli_text(stream, "comm"));
	(void)printf("\n");
	print_line("cgroup", cli_text(stream, "cgroup"));
	print_line("peer", cli_text(stream, "peer"));
	print_line("policy", cli_text(stream, "policy"));
	print_line("action", cli_text(stream, "action"));
	print_line("framing", cli_text(stream, "framing"));
	print_line("level", strcmp(cli_text(stream, "mode"), "observe") == 0
				    ? "observe: nothing is enforced"
				    : cli_text(stream, "safety_level"));
	print_flow(cli, "request", json_object_get(stream, "request"));
	print_flow(cli, "response", json_object_get(stream, "response"));
	print_sessions(json_object_get(stream, "sessions"));
	if (json_is_object(session)) {
		print_line("session", cli_text(session, "end"));
		print_line("  error", cli_text(session, "error"));
		print_line("  reason", cli_text(session, "reason"));
	}
}

static int run(const struct cli *cli, const void *config, int count, char **args)
{
	json_t *result = NULL;
	json_int_t id;

	(void)config;
	(void)count;
	if (cli_parse_id(args[0], "stream", &id))
		return CLI_EXIT_USAGE;
	if (cli_call(cli, "stream", json_pack("{s:I}", "id", id), &result))
		return CLI_EXIT_FAILED;
	if (cli->json)
		cli_print_json(result);
	else
		print_stream(cli, result);
	json_decref(result);
	return CLI_EXIT_DONE;
}

const struct command command_stream = {
	.name = "stream",
	.arguments = "ID",
	.summary = "Show one stream, and why it is held",
	.details = "ID is the number that 'sluicectl streams' prints. The sentence below each\n"
		   "direction says what its oldest byte waits for.",
	.flags = COMMAND_SOCKET | COMMAND_JSON,
	.usage_status = CLI_EXIT_USAGE,
	.min_args = 1,
	.max_args = 1,
	.run = run,
};
