/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/stream_row.h"

/* Cgroups that the first line names; of more it says how many. */
#define NAMED_MAX 3u

static void print_line(const char *name, const char *text)
{
	(void)printf("%-13s ", name);
	cli_print_safe(text);
	(void)printf("\n");
}

static bool enforces(const json_t *watch)
{
	return json_is_true(json_object_get(watch, "enforcing"));
}

/* "/a (policy x), /b (policy y) and 5 more" of those that enforce, or of those that do not. */
static void print_for_whom(const json_t *watches, bool enforcing, size_t count)
{
	const json_t *watch;
	size_t i, named = 0;

	json_array_foreach(watches, i, watch)
	{
		if (enforces(watch) != enforcing || named == NAMED_MAX)
			continue;
		(void)printf("%s", named++ ? ", " : "");
		cli_print_safe(stream_row_cgroup(cli_text(watch, "path")));
		(void)printf(" (policy ");
		cli_print_safe(cli_text(watch, "policy"));
		(void)printf(")");
	}
	if (count > named)
		(void)printf(" and %zu more", count - named);
}

/* Is anything enforced, and for whom? */
static void print_enforcement(const struct cli *cli, const json_t *watches)
{
	size_t all = json_array_size(watches), on = 0, i;
	const json_t *watch;

	json_array_foreach(watches, i, watch)
	{
		on += enforces(watch);
	}
	(void)printf("%-13s %s%s%s", "enforcement",
		     cli_on(cli, on == all && on ? STYLE_GOOD : STYLE_BAD), on ? "on" : "OFF",
		     cli_on(cli, STYLE_PLAIN));
	if (!all)
		(void)printf(": no cgroup is watched; 'sluicectl run' or 'sluicectl watch' "
			     "begins it");
	if (on) {
		(void)printf(" for %zu cgroup%s: ", on, text_plural(on));
		print_for_whom(watches, true, on);
	}
	if (all > on) {
		(void)printf("; only observed: ");
		print_for_whom(watches, false, all - on);
	}
	(void)printf("\n");
}

/* How many ways around it are known; each is listed with its watch. */
static void print_open_ways(const struct cli *cli, const json_t *watches)
{
	size_t ways = 0, i;
	const json_t *watch;

	json_array_foreach(watches, i, watch)
	{
		ways += json_array_size(json_object_get(watch, "open_ways"));
	}
	if (!json_array_size(watches))
		return;
	(void)printf("%-13s ", "stays open");
	if (ways)
		(void)printf("%s%zu way%s%s, listed with the watches below\n",
			     cli_on(cli, STYLE_WARN), ways, text_plural(ways),
			     cli_on(cli, STYLE_PLAIN));
	else
		(void)printf("no way that is known\n");
}

static void print_daemon(const json_t *status)
{
	(void)printf("%-13s %s, pid %lld, instance %s%s, ABI %lld\n", "sluiced",
		     cli_text(status, "version"), (long long)cli_number(status, "pid"),
		     cli_text(status, "instance"),
		     json_is_true(json_object_get(status, "private")) ? " (private)" : "",
		     (long long)cli_number(status, "abi"));
	(void)printf("%-13s port %lld\n", "listener", (long long)cli_number(status, "listen_port"));
	(void)printf("%-13s ", "metrics");
	cli_print_metrics(status);
	print_line("gate", cli_text(status, "self_test"));
	print_line("cgroup", cli_text(status, "cgroup"));
	print_line("pins", cli_text(status, "pins"));
	(void)printf("%-13s %s\n", "buffered",
		     json_is_false(json_object_get(status, "buffered_output")) ? "no" : "yes");
}

static void print_sums(const json_t *status)
{
	const json_t *streams = json_object_get(status, "streams");
	const json_t *sessions = json_object_get(status, "sessions");
	const json_t *runes = json_object_get(status, "runes");
	const json_t *bytes = json_object_get(status, "bytes");

	(void)printf(
		"%-13s %lld open, %lld in all: %lld complete, %lld denied, %lld failed\n",
		"streams", (long long)cli_number(streams, "open"),
		(long long)cli_number(streams, "total"), (long long)cli_number(streams, "complete"),
		(long long)cli_number(streams, "denied"), (long long)cli_number(streams, "failed"));
	(void)printf("%-13s %lld open; %lld complete, %lld denied, %lld rewritten, %lld failed\n",
		     "sessions", (long long)cli_number(sessions, "open"),
		     (long long)cli_number(sessions, "complete"),
		     (long long)cli_number(sessions, "denied"),
		     (long long)cli_number(sessions, "rewritten"),
		     (long long)cli_number(sessions, "failed"));
	(void)printf("%-13s %lld received, %lld released, %lld withheld\n", "runes",
		     (long long)cli_number(runes, "received"),
		     (long long)cli_number(runes, "released"),
		     (long long)cli_number(runes, "withheld"));
	(void)printf("%-13s %lld received, %lld released, %lld withheld\n", "bytes",
		     (long long)cli_number(bytes, "received"),
		     (long long)cli_number(bytes, "released"),
		     (long long)cli_number(bytes, "withheld"));
}

