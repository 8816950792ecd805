/* SPDX-License-Identifier: Apache-2.0 */
/* sluicectl: what is common to all commands. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "sys/log.h"
#include "sys/standard.h"

struct global_config {
	struct cli cli;
	bool version;
};
static const struct option_spec global_options[] = {
	{"socket", "SOCKET", OPTION_TEXT, offsetof(struct global_config, cli.socket),
	 "control socket of the daemon (" CLI_SOCKET_DEFAULT ")", 0, 0},
	{"instance", "INSTANCE", OPTION_TEXT, offsetof(struct global_config, cli.instance),
	 "the daemon of that name, by its usual socket", 0, 0},
	{"color", COLOR_WORDS, OPTION_CHOICE, offsetof(struct global_config, cli.color),
	 "colours: auto is on a terminal", 0, 0},
	{"version", NULL, OPTION_FLAG, offsetof(struct global_config, version), "print the version",
	 0, 0},
};

static void print_help(void)
{
	const struct option_group group = {global_options, ARRAY_SIZE(global_options), NULL};
	size_t i;

	(void)printf("usage: sluicectl [--socket SOCKET | --instance INSTANCE] COMMAND [OPTION...] "
		     "[ARGUMENT...]\n\n"
		     "Holds what a process sends and receives until policy has cleared it.\n\n"
		     "commands:\n");
	for (i = 0; i < command_count; i++)
		(void)printf("  %-11s %s\n", commands[i]->name, commands[i]->summary);
	(void)printf("  %-11s %s\n", "help", "this text, or that of one command");
	options_print(&group, 1);
	(void)printf("\nEach command has --help. Exit status: 0 done, 1 failed, 2 usage, 3 denied "
		     "by policy;\nrun: the command's own, or 125, 126, 127. " CLI_SOCKET_VARIABLE
		     " names another default\nsocket. See sluicectl(8).\n");
}

static void print_command_help(const struct command *command)
{
	struct option_group groups[COMMAND_GROUPS];
	size_t count = command_options(command, NULL, NULL, groups);

	(void)printf("usage: sluicectl %s [OPTION...]%s%s\n\n%s.\n", command->name,
		     *command->arguments ? " " : "", command->arguments, command->summary);
	if (command->details)
		(void)printf("\n%s\n", command->details);
	options_print(groups, count);
}

static int usage(const struct command *command, const char *why)
{
	log_error("%s: %s (see 'sluicectl %s --help')", command->name, why, command->name);
	return command->usage_status;
}

static int run_command(const struct command *command, struct cli *cli, int argc, char **argv)
{
	struct option_group groups[COMMAND_GROUPS];
	char name[64], path[CLI_SOCKET_LEN];
	int rest = 0, err, status;
	void *config = calloc(1, command->config_size + 1);

	if (!config)
		return CLI_EXIT_FAILED;
	(void)snprintf(name, sizeof(name), "sluicectl %s", command->name);
	argv[0] = name;
	err = options_parse(groups, command_options(command, cli, config, groups),
			    command->flags & COMMAND_STOP_EARLY, argc, argv, &rest);
	if (err < 0) {
		status = usage(command, "bad options");
	} else if (err > 0) {
		print_command_help(command);
		status = CLI_EXIT_DONE;
	} else if (argc - rest < command->min_args) {
		status = usage(command,
			       command->missing ? command->missing : "an argument is missing");
	} else if (command->max_args >= 0 && argc - rest > command->max_args) {
		status = usage(command, "too many arguments");
	} else if (cli_find_socket(cli, path)) {
		status = command->usage_status;
	} else {
		cli->colors = style_wanted((enum color)cli->color);
		status = command->run(cli, config, argc - rest, argv + rest);
	}
	free(config);
	return status;
}

static int help(int count, char **args)
{
	const struct command *command = count ? command_find(args[0]) : NULL;

	if (count && !command && strcmp(args[0], "help") != 0) {
		log_error("there is no command '%s'; 'sluicectl help' lists them", args[0]);
		return CLI_EXIT_USAGE;
	}
	if (command)
		print_command_help(command);
	else
		print_help();
	return CLI_EXIT_DONE;
}

static int dispatch(int argc, char **argv)
{
	struct global_config config = {0};
	const struct option_group group = {global_options, ARRAY_SIZE(global_options), &config};
	const struct command *command;
	char name[] = "sluicectl";
	char *no_name[] = {name, NULL};
	int rest = 0, err;

	if (argc < 1) {
		argc = 1;
		argv = no_name;
	}
	argv[0] = name;
	err = options_parse(&group, 1, true, argc, argv, &rest);
	if (err < 0)
		return CLI_EXIT_USAGE;
	if (err > 0)
		return help(0, NULL);
	if (config.version)
		return command_version.run(&config.cli, NULL, 0, NULL);
	if (rest == argc) {
		log_error("a command is missing; 'sluicectl help' lists them");
		return CLI_EXIT_USAGE;
	}
	if (strcmp(argv[rest], "help") == 0)
		return help(argc - rest - 1, argv + rest + 1);
	command = command_find(argv[rest]);
	if (!command) {
		log_error("there is no command '%s'; 'sluicectl help' lists them", argv[rest]);
		return CLI_EXIT_USAGE;
	}
	return run_command(command, &config.cli, argc - rest, argv + rest);
}

int main(int argc, char **argv)
{
	return standard_main("sluicectl", dispatch, argc, argv);
}
