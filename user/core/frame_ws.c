/* SPDX-License-Identifier: Apache-2.0 */
#include "core/frame_ws.h"

#include <errno.h>
#include <stdlib.h>

#include "core/frame_ws_inflate.h"
#include "core/frame_ws_mask.h"
#include "core/utf8.h"

/* RFC 6455 5.2 */
#define FIN	    0x80
#define RSV1	    0x40
#define RSV2_RSV3   0x30
#define OPCODE	    0x0f
#define CONTROL	    0x08
#define MASK	    0x80
#define LENGTH	    0x7f
#define LENGTH_16   126
#define LENGTH_64   127
#define CONTROL_MAX 125

#define PLAIN_SIZE (16u << 10)
/* The inflater may take two bytes of it, and have the rest again. */
#define CODED_SIZE (1u << 10)

enum opcode {
	OPCODE_CONTINUATION = 0,
	OPCODE_TEXT = 1,
	OPCODE_BINARY = 2,
	OPCODE_CLOSE = 8,
	OPCODE_PONG = 10,
};

enum state {
	FIRST,	  /* a frame begins */
	SECOND,	  /* the bit of the mask, and the length or its kind */
	EXTENDED, /* a longer length */
	KEY,
	CLOSE_CODE,
	PAYLOAD,
	LAST, /* all but the frame's last byte is taken, and that one is dealt with too */
};

struct frame_ws {
	struct frame_ws_config config;
	enum state state;
	enum fault fault;
	/* The frame under way. */
	bool fin;
	uint8_t opcode;
	unsigned int lacks; /* EXTENDED, KEY, CLOSE_CODE: bytes to come */
	uint64_t value;	    /* EXTENDED, CLOSE_CODE: of those that came */
	uint64_t left;	    /* bytes of the payload that are not taken; before it: all */
	uint8_t key[FRAME_WS_KEY_LEN];
	unsigned int at; /* in the key */
	bool fed;	 /* the inflater has the first of the bytes that are not taken */
	bool meta;	 /* a text that is no payload is under way */
	/* The message under way. A close ends it for good: then the text is the reason. */
	bool in_message, text, coded;
	bool closed;
	struct utf8 utf8;
	uint64_t room; /* for payload that is not coded */
	struct frame_ws_inflater *inflater;
	uint8_t plain[]; /* PLAIN_SIZE, where there is a mask */
};

int frame_ws_new(const struct frame_ws_config *config, struct frame_ws **ret_frame)
{
	struct frame_ws *frame = calloc(1, sizeof(*frame) + (config->client ? PLAIN_SIZE : 0));
	int r;

	if (!frame)
		return -ENOMEM;
	frame->config = *config;
	if (config->permessage_deflate) {
		r = frame_ws_inflater_new(!config->no_context_takeover, config->max_message,
					  &frame->inflater);
		if (r) {
			free(frame);
			return r;
		}
	}
	*ret_frame = frame;
	return 0;
}

void frame_ws_free(struct frame_ws *frame)
{
	if (!frame)
		return;
	frame_ws_inflater_free(frame->inflater);
	free(frame);
}

bool frame_ws_partial(const struct frame_ws *frame)
{
	return frame->in_message || frame->state != FIRST;
}

bool frame_ws_is_text(const struct frame_ws *frame)
{
	return frame->text;
}

bool frame_ws_closed(const struct frame_ws *frame)
{
	return frame->closed;
}

size_t frame_ws_memory(const struct frame_ws *frame)
{
	size_t size = sizeof(*frame) + (frame->config.client ? PLAIN_SIZE : 0);

	return size + (frame->inflater ? frame_ws_inflater_memory(frame->inflater) : 0);
}

static bool is_control(const struct frame_ws *frame)
{
	return frame->opcode & CONTROL;
}

static void begin_message(struct frame_ws *frame, bool coded)
{
	frame->in_message = true;
	frame->text = frame->opcode == OPCODE_TEXT;
	frame->coded = coded;
	frame->room = frame->config.max_message;
	if (coded)
		frame_ws_inflate_begin(frame->inflater);
}

static enum fault first_byte(struct frame_ws *frame, uint8_t byte, struct piece *piece)
{
	bool rsv1 = byte & RSV1;

