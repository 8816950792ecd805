/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a stream of payload bytes is made of, be it a whole flow or the body of an
 * HTTP message: lines, events, one document, a form, or bytes that nobody reads. The
 * parts of a pipeline that do not care where the bytes lie in the flow.
 *
 * Invariants:
 *  B1. How the bytes are cut changes no step, and not where a unit ends.
 *  B2. At the end of a unit everything of it is in the channels, what is no payload
 *      (comments, ids, names of events, pings) included, as a text of `meta`.
 *  B3. Behind what says that no message follows no text waits for more.
 */
#ifndef SLUICE_CORE_PIPELINE_BODY_H
#define SLUICE_CORE_PIPELINE_BODY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/channel.h"
#include "core/extract.h"
#include "core/fault.h"
#include "core/frame_ndjson.h"
#include "core/frame_sse.h"
#include "core/percent.h"
#include "core/pipeline_codec.h"

/* Bytes of a unit that are neither payload nor grammar, at most. */
#define BODY_META_MAX (64u << 10)

enum body_kind {
	BODY_UNREAD,   /* never ends a unit */
	BODY_LINES,    /* each is a unit */
	BODY_EVENTS,   /* each block is one */
	BODY_PIECES,   /* what its codec says */
	BODY_DOCUMENT, /* one message, ended by whoever knows its end; see by_element */
	BODY_FORM,     /* the same, read as it is and with its percent-encoding undone */
};

enum body_step {
	BODY_TOOK, /* no unit ends with what was taken */
	BODY_UNIT, /* one does */
	BODY_TAIL, /* sse: its last byte does, a unit before having ended at the CR before it */
};

struct resume_marks;

struct pipeline_body {
	enum body_kind kind;
	struct channel_set *set;
	struct extractor *extractor;
	struct extractor *form;	      /* BODY_FORM: of what was decoded */
	struct pipeline_codec *codec; /* BODY_PIECES; owned */
	bool release_opaque;	      /* messages that are not text pass unread */
	bool by_element;	      /* a document that is a JSON array is BODY_PIECES instead */
	void (*on_payload)(void *context, const uint8_t *payload, size_t len, bool last);
	void *context;
	struct resume_marks *marks; /* events: where their ids go; NULL: nobody wants them */
	bool evaluate;		    /* meta is wanted */
	uint64_t limit;

	uint64_t payload; /* bytes, of the document or line that has come or ended */
	bool message;	  /* the unit that ended is a message */
	bool cr;	  /* lines: a CR that no observer has seen yet */
	bool undecided;	  /* by_element: nothing but white space has come */
	union {
		struct frame_ndjson lines;
		struct frame_sse sse;
		struct percent percent;
	} frame;
	/* Of the block under way, its lines joined by LF; of a form: a piece, decoded. */
	uint8_t *meta;
	size_t meta_len, meta_capacity;
};

/* The fields above the blank line are the caller's, and set before. */
void pipeline_body_init(struct pipeline_body *body);
void pipeline_body_done(struct pipeline_body *body);

/* Takes some of len (at least 1) bytes, up to the end of a unit; *ret_used says how many. */
enum fault pipeline_body_next(struct pipeline_body *body, const uint8_t *data, size_t len,
			      size_t *ret_used, enum body_step *ret_step) must_check;

/* Has a message begun that has not ended? Documents: always. */
bool pipeline_body_partial(const struct pipeline_body *body);

/*
 * The body ends here, by its framing. FAULT_TRUNCATED: inside a line or a block. A
 * document, or a form, is a message now.
 */
enum fault pipeline_body_end(struct pipeline_body *body) must_check;

/*
 * A whole text of the channel `meta`. FAULT_BAD_UTF8, or as channel_text(). Loose: bytes
 * that are no UTF-8 stand for U+FFFD each.
 */
enum fault pipeline_meta(struct channel_set *set, const uint8_t *text, size_t len) must_check;
enum fault pipeline_meta_loose(struct channel_set *set, const uint8_t *text, size_t len) must_check;

size_t pipeline_body_memory(const struct pipeline_body *body); /* beside the struct itself */

#endif
