/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Session: the accounting that decides release (Agent Control Specification
 * 18.1; AGENT-HOOKS-0.1 5, 6, 12). It counts runes, never bytes, and knows no
 * text: observe() extends a track, outcome() moves a task's frontier, the
 * watermark is the smallest frontier of a track's tasks.
 *
 * Invariants:
 *  S1. Per track: start <= watermark <= every task's frontier <= observed <= 2^31-1.
 *  S2. The watermark never moves back.
 *  S3. The end is final: the first reason stays, and nothing after it offers a
 *      release offset.
 *  S4. No operation allocates after session_new.
 *  S5. With tasks of `output` the session completes only once each has cleared the
 *      assembled response: finish waits for them.
 */
#ifndef SLUICE_CORE_SESSION_H
#define SLUICE_CORE_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

#define SESSION_RUNES_MAX 2147483647u /* 2^31-1, the ceiling of a track */
#define SESSION_TASKS_MAX 1024u	      /* of one track */

enum session_level { SESSION_BLOCKING, SESSION_COMPLETE, SESSION_DEFERRED, _SESSION_LEVEL_MAX };
enum session_track { SESSION_REQUEST, SESSION_RESPONSE, _SESSION_TRACK_MAX };
enum session_outcome { SESSION_CLEARED, SESSION_DENIED, SESSION_TRANSFORMED, _SESSION_OUTCOME_MAX };

/* The result of an operation; the names are those of the accounting cases. */
enum session_result {
	SESSION_OK,
	SESSION_NO_TRACKS_MEDIATED,
	SESSION_OFFSET_OVERFLOW,
	SESSION_NO_TASKS,
	SESSION_UNKNOWN_TASK,
	SESSION_OFFSET_PAST_END,
	SESSION_PAYLOADS_CLOSED,
	SESSION_CLOSED,
	SESSION_TRANSFORM_TOO_LATE,
	SESSION_NON_CONTIGUOUS_OUTCOME,
	SESSION_VERDICT_INVALID,
	SESSION_UNCLEARED_RESIDUE,
	SESSION_EMPTY_SPAN,    /* the span was not built, the session is as it was */
	SESSION_SPAN_OVERFLOW, /* the same */
	SESSION_NO_MEMORY,
	SESSION_TOO_MANY_TASKS, /* over SESSION_TASKS_MAX */
	SESSION_OUTPUT_PENDING, /* finish: a task of `output` has not answered; all is as it was */
	SESSION_OUTPUT_TOO_EARLY, /* a task of `output` answered before the payloads had ended */
	/* What ends a session from outside, for session_fail(). */
	SESSION_FRAMING_FAULT,
	SESSION_DISCONNECTED,
	SESSION_HOLD_TIMEOUT,
	SESSION_INTERCEPTOR_FAILED,
	SESSION_INTERCEPTOR_TIMEOUT,
	SESSION_OPERATOR,
	SESSION_HOST_DIED,
	SESSION_RESUME_REFUSED, /* a retry that may not go on where an attempt before it stopped */
	_SESSION_RESULT_MAX,
};

enum session_end {
	SESSION_OPEN,
	SESSION_COMPLETE_END,
	SESSION_DENIED_END,
	SESSION_REWRITTEN_END,
	SESSION_FAILED_END,
	_SESSION_END_MAX,
};

struct session_config {
	enum session_level level; /* an unknown one counts as one that withholds nothing */
	uint64_t start[_SESSION_TRACK_MAX]; /* rune offset a resumed track begins at */
	const char *const
		*tasks[_SESSION_TRACK_MAX];    /* names, copied; a repeated one counts once */
	size_t task_count[_SESSION_TRACK_MAX]; /* 0: the track is not mediated */
	/* Tasks of `output`: they gate no rune, and judge the response once it is assembled. */
	const char *const *output_tasks;
	size_t output_count;
};

struct session;

/*
 * What a track and the session look like. start is where the track began. confirmed is the
 * watermark as the last advance or a clean finish gave it. release is the offset that may be
 * released, valid only while has_release: never after the end.
 */
struct session_track_state {
	uint64_t start, received, confirmed, pending, release;
	bool has_release;
};

struct session_state {
	struct session_track_state track[_SESSION_TRACK_MAX];
	enum session_end end;
	enum session_result error; /* with SESSION_FAILED_END */
	/*
	 * The outcome that ended it, with SESSION_DENIED_END and SESSION_REWRITTEN_END. With
	 * ended_output it is that of a task of `output`: there is no span, and the track is
	 * the response's.
	 */
	bool ended_output;
	enum session_track ended_track;
	int ended_task;
	uint64_t ended_start, ended_span_end;
};

