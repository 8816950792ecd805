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
 *      task of the track has cleared, and with which, at the level complete, a message
 *      ends; at the level deferred, and on a track without tasks, of the last
 *      complete unit. What ends a response that a task of `output` denied is not released.
 *  P5. After a fault released stays where it is, and further input is refused.
 *  P6. Every rune of a unit that is not fixed grammar is observed and evaluated:
 *      member names, numbers and strings no extractor knows go to `meta` or to
 *      a channel of their own, and end with their unit.
 *      Where a task evaluates elsewhere, when its verdicts come decides when.
 *  P7. Tasks that watch change no other answer, but that there is text to be evaluated.
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
#include "core/content_coding.h"
#include "core/fault.h"
#include "core/refusal.h"
#include "core/session.h"
#include "core/matcher.h"
#include "core/span.h"
#include "core/verdict.h"

struct exchanges;

enum framing_kind {
	FRAMING_NDJSON,
	FRAMING_SENTINEL,
	FRAMING_LENPREFIX,
	FRAMING_SSE,
	FRAMING_HTTP1,
	FRAMING_JSONRPC_CL,
	FRAMING_AUTO, /* what the client's first bytes say (core/identify.h) */
	/* Of a flow by themselves for the driver alone: elsewhere a head tells of them. */
	FRAMING_WS,
	FRAMING_GRPC,
	FRAMING_EVENTSTREAM,
	FRAMING_JSON_ARRAY,
	_FRAMING_MAX
};
enum lenprefix_type { LENPREFIX_U8, LENPREFIX_U16, LENPREFIX_U32, LENPREFIX_U64, LENPREFIX_VARINT };

/* What the bodies of http1 are made of. */
enum http1_inner {
	HTTP1_INNER_MEDIA, /* what their Content-Type says */
	HTTP1_INNER_NONE,  /* each is one message, whatever it holds (driver only) */
	HTTP1_INNER_SSE,   /* (driver only) */
};

#define SENTINEL_LEN_MAX 64u

/*
 * What may frame a payload of the largest size: a head, the framing of chunks, of events
 * and of fragments. A unit of more bytes than max_message and this is FAULT_TOO_LARGE.
 */
#define PIPELINE_FRAME_OVERHEAD (192u << 10)

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
	/* http1: requests on the request track, responses on the other */
	enum http1_inner inner;
	bool permessage_deflate;    /* ws: its client is on the request track */
	enum content_coding coding; /* grpc: its encoding */
	bool grpc_web;
};

/*
 * EXTRACT_NONE parses no payload and evaluates none: for the conformance driver alone
 * (framing tests). AUTO: of events, and of messages of their own, the form is told by
 * each of them, and what is no JSON object or array is text; of anything else every
 * string of its JSON is text. In a body of http1 that is lines it is ollama_chat.
 */
enum extract_kind {
	EXTRACT_NONE,
	EXTRACT_RAW,
	EXTRACT_PATH,
	EXTRACT_AUTO,
	EXTRACT_JSONRPC, /* every string by its path, whatever the JSON is in */
	EXTRACT_OLLAMA_CHAT,
	EXTRACT_OPENAI_CHAT,
	EXTRACT_OPENAI_RESPONSES,
	EXTRACT_ANTHROPIC,
	EXTRACT_GEMINI,
	EXTRACT_BEDROCK,
	EXTRACT_COHERE,
	EXTRACT_A2A,
	EXTRACT_MCP,
	_EXTRACT_MAX
};

#define EXTRACT_PATH_MAX 256u

struct extract {
	enum extract_kind kind;
	char path[EXTRACT_PATH_MAX]; /* EXTRACT_PATH: member names joined by '.' */
	bool join_unit;		     /* path, raw: the channel ends with each unit */
	/*
	 * openai_chat: one choice and known fields only, and an end that is marked; anything
	 * else is FAULT_UNREPRESENTED, FAULT_PROTOCOL or FAULT_TRUNCATED (core/extract_strict.h).
	 */
	bool strict;
	/* U+FFFD per maximal subpart instead of FAULT_BAD_UTF8 (driver only) */
	bool replace_ill_formed;
};

