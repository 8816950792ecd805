/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/2 frames, and the gRPC messages in them. Option 0: the limit of a message; 1, odd:
 * messages too; 2, odd: compressed with gzip; 3, odd: the longest frames there are.
 */
#include "core/frame_h2.h"
#include "core/frame_h2_grpc.h"
#include "fuzz/codec.h"
#include "fuzz/targets.h"

static uint32_t max_frame(const struct fuzz_input *input)
{
	return input->options[3] & 1 ? H2_MAX_FRAME_MAX : H2_MAX_FRAME_MIN;
}

static void frames_init(void *frame, const struct fuzz_input *input)
{
	frame_h2_init(frame, max_frame(input));
}

static enum fault frames_step(void *frame, struct fuzz_run *run, const uint8_t *data, size_t len,
			      size_t *ret_used)
{
	struct h2_piece piece = {0};
	enum fault fault = frame_h2_next(frame, data, len, &piece);

	return fuzz_took_h2(run, fault, &piece, 0, ret_used);
}

static bool frames_partial(const void *frame)
{
	return frame_h2_partial(frame);
}

static void grpc_init(void *frame, const struct fuzz_input *input)
{
	frame_h2_grpc_init(frame, input->options[2] & 1 ? CODING_GZIP : CODING_IDENTITY,
			   fuzz_limit(input->options[0]), max_frame(input));
}

static void grpc_done(void *frame)
{
	frame_h2_grpc_done(frame);
}

static enum fault grpc_step(void *frame, struct fuzz_run *run, const uint8_t *data, size_t len,
			    size_t *ret_used)
{
	struct h2_piece piece = {0};
	enum fault fault = frame_h2_grpc_next(frame, data, len, &piece);

	return fuzz_took_h2(run, fault, &piece, 0, ret_used);
}

/* The connection ended, and with it a stream that each input has. */
static enum fault grpc_end(void *frame, struct fuzz_run *run)
{
	(void)run;
	return frame_h2_grpc_end(frame, 1);
}

static bool grpc_partial(const void *frame)
{
	return frame_h2_grpc_partial(frame);
}

static size_t grpc_memory(const void *frame)
{
	return frame_h2_grpc_memory(frame);
}

void fuzz_frame_h2(const uint8_t *bytes, size_t len)
{
	static const struct fuzz_codec frames = {
		.size = sizeof(struct frame_h2),
		.streams = true,
		.init = frames_init,
		.step = frames_step,
		.partial = frames_partial,
	};
	static const struct fuzz_codec grpc = {
		.size = sizeof(struct frame_h2_grpc),
		.streams = true,
		.cap = H2_STREAMS_MAX * (sizeof(struct h2_stream) + (64u << 10)),
		.init = grpc_init,
		.done = grpc_done,
		.step = grpc_step,
		.end = grpc_end,
		.partial = grpc_partial,
		.memory = grpc_memory,
	};

	fuzz_codec_check(len > 1 && bytes[1] & 1 ? &grpc : &frames, bytes, len);
}
