/* SPDX-License-Identifier: Apache-2.0 */
#include "core/pipeline_span.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/exchange.h"
#include "core/pipeline_http.h"
#include "core/pipeline_watch.h"

static size_t count_of(const struct pipeline *p)
{
	return p->spans ? p->spans->count : 0;
}

/* Those of a list that evaluate elsewhere; of watchers those which are `output` or not. */
static int add_tasks(struct pipeline_spans *spans, const struct pipeline_task *tasks, size_t count,
		     bool output)
{
	for (size_t i = 0; i < count; i++) {
		if (!tasks[i].spans || tasks[i].output != output)
			continue;
		if (spans->count == CHANNEL_SPANS_MAX)
			return -EINVAL;
		spans->tasks[spans->count++] = &tasks[i];
	}
	return 0;
}

static int fill_tasks(struct pipeline_spans *spans, const struct pipeline_config *config)
{
	int r = add_tasks(spans, config->tasks, config->task_count, false);

	spans->gating = spans->count;
	if (r == 0)
		r = add_tasks(spans, config->watchers, config->watcher_count, false);
	spans->output = spans->count;
	return r ? r : add_tasks(spans, config->watchers, config->watcher_count, true);
}

int pipeline_span_init(struct pipeline *p, const struct pipeline_config *config)
{
	struct pipeline_spans *spans = calloc(1, sizeof(*spans));
	int r;

	if (!spans)
		return -ENOMEM;
	r = fill_tasks(spans, config);
	if (r < 0 || !spans->count) {
		free(spans);
		return r;
	}
	p->spans = spans;
	p->set.spans = spans->sets;
	p->set.unit_texts = spans->unit_texts;
	p->set.assembles = spans->assembles;
	p->set.span_count = spans->count;
	return 0;
}

void pipeline_span_done(struct pipeline *p)
{
	for (size_t i = 0; i < count_of(p); i++)
		span_set_free(p->spans->sets[i]);
	while (p->spans && p->spans->past)
		pipeline_past_free(p->spans, &p->spans->past);
	free(p->spans);
}

/*
 * Where all of the message is held, or its end alone, nothing is gained by asking early: then a
 * text is evaluated whole, up to a window, and the others are one.
 */
static struct span_config configure(struct pipeline *p, size_t i)
{
	struct span_config config = *p->spans->tasks[i]->spans;
	struct coverage *coverage = &config.coverage;
	struct session *session;
	bool output = i >= p->spans->output;
	bool whole = p->hold.level == SESSION_COMPLETE && i < p->spans->gating && p->http &&
		     !exchanges_websocket(p->exchanges, &session);

	config.start = p->set.track;
	config.finishes = p->hold.track == SESSION_RESPONSE && !output;
	p->spans->assembles[i] = output || whole;
	if (!output && !whole)
		return config;
	config.cadence = SPAN_RUNES;
	config.long_first = true;
	if (output) {
		coverage->window = MAX(coverage->window, PIPELINE_OUTPUT_WINDOW);
		coverage->span = coverage->window - coverage->detectable + 1;
	}
	return config;
}

enum fault pipeline_span_begin(struct pipeline *p)
{
	enum fault fault = FAULT_NONE;

	for (size_t i = 0; i < count_of(p) && !fault; i++)
		fault = pipeline_span_retire(p, i);
	p->set.finish[0] = '\0';
	for (size_t i = 0; i < count_of(p) && !fault; i++) {
		const struct span_config config = configure(p, i);
		int r = span_set_new(&config, &p->spans->sets[i]);

		fault = r < 0 ? pipeline_fault_of(r) : FAULT_NONE;
	}
	if (p->spans)
		p->spans->round++;
	return fault;
}

/* Spans whose verdicts are waited for. */
static size_t pending(const struct pipeline *p)
{
	size_t count = 0;

	for (size_t i = 0; i < count_of(p); i++)
		if (p->spans->sets[i] && pipeline_span_enforces(p->spans, i))
			count += span_pending(p->spans->sets[i]);
	return count;
}

enum fault pipeline_span_finish(struct pipeline *p)
{
	int err = 0;

	for (size_t i = 0; i < count_of(p) && !err; i++)
		if (p->spans->sets[i])
			err = span_finish(p->spans->sets[i]);
	return err ? pipeline_fault_of(err) : FAULT_NONE;
}

bool pipeline_span_ends(const struct pipeline *p)
{
	return p->spans && p->spans->gating && p->hold.track == SESSION_RESPONSE &&
	       p->hold.level != SESSION_DEFERRED;
}

