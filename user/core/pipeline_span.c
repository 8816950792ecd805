/* SPDX-License-Identifier: Apache-2.0 */
#include "core/pipeline_span.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/pipeline_http.h"

int pipeline_span_init(struct pipeline *p, const struct pipeline_config *config)
{
	struct pipeline_spans *spans;
	size_t count = 0;

	for (size_t i = 0; i < config->task_count; i++)
		count += config->tasks[i].spans != NULL;
	if (!count || count > CHANNEL_SPANS_MAX)
		return count ? -EINVAL : 0;
	spans = p->spans = calloc(1, sizeof(*spans));
	if (!spans)
		return -ENOMEM;
	for (size_t i = 0; i < config->task_count; i++)
		if (config->tasks[i].spans)
			spans->tasks[spans->count++] = &config->tasks[i];
	p->set.spans = spans->sets;
	p->set.unit_texts = spans->unit_texts;
	p->set.span_count = count;
	return 0;
}

static size_t count_of(const struct pipeline *p)
{
	return p->spans ? p->spans->count : 0;
}

void pipeline_span_done(struct pipeline *p)
{
	for (size_t i = 0; i < count_of(p); i++)
		span_set_free(p->spans->sets[i]);
	free(p->spans);
}

enum fault pipeline_span_begin(struct pipeline *p)
{
	for (size_t i = 0; i < count_of(p); i++) {
		struct span_config config = *p->spans->tasks[i]->spans;
		int r;

		span_set_free(take_ptr(p->spans->sets[i]));
		config.start = p->set.track;
		r = span_set_new(&config, &p->spans->sets[i]);
		if (r < 0)
			return pipeline_fault_of(r);
	}
	return FAULT_NONE;
}

/* Spans whose verdicts will come. */
static size_t pending(const struct pipeline *p)
{
	size_t count = 0;

	for (size_t i = 0; i < count_of(p); i++)
		count += p->spans->sets[i] ? span_pending(p->spans->sets[i]) : 0;
	return count;
}

bool pipeline_span_defer(struct pipeline *p, bool goes_on)
{
	if (!pending(p))
		return false;
	p->spans->leaving = true;
	p->spans->goes_on = goes_on;
	return true;
}

bool pipeline_span_blocks(const struct pipeline *p)
{
	return pipeline_leaving(p) || (p->hold.count >= p->hold.max / 2 && pending(p));
}

bool pipeline_waits(const struct pipeline *p)
{
	if (!p->spans || p->fault)
		return false;
	for (size_t i = 0; i < count_of(p); i++)
		if (p->spans->sets[i] && span_waiting(p->spans->sets[i]))
			return true;
	return pipeline_span_blocks(p);
}

bool pipeline_work(struct pipeline *p, struct pipeline_work *ret_work)
{
	if (p->fault)
		return false;
	for (size_t i = 0; i < count_of(p); i++) {
		if (!p->spans->sets[i] || !span_next(p->spans->sets[i], &ret_work->item))
			continue;
		ret_work->number = i;
		ret_work->task = p->spans->tasks[i];
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
		.start = work->item.start,
		.end = work->item.end,
		.outcome = outcome,
	};

	pipeline_hold_outcome(&p->hold, &p->set, &ending);
	if (rewrites && !is_rewritten(p)) {
		p->fault = FAULT_ACCOUNTING;
		return p->fault;
	}
	memcpy(p->spans->reason, verdict->reason, sizeof(p->spans->reason));
	p->denial = (struct pipeline_denial){
		.task = work->task->name,
		.start = work->item.start,
		.end = work->item.end,
		.reason = p->spans->reason,
	};
	p->fault = rewrites ? FAULT_REWRITTEN : FAULT_BLOCKED;
	return p->fault;
}

/* There is no verdict that could be read. */
static enum fault fail(struct pipeline *p, enum session_result failure)
{
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
	spans->leaving = false;
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

enum fault pipeline_verdict(struct pipeline *p, const struct pipeline_work *work,
			    enum session_result failure, const struct verdict *verdict)
{
	enum fault fault;

	if (p->fault)
		return p->fault;
	if (failure != SESSION_OK)
		fault = fail(p, failure);
	else if (verdict->decision == VERDICT_ALLOW)
		fault = clear(p, work);
	else
		fault = deny(p, work, verdict);
	pipeline_http_delivered(p);
	return fault;
}

size_t pipeline_span_memory(const struct pipeline *p)
{
	size_t bytes = p->spans ? sizeof(*p->spans) : 0;

	for (size_t i = 0; i < count_of(p); i++)
		bytes += p->spans->sets[i] ? span_memory(p->spans->sets[i]) : 0;
	return bytes;
}
