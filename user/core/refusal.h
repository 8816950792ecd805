/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Refusals: what the receiver of a flow gets instead of what was withheld, in its
 * protocol's own words, so that truncation is never mistaken for completion. A
 * refusal names the task and the reason, never the text.
 *
 * Where it goes is told by a mark: the state of the response flow at its release
 * offset, since what lies behind that is withheld, its framing too.
 *
 *  REFUSAL_MESSAGE  between messages: a response of its own. 403, a JSON problem
 *		     body (RFC 9457), Connection: close.
 *  REFUSAL_CHUNK    in a chunk with `left` bytes to come: these are filled, then a
 *		     chunk of its own where the event did not fit. No last chunk, so
 *		     that the body stays visibly incomplete.
 *  REFUSAL_CHUNKS   between chunks: a chunk of its own.
 *  REFUSAL_LENGTH   `left` bytes of the length to come: filled to the last. Where the
 *		     event does not fit, nothing can be said.
 *  REFUSAL_PLAIN    a body that lasts until the connection ends, or a bare stream.
 *  REFUSAL_WEBSOCKET  between the messages of a server: a close frame of status 1008
 *		     (RFC 6455 7.4.1) whose reason names task and reason.
 *  REFUSAL_JSONRPC  between messages with a header each: an error (JSON-RPC 2.0, 5.1) to
 *		     the id null, since the id is withheld with the rest.
 *  REFUSAL_NONE     nothing can be said: the connection is reset.
 */
#ifndef SLUICE_CORE_REFUSAL_H
#define SLUICE_CORE_REFUSAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

enum refusal_place {
	REFUSAL_NONE,
	REFUSAL_MESSAGE,
	REFUSAL_CHUNK,
	REFUSAL_CHUNKS,
	REFUSAL_LENGTH,
	REFUSAL_PLAIN,
	REFUSAL_WEBSOCKET,
	REFUSAL_JSONRPC,
};

/* What the body is made of. */
enum refusal_form {
	REFUSAL_FORM_SSE,   /* an event of type error, and no [DONE] */
	REFUSAL_FORM_LINES, /* a line {"error": ...}, as Ollama ends a failed answer */
};

struct refusal_mark {
	uint8_t place; /* enum refusal_place */
	uint8_t form;  /* enum refusal_form; not for MESSAGE */
	uint64_t left; /* CHUNK, LENGTH */
};

/* Bytes of a refusal at most; more than this is not filled, and reset instead. */
#define REFUSAL_MAX (1u << 20)

/*
 * Writes the refusal: *ret_bytes is malloc()ed. reason: [a-z0-9_.:-]{1,64}. task: NULL
 * where none denied, else 1 to 256 bytes of UTF-8. head_request: a response of its own
 * has no body. -ENOENT: nothing can be said there. -EINVAL: a reason, task, place or
 * form that is none. -ENOMEM.
 */
int refusal_new(const struct refusal_mark *mark, bool head_request, const char *reason,
		const char *task, uint8_t **ret_bytes, size_t *ret_len) must_check;

#endif
