/* SPDX-License-Identifier: Apache-2.0 */
#include "core/frame_ndjson.h"

void frame_ndjson_init(struct frame_ndjson *frame, uint64_t max_message)
{
	/* Room for the CR past the limit. */
	*frame = (struct frame_ndjson){.limit = MIN(max_message, UINT64_MAX - 1)};
}

enum fault frame_ndjson_room(const struct frame_ndjson *frame, const uint8_t *data, size_t len,
			     size_t *ret_room)
{
	uint64_t room = frame->limit + 1 - frame->line;

	/* After the one CR past the limit only the LF may come. */
	if (room == 0 && *data != '\n')
		return FAULT_TOO_LARGE;
	*ret_room = room == 0 ? 1 : (size_t)MIN(room, (uint64_t)len);
	return FAULT_NONE;
}

enum fault frame_ndjson_took(struct frame_ndjson *frame, const uint8_t *data, size_t len)
{
	if (!len)
		return FAULT_NONE;
	frame->line += len;
	frame->cr = data[len - 1] == '\r';
	return frame->line > frame->limit && !frame->cr ? FAULT_TOO_LARGE : FAULT_NONE;
}

uint64_t frame_ndjson_end(struct frame_ndjson *frame, bool lf)
{
	uint64_t payload = frame->line - (lf && frame->cr);

	frame->line = 0;
	frame->cr = false;
	return payload;
}
