/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Framing of HTTP/1.0 and 1.1 messages (RFC 9112), one direction of a connection,
 * byte-exact: message after message, heads line by line, bodies by Content-Length,
 * chunks or the end of the connection.
 *
 * Where the standard leaves a recipient a choice the strict one is taken, since
 * two readers that choose differently are what smuggling lives on:
 *  - every line ends in CRLF: FAULT_BARE_LF, and a CR without LF FAULT_BAD_HEADER;
 *  - no obs-fold, no white space before the colon, no character outside field-vchar,
 *    SP, HTAB and obs-text in a value, no empty field name: FAULT_BAD_HEADER;
 *  - one SP between the parts of a start line, also before a reason that is absent,
 *    a version of 1.0 or 1.1: FAULT_BAD_HEADER (FAULT_PROTOCOL for another version);
 *  - a target is a path, an http or https URI, `*` of OPTIONS or the authority of
 *    CONNECT, without a fragment and user information; one Host in a request of
 *    HTTP/1.1, at most one in 1.0, that of the target where this names one; a method
 *    is not HEAD or CONNECT but for its case: FAULT_BAD_HEADER;
 *  - Content-Length together with Transfer-Encoding, more than one Content-Length
 *    (or a list), one that is not 1*DIGIT or has more than 64 bits, Transfer-Encoding
 *    in HTTP/1.0, or with identity, parameters, an empty item, or chunked anywhere but
 *    once, at its end; either named by Connection: FAULT_AMBIGUOUS_LENGTH;
 *  - Transfer-Encoding, or a Content-Length over 0, where no body can be (1xx, 204,
 *    CONNECT and a 2xx to it): FAULT_AMBIGUOUS_LENGTH. HEAD and 304 may have either;
 *  - a body with a transfer coding beside chunked, with several content codings, or
 *    with one that is not decoded: FAULT_UNSUPPORTED_CODING;
 *  - a 101 that was not asked for, or names no protocol: FAULT_PROTOCOL;
 *  - a chunk size is 1*HEXDIG of at most 16 digits, extensions to the letter of 7.1.1
 *    and without its BWS, CRLF behind the data: FAULT_BAD_FRAME, or FAULT_BARE_LF;
 *  - a trailer has no field that says how the message is read: FAULT_BAD_HEADER;
 *  - a head or trailer, or a chunk's size with its extensions, of more than
 *    HTTP1_HEAD_MAX bytes: FAULT_TOO_LARGE.
 * Empty lines before a request are allowed (2.2), and belong to it.
 *
 * Invariants:
 *  W1. How the input is cut changes no piece's kind, fault or text, but for how
 *      the bytes of a body are cut into pieces, and for HTTP1_NOTHING.
 *  W2. Memory is that of one head at most, to within the doubling of a buffer: never
 *      allocated ahead of the bytes.
 *  W3. A head is told whole (HTTP1_HEAD) only where it is well-formed. Where it leaves
 *      the length or the coding in doubt the next call has the fault, whatever it is
 *      given: frame_http1_due() until then.
 *
 * Units: bytes.
 */
#ifndef SLUICE_CORE_FRAME_HTTP1_H
#define SLUICE_CORE_FRAME_HTTP1_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/fault.h"
#include "core/http1_head.h"

#define HTTP1_HEAD_MAX (64u << 10)

enum http1_piece_kind {
	HTTP1_NOTHING,	 /* these bytes are nothing by themselves: part of a line, a chunk's size */
	HTTP1_START,	 /* a start line without its CRLF */
	HTTP1_FIELD,	 /* a line of a head or trailer without its CRLF */
	HTTP1_HEAD,	 /* the head is whole: frame->head */
	HTTP1_BODY,	 /* bytes of the body, out of their chunk */
	HTTP1_EXTENSION, /* what follows a chunk's size, from its semicolon */
	HTTP1_CHUNK,	 /* the data of a chunk is whole; frame->left is 0. Takes no byte */
	HTTP1_CHUNK_END, /* the CRLF behind it was taken */
	HTTP1_END,	 /* the message ends here. Takes no byte but after chunks */
};

struct http1_piece {
	enum http1_piece_kind kind;
	const uint8_t *data; /* START, FIELD, EXTENSION: until the next call; BODY: the input */
	size_t len;
	size_t used; /* of the input; BODY: len */
};

struct frame_http1 {
	bool response;
	uint8_t state;
	struct http1_head head; /* valid from HTTP1_HEAD to HTTP1_END */
	/* The request target of the start line, valid with HTTP1_START; within its piece. */
	const uint8_t *target;
	size_t target_len;
	uint64_t left; /* of the length, or of the chunk under way */
	uint8_t *line; /* under way */
	size_t line_len, line_capacity;
	size_t head_bytes; /* of the head, trailer or chunk's first line under way */
	uint8_t *start;	   /* start line of the message, until the next begins; for observers */
	size_t start_len, start_capacity;
	uint8_t size_digits;
	struct http1_facts facts;
	enum fault late; /* W3 */
};

void frame_http1_init(struct frame_http1 *frame, bool response);
void frame_http1_done(struct frame_http1 *frame);

/*
 * Has nothing of a message come? Empty lines before a request are nothing: its first
 * byte that counts is the first of its start line.
 */
bool frame_http1_between(const struct frame_http1 *frame);

/* Responses: before the first byte of each, interim ones too, the request it answers. */
void frame_http1_answer(struct frame_http1 *frame, const struct http1_request *request);

/*
 * The next piece of len (at least 1) bytes; while frame_http1_due() len may be 0, data
 * NULL, and no byte is taken. Call until len is used up, and then, while
 * frame_http1_due(), with 0 bytes. After a fault frame_http1_done() is all that may follow.
 */
enum fault frame_http1_next(struct frame_http1 *frame, const uint8_t *data, size_t len,
			    struct http1_piece *ret_piece) must_check;
bool frame_http1_due(const struct frame_http1 *frame);

/*
 * The connection ended, and nothing is due. *ret_end: a message that lasts until then
 * ends with it. FAULT_TRUNCATED inside any other.
 */
enum fault frame_http1_end(struct frame_http1 *frame, bool *ret_end) must_check;

size_t frame_http1_memory(const struct frame_http1 *frame); /* beside the struct itself */

#endif
