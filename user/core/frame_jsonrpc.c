/* SPDX-License-Identifier: Apache-2.0 */
#include "core/frame_jsonrpc.h"

#include <stdlib.h>
#include <string.h>

#include "core/http1_grammar.h"

#define LINE_FIRST 64u
/* Both names begin alike. */
#define NAME_COMMON 8u

static const char length_name[] = "content-length";
static const char type_name[] = "content-type";

enum state {
	LINE_START,
	NAME,
	LENGTH_START, /* the white space before the digits */
	LENGTH,
	LENGTH_END, /* the white space behind them */
	TYPE,
	LINE_LF,
	HEADER_LF, /* of the empty line */
	PAYLOAD,
	LAST, /* all but the last byte of the payload was taken */
};

void frame_jsonrpc_init(struct frame_jsonrpc *frame, uint64_t max_message)
{
	*frame = (struct frame_jsonrpc){.limit = max_message, .state = LINE_START};
}

void frame_jsonrpc_done(struct frame_jsonrpc *frame)
{
	free(frame->line);
	frame->line = NULL;
	frame->line_len = frame->line_capacity = 0;
}

bool frame_jsonrpc_partial(const struct frame_jsonrpc *frame)
{
	return frame->state != LINE_START || frame->header_len;
}

size_t frame_jsonrpc_memory(const struct frame_jsonrpc *frame)
{
	return frame->line_capacity;
}

static bool is_space(uint8_t byte)
{
	return byte == ' ' || byte == '\t';
}

static enum fault add_type(struct frame_jsonrpc *frame, uint8_t byte)
{
	size_t capacity = frame->line_capacity ? frame->line_capacity * 2 : LINE_FIRST;
	uint8_t *grown;

	if (frame->line_len == frame->line_capacity) {
		grown = realloc(frame->line, capacity);
		if (!grown)
			return FAULT_NO_MEMORY;
		frame->line = grown;
		frame->line_capacity = capacity;
	}
	frame->line[frame->line_len++] = byte;
	return FAULT_NONE;
}

/* The name is whole. */
static enum fault begin_value(struct frame_jsonrpc *frame)
{
	bool *has = frame->type_named ? &frame->has_type : &frame->has_length;

	if (*has)
		return frame->type_named ? FAULT_BAD_HEADER : FAULT_AMBIGUOUS_LENGTH;
	*has = true;
	frame->state = frame->type_named ? TYPE : LENGTH_START;
	return FAULT_NONE;
}

static enum fault name(struct frame_jsonrpc *frame, uint8_t byte)
{
	const char *expected;
	uint8_t lower = byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte;

	if (frame->matched == NAME_COMMON)
		frame->type_named = lower == (uint8_t)type_name[NAME_COMMON];
	expected = frame->type_named ? type_name : length_name;
	if (!expected[frame->matched])
		return byte == ':'    ? begin_value(frame)
		       : byte == '\n' ? FAULT_BARE_LF
				      : FAULT_BAD_HEADER;
	if (lower != (uint8_t)expected[frame->matched])
		return byte == '\n' ? FAULT_BARE_LF : FAULT_BAD_HEADER;
	frame->matched++;
	return FAULT_NONE;
}

static enum fault line_start(struct frame_jsonrpc *frame, uint8_t byte)
{
	if (byte == '\r') {
		frame->state = HEADER_LF;
		return FAULT_NONE;
	}
	frame->state = NAME;
	frame->matched = 0;
	frame->type_named = false;
	return name(frame, byte);
}

static enum fault length(struct frame_jsonrpc *frame, uint8_t byte)
{
	if (http1_sets[byte] & HTTP1_DIGIT && frame->state != LENGTH_END) {
		frame->state = LENGTH;
		if (__builtin_mul_overflow(frame->length, 10u, &frame->length) ||
		    __builtin_add_overflow(frame->length, byte - '0', &frame->length))
			frame->length_huge = true;
		return FAULT_NONE;
	}
	if (byte == '\n')
		return FAULT_BARE_LF;
	if (byte == '\r' && frame->state != LENGTH_START) {
		frame->state = LINE_LF;
		return FAULT_NONE;
	}
	if (!is_space(byte))
		return FAULT_BAD_HEADER;
	if (frame->state == LENGTH)
		frame->state = LENGTH_END;
	return FAULT_NONE;
}

static enum fault type(struct frame_jsonrpc *frame, uint8_t byte)
{
	if (byte == '\n')
		return FAULT_BARE_LF;
	if (byte == '\r') {
		frame->state = LINE_LF;
		return FAULT_NONE;
	}
	if (!(http1_sets[byte] & HTTP1_VALUE))
		return FAULT_BAD_HEADER;
	return frame->line_len || !is_space(byte) ? add_type(frame, byte) : FAULT_NONE;
}

/* type "/" subtype; drops it. */
static bool drop_type(struct http1_slice *text)
{
	for (unsigned int part = 0; part < 2; part++) {
		size_t len = http1_span(*text, HTTP1_TCHAR);

		if (!len)
			return false;
		http1_drop(text, len);
		if (part == 0) {
			if (!text->len || text->at[0] != '/')
				return false;
			http1_drop(text, 1);
		}
	}
	return true;
}

