/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "sys/log.h"

static int run(const struct cli *cli, const void *config, int count, char **args)
{
	json_t *params = NULL, *result = NULL;
	json_int_t id;

	(void)config;
	(void)count;
	if (strspn(args[0], "0123456789") == strlen(args[0])) {
		if (cli_parse_id(args[0], "watch", &id))
			return CLI_EXIT_FAILED;
		params = json_pack("{s:I}", "id", id);
	} else {
		params = json_pack("{s:s}", "cgroup", args[0]);
	}
	if (!params) {
		log_error("'%s' is no watch and no cgroup", args[0]);
		return CLI_EXIT_FAILED;
	}
	if (cli_call(cli, "unwatch", params, &result))
		return CLI_EXIT_FAILED;
	if (cli->json)
		cli_print_json(result);
	json_decref(result);
	return CLI_EXIT_DONE;
}

const struct command command_unwatch = {
	.name = "unwatch",
	.arguments = "ID|CGROUP",
	.summary = "End a watch",
	.details =
		"Streams that are open are judged to their end under the policy they began with;\n"
		"what the cgroup's processes connect to afterwards is not mediated any more.",
	.flags = COMMAND_SOCKET | COMMAND_JSON,
	.usage_status = CLI_EXIT_USAGE,
	.min_args = 1,
	.max_args = 1,
	.run = run,
};
