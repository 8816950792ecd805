/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/replay_timeline.h"

#include <errno.h>
#include <stdlib.h>

#include "core/pipeline_progress.h"

void timeline_done(struct timeline *timeline)
{
	free(timeline->units);
	*timeline = (struct timeline){0};
}

int timeline_add(struct timeline *timeline, const struct timeline_unit *unit)
{
	size_t wanted = timeline->room ? timeline->room * 2 : 64;
	struct timeline_unit *grown;

	if (timeline->count == timeline->room) {
		grown = reallocarray(timeline->units, wanted, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		timeline->units = grown;
		timeline->room = wanted;
	}
	timeline->units[timeline->count] = *unit;
	timeline->units[timeline->count++].left = UINT64_MAX;
	return 0;
}

static enum timeline_wait wait_of(const struct pipeline *pipeline, bool complete,
				  const char **ret_task)
{
	struct pipeline_progress slowest;

	*ret_task = NULL;
	if (pipeline_waits_whole(pipeline))
		return TIMELINE_VALUE;
	if (pipeline_slowest(pipeline, &slowest) && slowest.waiting) {
		*ret_task = slowest.task;
		return slowest.elsewhere ? TIMELINE_SPAN : TIMELINE_TEXT;
	}
	return complete ? TIMELINE_MESSAGE : TIMELINE_SESSION;
}

void timeline_look(struct timeline *timeline, const struct pipeline *pipeline, bool complete,
		   uint64_t moment)
{
	uint64_t released = pipeline_released(pipeline);
	enum timeline_wait wait = TIMELINE_NOTHING;
	const char *task = NULL;

	for (size_t i = timeline->settled; i < timeline->count; i++)
		timeline->units[i].whole = moment;
	while (timeline->gone < timeline->count && timeline->units[timeline->gone].end <= released)
		timeline->units[timeline->gone++].left = moment;
	timeline->settled = MAX(timeline->settled, timeline->gone);
	if (timeline->settled < timeline->count)
		wait = wait_of(pipeline, complete, &task);
	for (; timeline->settled < timeline->count; timeline->settled++) {
		timeline->units[timeline->settled].wait = wait;
		timeline->units[timeline->settled].task = task;
	}
}

static bool is_like(const struct timeline_unit *a, const struct timeline_unit *b)
{
	return a->wait == b->wait && a->task == b->task &&
	       (a->left == UINT64_MAX) == (b->left == UINT64_MAX);
}

void timeline_row(const struct timeline *timeline, size_t first, bool each,
		  struct timeline_row *ret_row)
{
	const struct timeline_unit *units = timeline->units, *last;
	struct timeline_row row = {
		.first = first,
		.start = first ? units[first - 1].end : 0,
		.whole_first = units[first].whole,
		.left_first = units[first].left,
		.left = units[first].left != UINT64_MAX,
		.wait = units[first].wait,
		.task = units[first].task,
	};
	size_t i = first;

	do {
		row.messages += units[i].messages;
		if (row.left)
			row.delay = MAX(row.delay, units[i].left - units[i].whole);
		i++;
	} while (!each && i < timeline->count && is_like(&units[i], &units[first]));
	last = &units[i - 1];
	row.count = i - first;
	row.end = last->end;
	row.runes = last->runes - (first ? units[first - 1].runes : 0);
	row.whole_last = last->whole;
	row.left_last = last->left;
	*ret_row = row;
}

uint64_t timeline_cleared(const struct timeline *timeline, uint64_t runes)
{
	size_t i = timeline->count;

	while (i > timeline->gone && timeline->units[i - 1].runes > runes)
		i--;
	return i ? timeline->units[i - 1].end : 0;
}

const char *timeline_wait_name(enum timeline_wait wait)
{
	static const char *const names[_TIMELINE_WAIT_MAX] = {
		[TIMELINE_NOTHING] = "nothing", [TIMELINE_TEXT] = "text",
		[TIMELINE_SPAN] = "span",	[TIMELINE_VALUE] = "value",
		[TIMELINE_MESSAGE] = "message", [TIMELINE_SESSION] = "session",
	};

	return (size_t)wait < ARRAY_SIZE(names) && names[wait] ? names[wait] : "unknown";
}
