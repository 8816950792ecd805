/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resume marks: what a stream of events says of where it stands, by which a client may ask for
 * the rest of it. Found in the one pass that frames and scans it:
 *  - the id of the last event (WHATWG HTML 9.2.6), of its block's lines;
 *  - `sequence_number` and `response.id` of its data (OpenAI Responses, streaming events).
 * What is longer than RESUME_ID_MAX is no mark: what was broken off there is not known.
 */
#ifndef SLUICE_CORE_RESUME_MARKS_H
#define SLUICE_CORE_RESUME_MARKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/json.h"
#include "core/json_names.h"
#include "core/resume_http.h"

enum resume_mark { MARK_NONE, MARK_SEQUENCE, MARK_RESPONSE };

struct resume_marks {
	struct resume_id event, response;
	uint64_t sequence;
	bool has_sequence;
	bool has_event;	   /* an id has come: empty takes the one before away */
	uint8_t under_way; /* enum resume_mark */
	bool spoiled;	   /* what is under way is none */
	uint64_t number;
	struct resume_id text;
};

/* The lines of a block that are no data, without their ends, joined by LF. */
void resume_marks_block(struct resume_marks *marks, const uint8_t *lines, size_t len);

/* A piece of a number or string of JSON, as the sink of a scanner gets it (core/json.h). */
void resume_marks_token(struct resume_marks *marks, const struct json_names *names,
			enum json_token token, unsigned int flags, const uint8_t *text, size_t len);

#endif
