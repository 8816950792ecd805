/* SPDX-License-Identifier: Apache-2.0 */
#include "core/pipeline_hold.h"

#include <errno.h>
#include <stdlib.h>

/* So many more units are held before the session is asked in the middle of a read. */
#define SETTLE_UNITS 32u
/* Entries of the ring that an empty one may keep. */
#define KEEP_UNITS 32u

int pipeline_hold_init(struct pipeline_hold *hold, const struct pipeline_config *config)
{
	size_t count = 0;

	*hold = (struct pipeline_hold){
		.track = config->track,
		.level = config->level,
		.holds = config->task_count > 0,
		.task_count = config->task_count,
		.watermark = UINT64_MAX,
		.released = config->start,
		.max = config->max_pending_units,
		.settle_at = SETTLE_UNITS,
	};
	if ((unsigned int)config->level >= _SESSION_LEVEL_MAX)
		return -EINVAL;
	for (size_t i = 0; i < config->watcher_count; i++)
		hold->holds |= config->watchers[i].output;
	if (!config->task_count)
		return 0;
	hold->tasks = calloc(config->task_count, sizeof(*hold->tasks));
	if (!hold->tasks)
		return -ENOMEM;
	for (size_t i = 0; i < config->task_count; i++)
		if (matcher_is_set(&config->tasks[i].matcher) == (config->tasks[i].spans != NULL))
			return -EINVAL;
	for (size_t i = 0; i < config->task_count; i++)
		if (!config->tasks[i].spans)
			hold->tasks[count++].name = config->tasks[i].name;
	for (size_t i = 0; i < config->task_count; i++)
		if (config->tasks[i].spans)
			hold->tasks[count++].name = config->tasks[i].name;
	return 0;
}

int pipeline_hold_begin(struct pipeline_hold *hold, struct session *session)
{
	struct session_state state;

	if (!hold->task_count)
		return 0;
	if (!session)
		return -EINVAL;
	session_get(session, &state);
	hold->session = session;
	hold->observed = state.track[hold->track].received;
	hold->watermark = hold->released_runes = hold->observed;
	for (size_t i = 0; i < hold->task_count; i++) {
		struct hold_task *task = &hold->tasks[i];

		task->number = session_task(session, hold->track, task->name);
		task->cleared = hold->observed;
		if (task->number < 0)
			return -EINVAL;
	}
	return 0;
}

enum fault pipeline_hold_end(struct pipeline_hold *hold)
{
	hold->session = NULL;
	return hold->count ? FAULT_ACCOUNTING : FAULT_NONE;
}

void pipeline_hold_done(struct pipeline_hold *hold)
{
	free(hold->tasks);
	free(hold->units);
}

/* Does the session, where there is one, still offer a release? */
static bool read_watermark(struct pipeline_hold *hold)
{
	struct session_state state;
	uint64_t moved;

	if (!hold->task_count)
		return true;
	if (!hold->session)
		return false;
	(void)session_reach(hold->session, hold->track, &moved);
	/* Read anew and not taken from above, in case someone else advanced the track. */
	session_get(hold->session, &state);
	if (!state.track[hold->track].has_release)
		return false;
	hold->watermark = state.track[hold->track].release;
	return true;
}

static bool may_leave(const struct pipeline_hold *hold, const struct hold_unit *unit)
{
	return hold->level == SESSION_DEFERRED || unit->rune_end <= hold->watermark;
}

void pipeline_hold_advance(struct pipeline_hold *hold)
{
	if (!read_watermark(hold) || hold->rests)
		return;
	while (hold->count && may_leave(hold, &hold->units[hold->first])) {
		if (hold->session && hold->units[hold->first].rune_end > hold->released_runes)
			session_release(hold->session, hold->track);
		hold->released = hold->units[hold->first].end;
		hold->released_runes = hold->units[hold->first].rune_end;
		hold->mark = hold->units[hold->first].mark;
		hold->first = (hold->first + 1) & (hold->capacity - 1);
		hold->count--;
	}
	if (!hold->count && hold->capacity > KEEP_UNITS) {
		free(hold->units);
		hold->units = NULL;
		hold->first = hold->capacity = 0;
	}
}

enum fault pipeline_hold_account(struct pipeline_hold *hold, const struct channel_set *set)
{
	uint64_t received;

	if (!hold->session)
		return FAULT_NONE;
	if (set->track > hold->observed) {
		if (session_observe(hold->session, hold->track, set->track - hold->observed,
				    &received) != SESSION_OK)
			return FAULT_ACCOUNTING;
		hold->observed = set->track;
	}
	for (size_t i = 0; i < hold->task_count; i++) {
		struct hold_task *task = &hold->tasks[i];
		uint64_t frontier = channel_set_frontier(set, i);

		if (frontier <= task->cleared)
			continue;
		if (session_outcome(hold->session, hold->track, task->number, task->cleared,
				    frontier, SESSION_CLEARED) != SESSION_OK)
			return FAULT_ACCOUNTING;
		task->cleared = frontier;
	}
	return FAULT_NONE;
}

