/* SPDX-License-Identifier: Apache-2.0 */
/* What `watch` and `unwatch` share: which cgroup is meant. */
#ifndef SLUICE_CLI_WATCH_H
#define SLUICE_CLI_WATCH_H

#include <limits.h>

#include "base/macros.h"

struct watch_target {
	const char *unit, *container; /* NULL: not named so */
};

#define WATCH_TARGET_OPTIONS(type)                                                       \
	{"unit",                                                                         \
	 "UNIT",                                                                         \
	 OPTION_TEXT,                                                                    \
	 offsetof(type, target.unit),                                                    \
	 "the cgroup of this systemd unit",                                              \
	 0,                                                                              \
	 0},                                                                             \
	{                                                                                \
		"container", "CONTAINER", OPTION_TEXT, offsetof(type, target.container), \
			"the cgroup of the container whose id begins so", 0, 0           \
	}

/*
 * The cgroup that is named: by the argument, or by one of the options. CLI_EXIT_DONE, or the
 * exit status after a line.
 */
int watch_target_find(const char *command, const struct watch_target *target, int count,
		      char **args, char ret_path[static PATH_MAX]) must_check;

#endif
