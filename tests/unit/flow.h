/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A flow through a pipeline for tests: bytes, cuts, and what came of them as one
 * string, so that two ways of cutting the same bytes can be compared whole.
 * While it feeds it asserts that released is monotonic, at a unit's end, and
 * never past what is framed, nor framed past what was received; and that after so
 * many bytes the same is released, and a refusal would go to the same place, however
 * they were cut.
 */
#ifndef SLUICE_TESTS_UNIT_FLOW_H
#define SLUICE_TESTS_UNIT_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/exchange.h"
#include "core/pipeline.h"

#define FLOW_TASKS_MAX	  3u
#define FLOW_WATCHED	  (1u << FLOW_TASKS_MAX)
#define FLOW_OUTPUT	  (FLOW_WATCHED << FLOW_TASKS_MAX)
#define FLOW_CHANNELS_MAX 24u
#define FLOW_SESSIONS_MAX 8u
#define FLOW_FINDINGS_MAX 8u

struct flow_config {
	struct framing framing;
	struct extract extract;
	uint64_t max_message;		      /* 0: 1 MiB */
	uint64_t max_pending_units;	      /* 0: 1024 */
	const char *terms[FLOW_TASKS_MAX][8]; /* of each task; a task without terms ends the list */
	unsigned int fold[FLOW_TASKS_MAX];
	enum session_level level;
	/* The same of its watchers, named w0 and so on, and of the tasks of `output`, o0 and so on. */
	const char *watched[FLOW_TASKS_MAX][8];
	unsigned int watched_fold[FLOW_TASKS_MAX];
	const char *output[FLOW_TASKS_MAX][8];
	unsigned int output_fold[FLOW_TASKS_MAX];
	/* Whose words are patterns: a bit per task, FLOW_WATCHED << i, FLOW_OUTPUT << i. */
	unsigned int patterns;
	uint32_t max_runes; /* of the patterns; 0: none */
	bool other_track;   /* the session has a task on the other track, so that there is one */
	uint64_t start;	    /* of the track, in runes */
	bool no_end;	    /* the stream stays open */
	bool no_text;	    /* no text observer */
	bool request;	    /* the track is that of requests */
	bool release_opaque;
	/* http1: bodies are read in two ways, which number their runes as the bytes come. */
	bool twice;
	/* http1: bodies that nobody reads leave as they come, in units as the bytes come. */
	bool unread;
	/* http1: the requests, each whole, that the responses answer. */
	struct http1_request requests[FLOW_SESSIONS_MAX];
	size_t request_count;
};

struct flow_channel {
	char *name;
	uint8_t *text;
	size_t len;
};

/* What was so once that many bytes had been fed. */
struct flow_point {
	uint64_t fed, released, partial;
	struct refusal_mark mark;
	enum fault fault;
};

/* What a watcher found, of the track. */
struct flow_finding {
	char task[16];
	uint32_t rule;
	uint64_t start, end;
};

/* http1: how a session ended. */
struct flow_session {
	int end; /* enum session_end */
	bool output;
	uint64_t received, confirmed;
};

struct flow {
	enum fault fault;
	bool twice, unread; /* of the configuration */
	uint64_t framed, released, runes;
	bool complete;
	size_t units;
	struct pipeline_unit *unit;
	struct flow_channel channels[FLOW_CHANNELS_MAX];
	size_t channel_count;
	struct pipeline_denial denial; /* zero where there is none; the task's name is a copy */
	char task[16];
	uint64_t confirmed; /* of the session, at the end */
	int session_end;
	bool session_output; /* a task of `output` ended it */
	struct flow_finding findings[FLOW_FINDINGS_MAX];
	size_t finding_count;
	struct flow_session sessions[FLOW_SESSIONS_MAX]; /* http1: as they ended */
	size_t session_count, exchanges_open;
	size_t peak_memory;
	/* sse, http1: the payloads of the messages that a unit completed, each and a '|' */
	uint8_t *payloads;
	size_t payloads_len, payloads_told;
	uint64_t messages, messages_told;
	char *starts;		   /* http1: start lines, each and an LF; never NULL */
	struct flow_point *points; /* after each piece; in the result of splits, after each byte */
	size_t point_count;
};

/* cuts are offsets in rising order; the data is fed in cut_count + 1 pieces. */
void flow_run(const struct flow_config *config, const void *data, size_t len, const size_t *cuts,
	      size_t cut_count, struct flow *ret_flow);
void flow_done(struct flow *flow);

/* The text of a channel, NUL-terminated, or NULL where it had none. */
const char *flow_text(const struct flow *flow, const char *channel);

/* The payloads as a string, for those without NUL; "" where there are none. */
const char *flow_payloads(const struct flow *flow);

/* What was so after so many bytes; of the result of splits. */
const struct flow_point *flow_at(const struct flow *flow, size_t fed);

/* Asserts that both came out the same. */
void flow_assert_same(const struct flow *a, const struct flow *b);
/* That every point of the flow is that of the one which was fed byte by byte. */
void flow_assert_points(const struct flow *flow, const struct flow *every);

/*
 * Runs the data in one piece, byte by byte, cut in two at every offset, and, up
 * to a few hundred bytes, in three at every pair of offsets; asserts that all
 * come out the same. *ret_flow is the common result.
 */
void flow_run_splits(const struct flow_config *config, const void *data, size_t len,
		     struct flow *ret_flow);

/* The same of a text; asserts with what it ends, and how much of it is released. */
void flow_run_to(const struct flow_config *config, const char *data, enum fault fault,
		 uint64_t released, struct flow *ret_flow);
void flow_ends(const struct flow_config *config, const char *data, enum fault fault,
	       uint64_t released);
/* Without a fault, and all of it. */
void flow_clean(const struct flow_config *config, const char *data);

/* The same with so many random cuts. */
void flow_run_random(const struct flow_config *config, const void *data, size_t len,
		     unsigned int seed, unsigned int rounds, struct flow *ret_flow);

/*
 * Byte by byte, without observers, its n-th allocation failing (see allocation.h):
 * the fault, FAULT_NO_MEMORY where something could not even be made.
 */
enum fault flow_run_failing(const struct flow_config *config, const void *data, size_t len,
			    unsigned long n, uint64_t *ret_released);

#endif
