/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/cli.h"

static const char *const heads[] = {"ID",	 "STATE",     "AGE",	  "PID",      "COMMAND",
				    "PEER",	 "ACTION",    "FRAMING",  "REQ HELD", "REQ SENT",
				    "RESP HELD", "RESP SENT", "SESSIONS", "WHY"};

/* Why a stream ended, or what a flow of it runs into. */
static const char *why(const json_t *stream)
{
	const json_t *session = json_object_get(stream, "session");
	const char *keys[] = {"request", "response"};
	const char *fault;
	size_t i;

	fault = json_string_value(json_object_get(session, "reason"));
	for (i = 0; !fault && i < ARRAY_SIZE(keys); i++)
		fault = json_string_value(
			json_object_get(json_object_get(stream, keys[i]), "fault"));
	return fault ? fault : "";
}

/* How many sessions a stream has had, the open ones among them. */
static long long count_sessions(const json_t *stream)
{
	json_t *sessions = json_object_get(stream, "sessions"), *count;
	const char *end;
	long long sum = 0;

	json_object_foreach(sessions, end, count)
	{
		sum += (long long)json_integer_value(count);
	}
	return sum;
}

static void add_stream(struct table *table, const json_t *stream)
{
	const json_t *request = json_object_get(stream, "request");
	const json_t *response = json_object_get(stream, "response");

	table_add(table, "%lld", (long long)cli_number(stream, "id"));
	table_add(table, "%s", cli_text(stream, "state"));
	table_add(table, "%.0fs", json_number_value(json_object_get(stream, "age_s")));
	table_add(table, "%lld", (long long)cli_number(stream, "pid"));
	table_add(table, "%s", cli_text(stream, "comm"));
	table_add(table, "%s", cli_text(stream, "peer"));
	table_add(table, "%s", cli_text(stream, "action"));
	table_add(table, "%s", cli_text(stream, "framing"));
	table_add(table, "%lld", (long long)cli_number(request, "held"));
	table_add(table, "%lld", (long long)cli_number(request, "sent"));
	table_add(table, "%lld", (long long)cli_number(response, "held"));
	table_add(table, "%lld", (long long)cli_number(response, "sent"));
	table_add(table, "%lld", count_sessions(stream));
	table_add(table, "%s", why(stream));
}

static int run(const struct cli *cli, const void *config, int count, char **args)
{
	json_t *result = NULL;
	const json_t *list, *stream;
	struct table table;
	size_t i;

	(void)config;
	(void)count;
	(void)args;
	if (cli_call(cli, "streams", NULL, &result))
		return CLI_EXIT_FAILED;
	list = json_object_get(result, "streams");
	if (cli->json) {
		cli_print_json(result);
	} else if (!json_array_size(list)) {
		(void)printf("no streams\n");
	} else {
		table_init(&table, heads, ARRAY_SIZE(heads));
		json_array_foreach(list, i, stream)
		{
			add_stream(&table, stream);
		}
		table_print(&table);
	}
	json_decref(result);
	return CLI_EXIT_DONE;
}

const struct command command_streams = {
	.name = "streams",
	.arguments = "",
	.summary = "List the open streams",
	.details = "HELD counts bytes that wait for policy, SENT bytes that have left; both by\n"
		   "track: REQ is agent to peer where the agent connected. SESSIONS counts the\n"
		   "exchanges that were or are accounted for: of http1 one for each request.",
	.flags = COMMAND_SOCKET | COMMAND_JSON,
	.usage_status = CLI_EXIT_USAGE,
	.run = run,
};
