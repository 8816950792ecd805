/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of a pipeline share. For core/pipeline*.c alone. */
#ifndef SLUICE_CORE_PIPELINE_INTERNAL_H
#define SLUICE_CORE_PIPELINE_INTERNAL_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/channel.h"
#include "core/extract.h"
#include "core/frame_lenprefix.h"
#include "core/frame_sentinel.h"
#include "core/pipeline.h"
#include "core/pipeline_body.h"
#include "core/pipeline_hold.h"

struct pipeline_auto;
struct pipeline_http;

struct pipeline_watch {
	const struct pipeline_task *all; /* borrowed */
	size_t all_count;
	const struct pipeline_task **tasks; /* those with a matcher */
	size_t count;
	struct channel_watcher *states;
	void (*on_finding)(void *context, const struct pipeline_finding *finding);
	bool judges;		       /* some are of `output` */
	uint64_t exchange;	       /* number of the one under way, UINT64_MAX: none was yet */
	uint64_t origin;	       /* where in the track it began */
	struct session *session;       /* of a flow without exchanges; may be NULL */
	struct pipeline_denial denial; /* by a task of `output`; without a task: none yet */
};

/* What is left of a session that has ended, for a watcher whose verdicts are still to come. */
struct pipeline_past {
	struct pipeline_past *next;
	struct span_set *set;
	size_t number; /* of the task */
	uint64_t round, exchange, origin;
	char finish[CHANNEL_FINISH_MAX + 1]; /* as the channel set had it */
};

struct pipeline_spans {
	const struct pipeline_task *tasks[CHANNEL_SPANS_MAX]; /* borrowed */
	struct span_set *sets[CHANNEL_SPANS_MAX];	      /* NULL: no session began */
	struct span_channel *unit_texts[CHANNEL_SPANS_MAX];   /* of the channel set */
	bool assembles[CHANNEL_SPANS_MAX];		      /* of the channel set */
	uint32_t lent[CHANNEL_SPANS_MAX];		      /* verdicts to come, all told */
	size_t count, gating, output; /* those that gate, then watchers, `output` from there on */
	uint64_t round;		      /* number of the session's sets */
	struct pipeline_past *past;   /* list, the oldest first */
	size_t past_memory;
	bool leaving;			/* the message under way has ended, but for its verdicts */
	bool goes_on;			/* of http: as pipeline_http_leave() */
	bool end_due;			/* the flow ended while a message before it waited */
	struct verdict verdict;		/* that denied, with a denial */
	struct pipeline_denial failure; /* whose verdict is missing; no task: nobody's */
};

struct pipeline {
	uint8_t framing; /* enum framing_kind */
	bool final_newline_optional;
	bool ended;
	bool evaluate; /* tasks, watchers or an observer want the text */
	enum fault fault;
	uint64_t received, framed;
	uint64_t whole;	  /* end of the last unit that ends a message */
	uint64_t payload; /* sentinel: bytes of the payload under way */
	uint64_t max_message;
	/* Track runes of the session before what this pipeline observed of it. */
	uint64_t base;
	/* Of the sessions before it. */
	uint64_t earlier_runes, earlier_released;
	union {
		struct frame_sentinel sentinel;
		struct frame_lenprefix lenprefix;
	} frame;
	struct exchanges *exchanges;	 /* borrowed; NULL: the caller has the session */
	struct pipeline_http *http;	 /* NULL: another framing */
	struct pipeline_auto *automatic; /* NULL: the framing is known */
	struct pipeline_body body;	 /* ndjson, sse, http1 */
	void (*on_unit)(void *context, const struct pipeline_unit *unit);
	void *context;
	struct pipeline_denial denial;
	struct pipeline_watch watch;
	struct pipeline_spans *spans; /* NULL: no task evaluates elsewhere */
	struct channel_set set;
	struct extractor extractor;
	struct pipeline_hold hold;
	struct matcher *matchers;
};

/* Has the message under way ended, but for its verdicts? */
static inline bool pipeline_leaving(const struct pipeline *p)
{
	return p->spans && p->spans->leaving;
}

/* What a part that could not be made makes of the flow. */
static inline enum fault pipeline_fault_of(int err)
{
	return err == -ENOMEM ? FAULT_NO_MEMORY : FAULT_ACCOUNTING;
}

/*
 * A unit ends at unit->end, with all its text in the channels; its start and rune_end
 * are filled in here. whole: so does a message, as far as the level complete asks.
 */
enum fault pipeline_unit_end(struct pipeline *p, struct pipeline_unit *unit,
			     struct refusal_mark mark, bool whole) must_check;

/* A unit whose payload lies in one piece ends with the byte that was taken last. */
enum fault pipeline_plain_unit_end(struct pipeline *p, uint64_t payload_start, uint64_t payload_end,
				   bool message) must_check;

/* Makes the pipeline one of that framing. -EINVAL, -ENOMEM. */
int pipeline_set_framing(struct pipeline *p, const struct pipeline_config *config) must_check;

/* Ends the flow: what was cleared before the fault is settled first. */
enum fault pipeline_fail(struct pipeline *p, enum fault fault) must_check;

/* The flow has ended, and what came is all taken. */
enum fault pipeline_end_now(struct pipeline *p) must_check;
/* So has its one message, and all of it is cleared. */
enum fault pipeline_flow_end(struct pipeline *p) must_check;

/* What comes belongs to that session from here on. FAULT_ACCOUNTING: it cannot. */
enum fault pipeline_begin(struct pipeline *p, struct session *session) must_check;

#endif
