/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/policy_print.h"

#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

#define LINE_COLUMNS 80

static const char *const tracks[] = {"request", "response"};

static void print_words(const char *before, const json_t *list)
{
	const json_t *word;
	size_t i;

	json_array_foreach(list, i, word)
	{
		(void)printf("%s%s", i ? "," : before, json_string_value(word));
	}
}

static void print_destinations(const json_t *list)
{
	const json_t *row;
	struct table table;
	size_t i;

	table_init(&table, NULL, 5);
	json_array_foreach(list, i, row)
	{
		table_add(&table, "  %s", cli_text(row, "match"));
		table_add(&table, "%s", cli_text(row, "action"));
		table_add(&table, "%s", cli_text(row, "framing"));
		table_add(&table, "%s", cli_text(row, "extract"));
		table_add(&table, "%s",
			  json_is_true(json_object_get(row, "builtin")) ? "built in" : "");
	}
	(void)printf("destinations, first match wins\n");
	table_print(&table);
}

/* "  active SET: RULE, RULE", over several lines where there are many. */
static void print_folded(const char *set, const json_t *rules)
{
	int column = printf("  active %s:", set);
	size_t count = json_array_size(rules), i;

	for (i = 0; i < count; i++) {
		const char *rule = json_string_value(json_array_get(rules, i));

		if (column + (int)strlen(rule) + 2 > LINE_COLUMNS)
			column = printf("\n   ") - 1;
		column += printf(" %s%s", rule, i + 1 < count ? "," : "");
	}
	(void)printf("\n");
}

/* The rules of each set that a task has; NULL: it has none. */
static void print_active(json_t *sets)
{
	const char *name;
	json_t *rules;

	json_object_foreach(sets, name, rules)
	{
		print_folded(name, rules);
	}
}

static void print_tasks(const json_t *list)
{
	const json_t *task;
	size_t i;

	json_array_foreach(list, i, task)
	{
		(void)printf("task %s: %s, ", cli_text(task, "name"), cli_text(task, "kind"));
		if (json_object_get(task, "url"))
			cli_print_interceptor(task);
		else
			cli_print_rules(task);
		if (json_object_get(task, "max_runes"))
			(void)printf(", of at most %lld runes",
				     (long long)cli_number(task, "max_runes"));
		print_words(", fold ", json_object_get(task, "fold"));
		print_words(", on ", json_object_get(task, "tracks"));
		(void)printf("%s\n", json_is_true(json_object_get(task, "warn_only"))
					     ? ", warn only"
				     : json_is_true(json_object_get(task, "enforcing"))
					     ? ""
					     : ", enforces nothing");
		print_active(json_object_get(task, "active"));
	}
}

static void print_exposure(const json_t *view)
{
	const json_t *bounds = json_object_get(view, "exposure_bound_runes"), *bound;
	size_t i;

	(void)printf("exposure bound:");
	for (i = 0; i < ARRAY_SIZE(tracks); i++) {
		bound = json_object_get(bounds, tracks[i]);
		(void)printf("%s the %s track ", i ? "," : "", tracks[i]);
		if (json_is_integer(bound))
			(void)printf("%lld runes", (long long)json_integer_value(bound));
		else
			(void)printf("unbounded");
	}
	(void)printf("; buffered output: no\n");
	if (json_array_size(json_object_get(view, "output_tasks"))) {
		print_words("output, judged when it has left: ",
			    json_object_get(view, "output_tasks"));
		(void)printf("\n");
	}
}

/* "NAME: KEY=VALUE KEY=VALUE" */
static void print_map(const char *name, json_t *map)
{
	const char *key;
	json_t *value;

	(void)printf("%s:", name);
	json_object_foreach(map, key, value)
	{
		if (json_is_string(value))
			(void)printf(" %s=%s", key, json_string_value(value));
		else if (json_is_boolean(value))
			(void)printf(" %s=%s", key, json_is_true(value) ? "true" : "false");
		else
			(void)printf(" %s=%lld", key, (long long)json_integer_value(value));
	}
	(void)printf("\n");
}

void policy_print(const struct cli *cli, const json_t *view)
{
	const json_t *bound = json_object_get(view, "hold_back_runes"), *note, *notes;
	bool observes = strcmp(cli_text(view, "mode"), policy_mode_name(POLICY_OBSERVE)) == 0;
	size_t i;

	(void)cli;
	(void)printf("policy %s: %s%s, %s, on_deny %s, opaque_bodies %s, dns %s",
		     cli_text(view, "name"), cli_text(view, "mode"),
		     observes ? " (its tasks enforce nothing)" : "", cli_text(view, "safety_level"),
		     cli_text(view, "on_deny"), cli_text(view, "opaque_bodies"),
		     cli_text(view, "dns"));
	if (cli_number(view, "resolvers"))
		(void)printf(" (%lld listed)", (long long)cli_number(view, "resolvers"));
	print_words(", unix ", json_object_get(view, "unix"));
	(void)printf("\n");
	print_destinations(json_object_get(view, "destinations"));
	print_tasks(json_object_get(view, "tasks"));
	(void)printf("hold-back: at most %lld runes of a request channel, %lld of a response "
		     "channel (after folding)\n",
		     (long long)cli_number(bound, "request"),
		     (long long)cli_number(bound, "response"));
	print_exposure(view);
	print_map("limits", json_object_get(view, "limits"));
	print_map("audit", json_object_get(view, "audit"));
	notes = json_object_get(view, "notes");
	json_array_foreach(notes, i, note)
	{
		(void)printf("note: %s\n", json_string_value(note));
	}
}
