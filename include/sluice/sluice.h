/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libsluice: the accounting that decides what of a streamed text may be released, for a host
 * that mediates the stream itself (Agent Control Specification 18.1; AGENT-HOOKS-0.1 5, 6, 12).
 *
 * The host observes text as it comes, lets its tasks evaluate it, and tells their outcomes; the
 * session answers up to where the text may be released. The library does no input or output,
 * reads no clock, writes no log, and keeps no text but the tails of struct sluice_resume.
 *
 * Units. All offsets and lengths of text are runes (Unicode scalar values), numbered on each
 * track from 0 in the order of arrival; a span is [start, end). Only what is called `len` is bytes.
 *
 * Ownership. What sluice_…_new() made is the caller's until sluice_…_free(), which accepts NULL.
 * What is handed in is copied where it is kept. Strings handed out are constants, or live as long
 * as the object that they are of.
 *
 * Errors. Operations of a session return enum sluice_result; the other functions 0 or a negative
 * errno. Every argument may be out of its range: an unknown track, task or outcome fails the
 * session, and never anything else. Pointers must be valid, and are NULL only where that is said.
 * What is returned through ret_… is set on success alone. A result that has to be looked at
 * carries SLUICE_MUST_CHECK.
 *
 * Threads. There is no state outside the objects: different objects may be used by different
 * threads at once, one object by one thread at a time.
 *
 * Memory. Only …_new(), sluice_verdict_parse() and sluice_resume_delivered() allocate:
 * observing, recording an outcome and advancing never do.
 *
 * Stability. Numbers of enumerators never change, new ones are added at the end. A struct that
 * begins with `size` may grow; the caller sets it to sizeof of the struct that it was built with.
 */
#ifndef SLUICE_SLUICE_H
#define SLUICE_SLUICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SLUICE_VERSION_MAJOR 0
#define SLUICE_VERSION_MINOR 1
#define SLUICE_VERSION_PATCH 0
/* Comparable: the minor and patch numbers have a byte each. */
#define SLUICE_VERSION_NUMBER \
	(SLUICE_VERSION_MAJOR << 16 | SLUICE_VERSION_MINOR << 8 | SLUICE_VERSION_PATCH)

#define SLUICE_API	  __attribute__((visibility("default")))
#define SLUICE_MUST_CHECK __attribute__((warn_unused_result))

/* SLUICE_VERSION_NUMBER of the library that runs, and the same as text, "0.1.0". */
SLUICE_API unsigned int sluice_version_number(void);
SLUICE_API const char *sluice_version(void);

/* --- Session --------------------------------------------------------------------------------- */

#define SLUICE_TRACK_RUNES_MAX 2147483647u /* 2^31-1 runes: the ceiling of a track */
#define SLUICE_TRACK_TASKS_MAX 1024u

/* How text is released: as it is cleared; as a whole; on arrival, with evaluation behind. */
enum sluice_level { SLUICE_BLOCKING, SLUICE_COMPLETE, SLUICE_DEFERRED };

/* `user_request` at `input`; `model_generated` at `post_model_call`. */
enum sluice_track { SLUICE_REQUEST, SLUICE_RESPONSE };
#define SLUICE_TRACKS 2

enum sluice_outcome { SLUICE_CLEARED, SLUICE_DENIED, SLUICE_TRANSFORMED };

/*
 * Whatever is said to fail a session ends it for good: the first cause stays, and nothing after
 * it offers a release offset.
 */
