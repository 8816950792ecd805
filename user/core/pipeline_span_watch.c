/* SPDX-License-Identifier: Apache-2.0 */
/* Watchers that evaluate elsewhere and enforce nothing: nothing of the flow waits for them. */
#include <stdlib.h>
#include <string.h>

#include "core/pipeline_span.h"
#include "core/pipeline_watch.h"

void pipeline_past_free(struct pipeline_spans *spans, struct pipeline_past **slot)
{
	struct pipeline_past *past = *slot;

	*slot = past->next;
	spans->past_memory -= sizeof(*past);
	span_set_free(past->set);
	free(past);
}

/* The session has ended: what of it is still to be judged by a watcher is kept for that. */
enum fault pipeline_span_retire(struct pipeline *p, size_t i)
{
	struct pipeline_spans *spans = p->spans;
	struct span_set *set = take_ptr(spans->sets[i]);
	struct pipeline_past **slot = &spans->past, *past;

	if (!set || pipeline_span_enforces(spans, i) || !span_pending(set)) {
		span_set_free(set);
		return FAULT_NONE;
	}
	past = calloc(1, sizeof(*past));
	if (!past) {
		span_set_free(set);
		return FAULT_NO_MEMORY;
	}
	*past = (struct pipeline_past){
		.set = set,
		.number = i,
		.round = spans->round,
		.exchange = p->watch.exchange,
		.origin = p->watch.origin,
	};
	memcpy(past->finish, p->set.finish, sizeof(past->finish));
	spans->past_memory += sizeof(*past);
	while (*slot)
		slot = &(*slot)->next;
	*slot = past;
	return FAULT_NONE;
}

bool pipeline_watches(const struct pipeline *p)
{
	if (!p->spans || p->fault)
		return false;
	for (size_t i = p->spans->gating; i < p->spans->output; i++)
		if (p->spans->sets[i] && span_pending(p->spans->sets[i]))
			return true;
	return p->spans->past != NULL;
}

/* Where the set of a work is: among those of the session under way, or of one that ended. */
static struct pipeline_past **find_past(struct pipeline_spans *spans,
					const struct pipeline_work *work)
{
	struct pipeline_past **slot = &spans->past;

	while (*slot && ((*slot)->round != work->round || (*slot)->number != work->number))
		slot = &(*slot)->next;
	return slot;
}

/* What a watcher said of a span, which is told of where it does not allow. True: it did not. */
bool pipeline_span_tell(struct pipeline *p, const struct pipeline_work *work, uint64_t origin,
			enum session_result failure, const struct verdict *verdict)
{
	struct pipeline_finding finding = {
		.task = work->task,
		.exchange = work->exchange,
		.start = pipeline_span_start(work) - origin,
		.end = work->item.end - origin,
		.failure = failure,
	};

	if (failure == SESSION_OK && verdict->decision == VERDICT_ALLOW)
		return false;
	if (failure == SESSION_OK) {
		p->spans->verdict = *verdict;
		finding.verdict = &p->spans->verdict;
	}
	pipeline_watch_found(p, &finding);
	return true;
}

static enum fault no_span(struct pipeline *p, int err)
{
	return err ? pipeline_fail(p, FAULT_ACCOUNTING) : FAULT_NONE;
}

/* Of one that enforces nothing; once it found something it is told of no more of the session. */
enum fault pipeline_span_watched(struct pipeline *p, const struct pipeline_work *work,
				 enum session_result failure, const struct verdict *verdict)
{
	struct pipeline_spans *spans = p->spans;
	struct pipeline_past **slot = find_past(spans, work);
	struct span_set **set = &spans->sets[work->number];
	int err;

	if (work->round != spans->round) {
		if (!*slot)
			return FAULT_NONE;
		err = span_clear((*slot)->set, work->item.id);
		if (pipeline_span_tell(p, work, (*slot)->origin, failure, verdict) ||
		    !span_pending((*slot)->set))
			pipeline_past_free(spans, slot);
		return no_span(p, err);
	}
	if (!*set)
		return FAULT_NONE;
	err = span_clear(*set, work->item.id);
	if (pipeline_span_tell(p, work, p->watch.origin, failure, verdict))
		span_set_free(take_ptr(*set));
	return no_span(p, err);
}

/* Bytes that wait for a watcher's verdicts. */
static size_t backlog(const struct pipeline_spans *spans, size_t i)
{
	size_t bytes = spans->sets[i] ? span_memory(spans->sets[i]) : 0;

	for (const struct pipeline_past *past = spans->past; past; past = past->next)
		if (past->number == i)
			bytes += span_memory(past->set);
	return bytes;
}

static void tell_unjudged(struct pipeline *p, size_t i, const struct pipeline_past *past)
{
	const struct span_set *set = past ? past->set : p->spans->sets[i];
	uint64_t origin = past ? past->origin : p->watch.origin;
	const struct pipeline_finding finding = {
		.task = p->spans->tasks[i],
		.exchange = past ? past->exchange : p->watch.exchange,
		.start = span_frontier(set) - origin,
		.end = span_end(set) - origin,
		.unjudged = true,
	};

	pipeline_watch_found(p, &finding);
}

void pipeline_span_bound(struct pipeline *p)
{
	struct pipeline_spans *spans = p->spans;

	for (size_t i = spans ? spans->gating : 0; spans && i < spans->output; i++) {
		if (!spans->sets[i] || backlog(spans, i) <= PIPELINE_BACKLOG_MAX)
			continue;
		tell_unjudged(p, i, NULL);
		span_set_free(take_ptr(spans->sets[i]));
	}
}

void pipeline_unwatch(struct pipeline *p)
{
	struct pipeline_spans *spans = p->spans;

	if (!pipeline_watches(p))
		return;
	while (spans->past) {
		tell_unjudged(p, spans->past->number, spans->past);
		pipeline_past_free(spans, &spans->past);
	}
	for (size_t i = spans->gating; i < spans->output; i++) {
		if (!spans->sets[i] || !span_pending(spans->sets[i]))
			continue;
		tell_unjudged(p, i, NULL);
		span_set_free(take_ptr(spans->sets[i]));
	}
}
