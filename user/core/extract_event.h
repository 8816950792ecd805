/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the data of an event, or a message of its own, is: JSON, the mark that ends a stream of
 * events, or text. It is told by its first bytes, which are held until it is.
 *
 * Invariants:
 *  V1. How the data is cut changes no answer.
 *  V2. Where it may be text it is JSON if its first byte that is no white space of JSON is { or [,
 *      and text if it is another, or if there is none.
 */
#ifndef SLUICE_CORE_EXTRACT_EVENT_H
#define SLUICE_CORE_EXTRACT_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/fault.h"

enum extract_event_kind {
	EVENT_HELD, /* it is not known yet, or nothing came */
	EVENT_JSON,
	EVENT_TEXT,
	EVENT_END, /* the mark */
};

struct extract_event {
	bool marks; /* one that is "[DONE]" is the mark */
	bool texts; /* it may be text */

	bool begun; /* a byte has come */
	bool ended; /* the mark has */
	enum extract_event_kind kind;
	uint8_t marked; /* so many bytes are those of the mark, and held */
	/* White space that is held, since it may be the beginning of a text. */
	uint8_t *space;
	size_t space_len, space_capacity;
};

/* What to read: first what was held, then the data from `taken` on. */
struct extract_event_step {
	enum extract_event_kind kind;
	const uint8_t *held; /* until the next call */
	size_t held_len;
	size_t before; /* so many of them came with earlier data */
	size_t taken;
};

/* The fields above the blank line are the caller's, the others 0. */
void extract_event_done(struct extract_event *event);

/* Is the data, of which this byte is the next, JSON without looking any further? */
static inline bool extract_event_is_json(struct extract_event *event, uint8_t next)
{
	if (!event->begun && !event->ended && next == '{') {
		event->begun = true;
		event->kind = EVENT_JSON;
	}
	return event->kind == EVENT_JSON;
}

/* The next data, at least a byte. FAULT_PROTOCOL: the mark has come. FAULT_NO_MEMORY. */
enum fault extract_event_next(struct extract_event *event, const uint8_t *data, size_t len,
			      struct extract_event_step *ret_step) must_check;

/* It ends; what is held is read now, and the next begins. */
void extract_event_end(struct extract_event *event, struct extract_event_step *ret_step);

#endif
