/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs bytes through the HTTP/1 codec and writes down what came of them, for tests.
 *
 * The transcript has a line a piece: "start TEXT", "field TEXT", "ext TEXT", "body TEXT"
 * (bytes on end joined), "chunk", "chunk-end", "end", and "head" with what is not the
 * default of: none, length=N, chunked, close, tunnel; gzip, deflate, br, zstd; json, lines, sse,
 * form, text, opaque; interim, expect, HEAD, CONNECT, upgrade. Its last line is what the
 * connection's end was: "clean", "close" (it ended a message) or the fault's name. Bytes
 * that are not printable ASCII, and the backslash, are "\xx".
 */
#ifndef SLUICE_TESTS_UNIT_HTTP1_PIECES_H
#define SLUICE_TESTS_UNIT_HTTP1_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/frame_http1.h"

#define HTTP1_PIECES_REQUESTS 4u

struct http1_pieces_config {
	bool response;
	/* Of the responses in turn, but for interim ones; past the end it is all false. */
	struct http1_request requests[HTTP1_PIECES_REQUESTS];
};

struct http1_pieces {
	char *text;
	char *ends; /* offsets at which the pieces ended, but those of bodies */
	enum fault fault;
	size_t taken; /* bytes before the fault, or the tunnel */
};

/* cuts are offsets in rising order; the data is fed in cut_count + 1 pieces. */
void http1_pieces_run(const struct http1_pieces_config *config, const void *data, size_t len,
		      const size_t *cuts, size_t cut_count, struct http1_pieces *ret_pieces);
void http1_pieces_done(struct http1_pieces *pieces);
void http1_pieces_assert_same(const struct http1_pieces *a, const struct http1_pieces *b);

/*
 * In one piece, byte by byte, and cut in two at every offset: all have to come out the
 * same. The splits are, up to a hundred bytes or so, those in three as well.
 */
void http1_pieces_run_cuts(const struct http1_pieces_config *config, const void *data, size_t len,
			   struct http1_pieces *ret_pieces);
void http1_pieces_run_splits(const struct http1_pieces_config *config, const void *data, size_t len,
			     struct http1_pieces *ret_pieces);

/* What has to be refused, and whether its head was whole by then. */
struct http1_refusal {
	const char *data; /* may hold NUL */
	size_t len;
	enum fault fault;
	bool begun;
};

#define HTTP1_REFUSAL(data, fault, begun)                    \
	{                                                    \
		data, sizeof(data) - 1, FAULT_##fault, begun \
	}

void http1_refusal_check(const struct http1_pieces_config *config,
			 const struct http1_refusal *refusal);
/* Each as a flow of its own, of requests, or of responses to nothing in particular. */
void http1_refusals_check(bool response, const struct http1_refusal *refusals, size_t count);

/* How a transcript writes bytes, and heads. */
void http1_pieces_put(FILE *out, const void *bytes, size_t len);
void http1_pieces_put_head(FILE *out, const struct http1_head *head, bool response);

#endif
