/* SPDX-License-Identifier: Apache-2.0 */
#include "core/frame_eventstream.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ZLIB_CONST
#include <zlib.h>

#define PRELUDE_LEN 12u
#define CRC_LEN	    4u
#define LENGTHS_LEN 8u /* of the prelude, what its CRC is of */

enum state {
	PRELUDE,
	HEADER, /* between two headers, or behind the last */
	NAME,
	TYPE,
	SEPARATOR, /* ": " is due */
	VALUE_LEN,
	TEXT,	 /* a string or a byte array */
	NUMBER,	 /* of a fixed length */
	WRITTEN, /* what was written out is due */
	HEADER_END,
	PAYLOAD,
	CRC,
};

enum type {
	TRUE,
	FALSE,
	BYTE,
	SHORT,
	INTEGER,
	LONG,
	BYTES,
	STRING,
	TIMESTAMP,
	UUID,
	_TYPE_MAX,
};

/* Bytes of a value, or of its length. */
static const uint8_t type_len[_TYPE_MAX] = {
	[BYTE] = 1,  [SHORT] = 2,  [INTEGER] = 4,   [LONG] = 8,
	[BYTES] = 2, [STRING] = 2, [TIMESTAMP] = 8, [UUID] = 16,
};

static const uint8_t separator[] = {':', ' '};

void frame_eventstream_init(struct frame_eventstream *frame, uint64_t max_message)
{
	*frame = (struct frame_eventstream){.limit = max_message, .state = PRELUDE};
}

bool frame_eventstream_partial(const struct frame_eventstream *frame)
{
	return frame->state != PRELUDE || frame->have;
}

static void emit(struct piece *piece, enum piece_kind kind, const void *data, size_t len)
{
	piece->kind = kind;
	piece->data = data;
	piece->len = len;
}

/* Takes bytes that the message's CRC is of. */
static void take(struct frame_eventstream *frame, const uint8_t *data, size_t len,
		 struct piece *piece)
{
	frame->crc = (uint32_t)crc32(frame->crc, data, (uInt)len);
	piece->used += len;
}

static uint64_t big_endian(const uint8_t *data, size_t len)
{
	uint64_t value = 0;

	for (size_t i = 0; i < len; i++)
		value = value << 8 | data[i];
	return value;
}

/* The fixed part under way gets its next byte; is it whole? */
static bool fixed_byte(struct frame_eventstream *frame, uint8_t byte, size_t len)
{
	frame->fixed[frame->have++] = byte;
	if (frame->have < len)
		return false;
	frame->have = 0;
	return true;
}

static enum fault prelude(struct frame_eventstream *frame, uint8_t byte, struct piece *piece)
{
	uint64_t total, headers, payload;

	if (fixed_byte(frame, byte, PRELUDE_LEN)) {
		if (big_endian(frame->fixed + LENGTHS_LEN, CRC_LEN) !=
		    crc32(0, frame->fixed, LENGTHS_LEN))
			return FAULT_BAD_FRAME;
		total = big_endian(frame->fixed, 4);
		headers = big_endian(frame->fixed + 4, 4);
		if (total < PRELUDE_LEN + CRC_LEN || headers > total - PRELUDE_LEN - CRC_LEN)
			return FAULT_BAD_FRAME;
		payload = total - PRELUDE_LEN - CRC_LEN - headers;
		if (headers > EVENTSTREAM_HEADERS_MAX || payload > frame->limit)
			return FAULT_TOO_LARGE;
		frame->headers_left = (uint32_t)headers;
		frame->payload_left = (uint32_t)payload;
		frame->state = HEADER;
	}
	take(frame, &byte, 1, piece);
	return FAULT_NONE;
}

/* A header has at least its name's length, a byte of name and a type. */
static enum fault header(struct frame_eventstream *frame, uint8_t byte, struct piece *piece)
{
	if (!frame->headers_left) {
		frame->state = frame->payload_left ? PAYLOAD : CRC;
		return FAULT_NONE;
	}
	if (!byte || frame->headers_left < byte + 2u)
		return FAULT_BAD_FRAME;
	frame->headers_left--;
	frame->text_left = byte;
	frame->state = NAME;
	take(frame, &byte, 1, piece);
	return FAULT_NONE;
}

/* Hands on a name, a string or a byte array, up to its end or to what is not UTF-8. */
static enum fault text(struct frame_eventstream *frame, const uint8_t *data, size_t len,
		       struct piece *piece)
{
	size_t at;

	len = MIN(len, (size_t)frame->text_left);
	at = utf8_take(&frame->utf8, data, len, len == frame->text_left);
	if (!at)
		return FAULT_BAD_UTF8;
	emit(piece, PIECE_META, data, at);
	take(frame, data, at, piece);
	frame->headers_left -= (uint32_t)at;
	frame->text_left -= (uint32_t)at;
	if (!frame->text_left)
		frame->state = frame->state == NAME ? TYPE : HEADER_END;
	return FAULT_NONE;
}

