/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay: a captured byte stream through framing, text, tasks and accounting,
 * as a flow of the daemon would go. Prints offsets and counts; what is withheld
 * is never printed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/replay_print.h"
#include "core/exchange.h"
#include "core/pipeline.h"
#include "sys/fd.h"
#include "sys/log.h"

#define CHUNK_DEFAULT 65536u
#define CHUNK_MAX     (16u << 20)
#define PENDING_UNITS 65536u

struct replay_config {
	const char *policy, *destination, *track, *framing;
	uint64_t chunk;
};

static const struct option_spec options[] = {
	{"policy", "FILE", OPTION_TEXT, offsetof(struct replay_config, policy), "the policy", 0, 0},
	{"destination", "ADDR:PORT", OPTION_TEXT, offsetof(struct replay_config, destination),
	 "what the stream was connected to", 0, 0},
	{"track", "TRACK", OPTION_TEXT, offsetof(struct replay_config, track),
	 "request (default) or response", 0, 0},
	{"framing", "NAME", OPTION_TEXT, offsetof(struct replay_config, framing),
	 "what the requests were told to be, for responses under framing auto", 0, 0},
	{"chunk", "BYTES", OPTION_NUMBER, offsetof(struct replay_config, chunk),
	 "feed so many at a time (65536)", 1, CHUNK_MAX},
};

struct replay {
	const struct policy *policy;
	enum session_track track;
	enum policy_action action;
	struct framing framing;
	enum framing_kind told; /* responses under auto */
	struct extract extract;
	const char *match; /* the destination's, or "otherwise" */
	struct exchanges *exchanges;
	struct session_state state; /* of the session that ended last */
	uint64_t sessions;	    /* that ended; none where the track has no tasks */
	struct pipeline *pipeline;
	struct pipeline_task tasks[POLICY_TASKS_MAX];
	struct pipeline_task watchers[2 * POLICY_TASKS_MAX]; /* those of `output` among them */
	size_t watcher_count;
	const char *names[_SESSION_TRACK_MAX][POLICY_TASKS_MAX];
	const char *output_names[POLICY_TASKS_MAX];
	json_t *findings;
	uint64_t received, units;
	json_t *released; /* [[start, end], …] */
	uint64_t last;
};

static void on_unit(void *context, const struct pipeline_unit *unit)
{
	struct replay *replay = context;

	(void)unit;
	replay->units++;
}

static void on_session_end(void *context, uint64_t number, const struct session *session,
			   const struct session_state *state)
{
	struct replay *replay = context;

	(void)number;
	(void)session;
	replay->state = *state;
	replay->sessions++;
}

static const struct policy_task *task_named(const struct policy *policy, const char *name)
{
	size_t i = 0;

	while (strcmp(policy->tasks[i].name, name) != 0)
		i++;
	return &policy->tasks[i];
}

static json_t *found_json(const struct policy *policy, const char *name, uint32_t rule,
			  uint64_t start, uint64_t end)
{
	const struct policy_task *task = task_named(policy, name);
	json_t *found = json_pack("{s:s, s:s, s:I, s:I, s:I}", "task", name, "kind",
				  policy_task_kind_name(task->kind), "rule", (json_int_t)rule,
				  "start", (json_int_t)start, "end", (json_int_t)end);

	if (task->set_count)
		(void)json_object_set_new(
			found, "rule_name",
			json_string(builtin_rule_of(task->sets, task->set_count, rule)->name));
	return found;
}

static void on_finding(void *context, const struct pipeline_finding *finding)
{
	struct replay *replay = context;
	json_t *found = found_json(replay->policy, finding->task->name, finding->rule,
				   finding->start, finding->end);

	(void)json_object_set_new(found, "enforcing", json_boolean(finding->task->output));
	(void)json_array_append_new(replay->findings, found);
}

static int find_destination(struct replay *replay, const char *destination)
{
	const struct policy_destination *rule = NULL;
	uint8_t addr[16];
	uint16_t port;

	if (destination) {
		if (policy_parse_peer(destination, addr, &port)) {
			log_error("'%s' is no destination: ADDR:PORT, with an IPv6 address in "
				  "brackets",
				  destination);
			return -EINVAL;
		}
		rule = policy_match(replay->policy, addr, port);
	}
	replay->match = rule ? rule->match : "otherwise";
	replay->action = rule ? rule->action : POLICY_MEDIATE;
	replay->framing = rule ? rule->framing : replay->policy->framing;
	replay->extract = rule ? rule->extract : replay->policy->extract;
	return 0;
}

