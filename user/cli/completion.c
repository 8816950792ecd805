/* SPDX-License-Identifier: Apache-2.0 */
/*
 * completion: a script for bash, made from the table of commands. The names in capitals that
 * options and arguments have say what completes them; what only the daemon knows it is asked
 * for, and has QUICK_MS to answer.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/event_types.h"
#include "cli/cli.h"
#include "sys/log.h"

#define QUICK_MS 500u
#define WORD_LEN 64u

/* Each event type behind those that stand there already. */
#define TYPE(type, name) " \"$before\"" name

/* The shell function that completes a name. */
static const struct {
	const char *name, *function;
} completers[] = {
	{"FILE", "_sluicectl_files"},	      {"SOCKET", "_sluicectl_files"},
	{"DIR", "_sluicectl_directories"},    {"DIR|FILE", "_sluicectl_files"},
	{"CGROUP", "_sluicectl_cgroups"},     {"COMMAND", "_sluicectl_programs"},
	{"ARGUMENT", "_sluicectl_files"},     {"ID", "_sluicectl_ask streams"},
	{"WATCH", "_sluicectl_ask watches"},  {"POLICY", "_sluicectl_ask policies"},
	{"USER", "_sluicectl_users"},	      {"UNIT", "_sluicectl_units"},
	{"INSTANCE", "_sluicectl_instances"}, {"TYPES", "_sluicectl_types"},
};

static const char script_head[] =
	"# bash completion for sluicectl, made by 'sluicectl completion bash'\n"
	"\n"
	"# What is completed comes line by line, and is never expanded.\n"
	"_sluicectl_match() {\n"
	"\tlocal line\n"
	"\twhile IFS= read -r line; do\n"
	"\t\t[[ $line == \"$cur\"* ]] && COMPREPLY+=(\"$line\")\n"
	"\tdone\n"
	"}\n"
	"_sluicectl_words() { _sluicectl_match < <(printf '%s\\n' \"$@\"); }\n"
	"_sluicectl_files() { compopt -o filenames 2>/dev/null; _sluicectl_match < "
	"<(compgen -f -- \"$cur\"); }\n"
	"_sluicectl_directories() { compopt -o filenames 2>/dev/null; _sluicectl_match < "
	"<(compgen -d -- \"$cur\"); }\n"
	"_sluicectl_programs() { _sluicectl_match < <(compgen -c -- \"$cur\"); }\n"
	"_sluicectl_users() { _sluicectl_match < <(compgen -u -- \"$cur\"); }\n"
	"_sluicectl_units() {\n"
	"\t_sluicectl_match < <(systemctl list-units --plain --no-legend \\\n"
	"\t\t--type=service,scope,slice 2>/dev/null | cut -d' ' -f1)\n"
	"}\n"
	"_sluicectl_instances() {\n"
	"\tlocal path\n"
	"\tfor path in /run/sluice/*.sock; do\n"
	"\t\t[[ -S $path ]] && _sluicectl_words \"$(basename \"$path\" .sock)\"\n"
	"\tdone\n"
	"}\n"
	"_sluicectl_types() {\n"
	"\tlocal before=\n"
	"\t[[ $cur == *,* ]] && before=${cur%,*},\n"
	"\tcompopt -o nospace 2>/dev/null\n"
	"\t_sluicectl_words" EVENT_TYPES(
		TYPE) "\n"
		      "}\n"
		      "_sluicectl_cgroups() {\n"
		      "\t[[ $cur == /* ]] || cur=/sys/fs/cgroup/$cur\n"
		      "\tcompopt -o filenames -o nospace 2>/dev/null\n"
		      "\t_sluicectl_match < <(compgen -d -- \"$cur\")\n"
		      "}\n"
		      "_sluicectl_ask() {\n"
		      "\t_sluicectl_match < <(\"${words[0]}\" ${socket:+\"$socket\"} "
		      "completion \"$1\" 2>/dev/null)\n"
		      "}\n"
		      "\n"
		      "_sluicectl() {\n"
		      "\tlocal cur=${COMP_WORDS[COMP_CWORD]} "
		      "words=(\"${COMP_WORDS[@]:0:COMP_CWORD}\")\n"
		      "\tlocal word option='' command='' socket='' arguments=()\n"
		      "\tCOMPREPLY=()\n"
		      "\tfor word in \"${words[@]:1}\"; do\n"
		      "\t\tif [[ -n $option && $word == = ]]; then\n"
		      "\t\t\tcontinue\n"
		      "\t\telif [[ -n $option ]]; then\n"
		      "\t\t\t[[ $option == --socket || $option == --instance ]] && "
		      "socket=$option=$word\n"
		      "\t\t\toption=\n"
		      "\t\telif ((${#arguments[@]})) && _sluicectl_stops \"$command\"; then\n"
		      "\t\t\targuments+=(\"$word\")\n"
		      "\t\telif [[ $word == -- ]]; then\n"
		      "\t\t\tcontinue\n"
		      "\t\telif [[ $word == -* ]]; then\n"
		      "\t\t\t_sluicectl_takes \"$command\" \"$word\" && option=$word\n"
		      "\t\telif [[ -z $command ]]; then\n"
		      "\t\t\tcommand=$word\n"
		      "\t\telse\n"
		      "\t\t\targuments+=(\"$word\")\n"
		      "\t\tfi\n"
		      "\tdone\n"
		      "\t[[ $cur == = && -n $option ]] && cur=\n"
		      "\tif [[ -n $option ]]; then\n"
		      "\t\t_sluicectl_value \"$command\" \"$option\"\n"
		      "\telif [[ $cur == -* ]] && ! { ((${#arguments[@]})) && _sluicectl_stops "
		      "\"$command\"; }; then\n"
		      "\t\t_sluicectl_options \"$command\"\n"
		      "\telse\n"
		      "\t\t_sluicectl_argument \"$command\" \"${#arguments[@]}\" "
		      "\"${arguments[0]:-}\"\n"
		      "\tfi\n"
		      "}\n";

