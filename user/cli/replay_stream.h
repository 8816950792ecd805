/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One stream, or one of its flows alone, through framing, text, tasks and accounting as the
 * daemon takes it, and what of it would have left when (cli/replay_timeline.h).
 *
 * Nobody is asked: an interceptor is taken to allow, or to deny where the caller says so.
 * Nothing is kept of the text.
 */
#ifndef SLUICE_CLI_REPLAY_STREAM_H
#define SLUICE_CLI_REPLAY_STREAM_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "cli/replay_timeline.h"
#include "core/exchange.h"
#include "core/pipeline.h"
#include "core/policy.h"

/* What is the same for all streams of one call. */
struct replay_setup {
	const struct policy *policy;
	const char *deny_by; /* an interceptor's name, the policy's own; NULL: none denies */
	uint64_t deny_at;    /* it denies the span with this rune of its track */
	size_t chunk;	     /* bytes fed at a time, at most */
};

/* What a policy has for a destination. */
struct replay_destination {
	const char *match; /* as written, or "otherwise" */
	enum policy_action action;
	struct framing framing;
	struct extract extract;
};

/* destination NULL: what the policy has for whatever matches nothing. */
void replay_find_destination(const struct policy *policy, const uint8_t *address, uint16_t port,
			     struct replay_destination *ret_destination);

struct replay_stream;

struct replay_flow {
	struct replay_stream *stream;
	enum session_track track;
	bool used, ended;
	struct pipeline *pipeline; /* NULL where the destination is not mediated */
	/*
	 * Of a flow that is alone, without tasks: it tells where units end, so that each is
	 * judged before more is fed.
	 */
	struct pipeline *scout;
	struct exchanges *scout_exchanges;
	struct pipeline_task tasks[POLICY_TASKS_MAX];
	struct pipeline_task watchers[2 * POLICY_TASKS_MAX]; /* those of `output` among them */
	size_t watcher_count;
	uint64_t asked[POLICY_TASKS_MAX]; /* emissions to each interceptor, by policy task */
	uint64_t *ends;			  /* of units, from the scout */
	size_t end_count, end_room;
	uint64_t received;
	struct timeline timeline;
	json_t *findings;
};

struct replay_stream {
	const struct replay_setup *setup;
	struct replay_destination destination;
	enum framing_kind told; /* of responses alone, under auto */
	bool one_sided;
	struct exchanges *exchanges;
	const char *names[_SESSION_TRACK_MAX][POLICY_TASKS_MAX];
	const char *output_names[POLICY_TASKS_MAX];
	struct replay_flow flows[_SESSION_TRACK_MAX];
	uint64_t sessions[_SESSION_END_MAX]; /* that ended; none without tasks */
	struct session_state state;	     /* of the one that ended last */
	enum fault fault;
	enum session_track faulted; /* the flow of the fault */
	uint64_t fault_at;	    /* where the unit of that flow begins that was read then */
	bool unjudged;		    /* a fault, under a policy that observes: all goes on */
	bool failed;		    /* an error of ours: not enough memory */
};

/*
 * Opens a stream of both tracks, or of one alone. told: see above. 0, or -errno after a
 * line. The stream stays where it is.
 */
int replay_open(struct replay_stream *stream, const struct replay_setup *setup,
		const struct replay_destination *destination, const enum session_track *alone,
		enum framing_kind told) must_check;
void replay_close(struct replay_stream *stream);

/*
 * Bytes of a flow came, at that time. What follows a fault, of either flow, counts as withheld.
 */
void replay_feed(struct replay_stream *stream, enum session_track track, const uint8_t *bytes,
		 size_t len, uint64_t time);
/* The flow ended there. */
void replay_end(struct replay_stream *stream, enum session_track track, uint64_t time);
/* Nothing more comes; how: what ends a session that is open. */
void replay_settle(struct replay_stream *stream, enum session_result how);

/* Bytes of a flow that would have left. */
uint64_t replay_released(const struct replay_flow *flow);
uint64_t replay_session_count(const struct replay_stream *stream);

/* What a task found. */
json_t *replay_found(const struct policy *policy, const char *name, uint32_t rule, uint64_t start,
		     uint64_t end);

#endif
