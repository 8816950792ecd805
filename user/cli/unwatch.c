/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/watch.h"
#include "sys/log.h"

struct unwatch_config {
	struct watch_target target;
};

static const struct option_spec options[] = {
	WATCH_TARGET_OPTIONS(struct unwatch_config),
};

/* NULL after a line, with the exit status. */
static json_t *make_params(const struct watch_target *target, int count, char **args,
			   int *ret_status)
{
	json_t *params = NULL;
	char cgroup[PATH_MAX];
	json_int_t id;

	if (count && strspn(args[0], "0123456789") == strlen(args[0])) {
		*ret_status = CLI_EXIT_FAILED;
		if (!cli_parse_id(args[0], "watch", &id))
			params = json_pack("{s:I}", "id", id);
		return params;
	}
	*ret_status = watch_target_find("unwatch", target, count, args, cgroup);
	if (*ret_status == CLI_EXIT_DONE)
		params = json_pack("{s:s}", "cgroup", cgroup);
	return params;
}

static int run(const struct cli *cli, const void *config, int count, char **args)
{
	const struct unwatch_config *unwatch = config;
	json_t *params, *result = NULL;
	int status;

	if (count && (unwatch->target.unit || unwatch->target.container)) {
		log_error("unwatch: one watch is needed: an argument, --unit or --container");
		return CLI_EXIT_USAGE;
	}
	params = make_params(&unwatch->target, count, args, &status);
	if (!params)
		return status;
	if (cli_call(cli, "unwatch", params, &result))
		return CLI_EXIT_FAILED;
	if (cli->json)
		cli_print_json(result);
	json_decref(result);
	return CLI_EXIT_DONE;
}

const struct command command_unwatch = {
	.name = "unwatch",
	.arguments = "[WATCH]",
	.summary = "End a watch",
	.details =
		"WATCH is its number, or its cgroup, as 'sluicectl status' lists them; --unit and\n"
		"--container name the cgroup as they do with watch. Streams that are open are\n"
		"judged to their end under the policy they began with; what the cgroup's\n"
		"processes connect to afterwards is not mediated any more.",
	.flags = COMMAND_SOCKET | COMMAND_JSON,
	.usage_status = CLI_EXIT_USAGE,
	.max_args = 1,
	.options = options,
	.option_count = ARRAY_SIZE(options),
	.config_size = sizeof(struct unwatch_config),
	.run = run,
};
