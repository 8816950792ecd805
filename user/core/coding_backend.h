/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What undoes one content coding, as content_coding.c sees it: that file counts, holds
 * the limits and cuts the input; a backend decodes, and refuses what would be skipped.
 *
 * Invariants:
 *  B1. run() takes all of its input, unless it faults, its room is used up, or there
 *      are words to give out.
 *  B2. What is given out depends on the input so far, and not on how it was cut.
 *  B3. A fault comes with the output before it.
 */
#ifndef SLUICE_CORE_CODING_BACKEND_H
#define SLUICE_CORE_CODING_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/content_coding.h"
#include "core/fault.h"

struct coding_io {
	const uint8_t *in; /* what has not been taken yet */
	size_t in_len;
	uint8_t *out; /* where output goes, */
	size_t room;  /* and how much fits there: more than none */
	bool more;    /* there may be more output without more input */
	bool words;   /* a header is whole: its words come next */
};

struct coding_backend {
	/* -ENOMEM, -EINVAL */
	int (*create)(enum content_coding coding, void **ret_state);
	void (*destroy)(void *state);
	size_t (*memory)(const void *state);
	/*
	 * The next input is data: *ret_len, which is its length, becomes what run() is given
	 * of it, at least 1, such that it is told at which byte there is more output than
	 * `room`. Called once for each byte.
	 */
	enum fault (*take)(void *state, const uint8_t *data, uint64_t room, size_t *ret_len);
	enum fault (*run)(void *state, struct coding_io *io);
	bool (*whole)(const void *state); /* may the body end here? */
	bool (*holds)(const void *state); /* see decoder_holds() */
	/* Both are NULL where no header has words. The next of them; *ret_len 0: no more. */
	void (*accept_words)(void *state);
	enum fault (*next_words)(void *state, const uint8_t **ret_data, size_t *ret_len);
};

extern const struct coding_backend coding_zlib, coding_brotli, coding_zstd;

#endif
