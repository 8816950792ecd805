/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/replay_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/pipeline_progress.h"
#include "sys/log.h"

#define PENDING_UNITS 65536u

void replay_find_destination(const struct policy *policy, const uint8_t *address, uint16_t port,
			     struct replay_destination *ret_destination)
{
	const struct policy_destination *rule =
		address ? policy_match(policy, address, port) : NULL;

	*ret_destination = (struct replay_destination){
		.match = rule ? rule->match : "otherwise",
		.action = rule ? rule->action : POLICY_MEDIATE,
		.framing = rule ? rule->framing : policy->framing,
		.extract = rule ? rule->extract : policy->extract,
	};
}

static const struct policy *policy_of(const struct replay_flow *flow)
{
	return flow->stream->setup->policy;
}

static size_t task_named(const struct policy *policy, const char *name)
{
	size_t i = 0;

	while (strcmp(policy->tasks[i].name, name) != 0)
		i++;
	return i;
}

json_t *replay_found(const struct policy *policy, const char *name, uint32_t rule, uint64_t start,
		     uint64_t end)
{
	const struct policy_task *task = &policy->tasks[task_named(policy, name)];
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
	struct replay_flow *flow = context;
	json_t *found = replay_found(policy_of(flow), finding->task->name, finding->rule,
				     finding->start, finding->end);

	(void)json_object_set_new(found, "enforcing", json_boolean(finding->task->output));
	if (json_array_append_new(flow->findings, found))
		flow->stream->failed = true;
}

static void on_unit(void *context, const struct pipeline_unit *unit)
{
	struct replay_flow *flow = context;
	const struct timeline_unit whole = {
		.end = unit->end,
		.runes = pipeline_runes(flow->pipeline),
		.messages = unit->messages,
	};

	if (timeline_add(&flow->timeline, &whole))
		flow->stream->failed = true;
}

static void on_scouted(void *context, const struct pipeline_unit *unit)
{
	struct replay_flow *flow = context;
	size_t wanted = flow->end_room ? flow->end_room * 2 : 64;
	uint64_t *grown;

	if (flow->end_count == flow->end_room) {
		grown = reallocarray(flow->ends, wanted, sizeof(*grown));
		if (!grown) {
			flow->stream->failed = true;
			return;
		}
		flow->ends = grown;
		flow->end_room = wanted;
	}
	flow->ends[flow->end_count++] = unit->end;
}

static void on_session_end(void *context, uint64_t number, const struct session *session,
			   const struct session_state *state)
{
	struct replay_stream *stream = context;

	(void)number;
	(void)session;
	stream->state = *state;
	stream->sessions[state->end]++;
}

uint64_t replay_session_count(const struct replay_stream *stream)
{
	uint64_t count = 0;

	for (int end = 0; end < _SESSION_END_MAX; end++)
		count += stream->sessions[end];
	return count;
}

static struct pipeline_task task_of(const struct policy *policy, size_t index, bool output)
{
	const struct policy_task *task = &policy->tasks[index];

	return (struct pipeline_task){
		.name = task->name,
		.matcher = policy_task_matcher(task),
		.spans = task->interceptor ? &task->interceptor->spans : NULL,
		.output = output,
	};
}

static void fill_tasks(struct replay_flow *flow)
{
	const struct policy *policy = policy_of(flow);
	const struct policy_task_list *warn = &policy->warn[flow->track];
	size_t i;

	for (i = 0; i < policy->track_task_count[flow->track]; i++)
		flow->tasks[i] = task_of(policy, policy->track_tasks[flow->track][i], false);
	for (i = 0; i < warn->count; i++)
		flow->watchers[flow->watcher_count++] = task_of(policy, warn->tasks[i], false);
	for (i = 0; flow->track == SESSION_RESPONSE && i < policy->output.count; i++)
		flow->watchers[flow->watcher_count++] =
			task_of(policy, policy->output.tasks[i], true);
}

/* What a session is told of a track's tasks. */
static void name_tasks(struct replay_stream *stream, enum session_track track,
		       struct session_config *config)
{
	const struct policy *policy = stream->setup->policy;

	for (size_t i = 0; i < policy->track_task_count[track]; i++)
		stream->names[track][i] = policy->tasks[policy->track_tasks[track][i]].name;
	config->tasks[track] = stream->names[track];
	config->task_count[track] = policy->track_task_count[track];
}

/*
 * Of one track alone the session knows no more than that one: but where tasks of `output`
 * alone have a say of the response, those of the request make the session.
 */
static void fill_session(struct replay_stream *stream, struct session_config *config)
{
	const struct policy *policy = stream->setup->policy;
	bool output = stream->flows[SESSION_RESPONSE].used && policy->output.count;

	*config = (struct session_config){.level = policy->level};
	for (int track = 0; track < _SESSION_TRACK_MAX; track++)
		if (stream->flows[track].used || output)
			name_tasks(stream, (enum session_track)track, config);
	if (!output)
		return;
	for (size_t i = 0; i < policy->output.count; i++)
		stream->output_names[i] = policy->tasks[policy->output.tasks[i]].name;
	config->output_tasks = stream->output_names;
	config->output_count = policy->output.count;
}