static enum fault type(struct frame_eventstream *frame, uint8_t byte, struct piece *piece)
{
	frame->headers_left--;
	if (byte >= _TYPE_MAX || type_len[byte] > frame->headers_left)
		return FAULT_BAD_FRAME;
	frame->type = byte;
	frame->state = SEPARATOR;
	take(frame, &byte, 1, piece);
	return FAULT_NONE;
}

static void write_uuid(struct frame_eventstream *frame)
{
	char *at = frame->value;

	for (unsigned int i = 0; i < 16; i++) {
		/* RFC 9562 4: groups of 4, 2, 2, 2 and 6 bytes. */
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*at++ = '-';
		at += snprintf(at, 3, "%02x", frame->fixed[i]);
	}
}

/* The value is whole, in frame->fixed. */
static void write_value(struct frame_eventstream *frame)
{
	uint64_t value = big_endian(frame->fixed, MIN(type_len[frame->type], sizeof(uint64_t)));
	int64_t number;

	frame->state = WRITTEN;
	switch ((enum type)frame->type) {
	case TRUE:
	case FALSE:
		snprintf(frame->value, sizeof(frame->value), "%s",
			 frame->type == TRUE ? "true" : "false");
		return;
	case UUID:
		write_uuid(frame);
		return;
	case BYTE:
		number = (int8_t)value;
		break;
	case SHORT:
		number = (int16_t)value;
		break;
	case INTEGER:
		number = (int32_t)value;
		break;
	default:
		number = (int64_t)value;
		break;
	}
	snprintf(frame->value, sizeof(frame->value), "%" PRId64, number);
}

static void begin_value(struct frame_eventstream *frame, struct piece *piece)
{
	emit(piece, PIECE_META, separator, sizeof(separator));
	if (!type_len[frame->type])
		write_value(frame);
	else
		frame->state = frame->type == BYTES || frame->type == STRING ? VALUE_LEN : NUMBER;
}

static enum fault value_len(struct frame_eventstream *frame, uint8_t byte, struct piece *piece)
{
	frame->headers_left--;
	if (fixed_byte(frame, byte, type_len[frame->type])) {
		frame->text_left = (uint32_t)big_endian(frame->fixed, type_len[frame->type]);
		if (frame->text_left > frame->headers_left)
			return FAULT_BAD_FRAME;
		frame->state = frame->text_left ? TEXT : HEADER_END;
	}
	take(frame, &byte, 1, piece);
	return FAULT_NONE;
}

static void number(struct frame_eventstream *frame, uint8_t byte, struct piece *piece)
{
	frame->headers_left--;
	if (fixed_byte(frame, byte, type_len[frame->type]))
		write_value(frame);
	take(frame, &byte, 1, piece);
}

static void payload(struct frame_eventstream *frame, const uint8_t *data, size_t len,
		    struct piece *piece)
{
	len = MIN(len, (size_t)frame->payload_left);
	emit(piece, PIECE_DATA, data, len);
	take(frame, data, len, piece);
	frame->payload_left -= (uint32_t)len;
	if (!frame->payload_left)
		frame->state = CRC;
}

static enum fault crc(struct frame_eventstream *frame, uint8_t byte, struct piece *piece)
{
	if (fixed_byte(frame, byte, CRC_LEN)) {
		if (big_endian(frame->fixed, CRC_LEN) != frame->crc)
			return FAULT_BAD_FRAME;
		frame->crc = 0;
		frame->state = PRELUDE;
		piece->kind = PIECE_MESSAGE;
	}
	piece->used++;
	return FAULT_NONE;
}

static enum fault step(struct frame_eventstream *frame, const uint8_t *data, size_t len,
		       struct piece *piece)
{
	switch ((enum state)frame->state) {
	case PRELUDE:
		return prelude(frame, *data, piece);
	case HEADER:
		return header(frame, *data, piece);
	case NAME:
	case TEXT:
		return text(frame, data, len, piece);
	case TYPE:
		return type(frame, *data, piece);
	case SEPARATOR:
		begin_value(frame, piece);
		break;
	case VALUE_LEN:
		return value_len(frame, *data, piece);
	case NUMBER:
		number(frame, *data, piece);
		break;
	case WRITTEN:
		emit(piece, PIECE_META, frame->value, strlen(frame->value));
		frame->state = HEADER_END;
		break;
	case HEADER_END:
		piece->kind = PIECE_META_END;
		frame->state = HEADER;
		break;
	case PAYLOAD:
		payload(frame, data, len, piece);
		break;
	case CRC:
		return crc(frame, *data, piece);
	}
	return FAULT_NONE;
}

enum fault frame_eventstream_next(struct frame_eventstream *frame, const uint8_t *data, size_t len,
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
