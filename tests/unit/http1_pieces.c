/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/http1_pieces.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"

#define PAIRS_MAX 96u

struct run {
	const struct http1_pieces_config *config;
	struct frame_http1 frame;
	FILE *text, *ends;
	size_t answers; /* final responses that ended */
	size_t offset;
	size_t message; /* where the message under way began */
	bool in_body;	/* the transcript's last line is a body's, and may go on */
	bool tunnel;
};

void http1_pieces_put(FILE *out, const void *bytes, size_t len)
{
	const uint8_t *at = bytes;

	for (size_t i = 0; i < len; i++) {
		if (at[i] >= ' ' && at[i] < 0x7f && at[i] != '\\')
			fputc(at[i], out);
		else
			fprintf(out, "\\%02x", at[i]);
	}
}

void http1_pieces_put_head(FILE *out, const struct http1_head *head, bool response)
{
	static const char *const bodies[] = {
		[HTTP1_NO_BODY] = " none",
		[HTTP1_CHUNKED] = " chunked",
		[HTTP1_UNTIL_CLOSE] = " close",
		[HTTP1_TUNNEL] = " tunnel",
	};
	static const char *const codings[] = {"", " gzip", " deflate", " br", " zstd"};
	static const char *const medias[] = {
		[MEDIA_NONE] = "",	    [MEDIA_JSON] = " json", [MEDIA_LINES] = " lines",
		[MEDIA_SSE] = " sse",	    [MEDIA_FORM] = " form", [MEDIA_TEXT] = " text",
		[MEDIA_OPAQUE] = " opaque",
	};

	fputs("head", out);
	if (head->body == HTTP1_LENGTH)
		fprintf(out, " length=%" PRIu64, head->length);
	else
		fputs(bodies[head->body], out);
	fprintf(out, "%s%s", codings[head->coding], medias[head->media]);
	if (response)
		fprintf(out, " %u%s", head->status, head->interim ? " interim" : "");
	else
		fprintf(out, "%s%s%s%s", head->expect_continue ? " expect" : "",
			head->request.head ? " HEAD" : "", head->request.connect ? " CONNECT" : "",
			head->request.upgrade ? " upgrade" : "");
	fputc('\n', out);
}

static void put_line(struct run *run, const char *kind, const struct http1_piece *piece)
{
	fputs(kind, run->text);
	if (piece->data) {
		fputc(' ', run->text);
		http1_pieces_put(run->text, piece->data, piece->len);
	}
	fputc('\n', run->text);
}

static void put_body(struct run *run, const struct http1_piece *piece, const uint8_t *input)
{
	assert_ptr_equal(piece->data, input);
	assert_int_equal(piece->len, piece->used);
	assert_true(piece->len > 0);
	if (!run->in_body)
		fputs("body ", run->text);
	http1_pieces_put(run->text, piece->data, piece->len);
	run->in_body = true;
}

static void check_start(const struct run *run, const struct http1_piece *piece)
{
	const struct frame_http1 *frame = &run->frame;

	assert_int_equal(frame->start_len, piece->len);
	assert_memory_equal(frame->start, piece->data, piece->len);
	if (run->config->response)
		return;
	assert_true(frame->target > piece->data && frame->target_len);
	assert_true(frame->target + frame->target_len < piece->data + piece->len);
	assert_int_equal(frame->target[-1], ' ');
	assert_int_equal(frame->target[frame->target_len], ' ');
}

static void put_piece(struct run *run, const struct http1_piece *piece, const uint8_t *input)
{
	const struct frame_http1 *frame = &run->frame;

	if (piece->kind == HTTP1_NOTHING)
		return;
	if (piece->kind == HTTP1_BODY) {
		put_body(run, piece, input);
		return;
	}
	if (run->in_body)
		fputc('\n', run->text);
	run->in_body = false;
	fprintf(run->ends, "%zu ", run->offset);
	switch (piece->kind) {
	case HTTP1_START:
		put_line(run, "start", piece);
		check_start(run, piece);
		break;
	case HTTP1_FIELD:
		put_line(run, "field", piece);
		break;
	case HTTP1_HEAD:
		http1_pieces_put_head(run->text, &frame->head, run->config->response);
		assert_int_equal(frame->left, frame->head.length);
		break;
	case HTTP1_EXTENSION:
		put_line(run, "ext", piece);
		break;
	case HTTP1_CHUNK:
		put_line(run, "chunk", piece);
		assert_int_equal(frame->left, 0);
		break;
	case HTTP1_CHUNK_END:
		put_line(run, "chunk-end", piece);
		break;
	default:
		assert_int_equal(piece->kind, HTTP1_END);
		put_line(run, "end", piece);
		run->tunnel = frame->head.body == HTTP1_TUNNEL;
		run->answers += !frame->head.interim;
		break;
	}
}

static enum fault step(struct run *run, const uint8_t *data, size_t len, size_t *ret_used)
{
	static const struct http1_request nothing;
	bool due = frame_http1_due(&run->frame), between = frame_http1_between(&run->frame);
	struct http1_piece piece;
	enum fault fault;

