/* SPDX-License-Identifier: Apache-2.0 */
#include "core/frame_http1.h"

#include <stdlib.h>
#include <string.h>

/* A chunk's size has 64 bits at most; zeros before it count too. */
#define SIZE_DIGITS_MAX 16u
#define LINE_FIRST	64u

enum state {
	IDLE,  /* nothing of a message has come */
	START, /* in a request's empty lines, or its start line */
	FIELDS,
	REFUSED, /* the head was whole, and frame->late is due */
	LENGTH,
	CLOSE,
	SIZE,
	SIZE_LF,
	EXTENSION, /* from the semicolon behind a chunk's size on */
	DATA,
	DATA_END, /* HTTP1_CHUNK is due */
	DATA_CR,
	DATA_LF,
	TRAILER,
	ENDING, /* HTTP1_END is due */
	TUNNEL,
};

void frame_http1_init(struct frame_http1 *frame, bool response)
{
	*frame = (struct frame_http1){.response = response, .state = IDLE};
}

static void release_line(struct frame_http1 *frame)
{
	free(frame->line);
	frame->line = NULL;
	frame->line_len = frame->line_capacity = 0;
}

static void release_start(struct frame_http1 *frame)
{
	free(frame->start);
	frame->start = NULL;
	frame->start_len = frame->start_capacity = 0;
}

void frame_http1_done(struct frame_http1 *frame)
{
	release_line(frame);
	release_start(frame);
}

bool frame_http1_between(const struct frame_http1 *frame)
{
	return frame->state == IDLE ||
	       (frame->state == START && (!frame->line_len || frame->line[0] == '\r'));
}

void frame_http1_answer(struct frame_http1 *frame, const struct http1_request *request)
{
	frame->head.request = *request;
}

bool frame_http1_due(const struct frame_http1 *frame)
{
	return frame->state == REFUSED || frame->state == DATA_END || frame->state == ENDING;
}

static enum fault append(struct frame_http1 *frame, const uint8_t *data, size_t len)
{
	size_t capacity = frame->line_capacity ? frame->line_capacity : LINE_FIRST;
	uint8_t *grown;

	while (capacity - frame->line_len < len)
		capacity *= 2;
	if (capacity != frame->line_capacity) {
		grown = realloc(frame->line, capacity);
		if (!grown)
			return FAULT_NO_MEMORY;
		frame->line = grown;
		frame->line_capacity = capacity;
	}
	memcpy(frame->line + frame->line_len, data, len);
	frame->line_len += len;
	return FAULT_NONE;
}

/*
 * Takes up to the end of a line. *ret_line: the line without its CRLF, valid until
 * the next call; at NULL: it goes on.
 */
static enum fault take_line(struct frame_http1 *frame, const uint8_t *data, size_t len,
			    struct http1_piece *piece, struct http1_slice *ret_line)
{
	size_t room = MIN(len, HTTP1_HEAD_MAX - frame->head_bytes);
	const uint8_t *lf = memchr(data, '\n', room);
	struct http1_slice line = {data, lf ? (size_t)(lf - data) + 1 : len};
	enum fault fault;

	if (!lf && room < len)
		return FAULT_TOO_LARGE;
	frame->head_bytes += line.len;
	piece->used += line.len;
	if (!lf || frame->line_len) {
		fault = append(frame, line.at, line.len);
		if (fault)
			return fault;
		if (!lf)
			return FAULT_NONE;
		line = (struct http1_slice){frame->line, frame->line_len};
		frame->line_len = 0;
	}
	if (line.len < 2 || line.at[line.len - 2] != '\r')
		return FAULT_BARE_LF;
	line.len -= 2;
	*ret_line = line;
	return FAULT_NONE;
}

/* The start line is kept: what comes of it is referred to until the head is whole. */
static enum fault keep_start(struct frame_http1 *frame, struct http1_slice line)
{
	if (line.at != frame->line) {
		enum fault fault = append(frame, line.at, line.len);

		if (fault)
			return fault;
	}
	frame->start = frame->line;
	frame->start_len = line.len;
	frame->start_capacity = frame->line_capacity;
	frame->line = NULL;
	frame->line_len = frame->line_capacity = 0;
	return FAULT_NONE;
}

static enum fault on_start(struct frame_http1 *frame, struct http1_slice line,
			   struct http1_piece *piece)
{
	struct http1_slice target = {0};
	enum fault fault;

