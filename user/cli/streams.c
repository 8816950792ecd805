/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/cli.h"
#include "cli/stream_row.h"

static const char *const heads[] = {
	"ID",	   "STATE",	  "AGE",	  "CGROUP",  "PID",	 "UID",
	"COMMAND", "PEER",	  "FRAMING",	  "LEVEL",   "REQ HELD", "RESP HELD",
	"OLDEST",  "REQ CLEARED", "RESP CLEARED", "SLOWEST", "WHY"};

static void add_stream(struct table *table, const json_t *stream)
{
	char cleared[STREAM_CLEARED_LEN];
	struct stream_row row;
	size_t i;

	stream_row_read(stream, &row);
	table_add(table, "%lld", row.id);
	table_add(table, "%s", row.state);
	table_add(table, "%.0fs", row.age_s);
	table_add(table, "%s", *row.cgroup ? row.cgroup : "-");
	table_add(table, "%lld", row.pid);
	table_add(table, "%lld", row.uid);
	table_add(table, "%s", row.comm);
	table_add(table, "%s", row.peer);
	table_add(table, "%s", row.framing);
	table_add(table, "%s", row.level);
	table_add(table, "%lld", row.tracks[ROW_REQUEST].held);
	table_add(table, "%lld", row.tracks[ROW_RESPONSE].held);
	if (row.holds)
		table_add(table, "%.1fs", row.held_age_s);
	else
		table_add(table, "-");
	for (i = 0; i < ROW_TRACKS; i++) {
		stream_row_cleared(&row.tracks[i], cleared);
		table_add(table, "%s", cleared);
	}
	table_add(table, "%s", *row.slowest ? row.slowest : "-");
	table_add(table, "%s", row.why);
}

static void print_streams(const struct cli *cli, const json_t *list)
{
	const json_t *stream;
	struct table table;
	size_t i;

	if (!json_array_size(list)) {
		(void)printf("no streams\n");
		return;
	}
	table_init(&table, heads, ARRAY_SIZE(heads));
	table.colors = cli->colors;
	json_array_foreach(list, i, stream)
	{
		add_stream(&table, stream);
	}
	table_print(&table);
}

static int run(const struct cli *cli, const void *config, int count, char **args)
{
	json_t *result = NULL;

	(void)config;
	(void)count;
	(void)args;
	if (cli->json)
		return cli_call_print(cli, "streams", NULL) ? CLI_EXIT_FAILED : CLI_EXIT_DONE;
	if (cli_call(cli, "streams", json_pack("{s:b}", "brief", 1), &result))
		return CLI_EXIT_FAILED;
	print_streams(cli, json_object_get(result, "streams"));
	json_decref(result);
	return CLI_EXIT_DONE;
}

const struct command command_streams = {
	.name = "streams",
	.arguments = "",
	.summary = "List the open streams",
	.details =
		"REQ is the request track: agent to peer where the agent connected. HELD counts\n"
		"bytes that wait, OLDEST is how long the oldest of them has. CLEARED is the\n"
		"watermark against what was received, in runes; of a track that nothing gates\n"
		"only what was received. SLOWEST is the task that is waited for. 'sluicectl top'\n"
		"shows the same live, 'sluicectl stream ID' all of one.",
	.flags = COMMAND_SOCKET | COMMAND_JSON,
	.usage_status = CLI_EXIT_USAGE,
	.run = run,
};