/*
 * In this order: SESSION_NO_TRACKS_MEDIATED (tasks of `output` mediate none),
 * SESSION_OFFSET_OVERFLOW (a start past the ceiling), SESSION_TOO_MANY_TASKS,
 * SESSION_NO_MEMORY.
 */
enum session_result session_new(const struct session_config *config,
				struct session **ret_session) must_check;
/* Returns false where the session had not ended: the caller must report that. Accepts NULL. */
bool session_free(struct session *session);

/*
 * A track begins at an offset after all, as one that is resumed: before anything of it was
 * observed. SESSION_OFFSET_OVERFLOW, SESSION_OFFSET_PAST_END: something was; and the session
 * is as it was. SESSION_CLOSED.
 */
enum session_result session_resume(struct session *session, enum session_track track,
				   uint64_t start) must_check;

/* The number of a task on a track, or -ENOENT. */
int session_task(const struct session *session, enum session_track track, const char *name);
/* The name of a task, or NULL. Valid as long as the session. */
const char *session_task_name(const struct session *session, enum session_track track, int task);

/* Extends a track by runes; *ret_received is its new end (only on SESSION_OK). */
enum session_result session_observe(struct session *session, enum session_track track,
				    uint64_t runes, uint64_t *ret_received) must_check;

/*
 * A task's outcome over [start, end). task is session_task()'s number; a negative one is unknown.
 * SESSION_OK also where the outcome ended the session as denied or rewritten.
 */
enum session_result session_outcome(struct session *session, enum session_track track, int task,
				    uint64_t start, uint64_t end,
				    enum session_outcome outcome) must_check;

/* The number of a task of `output`, or -ENOENT; its name, or NULL. */
int session_output_task(const struct session *session, const char *name);
const char *session_output_name(const struct session *session, int task);
/*
 * What a task of `output` found of the assembled response, after session_end_of_payloads().
 * A clearance is kept for finish; a denial is terminal as any, also of a task that cleared
 * before, and can recall nothing. A transformation comes too late. In this order:
 * SESSION_CLOSED, SESSION_UNKNOWN_TASK, SESSION_OUTPUT_TOO_EARLY, SESSION_TRANSFORM_TOO_LATE,
 * SESSION_VERDICT_INVALID; all but the first end the session as failed.
 */
enum session_result session_output(struct session *session, int task,
				   enum session_outcome outcome) must_check;

/*
 * 1 and the new watermark where it moved since the last call, else 0. session_advance() takes
 * what it moved over for released; session_reach() does not, for a caller that releases whole
 * units, and says with session_release() that one with runes leaves: a transformation comes
 * too late from there on.
 */
int session_reach(struct session *session, enum session_track track, uint64_t *ret_watermark);
void session_release(struct session *session, enum session_track track);
int session_advance(struct session *session, enum session_track track, uint64_t *ret_watermark);

/* No more payloads on either track. SESSION_OK, also after the end. */
enum session_result session_end_of_payloads(struct session *session);

/* Ends the session as failed, unless it ended before, for a cause from outside. */
void session_fail(struct session *session, enum session_result error);

/*
 * SESSION_OK: complete. SESSION_UNCLEARED_RESIDUE: failed. SESSION_CLOSED: had ended before.
 * SESSION_OUTPUT_PENDING: neither, and nothing moved; the session stays open for
 * session_output(). A residue is looked for first.
 */
enum session_result session_finish(struct session *session) must_check;

void session_get(const struct session *session, struct session_state *ret_state);

/*
 * The offset up to which a track may be kept anywhere durable: what was cleared and has left,
 * of which the caller knows (emitted, a track offset). Under every level, and also after the
 * end. Never below the start: up to there earlier attempts answer for it. What is cleared but
 * was not taken by session_advance(), session_reach() or a clean finish does not count.
 */
uint64_t session_persistable(const struct session_state *state, enum session_track track,
			     uint64_t emitted);

/* Lower-case names, never NULL. */
const char *session_result_name(enum session_result result);
const char *session_end_name(enum session_end end);
const char *session_level_name(enum session_level level);

/*
 * The reserved reason a failed end carries (design 6): "host_error:…", or "operator" where
 * the operator ended it. NULL while open and for complete, denied and rewritten.
 */
const char *session_reason(const struct session_state *state);

#endif
