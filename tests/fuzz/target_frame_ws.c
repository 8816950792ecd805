/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WebSocket. Option 0: the limit of a payload; bits of 1: sent by the client,
 * permessage-deflate, without context takeover.
 */
#include "core/frame_ws.h"
#include "core/utf8.h"
#include "fuzz/codec.h"
#include "fuzz/targets.h"

#define CLIENT	    (1u << 0)
#define DEFLATE	    (1u << 1)
#define NO_TAKEOVER (1u << 2)

struct frame {
	struct frame_ws *ws;
	struct utf8 utf8; /* of the message under way */
	bool ill;
};

static bool is_coded(const struct fuzz_input *input)
{
	return input->options[1] & DEFLATE;
}

static void init(void *frame, const struct fuzz_input *input)
{
	struct frame *f = frame;
	const struct frame_ws_config config = {
		.client = input->options[1] & CLIENT,
		.permessage_deflate = is_coded(input),
		.no_context_takeover = input->options[1] & NO_TAKEOVER,
		.max_message = fuzz_limit(input->options[0]),
	};

	fuzz_check(frame_ws_new(&config, &f->ws) == 0);
}

static void done(void *frame)
{
	frame_ws_free(((struct frame *)frame)->ws);
}

/* What is called text is. */
static void check_text(struct frame *f, const struct piece *piece)
{
	for (size_t i = 0; piece->kind == PIECE_DATA && i < piece->len; i++) {
		enum utf8_step now = utf8_push(&f->utf8, piece->data[i]);

		f->ill = f->ill || now == UTF8_ILL;
		if (now != UTF8_MORE)
			f->utf8.have = 0;
	}
	if (piece->kind != PIECE_MESSAGE)
		return;
	fuzz_check(!frame_ws_is_text(f->ws) || (!f->ill && !f->utf8.have));
	f->utf8.have = 0;
	f->ill = false;
}

static enum fault step(void *frame, struct fuzz_run *run, const uint8_t *data, size_t len,
		       size_t *ret_used)
{
	struct frame *f = frame;
	struct piece piece = {0};
	bool closed = frame_ws_closed(f->ws);
	enum fault fault = frame_ws_next(f->ws, data, len, &piece);

	fuzz_check(fault || !closed);
	if (!fault)
		check_text(f, &piece);
	return fuzz_took(run, fault, &piece, fuzz_limit(run->input->options[0]), ret_used);
}

static bool partial(const void *frame)
{
	return frame_ws_partial(((const struct frame *)frame)->ws);
}

static size_t memory(const void *frame)
{
	return frame_ws_memory(((const struct frame *)frame)->ws);
}

void fuzz_frame_ws(const uint8_t *bytes, size_t len)
{
	static const struct fuzz_codec codec = {
		.size = sizeof(struct frame),
		.vague = is_coded,
		.cap = 128u << 10,
		.init = init,
		.done = done,
		.step = step,
		.partial = partial,
		.memory = memory,
	};

	fuzz_codec_check(&codec, bytes, len);
}
