/* SPDX-License-Identifier: Apache-2.0 */
/* JSON-RPC with a header for each message. Option 0: the limit of a payload. */
#include "core/frame_jsonrpc.h"
#include "fuzz/codec.h"
#include "fuzz/targets.h"

static void init(void *frame, const struct fuzz_input *input)
{
	frame_jsonrpc_init(frame, fuzz_limit(input->options[0]));
}

FUZZ_FRAMING_OF_MEMORY(frame_jsonrpc)

void fuzz_frame_jsonrpc(const uint8_t *bytes, size_t len)
{
	static const struct fuzz_codec codec = {
		.size = sizeof(struct frame_jsonrpc),
		.cap = 4u * JSONRPC_HEADER_MAX,
		.init = init,
		.done = done,
		.step = step,
		.partial = partial,
		.memory = memory,
	};

	fuzz_codec_check(&codec, bytes, len);
}
