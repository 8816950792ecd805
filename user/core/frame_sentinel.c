/* SPDX-License-Identifier: Apache-2.0 */
#include "core/frame_sentinel.h"

#include <string.h>

void frame_sentinel_init(struct frame_sentinel *frame, const uint8_t *bytes, size_t len)
{
	uint8_t border = 0;

	memset(frame, 0, sizeof(*frame));
	frame->len = (uint8_t)len;
	memcpy(frame->bytes, bytes, len);
	for (size_t i = 1; i < len; i++) {
		while (border && bytes[i] != bytes[border])
			border = frame->border[border - 1];
		border = (uint8_t)(border + (bytes[i] == bytes[border]));
		frame->border[i] = border;
	}
}

void frame_sentinel_next(struct frame_sentinel *frame, const uint8_t *data, size_t len,
			 struct frame_sentinel_piece *ret_piece)
{
	struct frame_sentinel_piece piece = {.payload = data};

	if (!frame->matched) {
		const uint8_t *at = memchr(data, frame->bytes[0], len);

		piece.len = piece.used = at ? (size_t)(at - data) : len;
	} else if (data[0] != frame->bytes[frame->matched]) {
		/* What came before the next shorter start was payload after all. */
		uint8_t border = frame->border[frame->matched - 1];

		piece.payload = frame->bytes;
		piece.len = frame->matched - (size_t)border;
		frame->matched = border;
	}
	if (piece.used < len && data[piece.used] == frame->bytes[frame->matched]) {
		frame->matched++;
		piece.used++;
	}
	piece.end = frame->matched == frame->len;
	if (piece.end)
		frame->matched = 0;
	*ret_piece = piece;
}
