/* SPDX-License-Identifier: Apache-2.0 */
/* gRPC messages. Option 0: the limit of a payload; 1: the encoding; 2, odd: gRPC-Web. */
#include "core/frame_grpc.h"
#include "fuzz/codec.h"
#include "fuzz/targets.h"

static void init(void *frame, const struct fuzz_input *input)
{
	frame_grpc_init(frame, (enum content_coding)(input->options[1] % _CODING_MAX),
			input->options[2] & 1, fuzz_limit(input->options[0]));
}

FUZZ_FRAMING_OF_MEMORY(frame_grpc)

void fuzz_frame_grpc(const uint8_t *bytes, size_t len)
{
	static const struct fuzz_codec codec = {
		.size = sizeof(struct frame_grpc),
		.cap = 40u << 20,
		.init = init,
		.done = done,
		.step = step,
		.partial = partial,
		.memory = memory,
	};

	fuzz_codec_check(&codec, bytes, len);
}