	if (!line.len && !frame->response)
		return FAULT_NONE;
	fault = keep_start(frame, line);
	if (fault)
		return fault;
	line.at = frame->start;
	if (frame->response)
		fault = http1_head_status(&frame->facts, line, &frame->head);
	else
		fault = http1_head_request(&frame->facts, line, &frame->head, &target);
	if (fault)
		return fault;
	frame->target = target.at;
	frame->target_len = target.len;
	frame->state = FIELDS;
	piece->kind = HTTP1_START;
	piece->data = line.at;
	piece->len = line.len;
	return FAULT_NONE;
}

static enum state state_of_body(enum http1_body body)
{
	switch (body) {
	case HTTP1_LENGTH:
		return LENGTH;
	case HTTP1_CHUNKED:
		return SIZE;
	case HTTP1_UNTIL_CLOSE:
		return CLOSE;
	default:
		return ENDING;
	}
}

static enum fault on_head(struct frame_http1 *frame, struct http1_piece *piece)
{
	enum fault fault =
		http1_head_whole(&frame->facts, frame->response, &frame->head, &frame->late);

	if (fault)
		return fault;
	release_line(frame);
	frame->head_bytes = 0;
	frame->left = frame->head.length;
	frame->state = (uint8_t)(frame->late ? REFUSED : state_of_body(frame->head.body));
	piece->kind = HTTP1_HEAD;
	return FAULT_NONE;
}

static enum fault on_field(struct frame_http1 *frame, struct http1_slice line,
			   struct http1_piece *piece)
{
	enum fault fault;

	if (!line.len && frame->state == FIELDS)
		return on_head(frame, piece);
	if (!line.len) {
		release_line(frame);
		frame->state = IDLE;
		piece->kind = HTTP1_END;
		return FAULT_NONE;
	}
	fault = frame->state == FIELDS ? http1_head_field(&frame->facts, frame->response, line)
				       : http1_head_trailer(line);
	piece->kind = HTTP1_FIELD;
	piece->data = line.at;
	piece->len = line.len;
	return fault;
}

static void size_ends(struct frame_http1 *frame)
{
	frame->state = frame->left ? DATA : TRAILER;
	frame->size_digits = 0;
	frame->head_bytes = 0;
}

/* chunk-ext of RFC 9112 7.1.1, without the white space that a sender must not write. */
static bool is_extension(struct http1_slice text)
{
	while (text.len) {
		size_t len;

		if (text.at[0] != ';')
			return false;
		http1_drop(&text, 1);
		len = http1_span(text, HTTP1_TCHAR);
		if (!len)
			return false;
		http1_drop(&text, len);
		if (!text.len || text.at[0] != '=')
			continue;
		http1_drop(&text, 1);
		len = http1_quoted(text);
		if (!len)
			len = http1_span(text, HTTP1_TCHAR);
		if (!len)
			return false;
		http1_drop(&text, len);
	}
	return true;
}

static enum fault on_extension(struct frame_http1 *frame, struct http1_slice line,
			       struct http1_piece *piece)
{
	if (!is_extension(line))
		return FAULT_BAD_FRAME;
	size_ends(frame);
	piece->kind = HTTP1_EXTENSION;
	piece->data = line.at;
	piece->len = line.len;
	return FAULT_NONE;
}

/* What it answers was told before. */
static void begin(struct frame_http1 *frame)
{
	struct http1_request request = frame->head.request;

	release_start(frame);
	frame->head = (struct http1_head){0};
	if (frame->response)
		frame->head.request = request;
	frame->facts = (struct http1_facts){0};
	frame->head_bytes = 0;
	frame->state = START;
}

/* Another protocol altogether is known by how it begins, and need not be waited for. */
static enum fault judge_first(const struct frame_http1 *frame, const uint8_t *data, size_t len)
{
	uint8_t first = frame->line_len ? frame->line[0] : data[0];

	if (frame->line_len > 1)
		return FAULT_NONE;
	if (first == '\n')
		return FAULT_BARE_LF;
	if (frame->response)
		return first == 'H' ? FAULT_NONE : FAULT_BAD_HEADER;
	if (first != '\r')
		return http1_sets[first] & HTTP1_TCHAR ? FAULT_NONE : FAULT_BAD_HEADER;
	if (!frame->line_len && len == 1)
		return FAULT_NONE;
	return data[!frame->line_len] == '\n' ? FAULT_NONE : FAULT_BAD_HEADER;
}

static enum fault next_line(struct frame_http1 *frame, const uint8_t *data, size_t len,
			    struct http1_piece *piece)
{
	struct http1_slice line = {0};
	enum fault fault = FAULT_NONE;

	if (frame->state == IDLE)
		begin(frame);
	if (frame->state == START)
		fault = judge_first(frame, data, len);
	if (!fault)
		fault = take_line(frame, data, len, piece, &line);
	if (fault || !line.at)
		return fault;
	switch (frame->state) {
	case START:
		return on_start(frame, line, piece);
	case EXTENSION:
		return on_extension(frame, line, piece);
	default:
		return on_field(frame, line, piece);
	}
}