/* Under auto the requests tell; of responses alone the user has to. */
static int find_framing(struct replay *replay, const char *name)
{
	static const enum framing_kind told[] = {FRAMING_HTTP1, FRAMING_JSONRPC_CL, FRAMING_NDJSON};
	bool wanted = replay->action == POLICY_MEDIATE && replay->track == SESSION_RESPONSE &&
		      replay->framing.kind == FRAMING_AUTO;
	size_t i = 0;

	if (wanted != (name != NULL)) {
		log_error(name ? "--framing goes with --track response under framing auto"
			       : "the framing is auto, and responses are framed as their requests: "
				 "name it with --framing");
		return -EINVAL;
	}
	if (!name)
		return 0;
	while (i < ARRAY_SIZE(told) && strcmp(policy_framing_name(told[i]), name) != 0)
		i++;
	if (i == ARRAY_SIZE(told)) {
		log_error("--framing is http1, jsonrpc_cl or ndjson");
		return -EINVAL;
	}
	replay->told = told[i];
	return 0;
}

/* Without requests and responses, one exchange is all of the stream. */
static int open_exchanges(struct replay *replay, const struct session_config *session,
			  struct session **ret_session)
{
	const struct exchanges_config config = {
		.session = *session,
		.on_end = on_session_end,
		.context = replay,
		.one_sided = true,
	};
	int err = exchanges_new(&config, &replay->exchanges);

	/* These begin their own, once they know of what. */
	if (!err && replay->framing.kind != FRAMING_HTTP1 && replay->framing.kind != FRAMING_AUTO &&
	    exchanges_request(replay->exchanges, ret_session))
		err = -ENOMEM;
	if (!err && replay->framing.kind == FRAMING_AUTO && replay->track == SESSION_RESPONSE)
		exchanges_identify(replay->exchanges, replay->told);
	return err ? log_errno(LOG_ERR, err, "the session cannot be opened") : 0;
}

/* Nobody is asked here: what an interceptor would say is not known. */
static int refuse_interceptors(const struct policy *policy)
{
	for (size_t i = 0; i < policy->task_count; i++)
		if (policy->tasks[i].interceptor)
			return log_errno(LOG_ERR, -EOPNOTSUPP,
					 "replay: task '%s' is an interceptor, and none is asked",
					 policy->tasks[i].name);
	return 0;
}

static struct pipeline_task task_of(const struct policy *policy, size_t index, bool output)
{
	const struct policy_task *task = &policy->tasks[index];

	return (struct pipeline_task){
		.name = task->name, .matcher = policy_task_matcher(task), .output = output};
}

/* What a session is told of a track's tasks. */
static void name_tasks(struct replay *replay, enum session_track track,
		       struct session_config *config)
{
	const struct policy *policy = replay->policy;
	size_t i;

	for (i = 0; i < policy->track_task_count[track]; i++)
		replay->names[track][i] = policy->tasks[policy->track_tasks[track][i]].name;
	config->tasks[track] = replay->names[track];
	config->task_count[track] = policy->track_task_count[track];
}

static void fill_tasks(struct replay *replay, struct session_config *config)
{
	const struct policy *policy = replay->policy;
	const struct policy_task_list *warn = &policy->warn[replay->track];
	size_t i;

	for (i = 0; i < policy->track_task_count[replay->track]; i++)
		replay->tasks[i] = task_of(policy, policy->track_tasks[replay->track][i], false);
	name_tasks(replay, replay->track, config);
	for (i = 0; i < warn->count; i++)
		replay->watchers[replay->watcher_count++] = task_of(policy, warn->tasks[i], false);
	if (replay->track != SESSION_RESPONSE || !policy->output.count)
		return;
	/* Where they alone have a say of the response, the request's tasks make the session. */
	name_tasks(replay, SESSION_REQUEST, config);
	for (i = 0; i < policy->output.count; i++) {
		replay->output_names[i] = policy->tasks[policy->output.tasks[i]].name;
		replay->watchers[replay->watcher_count++] =
			task_of(policy, policy->output.tasks[i], true);
	}
	config->output_tasks = replay->output_names;
	config->output_count = policy->output.count;
}

