/* SPDX-License-Identifier: Apache-2.0 */
/* policy check: what a policy file comes to, from the core alone, without a daemon. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "sys/log.h"

static const char *const tracks[] = {"request", "response"};
static const char *const dns_names[] = {"deny", "resolvers", "any"};

/* "ndjson", "sentinel 0d0a", "lenprefix u32 big", … */
static void framing_text(const struct framing *framing, char *text, size_t len)
{
	size_t i, at;

	at = (size_t)snprintf(text, len, "%s", policy_framing_name(framing->kind));
	if (framing->kind == FRAMING_SENTINEL && at + 2 * framing->sentinel_len + 2 < len) {
		text[at++] = ' ';
		for (i = 0; i < framing->sentinel_len; i++, at += 2)
			(void)snprintf(text + at, len - at, "%02x", framing->sentinel[i]);
	}
	if (framing->kind == FRAMING_LENPREFIX)
		(void)snprintf(text + at, len - at, " %s%s%s", policy_lenprefix_name(framing->type),
			       framing->type == LENPREFIX_VARINT ? ""
			       : framing->big_endian		 ? " big"
								 : " little",
			       framing->includes_header ? " includes_header" : "");
}

static void extract_text(const struct extract *extract, char *text, size_t len)
{
	bool joins = extract->kind == EXTRACT_RAW || extract->kind == EXTRACT_PATH;

	(void)snprintf(text, len, "%s%s%s%s", policy_extract_name(extract->kind),
		       extract->kind == EXTRACT_PATH ? ":" : "",
		       extract->kind == EXTRACT_PATH ? extract->path : "",
		       !joins		    ? ""
		       : extract->join_unit ? " by unit"
					    : " by stream");
}

static json_t *mediation_json(enum policy_action action, const struct framing *framing,
			      const struct extract *extract)
{
	char framing_words[256], extract_words[EXTRACT_PATH_MAX + 32];

	if (action != POLICY_MEDIATE)
		return json_pack("{s:n, s:n}", "framing", "extract");
	framing_text(framing, framing_words, sizeof(framing_words));
	extract_text(extract, extract_words, sizeof(extract_words));
	return json_pack("{s:s, s:s}", "framing", framing_words, "extract", extract_words);
}

/* Whether a rule matches every destination, so that nothing is left for "otherwise". */
static bool is_exhaustive(const struct policy *policy)
{
	size_t i;

	for (i = 0; i < policy->destination_count; i++)
		if (policy->destinations[i].prefix_len == 0 && policy->destinations[i].port == 0)
			return true;
	return false;
}

static json_t *destinations_json(const struct policy *policy)
{
	json_t *list = json_array(), *row;
	size_t i;

	for (i = 0; i < policy->destination_count; i++) {
		const struct policy_destination *rule = &policy->destinations[i];

		row = mediation_json(rule->action, &rule->framing, &rule->extract);
		(void)json_object_set_new(row, "match", json_string(rule->match));
		(void)json_object_set_new(row, "action",
					  json_string(policy_action_name(rule->action)));
		(void)json_object_set_new(row, "builtin", json_boolean(rule->builtin));
		(void)json_array_append_new(list, row);
	}
	if (is_exhaustive(policy))
		return list;
	row = mediation_json(POLICY_MEDIATE, &policy->framing, &policy->extract);
	(void)json_object_set_new(row, "match", json_string("otherwise"));
	(void)json_object_set_new(row, "action", json_string(policy_action_name(POLICY_MEDIATE)));
	(void)json_object_set_new(row, "builtin", json_false());
	(void)json_array_append_new(list, row);
	return list;
}

static bool track_has(const struct policy *policy, enum session_track track, size_t task)
{
	size_t i;

	for (i = 0; i < policy->track_task_count[track]; i++)
		if (policy->track_tasks[track][i] == task)
			return true;
	return false;
}

static json_t *tasks_json(const struct policy *policy)
{
	json_t *list = json_array(), *on, *folds;
	const char *fold;
	unsigned int bit;
	size_t i, track;

	for (i = 0; i < policy->task_count; i++) {
		const struct policy_task *task = &policy->tasks[i];

		on = json_array();
		for (track = 0; track < ARRAY_SIZE(tracks); track++)
			if (track_has(policy, (enum session_track)track, i))
				(void)json_array_append_new(on, json_string(tracks[track]));
		folds = json_array();
		for (bit = 0; (fold = policy_fold_name(bit)); bit++)
			if (task->fold & (1u << bit))
				(void)json_array_append_new(folds, json_string(fold));
		(void)json_array_append_new(
			list, json_pack("{s:s, s:s, s:I, s:I, s:o, s:o}", "name", task->name,
					"kind", "terms", "terms", (json_int_t)task->term_count,
					"longest", (json_int_t)terms_longest(task->terms), "fold",
					folds, "tracks", on));
	}
	return list;
}

static json_t *limits_json(const struct policy_limits *limits)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "eager_bytes",
			 (json_int_t)limits->eager_bytes, "max_message_bytes",
			 (json_int_t)limits->max_message_bytes, "hold_bytes_per_flow",
			 (json_int_t)limits->hold_bytes_per_flow, "hold_bytes_total",
			 (json_int_t)limits->hold_bytes_total, "hold_timeout_s",
			 (json_int_t)limits->hold_timeout_s, "incomplete_message_timeout_s",
			 (json_int_t)limits->incomplete_message_timeout_s, "message_deadline_s",
			 (json_int_t)limits->message_deadline_s, "verdict_timeout_ms",
			 (json_int_t)limits->verdict_timeout_ms);
}

