/* SPDX-License-Identifier: Apache-2.0 */
/* The table of commands: dispatch, help and completion come from it. */
#include <string.h>

#include "cli/cli.h"

const struct command *const commands[] = {
	&command_run,	  &command_watch,    &command_unwatch, &command_status,
	&command_streams, &command_stream,   &command_top,     &command_deny,
	&command_events,  &command_policy,   &command_replay,  &command_audit,
	&command_doctor,  &command_handover, &command_version, &command_completion,
};
const size_t command_count = ARRAY_SIZE(commands);

static const struct option_spec json_option[] = {
	{"json", NULL, OPTION_FLAG, offsetof(struct cli, json), "print JSON", 0, 0},
};
static const struct option_spec socket_options[] = {
	{"socket", "SOCKET", OPTION_TEXT, offsetof(struct cli, socket),
	 "control socket of the daemon (" CLI_SOCKET_DEFAULT ")", 0, 0},
	{"instance", "INSTANCE", OPTION_TEXT, offsetof(struct cli, instance),
	 "the daemon of that name, by its usual socket", 0, 0},
};
static const struct option_spec color_option[] = {
	{"color", COLOR_WORDS, OPTION_CHOICE, offsetof(struct cli, color),
	 "colours: auto is on a terminal", 0, 0},
};

const struct command *command_find(const char *name)
{
	size_t i;

	for (i = 0; i < command_count; i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

size_t command_options(const struct command *command, struct cli *cli, void *config,
		       struct option_group ret_groups[static COMMAND_GROUPS])
{
	size_t count = 0;

	if (command->option_count)
		ret_groups[count++] =
			(struct option_group){command->options, command->option_count, config};
	if (command->flags & COMMAND_JSON)
		ret_groups[count++] = (struct option_group){json_option, 1, cli};
	if (command->flags & COMMAND_SOCKET)
		ret_groups[count++] =
			(struct option_group){socket_options, ARRAY_SIZE(socket_options), cli};
	ret_groups[count++] = (struct option_group){color_option, 1, cli};
	return count;
}