static int open_pipeline(struct replay *replay)
{
	const struct policy *policy = replay->policy;
	struct session_config config = {.level = policy->level};
	struct pipeline_config pipe = {
		.framing = replay->framing,
		.extract = replay->extract,
		.max_message = policy->limits.max_message_bytes,
		.max_pending_units = PENDING_UNITS,
		.track = replay->track,
		.level = policy->level,
		.tasks = replay->tasks,
		.task_count = policy->track_task_count[replay->track],
		.watchers = replay->watchers,
		.on_finding = on_finding,
		.release_opaque = policy->release_opaque,
		.on_unit = on_unit,
		.context = replay,
	};
	int err;

	fill_tasks(replay, &config);
	pipe.watcher_count = replay->watcher_count;
	err = open_exchanges(replay, &config, &pipe.session);
	if (err)
		return err;
	pipe.exchanges = replay->exchanges;
	err = pipeline_new(&pipe, &replay->pipeline);
	if (err)
		return log_errno(LOG_ERR, err, "the pipeline cannot be opened");
	return 0;
}

/* A policy that observes lets what cannot be framed or judged go on, unjudged. */
static bool is_unjudged(const struct replay *replay, enum fault fault)
{
	return fault != FAULT_NONE && replay->policy->mode == POLICY_OBSERVE;
}

/* Notes what was released since the last look. */
static void note_released(struct replay *replay, uint64_t now)
{
	if (now == replay->last)
		return;
	(void)json_array_append_new(replay->released,
				    json_pack("[I, I]", (json_int_t)replay->last, (json_int_t)now));
	replay->last = now;
}

static int feed(struct replay *replay, int fd, uint8_t *chunk, size_t size, enum fault *ret_fault)
{
	enum fault fault = FAULT_NONE;
	ssize_t got;
	size_t have;

	do {
		for (have = 0; have < size; have += (size_t)got) {
			got = read(fd, chunk + have, size - have);
			if (got < 0 && errno == EINTR)
				got = 0;
			else if (got < 0)
				return -errno;
			else if (got == 0)
				break;
		}
		replay->received += have;
		/* What follows a fault is read too: it counts as withheld. */
		if (have && fault == FAULT_NONE && replay->action == POLICY_MEDIATE) {
			fault = pipeline_feed(replay->pipeline, chunk, have);
			note_released(replay, pipeline_released(replay->pipeline));
		}
	} while (have == size);
	if (fault == FAULT_NONE && replay->action == POLICY_MEDIATE) {
		fault = pipeline_end(replay->pipeline);
		note_released(replay, pipeline_released(replay->pipeline));
	}
	if (is_unjudged(replay, fault))
		note_released(replay, replay->received);
	*ret_fault = fault;
	return 0;
}

static void end_exchange(struct replay *replay)
{
	if (!exchanges_open(replay->exchanges) ||
	    pipeline_framing(replay->pipeline) == FRAMING_HTTP1)
		return;
	if (replay->framing.kind == FRAMING_AUTO && replay->track == SESSION_RESPONSE)
		(void)!exchanges_response_end(replay->exchanges, false);
	else
		(void)!exchanges_request_end(replay->exchanges);
}

/* The end of the session that is over all of it, and of what a fault left open in http1. */
static void settle(struct replay *replay)
{
	if (!replay->exchanges)
		return;
	/* How it ended shows in the state. */
	if (replay->framing.kind != FRAMING_HTTP1)
		end_exchange(replay);
	exchanges_fail(replay->exchanges, SESSION_FRAMING_FAULT);
}

static json_t *result_json(const struct replay *replay, enum fault fault)
{
	const struct policy *policy = replay->policy;
	const struct pipeline_denial *denial =
		replay->pipeline ? pipeline_denial(replay->pipeline) : NULL;
	bool passed = replay->action == POLICY_PASS;
	uint64_t released = passed ? replay->received : replay->last;
	uint64_t framed = replay->pipeline ? pipeline_framed(replay->pipeline) : 0;
	uint64_t runes = replay->pipeline ? pipeline_runes(replay->pipeline) : 0;
	json_t *view;

	view = json_pack(
		"{s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:O, s:O, s:s, s:I, "
		"s:s?, s:s?}",
		"policy", policy->name, "mode", policy_mode_name(policy->mode), "safety_level",
		session_level_name(policy->level), "destination", replay->match, "action",
		policy_action_name(replay->action), "framing",
		replay->pipeline ? policy_framing_name(pipeline_framing(replay->pipeline)) : "none",
		"received", (json_int_t)replay->received, "framed", (json_int_t)framed, "units",
		(json_int_t)replay->units, "runes", (json_int_t)runes, "released",
		(json_int_t)released, "withheld", (json_int_t)(replay->received - released),
		"ranges", replay->released, "findings", replay->findings, "fault",
		fault_name(fault), "sessions", (json_int_t)replay->sessions, "session",
		replay->sessions ? session_end_name(replay->state.end) : NULL, "reason",
		replay->action == POLICY_DENY ? "policy_denied"
		: replay->sessions	      ? session_reason(&replay->state)
					      : NULL);
	(void)json_object_set_new(view, "unjudged", json_boolean(is_unjudged(replay, fault)));
	if (denial)
		(void)json_object_set_new(
			view, "denial",
			found_json(policy, denial->task, denial->rule, denial->start, denial->end));
	return view;
}