	frame->fin = byte & FIN;
	frame->opcode = byte & OPCODE;
	if (frame->closed || byte & RSV2_RSV3)
		return FAULT_PROTOCOL;
	if (is_control(frame)) {
		if (frame->opcode > OPCODE_PONG || !frame->fin || rsv1)
			return FAULT_PROTOCOL;
		if (frame->opcode == OPCODE_CLOSE)
			frame->utf8.have = 0;
	} else {
		bool continues = frame->opcode == OPCODE_CONTINUATION;

		if (frame->opcode > OPCODE_BINARY || continues != frame->in_message)
			return FAULT_PROTOCOL;
		/* RFC 7692 6.1: the bit is of the message, and stands in its first frame. */
		if (rsv1 && (continues || !frame->config.permessage_deflate))
			return FAULT_PROTOCOL;
		if (!continues)
			begin_message(frame, rsv1);
	}
	frame->state = SECOND;
	piece->used++;
	return FAULT_NONE;
}

/* The byte in hand is the header's last, and the frame's where it has no payload. */
static void end_header(struct frame_ws *frame, struct piece *piece)
{
	frame->at = 0;
	frame->fed = false;
	if (!frame->left) {
		frame->state = LAST;
		return;
	}
	piece->used++;
	if (frame->opcode == OPCODE_CLOSE) {
		frame->state = CLOSE_CODE;
		frame->lacks = 2;
		frame->value = 0;
	} else {
		frame->state = PAYLOAD;
	}
}

/* The byte in hand is the length's last. */
static enum fault end_length(struct frame_ws *frame, struct piece *piece)
{
	if (!is_control(frame) && !frame->coded && frame->left > frame->room)
		return FAULT_TOO_LARGE;
	if (!frame->config.client) {
		end_header(frame, piece);
		return FAULT_NONE;
	}
	piece->used++;
	frame->state = KEY;
	frame->lacks = FRAME_WS_KEY_LEN;
	return FAULT_NONE;
}

static enum fault second_byte(struct frame_ws *frame, uint8_t byte, struct piece *piece)
{
	uint8_t length = byte & LENGTH;

	if ((byte & MASK ? true : false) != frame->config.client)
		return FAULT_PROTOCOL;
	if (is_control(frame) &&
	    (length > CONTROL_MAX || (frame->opcode == OPCODE_CLOSE && length == 1)))
		return FAULT_PROTOCOL;
	if (length < LENGTH_16) {
		frame->left = length;
		return end_length(frame, piece);
	}
	frame->state = EXTENDED;
	frame->lacks = length == LENGTH_16 ? 2 : 8;
	frame->value = 0;
	frame->left = length;
	piece->used++;
	return FAULT_NONE;
}

static enum fault extended_byte(struct frame_ws *frame, uint8_t byte, struct piece *piece)
{
	/* RFC 6455 5.2: the most significant bit of 64 is 0. */
	if (frame->lacks == 8 && byte & 0x80)
		return FAULT_PROTOCOL;
	frame->value = frame->value << 8 | byte;
	if (--frame->lacks) {
		piece->used++;
		return FAULT_NONE;
	}
	if (frame->value <= (frame->left == LENGTH_16 ? CONTROL_MAX : UINT16_MAX))
		return FAULT_PROTOCOL;
	frame->left = frame->value;
	return end_length(frame, piece);
}

static void key_byte(struct frame_ws *frame, uint8_t byte, struct piece *piece)
{
	frame->key[FRAME_WS_KEY_LEN - frame->lacks] = byte;
	if (--frame->lacks)
		piece->used++;
	else
		end_header(frame, piece);
}

/* Takes len bytes of the payload, but the last one only as the frame ends. */
static void take(struct frame_ws *frame, size_t len, struct piece *piece)
{
	if (len == frame->left) {
		len--;
		frame->state = LAST;
	}
	frame->left -= len;
	frame->at = (unsigned int)((frame->at + len) % FRAME_WS_KEY_LEN);
	piece->used += len;
}

/*
 * RFC 6455 7.4: what may be sent of the defined ones, of those registered with IANA since
 * (1012 to 1014), and those of libraries and applications.
 */
static bool close_code_fits(uint64_t code)
{
	return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) ||
	       (code >= 3000 && code <= 4999);
}

static enum fault code_byte(struct frame_ws *frame, uint8_t byte, struct piece *piece)
{
	if (frame->config.client)
		byte ^= frame->key[frame->at];
	frame->value = frame->value << 8 | byte;
	if (!--frame->lacks) {
		if (!close_code_fits(frame->value))
			return FAULT_PROTOCOL;
		frame->state = PAYLOAD;
	}
	take(frame, 1, piece);
	return FAULT_NONE;
}

/* Hands on what may stand there of len (at least 1) bytes; *ret_len is how much that is. */
static enum fault emit(struct frame_ws *frame, const uint8_t *data, size_t len, struct piece *piece,
		       size_t *ret_len)
{
	bool control = is_control(frame);
	size_t fits = len;

	if (control ? frame->opcode == OPCODE_CLOSE : frame->text)
		fits = utf8_take(&frame->utf8, data, len, false);
	*ret_len = fits;
	if (fits) {
		piece->kind = control ? PIECE_META : PIECE_DATA;
		piece->data = data;
		piece->len = fits;
		frame->meta = control;
	}
	return fits < len ? FAULT_BAD_UTF8 : FAULT_NONE;
}

