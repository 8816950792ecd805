/* SPDX-License-Identifier: Apache-2.0 */
/* AWS event streams. Option 0: the limit of a payload. */
#include "core/frame_eventstream.h"
#include "fuzz/codec.h"
#include "fuzz/targets.h"

static void init(void *frame, const struct fuzz_input *input)
{
	frame_eventstream_init(frame, fuzz_limit(input->options[0]));
}

FUZZ_FRAMING(frame_eventstream)

void fuzz_frame_eventstream(const uint8_t *bytes, size_t len)
{
	static const struct fuzz_codec codec = {
		.size = sizeof(struct frame_eventstream),
		.init = init,
		.step = step,
		.partial = partial,
	};

	fuzz_codec_check(&codec, bytes, len);
}
