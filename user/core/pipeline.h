/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pipeline: one flow of a stream. Bytes go in, in order, once; out comes how
 * many of them may be released. One pass frames them into units, scans the text
 * out of each unit, runs the track's tasks over it and moves the session; no
 * byte is looked at by a second parser, and none is kept here: the caller holds
 * them until pipeline_released() has passed them.
 *
 * Invariants:
 *  P1. How the input is cut into pipeline_feed() calls changes no answer.
 *  P2. Units tile the input in order: each begins where the one before ended.
 *  P3. released <= the end of the last complete unit <= received.
 *  P4. released is the end of the last unit whose runes, and all before, every
 *      task of the track has cleared; on a track without tasks, of the last
 *      complete unit.
 *  P5. After a fault released stays where it is, and further input is refused.
 *  P6. Every rune of a unit that is not fixed grammar is observed and evaluated:
 *      member names, numbers and strings no extractor knows go to `meta` or to
 *      a channel of their own, and end with their unit.
 *
 * Units: byte offsets count from the first byte of the flow; runes are Unicode
 * scalar values, numbered in arrival order over all channels of the track.
 */
#ifndef SLUICE_CORE_PIPELINE_H
#define SLUICE_CORE_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/fault.h"
#include "core/session.h"
#include "core/terms.h"

enum framing_kind { FRAMING_NDJSON, FRAMING_SENTINEL, FRAMING_LENPREFIX, _FRAMING_MAX };
enum lenprefix_type { LENPREFIX_U8, LENPREFIX_U16, LENPREFIX_U32, LENPREFIX_U64, LENPREFIX_VARINT };

#define SENTINEL_LEN_MAX 64u

struct framing {
	enum framing_kind kind;
	/* ndjson */
	bool any_line;		     /* lines need not be JSON (driver only) */
	bool final_newline_optional; /* driver only */
	/* sentinel */
	uint8_t sentinel[SENTINEL_LEN_MAX];
	size_t sentinel_len; /* 1..SENTINEL_LEN_MAX */
	/* lenprefix */
	enum lenprefix_type type;
	bool big_endian;
	bool includes_header; /* the length counts its own bytes too */
};

/*
 * EXTRACT_NONE parses no payload and evaluates none: for the conformance driver
 * alone (framing tests). AUTO: JSON, every string is text.
 */
enum extract_kind {
	EXTRACT_NONE,
	EXTRACT_RAW,
	EXTRACT_PATH,
	EXTRACT_AUTO,
	EXTRACT_OLLAMA_CHAT,
	_EXTRACT_MAX
};

#define EXTRACT_PATH_MAX 256u

struct extract {
	enum extract_kind kind;
	char path[EXTRACT_PATH_MAX]; /* EXTRACT_PATH: member names joined by '.' */
	bool join_unit;		     /* path, raw: the channel ends with each unit */
	/* U+FFFD per maximal subpart instead of FAULT_BAD_UTF8 (driver only) */
	bool replace_ill_formed;
};

struct pipeline_task {
	const char *name;	   /* as in the session, which keeps a copy */
	const struct terms *terms; /* borrowed, outlives the pipeline */
};

struct pipeline_unit {
	uint64_t start, end;		     /* the whole unit, delimiters included */
	uint64_t payload_start, payload_end; /* what is between them */
	uint64_t rune_end;		     /* track runes up to and including this unit */
	bool blank;			     /* ndjson: a line of white space, no message */
};

struct pipeline_config {
	struct framing framing;
	struct extract extract;
	uint64_t max_message;	    /* bytes of one payload, at least 1 */
	uint64_t max_pending_units; /* framed but not yet cleared, at least 1; a bound on memory */
	enum session_track track;
	struct session *session; /* borrowed; may be NULL where the track has no tasks */
	const struct pipeline_task *tasks;
	size_t task_count; /* 0: framed and forwarded at unit boundaries */
	/*
	 * Observers; may be NULL. Text is well-formed UTF-8 of one channel, valid during
	 * the call, and handed on before it is judged. Without tasks payloads are read as
	 * text, and have to be, only where on_text wants it.
	 */
	void (*on_unit)(void *context, const struct pipeline_unit *unit);
	void (*on_text)(void *context, const char *channel, const uint8_t *text, size_t len);
	void *context;
};

/* Which task denied, and where: rule is the term's index. Never the text. */
struct pipeline_denial {
	const char *task; /* the session's copy of its name */
	uint32_t rule;
	uint64_t start, end; /* track runes */
};

struct pipeline;

/* -EINVAL: a configuration out of range, or a task the session does not know. -ENOMEM. */
int pipeline_new(const struct pipeline_config *config, struct pipeline **ret_pipeline) must_check;
void pipeline_free(struct pipeline *pipeline);
DEFINE_CLEANUP(struct pipeline *, pipeline_free)

/*
 * Feeds the next len bytes. FAULT_NONE, or the fault that ended the flow (the
 * same answer ever after). The session has then failed or been denied.
 */
enum fault pipeline_feed(struct pipeline *pipeline, const uint8_t *data, size_t len) must_check;

/*
 * The flow ended here. FAULT_TRUNCATED inside a unit; otherwise what waited for
 * more text is cleared, or denied. No input may follow. The session goes on, for
 * the sake of the other flow: when both have ended the caller calls
 * session_end_of_payloads() and session_finish().
 */
enum fault pipeline_end(struct pipeline *pipeline) must_check;

/* Re-reads the watermark, after someone else's outcome moved it. Returns pipeline_released(). */
uint64_t pipeline_advance(struct pipeline *pipeline);

uint64_t pipeline_received(const struct pipeline *pipeline); /* bytes fed */
uint64_t pipeline_framed(const struct pipeline *pipeline);   /* end of the last complete unit */
uint64_t pipeline_released(const struct pipeline *pipeline); /* bytes that may leave */
uint64_t pipeline_released_runes(const struct pipeline *pipeline); /* of the units in them */
/* Payload size the unit under way has declared, or 0 where it is unknown. */
uint64_t pipeline_expected(const struct pipeline *pipeline);
/* Runes of the track's text, observed through here. */
uint64_t pipeline_runes(const struct pipeline *pipeline);
/*
 * Is this name, as on_text got it, that of a channel the extractor joins over
 * units (and not the path of another string, or `meta`)?
 */
bool pipeline_declares(const struct pipeline *pipeline, const char *channel);
/* A whole unit said that the exchange is complete (ollama_chat: "done": true). */
bool pipeline_complete(const struct pipeline *pipeline);
enum fault pipeline_fault(const struct pipeline *pipeline);
/* NULL unless the fault is FAULT_BLOCKED. */
const struct pipeline_denial *pipeline_denial(const struct pipeline *pipeline);
/*
 * Bytes of memory this pipeline holds. Cheap, and exact but for a string under way
 * in an array, which is counted when it ends.
 */
size_t pipeline_memory(const struct pipeline *pipeline);

#endif
