/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What HTTP says of resumes: a request that asks for the rest of a response, and a response
 * that is one. Line by line, of lines that are well-formed.
 *
 * A request goes on behind a response that was broken off by
 *  - Range (RFC 9110 14.2) of bytes, from an offset over 0. Several ranges, one from the end,
 *    another unit, and what is no range are refused: where they would go on is not said, or is
 *    another place for each reader. Request-Range, which some servers read alike, is refused;
 *  - Last-Event-ID (WHATWG HTML 9.2.4), unless it is empty;
 *  - `starting_after` in the query with a decimal number, that of the last event which came
 *    (OpenAI Responses: GET /v1/responses/ID?stream=true&starting_after=N). With a word, which
 *    begins with a letter, it is a cursor of a list, whose pages are responses of their own.
 *    What is neither, and may be a number to some, is refused.
 * Two of these at once are refused. So is what only some servers read as one of these: a field
 * with '_' for '-' (RFC 3875 4.1.18 makes them one), and a query with the letters of
 * starting_after or of lastEventId anywhere else than in the name above. A request goes on behind a body that was broken off by
 *  - Content-Range (RFC 9110 14.5) that does not begin at 0;
 *  - Upload-Offset (tus 1.0.0) over 0.
 * What came of such a body is not known here: refused wherever requests are gated.
 *
 * A response is part of a representation where it is a 206, or has a Content-Range of bytes and
 * is no 416: some clients ask no more of it. Who asked for the rest of bytes may take any
 * Content-Range for that of the part, whatever its unit, its form and the status.
 *
 * What stays open: a resume by what is not named above (a cursor of the server's own, a member of
 * the request's body) is a request of its own.
 */
#ifndef SLUICE_CORE_RESUME_HTTP_H
#define SLUICE_CORE_RESUME_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/http1_grammar.h"
#include "core/resume_table.h"

/* Bytes of an event's id, or a response's; who names a longer one is not known. */
#define RESUME_ID_MAX	255u
#define RESUME_HOST_MAX 269u /* a name of 255 in brackets, and a port */

struct resume_id {
	uint16_t len;
	uint8_t text[RESUME_ID_MAX];
};

enum resume_kind {
	RESUME_NONE,  /* it asks for the whole response, or for a part from its beginning */
	RESUME_RANGE, /* from the byte `from` on */
	RESUME_EVENT, /* behind the event `event` */
	RESUME_AFTER, /* behind the event of the number `from` */
};

struct resume_request {
	enum resume_kind kind;
	bool refused;	     /* whatever is known */
	bool upload_refused; /* the same, by its own body */
	bool ranged;	     /* it has a Range: a part is what it asked for */
	uint64_t from;
	struct resume_id event;
	bool has_condition; /* If-Range */
	char condition[RESUME_VALIDATOR_MAX + 1];
	bool long_host;
	uint16_t host_len;
	uint8_t host[RESUME_HOST_MAX];
};

/* The request target, and each line of the head behind it. */
void resume_request_target(struct resume_request *request, struct http1_slice target);
void resume_request_field(struct resume_request *request, struct http1_slice line);

struct resume_answer {
	bool has_range;	  /* Content-Range, whatever it says */
	bool in_bytes;	  /* its unit is that */
	bool bad_range;	  /* not to be read, twice, or of another unit */
	bool unsatisfied; /* it is of no part (RFC 9110 14.4) */
	bool several;	  /* multipart/byteranges */
	bool has_tag;
	uint64_t from, last;
	uint64_t length; /* of the representation, or UINT64_MAX */
	/* The strong ETag, else Last-Modified; "" without. */
	char validator[RESUME_VALIDATOR_MAX + 1];
};

void resume_answer_field(struct resume_answer *answer, struct http1_slice line);

/* The path and the query of a target of any form; without '?' the query is empty. */
void resume_split_target(struct http1_slice target, struct http1_slice *ret_path,
			 struct http1_slice *ret_query);

#endif
