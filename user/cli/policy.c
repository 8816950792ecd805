/* SPDX-License-Identifier: Apache-2.0 */
/* policy check: what a policy file comes to, from the core alone, without a daemon. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/policy_print.h"
#include "cli/policy_remote.h"
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

	(void)snprintf(text, len, "%s%s%s%s%s", policy_extract_name(extract->kind),
		       extract->kind == EXTRACT_PATH ? ":" : "",
		       extract->kind == EXTRACT_PATH ? extract->path : "",
		       !joins		    ? ""
		       : extract->join_unit ? " by unit"
					    : " by stream",
		       extract->strict ? " strict" : "");
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

static bool has(const size_t *tasks, size_t count, size_t task)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (tasks[i] == task)
			return true;
	return false;
}

static bool gates(const struct policy *policy, size_t track, size_t task)
{
	return has(policy->track_tasks[track], policy->track_task_count[track], task);
}

static bool watches(const struct policy *policy, size_t track, size_t task)
{
	return has(policy->warn[track].tasks, policy->warn[track].count, task);
}

static bool judges_output(const struct policy *policy, size_t task)
{
	return has(policy->output.tasks, policy->output.count, task);
}

/* Where a task evaluates, and in *ret_enforcing whether anything follows from what it finds. */
static json_t *places_json(const struct policy *policy, size_t task, bool *ret_enforcing)
{
	json_t *list = json_array();
	bool enforcing = judges_output(policy, task);
	size_t track;

	for (track = 0; track < ARRAY_SIZE(tracks); track++) {
		if (!gates(policy, track, task) && !watches(policy, track, task))
			continue;
		(void)json_array_append_new(list, json_string(tracks[track]));
		enforcing = enforcing || gates(policy, track, task);
	}
	if (judges_output(policy, task))
		(void)json_array_append_new(list, json_string("output"));
	*ret_enforcing = enforcing;
	return list;
}

/* {SET: [RULE, …], …} */
static json_t *active_json(const struct policy_task *task)
{
	json_t *sets = json_object(), *rules;
	size_t i, j;

	for (i = 0; i < task->set_count; i++) {
		rules = json_array();
		for (j = 0; j < task->sets[i]->count; j++)
			(void)json_array_append_new(rules,
						    json_string(task->sets[i]->rules[j].name));
		(void)json_object_set_new(sets, task->sets[i]->name, rules);
	}
	return sets;
}

static json_t *interceptor_json(const struct policy_task *task, json_t *places, bool enforcing)
{
	const struct policy_interceptor *i = task->interceptor;

	return json_pack(
		"{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:s, s:I, s:o, s:b, s:b}", "name", task->name,
		"kind", "interceptor", "url", i->url, "timeout_ms", (json_int_t)i->timeout_ms,
		"span_runes", (json_int_t)i->spans.coverage.span, "window_runes",
		(json_int_t)i->spans.coverage.window, "detectable_runes",
		(json_int_t)i->spans.coverage.detectable, "cadence",
		policy_cadence_name(i->spans.cadence), "concurrency", (json_int_t)i->concurrency,
		"tracks", places, "warn_only", (int)task->warn_only, "enforcing", (int)enforcing);
}

static json_t *tasks_json(const struct policy *policy)
{
	json_t *list = json_array(), *places, *folds, *row;
	bool enforcing;
	const char *fold;
	unsigned int bit;
	size_t i;

	for (i = 0; i < policy->task_count; i++) {
		const struct policy_task *task = &policy->tasks[i];
		const struct matcher matcher = policy_task_matcher(task);

		places = places_json(policy, i, &enforcing);
		if (task->interceptor) {
			(void)json_array_append_new(list,
						    interceptor_json(task, places, enforcing));
			continue;
		}
		folds = json_array();
		for (bit = 0; (fold = policy_fold_name(bit)); bit++)
			if (task->fold & (1u << bit))
				(void)json_array_append_new(folds, json_string(fold));
		row = json_pack("{s:s, s:s, s:I, s:I, s:o, s:o, s:b, s:b}", "name", task->name,
				"kind", policy_task_kind_name(task->kind),
				policy_task_unit_name(task->kind), (json_int_t)task->rule_count,
				"longest", (json_int_t)matcher_longest(&matcher), "fold", folds,
				"tracks", places, "warn_only", (int)task->warn_only, "enforcing",
				(int)enforcing);
		if (task->max_runes)
			(void)json_object_set_new(row, "max_runes", json_integer(task->max_runes));
		if (task->set_count)
			(void)json_object_set_new(row, "active", active_json(task));
		(void)json_array_append_new(list, row);
	}
	return list;
}

static json_t *output_json(const struct policy *policy)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < policy->output.count; i++)
		(void)json_array_append_new(
			list, json_string(policy->tasks[policy->output.tasks[i]].name));
	return list;
}

/* Nothing waits for a clearance under deferred. */
static json_t *hold_back_json(const struct policy *policy, enum session_track track)
{
	return json_integer(policy->level == SESSION_DEFERRED ? 0
							      : policy_hold_back(policy, track));
}

static json_t *exposure_json(const struct policy *policy, enum session_track track)
{
	uint32_t runes;

	return policy_exposure_bound(policy, track, &runes) ? json_integer(runes) : json_null();
}

