/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/watch.h"
#include "sys/log.h"

struct watch_config {
	const char *policy, *named;
	struct watch_target target;
	bool destroy;
};

static const struct option_spec options[] = {
	{"policy", "FILE", OPTION_TEXT, offsetof(struct watch_config, policy),
	 "policy of this cgroup (else the daemon's own)", 0, 0},
	{"named", "POLICY", OPTION_TEXT, offsetof(struct watch_config, named),
	 "a policy that the daemon has loaded, by its name", 0, 0},
	WATCH_TARGET_OPTIONS(struct watch_config),
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

/* NULL after a line. */
static json_t *make_params(const struct watch_config *watch, const char *cgroup)
{
	struct policy *policy cleanup(policy_unrefp) = NULL;
	json_t *params;
	char *text = NULL;

	if (watch->policy && cli_load_policy(watch->policy, &text, &policy))
		return NULL;
	params = json_pack("{s:s, s:b, s:s*, s:s*}", "cgroup", cgroup, "destroy", watch->destroy,
			   "policy_text", text, "policy_name", watch->named);
	free(text);
	if (!params)
		log_error("--named is not UTF-8, or there is not enough memory");
	return params;
}

static int run(const struct cli *cli, const void *config, int count, char **args)
{
	const struct watch_config *watch = config;
	json_t *params, *result = NULL;
	char cgroup[PATH_MAX];
	int status = watch_target_find("watch", &watch->target, count, args, cgroup);

	if (status)
		return status;
	if (watch->policy && watch->named) {
		log_error("watch: --policy and --named are two policies; one is needed");
		return CLI_EXIT_USAGE;
	}
	params = make_params(watch, cgroup);
	if (!params || cli_call(cli, "watch", params, &result))
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
	.arguments = "[CGROUP]",
	.summary = "Mediate the processes of an existing cgroup",
	.details =
		"CGROUP is a cgroup v2 directory, as a path or relative to its mount; --unit and\n"
		"--container name the one of a systemd unit or a container that runs. What\n"
		"its processes have connected already is not mediated: without --destroy the\n"
		"watch is refused where there is any, and so it is, with it too, where they have\n"
		"sockets that were made outside CGROUP. Prints what stays open for it.",
	.flags = COMMAND_SOCKET | COMMAND_JSON,
	.usage_status = CLI_EXIT_USAGE,
	.max_args = 1,
	.options = options,
	.option_count = ARRAY_SIZE(options),
	.config_size = sizeof(struct watch_config),
	.run = run,
};