static json_t *unix_json(const struct policy *policy)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < policy->unix_count; i++)
		(void)json_array_append_new(list, json_string(policy->unix_addresses[i]));
	return list;
}

/* Is there a stream whose framing its own first bytes would tell? */
static bool has_auto(const struct policy *policy)
{
	size_t i;

	for (i = 0; i < policy->destination_count; i++)
		if (policy->destinations[i].action == POLICY_MEDIATE &&
		    policy->destinations[i].framing.kind == FRAMING_AUTO)
			return true;
	return policy->framing.kind == FRAMING_AUTO && !is_exhaustive(policy);
}

/* What the operator may not have meant, or may not know; each one line. */
static json_t *notes_json(const struct policy *policy)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < policy->task_count; i++)
		if (!track_has(policy, SESSION_REQUEST, i) &&
		    !track_has(policy, SESSION_RESPONSE, i))
			(void)json_array_append_new(list,
						    json_sprintf("task '%s' is used by no track",
								 policy->tasks[i].name));
	for (i = 0; i < ARRAY_SIZE(tracks); i++)
		if (!policy->track_task_count[i])
			(void)json_array_append_new(
				list, json_sprintf("the %s track has no tasks: it is framed and "
						   "relayed, not evaluated",
						   tracks[i]));
	if (policy->release_opaque)
		(void)json_array_append_new(
			list, json_string("bodies of http1 that are no text are released unread "
					  "(opaque_bodies)"));
	if (has_auto(policy))
		(void)json_array_append_new(
			list,
			json_string("framing auto tells http1, jsonrpc_cl and ndjson by the first "
				    "bytes of the client, WebSocket by its upgrade; TLS is refused "
				    "as tls_unmediated, all else as unframed"));
	return list;
}

static json_t *policy_json(const struct policy *policy)
{
	return json_pack(
		"{s:s, s:s, s:s, s:o, s:o, s:{s:I, s:I}, s:s, s:s, s:s, s:I, s:o, s:o, s:o}",
		"name", policy->name, "mode", "enforce", "safety_level", "blocking", "destinations",
		destinations_json(policy), "tasks", tasks_json(policy), "hold_back_runes",
		"request", (json_int_t)policy_hold_back(policy, SESSION_REQUEST), "response",
		(json_int_t)policy_hold_back(policy, SESSION_RESPONSE), "on_deny",
		policy->on_deny == POLICY_RESET ? "reset" : "refuse", "opaque_bodies",
		policy->release_opaque ? "release" : "refuse", "dns", dns_names[policy->dns],
		"resolvers", (json_int_t)policy->resolver_count, "unix", unix_json(policy),
		"limits", limits_json(&policy->limits), "notes", notes_json(policy));
}

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

static void print_tasks(const json_t *list)
{
	const json_t *task;
	size_t i;

	json_array_foreach(list, i, task)
	{
		(void)printf("task %s: %lld %s, longest %lld runes", cli_text(task, "name"),
			     (long long)cli_number(task, "terms"), cli_text(task, "kind"),
			     (long long)cli_number(task, "longest"));
		print_words(", fold ", json_object_get(task, "fold"));
		print_words(", on ", json_object_get(task, "tracks"));
		(void)printf("\n");
	}
}

static void print_policy(const json_t *view)
{
	const json_t *bound = json_object_get(view, "hold_back_runes"), *note, *notes;
	const char *name;
	json_t *value;
	size_t i;

	(void)printf("policy %s: %s, %s, on_deny %s, opaque_bodies %s, dns %s",
		     cli_text(view, "name"), cli_text(view, "mode"), cli_text(view, "safety_level"),
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
	(void)printf("limits:");
	json_object_foreach(json_object_get(view, "limits"), name, value)
	{
		(void)printf(" %s=%lld", name, (long long)json_integer_value(value));
	}
	(void)printf("\n");
	notes = json_object_get(view, "notes");
	json_array_foreach(notes, i, note)
	{
		(void)printf("note: %s\n", json_string_value(note));
	}
}

static int run(const struct cli *cli, const void *config, int count, char **args)
{
	struct policy *policy cleanup(policy_unrefp) = NULL;
	json_t *view;

	(void)config;
	(void)count;
	if (strcmp(args[0], "check") != 0) {
		log_error("policy: '%s' is unknown; allowed: check", args[0]);
		return CLI_EXIT_USAGE;
	}
	if (cli_load_policy(args[1], NULL, &policy))
		return CLI_EXIT_FAILED;
	view = policy_json(policy);
	if (!view) {
		log_error("not enough memory");
		return CLI_EXIT_FAILED;
	}
	if (cli->json)
		cli_print_json(view);
	else
		print_policy(view);
	json_decref(view);
	return CLI_EXIT_DONE;
}

const struct command command_policy = {
	.name = "policy",
	.arguments = "check FILE",
	.summary = "Check a policy file and show what it comes to",
	.details = "Needs no daemon and no privileges. FILE '-' is standard input.",
	.flags = COMMAND_JSON,
	.usage_status = CLI_EXIT_USAGE,
	.min_args = 2,
	.max_args = 2,
	.run = run,
};
