/* SPDX-License-Identifier: Apache-2.0 */
#include "core/frame_json_array.h"

#include "core/json.h"

/* Where in the array the next byte stands. */
enum state {
	BEFORE,
	FIRST,	/* behind the bracket */
	NEXT,	/* behind a comma */
	NESTED, /* in an object, an array or a string */
	SCALAR, /* in a number or a word */
	AFTER,	/* behind an element */
	ENDED,
};

void frame_json_array_init(struct frame_json_array *frame, uint64_t max_message)
{
	*frame = (struct frame_json_array){.limit = max_message, .state = BEFORE};
}

bool frame_json_array_partial(const struct frame_json_array *frame)
{
	return frame->begun;
}

bool frame_json_array_ended(const struct frame_json_array *frame)
{
	return frame->state == ENDED;
}

static bool is_space(uint8_t byte)
{
	return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

static void end_unit(struct frame_json_array *frame, enum piece_kind kind, enum state state,
		     struct piece *piece)
{
	piece->kind = kind;
	frame->state = (uint8_t)state;
	frame->begun = frame->whole = false;
	frame->payload = 0;
}

/* Takes no byte: the first one is part of the element. */
static enum fault begin_element(struct frame_json_array *frame, uint8_t byte)
{
	switch (byte) {
	case '{':
	case '[':
	case '"':
		frame->state = NESTED;
		return FAULT_NONE;
	case '-':
	case '0' ... '9':
	case 't':
	case 'f':
	case 'n':
		frame->state = SCALAR;
		return FAULT_NONE;
	default:
		return FAULT_BAD_JSON;
	}
}

/* Length of what belongs to the string under way. */
static size_t in_string(struct frame_json_array *frame, const uint8_t *data, size_t len)
{
	size_t at = frame->escaped;

	frame->escaped = false;
	while (at < len) {
		uint8_t byte = data[at++];

		if (byte == '"') {
			frame->in_string = false;
			frame->whole = !frame->depth;
			break;
		}
		if (byte == '\\') {
			frame->escaped = at == len;
			at += !frame->escaped;
		}
	}
	return at;
}

/* Length of what belongs to the element under way, up to where it nests too deep. */
static size_t in_element(struct frame_json_array *frame, const uint8_t *data, size_t len)
{
	size_t at = 0;

	while (at < len && !frame->whole) {
		if (frame->in_string) {
			at += in_string(frame, data + at, len - at);
			continue;
		}
		switch (data[at]) {
		case '{':
		case '[':
			if (frame->depth == JSON_DEPTH_MAX)
				return at;
			frame->depth++;
			break;
		case '}':
		case ']':
			frame->whole = !--frame->depth;
			break;
		case '"':
			frame->in_string = true;
			break;
		default:
			break;
		}
		at++;
	}
	return at;
}

static size_t in_scalar(const uint8_t *data, size_t len)
{
	size_t at = 0;

	while (at < len && data[at] != ',' && data[at] != ']' && !is_space(data[at]))
		at++;
	return at;
}

static enum fault element(struct frame_json_array *frame, const uint8_t *data, size_t len,
			  struct piece *piece)
{
	size_t room = (size_t)MIN(frame->limit - frame->payload, (uint64_t)len), at;

	if (frame->state == SCALAR && !in_scalar(data, 1)) {
		end_unit(frame, PIECE_MESSAGE, AFTER, piece);
		return FAULT_NONE;
	}
	at = frame->state == SCALAR ? in_scalar(data, room) : in_element(frame, data, room);
	if (!at)
		return FAULT_TOO_LARGE;
	piece->kind = PIECE_DATA;
	piece->data = data;
	piece->len = at;
	piece->used += at - frame->whole;
	frame->payload += at;
	return FAULT_NONE;
}

static enum fault between(struct frame_json_array *frame, uint8_t byte, struct piece *piece)
{
	bool awaits = frame->state == FIRST || frame->state == NEXT;
	bool may_end = frame->state == FIRST || frame->state == AFTER;

	if (may_end && byte == ']')
		frame->state = ENDED;
	else if (frame->state == BEFORE && byte == '[')
		frame->state = FIRST;
	else if (frame->state == AFTER && byte == ',')
		frame->state = NEXT;
	else if (!is_space(byte))
		return awaits ? begin_element(frame, byte) : FAULT_BAD_JSON;
	frame->begun = true;
	piece->used++;
	if (frame->state == ENDED)
		end_unit(frame, PIECE_UNIT, ENDED, piece);
	return FAULT_NONE;
}

static enum fault step(struct frame_json_array *frame, const uint8_t *data, size_t len,
		       struct piece *piece)
{
	if (frame->state != NESTED && frame->state != SCALAR)
		return between(frame, *data, piece);
	if (!frame->whole)
		return element(frame, data, len, piece);
	piece->used++;
	end_unit(frame, PIECE_MESSAGE, AFTER, piece);
	return FAULT_NONE;
}

enum fault frame_json_array_next(struct frame_json_array *frame, const uint8_t *data, size_t len,
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
