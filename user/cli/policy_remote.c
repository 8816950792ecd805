/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/policy_remote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/cli.h"
#include "sys/log.h"

/* Prints a result as JSON, or by print; frees it. */
static int show_result(const struct cli *cli, json_t *result,
		       void (*print)(const struct cli *cli, const json_t *result))
{
	if (cli->json)
		cli_print_json(result);
	else
		print(cli, result);
	json_decref(result);
	return CLI_EXIT_DONE;
}

static void print_loaded(const struct cli *cli, const json_t *result)
{
	long long watches = (long long)cli_number(result, "watches");

	(void)cli;
	(void)printf("policy ");
	cli_print_safe(cli_text(result, "name"));
	(void)printf(" %s; %lld watch%s under it now, open streams keep theirs\n",
		     json_is_true(json_object_get(result, "replaced")) ? "replaced" : "loaded",
		     watches, watches == 1 ? " is" : "es are");
}

int policy_remote_load(const struct cli *cli, const char *path)
{
	struct policy *policy cleanup(policy_unrefp) = NULL;
	json_t *params, *result = NULL;
	char *text = NULL;

	/* Checked here too: the line then names the file. */
	if (cli_load_policy(path, &text, &policy))
		return CLI_EXIT_FAILED;
	params = json_pack("{s:s}", "text", text);
	free(text);
	if (!params) {
		log_error("not enough memory");
		return CLI_EXIT_FAILED;
	}
	if (cli_call(cli, "policy.load", params, &result))
		return CLI_EXIT_FAILED;
	return show_result(cli, result, print_loaded);
}

static void print_text_line(const char *label, const char *text)
{
	(void)printf("  %-8s ", label);
	cli_print_safe(text);
	(void)printf("\n");
}

/* A file, or who loaded it; then a reload brings the name's file back, where there is one. */
static void print_from(const json_t *policy)
{
	const json_t *by = json_object_get(policy, "loaded_by");
	const char *file = json_string_value(json_object_get(policy, "file"));

	if (!json_is_object(by)) {
		print_text_line("from", cli_text(policy, "loaded_from"));
		return;
	}
	(void)printf("  %-8s loaded by call (uid %lld, pid %lld)", "from",
		     (long long)cli_number(by, "uid"), (long long)cli_number(by, "pid"));
	if (file) {
		(void)printf("; a reload brings back ");
		cli_print_safe(file);
	}
	(void)printf("\n");
}

static void print_policy(const struct cli *cli, const json_t *policy)
{
	const json_t *watches = json_object_get(policy, "watches"), *watch;
	long long streams = (long long)cli_number(policy, "streams");
	size_t i;

	(void)printf("%s", cli_on(cli, STYLE_STRONG));
	cli_print_safe(cli_text(policy, "name"));
	(void)printf("%s%s: %lld open stream%s\n", cli_on(cli, STYLE_PLAIN),
		     json_is_true(json_object_get(policy, "default")) ? " (default)" : "", streams,
		     text_plural(streams));
	print_from(policy);
	print_text_line("digest", cli_text(policy, "digest"));
	json_array_foreach(watches, i, watch)
	{
		print_text_line("watch", json_is_string(watch) ? json_string_value(watch) : "?");
	}
}

/* As it was loaded, line by line. */
static void print_text(const char *text)
{
	char *copy = strdup(text), *at = copy, stop;
	size_t len;

	for (; at && *at; at += len + (stop != '\0')) {
		len = strcspn(at, "\n\t");
		stop = at[len];
		at[len] = '\0';
		text_make_safe(at);
		(void)fputs(at, stdout);
		if (stop)
			(void)putchar(stop);
	}
	free(copy);
}

static void print_policies(const struct cli *cli, const json_t *result)
{
	const json_t *policies = json_object_get(result, "policies"), *policy;
	const char *text;
	size_t i;

	if (!json_array_size(policies))
		(void)printf("no policy is loaded\n");
	json_array_foreach(policies, i, policy)
	{
		print_policy(cli, policy);
	}
	text = json_string_value(json_object_get(json_array_get(policies, 0), "text"));
	if (text && json_array_size(policies) == 1) {
		(void)printf("\n");
		print_text(text);
	}
}

int policy_remote_show(const struct cli *cli, const char *name)
{
	json_t *params = json_pack("{s:s*}", "name", name), *result = NULL;

	if (!params) {
		log_error("the name of the policy is not UTF-8, or there is not enough memory");
		return CLI_EXIT_FAILED;
	}
	if (cli_call(cli, "policy.show", params, &result))
		return CLI_EXIT_FAILED;
	return show_result(cli, result, print_policies);
}

static void print_names(const char *label, const json_t *names)
{
	const json_t *name;
	size_t i;

	json_array_foreach(names, i, name)
	{
		(void)printf("%-10s ", label);
		cli_print_safe(json_is_string(name) ? json_string_value(name)
						    : cli_text(name, "name"));
		(void)printf("\n");
	}
}

static void print_reloaded(const struct cli *cli, const json_t *result)
{
	(void)cli;
	print_names("reloaded", json_object_get(result, "reloaded"));
	print_names("unchanged", json_object_get(result, "unchanged"));
}

int policy_remote_reload(const struct cli *cli)
{
	json_t *result = NULL;

	if (cli_call(cli, "policy.reload", NULL, &result))
		return CLI_EXIT_FAILED;
	return show_result(cli, result, print_reloaded);
}