static void print_watches(const json_t *watches)
{
	const json_t *watch, *ways, *way;
	size_t i, j;

	json_array_foreach(watches, i, watch)
	{
		(void)printf("%-13s %lld (%s) ", "watch", (long long)cli_number(watch, "id"),
			     cli_text(watch, "kind"));
		cli_print_safe(cli_text(watch, "path"));
		(void)printf(", policy %s%s\n", cli_text(watch, "policy"),
			     json_is_false(json_object_get(watch, "enforcing"))
				     ? ", enforces nothing"
				     : "");
		ways = json_object_get(watch, "open_ways");
		json_array_foreach(ways, j, way)
		{
			print_line("  open", json_is_string(way) ? json_string_value(way) : "?");
		}
	}
}

/* Of a track that nothing gates there is no bound. */
static void print_bound(const json_t *policy, const char *track)
{
	const json_t *bound =
		json_object_get(json_object_get(policy, "exposure_bound_runes"), track);

	(void)printf(", %s ", track);
	if (json_is_integer(bound))
		(void)printf("%lld", (long long)json_integer_value(bound));
	else
		(void)printf("unbounded");
}

/* Of an interceptor: what it was asked, and what came of it. */
static void print_requests(json_t *requests)
{
	const char *key;
	json_t *value;

	if (!requests)
		return;
	(void)printf("%-13s", "    requests");
	json_object_foreach(requests, key, value)(void)
		printf(" %s %lld", key, (long long)json_integer_value(value));
	(void)printf("\n");
}

static void print_task(const json_t *task)
{
	(void)printf("%-13s %s (%s): ", "  task", cli_text(task, "name"), cli_text(task, "kind"));
	cli_print_interceptor(task);
	if (!json_object_get(task, "url"))
		cli_print_rules(task);
	(void)printf("%s\n", json_is_true(json_object_get(task, "warn_only")) ? ", warn only" : "");
	print_requests(json_object_get(task, "requests"));
}

static void print_policy(const json_t *policy)
{
	const json_t *tasks = json_object_get(policy, "tasks"), *task;
	const json_t *output = json_object_get(policy, "output_tasks"), *name;
	size_t i;

	(void)printf("%-13s ", "policy");
	cli_print_safe(cli_text(policy, "name"));
	(void)printf("%s, mode %s, safety_level %s; exposure bound in runes",
		     json_is_true(json_object_get(policy, "default")) ? " (default)" : "",
		     cli_text(policy, "mode"), cli_text(policy, "safety_level"));
	print_bound(policy, "request");
	print_bound(policy, "response");
	(void)printf("\n");
	json_array_foreach(tasks, i, task)
	{
		print_task(task);
	}
	json_array_foreach(output, i, name)
	{
		print_line("  output", json_is_string(name) ? json_string_value(name) : "?");
	}
}

static void print_policies(const json_t *policies)
{
	const json_t *policy;
	size_t i;

	json_array_foreach(policies, i, policy)
	{
		print_policy(policy);
	}
}

/* Counts by name; those that are 0 say nothing. */
static void print_counts(const char *label, json_t *counters)
{
	const char *name;
	json_t *value;

	json_object_foreach(counters, name, value)
	{
		if (json_integer_value(value))
			(void)printf("%-13s %s %lld\n", label, name,
				     (long long)json_integer_value(value));
	}
}

static int run(const struct cli *cli, const void *config, int count, char **args)
{
	json_t *status = NULL;

	(void)config;
	(void)count;
	(void)args;
	if (cli_call(cli, "status", NULL, &status))
		return CLI_EXIT_FAILED;
	if (cli->json) {
		cli_print_json(status);
	} else {
		print_enforcement(cli, json_object_get(status, "watches"));
		print_open_ways(cli, json_object_get(status, "watches"));
		print_daemon(status);
		print_sums(status);
		print_watches(json_object_get(status, "watches"));
		print_policies(json_object_get(status, "policies"));
		print_counts("finding", json_object_get(status, "findings"));
		print_counts("counter", json_object_get(status, "counters"));
	}
	json_decref(status);
	return CLI_EXIT_DONE;
}

const struct command command_status = {
	.name = "status",
	.arguments = "",
	.summary = "Show what is enforced, and the daemon, watches, policies and counters",
	.flags = COMMAND_SOCKET | COMMAND_JSON,
	.usage_status = CLI_EXIT_USAGE,
	.run = run,
};
