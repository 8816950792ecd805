/* SPDX-License-Identifier: Apache-2.0 */
#include "core/frame_sse.h"

#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Where in a line the next byte stands. */
enum state {
	STREAM_START, /* a BOM may come */
	LINE_START,   /* no byte of the line has come */
	LINE_NAME,    /* it is `data` so far */
	VALUE_START,  /* behind the colon of `data`, where one space is no value */
	VALUE,
	OTHER, /* a line that is no data field, with at least one byte */
};

static const uint8_t bom[] = {0xef, 0xbb, 0xbf};
static const uint8_t name[] = {'d', 'a', 't', 'a'};
static const uint8_t lf[] = {'\n'};

#define ONES 0x0101010101010101ull
#define HIGH 0x8080808080808080ull

static bool ends_line(uint8_t c)
{
	return c == '\n' || c == '\r';
}

/* Not zero where a byte of word is. */
static uint64_t zero_bytes(uint64_t word)
{
	return (word - ONES) & ~word & HIGH;
}

/*
 * Length of what comes before the line's end. One search for both ends: two of
 * memchr()'s would read a stream of CRs again for each of its lines.
 */
static size_t line_length(const uint8_t *data, size_t len)
{
	size_t i = 0;

#ifdef __SSE2__
	for (; len - i >= sizeof(__m128i); i += sizeof(__m128i)) {
		__m128i bytes = _mm_loadu_si128((const __m128i *)(data + i));
		__m128i ends = _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('\n')),
					    _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\r')));
		int mask = _mm_movemask_epi8(ends);

		if (mask)
			return i + (size_t)__builtin_ctz((unsigned int)mask);
	}
#endif
	for (; len - i >= sizeof(uint64_t); i += sizeof(uint64_t)) {
		uint64_t word;

		memcpy(&word, data + i, sizeof(word));
		if (zero_bytes(word ^ ONES * '\n') | zero_bytes(word ^ ONES * '\r'))
			break;
	}
	while (i < len && !ends_line(data[i]))
		i++;
	return i;
}

void frame_sse_init(struct frame_sse *frame, uint64_t max_message)
{
	*frame = (struct frame_sse){.limit = max_message, .state = STREAM_START};
}

bool frame_sse_partial(const struct frame_sse *frame)
{
	return frame->begun;
}

static void emit(struct piece *piece, enum piece_kind kind, const uint8_t *data, size_t len)
{
	piece->kind = kind;
	piece->data = data;
	piece->len = len;
}

/* Takes the byte that ends a line. */
static void end_line(struct frame_sse *frame, uint8_t c, struct piece *piece)
{
	piece->used++;
	frame->cr = c == '\r';
	frame->state = LINE_START;
}

/* The bytes that were taken for the beginning of something begin another line. */
static void begin_other(struct frame_sse *frame, const uint8_t *taken, struct piece *piece)
{
	frame->begun = true;
	frame->state = OTHER;
	if (frame->matched)
		emit(piece, PIECE_META, taken, frame->matched);
	frame->matched = 0;
}

/* The line is a data field. From the second one on an LF is before its value. */
static enum fault begin_value(struct frame_sse *frame, struct piece *piece)
{
	if (frame->has_data) {
		if (frame->payload >= frame->limit)
			return FAULT_TOO_LARGE;
		frame->payload++;
		emit(piece, PIECE_DATA, lf, sizeof(lf));
	}
	frame->has_data = true;
	frame->matched = 0;
	return FAULT_NONE;
}

static void stream_start(struct frame_sse *frame, uint8_t c, struct piece *piece)
{
	if (c != bom[frame->matched]) {
		if (frame->matched)
			begin_other(frame, bom, piece);
		else
			frame->state = LINE_START;
		return;
	}
	piece->used++;
	if (++frame->matched == sizeof(bom)) {
		frame->matched = 0;
		frame->state = LINE_START;
	}
}

static void end_block(struct frame_sse *frame, uint8_t c, struct piece *piece)
{
	end_line(frame, c, piece);
	piece->kind = frame->has_data ? PIECE_MESSAGE : PIECE_UNIT;
	frame->payload = 0;
	frame->has_data = false;
	frame->begun = false;
}

static enum fault line_start(struct frame_sse *frame, const uint8_t *data, size_t len,
			     struct piece *piece)
{
	bool second = frame->cr && *data == '\n';

	frame->cr = false;
	if (second) {
		piece->used++;
		if (!frame->begun)
			piece->kind = PIECE_TAIL;
		return FAULT_NONE;
	}
	if (ends_line(*data)) {
		end_block(frame, *data, piece);
		return FAULT_NONE;
	}
	frame->begun = true;
	/* The same as byte by byte, for the line that nearly all are. */
	if (len > sizeof(name) && !memcmp(data, name, sizeof(name)) && data[sizeof(name)] == ':') {
		frame->state = VALUE_START;
		piece->used += sizeof(name) + 1;
		return begin_value(frame, piece);
	}
	frame->state = *data == name[0] ? LINE_NAME : OTHER;
	return FAULT_NONE;
}

static enum fault line_name(struct frame_sse *frame, uint8_t c, struct piece *piece)
{
	if (frame->matched < sizeof(name)) {
		if (c == name[frame->matched]) {
			frame->matched++;
			piece->used++;
		} else {
			begin_other(frame, name, piece);
		}
		return FAULT_NONE;
	}
	if (c == ':') {
		piece->used++;
		frame->state = VALUE_START;
		return begin_value(frame, piece);
	}
	if (ends_line(c)) {
		/* A name alone has an empty value. */
		frame->state = VALUE;
		return begin_value(frame, piece);
	}
	begin_other(frame, name, piece);
	return FAULT_NONE;
}

static enum fault value(struct frame_sse *frame, const uint8_t *data, size_t len,
			struct piece *piece)
{
	uint64_t room = frame->limit - frame->payload;
	size_t length;

	if (ends_line(*data)) {
		end_line(frame, *data, piece);
		return FAULT_NONE;
	}
	if (!room)
		return FAULT_TOO_LARGE;
	length = line_length(data, (size_t)MIN(room, (uint64_t)len));
	frame->payload += length;
	piece->used += length;
	emit(piece, PIECE_DATA, data, length);
	return FAULT_NONE;
}

static void other(struct frame_sse *frame, const uint8_t *data, size_t len, struct piece *piece)
{
	size_t length = line_length(data, len);

	if (!length) {
		end_line(frame, *data, piece);
		piece->kind = PIECE_META_END;
		return;
	}
	piece->used += length;
	emit(piece, PIECE_META, data, length);
}

static enum fault step(struct frame_sse *frame, const uint8_t *data, size_t len,
		       struct piece *piece)
{
	switch ((enum state)frame->state) {
	case STREAM_START:
		stream_start(frame, *data, piece);
		break;
	case LINE_START:
		return line_start(frame, data, len, piece);
	case LINE_NAME:
		return line_name(frame, *data, piece);
	case VALUE_START:
		piece->used += *data == ' ';
		frame->state = VALUE;
		break;
	case VALUE:
		return value(frame, data, len, piece);
	case OTHER:
		other(frame, data, len, piece);
		break;
	}
	return FAULT_NONE;
}

enum fault frame_sse_next(struct frame_sse *frame, const uint8_t *data, size_t len,
			  struct piece *ret_piece)
{
	struct piece piece = {.kind = PIECE_NOTHING};

	while (piece.kind == PIECE_NOTHING && piece.used < len) {
		enum fault fault = step(frame, data + piece.used, len - piece.used, &piece);

		if (fault)
			return fault;
	}
	*ret_piece = piece;
	return FAULT_NONE;
}
