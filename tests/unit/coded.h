/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Coded bodies for tests: an encoder packs them, the decoder undoes them in cuts, and
 * what comes of two ways of cutting is compared whole. Fails with cmocka's assertions.
 */
#ifndef SLUICE_TESTS_UNIT_CODED_H
#define SLUICE_TESTS_UNIT_CODED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

#include "core/content_coding.h"

enum coded_format {
	CODED_GZIP,
	CODED_ZLIB,
	CODED_RAW,
	_CODED_ZLIB_MAX, /* those before are zlib's */
	CODED_BROTLI = _CODED_ZLIB_MAX,
	CODED_ZSTD, /* with a check sum */
	CODED_ZSTD_UNCHECKED,
	_CODED_FORMAT_MAX
};

int coded_window_bits(enum coded_format format);	    /* as zlib wants it */
enum content_coding coded_coding(enum coded_format format); /* whose format it is */

struct coded_bytes {
	uint8_t *data;
	size_t len, capacity;
};

void coded_bytes_add(struct coded_bytes *bytes, const void *data, size_t len);
void coded_bytes_done(struct coded_bytes *bytes);

enum coded_content {
	CODED_EMPTY,
	CODED_ONE,
	CODED_TEXT,
	CODED_NOISE,
	CODED_ZEROS,
	_CODED_CONTENT_MAX
};

/* Appends until there are `size` bytes, the same ones each time. */
void coded_content(enum coded_content content, size_t size, struct coded_bytes *bytes);

struct coded_packing {
	enum coded_format format;
	int level;	   /* 0 to 9, the least and the most that there is */
	int flush;	   /* zlib's way of it after every part, where it is not 0 */
	size_t part;	   /* at most as large as the body */
	size_t *flushed;   /* how much it all is after each flush, where it is not NULL */
	gz_header *header; /* gzip */
};

/* Appends a body, or a member of one. */
void coded_pack(const struct coded_packing *packing, const void *data, size_t len,
		struct coded_bytes *bytes);
void coded_pack_simply(enum coded_format format, const void *data, size_t len,
		       struct coded_bytes *bytes);

struct coded_outcome {
	struct coded_bytes body, words; /* words: each with a LF behind it */
	enum fault fault;		/* of the input, else of its end */
	size_t taken;			/* of the input */
};

void coded_outcome_done(struct coded_outcome *outcome);

struct coded_cuts {
	size_t first, size; /* of the first, and of each that follows */
	bool accept_words;
};

/* Feeds one cut, and takes all that comes of it; asserts that no limit is passed. */
enum fault coded_feed(struct decoder *decoder, const uint8_t *data, size_t len,
		      struct coded_outcome *outcome);
/* Feeds a whole body; asserts that a fault stays. */
void coded_undo(enum content_coding coding, const struct coded_bytes *packed,
		const struct coded_cuts *cuts, struct coded_outcome *ret_outcome);

void coded_assert_bytes(const struct coded_bytes *got, const struct coded_bytes *expected);
void coded_check_cut(enum content_coding coding, const struct coded_bytes *packed,
		     const struct coded_cuts *cuts, const struct coded_outcome *expected);
/* In one piece, byte by byte, and in two at every offset; *ret_outcome is the common one. */
void coded_check_cuts(enum content_coding coding, const struct coded_bytes *packed,
		      bool accept_words, struct coded_outcome *ret_outcome);

#endif