static json_t *audit_json(const struct policy_audit *audit)
{
	return json_pack("{s:b, s:s, s:I}", "watermarks", (int)audit->watermarks, "on_full",
			 audit->on_full == POLICY_ON_FULL_DROP ? "drop" : "close",
			 "quota_bytes_per_hour", (json_int_t)audit->quota_bytes_per_hour);
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

static void add_note(json_t *list, const char *text)
{
	(void)json_array_append_new(list, json_string(text));
}

static void add_task_notes(json_t *list, const struct policy *policy)
{
	const char *rest;
	size_t i;

	for (i = 0; i < policy->task_count; i++)
		if (!gates(policy, SESSION_REQUEST, i) && !gates(policy, SESSION_RESPONSE, i) &&
		    !watches(policy, SESSION_REQUEST, i) && !watches(policy, SESSION_RESPONSE, i) &&
		    !judges_output(policy, i))
			(void)json_array_append_new(list,
						    json_sprintf("task '%s' is used by no track",
								 policy->tasks[i].name));
	for (i = 0; i < ARRAY_SIZE(tracks); i++) {
		if (policy->track_task_count[i])
			continue;
		if (policy->warn[i].count || (i == SESSION_RESPONSE && policy->output.count))
			rest = "no task that gates it: it is evaluated, and relayed whatever is "
			       "found";
		else
			rest = "no tasks: it is framed and relayed, not evaluated";
		(void)json_array_append_new(list,
					    json_sprintf("the %s track has %s", tracks[i], rest));
	}
}

/* What the operator may not have meant, or may not know; each one line. */
static json_t *notes_json(const struct policy *policy)
{
	json_t *list = json_array();

	add_task_notes(list, policy);
	if (policy->mode == POLICY_OBSERVE)
		add_note(list, "mode observe: what tasks find is recorded and denies nothing; what "
			       "cannot be framed or judged is counted, and goes on unjudged; "
			       "destinations and the ways beside TCP hold as ever");
	if (policy->level == SESSION_DEFERRED)
		add_note(list, "safety_level deferred: messages leave before they are cleared; a "
			       "denial ends the stream and recalls nothing");
	if (policy->output.count)
		add_note(list, "tasks of output deny once the response has left: nothing of it is "
			       "withheld");
	if (policy->release_opaque)
		add_note(list, "bodies of http1 that are no text are released unread "
			       "(opaque_bodies)");
	if (has_auto(policy))
		(void)json_array_append_new(
			list,
			json_sprintf("framing auto tells http1, jsonrpc_cl and ndjson by the first "
				     "bytes of the client, WebSocket by its upgrade; TLS %s as "
				     "tls_unmediated, all else as unframed",
				     policy->mode == POLICY_OBSERVE ? "counts" : "is refused"));
	return list;
}

static json_t *policy_json(const struct policy *policy)
{
	return json_pack(
		"{s:s, s:s, s:s, s:o, s:o, s:o, s:{s:o, s:o}, s:{s:o, s:o}, s:b, s:s, s:s, s:s, "
		"s:I, s:o, s:o, s:o, s:o}",
		"name", policy->name, "mode", policy_mode_name(policy->mode), "safety_level",
		session_level_name(policy->level), "destinations", destinations_json(policy),
		"tasks", tasks_json(policy), "output_tasks", output_json(policy), "hold_back_runes",
		"request", hold_back_json(policy, SESSION_REQUEST), "response",
		hold_back_json(policy, SESSION_RESPONSE), "exposure_bound_runes", "request",
		exposure_json(policy, SESSION_REQUEST), "response",
		exposure_json(policy, SESSION_RESPONSE), "buffered_output", 0, "on_deny",
		policy->on_deny == POLICY_RESET ? "reset" : "refuse", "opaque_bodies",
		policy->release_opaque ? "release" : "refuse", "dns", dns_names[policy->dns],
		"resolvers", (json_int_t)policy->resolver_count, "unix", unix_json(policy),
		"limits", limits_json(&policy->limits), "audit", audit_json(&policy->audit),
		"notes", notes_json(policy));
}

static int check(const struct cli *cli, const char *path)
{
	struct policy *policy cleanup(policy_unrefp) = NULL;

	if (cli_load_policy(path, NULL, &policy))
		return CLI_EXIT_FAILED;
	return cli_show(cli, policy_json(policy), policy_print);
}

static int run(const struct cli *cli, const void *config, int count, char **args)
{
	(void)config;
	if (strcmp(args[0], "check") == 0 && count == 2)
		return check(cli, args[1]);
	if (strcmp(args[0], "load") == 0 && count == 2)
		return policy_remote_load(cli, args[1]);
	if (strcmp(args[0], "show") == 0)
		return policy_remote_show(cli, args[1]);
	if (strcmp(args[0], "reload") == 0 && count == 1)
		return policy_remote_reload(cli);
	log_error("policy: 'check FILE', or 'load FILE', or 'show [POLICY]', or 'reload'");
	return CLI_EXIT_USAGE;
}

const struct command command_policy = {
	.name = "policy",
	.arguments = "check FILE | load FILE | show [POLICY] | reload",
	.summary = "Check a policy file; load, show or reload the daemon's",
	.details =
		"check needs no daemon and no privileges, and prints what the file comes to.\n"
		"load gives the daemon the text, by the name in it: a policy of that name is\n"
		"replaced, for new streams, wherever it is bound. show prints what is loaded, and\n"
		"of one its text. reload reads the files that sluiced was started with again.\n"
		"A policy that is wrong changes nothing. FILE '-' is standard input.",
	.flags = COMMAND_SOCKET | COMMAND_JSON,
	.usage_status = CLI_EXIT_USAGE,
	.min_args = 1,
	.max_args = 2,
	.run = run,
};
