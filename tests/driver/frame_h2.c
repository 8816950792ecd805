/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/frame_h2.h"

#include <stdlib.h>
#include <string.h>

#include "core/frame_h2_grpc.h"

/* The payload of the message under way in one stream. */
struct payload {
	uint32_t stream;
	struct frame_bytes bytes;
};

struct h2_run {
	struct frame_run *run;
	struct frame_h2_grpc frame;
	struct payload *payloads;
	size_t count;
	uint32_t messages; /* that the frame under way completes */
	uint64_t at;
};

static struct payload *payload_of(struct h2_run *h2, uint32_t stream)
{
	struct payload *grown;

	for (size_t i = 0; i < h2->count; i++)
		if (h2->payloads[i].stream == stream)
			return &h2->payloads[i];
	grown = realloc(h2->payloads, (h2->count + 1) * sizeof(*grown));
	if (!grown)
		return NULL;
	h2->payloads = grown;
	grown[h2->count] = (struct payload){.stream = stream};
	return &grown[h2->count++];
}

static void add_data(struct h2_run *h2, const struct h2_piece *piece)
{
	struct payload *payload = payload_of(h2, piece->stream);
	uint8_t *grown =
		payload ? realloc(payload->bytes.data, payload->bytes.len + piece->len) : NULL;

	if (!grown) {
		h2->run->failed = true;
		return;
	}
	memcpy(grown + payload->bytes.len, piece->data, piece->len);
	payload->bytes.data = grown;
	payload->bytes.len += piece->len;
}

static void end_message(struct h2_run *h2, uint32_t stream)
{
	struct payload *payload = payload_of(h2, stream);

	if (!payload) {
		h2->run->failed = true;
		return;
	}
	frame_run_payload(h2->run, payload->bytes.data, payload->bytes.len, true);
	payload->bytes.len = 0;
	h2->messages++;
}

/* A frame is whole. One that leaves a message unfinished counts with that. */
static void end_frame(struct h2_run *h2)
{
	struct frame_run *run = h2->run;
	const struct pipeline_unit unit = {
		.start = run->kept,
		.end = h2->at,
		.messages = h2->messages,
	};
	uint64_t counted = run->counted;

	frame_run_unit(run, &unit);
	if (!h2->messages && frame_h2_grpc_partial(&h2->frame))
		run->counted = counted;
	run->kept = h2->at;
	h2->messages = 0;
}

static void take_piece(struct h2_run *h2, const struct h2_piece *piece)
{
	h2->at += piece->used;
	switch (piece->kind) {
	case PIECE_DATA:
		add_data(h2, piece);
		break;
	case PIECE_MESSAGE:
		end_message(h2, piece->stream);
		break;
	case PIECE_UNIT:
		end_frame(h2);
		break;
	default:
		break;
	}
}

static enum fault take(void *context, const uint8_t *data, size_t len)
{
	struct h2_run *h2 = context;
	enum fault fault = FAULT_NONE;
	size_t used = 0;

	while (used < len && !fault && !h2->run->failed) {
		struct h2_piece piece;

		fault = frame_h2_grpc_next(&h2->frame, data + used, len - used, &piece);
		if (fault)
			break;
		take_piece(h2, &piece);
		used += piece.used;
	}
	return fault;
}

static void h2_done(struct h2_run *h2)
{
	frame_h2_grpc_done(&h2->frame);
	for (size_t i = 0; i < h2->count; i++)
		free(h2->payloads[i].bytes.data);
	free(h2->payloads);
}

void frame_h2_run(struct frame_run *run, bool last)
{
	const struct frame_options *options = run->options;
	cleanup(h2_done) struct h2_run h2 = {.run = run};

	frame_h2_grpc_init(&h2.frame, options->framing.coding, options->max_message,
			   H2_MAX_FRAME_MIN);
	run->fault = frame_run_feed(run, take, &h2);
	if (!run->fault && last && options->eof && frame_h2_grpc_partial(&h2.frame))
		run->fault = FAULT_TRUNCATED;
}
