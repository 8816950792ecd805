/* SPDX-License-Identifier: Apache-2.0 */
#include "core/frame_grpc.h"

#include <errno.h>
#include <string.h>

#include "core/http1_grammar.h"

#define FLAG_COMPRESSED 0x01u
#define FLAG_TRAILERS	0x80u

enum state {
	HEADER,
	PAYLOAD,
	CODED,
	TRAILERS,
	LAST, /* all but the last byte of the unit was taken */
};

/* Where in a line of trailers the next byte stands. */
enum line { NAME, VALUE, LINE_LF };

void frame_grpc_init(struct frame_grpc *frame, enum content_coding coding, bool web,
		     uint64_t max_message)
{
	*frame = (struct frame_grpc){
		.limit = max_message,
		.coding = coding,
		.web = web,
		.state = HEADER,
	};
}

void frame_grpc_done(struct frame_grpc *frame)
{
	decoder_free(frame->decoder);
	frame->decoder = NULL;
}

bool frame_grpc_partial(const struct frame_grpc *frame)
{
	return frame->state != HEADER || frame->header_len;
}

size_t frame_grpc_memory(const struct frame_grpc *frame)
{
	return frame->decoder ? decoder_memory(frame->decoder) : 0;
}

static void emit(struct piece *piece, enum piece_kind kind, const uint8_t *data, size_t len)
{
	piece->kind = kind;
	piece->data = data;
	piece->len = len;
}

/* Takes len bytes of the payload, but for its last one. */
static void take(struct frame_grpc *frame, size_t len, struct piece *piece)
{
	frame->left -= (uint32_t)len;
	piece->used += len;
	if (!frame->left) {
		piece->used--;
		frame->state = LAST;
	}
}

static void end_unit(struct frame_grpc *frame, struct piece *piece)
{
	piece->used++;
	piece->kind = frame->flag == FLAG_TRAILERS ? PIECE_UNIT : PIECE_MESSAGE;
	frame_grpc_done(frame);
	frame->state = HEADER;
	frame->header_len = 0;
	frame->payload = 0;
}

static bool flag_known(const struct frame_grpc *frame, uint8_t flag)
{
	if (frame->trailers)
		return false;
	if (flag == FLAG_COMPRESSED)
		return frame->coding != CODING_IDENTITY;
	return !flag || (flag == FLAG_TRAILERS && frame->web);
}

/* The length is whole. */
static enum fault begin_payload(struct frame_grpc *frame, struct piece *piece)
{
	int r = 0;

	if (frame->left > frame->limit)
		return FAULT_TOO_LARGE;
	frame->trailers = frame->flag == FLAG_TRAILERS;
	/* No payload at all is not compressed either. */
	if (!frame->left) {
		end_unit(frame, piece);
		return FAULT_NONE;
	}
	frame->line = NAME;
	frame->named = false;
	frame->state = frame->trailers ? TRAILERS : PAYLOAD;
	if (frame->flag == FLAG_COMPRESSED) {
		r = decoder_new(frame->coding, &frame->decoder);
		if (r < 0)
			return r == -ENOMEM ? FAULT_NO_MEMORY : FAULT_UNSUPPORTED_CODING;
		decoder_accept_words(frame->decoder);
		frame->state = CODED;
	}
	piece->used++;
	return FAULT_NONE;
}

static enum fault header(struct frame_grpc *frame, uint8_t byte, struct piece *piece)
{
	if (!frame->header_len) {
		if (!flag_known(frame, byte))
			return FAULT_BAD_FRAME;
		frame->flag = byte;
		frame->left = 0;
	} else {
		frame->left = frame->left << 8 | byte;
	}
	if (++frame->header_len == GRPC_HEADER_LEN)
		return begin_payload(frame, piece);
	piece->used++;
	return FAULT_NONE;
}

/* Gives out what the decoder has. A fault of its waits for the last byte of the payload. */
static void drain(struct frame_grpc *frame, struct piece *piece)
{
	uint64_t room = frame->limit - frame->payload;
	const uint8_t *data;
	size_t len = 0;

	if (!frame->coding_fault)
		frame->coding_fault = decoder_next(frame->decoder, &data, &len);
	frame->draining = len > 0;
	if (!len)
		return;
	if (decoder_gave_words(frame->decoder)) {
		emit(piece, PIECE_META, data, len);
		frame->text_open = true;
		return;
	}
	if (len > room) {
		frame->coding_fault = FAULT_TOO_LARGE;
		frame->draining = false;
		len = (size_t)room;
	}
	frame->payload += len;
	if (len)
		emit(piece, PIECE_DATA, data, len);
}

/*
 * The decoder reads whole batches, counted from the beginning of the payload. The last
 * byte of one is taken when all that the batch decides was given out.
 */