static enum fault plain_payload(struct frame_ws *frame, const uint8_t *data, size_t len,
				struct piece *piece)
{
	enum fault fault;
	size_t fits;

	if (frame->config.client) {
		len = MIN(len, (size_t)PLAIN_SIZE);
		frame_ws_unmask(frame->key, frame->at, data, len, frame->plain);
		data = frame->plain;
	}
	fault = emit(frame, data, len, piece, &fits);
	if (!is_control(frame))
		frame->room -= fits;
	take(frame, fits, piece);
	return fault;
}

static enum fault coded_payload(struct frame_ws *frame, const uint8_t *data, size_t len,
				struct piece *piece)
{
	struct frame_ws_inflated inflated;
	size_t used = frame->fed, fits;
	enum fault fault;

	if (frame->config.client && !frame->fed) {
		len = MIN(len, (size_t)CODED_SIZE);
		frame_ws_unmask(frame->key, frame->at, data, len, frame->plain);
		data = frame->plain;
	}
	fault = frame_ws_inflate(frame->inflater, data, len, &inflated);
	if (!fault && inflated.len)
		fault = emit(frame, inflated.data, inflated.len, piece, &fits);
	if (fault)
		return fault;
	/* One byte stays for what is still inside. */
	used += inflated.used;
	frame->fed = inflated.more && used;
	take(frame, used - frame->fed, piece);
	return FAULT_NONE;
}

static enum fault payload(struct frame_ws *frame, const uint8_t *data, size_t len,
			  struct piece *piece)
{
	len = (size_t)MIN(frame->left, (uint64_t)len);
	if (frame->coded && !is_control(frame))
		return coded_payload(frame, data, len, piece);
	return plain_payload(frame, data, len, piece);
}

/* The message or close is whole: is it? */
static enum fault end_content(struct frame_ws *frame, struct piece *piece)
{
	struct frame_ws_inflated inflated;
	enum fault fault;
	size_t fits;

	if (frame->coded && !is_control(frame)) {
		fault = frame_ws_inflate_end(frame->inflater, &inflated);
		if (!fault && inflated.len)
			return emit(frame, inflated.data, inflated.len, piece, &fits);
		if (fault)
			return fault;
	}
	return frame->utf8.have ? FAULT_BAD_UTF8 : FAULT_NONE;
}

/* Tells what ends with the byte in hand, and takes it when all is told. */
static enum fault last_byte(struct frame_ws *frame, struct piece *piece)
{
	bool control = is_control(frame);

	if (control ? frame->opcode == OPCODE_CLOSE : frame->fin) {
		enum fault fault = end_content(frame, piece);

		if (fault || piece->kind != PIECE_NOTHING)
			return fault;
	}
	if (frame->meta) {
		frame->meta = false;
		piece->kind = PIECE_META_END;
		return FAULT_NONE;
	}
	piece->used++;
	frame->state = FIRST;
	if (control) {
		frame->closed = frame->opcode == OPCODE_CLOSE;
		if (!frame->in_message)
			piece->kind = PIECE_UNIT;
	} else if (frame->fin) {
		frame->in_message = false;
		piece->kind = PIECE_MESSAGE;
	}
	return FAULT_NONE;
}

static enum fault step(struct frame_ws *frame, const uint8_t *data, size_t len, struct piece *piece)
{
	switch (frame->state) {
	case FIRST:
		return first_byte(frame, *data, piece);
	case SECOND:
		return second_byte(frame, *data, piece);
	case EXTENDED:
		return extended_byte(frame, *data, piece);
	case KEY:
		key_byte(frame, *data, piece);
		break;
	case CLOSE_CODE:
		return code_byte(frame, *data, piece);
	case PAYLOAD:
		return payload(frame, data, len, piece);
	case LAST:
		return last_byte(frame, piece);
	}
	return FAULT_NONE;
}

enum fault frame_ws_next(struct frame_ws *frame, const uint8_t *data, size_t len,
			 struct piece *ret_piece)
{
	struct piece piece = {.kind = PIECE_NOTHING};

	while (!frame->fault && piece.kind == PIECE_NOTHING && piece.used < len)
		frame->fault = step(frame, data + piece.used, len - piece.used, &piece);
	/* What came before the byte at fault is taken first. */
	if (piece.kind == PIECE_NOTHING && !piece.used)
		return frame->fault;
	*ret_piece = piece;
	return FAULT_NONE;
}