enum fault pipeline_hold_settle(struct pipeline_hold *hold, const struct channel_set *set)
{
	enum fault fault = pipeline_hold_account(hold, set);

	if (fault)
		return fault;
	pipeline_hold_advance(hold);
	hold->settle_at = hold->count + SETTLE_UNITS;
	return FAULT_NONE;
}

static enum fault grow(struct pipeline_hold *hold)
{
	size_t capacity = hold->capacity ? hold->capacity * 2 : 4;
	struct hold_unit *units = calloc(capacity, sizeof(*units));

	if (!units)
		return FAULT_NO_MEMORY;
	for (size_t i = 0; i < hold->count; i++)
		units[i] = hold->units[(hold->first + i) & (hold->capacity - 1)];
	free(hold->units);
	hold->units = units;
	hold->first = 0;
	hold->capacity = capacity;
	return FAULT_NONE;
}

static struct hold_unit *unit_at(const struct pipeline_hold *hold, size_t i)
{
	return &hold->units[(hold->first + i) & (hold->capacity - 1)];
}

/*
 * Are more units held than may be, with one more, and not for verdicts alone? Those that wait
 * for verdicts are bounded by who asks (pipeline_span_blocks()): when they come is no fault.
 */
static bool is_full(const struct pipeline_hold *hold, const struct channel_set *set)
{
	uint64_t cleared = UINT64_MAX, reach = UINT64_MAX;

	if (hold->count < hold->max)
		return false;
	for (size_t i = 0; i < hold->task_count; i++) {
		cleared = MIN(cleared, hold->tasks[i].cleared);
		reach = MIN(reach, channel_set_reach(set, i));
	}
	return reach <= cleared || unit_at(hold, hold->count - hold->max)->rune_end > reach;
}

enum fault pipeline_hold_unit(struct pipeline_hold *hold, const struct channel_set *set,
			      const struct hold_unit *unit)
{
	enum fault fault = FAULT_NONE;

	/* It leaves with the end of its message. */
	if (hold->holds && hold->level == SESSION_COMPLETE && !unit->whole)
		return FAULT_NONE;
	/* Between two sessions only empty lines come. */
	if (!hold->holds || (hold->task_count && !hold->session && !hold->count)) {
		hold->released = unit->end;
		hold->released_runes = unit->rune_end;
		hold->mark = unit->mark;
		return FAULT_NONE;
	}
	if (hold->count && unit_at(hold, hold->count - 1)->rune_end == unit->rune_end) {
		*unit_at(hold, hold->count - 1) = *unit;
		return FAULT_NONE;
	}
	if (hold->count >= hold->settle_at || hold->count >= hold->max)
		fault = pipeline_hold_settle(hold, set);
	if (!fault && is_full(hold, set))
		fault = FAULT_TOO_LARGE;
	if (!fault && hold->count == hold->capacity)
		fault = grow(hold);
	if (fault)
		return fault;
	*unit_at(hold, hold->count) = *unit;
	hold->count++;
	return FAULT_NONE;
}

void pipeline_hold_outcome(struct pipeline_hold *hold, const struct channel_set *set,
			   const struct hold_outcome *outcome)
{
	const struct hold_task *task = &hold->tasks[outcome->task];

	/* Where the session refuses it has ended, and withholds as the deny would. */
	if (pipeline_hold_settle(hold, set) != FAULT_NONE)
		return;
	/* The span evaluated begins at the task's frontier, wherever in it the match is. */
	if (session_outcome(hold->session, hold->track, task->number,
			    MIN(task->cleared, outcome->start), outcome->end,
			    outcome->outcome) != SESSION_OK)
		session_fail(hold->session, SESSION_FRAMING_FAULT);
}

void pipeline_hold_deny(struct pipeline_hold *hold, const struct channel_set *set)
{
	const struct hold_outcome outcome = {
		.task = set->match.task,
		.start = set->match.start,
		.end = set->match.end,
		.outcome = SESSION_DENIED,
	};

	pipeline_hold_outcome(hold, set, &outcome);
}

void pipeline_hold_fail(struct pipeline_hold *hold, const struct channel_set *set)
{
	(void)!pipeline_hold_settle(hold, set);
	if (hold->session)
		session_fail(hold->session, SESSION_FRAMING_FAULT);
}

size_t pipeline_hold_memory(const struct pipeline_hold *hold)
{
	return hold->task_count * sizeof(*hold->tasks) + hold->capacity * sizeof(*hold->units);
}