/* Is a last verdict due, which is of no text that would hold the end? */
static bool last_is_due(const struct pipeline *p)
{
	for (size_t i = 0; pipeline_span_ends(p) && i < p->spans->gating; i++)
		if (p->spans->sets[i] && span_last_is_due(p->spans->sets[i]))
			return true;
	return false;
}

bool pipeline_span_defer(struct pipeline *p, bool goes_on)
{
	if (!pending(p))
		return false;
	p->spans->leaving = true;
	p->spans->goes_on = goes_on;
	p->hold.rests = p->spans->output < p->spans->count || last_is_due(p);
	return true;
}

bool pipeline_span_blocks(const struct pipeline *p)
{
	return pipeline_leaving(p) || (p->hold.count >= p->hold.max && pending(p));
}

bool pipeline_waits(const struct pipeline *p)
{
	if (!p->spans || p->fault)
		return false;
	for (size_t i = 0; i < count_of(p); i++)
		if (p->spans->sets[i] && pipeline_span_enforces(p->spans, i) &&
		    span_waiting(p->spans->sets[i]))
			return true;
	return pipeline_span_blocks(p);
}

/* The next of a set; of a task no more are out than it says, over all its sets. */
static bool lend(struct pipeline_spans *spans, struct span_set *set, size_t i, const char *finish,
		 struct pipeline_work *ret_work)
{
	if (!set || spans->lent[i] >= spans->tasks[i]->spans->in_flight ||
	    !span_next(set, &ret_work->item))
		return false;
	spans->lent[i]++;
	ret_work->number = i;
	ret_work->task = spans->tasks[i];
	ret_work->finish_reason = ret_work->item.last && *finish ? finish : NULL;
	return true;
}

bool pipeline_work(struct pipeline *p, struct pipeline_work *ret_work)
{
	struct pipeline_spans *spans = p->spans;

	if (p->fault || !spans)
		return false;
	for (struct pipeline_past *past = spans->past; past; past = past->next) {
		if (!lend(spans, past->set, past->number, past->finish, ret_work))
			continue;
		ret_work->exchange = past->exchange;
		ret_work->round = past->round;
		return true;
	}
	for (size_t i = 0; i < spans->count; i++) {
		if (!lend(spans, spans->sets[i], i, p->set.finish, ret_work))
			continue;
		ret_work->exchange = p->http ? exchanges_number(p->exchanges, p->hold.track) : 0;
		ret_work->round = spans->round;
		return true;
	}
	return false;
}

bool pipeline_left(const struct pipeline *p, size_t number, struct pipeline_work *ret_work)
{
	const struct pipeline_spans *spans = p->spans;

	for (size_t i = number; spans && i < spans->output; i++) {
		struct span_item item;

		if (!spans->sets[i] || !span_left(spans->sets[i], &item))
			continue;
		*ret_work = (struct pipeline_work){
			.task = spans->tasks[i],
			.number = i,
			.exchange = p->http ? exchanges_number(p->exchanges, p->hold.track) : 0,
			.round = spans->round,
			.item = item,
		};
		return true;
	}
	return false;
}

/* Did the session take a transformation? It comes too late once something has left. */
static bool is_rewritten(const struct pipeline *p)
{
	struct session_state state;

	session_get(p->hold.session, &state);
	return state.end == SESSION_REWRITTEN_END;
}

/* A verdict that clears nothing: what was cleared before is settled first. */
static enum fault deny(struct pipeline *p, const struct pipeline_work *work,
		       const struct verdict *verdict)
{
	bool rewrites = verdict->decision == VERDICT_TRANSFORM;
	enum session_outcome outcome = rewrites ? SESSION_TRANSFORMED : SESSION_DENIED;
	const struct hold_outcome ending = {
		.task = p->set.task_count + work->number,
		.start = pipeline_span_start(work),
		.end = work->item.end,
		.outcome = outcome,
	};

	pipeline_hold_outcome(&p->hold, &p->set, &ending);
	if (rewrites && !is_rewritten(p)) {
		p->fault = FAULT_ACCOUNTING;
		return p->fault;
	}
	p->spans->verdict = *verdict;
	p->denial = (struct pipeline_denial){
		.task = work->task->name,
		.start = pipeline_span_start(work),
		.end = work->item.end,
		.reason = p->spans->verdict.reason,
		.evidence = verdict->has_evidence ? p->spans->verdict.evidence : NULL,
	};
	p->fault = rewrites ? FAULT_REWRITTEN : FAULT_BLOCKED;
	return p->fault;
}

