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
 *      library's decoder with its largest window (deflate's 32 KiB, br's 16 MiB, zstd's
 *      8 MiB), one buffer and one header's words, whatever the input.
 *
 * gzip: RFC 1952, any number of members. deflate: zlib's format (RFC 1950), or raw
 * (RFC 1951), which some servers send under that name. br: RFC 7932, not its large
 * windows. zstd: RFC 8878 with the window of RFC 9659, any number of frames.
 *
 * Bytes that decoders skip would be released unread. There are these:
 *  - the words of a gzip header: refused, or given out (decoder_accept_words);
 *  - its time, four bytes of number: it may be another one CODING_TIMES_MAX times in a
 *    body, which is all that passes; its level and system: no other than there are, and
 *    never text;
 *  - br's metadata blocks with anything in them: refused before their first byte;
 *  - zstd's skippable frames, a dictionary's id, the frame header's bits without a
 *    meaning, a byte repeated no time, a code for no literals: refused;
 *  - what comes behind the end: refused.
 * Refused is FAULT_BAD_ENCODING. What is left are bits, not bytes: an encoder may say the
 * same in many ways (which matches, which code lengths, how large a window), and some bits
 * say nothing (padding in deflate, gzip's mark of text, two in each of zstd's compressed
 * blocks). Nobody reads what is said by these.
 */
#ifndef SLUICE_CORE_CONTENT_CODING_H
#define SLUICE_CORE_CONTENT_CODING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/fault.h"

enum content_coding {
	CODING_IDENTITY,
	CODING_GZIP,
	CODING_DEFLATE,
	CODING_BROTLI,
	CODING_ZSTD,
	_CODING_MAX
};

#define CODING_RATIO_MAX       200u
#define CODING_SLACK	       (1u << 20)
#define CODING_WORDS_MAX       1024u /* of each of a gzip header's words */
#define CODING_TIMES_MAX       16u   /* of a body's gzip headers, one after the other */
#define CODING_ZSTD_WINDOW_LOG 23    /* RFC 9659 3 */

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
 * Did the input end inside what is judged only when it is whole, the header of a gzip
 * member or a compressed block of zstd? Until then nothing of it may be released: some of
 * it can be read already.
 */
bool decoder_holds(const struct decoder *decoder);

/*
 * Takes the next len bytes; they are borrowed until decoder_next() has said that
 * there is no more.
 */
void decoder_feed(struct decoder *decoder, const uint8_t *data, size_t len);
/*
 * The next piece of output, valid until the next call; *ret_len 0: the input is
 * used up. FAULT_BAD_ENCODING: also for bytes after the end. FAULT_TOO_LARGE: D3.
 * FAULT_NO_MEMORY. FAULT_UNSUPPORTED_CODING: br, by a library that does not show metadata.
 */
enum fault decoder_next(struct decoder *decoder, const uint8_t **ret_data,
			size_t *ret_len) must_check;
/* The body ended: FAULT_TRUNCATED inside the coding. No input at all is an empty body. */
enum fault decoder_end(struct decoder *decoder) must_check;

size_t decoder_memory(const struct decoder *decoder); /* now: a window comes when it is used */

#endif
