/* SPDX-License-Identifier: Apache-2.0 */
#include "core/pipeline_watch.h"

#include <errno.h>
#include <stdlib.h>

#include "core/exchange.h"
#include "core/pipeline_span.h"

void pipeline_watch_found(struct pipeline *p, const struct pipeline_finding *finding)
{
	const struct verdict *verdict = finding->verdict;

	if (p->watch.on_finding)
		p->watch.on_finding(p->context, finding);
	if (!finding->task->output || p->watch.denial.task)
		return;
	p->watch.denial = (struct pipeline_denial){
		.task = finding->task->name,
		.rule = finding->rule,
		.start = finding->start,
		.end = finding->end,
		.reason = verdict ? verdict->reason : NULL,
		.evidence = verdict && verdict->has_evidence ? verdict->evidence : NULL,
	};
}

static void on_found(void *context, const struct channel_match *match)
{
	struct pipeline *p = context;
	const struct pipeline_finding finding = {
		.task = p->watch.tasks[match->task - p->set.task_count],
		.exchange = p->watch.exchange,
		.rule = match->rule,
		.start = match->start - p->watch.origin,
		.end = match->end - p->watch.origin,
	};

	pipeline_watch_found(p, &finding);
}

int pipeline_watch_init(struct pipeline *p, const struct pipeline_config *config)
{
	struct pipeline_watch *watch = &p->watch;

	if (!config->watcher_count)
		return 0;
	watch->states = calloc(config->watcher_count, sizeof(*watch->states));
	watch->tasks = calloc(config->watcher_count, sizeof(*watch->tasks));
	if (!watch->states || !watch->tasks)
		return -ENOMEM;
	watch->all = config->watchers;
	watch->all_count = config->watcher_count;
	watch->on_finding = config->on_finding;
	watch->session = config->session;
	watch->exchange = UINT64_MAX;
	for (size_t i = 0; i < watch->all_count; i++) {
		const struct pipeline_task *task = &watch->all[i];

		if (matcher_is_set(&task->matcher) == (task->spans != NULL) ||
		    (task->output && config->track != SESSION_RESPONSE))
			return -EINVAL;
		watch->judges |= task->output;
		if (task->spans)
			continue;
		watch->states[watch->count].must = task->output;
		watch->tasks[watch->count++] = task;
	}
	p->set.watch = watch->states;
	p->set.watch_count = watch->count;
	p->set.on_found = on_found;
	p->set.found_context = p;
	return 0;
}

void pipeline_watch_done(struct pipeline *p)
{
	free(p->watch.states);
	free(p->watch.tasks);
}

enum fault pipeline_watch_begin(struct pipeline *p, const struct session *session)
{
	struct pipeline_watch *watch = &p->watch;
	/* Where the flow does not say where exchanges end there is one. */
	uint64_t number = p->http ? exchanges_number(p->exchanges, p->hold.track) : 0;

	if (!watch->all_count || number == watch->exchange)
		return FAULT_NONE;
	watch->exchange = number;
	watch->origin = p->hold.task_count ? 0 : p->set.track;
	channel_set_wake(&p->set);
	for (size_t i = 0; session && i < watch->all_count; i++)
		if (watch->all[i].output && session_output_task(session, watch->all[i].name) < 0)
			return FAULT_ACCOUNTING;
	return FAULT_NONE;
}

enum fault pipeline_watch_ending(struct pipeline *p)
{
	if (!p->watch.judges && !pipeline_span_ends(p))
		return FAULT_NONE;
	return pipeline_hold_settle(&p->hold, &p->set);
}

enum fault pipeline_watch_judge(struct pipeline *p)
{
	const char *name = p->watch.denial.task;
	enum fault fault;

	if (!name)
		return FAULT_NONE;
	fault = pipeline_hold_account(&p->hold, &p->set);
	if (fault)
		return fault;
	if (!p->exchanges)
		return exchange_deny(p->watch.session, name);
	exchanges_output_denied(p->exchanges, name);
	return exchanges_response_end(p->exchanges, false);
}