enum sluice_result {
	SLUICE_OK,
	SLUICE_NO_TRACKS_MEDIATED,
	SLUICE_OFFSET_OVERFLOW, /* a track past SLUICE_TRACK_RUNES_MAX */
	SLUICE_NO_TASKS,	/* a track without tasks, or none at all */
	SLUICE_UNKNOWN_TASK,
	SLUICE_OFFSET_PAST_END, /* a span that ends past what was observed */
	SLUICE_PAYLOADS_CLOSED, /* observed after the end of payloads */
	SLUICE_CLOSED,		/* the session had ended before; all is as it was */
	SLUICE_TRANSFORM_TOO_LATE,
	SLUICE_NON_CONTIGUOUS_OUTCOME, /* a span that starts past what its task has cleared */
	SLUICE_VERDICT_INVALID,
	SLUICE_UNCLEARED_RESIDUE,
	SLUICE_EMPTY_SPAN,    /* the span cannot be built; all is as it was */
	SLUICE_SPAN_OVERFLOW, /* the same */
	SLUICE_NO_MEMORY,
	SLUICE_TOO_MANY_TASKS,	 /* over SLUICE_TRACK_TASKS_MAX */
	SLUICE_OUTPUT_PENDING,	 /* finish: a task of `output` has not answered; all is as it was */
	SLUICE_OUTPUT_TOO_EARLY, /* a task of `output` answered before the end of payloads */
	/* Causes from outside, for sluice_session_fail(). */
	SLUICE_FRAMING_FAULT, /* also: text that is not UTF-8 */
	SLUICE_DISCONNECTED,
	SLUICE_HOLD_TIMEOUT,
	SLUICE_INTERCEPTOR_FAILED,
	SLUICE_INTERCEPTOR_TIMEOUT,
	SLUICE_OPERATOR,
	SLUICE_HOST_DIED,
	SLUICE_RESUME_REFUSED,
	/* Of the library itself; no session fails by it. */
	SLUICE_BAD_ARGUMENT = 256
};

enum sluice_end {
	SLUICE_END_OPEN,
	SLUICE_END_COMPLETE,
	SLUICE_END_DENIED,
	SLUICE_END_REWRITTEN,
	SLUICE_END_FAILED
};

/* No version's config is larger: a size beyond it was not set. */
#define SLUICE_CONFIG_SIZE_MAX 4096u

/* All of zero but size: level blocking, no tasks. */
struct sluice_config {
	size_t size; /* sizeof(struct sluice_config) */
	enum sluice_level level;
	uint64_t start[SLUICE_TRACKS]; /* runes that earlier attempts delivered */
	/* Names of the tasks that gate a track; a repeated one counts once. 0: not mediated. */
	const char *const *tasks[SLUICE_TRACKS];
	size_t task_count[SLUICE_TRACKS];
	/* Tasks of `output`: they gate no rune, and judge the response once it is assembled. */
	const char *const *output_tasks;
	size_t output_count;
};

struct sluice_session;

/*
 * A new session, open. SLUICE_BAD_ARGUMENT: a size of no version, or one with more than zeros
 * behind what this version knows; an unknown level; a name that is NULL or empty, or an array of
 * them that is NULL and has a count. Then, in this order: SLUICE_NO_TRACKS_MEDIATED,
 * SLUICE_OFFSET_OVERFLOW (a start), SLUICE_TOO_MANY_TASKS, SLUICE_NO_MEMORY.
 */
SLUICE_API enum sluice_result
sluice_session_new(const struct sluice_config *config,
		   struct sluice_session **ret_session) SLUICE_MUST_CHECK;

/*
 * Frees a session. false: it was not settled, that is, neither finished nor failed nor ended by
 * an outcome. The host has to report that as a fault of its own.
 */
SLUICE_API bool sluice_session_free(struct sluice_session *session) SLUICE_MUST_CHECK;

/* The number of a task of a track, from 0 on, or -ENOENT; its name, or NULL. */
SLUICE_API int sluice_session_task(const struct sluice_session *session, enum sluice_track track,
				   const char *name);
SLUICE_API const char *sluice_session_task_name(const struct sluice_session *session,
						enum sluice_track track, int task);
/* The same of the tasks of `output`. */
SLUICE_API int sluice_session_output_task(const struct sluice_session *session, const char *name);
SLUICE_API const char *sluice_session_output_name(const struct sluice_session *session, int task);

/*
 * Extends a track by runes; *ret_received is its new end. Fails with SLUICE_PAYLOADS_CLOSED,
 * SLUICE_NO_TASKS, SLUICE_OFFSET_OVERFLOW, and SLUICE_FRAMING_FAULT where a rune of
 * sluice_session_observe_text() is not whole.
 */
SLUICE_API enum sluice_result sluice_session_observe(struct sluice_session *session,
						     enum sluice_track track, uint64_t runes,
						     uint64_t *ret_received) SLUICE_MUST_CHECK;

