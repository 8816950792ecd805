/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flow: one direction of a stream. Bytes are read from its source into its hold,
 * judged there, released, and written to its sink.
 *
 * Invariants:
 *  F1. sent <= released, but for a flow that writes ahead, whose sent bytes the
 *      gate holds; released <= received.
 *  F2. The release offset is published to the gate before a byte below it is sent.
 *  F3. A byte is copied once out of the source socket and sent from that copy.
 *  F4. A full hold stops reading, and reading starts again at half of it; no
 *      flow is ended for being read slowly.
 *  F5. What a flow holds, and what judging it takes, is charged to the daemon and
 *      to the watch, and of the daemon's total no watch gets more than its share.
 *  F7. What waits for verdicts before it can be judged stays in the hold, and nothing more is
 *      read meanwhile.
 *  F6. A refusal (daemon/refusing.h) takes the place of all that was not released.
 *      Its bytes are no bytes of the flow: no counter but its own has them.
 *
 * Units: bytes of the flow. Every function may end the stream: look at its state.
 */
#ifndef SLUICE_DAEMON_FLOW_H
#define SLUICE_DAEMON_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/session.h"
#include "daemon/endpoint.h"
#include "daemon/hold.h"
#include "daemon/metrics.h"

struct stream;
struct pipeline;
struct ahead;
struct asking;
struct pipeline_work;
struct verdict;
struct handover_flow;

/* What the timeouts look at; moved on at each tick, never on the path of a byte. */
struct flow_clocks {
	uint64_t received, framed; /* as the last tick saw them */
	uint64_t last_byte_ns;	   /* when received last moved */
	uint64_t unit_ns;	   /* when framed last moved: the partial unit is younger */
	uint64_t hold_received;	   /* bytes below this were there at hold_ns */
	uint64_t hold_ns;
};

struct flow {
	struct stream *stream;
	enum session_track track;
	struct endpoint *source, *sink;
	struct pipeline *pipeline; /* NULL: relayed, nothing is judged */
	struct asking *asking;	   /* NULL: no interceptor is asked */
	struct ahead *ahead;	   /* NULL: nothing is written before it is released */
	struct hold hold;	   /* bytes sent..received */
	uint64_t received, released, sent;
	uint64_t refusal, refusal_sent; /* bytes of a refusal behind those */
	uint32_t slot;			/* 0: none */
	uint16_t generation;
	bool full;  /* reading rests */
	bool over;  /* the pipeline was told of the end */
	bool ended; /* the source ended; where the pipeline did not agree it settled the stream */
	uint64_t judging; /* bytes of memory of the pipeline that count as held */
	uint64_t charged; /* to the daemon and to the watch */
	struct flow_clocks clocks;
	struct metrics_flow metrics;
	uint64_t recorded_exchange, recorded_runes; /* of the watermark that was recorded last */
};

void flow_init(struct flow *flow, struct stream *stream, enum session_track track,
	       struct endpoint *source, struct endpoint *sink, bool relayed);
/* Frees what it holds; the slot is given back by who took it. */
void flow_done(struct flow *flow);

/*
 * Takes over what it was in another process, which gave the bytes sent..received: before its
 * source is read, and with a pipeline that begins at the last unit's end. -ENOMEM.
 */
int flow_adopt(struct flow *flow, const struct handover_flow *handed,
	       const uint8_t *bytes) must_check;
/* And goes on: what it holds of a message is judged anew. */
void flow_resume(struct flow *flow);

/* What it holds is about to be freed, and charged to nobody any more. */
void flow_uncharge(struct flow *flow);
/* Bytes received and not both released and sent. */
uint64_t flow_held(const struct flow *flow);
/* Starts and stops reading by what is held. */
void flow_update_reading(struct flow *flow);
/* The source has something: a byte, its end, or an error. */
void flow_read(struct flow *flow);
/*
 * Records the watermark of the flow's track of a session, where the policy wants each, and it
 * has moved since it was recorded last.
 */
void flow_record_watermark(struct flow *flow, uint64_t number, const struct session_state *state);
/* An interceptor answered, or did not: as pipeline_verdict(). */
void flow_judged(struct flow *flow, const struct pipeline_work *work, enum session_result failure,
		 const struct verdict *verdict);
/* Both sides have all of it, and tasks that enforce nothing have verdicts to come. */
bool flow_is_watched(const struct flow *flow);
/* The stream breaks off: who judged what came of a response is told. */
void flow_tell_left(struct flow *flow);
/* The stream has settled: nobody is asked any more, and no answer is waited for. */
void flow_stop_asking(struct flow *flow);
/* Judging has ended, and the stream has not: all that came leaves. */
void flow_go_on(struct flow *flow);
/* The sink may take something; nothing beyond the release offset where only_released. */
void flow_flush(struct flow *flow, bool only_released);
/*
 * Drops what was not released and lets these bytes follow what was, once. The stream
 * has settled, and the flow does not write ahead. -ENOMEM: the flow is as it was, but
 * for what was dropped.
 */
int flow_refuse(struct flow *flow, const uint8_t *bytes, size_t len) must_check;
/* All that may leave, a refusal too, was handed to the kernel. */
bool flow_is_written(const struct flow *flow);
/* And the other side has acknowledged it, or is gone. */
bool flow_is_delivered(const struct flow *flow);

#endif