struct pipeline_task {
	const char *name; /* as in the session; borrowed, outlives the pipeline */
	/* One of the two; what the matcher borrows, and the spans, outlive the pipeline. */
	struct matcher matcher;
	const struct span_config
		*spans; /* evaluated elsewhere (pipeline_work()); start: of no use */
	/*
	 * A watcher: what it finds denies the response, when that has ended. One that evaluates
	 * elsewhere is asked about each text as a whole, and the end waits for its verdicts.
	 */
	bool output;
};

/*
 * What a watcher found: once per session, or exchange without one, the first of each. Never
 * the text.
 */
struct pipeline_finding {
	const struct pipeline_task *task; /* the configuration's */
	uint64_t exchange;   /* its number; 0 where the flow does not tell them apart */
	uint32_t rule;	     /* a matcher's */
	uint64_t start, end; /* track runes, of the exchange */
	/* Of a task that evaluates elsewhere: its verdict, which does not allow, or why not. */
	const struct verdict *verdict;
	enum session_result failure;
	/* It has not judged all: more text waited for it than PIPELINE_BACKLOG_MAX, or too long. */
	bool unjudged;
};

/* Bytes that may wait for the verdicts of one task that enforces nothing. */
#define PIPELINE_BACKLOG_MAX (1u << 20)
/*
 * Runes of a text that a task of `output` is asked about at once; what is longer comes in
 * windows. A context that has it twice, each rune six bytes, is below AGENT_CONTEXT_MAX.
 */
#define PIPELINE_OUTPUT_WINDOW (1u << 18)

struct pipeline_unit {
	uint64_t start, end; /* the whole unit, delimiters included */
	/* What is between them, where it lies in one piece: ndjson, sentinel, lenprefix. */
	uint64_t payload_start, payload_end;
	uint64_t rune_end; /* track runes up to and including this unit */
	/*
	 * Messages that end with it: none in a line of white space, a block of comments, the
	 * head of a body that is a stream; several only where a coded body hides their ends.
	 */
	uint32_t messages;
	bool tail;  /* sse: the LF of the CRLF whose CR ended the unit before */
	bool outer; /* http1: the CRLF behind a chunk whose last message is whole */
};

/* The first byte of a TLS record that holds a handshake (RFC 8446 5.1); of no text. */
#define PIPELINE_TLS_RECORD 0x16u