/* http1 and auto begin their own, once they know of what. */
static bool is_one_exchange(const struct replay_stream *stream)
{
	enum framing_kind kind = stream->destination.framing.kind;

	return kind != FRAMING_HTTP1 && kind != FRAMING_AUTO;
}

static int open_exchanges(struct replay_stream *stream, const struct session_config *session,
			  struct session **ret_session)
{
	const struct exchanges_config config = {
		.session = *session,
		.on_end = on_session_end,
		.context = stream,
		.one_sided = stream->one_sided,
	};
	int err = exchanges_new(&config, &stream->exchanges);

	if (err || !is_one_exchange(stream))
		return err;
	if (exchanges_whole(stream->exchanges, SESSION_REQUEST, ret_session))
		return -ENOMEM;
	if (!stream->one_sided && exchanges_whole(stream->exchanges, SESSION_RESPONSE, ret_session))
		return -ENOMEM;
	return 0;
}

static void fill_pipeline(struct replay_flow *flow, struct pipeline_config *ret_config)
{
	const struct replay_destination *destination = &flow->stream->destination;
	const struct policy *policy = policy_of(flow);

	*ret_config = (struct pipeline_config){
		.framing = destination->framing,
		.extract = destination->extract,
		.max_message = policy->limits.max_message_bytes,
		.max_pending_units = PENDING_UNITS,
		.track = flow->track,
		.release_opaque = policy->release_opaque,
		.context = flow,
	};
}

static int open_pipeline(struct replay_flow *flow, struct session *session)
{
	const struct policy *policy = policy_of(flow);
	struct pipeline_config config;

	fill_pipeline(flow, &config);
	fill_tasks(flow);
	config.level = policy->level;
	config.session = session;
	config.exchanges = flow->stream->exchanges;
	config.tasks = flow->tasks;
	config.task_count = policy->track_task_count[flow->track];
	config.watchers = flow->watchers;
	config.watcher_count = flow->watcher_count;
	config.on_finding = on_finding;
	config.on_unit = on_unit;
	return pipeline_new(&config, &flow->pipeline);
}

/* Of responses under auto the user tells, since no request does. */
static void identify(struct replay_stream *stream, struct exchanges *exchanges)
{
	if (stream->one_sided && stream->flows[SESSION_RESPONSE].used &&
	    stream->destination.framing.kind == FRAMING_AUTO)
		exchanges_identify(exchanges, stream->told);
}

static int open_scout(struct replay_flow *flow)
{
	const struct exchanges_config exchanges = {.one_sided = true};
	struct pipeline_config config;
	struct session *session;
	int err = exchanges_new(&exchanges, &flow->scout_exchanges);

	if (err)
		return err;
	if (is_one_exchange(flow->stream) &&
	    exchanges_whole(flow->scout_exchanges, SESSION_REQUEST, &session))
		return -ENOMEM;
	identify(flow->stream, flow->scout_exchanges);
	fill_pipeline(flow, &config);
	config.exchanges = flow->scout_exchanges;
	config.on_unit = on_scouted;
	return pipeline_new(&config, &flow->scout);
}

static int open_mediated(struct replay_stream *stream)
{
	struct session_config config;
	struct session *session = NULL;
	int err;

	fill_session(stream, &config);
	err = open_exchanges(stream, &config, &session);
	if (!err)
		identify(stream, stream->exchanges);
	for (int track = 0; !err && track < _SESSION_TRACK_MAX; track++) {
		struct replay_flow *flow = &stream->flows[track];

		if (flow->used)
			err = open_pipeline(flow, session);
		if (!err && flow->used && stream->one_sided)
			err = open_scout(flow);
	}
	return err;
}

int replay_open(struct replay_stream *stream, const struct replay_setup *setup,
		const struct replay_destination *destination, const enum session_track *alone,
		enum framing_kind told)
{
	int err = 0;

	*stream = (struct replay_stream){
		.setup = setup,
		.destination = *destination,
		.told = told,
		.one_sided = alone != NULL,
	};
	for (int track = 0; track < _SESSION_TRACK_MAX; track++) {
		struct replay_flow *flow = &stream->flows[track];

		flow->stream = stream;
		flow->track = (enum session_track)track;
		flow->used = !alone || *alone == flow->track;
		flow->findings = json_array();
		if (!flow->findings)
			err = -ENOMEM;
	}
	if (!err && destination->action == POLICY_MEDIATE)
		err = open_mediated(stream);
	if (!err)
		return 0;
	replay_close(stream);
	return log_errno(LOG_ERR, err, "the stream cannot be opened");
}

void replay_close(struct replay_stream *stream)
{
	for (int track = 0; track < _SESSION_TRACK_MAX; track++) {
		struct replay_flow *flow = &stream->flows[track];

		pipeline_free(take_ptr(flow->pipeline));
		pipeline_free(take_ptr(flow->scout));
		exchanges_free(take_ptr(flow->scout_exchanges));
		free(take_ptr(flow->ends));
		json_decref(take_ptr(flow->findings));
		timeline_done(&flow->timeline);
	}
	exchanges_free(take_ptr(stream->exchanges));
}

uint64_t replay_released(const struct replay_flow *flow)
{
	enum policy_action action = flow->stream->destination.action;

	if (action == POLICY_PASS || flow->stream->unjudged)
		return flow->received;
	return flow->pipeline ? pipeline_released(flow->pipeline) : 0;
}
