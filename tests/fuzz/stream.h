/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream under a fuzzer: the pipelines of both its flows, sharing their exchanges, or
 * one session where the framing has none; run as the daemon runs them, to the end and
 * settled. What came of it is kept, so that runs can be compared.
 *
 * The data of an input is what both ends send: 0xff and 'q' says that requests follow,
 * 0xff and 'r' that responses do, 0xff and 'e' that this flow ends here.
 *
 * While it runs this asserts that
 *  - units tile the flow, released is monotonic and at the end of one, and released,
 *    framed, received and fed follow each other;
 *  - without tasks all that is framed is released;
 *  - after a fault nothing moves, and the fault stays;
 *  - a refusal can be written where the mark says so;
 *  - no more memory is held than the pipelines say, and that is bounded by the bytes;
 *  - a stream that ended without a fault has released everything;
 *  - nothing is released that a task is still asked about, but at the level deferred, and
 *    what is not taken waits for an answer that is to come;
 *  - every session settles.
 *
 * Units: bytes of a flow.
 */
#ifndef SLUICE_TESTS_FUZZ_STREAM_H
#define SLUICE_TESTS_FUZZ_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/exchange.h"
#include "core/pipeline.h"
#include "core/session.h"
#include "fuzz/fuzz.h"
#include "fuzz/stream_terms.h"

struct fuzz_segment {
	enum session_track track;
	bool end; /* the flow ends behind it */
	size_t start, len;
};

struct fuzz_script {
	uint8_t *bytes;
	struct fuzz_segment *segments;
	size_t count;
};

struct fuzz_setup {
	struct framing framing;
	struct extract extract;
	enum session_level level;
	bool release_opaque;
	bool ends; /* the stream does, behind the data */
	uint64_t max_message, max_pending;
	const struct fuzz_terms *terms[_SESSION_TRACK_MAX];
	const struct fuzz_input *input;
	const struct fuzz_script *script;
};

/* Of one flow, behind a segment. */
struct fuzz_flow_point {
	uint64_t released, framed, received, partial, expected;
	bool complete;
	struct refusal_mark mark;
	enum fault fault;
};

struct fuzz_point {
	struct fuzz_flow_point flows[_SESSION_TRACK_MAX];
};

struct fuzz_stream;

/* What a task was asked elsewhere, and whether it will deny it. */
struct fuzz_asked {
	struct pipeline_work work;
	bool denies;
};

#define FUZZ_ASKED_MAX 8u

struct fuzz_flow {
	struct fuzz_stream *stream;
	enum session_track track;
	struct pipeline *pipeline;
	bool ended, text;
	uint64_t fed, released;
	struct pipeline_unit *units;
	size_t unit_count, unit_capacity;
	uint64_t runes;
	const char *task; /* that denied, and the rule; NULL: none did */
	uint32_t rule;
	struct fuzz_asked asked[FUZZ_ASKED_MAX]; /* not answered yet */
	size_t asked_count;
	uint64_t round, before; /* whose spans they are, and the runes released when it was asked */
	uint32_t answers;	/* given so far: the input's cuts say in which order */
};

struct fuzz_stream {
	const struct fuzz_setup *setup;
	struct fuzz_flow flows[_SESSION_TRACK_MAX];
	struct exchanges *exchanges; /* NULL: `session` */
	struct session *session;     /* NULL: no track has tasks, or the exchanges' are used */
	struct fuzz_point *points;   /* behind each segment that was fed */
	size_t point_count;
	enum fault fault; /* that ended the stream, and the flow it was found in */
	enum session_track fault_track;
	size_t session_count; /* that settled, and what they say */
	struct session_state *sessions;
	/* Observers of the run; may be NULL. Not called amid the counting of memory. */
	void (*on_text)(void *context, struct fuzz_flow *flow, const char *channel,
			const uint8_t *text, size_t len);
	void (*on_unit)(void *context, struct fuzz_flow *flow, const struct pipeline_unit *unit);
	void (*on_start)(void *context, struct fuzz_flow *flow);
	/* Before the stream is settled. */
	void (*on_last)(void *context, struct fuzz_stream *stream);
	void *context;
};

enum fuzz_way {
	FUZZ_WHOLE, /* each segment in one call */
	FUZZ_CUT,   /* in the input's cuts */
};

void fuzz_script_init(struct fuzz_script *script, const struct fuzz_input *input, bool responses);
void fuzz_script_done(struct fuzz_script *script);

/* Which of the flows have their text observed, as bits by track. */
#define FUZZ_TEXT(track) (1u << (track))

/* False: the setup cannot be one. The observers have been set before, and the rest is zero. */
bool fuzz_stream_run(struct fuzz_stream *stream, const struct fuzz_setup *setup, enum fuzz_way way,
		     unsigned int text);
void fuzz_stream_done(struct fuzz_stream *stream);

/* May it have bodies that nobody reads? They are units as the bytes come. */
bool fuzz_flow_is_unread(const struct fuzz_flow *flow);
/* Fails unless both runs of one setup came out the same. */
void fuzz_stream_check_same(const struct fuzz_stream *a, const struct fuzz_stream *b);
/* Fails where a term was released, or one denied that is not there. */
void fuzz_stream_check_leaks(const struct fuzz_stream *stream);
/* Fails where a refusal behind the released bytes cannot be read by who reads those. */
void fuzz_stream_check_refusal(const struct fuzz_stream *stream);

/* For stream.c: asks what there is, and answers; all of it, or so that something may come. */
enum fault fuzz_stream_serve(struct fuzz_flow *flow, bool all);

/* For stream.c and stream_refusal.c: the pipelines of a setup, and their end. */
bool fuzz_stream_open(struct fuzz_stream *stream, unsigned int text);
void fuzz_stream_close(struct fuzz_stream *stream);

#endif
