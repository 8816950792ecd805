/* SPDX-License-Identifier: Apache-2.0 */
/* doctor: what this machine lacks for Sluice, what sees held bytes, and what stays open. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/doctor.h"
#include "sys/log.h"

void doctor_add(json_t *rows, const struct doctor_subject *subject, enum doctor_state state,
		const char *detail)
{
	static const char *const states[] = {
		[DOCTOR_NO] = "no", [DOCTOR_YES] = "yes", [DOCTOR_UNKNOWN] = "unknown"};

	(void)json_array_append_new(
		rows, json_pack("{s:s, s:s, s:b, s:s, s:s, s:s?}", "name", subject->name, "state",
				states[state], "required", (int)subject->required, "use",
				subject->use, "loss", subject->loss, "detail", detail));
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

static bool is_there(const json_t *row)
{
	return !strcmp(cli_text(row, "state"), "yes");
}

static bool all_present(const json_t *rows)
{
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		if (json_is_true(json_object_get(row, "required")) && !is_there(row))
			return false;
	}
	return true;
}

static void print_rows(const json_t *rows)
{
	static const char *const heads[] = {"CHECK", "RESULT", "FOR", "FOUND, OR WHAT IS LOST"};
	const json_t *row;
	struct table table;
	size_t i;

	table_init(&table, heads, ARRAY_SIZE(heads));
	json_array_foreach(rows, i, row)
	{
		const char *detail = json_string_value(json_object_get(row, "detail"));
		bool required = json_is_true(json_object_get(row, "required"));
		const char *state = cli_text(row, "state");

		table_add(&table, "%s", cli_text(row, "name"));
		table_add(&table, "%s",
			  is_there(row)		      ? "ok"
			  : !strcmp(state, "unknown") ? "unknown"
			  : required		      ? "MISSING"
						      : "absent");
		table_add(&table, "%s", cli_text(row, "use"));
		if (is_there(row))
			table_add(&table, "%s", detail ? detail : "");
		else
			table_add(&table, "%s%s%s%s", cli_text(row, "loss"), detail ? " (" : "",
				  detail ? detail : "", detail ? ")" : "");
	}
	table_print(&table);
}

/* "absent: NAME, NAME; " of those in that state. True: there are any. */
static bool print_those(const json_t *rows, const char *label, const char *state, bool required)
{
	const json_t *row;
	bool any = false;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		if (strcmp(cli_text(row, "state"), state) != 0 ||
		    json_is_true(json_object_get(row, "required")) != required)
			continue;
		(void)printf("%s%s", any ? ", " : label, cli_text(row, "name"));
		any = true;
	}
	(void)printf("%s", any ? "; " : "");
	return any;
}

/* What it comes to, also where there is nothing to warn of. */
static void print_conclusion(const json_t *rows, const json_t *warnings, bool complete)
{
	size_t count = json_array_size(warnings);
	bool lacking = print_those(rows, "MISSING: ", "no", true);

	lacking |= print_those(rows, "required, and unknown: ", "unknown", true);
	if (complete)
		(void)printf("all that is required is there; ");
	else if (!lacking)
		(void)printf("the kernel could not be asked; ");
	(void)print_those(rows, "absent: ", "no", false);
	(void)print_those(rows, "unknown: ", "unknown", false);
	if (count)
		(void)printf("%zu warning%s\n", count, text_plural(count));
	else
		(void)printf("no warnings\n");
}

static void print_warnings(const json_t *warnings)
{
	const json_t *warning;
	size_t i;

	json_array_foreach(warnings, i, warning)
	{
		bool elsewhere = !strcmp(cli_text(warning, "namespace"), "daemon");

		(void)printf("warning: %s", elsewhere ? "in the daemon's network namespace, " : "");
		cli_print_safe(cli_text(warning, "place"));
		(void)printf(": %s; %s\n", cli_text(warning, "sees"), cli_text(warning, "remedy"));
	}
}

/* What is put into the kernel before it may leave is what netfilter rules and the like see. */
static void print_eager(const json_t *status)
{
	const json_t *policy;
	bool any = false;
	size_t i;

	json_array_foreach(json_object_get(status, "policies"), i, policy)
	{
		long long bytes = (long long)cli_number(policy, "eager_bytes");

		if (!bytes)
			continue;
		(void)printf("held bytes: up to %lld of a flow wait in the kernel under policy ",
			     bytes);
		cli_print_safe(cli_text(policy, "name"));
		(void)printf("\n");
		any = true;
	}
	if (!any)
		(void)printf("held bytes: none wait in the kernel\n");
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
	(void)printf("metrics: ");
	cli_print_metrics(status);
	print_eager(status);
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
	json_t *rows = json_array(), *warnings = json_array(), *status, *view;
	bool complete;

	(void)config;
	(void)count;
	(void)args;
	doctor_check_host(rows);
	complete = doctor_check_kernel(rows) && all_present(rows);
	status = ask_daemon(cli);
	doctor_check_network(warnings, (pid_t)cli_number(status, "pid"));
	if (cli->json) {
		view = json_pack("{s:b, s:O, s:O, s:O?}", "ok", complete, "checks", rows,
				 "warnings", warnings, "daemon", status);
		cli_print_json(view);
		json_decref(view);
	} else {
		print_rows(rows);
		print_warnings(warnings);
		print_daemon(cli, status);
		print_conclusion(rows, warnings, complete);
	}
	json_decref(status);
	json_decref(warnings);
	json_decref(rows);
	return complete ? CLI_EXIT_DONE : CLI_EXIT_FAILED;
}

const struct command command_doctor = {
	.name = "doctor",
	.arguments = "",
	.summary = "Check what this machine offers, what sees held bytes, what stays open",
	.details = "Needs no daemon. Exit status 1 where something required is missing.",
	.flags = COMMAND_SOCKET | COMMAND_JSON,
	.usage_status = CLI_EXIT_USAGE,
	.run = run,
};
