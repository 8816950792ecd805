/* SPDX-License-Identifier: Apache-2.0 */
/* A JSON array as a stream. Option 0: the limit of an element. */
#include "core/frame_json_array.h"
#include "fuzz/codec.h"
#include "fuzz/targets.h"

static void init(void *frame, const struct fuzz_input *input)
{
	frame_json_array_init(frame, fuzz_limit(input->options[0]));
}

static enum fault step(void *frame, struct fuzz_run *run, const uint8_t *data, size_t len,
		       size_t *ret_used)
{
	struct piece piece = {0};
	bool ended = frame_json_array_ended(frame);
	enum fault fault = frame_json_array_next(frame, data, len, &piece);

	/* Behind its end nothing is payload. */
	fuzz_check(fault || !ended ||
		   (piece.kind != PIECE_DATA && piece.kind != PIECE_MESSAGE &&
		    frame_json_array_ended(frame)));
	return fuzz_took(run, fault, &piece, fuzz_limit(run->input->options[0]), ret_used);
}

static bool partial(const void *frame)
{
	return frame_json_array_partial(frame);
}

void fuzz_frame_json_array(const uint8_t *bytes, size_t len)
{
	static const struct fuzz_codec codec = {
		.size = sizeof(struct frame_json_array),
		.init = init,
		.step = step,
		.partial = partial,
	};

	fuzz_codec_check(&codec, bytes, len);
}
