/* SPDX-License-Identifier: Apache-2.0 */
#include "core/pipeline_progress.h"

#include "core/pipeline_internal.h"
#include "core/span.h"

/* A number of the track as a number of the flow; between two sessions nothing waits. */
static uint64_t of_flow(const struct pipeline *p, uint64_t track)
{
	return p->earlier_runes + (track > p->base ? track - p->base : 0);
}

void pipeline_progress(const struct pipeline *p, size_t i, struct pipeline_progress *ret_progress)
{
	const struct channel_set *set = &p->set;
	bool elsewhere = i >= set->task_count;
	size_t number = elsewhere ? i - set->task_count : 0;
	const struct span_set *spans = elsewhere ? set->spans[number] : NULL;
	uint64_t frontier = set->floor;

	/* What evaluates elsewhere has no spans before its first session. */
	if (!elsewhere || spans)
		frontier = channel_set_frontier(set, i);
	*ret_progress = (struct pipeline_progress){
		.task = p->hold.tasks[i].name,
		.cleared = of_flow(p, frontier),
		.waiting = set->floor - frontier,
		.elsewhere = elsewhere,
		.number = number,
		.queued = spans ? span_waiting(spans) : 0,
		.lent = spans ? span_pending(spans) - span_waiting(spans) : 0,
	};
}

bool pipeline_slowest(const struct pipeline *p, struct pipeline_progress *ret_progress)
{
	struct pipeline_progress progress;

	if (!p->hold.task_count)
		return false;
	pipeline_progress(p, 0, ret_progress);
	for (size_t i = 1; i < p->hold.task_count; i++) {
		pipeline_progress(p, i, &progress);
		if (progress.cleared < ret_progress->cleared ||
		    (progress.cleared == ret_progress->cleared && progress.elsewhere &&
		     !ret_progress->elsewhere && progress.lent + progress.queued))
			*ret_progress = progress;
	}
	return true;
}

bool pipeline_waits_whole(const struct pipeline *p)
{
	for (const struct channel *c = p->set.joined; c; c = c->next)
		if (c->begun < p->set.floor)
			return true;
	return false;
}

size_t pipeline_pending(const struct pipeline *p)
{
	return p->hold.count;
}