/* There is no verdict that could be read. */
static enum fault fail(struct pipeline *p, const struct pipeline_work *work,
		       enum session_result failure)
{
	/* Of one of `output` it was told. */
	if (!work->task->output)
		p->spans->failure = (struct pipeline_denial){
			.task = work->task->name,
			.start = pipeline_span_start(work),
			.end = work->item.end,
		};
	(void)!pipeline_hold_settle(&p->hold, &p->set);
	if (p->hold.session)
		session_fail(p->hold.session, failure);
	switch (failure) {
	case SESSION_INTERCEPTOR_TIMEOUT:
		p->fault = FAULT_INTERCEPTOR_TIMEOUT;
		break;
	case SESSION_VERDICT_INVALID:
		p->fault = FAULT_VERDICT_INVALID;
		break;
	default:
		p->fault = FAULT_INTERCEPTOR_FAILED;
		break;
	}
	return p->fault;
}

/* The message that waited for its verdicts ends, where it has them. */
static enum fault end_waiting(struct pipeline *p)
{
	struct pipeline_spans *spans = p->spans;
	enum fault fault;

	if (!spans->leaving || pending(p))
		return FAULT_NONE;
	spans->leaving = p->hold.rests = false;
	fault = p->http ? pipeline_http_left(p) : pipeline_flow_end(p);
	if (fault || !spans->end_due)
		return fault;
	spans->end_due = false;
	return pipeline_end_now(p);
}

static enum fault clear(struct pipeline *p, const struct pipeline_work *work)
{
	enum fault fault = FAULT_ACCOUNTING;

	if (!span_clear(p->spans->sets[work->number], work->item.id))
		fault = pipeline_hold_settle(&p->hold, &p->set);
	if (!fault)
		fault = end_waiting(p);
	return fault ? pipeline_fail(p, fault) : FAULT_NONE;
}

/* Of one of `output`: what it denies is kept until the response ends. */
static enum fault judged(struct pipeline *p, const struct pipeline_work *work,
			 enum session_result failure, const struct verdict *verdict)
{
	struct span_set **set = &p->spans->sets[work->number];
	enum fault fault = FAULT_NONE;

	if (!*set)
		return FAULT_NONE;
	if (failure != SESSION_OK) {
		(void)pipeline_span_tell(p, work, p->watch.origin, failure, verdict);
		return fail(p, work, failure);
	}
	if (verdict->decision == VERDICT_TRANSFORM) {
		/* Of a response that has left nothing can be rewritten. */
		(void)fail(p, work, SESSION_TRANSFORM_TOO_LATE);
		p->fault = FAULT_ACCOUNTING;
		return p->fault;
	}
	if (span_clear(*set, work->item.id))
		fault = FAULT_ACCOUNTING;
	else if (pipeline_span_tell(p, work, p->watch.origin, failure, verdict))
		span_set_free(take_ptr(*set));
	if (!fault)
		fault = end_waiting(p);
	return fault ? pipeline_fail(p, fault) : FAULT_NONE;
}

static enum fault gated(struct pipeline *p, const struct pipeline_work *work,
			enum session_result failure, const struct verdict *verdict)
{
	if (failure != SESSION_OK)
		return fail(p, work, failure);
	return verdict->decision == VERDICT_ALLOW ? clear(p, work) : deny(p, work, verdict);
}

enum fault pipeline_verdict(struct pipeline *p, const struct pipeline_work *work,
			    enum session_result failure, const struct verdict *verdict)
{
	struct pipeline_spans *spans = p->spans;
	enum fault fault;

	if (p->fault)
		return p->fault;
	spans->lent[work->number] -= spans->lent[work->number] > 0;
	if (work->number < spans->gating)
		fault = gated(p, work, failure, verdict);
	else if (work->number < spans->output)
		fault = pipeline_span_watched(p, work, failure, verdict);
	else
		fault = judged(p, work, failure, verdict);
	pipeline_http_delivered(p);
	return fault;
}

size_t pipeline_span_memory(const struct pipeline *p)
{
	size_t bytes = p->spans ? sizeof(*p->spans) + p->spans->past_memory : 0;

	for (size_t i = 0; i < count_of(p); i++)
		bytes += p->spans->sets[i] ? span_memory(p->spans->sets[i]) : 0;
	for (const struct pipeline_past *past = p->spans ? p->spans->past : NULL; past;
	     past = past->next)
		bytes += span_memory(past->set);
	return bytes;
}
