/* SPDX-License-Identifier: Apache-2.0 */
#include "core/extract_event.h"

#include <stdlib.h>
#include <string.h>

/* White space that an idle event may keep room for. */
#define KEEP_SPACE 64u

static const uint8_t mark[] = {'[', 'D', 'O', 'N', 'E', ']'};

void extract_event_done(struct extract_event *event)
{
	free(event->space);
	event->space = NULL;
	event->space_len = event->space_capacity = 0;
}

static size_t white_space(const uint8_t *text, size_t len)
{
	size_t n = 0;

	while (n < len && (text[n] == ' ' || text[n] == '\t' || text[n] == '\n' || text[n] == '\r'))
		n++;
	return n;
}

static enum fault hold_space(struct extract_event *event, const uint8_t *data, size_t len)
{
	size_t need = event->space_len + len, capacity = MAX(event->space_capacity * 2, need);
	uint8_t *grown;

	if (need > event->space_capacity) {
		grown = realloc(event->space, capacity);
		if (!grown)
			return FAULT_NO_MEMORY;
		event->space = grown;
		event->space_capacity = capacity;
	}
	if (len)
		memcpy(event->space + event->space_len, data, len);
	event->space_len = need;
	return FAULT_NONE;
}

/* How much of the data is the mark, with what was held; all of it may still be. */
static size_t take_mark(struct extract_event *event, const uint8_t *data, size_t len)
{
	size_t n = 0;

	while (n < len && event->marked < sizeof(mark) && data[n] == mark[event->marked]) {
		event->marked++;
		n++;
	}
	return n;
}

static enum fault decide_text(struct extract_event *event, const uint8_t *data, size_t len,
			      struct extract_event_step *step)
{
	size_t space = white_space(data, len);
	enum fault fault;

	step->before = event->space_len;
	fault = hold_space(event, data, space);
	step->taken = space;
	if (fault || space == len)
		return fault;
	step->kind = data[space] == '{' || data[space] == '[' ? EVENT_JSON : EVENT_TEXT;
	step->held = event->space;
	step->held_len = event->space_len;
	event->space_len = 0;
	return FAULT_NONE;
}

enum fault extract_event_next(struct extract_event *event, const uint8_t *data, size_t len,
			      struct extract_event_step *ret_step)
{
	struct extract_event_step step = {.kind = event->kind};
	enum fault fault = FAULT_NONE;
	bool first = !event->begun;

	if (event->ended)
		return FAULT_PROTOCOL;
	event->begun = true;
	if (first && event->space_capacity > KEEP_SPACE)
		extract_event_done(event);
	if (event->kind == EVENT_HELD && (event->marked || (first && event->marks))) {
		step.before = event->marked;
		step.taken = take_mark(event, data, len);
		if (step.taken == len)
			goto out;
		/* It is not the mark after all. */
		step.held = mark;
		step.held_len = event->marked;
		step.kind = event->marked || !event->texts ? EVENT_JSON : EVENT_HELD;
		event->marked = 0;
	}
	if (step.kind == EVENT_HELD && event->texts)
		fault = decide_text(event, data, len, &step);
	else if (step.kind == EVENT_HELD)
		step.kind = EVENT_JSON;
	event->kind = step.kind;
out:
	if (!fault)
		*ret_step = step;
	return fault;
}

void extract_event_end(struct extract_event *event, struct extract_event_step *ret_step)
{
	struct extract_event_step step = {.kind = event->kind};

	if (event->marked == sizeof(mark)) {
		step.kind = EVENT_END;
		event->ended = true;
	} else if (event->marked) {
		step.kind = EVENT_JSON;
		step.held = mark;
		step.held_len = event->marked;
	} else if (event->space_len) {
		step.kind = EVENT_TEXT;
		step.held = event->space;
		step.held_len = event->space_len;
	}
	event->begun = false;
	event->kind = EVENT_HELD;
	event->marked = 0;
	event->space_len = 0;
	*ret_step = step;
}
