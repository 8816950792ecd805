/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the subcommands share. Each lives in a file of its own as one constant
 * struct command; main.c has the table of them. They talk to the daemon through
 * its control socket alone (replay and policy use the core directly).
 */
#ifndef SLUICE_CLI_CLI_H
#define SLUICE_CLI_CLI_H

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/macros.h"
#include "cli/options.h"
#include "cli/style.h"
#include "core/policy.h"
#include "sys/rpc_client.h"

#define CLI_SOCKET_DEFAULT  "/run/sluice/main.sock"
#define CLI_SOCKET_INSTANCE "/run/sluice/%s.sock"
#define CLI_SOCKET_VARIABLE "SLUICE_SOCKET"
#define CLI_SOCKET_LEN	    108u /* as in struct sockaddr_un */

enum cli_exit {
	CLI_EXIT_DONE = 0,
	CLI_EXIT_FAILED = 1,
	CLI_EXIT_USAGE = 2,
	CLI_EXIT_DENIED = 3, /* by policy: replay */
	/* run alone; everything else it returns is the command's own status */
	CLI_EXIT_SLUICE = 125,
	CLI_EXIT_NOT_EXECUTABLE = 126,
	CLI_EXIT_NOT_FOUND = 127,
};

/* Options that several commands share. */
struct cli {
	const char *socket;   /* NULL until cli_find_socket() */
	const char *instance; /* NULL: not said */
	bool json;
	unsigned int color; /* enum color, as asked for */
	bool colors;	    /* what comes of it */
};

enum command_flag {
	COMMAND_SOCKET = 1 << 0,     /* takes --socket and --instance */
	COMMAND_JSON = 1 << 1,	     /* takes --json */
	COMMAND_STOP_EARLY = 1 << 2, /* what follows its first argument is not for us */
};

struct command {
	const char *name;
	/*
	 * Alternatives, separated by " | ", each of words in lower case, which are written as
	 * they are, and names in capitals. Completion reads them (completion.c).
	 */
	const char *arguments;
	const char *summary;
	const char *details; /* more lines of help, or NULL */
	unsigned int flags;  /* of enum command_flag */
	int usage_status;
	int min_args, max_args; /* max_args -1: any number */
	const char *missing;	/* said where they are fewer; NULL: an argument is */
	const struct option_spec *options;
	size_t option_count;
	size_t config_size; /* of the struct that options fill; zeroed before */
	/* args is NULL-terminated. Returns the exit status. */
	int (*run)(const struct cli *cli, const void *config, int count, char **args);
};

extern const struct command *const commands[];
extern const size_t command_count;

/* NULL: there is none of that name. */
const struct command *command_find(const char *name);
#define COMMAND_GROUPS 4u
/*
 * The groups of options that a command takes, where cli and config are filled; returns how
 * many.
 */
size_t command_options(const struct command *command, struct cli *cli, void *config,
		       struct option_group ret_groups[static COMMAND_GROUPS]);

extern const struct command command_run, command_watch, command_unwatch, command_status,
	command_streams, command_stream, command_top, command_deny, command_events, command_replay,
	command_policy, command_audit, command_doctor, command_handover, command_version,
	command_completion;

/*
 * Fills in socket, where the command line does not name one, by the instance, the environment or
 * the default; path is what it may point to then. -EINVAL after a line.
 */
int cli_find_socket(struct cli *cli, char path[static CLI_SOCKET_LEN]) must_check;
/*
 * Says in one line why there is no connection; where quiet, not that there is no
 * daemon, which is -ENOENT or -ECONNREFUSED.
 */
int cli_connect(const struct cli *cli, bool quiet, struct rpc_client **ret_client) must_check;
/* Says in one line what a call came to that failed, and what to do about it. */
void cli_explain(const struct cli *cli, const char *method, int err, const char *error);
/* Connects, calls, says in one line what failed. params is taken over. */
int cli_call(const struct cli *cli, const char *method, json_t *params,
	     json_t **ret_result) must_check;
/*
 * The same, and prints the result as it came, with each element of its first list on a line of
 * its own. params is taken over.
 */
int cli_call_print(const struct cli *cli, const char *method, json_t *params) must_check;

/* Reads a policy file; says what is wrong as "FILE:LINE:COLUMN: …". ret_text may be NULL. */
int cli_load_policy(const char *path, char **ret_text, struct policy **ret_policy) must_check;

/*
 * The daemon's program: beside our own, in the sbin next to our bin, else what
 * PATH finds. execvp() takes it.
 */
void cli_find_sluiced(char ret_path[static PATH_MAX]);

/* A decimal number alone, such as a stream's id. -EINVAL after a line. */
int cli_parse_id(const char *text, const char *what, json_int_t *ret_id) must_check;

/* Members of an answer; what is missing reads as "-" and 0. */
const char *cli_text(const json_t *object, const char *key);
/* Where a task is asked and what with, in words; nothing of any other kind. */
void cli_print_interceptor(const json_t *task);
json_int_t cli_number(const json_t *object, const char *key);
/* What a task, as the daemon or a policy tells of it, has: "3 terms, longest 9 runes". */
void cli_print_rules(const json_t *task);

/* Prints a document, and a newline. */
void cli_print_json(const json_t *value);
/* Prints a view, which is taken over, so or with print; NULL: says that memory is short. */
int cli_show(const struct cli *cli, json_t *view,
	     void (*print)(const struct cli *cli, const json_t *view)) must_check;

/*
 * A table: cells from left to right, row after row, printed at the end with
 * columns as wide as their widest cell. Control characters print as '?': a
 * process names itself, and an operator's terminal obeys them.
 */
struct table {
	size_t columns, count, room;
	char **cells;
	bool failed; /* a cell was lost: table_print says so */
	bool colors; /* the heads stand out */
};
void table_init(struct table *table, const char *const *heads, size_t columns);
void table_add(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints and frees. */
void table_print(struct table *table);

/* How a style begins, on standard output; cli_on(cli, STYLE_PLAIN) ends it. */
static inline const char *cli_on(const struct cli *cli, enum style style)
{
	return style_code(cli->colors, style);
}

/* Where the daemon of that status serves metrics, or why it does not, and the end of the line. */
void cli_print_metrics(const json_t *status);

/* Prints text with control characters as '?'. */
void cli_print_safe(const char *text);

#endif