static void coded(struct frame_grpc *frame, const uint8_t *data, size_t len, struct piece *piece)
{
	len = MIN(len, (size_t)frame->left);
	if (frame->draining) {
		drain(frame, piece);
	} else if (frame->coding_fault) {
		take(frame, len, piece);
	} else if (frame->fed) {
		frame->fed = false;
		take(frame, 1, piece);
	} else {
		len = MIN(len, sizeof(frame->batch) - frame->batch_len);
		memcpy(frame->batch + frame->batch_len, data, len);
		frame->batch_len += len;
		if (frame->batch_len == sizeof(frame->batch) || len == frame->left) {
			decoder_feed(frame->decoder, frame->batch, frame->batch_len);
			frame->batch_len = 0;
			frame->fed = frame->draining = true;
			len--;
		}
		take(frame, len, piece);
	}
}

/* At the last byte of the unit. */
static enum fault last(struct frame_grpc *frame, struct piece *piece)
{
	if (frame->flag == FLAG_COMPRESSED && !frame->coding_fault)
		frame->coding_fault = decoder_end(frame->decoder);
	if (frame->coding_fault)
		return frame->coding_fault == FAULT_TRUNCATED ? FAULT_BAD_ENCODING
							      : frame->coding_fault;
	end_unit(frame, piece);
	return FAULT_NONE;
}

static enum fault name_byte(struct frame_grpc *frame, uint8_t byte, bool is_last)
{
	if (byte == '\n')
		return FAULT_BARE_LF;
	if (byte == ':' && frame->named) {
		frame->line = VALUE;
		return FAULT_NONE;
	}
	if (!(http1_sets[byte] & HTTP1_TCHAR) || is_last)
		return FAULT_BAD_HEADER;
	frame->named = true;
	return FAULT_NONE;
}

/* Hands on what belongs to a line, up to its end or to the byte that is at fault. */
static enum fault line_text(struct frame_grpc *frame, const uint8_t *data, size_t len,
			    struct piece *piece)
{
	enum fault fault = FAULT_NONE;
	size_t at = 0;

	while (at < len && !fault) {
		if (frame->line == NAME)
			fault = name_byte(frame, data[at], at + 1 == frame->left);
		else if (!(http1_sets[data[at]] & HTTP1_VALUE))
			break;
		at += !fault;
	}
	if (at) {
		emit(piece, PIECE_META, data, at);
		frame->text_open = true;
		take(frame, at, piece);
		return FAULT_NONE;
	}
	if (fault)
		return fault;
	if (*data == '\n')
		return FAULT_BARE_LF;
	if (*data != '\r' || frame->left == 1)
		return FAULT_BAD_HEADER;
	frame->line = LINE_LF;
	take(frame, 1, piece);
	return FAULT_NONE;
}

static enum fault trailers(struct frame_grpc *frame, const uint8_t *data, size_t len,
			   struct piece *piece)
{
	len = MIN(len, (size_t)frame->left);
	if (frame->line != LINE_LF)
		return line_text(frame, data, len, piece);
	if (*data != '\n')
		return FAULT_BAD_HEADER;
	frame->line = NAME;
	frame->named = false;
	take(frame, 1, piece);
	return FAULT_NONE;
}

static enum fault step(struct frame_grpc *frame, const uint8_t *data, size_t len,
		       struct piece *piece)
{
	/* Whatever comes behind a text, also the end of the unit, ends it. */
	if (frame->text_open && (frame->state != TRAILERS || frame->line == LINE_LF)) {
		frame->text_open = false;
		piece->kind = PIECE_META_END;
		return FAULT_NONE;
	}
	switch ((enum state)frame->state) {
	case HEADER:
		return header(frame, *data, piece);
	case PAYLOAD:
		len = MIN(len, (size_t)frame->left);
		emit(piece, PIECE_DATA, data, len);
		take(frame, len, piece);
		return FAULT_NONE;
	case CODED:
		coded(frame, data, len, piece);
		return FAULT_NONE;
	case TRAILERS:
		return trailers(frame, data, len, piece);
	case LAST:
		return last(frame, piece);
	}
	return FAULT_NONE;
}

enum fault frame_grpc_next(struct frame_grpc *frame, const uint8_t *data, size_t len,
			   struct piece *ret_piece)
{
	struct piece piece = {.kind = PIECE_NOTHING};

	while (!frame->fault && piece.kind == PIECE_NOTHING && piece.used < len)
		frame->fault = step(frame, data + piece.used, len - piece.used, &piece);
	if (frame->fault && piece.kind == PIECE_NOTHING && !piece.used)
		return frame->fault;
	*ret_piece = piece;
	return FAULT_NONE;
}
