/* SPDX-License-Identifier: Apache-2.0 */
/* Event streams. Option 0: the limit of a payload. */
#include "core/frame_sse.h"
#include "fuzz/codec.h"
#include "fuzz/targets.h"

static void init(void *frame, const struct fuzz_input *input)
{
	frame_sse_init(frame, fuzz_limit(input->options[0]));
}

FUZZ_FRAMING(frame_sse)

void fuzz_frame_sse(const uint8_t *bytes, size_t len)
{
	static const struct fuzz_codec codec = {
		.size = sizeof(struct frame_sse),
		.final = true,
		.vague = fuzz_vague,
		.init = init,
		.step = step,
		.partial = partial,
	};

	fuzz_codec_check(&codec, bytes, len);
}