static const char *completer_of(const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(completers); i++)
		if (strlen(completers[i].name) == len && !memcmp(completers[i].name, name, len))
			return completers[i].function;
	return NULL;
}

/* Which options take something. */
static void print_takes(const struct command *command)
{
	struct option_group groups[COMMAND_GROUPS];
	size_t count = command_options(command, NULL, NULL, groups), g, i;

	for (g = 0; g < count; g++)
		for (i = 0; i < groups[g].count; i++)
			if (groups[g].specs[i].value)
				(void)printf("\t%s:--%s) return 0 ;;\n", command->name,
					     groups[g].specs[i].name);
}

static void print_value(const char *command, const struct option_spec *spec)
{
	const char *function = spec->value ? completer_of(spec->value, strlen(spec->value)) : NULL;
	const char *at;

	if (spec->kind == OPTION_CHOICE || (spec->value && strchr(spec->value, '|'))) {
		(void)printf("\t%s:--%s) _sluicectl_words ", command, spec->name);
		for (at = spec->value; *at; at++)
			(void)putchar(*at == '|' ? ' ' : *at);
		(void)printf(" ;;\n");
	} else if (function) {
		(void)printf("\t%s:--%s) %s ;;\n", command, spec->name, function);
	}
}

static void print_values(const struct command *command)
{
	struct option_group groups[COMMAND_GROUPS];
	size_t count = command_options(command, NULL, NULL, groups), g, i;

	for (g = 0; g < count; g++)
		for (i = 0; i < groups[g].count; i++)
			print_value(command->name, &groups[g].specs[i]);
}

static void print_options(const struct command *command)
{
	struct option_group groups[COMMAND_GROUPS];
	size_t count = command_options(command, NULL, NULL, groups), g, i;

	(void)printf("\t%s) _sluicectl_words --help", command->name);
	for (g = 0; g < count; g++)
		for (i = 0; i < groups[g].count; i++)
			(void)printf(" --%s", groups[g].specs[i].name);
	(void)printf(" ;;\n");
}

/* The next word of a command's arguments, without brackets and dots. False: the last was. */
static bool next_word(const char **at, char ret_word[static WORD_LEN], bool *ret_repeats)
{
	size_t len = 0;

	*ret_repeats = false;
	*at += strspn(*at, " [");
	if (!**at)
		return false;
	for (; **at && **at != ' '; (*at)++) {
		*ret_repeats |= **at == '.';
		if (!strchr("[].", **at) && len + 1 < WORD_LEN)
			ret_word[len++] = **at;
	}
	ret_word[len] = '\0';
	return true;
}

/* What follows the first word of an alternative, or is it, where that is a name. */
static void print_argument(const struct command *command)
{
	char word[WORD_LEN], first[WORD_LEN] = "*";
	const char *at = command->arguments, *function;
	bool repeats;
	int place = 0;

	for (; next_word(&at, word, &repeats); place++) {
		if (strcmp(word, "|") == 0) {
			place = -1;
			continue;
		}
		/* Which ends options, and is none itself. */
		if (strcmp(word, "--") == 0) {
			place--;
			continue;
		}
		function = completer_of(word, strlen(word));
		if (place == 0)
			(void)snprintf(first, sizeof(first), "%s",
				       islower((unsigned char)*word) ? word : "*");
		if (function && repeats)
			(void)printf("\t%s:*:%s) %s ;;\n", command->name, first, function);
		else if (function)
			(void)printf("\t%s:%d:%s) %s ;;\n", command->name, place,
				     place ? first : "*", function);
	}
}

