/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options of a command line as a table: parsing, checking and help come from it.
 */
#ifndef SLUICE_CLI_OPTIONS_H
#define SLUICE_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

enum option_kind {
	OPTION_FLAG,   /* bool */
	OPTION_TEXT,   /* const char * */
	OPTION_NUMBER, /* uint64_t, within min and max */
	OPTION_CHOICE, /* unsigned int: which of the words of value, from 0 on */
};

struct option_spec {
	const char *name;
	/* What help calls its argument, or its words ("a|b"); NULL for a flag. Completion knows it. */
	const char *value;
	enum option_kind kind;
	size_t offset; /* of the field in the group's struct */
	const char *help;
	uint64_t min, max;
};

/* A table and the struct that it fills. */
struct option_group {
	const struct option_spec *specs;
	size_t count;
	void *base;
};

#define OPTIONS_MAX 16u

/*
 * Parses argv[1..]; the command's own arguments follow from argv[*ret_rest] on.
 * stop_early: the first argument that is no option ends them. 0, 1 for --help,
 * -EINVAL after a line on standard error; argv[0] is the name in that line.
 */
int options_parse(const struct option_group *groups, size_t group_count, bool stop_early, int argc,
		  char **argv, int *ret_rest) must_check;

/* The lines that help prints, one an option, --help included. */
void options_print(const struct option_group *groups, size_t group_count);

#endif
