/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "driver/driver.h"

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
} commands[] = {
	{"frame", frame_main, "[--chunking given|one|bytes]: framing and mediation records"},
	{"session", session_main, "sequences of accounting operations"},
	{"guard", guard_main, "questions to the framing guard"},
	{"ctk", ctk_main, "agent-hooks vectors of incremental mediation"},
};

static int usage(FILE *to, int status)
{
	fprintf(to, "usage: sluice-driver COMMAND [OPTIONS]\n"
		    "Reads JSON lines on standard input and answers each with one.\n");
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		fprintf(to, "  %-8s %s\n", commands[i].name, commands[i].help);
	return status;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return usage(stderr, 2);
	if (strcmp(argv[1], "--help") == 0)
		return usage(stdout, 0);
	if (strcmp(argv[1], "--version") == 0)
		return puts("sluice-driver " SLUICE_VERSION) == EOF;
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (strcmp(argv[1], commands[i].name) == 0)
			return commands[i].run(argc - 1, argv + 1);
	fprintf(stderr, "sluice-driver: no command '%s'\n", argv[1]);
	return usage(stderr, 2);
}
