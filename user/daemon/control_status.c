/* SPDX-License-Identifier: Apache-2.0 */
/* Control method `status`. */
#include <unistd.h>

#include "daemon/audit.h"
#include "daemon/control.h"
#include "daemon/daemon.h"
#include "daemon/interceptor.h"
#include "daemon/web.h"
#include "kern/kern.h"

/* What streams add up to, settled and open. */
static struct stats sum_up(const struct daemon *daemon)
{
	const struct metrics *metrics = &daemon->metrics;
	struct stats sum = daemon->stats;

	sum.sessions[SESSION_OPEN] = metrics->open_sessions;
	for (int track = 0; track < _SESSION_TRACK_MAX; track++) {
		sum.bytes_received += metrics->track[track].bytes.received;
		sum.bytes_released += metrics->track[track].bytes.released;
		sum.runes_received += metrics->track[track].runes.received;
		sum.runes_released += metrics->track[track].runes.released;
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
		json_pack("{s:I, s:s, s:b, s:s?, s:s, s:o}", "id", (json_int_t)watch->id, "path",
			  watch->path, "enforcing",
			  (int)(!watch->policy || watch->policy->policy->mode == POLICY_ENFORCE),
			  "policy", watch->policy ? watch->policy->policy->name : NULL, "kind",
			  watch->kind == WATCH_RUN ? "run" : "watch", "open_ways",
			  watch_open_ways(&daemon->watches, watch)));
	return list;
}

static json_t *requests_json(const struct interceptor *interceptor)
{
	const struct interceptor_stats sum = *interceptor_stats(interceptor);

	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, "
			 "s:I}",
			 "asked", (json_int_t)sum.asked, "allowed", (json_int_t)sum.allowed,
			 "denied", (json_int_t)sum.denied, "transformed",
			 (json_int_t)sum.transformed, "failed", (json_int_t)sum.failed, "timed_out",
			 (json_int_t)sum.timed_out, "invalid", (json_int_t)sum.invalid, "cancelled",
			 (json_int_t)sum.cancelled, "warnings", (json_int_t)sum.warnings, "waited",
			 (json_int_t)sum.waited, "waited_ms", (json_int_t)sum.waited_ms, "waiting",
			 (json_int_t)sum.waiting, "in_flight", (json_int_t)sum.in_flight, "told",
			 (json_int_t)sum.told, "untold", (json_int_t)sum.untold);
}

static json_t *interceptor_json(const struct policy_task *task,
				const struct interceptor *interceptor)
{
	const struct policy_interceptor *i = task->interceptor;

	return json_pack(
		"{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:s, s:I, s:b, s:o}", "name", task->name,
		"kind", "interceptor", "url", i->url, "timeout_ms", (json_int_t)i->timeout_ms,
		"span_runes", (json_int_t)i->spans.coverage.span, "window_runes",
		(json_int_t)i->spans.coverage.window, "detectable_runes",
		(json_int_t)i->spans.coverage.detectable, "cadence",
		policy_cadence_name(i->spans.cadence), "concurrency", (json_int_t)i->concurrency,
		"warn_only", (int)task->warn_only, "requests", requests_json(interceptor));
}

static json_t *tasks_json(const struct loaded_policy *loaded)
{
	const struct policy *policy = loaded->policy;
	json_t *list = json_array();

	for (size_t i = 0; i < policy->task_count; i++) {
		const struct policy_task *task = &policy->tasks[i];

		const struct matcher matcher = policy_task_matcher(task);

		if (task->interceptor) {
			(void)json_array_append_new(list,
						    interceptor_json(task, loaded->askable[i]));
			continue;
		}
		(void)json_array_append_new(list, json_pack("{s:s, s:s, s:I, s:I, s:b}", "name",
							    task->name, "kind",
							    policy_task_kind_name(task->kind),
							    policy_task_unit_name(task->kind),
							    (json_int_t)task->rule_count, "longest",
							    (json_int_t)matcher_longest(&matcher),
							    "warn_only", (int)task->warn_only));
	}
	return list;
}

static json_t *output_json(const struct loaded_policy *loaded)
{
	json_t *list = json_array();

	for (size_t i = 0; i < loaded->policy->output.count; i++)
		(void)json_array_append_new(list, json_string(loaded->output_names[i]));
	return list;
}

/* Runes of what a task denies that may have left before it did; null: no bound. */
static json_t *exposure_json(const struct policy *policy, enum session_track track)
{
	uint32_t runes;

	return policy_exposure_bound(policy, track, &runes) ? json_integer((json_int_t)runes)
							    : json_null();
}

