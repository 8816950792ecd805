/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of pipeline_http.h share. For core/pipeline_http*.c alone. */
#ifndef SLUICE_CORE_PIPELINE_HTTP_INTERNAL_H
#define SLUICE_CORE_PIPELINE_HTTP_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/content_coding.h"
#include "core/frame_http1.h"
#include "core/pipeline_http.h"
#include "core/pipeline_reading.h"

struct pipeline_http {
	struct frame_http1 frame;
	struct exchanges *exchanges; /* borrowed */
	struct pipeline_wanted wanted;
	struct decoder *decoder; /* NULL: the body is not coded */
	struct extractor form;	 /* of what a form holds, decoded */
	void (*on_start)(void *context, const uint8_t *line, size_t len);
	bool in_message, in_body;
	bool websocket; /* what comes is WebSocket, to the end of the flow */
	bool in_chunk;	/* the CRLF behind its data is still to come */
	bool has_form;
	bool decoded;	     /* something of a coded body has come out */
	uint32_t messages;   /* ended, and no unit ended with them yet (T3) */
	size_t ahead;	     /* bytes of the codec's piece that the body has not taken */
	uint64_t body_bytes; /* of the message, that piece included */
	/* Of a request until its head is whole, owned; of a response as the exchange's. */
	struct attempt *attempt;
	struct resume_answer *answer; /* of the response's head under way */
};

static inline bool pipeline_http_is_request(const struct pipeline *p)
{
	return p->hold.track == SESSION_REQUEST;
}

/* Are the units of what is under way less than the whole message? */
bool pipeline_http_streams(const struct pipeline *p);

/* A unit ends with the byte that was taken last. */
enum fault pipeline_http_unit(struct pipeline *p, struct pipeline_unit unit) must_check;
/* That of a head does, which leaves before its body: where that waits for it, at every level. */
enum fault pipeline_http_head_unit(struct pipeline *p) must_check;

/* The head is whole: how its body is read. As pipeline_read(); FAULT_NO_MEMORY. */
enum fault pipeline_http_begin_body(struct pipeline *p) must_check;
/* Bytes of the body, counted as they are taken. */
enum fault pipeline_http_take_body(struct pipeline *p, const struct http1_piece *piece) must_check;
enum fault pipeline_http_take_chunk(struct pipeline *p) must_check;
enum fault pipeline_http_take_chunk_end(struct pipeline *p) must_check;
/* What a message that ended, or never will, needed. */
void pipeline_http_end_body(struct pipeline *p);

/* Bytes that are not coded, where a unit may end with each. */
enum fault pipeline_http_take_plain(struct pipeline *p, const uint8_t *data, size_t len) must_check;

/*
 * A head says that the connection is another protocol's from here on. FAULT_UNFRAMED:
 * one that is not mediated.
 */
enum fault pipeline_http_upgrade(struct pipeline *p) must_check;
/* Between two messages: where WebSocket was agreed on this flow is that from here on. */
enum fault pipeline_http_follow(struct pipeline *p) must_check;
/* The flow ended. */
enum fault pipeline_http_end_websocket(struct pipeline *p) must_check;

/*
 * What this flow has of its exchange is all cleared, and has ended; goes_on: but for the
 * answer itself. FAULT_ACCOUNTING.
 */
enum fault pipeline_http_leave(struct pipeline *p, bool goes_on) must_check;

/*
 * Resumes: a line of a head, the start line first, and the head that is whole.
 * FAULT_RESUME_REFUSED: it goes on from what is not known, or as it was not asked to.
 */
enum fault pipeline_http_resume_line(struct pipeline *p,
				     const struct http1_piece *piece) must_check;
enum fault pipeline_http_resume_head(struct pipeline *p) must_check;

/* The message ends with the byte that was taken last. */
enum fault pipeline_http_end_message(struct pipeline *p) must_check;

#endif
