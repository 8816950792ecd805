/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A flow through a pipeline for tests: bytes, cuts, and what came of them as one
 * string, so that two ways of cutting the same bytes can be compared whole.
 * While it feeds it asserts that released is monotonic, at a unit's end, and
 * never past what is framed, nor framed past what was received.
 */
#ifndef SLUICE_TESTS_UNIT_FLOW_H
#define SLUICE_TESTS_UNIT_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/pipeline.h"

#define FLOW_TASKS_MAX	  3u
#define FLOW_CHANNELS_MAX 24u

struct flow_config {
	struct framing framing;
	struct extract extract;
	uint64_t max_message;		      /* 0: 1 MiB */
	uint64_t max_pending_units;	      /* 0: 1024 */
	const char *terms[FLOW_TASKS_MAX][8]; /* of each task; a task without terms ends the list */
	unsigned int fold[FLOW_TASKS_MAX];
	uint64_t start; /* of the track, in runes */
	bool no_end;	/* the stream stays open */
	bool no_text;	/* no text observer */
};

struct flow_channel {
	char *name;
	uint8_t *text;
	size_t len;
};

struct flow {
	enum fault fault;
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
	size_t peak_memory;
};

/* cuts are offsets in rising order; the data is fed in cut_count + 1 pieces. */
void flow_run(const struct flow_config *config, const void *data, size_t len, const size_t *cuts,
	      size_t cut_count, struct flow *ret_flow);
void flow_done(struct flow *flow);

/* The text of a channel, NUL-terminated, or NULL where it had none. */
const char *flow_text(const struct flow *flow, const char *channel);

/* Asserts that both came out the same. */
void flow_assert_same(const struct flow *a, const struct flow *b);

/*
 * Runs the data in one piece, byte by byte, cut in two at every offset, and, up
 * to a few hundred bytes, in three at every pair of offsets; asserts that all
 * come out the same. *ret_flow is the common result.
 */
void flow_run_splits(const struct flow_config *config, const void *data, size_t len,
		     struct flow *ret_flow);

/* The same with so many random cuts. */
void flow_run_random(const struct flow_config *config, const void *data, size_t len,
		     unsigned int seed, unsigned int rounds, struct flow *ret_flow);

#endif
