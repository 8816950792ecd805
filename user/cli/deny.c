/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/cli.h"
#include "sys/log.h"

static int run(const struct cli *cli, const void *config, int count, char **args)
{
	json_t *result = NULL;
	json_int_t id;

	(void)config;
	(void)count;
	if (cli_parse_id(args[0], "stream", &id))
		return CLI_EXIT_USAGE;
	if (cli_call(cli, "deny", json_pack("{s:I}", "id", id), &result))
		return CLI_EXIT_FAILED;
	if (cli->json)
		cli_print_json(result);
	json_decref(result);
	return CLI_EXIT_DONE;
}

const struct command command_deny = {
	.name = "deny",
	.arguments = "ID",
	.summary = "Deny a stream: what it holds is withheld, and it ends",
	.details = "The stream ends denied, its open sessions failed, with the reason 'operator'. "
		   "With\n"
		   "on_deny refuse the agent is told so where its protocol has a way to say it;\n"
		   "else, and towards the peer, the connection is reset.",
	.flags = COMMAND_SOCKET | COMMAND_JSON,
	.usage_status = CLI_EXIT_USAGE,
	.min_args = 1,
	.max_args = 1,
	.run = run,
};