/*
 * Extends a track by the runes of len bytes of UTF-8 (RFC 3629). A rune that is cut by the end of
 * the bytes counts with the call that completes it. Fails as sluice_session_observe(), and with
 * SLUICE_FRAMING_FAULT where the text is ill-formed.
 */
SLUICE_API enum sluice_result sluice_session_observe_text(struct sluice_session *session,
							  enum sluice_track track, const void *text,
							  size_t len,
							  uint64_t *ret_received) SLUICE_MUST_CHECK;

/*
 * What a task found in [start, end). Cleared moves its frontier; a span may overlap what it has
 * cleared, but not leave a gap. Denied ends the session and withholds all that was not released.
 * Transformed ends it as rewritten: at a level that withholds, and only while nothing of the
 * track was released. SLUICE_OK also where the session ended so.
 */
SLUICE_API enum sluice_result sluice_session_outcome(struct sluice_session *session,
						     enum sluice_track track, int task,
						     uint64_t start, uint64_t end,
						     enum sluice_outcome outcome) SLUICE_MUST_CHECK;

/*
 * What a task of `output` found in the assembled response, after the end of payloads. Cleared is
 * kept for finish; denied ends the session, and can recall nothing.
 */
SLUICE_API enum sluice_result sluice_session_output(struct sluice_session *session, int task,
						    enum sluice_outcome outcome) SLUICE_MUST_CHECK;

/*
 * 1 and the watermark where it moved since the last call, else 0. What is below it was cleared by
 * every task of the track and may be released. SLUICE_BLOCKING: at once. SLUICE_COMPLETE: once
 * sluice_session_finish() said SLUICE_OK.
 */
SLUICE_API int sluice_session_advance(struct sluice_session *session, enum sluice_track track,
				      uint64_t *ret_watermark) SLUICE_MUST_CHECK;

/* The offset that may be released now. false: there is none, the session has ended. */
SLUICE_API bool sluice_session_safe_offset(const struct sluice_session *session,
					   enum sluice_track track,
					   uint64_t *ret_offset) SLUICE_MUST_CHECK;

/* Nothing more comes on either track. Fails where a rune is not whole; SLUICE_OK after the end. */
SLUICE_API enum sluice_result
sluice_session_end_of_payloads(struct sluice_session *session) SLUICE_MUST_CHECK;

/*
 * SLUICE_OK: all was cleared, the session is complete. Fails with SLUICE_UNCLEARED_RESIDUE, and
 * SLUICE_FRAMING_FAULT where a rune is not whole. SLUICE_CLOSED: it had ended before.
 * SLUICE_OUTPUT_PENDING: it stays open for sluice_session_output().
 */
SLUICE_API enum sluice_result
sluice_session_finish(struct sluice_session *session) SLUICE_MUST_CHECK;

/* Fails the session, unless it has ended. SLUICE_OK and unknown causes: SLUICE_DISCONNECTED. */
SLUICE_API void sluice_session_fail(struct sluice_session *session, enum sluice_result cause);

struct sluice_track_state {
	uint64_t received;  /* runes observed */
	uint64_t confirmed; /* the watermark as it was last told, also after the end */
	uint64_t pending;   /* the difference */
};

struct sluice_state {
	size_t size; /* set by the caller; on return what was filled */
	struct sluice_track_state track[SLUICE_TRACKS];
	enum sluice_end end;
	enum sluice_result error; /* with SLUICE_END_FAILED */
	/*
	 * The outcome that ended it, with SLUICE_END_DENIED and SLUICE_END_REWRITTEN; that of a
	 * task of `output` has no span, and ended_track is SLUICE_RESPONSE.
	 */
	enum sluice_track ended_track;
	int ended_task;
	uint64_t ended_start, ended_span_end;
	bool ended_output;
};

/* SLUICE_BAD_ARGUMENT: a size of no version. */
SLUICE_API enum sluice_result sluice_session_get(const struct sluice_session *session,
						 struct sluice_state *state) SLUICE_MUST_CHECK;

/*
 * Runes of a track that may be kept anywhere durable, of which the host has emitted so many (a
 * track offset): those that were cleared and have left. Under every level, also after the end.
 */