/* A quoted string may escape what needs none. */
static bool is_utf8(struct http1_slice value)
{
	uint8_t plain[sizeof("utf-8") - 1];
	size_t len = 0;

	for (size_t i = 0; i < value.len; i++) {
		if (value.at[i] == '"')
			continue;
		if (value.at[i] == '\\')
			i++;
		if (len == sizeof(plain))
			return false;
		plain[len++] = value.at[i];
	}
	return http1_equal((struct http1_slice){plain, len}, "utf-8") ||
	       http1_equal((struct http1_slice){plain, len}, "utf8");
}

/* The parameters of RFC 9110 5.6.6, as far as they matter: any charset is utf-8. */
static enum fault judge_type(struct http1_slice text)
{
	if (!drop_type(&text))
		return FAULT_BAD_HEADER;
	while (text.len) {
		struct http1_slice parameter, value = {0};
		size_t len;

		text = http1_trim(text);
		if (text.at[0] != ';')
			return FAULT_BAD_HEADER;
		http1_drop(&text, 1);
		text = http1_trim(text);
		parameter = (struct http1_slice){text.at, http1_span(text, HTTP1_TCHAR)};
		http1_drop(&text, parameter.len);
		/* An empty one is allowed. */
		if (!parameter.len)
			continue;
		if (!text.len || text.at[0] != '=')
			return FAULT_BAD_HEADER;
		http1_drop(&text, 1);
		len = http1_quoted(text);
		value = (struct http1_slice){text.at, len ? len : http1_span(text, HTTP1_TCHAR)};
		if (!value.len)
			return FAULT_BAD_HEADER;
		http1_drop(&text, value.len);
		if (http1_equal(parameter, "charset") && !is_utf8(value))
			return FAULT_UNSUPPORTED_CODING;
	}
	return FAULT_NONE;
}

static enum fault line_lf(struct frame_jsonrpc *frame, uint8_t byte, struct piece *piece)
{
	struct http1_slice text = http1_trim((struct http1_slice){frame->line, frame->line_len});
	enum fault fault;

	if (byte != '\n')
		return FAULT_BAD_HEADER;
	frame->state = LINE_START;
	if (!frame->type_named)
		return FAULT_NONE;
	fault = judge_type(text);
	if (fault)
		return fault;
	piece->kind = PIECE_META;
	piece->data = text.at;
	piece->len = text.len;
	frame->text_open = true;
	return FAULT_NONE;
}

static void end_message(struct frame_jsonrpc *frame, struct piece *piece)
{
	piece->kind = PIECE_MESSAGE;
	frame->state = LINE_START;
	frame->header_len = 0;
}

static enum fault header_lf(struct frame_jsonrpc *frame, uint8_t byte, struct piece *piece)
{
	if (byte != '\n' || !frame->has_length)
		return FAULT_BAD_HEADER;
	if (frame->length_huge || frame->length > frame->limit)
		return FAULT_TOO_LARGE;
	frame->left = frame->length;
	frame->length = 0;
	frame->has_length = frame->has_type = false;
	frame->state = PAYLOAD;
	frame_jsonrpc_done(frame);
	if (!frame->left)
		end_message(frame, piece);
	return FAULT_NONE;
}

static enum fault header_byte(struct frame_jsonrpc *frame, uint8_t byte, struct piece *piece)
{
	switch ((enum state)frame->state) {
	case LINE_START:
		return line_start(frame, byte);
	case NAME:
		return name(frame, byte);
	case LENGTH_START:
	case LENGTH:
	case LENGTH_END:
		return length(frame, byte);
	case TYPE:
		return type(frame, byte);
	case LINE_LF:
		return line_lf(frame, byte, piece);
	default:
		return header_lf(frame, byte, piece);
	}
}

static void payload(struct frame_jsonrpc *frame, const uint8_t *data, size_t len,
		    struct piece *piece)
{
	len = (size_t)MIN(frame->left, (uint64_t)len);
	frame->left -= len;
	piece->kind = PIECE_DATA;
	piece->data = data;
	piece->len = len;
	piece->used += len;
	if (!frame->left) {
		piece->used--;
		frame->state = LAST;
	}
}

static enum fault step(struct frame_jsonrpc *frame, const uint8_t *data, size_t len,
		       struct piece *piece)
{
	enum fault fault;

	if (frame->text_open) {
		frame->text_open = false;
		piece->kind = PIECE_META_END;
		return FAULT_NONE;
	}
	if (frame->state == PAYLOAD) {
		payload(frame, data, len, piece);
		return FAULT_NONE;
	}
	if (frame->state == LAST) {
		piece->used++;
		end_message(frame, piece);
		return FAULT_NONE;
	}
	if (frame->header_len == JSONRPC_HEADER_MAX)
		return FAULT_TOO_LARGE;
	frame->header_len++;
	fault = header_byte(frame, *data, piece);
	piece->used += !fault;
	return fault;
}

enum fault frame_jsonrpc_next(struct frame_jsonrpc *frame, const uint8_t *data, size_t len,
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