/* Where alternatives begin with words they complete the first argument. */
static void print_first_words(const struct command *command)
{
	const char *at = command->arguments;
	bool begins = true, repeats;
	char word[WORD_LEN];

	if (!islower((unsigned char)*at))
		return;
	(void)printf("\t%s:0:*) _sluicectl_words", command->name);
	while (next_word(&at, word, &repeats)) {
		if (begins)
			(void)printf(" %s", word);
		begins = strcmp(word, "|") == 0;
	}
	(void)printf(" ;;\n");
}

static void print_stops(const struct command *command)
{
	if (command->flags & COMMAND_STOP_EARLY)
		(void)printf(" || [[ $1 == %s ]]", command->name);
}

static void for_each(void (*print)(const struct command *command))
{
	size_t i;

	for (i = 0; i < command_count; i++)
		print(commands[i]);
}

static void print_name(const struct command *command)
{
	(void)printf(" %s", command->name);
}

static void print_script(void)
{
	(void)printf("%s\n_sluicectl_stops() {\n\tfalse", script_head);
	for_each(print_stops);
	(void)printf("\n}\n\n_sluicectl_takes() {\n\tcase $1:$2 in\n"
		     "\t:--socket | :--instance | :--color) return 0 ;;\n");
	for_each(print_takes);
	(void)printf("\t*) return 1 ;;\n\tesac\n}\n\n_sluicectl_value() {\n\tcase $1:$2 in\n"
		     "\t:--socket) _sluicectl_files ;;\n\t:--instance) _sluicectl_instances ;;\n"
		     "\t:--color) _sluicectl_words auto always never ;;\n");
	for_each(print_values);
	(void)printf("\tesac\n}\n\n_sluicectl_options() {\n\tcase $1 in\n"
		     "\t'') _sluicectl_words --help --version --socket --instance --color ;;\n");
	for_each(print_options);
	(void)printf("\tesac\n}\n\n_sluicectl_argument() {\n\tcase $1:$2:$3 in\n"
		     "\t:* | help:0:*) _sluicectl_words help");
	for_each(print_name);
	(void)printf(" ;;\n");
	for_each(print_first_words);
	for_each(print_argument);
	(void)printf("\tesac\n}\n\ncomplete -F _sluicectl sluicectl\n");
}

/* What a shell would take for more than a word is left out. */
static void print_word(const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_./:@+-";

	if (*word && word[strspn(word, plain)] == '\0')
		(void)printf("%s\n", word);
}

static void print_members(json_t *list, const char *key)
{
	const json_t *object, *member;
	size_t i;

	json_array_foreach(list, i, object)
	{
		member = json_object_get(object, key);
		if (json_is_integer(member))
			(void)printf("%lld\n", (long long)json_integer_value(member));
		else if (json_is_string(member))
			print_word(json_string_value(member));
	}
}

/* What the daemon knows; nothing where it does not answer at once. */
static int print_known(const struct cli *cli, const char *what)
{
	static const struct {
		const char *what, *method, *list, *key;
	} known[] = {
		{"streams", "streams", "streams", "id"},
		{"watches", "status", "watches", "path"},
		{"policies", "status", "policies", "name"},
	};
	struct rpc_client *client cleanup(rpc_client_freep) = NULL;
	json_t *result = NULL;
	char error[512];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(known) && strcmp(known[i].what, what) != 0; i++)
		;
	if (i == ARRAY_SIZE(known)) {
		log_error("completion: 'bash', or 'streams', or 'watches', or 'policies'");
		return CLI_EXIT_USAGE;
	}
	if (rpc_client_new(cli->socket, QUICK_MS, &client) ||
	    rpc_client_call(client, known[i].method, NULL, &result, error, sizeof(error)))
		return CLI_EXIT_FAILED;
	print_members(json_object_get(result, known[i].list), known[i].key);
	json_decref(result);
	return CLI_EXIT_DONE;
}

static int run(const struct cli *cli, const void *config, int count, char **args)
{
	(void)config;
	(void)count;
	if (strcmp(args[0], "bash") != 0)
		return print_known(cli, args[0]);
	print_script();
	return CLI_EXIT_DONE;
}

const struct command command_completion = {
	.name = "completion",
	.arguments = "bash | streams | watches | policies",
	.summary = "Print what completes this program's arguments",
	.details =
		"bash: a script for bash(1), which 'make install' puts where bash looks for it;\n"
		"'source <(sluicectl completion bash)' tries it. The others: what the script asks\n"
		"for, one a line; nothing where no daemon answers at once.",
	.flags = COMMAND_SOCKET,
	.usage_status = CLI_EXIT_USAGE,
	.min_args = 1,
	.max_args = 1,
	.run = run,
};