/* A byte that has to be there, and is no LF by itself. */
static enum fault expect(uint8_t byte, uint8_t expected)
{
	if (byte == expected)
		return FAULT_NONE;
	return byte == '\n' ? FAULT_BARE_LF : FAULT_BAD_FRAME;
}

static enum fault next_size(struct frame_http1 *frame, const uint8_t *data, size_t len,
			    struct http1_piece *piece)
{
	enum fault fault;
	size_t at = 0;

	while (at < len && http1_sets[data[at]] & HTTP1_HEX) {
		if (frame->size_digits == SIZE_DIGITS_MAX)
			return FAULT_BAD_FRAME;
		frame->left = frame->left << 4 | (unsigned int)http1_hex(data[at++]);
		frame->size_digits++;
	}
	piece->used = at;
	if (at == len)
		return FAULT_NONE;
	if (!frame->size_digits)
		return FAULT_BAD_FRAME;
	if (data[at] == ';') {
		frame->state = EXTENSION;
		frame->head_bytes = frame->size_digits;
		return at ? FAULT_NONE : next_line(frame, data, len, piece);
	}
	fault = expect(data[at], '\r');
	piece->used = at + 1;
	frame->state = SIZE_LF;
	return fault;
}

static enum fault next_size_lf(struct frame_http1 *frame, uint8_t byte, struct http1_piece *piece)
{
	piece->used = 1;
	size_ends(frame);
	return expect(byte, '\n');
}

static void next_body(struct frame_http1 *frame, const uint8_t *data, size_t len,
		      struct http1_piece *piece)
{
	bool bounded = frame->state != CLOSE;

	piece->kind = HTTP1_BODY;
	piece->data = data;
	piece->len = piece->used = bounded ? (size_t)MIN(frame->left, (uint64_t)len) : len;
	if (!bounded)
		return;
	frame->left -= piece->len;
	if (!frame->left)
		frame->state = frame->state == DATA ? DATA_END : ENDING;
}

static enum fault next_data_end(struct frame_http1 *frame, const uint8_t *data, size_t len,
				struct http1_piece *piece)
{
	enum fault fault = FAULT_NONE;

	if (frame->state == DATA_CR) {
		fault = expect(data[piece->used++], '\r');
		frame->state = DATA_LF;
	}
	if (fault || piece->used == len)
		return fault;
	fault = expect(data[piece->used++], '\n');
	frame->state = SIZE;
	piece->kind = HTTP1_CHUNK_END;
	return fault;
}

static enum fault next_due(struct frame_http1 *frame, struct http1_piece *piece)
{
	if (frame->state == REFUSED)
		return frame->late;
	piece->kind = frame->state == DATA_END ? HTTP1_CHUNK : HTTP1_END;
	if (frame->state == DATA_END)
		frame->state = DATA_CR;
	else
		frame->state = frame->head.body == HTTP1_TUNNEL ? TUNNEL : IDLE;
	return FAULT_NONE;
}

enum fault frame_http1_next(struct frame_http1 *frame, const uint8_t *data, size_t len,
			    struct http1_piece *ret_piece)
{
	struct http1_piece piece = {.kind = HTTP1_NOTHING};
	enum fault fault = FAULT_NONE;

	switch (frame->state) {
	case REFUSED:
	case DATA_END:
	case ENDING:
		fault = next_due(frame, &piece);
		break;
	case LENGTH:
	case CLOSE:
	case DATA:
		next_body(frame, data, len, &piece);
		break;
	case SIZE:
		fault = next_size(frame, data, len, &piece);
		break;
	case SIZE_LF:
		fault = next_size_lf(frame, *data, &piece);
		break;
	case DATA_CR:
	case DATA_LF:
		fault = next_data_end(frame, data, len, &piece);
		break;
	case TUNNEL:
		return FAULT_PROTOCOL;
	default:
		fault = next_line(frame, data, len, &piece);
		break;
	}
	if (!fault)
		*ret_piece = piece;
	return fault;
}

enum fault frame_http1_end(struct frame_http1 *frame, bool *ret_end)
{
	bool close = frame->state == CLOSE;

	if (!close && frame->state != TUNNEL && !frame_http1_between(frame))
		return FAULT_TRUNCATED;
	frame->state = close ? IDLE : frame->state;
	*ret_end = close;
	return FAULT_NONE;
}

size_t frame_http1_memory(const struct frame_http1 *frame)
{
	return frame->line_capacity + frame->start_capacity;
}
