/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "core/utf8.h"
#include "sys/log.h"

struct watch_config {
	const char *policy;
	bool destroy;
};

static const struct option_spec options[] = {
	{"policy", "FILE", OPTION_TEXT, offsetof(struct watch_config, policy),
	 "policy of this cgroup (else the daemon's own)", 0, 0},
	{"destroy", NULL, OPTION_FLAG, offsetof(struct watch_config, destroy),
	 "destroy the sockets that live in it already", 0, 0},
};

static void print_ways(const json_t *result)
{
	const json_t *ways = json_object_get(result, "open_ways"), *way;
	size_t i;

	if (!json_array_size(ways)) {
		(void)printf("no way that is known stays open\n");
		return;
	}
	(void)printf("stays open (seccomp cannot be added to what runs already):\n");
	json_array_foreach(ways, i, way)
	{
		(void)printf("  ");
		cli_print_safe(json_is_string(way) ? json_string_value(way) : "?");
		(void)printf("\n");
	}
}

static int run(const struct cli *cli, const void *config, int count, char **args)
{
	const struct watch_config *watch = config;
	struct policy *policy cleanup(policy_unrefp) = NULL;
	json_t *params, *result = NULL;
	char *text = NULL;
	uint64_t runes;

	(void)count;
	if (utf8_prefix((const uint8_t *)args[0], strlen(args[0]), &runes) != strlen(args[0])) {
		log_error("the path of CGROUP is not UTF-8");
		return CLI_EXIT_FAILED;
	}
	if (watch->policy && cli_load_policy(watch->policy, &text, &policy))
		return CLI_EXIT_FAILED;
	params = json_pack("{s:s, s:b, s:s*}", "cgroup", args[0], "destroy", watch->destroy,
			   "policy_text", text);
	free(text);
	if (!params) {
		log_error("not enough memory");
		return CLI_EXIT_FAILED;
	}
	if (cli_call(cli, "watch", params, &result))
		return CLI_EXIT_FAILED;
	if (cli->json) {
		cli_print_json(result);
	} else {
		(void)printf("watch %lld: ", (long long)cli_number(result, "id"));
		cli_print_safe(cli_text(result, "path"));
		(void)printf("\n");
		print_ways(result);
	}
	json_decref(result);
	return CLI_EXIT_DONE;
}

const struct command command_watch = {
	.name = "watch",
	.arguments = "CGROUP",
	.summary = "Mediate the processes of an existing cgroup",
	.details =
		"CGROUP is a cgroup v2 directory, as a path or relative to its mount. What\n"
		"its processes have connected already is not mediated: without --destroy the\n"
		"watch is refused where there is any, and so it is, with it too, where they have\n"
		"sockets that were made outside CGROUP. Prints what stays open for it.",
	.flags = COMMAND_SOCKET | COMMAND_JSON,
	.usage_status = CLI_EXIT_USAGE,
	.min_args = 1,
	.max_args = 1,
	.options = options,
	.option_count = ARRAY_SIZE(options),
	.config_size = sizeof(struct watch_config),
	.run = run,
};
