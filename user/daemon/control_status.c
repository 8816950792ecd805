/* SPDX-License-Identifier: Apache-2.0 */
/* Control method `status`. */
#include <unistd.h>

#include "core/pipeline.h"
#include "daemon/control.h"
#include "daemon/daemon.h"
#include "kern/kern.h"

/* What settled streams add up to, and the open ones. */
static struct stats sum_up(const struct daemon *daemon, uint64_t *ret_open)
{
	struct stats sum = daemon->stats;
	const struct stream *stream;

	*ret_open = 0;
	TAILQ_FOREACH(stream, &daemon->streams.all, entry)
	{
		if (stream_is_settled(stream))
			continue;
		++*ret_open;
		sum.sessions[SESSION_OPEN] += stream_open_sessions(stream);
		for (int track = 0; track < _SESSION_TRACK_MAX; track++) {
			const struct flow *flow = &stream->flows[track];

			sum.bytes_received += flow->received;
			sum.bytes_released += flow->released;
			if (!flow->pipeline)
				continue;
			sum.runes_received += pipeline_runes(flow->pipeline);
			sum.runes_released += pipeline_released_runes(flow->pipeline);
		}
	}
	return sum;
}

static json_t *watches_json(const struct daemon *daemon)
{
	json_t *list = json_array();
	const struct watch *watch;

	LIST_FOREACH(watch, &daemon->watches.list, entry)
	(void)json_array_append_new(
		list,
		json_pack("{s:I, s:s, s:s?, s:s, s:o}", "id", (json_int_t)watch->id, "path",
			  watch->path, "policy", watch->policy ? watch->policy->policy->name : NULL,
			  "kind", watch->kind == WATCH_RUN ? "run" : "watch", "open_ways",
			  watch_open_ways(&daemon->watches, watch)));
	return list;
}

static json_t *tasks_json(const struct policy *policy)
{
	json_t *list = json_array();

	for (size_t i = 0; i < policy->task_count; i++)
		(void)json_array_append_new(
			list,
			json_pack("{s:s, s:s, s:I, s:I}", "name", policy->tasks[i].name, "kind",
				  "terms", "terms", (json_int_t)policy->tasks[i].term_count,
				  "longest", (json_int_t)terms_longest(policy->tasks[i].terms)));
	return list;
}

/*
 * The exposure bound: how many runes of what a task denies may have left before
 * it did. A matcher holds back whatever could still begin a term: none.
 */
static json_t *policies_json(const struct daemon *daemon)
{
	const struct loaded_policy *loaded;
	json_t *list = json_array();

	LIST_FOREACH(loaded, &daemon->policies.list, entry)
	(void)json_array_append_new(
		list, json_pack("{s:s, s:I, s:o, s:i}", "name", loaded->policy->name, "number",
				(json_int_t)loaded->number, "tasks", tasks_json(loaded->policy),
				"exposure_bound_runes", 0));
	return list;
}

static json_t *counters_json(const struct daemon *daemon)
{
	uint64_t counters[_SLUICE_COUNTER_MAX];
	json_t *object = json_object();

	if (kern_counters(daemon->kern, counters))
		return object;
	for (int i = 0; i < _SLUICE_COUNTER_MAX; i++)
		(void)json_object_set_new(
			object, kern_counter_name((enum sluice_counter)i),
			json_integer((json_int_t)(counters[i] - daemon->selftest_counters[i])));
	return object;
}

static json_t *identity_json(const struct daemon *daemon)
{
	return json_pack("{s:s, s:i, s:i, s:s, s:b, s:i, s:s, s:b, s:s, s:s}", "version",
			 SLUICE_VERSION, "abi", (int)SLUICE_ABI_VERSION, "pid", (int)getpid(),
			 "instance", daemon->options->name, "private",
			 (int)daemon->options->private_daemon, "listen_port",
			 (int)daemon->listener.port, "self_test", "held", "buffered_output", 0,
			 "cgroup", daemon->instance.daemon_cgroup, "pins", daemon->instance.pins);
}

static json_t *figures_json(const struct daemon *daemon)
{
	uint64_t open;
	const struct stats sum = sum_up(daemon, &open);

	return json_pack(
		"{s:{s:I, s:I, s:I, s:I, s:I}, s:o, s:{s:I, s:I, s:I}, s:{s:I, s:I, s:I}, s:o, "
		"s:{s:I, s:I, s:I}}",
		"streams", "open", (json_int_t)open, "total", (json_int_t)(sum.streams + open),
		"denied", (json_int_t)sum.denied, "failed", (json_int_t)sum.failed, "complete",
		(json_int_t)sum.complete, "sessions", stats_sessions_json(sum.sessions), "runes",
		"received", (json_int_t)sum.runes_received, "released",
		(json_int_t)sum.runes_released, "withheld",
		(json_int_t)(sum.runes_received - sum.runes_released), "bytes", "received",
		(json_int_t)sum.bytes_received, "released", (json_int_t)sum.bytes_released,
		"withheld", (json_int_t)(sum.bytes_received - sum.bytes_released), "reasons",
		stats_reasons_json(&sum), "limits", "fd_limit", (json_int_t)daemon->files_limit,
		"streams_max", (json_int_t)daemon->streams_max, "held_bytes",
		(json_int_t)daemon->pool.bytes);
}

int control_status(struct control_call *call, json_t **ret_result)
{
	const struct daemon *daemon = call->daemon;
	json_t *status = identity_json(daemon), *figures = figures_json(daemon);

	events_consume(call->daemon);
	if (!status || !figures || json_object_update(status, figures) ||
	    json_object_set_new(status, "watches", watches_json(daemon)) ||
	    json_object_set_new(status, "policies", policies_json(daemon)) ||
	    json_object_set_new(status, "counters", counters_json(daemon))) {
		json_decref(status);
		json_decref(figures);
		return control_fail(call, CONTROL_FAILED, "out of memory");
	}
	json_decref(figures);
	*ret_result = status;
	return 0;
}