struct pipeline_config {
	struct framing framing;
	struct extract extract;
	uint64_t max_message; /* bytes of one payload, at least 1 */
	/*
	 * Framed but not yet cleared, at least 1; a bound on memory: FAULT_TOO_LARGE. Those that
	 * verdicts would clear are no fault: nothing more is taken, but for the rest of the call.
	 */
	uint64_t max_pending_units;
	enum session_track track;
	/*
	 * When what is cleared may leave. BLOCKING: at the end of each unit. COMPLETE: at the end
	 * of the message, of http1 with its head; an interim response, a 101, a head that its body
	 * waits for and an empty line between two messages are messages of their own. DEFERRED:
	 * what is framed leaves at the end of its unit, cleared or not; a denial that comes later
	 * ends the flow there. A message that is held whole is FAULT_TOO_LARGE as a unit is.
	 */
	enum session_level level;
	struct session *session; /* borrowed; may be NULL where the track has no tasks */
	/*
	 * Of a flow that goes on where another pipeline stopped, between two units: the bytes
	 * that came before, all released, and how many runes they were.
	 */
	uint64_t start, start_runes, start_released_runes;
	/*
	 * Borrowed, of both flows. http1, auto: whose sessions are used, and not the one above.
	 * Others: the exchange over all of the stream has begun there, where there are any.
	 */
	struct exchanges *exchanges;
	bool release_opaque; /* bodies and messages that are no text are not refused */
	const struct pipeline_task *tasks;
	size_t task_count; /* 0: framed and forwarded at unit boundaries */
	/*
	 * Tasks that evaluate the same text and gate no rune of it: those of a policy that
	 * observes, those that only warn, and on the response track those of `output`, which
	 * the session knows (session_output()). They are in no track's task set. What the
	 * matcher of one cannot evaluate is a fault for those of `output` alone. Borrowed,
	 * outlives the pipeline.
	 */
	const struct pipeline_task *watchers;
	size_t watcher_count;
	void (*on_finding)(void *context, const struct pipeline_finding *finding); /* may be NULL */
	/*
	 * Observers; may be NULL. Text is well-formed UTF-8 of one channel, valid during
	 * the call, and handed on before it is judged. Without tasks payloads are read as
	 * text, and have to be, only where watchers or on_text want it; what is no text at all
	 * passes unread where nobody but watchers does that are not of `output`.
	 */
	void (*on_unit)(void *context, const struct pipeline_unit *unit);
	void (*on_text)(void *context, const char *channel, const uint8_t *text, size_t len);
	/* The payload of a message as its reader sees it, where it does not lie in one piece. */
	void (*on_payload)(void *context, const uint8_t *payload, size_t len, bool last);
	/* http1: the start line of each message whose head is whole. */
	void (*on_start)(void *context, const uint8_t *line, size_t len);
	void *context;
};

/* Which task denied, and where: rule is the index of the term or pattern. Never the text. */
struct pipeline_denial {
	const char *task; /* the configuration's name of it */
	uint32_t rule;
	uint64_t start, end;  /* track runes */
	const char *reason;   /* of the verdict, "" without; NULL: a matcher's denial */
	const char *evidence; /* of the verdict: its digest; NULL: there is none */
};

/*
 * What a task evaluates elsewhere. The item and the reason are borrowed until the next call for
 * the pipeline.
 */