	if (between)
		run->message = run->offset;
	if (between && run->config->response)
		frame_http1_answer(&run->frame, run->answers < HTTP1_PIECES_REQUESTS
							? &run->config->requests[run->answers]
							: &nothing);
	fault = frame_http1_next(&run->frame, data, len, &piece);
	if (fault)
		return fault;
	assert_true(piece.used <= len);
	assert_true(due ? !piece.used : piece.used > 0);
	run->offset += piece.used;
	assert_true(frame_http1_memory(&run->frame) <=
		    256 + 2 * MIN(run->offset - run->message + run->frame.start_len,
				  (size_t)HTTP1_HEAD_MAX));
	put_piece(run, &piece, data);
	*ret_used = piece.used;
	return FAULT_NONE;
}

/* From memory of its own, so that reading past it, or later, is seen. */
static enum fault feed(struct run *run, const uint8_t *data, size_t len)
{
	uint8_t *copy = malloc(len);
	enum fault fault = FAULT_NONE;
	size_t at = 0;

	assert_non_null(copy);
	memcpy(copy, data, len);
	while (!fault && !run->tunnel && (at < len || frame_http1_due(&run->frame))) {
		size_t used = 0;

		fault = step(run, at < len ? copy + at : NULL, len - at, &used);
		at += used;
	}
	free(copy);
	return fault;
}

static enum fault end(struct run *run)
{
	const char *how = "clean";
	bool closed = false;
	enum fault fault = frame_http1_end(&run->frame, &closed);

	if (run->in_body)
		fputc('\n', run->text);
	if (fault)
		return fault;
	if (closed)
		how = "close";
	fprintf(run->text, "%s\n", how);
	return FAULT_NONE;
}

void http1_pieces_run(const struct http1_pieces_config *config, const void *data, size_t len,
		      const size_t *cuts, size_t cut_count, struct http1_pieces *ret_pieces)
{
	struct http1_pieces pieces = {0};
	struct run run = {.config = config};
	size_t text_len, ends_len, at = 0;

	run.text = open_memstream(&pieces.text, &text_len);
	run.ends = open_memstream(&pieces.ends, &ends_len);
	assert_true(run.text && run.ends);
	frame_http1_init(&run.frame, config->response);
	for (size_t i = 0; i <= cut_count && !pieces.fault && !run.tunnel; i++) {
		size_t to = i < cut_count ? cuts[i] : len;

		if (to > at)
			pieces.fault = feed(&run, (const uint8_t *)data + at, to - at);
		at = to;
	}
	if (!pieces.fault)
		pieces.fault = end(&run);
	else if (run.in_body)
		fputc('\n', run.text);
	if (pieces.fault)
		fprintf(run.text, "%s\n", fault_name(pieces.fault));
	pieces.taken = run.offset;
	frame_http1_done(&run.frame);
	fclose(run.text);
	fclose(run.ends);
	*ret_pieces = pieces;
}

void http1_pieces_done(struct http1_pieces *pieces)
{
	free(pieces->text);
	free(pieces->ends);
}

void http1_pieces_assert_same(const struct http1_pieces *a, const struct http1_pieces *b)
{
	assert_string_equal(a->text, b->text);
	assert_string_equal(a->ends, b->ends);
	assert_int_equal(a->fault, b->fault);
}

static void check_cuts(const struct http1_pieces_config *config, const void *data, size_t len,
		       const size_t *cuts, size_t cut_count, const struct http1_pieces *expected)
{
	struct http1_pieces pieces;

	http1_pieces_run(config, data, len, cuts, cut_count, &pieces);
	http1_pieces_assert_same(&pieces, expected);
	http1_pieces_done(&pieces);
}

void http1_pieces_run_cuts(const struct http1_pieces_config *config, const void *data, size_t len,
			   struct http1_pieces *ret_pieces)
{
	size_t *cuts = calloc(len + 1, sizeof(*cuts));

	assert_non_null(cuts);
	http1_pieces_run(config, data, len, NULL, 0, ret_pieces);
	for (size_t i = 0; i < len; i++)
		cuts[i] = i + 1;
	check_cuts(config, data, len, cuts, len, ret_pieces);
	for (size_t i = 0; i + 1 < len; i++)
		check_cuts(config, data, len, &cuts[i], 1, ret_pieces);
	free(cuts);
}

void http1_pieces_run_splits(const struct http1_pieces_config *config, const void *data, size_t len,
			     struct http1_pieces *ret_pieces)
{
	size_t two[2];

	http1_pieces_run_cuts(config, data, len, ret_pieces);
	if (len > PAIRS_MAX)
		return;
	for (two[0] = 1; two[0] < len; two[0]++)
		for (two[1] = two[0] + 1; two[1] < len; two[1]++)
			check_cuts(config, data, len, two, 2, ret_pieces);
}

void http1_refusal_check(const struct http1_pieces_config *config,
			 const struct http1_refusal *refusal)
{
	struct http1_pieces pieces;
	bool begun;

	http1_pieces_run_cuts(config, refusal->data, refusal->len, &pieces);
	begun = strstr(pieces.text, "\nhead ") != NULL;
	if (pieces.fault != refusal->fault || begun != refusal->begun)
		fail_msg("'%s': expected %s, %s; got\n%s", refusal->data,
			 fault_name(refusal->fault), refusal->begun ? "begun" : "not begun",
			 pieces.text);
	http1_pieces_done(&pieces);
}

void http1_refusals_check(bool response, const struct http1_refusal *refusals, size_t count)
{
	const struct http1_pieces_config config = {.response = response};

	for (size_t i = 0; i < count; i++)
		http1_refusal_check(&config, &refusals[i]);
}
