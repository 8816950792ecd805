/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A flow whose task evaluates elsewhere, for tests, and a caller that answers when, what and in
 * what order it likes. What was asked is kept, with a copy of its text.
 */
#ifndef SLUICE_TESTS_UNIT_ASKING_H
#define SLUICE_TESTS_UNIT_ASKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/channel.h"
#include "core/exchange.h"
#include "core/pipeline.h"

#define LEN(s)	   (sizeof(s) - 1)
#define ASKED_MAX  512u
#define WINDOW_MAX 256u
#define ENDED_MAX  8u
#define FOUND_MAX  8u

struct asked {
	struct pipeline_work work;
	char text[WINDOW_MAX + 1], channel[16], finish[CHANNEL_FINISH_MAX + 1];
	bool answered;
};

/* A flow, whose caller answers when it likes. */
struct asking {
	struct pipeline_task task;
	struct exchanges *exchanges;
	struct session *session; /* of a flow that is one exchange */
	struct pipeline *pipeline;
	const uint8_t *data;
	size_t len, taken;
	bool over;				  /* the end was told of */
	struct pipeline_finding found[FOUND_MAX]; /* without what they borrow */
	char found_reason[FOUND_MAX][VERDICT_REASON_MAX + 1];
	size_t found_count;
	struct asked asked[ASKED_MAX];
	size_t count, open;
	enum session_end ended[ENDED_MAX];
	enum session_result errors[ENDED_MAX];
	size_t ended_count;
	enum fault fault;
};

struct asking_config {
	struct framing framing;
	struct extract extract;
	const struct span_config *spans;
	enum session_level level;
	bool request;
	uint64_t max_pending_units; /* 0: 1024 */
	bool websocket;		    /* responses, to one request that offers it */
	bool warns, output;	    /* the task is a watcher, and gates nothing */
};

/* Spans of 4 runes in windows of 7; spans that end with their unit. */
extern const struct span_config asking_spans, asking_by_unit;
extern const struct verdict asking_allow, asking_deny, asking_transform;
extern const struct asking_config asking_lines, asking_requests, asking_responses;

/* What a pipeline of it is made of. */
struct pipeline_config asking_configure(const struct asking_config *config, struct asking *asking);

/* The data is borrowed. */
void asking_begin(const struct asking_config *config, const void *data, size_t len,
		  struct asking *asking);
void asking_done(struct asking *asking);
/* So many more bytes, of which fewer may be taken; what may be asked is. */
void asking_feed(struct asking *asking, size_t len);
void asking_end(struct asking *asking);
/* What was asked as number i. */
void asking_answer(struct asking *asking, size_t i, const struct verdict *verdict);
void asking_fail(struct asking *asking, size_t i, enum session_result failure);
void asking_allow_all(struct asking *asking);
/* Feeds and answers until nothing is left of either. */
void asking_run(struct asking *asking);
/* The same from the beginning, in an order of that seed; "bomb" is denied. */
void asking_run_random(const struct asking_config *config, const char *data, size_t len,
		       unsigned int seed, struct asking *asking);

#endif
