/* SPDX-License-Identifier: Apache-2.0 */
#include "core/frame_lenprefix.h"

#include <errno.h>

#define VARINT_MAX 10u

int frame_lenprefix_init(struct frame_lenprefix *frame, const struct framing *framing,
			 uint64_t max_message)
{
	if ((unsigned int)framing->type > LENPREFIX_VARINT)
		return -EINVAL;
	*frame = (struct frame_lenprefix){
		.limit = max_message,
		.type = (uint8_t)framing->type,
		.big_endian = framing->big_endian,
		.includes_header = framing->includes_header,
	};
	return 0;
}

/* Both return whether the length is whole with this byte. */
static bool fixed_byte(struct frame_lenprefix *frame, uint8_t byte)
{
	if (frame->big_endian)
		frame->value = frame->value << 8 | byte;
	else
		frame->value |= (uint64_t)byte << 8 * frame->header;
	return ++frame->header == 1u << frame->type;
}

static bool varint_byte(struct frame_lenprefix *frame, uint8_t byte, enum fault *ret_fault)
{
	bool more = byte & 0x80;

	/* The tenth byte carries the last of 64 bits; a zero at the end says nothing. */
	if (frame->header == VARINT_MAX - 1 ? byte != 1 : frame->header && byte == 0) {
		*ret_fault = FAULT_BAD_FRAME;
		return false;
	}
	frame->value |= (uint64_t)(byte & 0x7f) << 7 * frame->header;
	frame->header++;
	return !more;
}

static enum fault judge(struct frame_lenprefix *frame)
{
	uint64_t own = frame->includes_header ? frame->header : 0;

	if (frame->value < own)
		return FAULT_BAD_FRAME;
	if (frame->value - own > frame->limit)
		return FAULT_TOO_LARGE;
	frame->declared = frame->left = frame->value - own;
	frame->in_payload = true;
	return FAULT_NONE;
}

enum fault frame_lenprefix_header(struct frame_lenprefix *frame, const uint8_t *data, size_t len,
				  size_t *ret_used)
{
	enum fault fault = FAULT_NONE;
	bool whole = false;
	size_t used = 0;

	while (used < len && !whole && !fault) {
		uint8_t byte = data[used++];

		whole = frame->type == LENPREFIX_VARINT ? varint_byte(frame, byte, &fault)
							: fixed_byte(frame, byte);
	}
	*ret_used = used;
	return whole ? judge(frame) : fault;
}

void frame_lenprefix_next(struct frame_lenprefix *frame)
{
	frame->value = frame->left = frame->declared = 0;
	frame->header = 0;
	frame->in_payload = false;
}
