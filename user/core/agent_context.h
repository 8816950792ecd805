/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Agent contexts: what an interceptor is asked with (AGENT-HOOKS-0.1 3, 4), as one JSON object.
 *
 * Invariants:
 *  A1. `target` is a copy of the member that 4.3 says: input, response, output.
 *  A2. No string has a lone surrogate (4.4): text that is not well-formed is refused, and no
 *      escape of a surrogate is written. No number is above 2^53 - 1; ids are strings.
 *  A3. Where nothing could be written, the buffer is as it was.
 *
 * What is said beside the specification's own members stands under `extensions.sluice` (4.6):
 *   {"stream": "42", "task": "moderation", "channel": "content",
 *    "span": {"start": 256, "end": 512, "before": 768, "final": false}}
 * of which start and end are numbers of the track, `before` counts the runes of the content
 * below the span, which an earlier window had, and `span` is absent where the content is no
 * window but the whole.
 */
#ifndef SLUICE_CORE_AGENT_CONTEXT_H
#define SLUICE_CORE_AGENT_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

/* Bytes of a context at most (12.3). */
#define AGENT_CONTEXT_MAX (5u << 20)

/*
 * Values of finish_reason (12.1): of all emissions but the last; of the last where the response
 * itself does not say; of one that cannot be whole.
 */
#define AGENT_FINISH_INCREMENTAL "incremental"
#define AGENT_FINISH_STOP	 "stop"
#define AGENT_FINISH_INCOMPLETE	 "stream_incomplete"

/* The first three have a target that is made here. */
enum agent_point {
	AGENT_INPUT,	       /* {"content", "role"} */
	AGENT_POST_MODEL_CALL, /* {"content", "tool_calls", "finish_reason"} */
	AGENT_OUTPUT,	       /* {"content"} */
	AGENT_STARTUP,
	AGENT_PRE_MODEL_CALL,
	AGENT_PRE_TOOL_CALL,
	AGENT_POST_TOOL_CALL,
	AGENT_SHUTDOWN,
	_AGENT_POINT_MAX,
};

struct agent_span {
	uint64_t start, end; /* of the track */
	uint64_t before;
	bool final;
};

/* Strings are NUL-terminated UTF-8, and borrowed. */
struct agent_context {
	enum agent_point point;
	uint64_t time_ms;	   /* since 1970, UTC; up to the year 9999 */
	uint64_t sequence;	   /* strictly increasing within the session (4.1) */
	const char *agent;	   /* agent.id, not empty */
	const char *session;	   /* session.id, not empty */
	const char *role;	   /* input; NULL: "user" */
	const char *model;	   /* post_model_call: model.id */
	const char *finish_reason; /* post_model_call */
	const char *tool_calls;	   /* post_model_call: JSON, a list; NULL: an empty one */
	const uint8_t *content;	   /* NULL: null, with post_model_call alone */
	size_t content_len;
	bool content_json; /* it is JSON, and stands as it is */
	/* Of any other point: JSON of the members that it has, its target among them. */
	const char *members;
	uint64_t stream;
	const char *task, *channel;    /* NULL: there is no extensions.sluice */
	const struct agent_span *span; /* NULL: the content is the whole */
};

/* Owned by the caller; zero-initialised it is empty. */
struct agent_buffer {
	char *text; /* not NUL-terminated */
	size_t len, capacity;
};

void agent_buffer_done(struct agent_buffer *buffer);

/*
 * Appends the context to the buffer; what is JSON in it is not looked at. -EINVAL: a string is missing, empty where it may not be,
 * or not UTF-8; a number or the time is too large. -E2BIG: over AGENT_CONTEXT_MAX. -ENOMEM.
 * All of them are host_error:context_invalid (11).
 */
int agent_context_write(const struct agent_context *context,
			struct agent_buffer *buffer) must_check;

/* As a context has it (3): "input", "post_model_call"; never NULL. */
const char *agent_point_name(enum agent_point point);

#endif
