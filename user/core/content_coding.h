/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Content codings (RFC 9110 8.4.1), undone for evaluation alone: the bytes are
 * released as they came.
 *
 * Invariants:
 *  D1. How the input is cut into calls changes neither the output nor the fault.
 *  D2. After the last decoder_next() of an input nothing that it decides is left
 *      inside: all of it has been given out.
 *  D3. No more is given out than CODING_SLACK and CODING_RATIO_MAX times the input
 *      so far (FAULT_TOO_LARGE), held after each byte of it. Memory is that of the
 *      inflater, one buffer and one header's words, whatever the input.
 *
 * gzip: RFC 1952, any number of members. deflate: zlib's format (RFC 1950), or raw
 * (RFC 1951), which some servers send under that name.
 */
#ifndef SLUICE_CORE_CONTENT_CODING_H
#define SLUICE_CORE_CONTENT_CODING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/fault.h"

enum content_coding { CODING_IDENTITY, CODING_GZIP, CODING_DEFLATE, _CODING_MAX };

#define CODING_RATIO_MAX 200u
#define CODING_SLACK	 (1u << 20)
#define CODING_WORDS_MAX 1024u /* of each of a gzip header's words */

struct decoder;

/* -ENOMEM. -EINVAL: identity is none. */
int decoder_new(enum content_coding coding, struct decoder **ret_decoder) must_check;
void decoder_free(struct decoder *decoder); /* accepts NULL */
DEFINE_CLEANUP(struct decoder *, decoder_free)

/*
 * The header of a gzip member may hold words: a file name, a comment, an extra field.
 * They are no part of the body, and would be released unread: such a member is
 * FAULT_BAD_ENCODING, unless this was called before the first input. Then each of them
 * is a piece of its own, ahead of the member's; one over its limit is FAULT_TOO_LARGE.
 */
void decoder_accept_words(struct decoder *decoder);
/* Was the last piece such words (not necessarily UTF-8), and none of the body? */
bool decoder_gave_words(const struct decoder *decoder);
/*
 * Did the input end inside the header of a gzip member? Its words are judged when it is
 * whole: until then nothing of it may be released.
 */
bool decoder_in_header(const struct decoder *decoder);

/*
 * Takes the next len bytes; they are borrowed until decoder_next() has said that
 * there is no more.
 */
void decoder_feed(struct decoder *decoder, const uint8_t *data, size_t len);
/*
 * The next piece of output, valid until the next call; *ret_len 0: the input is
 * used up. FAULT_BAD_ENCODING: also for bytes after the end. FAULT_TOO_LARGE: D3.
 */
enum fault decoder_next(struct decoder *decoder, const uint8_t **ret_data,
			size_t *ret_len) must_check;
/* The body ended: FAULT_TRUNCATED inside the coding. No input at all is an empty body. */
enum fault decoder_end(struct decoder *decoder) must_check;

size_t decoder_memory(const struct decoder *decoder);

#endif