SLUICE_API uint64_t sluice_session_persistable(const struct sluice_session *session,
					       enum sluice_track track, uint64_t emitted);

/*
 * The reserved reason of a failed session, "host_error:…" or "operator" (AGENT-HOOKS-0.1 11);
 * NULL for all others.
 */
SLUICE_API const char *sluice_session_reason(const struct sluice_session *session);

/* Lower-case names, never NULL; "unknown" for what is none. */
SLUICE_API const char *sluice_result_name(enum sluice_result result);
SLUICE_API const char *sluice_end_name(enum sluice_end end);

/* --- Verdicts of interceptors (AGENT-HOOKS-0.1 5, 11) ---------------------------------------- */

#define SLUICE_REASON_MAX 64u /* bytes of [a-z0-9_.:-] */
#define SLUICE_DIGEST_MAX 64u /* lower-case hexadecimal digits */

enum sluice_decision { SLUICE_ALLOW, SLUICE_DENY, SLUICE_TRANSFORM };

/* Why a verdict is malformed. */
enum sluice_verdict_fault {
	SLUICE_VERDICT_OK,
	SLUICE_VERDICT_NOT_JSON, /* or not UTF-8, a member twice, too long, more than one value */
	SLUICE_VERDICT_NOT_OBJECT,
	SLUICE_VERDICT_BAD_DECISION,
	SLUICE_VERDICT_BAD_REASON, /* no string, or a prefix that is the host's alone */
	SLUICE_VERDICT_BAD_MESSAGE,
	SLUICE_VERDICT_BAD_WARNINGS,
	SLUICE_VERDICT_BAD_APPROVAL,  /* no object, or not on a deny */
	SLUICE_VERDICT_BAD_TRANSFORM, /* absent, not on a transform, or not below $target */
	SLUICE_VERDICT_BAD_EVIDENCE,  /* no object, or over 10,240 bytes */
	SLUICE_VERDICT_BAD_LABELS,
	SLUICE_VERDICT_NO_MEMORY
};

/* All that is kept of an answer: the evidence as a digest, messages and texts not at all. */
struct sluice_verdict {
	enum sluice_verdict_fault fault; /* unless SLUICE_VERDICT_OK, nothing else is set */
	enum sluice_decision decision;
	char reason[SLUICE_REASON_MAX + 1];   /* "" without; "unnamed" where it is of other bytes */
	char evidence[SLUICE_DIGEST_MAX + 1]; /* SHA-256 of the member as it came; "" without */
	bool approval;			      /* a deny that could be lifted; it is a deny */
	uint32_t warnings;
	uint32_t reserved[8]; /* 0 */
};

/*
 * Reads len bytes of JSON (RFC 8259; NULL where len is 0) and checks their shape before anything is read out of them.
 * by_host: the host made the verdict itself, and may use the reason "host_error:…". Sets
 * *ret_verdict in any case, and returns its fault.
 */
SLUICE_API enum sluice_verdict_fault
sluice_verdict_parse(const void *json, size_t len, bool by_host,
		     struct sluice_verdict *ret_verdict) SLUICE_MUST_CHECK;

/*
 * Records a verdict as the outcome that it is: allow clears, deny denies, with or without
 * approval, transform transforms. A malformed one fails the session with
 * SLUICE_VERDICT_INVALID, one that was not read with SLUICE_NO_MEMORY.
 */
SLUICE_API enum sluice_result
sluice_session_verdict(struct sluice_session *session, enum sluice_track track, int task,
		       uint64_t start, uint64_t end,
		       const struct sluice_verdict *verdict) SLUICE_MUST_CHECK;
/* The same for a task of `output`. */
SLUICE_API enum sluice_result
sluice_session_output_verdict(struct sluice_session *session, int task,
			      const struct sluice_verdict *verdict) SLUICE_MUST_CHECK;

SLUICE_API const char *sluice_decision_name(enum sluice_decision decision);
SLUICE_API const char *sluice_verdict_fault_name(enum sluice_verdict_fault fault);

/* --- Coverage: how much text a task has to see (Agent Control Specification 18.1) ------------- */

