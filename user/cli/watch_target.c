/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cli/cgroup_find.h"
#include "cli/cli.h"
#include "cli/watch.h"
#include "core/utf8.h"
#include "sys/log.h"

/* What JSON cannot say cannot be asked for. */
static int take_argument(const char *argument, char *ret_path)
{
	size_t len = strlen(argument);
	uint64_t runes;

	if (utf8_prefix((const uint8_t *)argument, len, &runes) != len) {
		log_error("the path of CGROUP is not UTF-8");
		return CLI_EXIT_FAILED;
	}
	if (len >= PATH_MAX) {
		log_error("the path of CGROUP is too long");
		return CLI_EXIT_FAILED;
	}
	(void)memcpy(ret_path, argument, len + 1);
	return CLI_EXIT_DONE;
}

int watch_target_find(const char *command, const struct watch_target *target, int count,
		      char **args, char ret_path[static PATH_MAX])
{
	int err;

	if ((count > 0) + (target->unit != NULL) + (target->container != NULL) != 1) {
		log_error("%s: one cgroup is needed: an argument, --unit or --container (see "
			  "'sluicectl %s --help')",
			  command, command);
		return CLI_EXIT_USAGE;
	}
	if (count)
		return take_argument(args[0], ret_path);
	err = target->unit ? cgroup_find_unit(target->unit, ret_path)
			   : cgroup_find_container(target->container, ret_path);
	if (!err)
		return CLI_EXIT_DONE;
	return err == -EINVAL ? CLI_EXIT_USAGE : CLI_EXIT_FAILED;
}
