/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interception points of a small host (AGENT-HOOKS-0.1 3 to 7): each emission goes to the
 * scripted interceptors in their order, up to the first that does not allow (7.4,
 * sequential/first_deny), is accounted as an outcome of each of them, and is recorded.
 */
#ifndef SLUICE_TESTS_DRIVER_CTK_EMIT_H
#define SLUICE_TESTS_DRIVER_CTK_EMIT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/agent_context.h"
#include "core/session.h"

struct ctk_host {
	const json_t *scripts;	 /* of each interceptor; the vector's */
	size_t count;		 /* of them; each is a task of the session with its number */
	struct session *session; /* NULL: none has been opened */
	json_t *interceptions, *records;
	json_int_t sequence;
};

/* What an emission is an outcome of. */
enum ctk_scope {
	CTK_NOTHING, /* a point that gates no text */
	CTK_SPAN,
	CTK_OUTPUT, /* the assembled response */
};

struct ctk_gated {
	enum ctk_scope scope;
	enum session_track track; /* CTK_SPAN; runes of the track */
	uint64_t start, end;
};

/*
 * Emits a point that has a target of its own (core/agent_context.h): what `about` has of it, with
 * that content, and in the envelope of the host. Is what it stands before permitted?
 */
bool ctk_emit(struct ctk_host *host, struct agent_context about, const json_t *content,
	      const struct ctk_gated *gated);

/* Emits another one, with the members that its context has; takes them. It gates no text. */
bool ctk_emit_point(struct ctk_host *host, enum agent_point point, json_t *members);

/* Records a deny that the host itself makes, with the reason its session failed for. */
void ctk_deny(struct ctk_host *host, enum agent_point point);

#endif
