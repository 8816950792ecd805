/* SPDX-License-Identifier: Apache-2.0 */
#include "core/frame_h2_grpc.h"

#include <stdlib.h>

void frame_h2_grpc_init(struct frame_h2_grpc *frame, enum content_coding coding,
			uint64_t max_message, uint32_t max_frame)
{
	*frame = (struct frame_h2_grpc){.limit = max_message, .coding = coding};
	frame_h2_init(&frame->h2, max_frame);
}

void frame_h2_grpc_done(struct frame_h2_grpc *frame)
{
	for (size_t i = 0; i < frame->count; i++) {
		frame_grpc_done(&frame->streams[i]->grpc);
		free(frame->streams[i]);
	}
	frame->count = 0;
}

bool frame_h2_grpc_partial(const struct frame_h2_grpc *frame)
{
	return frame_h2_partial(&frame->h2) || frame->partial;
}

size_t frame_h2_grpc_memory(const struct frame_h2_grpc *frame)
{
	size_t memory = frame->count * sizeof(*frame->streams[0]);

	for (size_t i = 0; i < frame->count; i++)
		memory += frame_grpc_memory(&frame->streams[i]->grpc);
	return memory;
}

/* Its index, or that of none. */
static size_t find(const struct frame_h2_grpc *frame, uint32_t stream)
{
	size_t i = 0;

	if (frame->current < frame->count && frame->ids[frame->current] == stream)
		return frame->current;
	while (i < frame->count && frame->ids[i] != stream)
		i++;
	return i;
}

/* A place for one more stream: a new one, or that of one that is inside no message. */
static enum fault find_place(struct frame_h2_grpc *frame, size_t *ret_place)
{
	struct h2_stream *stream;

	if (frame->count < H2_STREAMS_MAX) {
		stream = calloc(1, sizeof(*stream));
		if (!stream)
			return FAULT_NO_MEMORY;
		frame->streams[frame->count] = stream;
		*ret_place = frame->count++;
		return FAULT_NONE;
	}
	for (size_t i = 0; i < H2_STREAMS_MAX; i++) {
		size_t place = (frame->hand + i) % H2_STREAMS_MAX;

		if (!frame_grpc_partial(&frame->streams[place]->grpc)) {
			frame->hand = place + 1;
			*ret_place = place;
			return FAULT_NONE;
		}
	}
	return FAULT_TOO_LARGE;
}

/* DATA of the stream comes. */
static enum fault enter(struct frame_h2_grpc *frame, uint32_t stream)
{
	size_t place = find(frame, stream);
	enum fault fault;

	if (place < frame->count) {
		frame->current = place;
		return frame->streams[place]->ended ? FAULT_PROTOCOL : FAULT_NONE;
	}
	fault = find_place(frame, &place);
	if (fault)
		return fault;
	frame->current = place;
	frame->ids[place] = stream;
	frame->streams[place]->ended = false;
	frame_grpc_init(&frame->streams[place]->grpc, frame->coding, false, frame->limit);
	return FAULT_NONE;
}

enum fault frame_h2_grpc_end(struct frame_h2_grpc *frame, uint32_t stream)
{
	size_t place = find(frame, stream);

	if (place == frame->count)
		return FAULT_NONE;
	if (frame_grpc_partial(&frame->streams[place]->grpc))
		return FAULT_TRUNCATED;
	frame->streams[place]->ended = true;
	return FAULT_NONE;
}

static enum fault end_frame(struct frame_h2_grpc *frame, const struct h2_piece *unit)
{
	size_t place;

	if (unit->type == H2_RST_STREAM)
		return frame_h2_grpc_end(frame, unit->stream);
	if (unit->type != H2_DATA)
		return FAULT_NONE;
	/* A frame without data did not enter the stream. */
	place = find(frame, unit->stream);
	if (place < frame->count && frame->streams[place]->ended)
		return FAULT_PROTOCOL;
	return unit->end_stream ? frame_h2_grpc_end(frame, unit->stream) : FAULT_NONE;
}

static enum fault next_frame(struct frame_h2_grpc *frame, const uint8_t *data, size_t len,
			     struct h2_piece *piece)
{
	size_t before = piece->used, at;
	enum fault fault = frame_h2_next(&frame->h2, data, len, piece);

	if (fault)
		return fault;
	if (piece->kind == PIECE_DATA) {
		at = (size_t)(piece->data - data);
		frame->pending = piece->len;
		frame->last_kept = piece->used < at + piece->len;
		piece->kind = PIECE_NOTHING;
		piece->used = at;
		fault = enter(frame, piece->stream);
	} else if (piece->kind == PIECE_UNIT) {
		fault = end_frame(frame, piece);
		if (fault) {
			piece->kind = PIECE_NOTHING;
			piece->used--;
		}
	}
	piece->used += before;
	return fault;
}

/* DATA that the frame layer has handed on goes to its stream, which takes it piece by piece. */
static enum fault next_message(struct frame_h2_grpc *frame, const uint8_t *data, size_t len,
			       struct h2_piece *piece)
{
	struct frame_grpc *grpc = &frame->streams[frame->current]->grpc;
	bool partial = frame_grpc_partial(grpc);
	struct piece got = {.kind = PIECE_NOTHING};
	enum fault fault = frame_grpc_next(grpc, data, MIN(len, frame->pending), &got);

	if (fault)
		return fault;
	frame->partial -= partial;
	frame->partial += frame_grpc_partial(grpc);
	frame->pending -= got.used;
	piece->kind = got.kind;
	piece->type = H2_DATA;
	piece->stream = frame->ids[frame->current];
	piece->data = got.data;
	piece->len = got.len;
	piece->used += got.used;
	if (!frame->pending)
		piece->used -= frame->last_kept;
	return FAULT_NONE;
}

enum fault frame_h2_grpc_next(struct frame_h2_grpc *frame, const uint8_t *data, size_t len,
			      struct h2_piece *ret_piece)
{
	struct h2_piece piece = {.kind = PIECE_NOTHING};

	while (!frame->fault && piece.kind == PIECE_NOTHING && piece.used < len) {
		const uint8_t *rest = data + piece.used;

		frame->fault = frame->pending ? next_message(frame, rest, len - piece.used, &piece)
					      : next_frame(frame, rest, len - piece.used, &piece);
	}
	if (frame->fault && piece.kind == PIECE_NOTHING && !piece.used)
		return frame->fault;
	*ret_piece = piece;
	return FAULT_NONE;
}
