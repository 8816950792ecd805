/* SPDX-License-Identifier: Apache-2.0 */
#include "core/frame_h2.h"

#define FLAG_END_STREAM 0x01u
#define FLAG_ACK	0x01u
#define FLAG_PADDED	0x08u

/* Where in the header a field ends. */
#define LENGTH_END 3u
#define TYPE_AT	   3u
#define FLAGS_AT   4u

#define STREAM_MASK 0x7fffffffu /* without the reserved bit, which is ignored (4.1) */

/* RFC 9113 6.5.2, and RFC 8441 3. */
#define SETTING_ENABLE_PUSH    0x2u
#define SETTING_WINDOW_SIZE    0x4u
#define SETTING_MAX_FRAME_SIZE 0x5u
#define SETTING_ENABLE_CONNECT 0x8u

#define SETTING_LEN 6u
#define GOAWAY_LEN  8u

enum state {
	HEADER,
	PAD_LENGTH,
	DATA,
	PADDING,
	NUMBERS,
	OPAQUE,
	LAST, /* all but the last byte of the frame was taken */
};

void frame_h2_init(struct frame_h2 *frame, uint32_t max_frame)
{
	*frame = (struct frame_h2){.max_frame = max_frame, .state = HEADER};
}

bool frame_h2_partial(const struct frame_h2 *frame)
{
	return frame->state != HEADER || frame->have;
}

static void emit(struct h2_piece *piece, enum piece_kind kind, const uint8_t *data, size_t len)
{
	piece->kind = kind;
	piece->data = data;
	piece->len = len;
}

/* Takes len bytes of the payload, but for its last one. */
static void take(struct frame_h2 *frame, size_t len, struct h2_piece *piece)
{
	frame->left -= (uint32_t)len;
	piece->used += len;
	if (!frame->left) {
		piece->used--;
		frame->state = LAST;
	}
}

static bool length_fits(const struct frame_h2 *frame)
{
	switch (frame->type) {
	case H2_PRIORITY:
		return frame->left == 5;
	case H2_RST_STREAM:
	case H2_WINDOW_UPDATE:
		return frame->left == 4;
	case H2_SETTINGS:
		return frame->left % SETTING_LEN == 0;
	case H2_PING:
		return frame->left == 8;
	case H2_GOAWAY:
		return frame->left >= GOAWAY_LEN;
	default:
		return true;
	}
}

static enum fault judge_type(const struct frame_h2 *frame)
{
	switch (frame->type) {
	case H2_HEADERS:
	case H2_PUSH_PROMISE:
	case H2_CONTINUATION:
		return FAULT_UNFRAMED;
	default:
		return length_fits(frame) ? FAULT_NONE : FAULT_PROTOCOL;
	}
}

static bool flags_fit(const struct frame_h2 *frame)
{
	if (frame->type == H2_DATA && frame->flags & FLAG_PADDED)
		return frame->left > 0;
	return frame->type != H2_SETTINGS || !(frame->flags & FLAG_ACK) || !frame->left;
}

static bool stream_fits(const struct frame_h2 *frame)
{
	switch (frame->type) {
	case H2_DATA:
	case H2_PRIORITY:
	case H2_RST_STREAM:
		return frame->stream != 0;
	case H2_SETTINGS:
	case H2_PING:
	case H2_GOAWAY:
		return frame->stream == 0;
	default:
		return true;
	}
}

static enum state first_state(const struct frame_h2 *frame)
{
	if (!frame->left)
		return LAST;
	switch (frame->type) {
	case H2_DATA:
		return frame->flags & FLAG_PADDED ? PAD_LENGTH : DATA;
	case H2_PRIORITY:
	case H2_RST_STREAM:
	case H2_SETTINGS:
	case H2_GOAWAY:
	case H2_WINDOW_UPDATE:
		return NUMBERS;
	default:
		return OPAQUE;
	}
}

/* The header is whole with the next byte. */
static enum fault begin_payload(struct frame_h2 *frame, struct h2_piece *piece)
{
	frame->stream &= STREAM_MASK;
	if (!stream_fits(frame))
		return FAULT_PROTOCOL;
	frame->have = 0;
	frame->data_left = frame->left;
	frame->utf8.have = 0;
	frame->state = (uint8_t)first_state(frame);
	/* That of a frame without payload is its last. */
	piece->used += frame->state != LAST;
	return FAULT_NONE;
}

static enum fault header(struct frame_h2 *frame, uint8_t byte, struct h2_piece *piece)
{
	unsigned int at = frame->have++;
	enum fault fault = FAULT_NONE;

	if (at == 0)
		frame->left = frame->stream = 0;
	if (at < LENGTH_END) {
		frame->left = frame->left << 8 | byte;
		if (at + 1 == LENGTH_END && frame->left > frame->max_frame)
			return FAULT_PROTOCOL;
	} else if (at == TYPE_AT) {
		frame->type = byte;
		fault = judge_type(frame);
	} else if (at == FLAGS_AT) {
		frame->flags = byte;
		if (!flags_fit(frame))
			return FAULT_PROTOCOL;
	} else {
		frame->stream = frame->stream << 8 | byte;
		if (at + 1 == H2_HEADER_LEN)
			return begin_payload(frame, piece);
	}
	piece->used += !fault;
	return fault;
}