struct pipeline_work {
	const struct pipeline_task *task; /* the configuration's */
	/*
	 * Of the task, among those that evaluate elsewhere: those that gate, then watchers that
	 * enforce nothing, then those of `output`, each in their order.
	 */
	size_t number;
	uint64_t exchange; /* as in a finding */
	/*
	 * Of the last item of a response: why it has ended, in the words of what it came in; NULL:
	 * that has not said it.
	 */
	const char *finish_reason;
	uint64_t round; /* the pipeline's: of which session's text it is */
	struct span_item item;
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
 * The same, and takes less, *ret_used, where the rest has to wait for verdicts: the message that
 * ended here does, or too many units are held. The rest is fed again once they came. With
 * pipeline_feed() no task may evaluate elsewhere.
 */
enum fault pipeline_take(struct pipeline *pipeline, const uint8_t *data, size_t len,
			 size_t *ret_used) must_check;

/*
 * What has to be evaluated next, once. False: nothing for now. Work may appear with each
 * pipeline_take(), pipeline_end() and pipeline_verdict().
 */
bool pipeline_work(struct pipeline *pipeline, struct pipeline_work *ret_work) must_check;
/*
 * What came of it, in any order: a verdict, read with SESSION_OK alone, or why there is none
 * (SESSION_INTERCEPTOR_FAILED, _TIMEOUT, SESSION_VERDICT_INVALID). FAULT_NONE: it allows.
 * FAULT_BLOCKED, FAULT_REWRITTEN: pipeline_denial(). FAULT_INTERCEPTOR_FAILED, _TIMEOUT,
 * FAULT_VERDICT_INVALID. FAULT_ACCOUNTING: also where nobody asked, and of a transformation
 * that comes too late. Else as pipeline_end().
 * After a fault it is that again.
 */
enum fault pipeline_verdict(struct pipeline *pipeline, const struct pipeline_work *work,
			    enum session_result failure, const struct verdict *verdict) must_check;
/*
 * The flow will not go on, whatever it has come to: does the task of that number, or of one above,
 * still wait for the last item of a response of which it had some (item.last)? Then *ret_work has
 * that task, and an item with what there is instead (span_left()), which nobody waits for.
 */
bool pipeline_left(const struct pipeline *pipeline, size_t number,
		   struct pipeline_work *ret_work) must_check;
/*
 * Verdicts are waited for: the caller should read no more, and where the flow has ended its
 * end is not judged yet.
 */
bool pipeline_waits(const struct pipeline *pipeline);
/* Watchers that enforce nothing have verdicts to come, which nothing else waits for. */
bool pipeline_watches(const struct pipeline *pipeline);
/* Nobody waits for them any more: what they have not judged is found to be unjudged. */
void pipeline_unwatch(struct pipeline *pipeline);

/*
 * The flow ended here. FAULT_TRUNCATED inside a unit; otherwise what waited for
 * more text is cleared, or denied, or waits for its verdicts (pipeline_waits()). No input may
 * follow. The session goes on, for
 * the sake of the other flow: when both have ended the caller ends the exchange, or
 * calls session_end_of_payloads(), session_output() for what cleared, and
 * session_finish(). FAULT_OUTPUT_DENIED: the session has been told of that.
 */
enum fault pipeline_end(struct pipeline *pipeline) must_check;

/* Re-reads the watermark, after someone else's outcome moved it. Returns pipeline_released(). */
uint64_t pipeline_advance(struct pipeline *pipeline);

uint64_t pipeline_received(const struct pipeline *pipeline); /* bytes fed */
uint64_t pipeline_framed(const struct pipeline *pipeline);   /* end of the last complete unit */
uint64_t pipeline_released(const struct pipeline *pipeline); /* bytes that may leave */
uint64_t pipeline_released_runes(const struct pipeline *pipeline); /* of the units in them */
/*
 * Bytes of a message that is not whole, from the end of the last unit on; 0 where only
 * the framing between two messages has come. What a timeout of messages goes by.
 */
uint64_t pipeline_partial(const struct pipeline *pipeline);
/* Where a refusal would go that follows the released bytes of this flow. */
struct refusal_mark pipeline_mark(const struct pipeline *pipeline);
/*
 * Payload size the unit under way has declared (lenprefix), or what of it is still to
 * come; 0 where that is unknown.
 */
uint64_t pipeline_expected(const struct pipeline *pipeline);
/* Runes of the track's text, observed through here; of all sessions of http1. */
uint64_t pipeline_runes(const struct pipeline *pipeline);
/*
 * Is this name, as on_text got it, that of a channel the extractor joins over
 * units (and not the path of another string, or `meta`)?
 */
bool pipeline_declares(const struct pipeline *pipeline, const char *channel);
/* A whole unit said that the exchange is complete (ollama_chat: "done": true). */
bool pipeline_complete(const struct pipeline *pipeline);
enum fault pipeline_fault(const struct pipeline *pipeline);
/* As configured; of auto, what it turned out to be, once that is known. */
enum framing_kind pipeline_framing(const struct pipeline *pipeline);
/* NULL unless the fault is FAULT_BLOCKED, FAULT_REWRITTEN or FAULT_OUTPUT_DENIED. */
const struct pipeline_denial *pipeline_denial(const struct pipeline *pipeline);
/* NULL unless a task that evaluates elsewhere gave no verdict, which ended the flow. */
const struct pipeline_denial *pipeline_failure(const struct pipeline *pipeline);
/*
 * Bytes of memory this pipeline holds. Cheap, and exact but for a string under way
 * in an array, which is counted when it ends.
 */
size_t pipeline_memory(const struct pipeline *pipeline);

#endif