/* What is detectable in L runes, and ends in a span, begins at most L - 1 runes below it. */
struct sluice_coverage {
	uint32_t span;	     /* S: runes of a span at most, at least 1 */
	uint32_t window;     /* N: runes of a window, at least S + L - 1 */
	uint32_t detectable; /* L: runes of the longest thing the task detects, at least 1 */
};

/* The smallest sound window, S + L - 1. */
SLUICE_API uint64_t sluice_coverage_window(uint32_t span, uint32_t detectable);

/* -EINVAL: unsound. *ret_needed, also then, is the window that would do; it may be NULL. */
SLUICE_API int sluice_coverage_check(const struct sluice_coverage *coverage,
				     uint64_t *ret_needed) SLUICE_MUST_CHECK;

/*
 * The window of a span [start, end) is [*ret_from, end). -EINVAL: an empty span, or one of more
 * than S runes.
 */
SLUICE_API int sluice_coverage_of(const struct sluice_coverage *coverage, uint64_t start,
				  uint64_t end, uint64_t *ret_from) SLUICE_MUST_CHECK;

/* Runes below the first of an attempt that its tasks have to see, L - 1. */
SLUICE_API uint32_t sluice_coverage_tail(uint32_t detectable);

/* --- Resume: what is kept between attempts (Agent Control Specification 18.1) ----------------- */

/* Over all attempts at one text: the last runes delivered, and where the next attempt begins. */
struct sluice_resume;

/*
 * keep: runes of each channel's tail, sluice_coverage_tail() of the tasks. Runes that a folding may
 * remove or join are kept beside them, and not counted. -ENOMEM.
 */
SLUICE_API int sluice_resume_new(uint32_t keep,
				 struct sluice_resume **ret_resume) SLUICE_MUST_CHECK;
SLUICE_API void sluice_resume_free(struct sluice_resume *resume);

/*
 * Text of a channel was delivered, in order and in whole runes. -ENOMEM, -E2BIG (too many
 * channels), -EILSEQ (not UTF-8): no attempt may resume any more.
 */
SLUICE_API int sluice_resume_delivered(struct sluice_resume *resume, const char *channel,
				       const void *text, size_t len) SLUICE_MUST_CHECK;

/*
 * An attempt is over: of its runes so many were cleared, and so many delivered. Where more were
 * delivered than cleared, no attempt may resume any more.
 */
SLUICE_API void sluice_resume_attempt(struct sluice_resume *resume, uint64_t cleared,
				      uint64_t delivered);

/* Runes delivered over all attempts. */
SLUICE_API uint64_t sluice_resume_offset(const struct sluice_resume *resume);

/* May an attempt begin at a track offset? -EPERM: never again. -ERANGE: not at this one. */
SLUICE_API int sluice_resume_may_begin(const struct sluice_resume *resume,
				       uint64_t start) SLUICE_MUST_CHECK;

/*
 * Calls each for the tail of every channel that has one, for the new attempt's tasks to see before
 * its first rune, until it returns other than 0; returns what it did.
 */
SLUICE_API int sluice_resume_tails(const struct sluice_resume *resume,
				   int (*each)(void *context, const char *channel,
					       const uint8_t *text, size_t len),
				   void *context) SLUICE_MUST_CHECK;

/* --- Framing guard: what to do with a partial message ----------------------------------------- */

enum sluice_guard_mode { SLUICE_LENGTH_PREFIXED, SLUICE_DELIMITED, SLUICE_UNFRAMED };

enum sluice_guard_verdict {
	SLUICE_DISCARD_AND_RESET,
	SLUICE_MESSAGE_COMPLETE,
	SLUICE_STALE_PARTIAL_BUFFER,
	SLUICE_MESSAGE_IN_PROGRESS
};

/*
 * partial: part of a message is held. age: seconds since its last byte. An unknown mode is
 * unframed, an age or a timeout that is no number stale.
 */
SLUICE_API enum sluice_guard_verdict sluice_guard_judge(enum sluice_guard_mode mode, bool partial,
							double age, double timeout);

/* The upper-case name of the manifest, never NULL. */
SLUICE_API const char *sluice_guard_verdict_name(enum sluice_guard_verdict verdict);

#ifdef __cplusplus
}
#endif

#endif