static int report(const struct cli *cli, const struct replay *replay, enum fault fault)
{
	json_t *view = result_json(replay, fault);

	if (!view) {
		log_error("not enough memory");
		return CLI_EXIT_FAILED;
	}
	if (cli->json)
		cli_print_json(view);
	else
		replay_print(view);
	json_decref(view);
	if (is_unjudged(replay, fault))
		return CLI_EXIT_DONE;
	if (fault == FAULT_BLOCKED || fault == FAULT_OUTPUT_DENIED || replay->action == POLICY_DENY)
		return CLI_EXIT_DENIED;
	if (fault != FAULT_NONE || (replay->sessions && replay->state.end != SESSION_COMPLETE_END))
		return CLI_EXIT_FAILED;
	return CLI_EXIT_DONE;
}

static int play(const struct cli *cli, struct replay *replay, size_t size, const char *path)
{
	int fd cleanup(fd_closep) = -1;
	enum fault fault = FAULT_NONE;
	uint8_t *chunk;
	int err;

	fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		(void)log_errno(LOG_ERR, -errno, "cannot read '%s'", path);
		return CLI_EXIT_FAILED;
	}
	chunk = malloc(size);
	replay->released = json_array();
	replay->findings = json_array();
	err = chunk && replay->released && replay->findings ? 0 : -ENOMEM;
	if (!err && replay->action == POLICY_MEDIATE && open_pipeline(replay)) {
		free(chunk);
		return CLI_EXIT_FAILED;
	}
	if (!err)
		err = feed(replay, fd, chunk, size, &fault);
	free(chunk);
	if (err) {
		(void)log_errno(LOG_ERR, err, "cannot read '%s'", path);
		return CLI_EXIT_FAILED;
	}
	settle(replay);
	return report(cli, replay, fault);
}

static int read_track(const char *name, enum session_track *ret_track)
{
	if (!name || strcmp(name, "request") == 0)
		*ret_track = SESSION_REQUEST;
	else if (strcmp(name, "response") == 0)
		*ret_track = SESSION_RESPONSE;
	else
		return -EINVAL;
	return 0;
}

static int run(const struct cli *cli, const void *config, int count, char **args)
{
	const struct replay_config *wanted = config;
	struct policy *policy cleanup(policy_unrefp) = NULL;
	struct replay replay = {.action = POLICY_MEDIATE};
	int status, err;

	(void)count;
	if (!wanted->policy || read_track(wanted->track, &replay.track)) {
		log_error("replay: %s", wanted->policy ? "--track is request or response"
						       : "--policy FILE is missing");
		return CLI_EXIT_USAGE;
	}
	if (cli_load_policy(wanted->policy, NULL, &policy))
		return CLI_EXIT_FAILED;
	replay.policy = policy;
	err = refuse_interceptors(policy);
	if (!err)
		err = find_destination(&replay, wanted->destination);
	if (!err)
		err = find_framing(&replay, wanted->framing);
	if (err)
		status = CLI_EXIT_USAGE;
	else
		status = play(cli, &replay, wanted->chunk ? wanted->chunk : CHUNK_DEFAULT, args[0]);
	pipeline_free(replay.pipeline);
	exchanges_free(replay.exchanges);
	json_decref(replay.released);
	json_decref(replay.findings);
	return status;
}

const struct command command_replay = {
	.name = "replay",
	.arguments = "FILE",
	.summary = "Show what policy would do with a captured byte stream",
	.details =
		"Needs no daemon and no privileges. FILE '-' is standard input. Prints offsets\n"
		"and counts, never text. A stream has two directions, FILE is one of them: with\n"
		"http1, requests are taken as answered when they end, and responses as those to\n"
		"GET. Exit status 3: denied by policy, 1: another fault, unless the policy only\n"
		"observes.",
	.flags = COMMAND_JSON,
	.usage_status = CLI_EXIT_USAGE,
	.min_args = 1,
	.max_args = 1,
	.options = options,
	.option_count = ARRAY_SIZE(options),
	.config_size = sizeof(struct replay_config),
	.run = run,
};