static json_t *policy_json(const struct loaded_policy *loaded, bool is_default)
{
	const struct policy *policy = loaded->policy;

	return json_pack("{s:s, s:b, s:I, s:s, s:s, s:I, s:o, s:o, s:{s:o, s:o}}", "name",
			 policy->name, "default", (int)is_default, "number",
			 (json_int_t)loaded->number, "mode", policy_mode_name(policy->mode),
			 "safety_level", session_level_name(policy->level), "eager_bytes",
			 (json_int_t)policy->limits.eager_bytes, "tasks", tasks_json(loaded),
			 "output_tasks", output_json(loaded), "exposure_bound_runes", "request",
			 exposure_json(policy, SESSION_REQUEST), "response",
			 exposure_json(policy, SESSION_RESPONSE));
}

/* Those with a name first, in their order, then what only watches and streams still have. */
static json_t *policies_json(const struct daemon *daemon)
{
	const struct policies *policies = &daemon->policies;
	const struct loaded_policy *loaded;
	const struct named_policy *named;
	json_t *list = json_array();

	TAILQ_FOREACH(named, &policies->named, entry)
	(void)json_array_append_new(
		list, policy_json(named->loaded, named == policies_default(policies)));
	LIST_FOREACH(loaded, &policies->list, entry)
	{
		named = policies_named(policies, loaded->policy->name);
		if (!named || named->loaded != loaded)
			(void)json_array_append_new(list, policy_json(loaded, false));
	}
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
	return json_pack("{s:s, s:i, s:i, s:s, s:b, s:i, s:s, s:b, s:b, s:s, s:s}", "version",
			 SLUICE_VERSION, "abi", (int)SLUICE_ABI_VERSION, "pid", (int)getpid(),
			 "instance", daemon->options->name, "private",
			 (int)daemon->options->private_daemon, "listen_port",
			 (int)daemon->listener.port, "self_test", "held", "buffered_output", 0,
			 "memory_locked", (int)daemon->memory_locked, "cgroup",
			 daemon->instance.daemon_cgroup, "pins", daemon->instance.pins);
}

static json_t *figures_json(const struct daemon *daemon)
{
	const struct stats sum = sum_up(daemon);
	uint64_t open = daemon->metrics.open_streams;

	return json_pack(
		"{s:{s:I, s:I, s:I, s:I, s:I}, s:o, s:{s:I, s:I, s:I}, s:{s:I, s:I, s:I}, s:o, "
		"s:o, s:{s:I, s:I, s:I}}",
		"streams", "open", (json_int_t)open, "total", (json_int_t)(sum.streams + open),
		"denied", (json_int_t)sum.denied, "failed", (json_int_t)sum.failed, "complete",
		(json_int_t)sum.complete, "sessions", stats_sessions_json(sum.sessions), "runes",
		"received", (json_int_t)sum.runes_received, "released",
		(json_int_t)sum.runes_released, "withheld",
		(json_int_t)(sum.runes_received - sum.runes_released), "bytes", "received",
		(json_int_t)sum.bytes_received, "released", (json_int_t)sum.bytes_released,
		"withheld", (json_int_t)(sum.bytes_received - sum.bytes_released), "reasons",
		stats_names_json(&sum.reasons), "findings", stats_names_json(&sum.findings),
		"limits", "fd_limit", (json_int_t)daemon->files_limit, "streams_max",
		(json_int_t)daemon->streams_max, "held_bytes", (json_int_t)daemon->pool.bytes);
}

int control_status(struct control_call *call, json_t **ret_result)
{
	const struct daemon *daemon = call->daemon;
	json_t *status = identity_json(daemon), *figures = figures_json(daemon);

	events_consume(call->daemon);
	if (!status || !figures || json_object_update(status, figures) ||
	    json_object_set_new(status, "watches", watches_json(daemon)) ||
	    json_object_set_new(status, "policies", policies_json(daemon)) ||
	    json_object_set_new(status, "audit", audit_status_json(daemon)) ||
	    json_object_set_new(status, "metrics", web_listener_json(daemon)) ||
	    json_object_set_new(status, "counters", counters_json(daemon))) {
		json_decref(status);
		json_decref(figures);
		return control_fail(call, CONTROL_FAILED, "out of memory");
	}
	json_decref(figures);
	*ret_result = status;
	return 0;
}
