/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/cli.h"

static int run(const struct cli *cli, const void *config, int count, char **args)
{
	(void)config;
	(void)count;
	(void)args;
	if (cli->json)
		(void)printf("{\"version\": \"%s\"}\n", SLUICE_VERSION);
	else
		(void)printf("sluicectl %s\n", SLUICE_VERSION);
	return CLI_EXIT_DONE;
}

const struct command command_version = {
	.name = "version",
	.arguments = "",
	.summary = "Print the version",
	.flags = COMMAND_JSON,
	.usage_status = CLI_EXIT_USAGE,
	.run = run,
};