static enum fault pad_length(struct frame_h2 *frame, uint8_t byte, struct h2_piece *piece)
{
	if (byte >= frame->left)
		return FAULT_PROTOCOL;
	frame->data_left = frame->left - 1 - byte;
	frame->state = frame->data_left ? DATA : PADDING;
	take(frame, 1, piece);
	return FAULT_NONE;
}

static void payload(struct frame_h2 *frame, const uint8_t *data, size_t len, struct h2_piece *piece)
{
	len = MIN(len, (size_t)frame->data_left);
	emit(piece, PIECE_DATA, data, len);
	frame->data_left -= (uint32_t)len;
	if (!frame->data_left)
		frame->state = PADDING;
	take(frame, len, piece);
}

static enum fault padding(struct frame_h2 *frame, const uint8_t *data, size_t len,
			  struct h2_piece *piece)
{
	size_t at = 0;

	len = MIN(len, (size_t)frame->left);
	while (at < len && !data[at])
		at++;
	if (!at)
		return FAULT_PROTOCOL;
	take(frame, at, piece);
	return FAULT_NONE;
}

static uint32_t number(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static bool setting_fits(const uint8_t *setting)
{
	uint32_t value = number(setting + 2);

	switch (setting[0] << 8 | setting[1]) {
	case SETTING_ENABLE_PUSH:
	case SETTING_ENABLE_CONNECT:
		return value <= 1;
	case SETTING_WINDOW_SIZE:
		return value <= STREAM_MASK;
	case SETTING_MAX_FRAME_SIZE:
		return value >= H2_MAX_FRAME_MIN && value <= H2_MAX_FRAME_MAX;
	default:
		return true;
	}
}

static enum fault numbers(struct frame_h2 *frame, uint8_t byte, struct h2_piece *piece)
{
	size_t need = frame->type == H2_SETTINGS ? SETTING_LEN : sizeof(frame->fixed);
	bool fits = true;

	frame->fixed[frame->have++] = byte;
	if (frame->have == need || frame->left == 1) {
		frame->have = 0;
		if (frame->type == H2_SETTINGS)
			fits = setting_fits(frame->fixed);
		else if (frame->type == H2_WINDOW_UPDATE)
			fits = number(frame->fixed) & STREAM_MASK;
		else if (frame->type == H2_GOAWAY)
			frame->state = OPAQUE;
	}
	if (!fits)
		return FAULT_PROTOCOL;
	take(frame, 1, piece);
	return FAULT_NONE;
}

/* Hands on what must be text, up to its end or to what is not UTF-8. */
static enum fault opaque(struct frame_h2 *frame, const uint8_t *data, size_t len,
			 struct h2_piece *piece)
{
	size_t at;

	len = MIN(len, (size_t)frame->left);
	at = utf8_take(&frame->utf8, data, len, len == frame->left);
	if (!at)
		return FAULT_BAD_FRAME;
	emit(piece, PIECE_META, data, at);
	frame->text_open = true;
	take(frame, at, piece);
	return FAULT_NONE;
}

static void last(struct frame_h2 *frame, struct h2_piece *piece)
{
	if (frame->text_open) {
		frame->text_open = false;
		piece->kind = PIECE_META_END;
		return;
	}
	piece->used++;
	piece->kind = PIECE_UNIT;
	piece->end_stream = frame->type == H2_DATA && frame->flags & FLAG_END_STREAM;
	frame->state = HEADER;
}

static enum fault step(struct frame_h2 *frame, const uint8_t *data, size_t len,
		       struct h2_piece *piece)
{
	switch ((enum state)frame->state) {
	case HEADER:
		return header(frame, *data, piece);
	case PAD_LENGTH:
		return pad_length(frame, *data, piece);
	case DATA:
		payload(frame, data, len, piece);
		break;
	case PADDING:
		return padding(frame, data, len, piece);
	case NUMBERS:
		return numbers(frame, *data, piece);
	case OPAQUE:
		return opaque(frame, data, len, piece);
	case LAST:
		last(frame, piece);
		break;
	}
	return FAULT_NONE;
}

enum fault frame_h2_next(struct frame_h2 *frame, const uint8_t *data, size_t len,
			 struct h2_piece *ret_piece)
{
	struct h2_piece piece = {.kind = PIECE_NOTHING};

	while (!frame->fault && piece.kind == PIECE_NOTHING && piece.used < len)
		frame->fault = step(frame, data + piece.used, len - piece.used, &piece);
	if (frame->fault && piece.kind == PIECE_NOTHING && !piece.used)
		return frame->fault;
	piece.type = frame->type;
	piece.stream = frame->stream;
	*ret_piece = piece;
	return FAULT_NONE;
}
