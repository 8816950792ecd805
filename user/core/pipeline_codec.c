/* SPDX-License-Identifier: Apache-2.0 */
#include "core/pipeline_codec.h"

#include <errno.h>
#include <stdlib.h>

#include "core/frame_eventstream.h"
#include "core/frame_grpc.h"
#include "core/frame_json_array.h"
#include "core/frame_jsonrpc.h"

struct pipeline_codec {
	enum pipeline_codec_kind kind;
	union {
		struct frame_ws *ws;
		struct frame_jsonrpc jsonrpc;
		struct frame_eventstream eventstream;
		struct frame_json_array array;
		struct frame_grpc grpc;
	} frame;
};

static int init(struct pipeline_codec *codec, const struct pipeline_codec_config *config)
{
	struct frame_ws_config ws = config->ws;

	switch (config->kind) {
	case PIPELINE_CODEC_WS:
		ws.max_message = config->max_message;
		return frame_ws_new(&ws, &codec->frame.ws);
	case PIPELINE_CODEC_JSONRPC:
		frame_jsonrpc_init(&codec->frame.jsonrpc, config->max_message);
		return 0;
	case PIPELINE_CODEC_EVENTSTREAM:
		frame_eventstream_init(&codec->frame.eventstream, config->max_message);
		return 0;
	case PIPELINE_CODEC_JSON_ARRAY:
		frame_json_array_init(&codec->frame.array, config->max_message);
		return 0;
	case PIPELINE_CODEC_GRPC:
		frame_grpc_init(&codec->frame.grpc, config->coding, config->grpc_web,
				config->max_message);
		return 0;
	default:
		return -EINVAL;
	}
}

int pipeline_codec_new(const struct pipeline_codec_config *config,
		       struct pipeline_codec **ret_codec)
{
	struct pipeline_codec *codec = calloc(1, sizeof(*codec));
	int r;

	if (!codec)
		return -ENOMEM;
	codec->kind = config->kind;
	r = init(codec, config);
	if (r < 0) {
		free(codec);
		return r;
	}
	*ret_codec = codec;
	return 0;
}

void pipeline_codec_free(struct pipeline_codec *codec)
{
	if (!codec)
		return;
	if (codec->kind == PIPELINE_CODEC_WS)
		frame_ws_free(codec->frame.ws);
	else if (codec->kind == PIPELINE_CODEC_JSONRPC)
		frame_jsonrpc_done(&codec->frame.jsonrpc);
	else if (codec->kind == PIPELINE_CODEC_GRPC)
		frame_grpc_done(&codec->frame.grpc);
	free(codec);
}

enum fault pipeline_codec_next(struct pipeline_codec *codec, const uint8_t *data, size_t len,
			       struct piece *ret_piece)
{
	switch (codec->kind) {
	case PIPELINE_CODEC_WS:
		return frame_ws_next(codec->frame.ws, data, len, ret_piece);
	case PIPELINE_CODEC_JSONRPC:
		return frame_jsonrpc_next(&codec->frame.jsonrpc, data, len, ret_piece);
	case PIPELINE_CODEC_EVENTSTREAM:
		return frame_eventstream_next(&codec->frame.eventstream, data, len, ret_piece);
	case PIPELINE_CODEC_GRPC:
		return frame_grpc_next(&codec->frame.grpc, data, len, ret_piece);
	default:
		return frame_json_array_next(&codec->frame.array, data, len, ret_piece);
	}
}

bool pipeline_codec_partial(const struct pipeline_codec *codec)
{
	switch (codec->kind) {
	case PIPELINE_CODEC_WS:
		return frame_ws_partial(codec->frame.ws);
	case PIPELINE_CODEC_JSONRPC:
		return frame_jsonrpc_partial(&codec->frame.jsonrpc);
	case PIPELINE_CODEC_EVENTSTREAM:
		return frame_eventstream_partial(&codec->frame.eventstream);
	case PIPELINE_CODEC_GRPC:
		return frame_grpc_partial(&codec->frame.grpc);
	default:
		/* A comma and white space are nothing yet. */
		return codec->frame.array.payload > 0;
	}
}

bool pipeline_codec_is_opaque(const struct pipeline_codec *codec)
{
	return codec->kind == PIPELINE_CODEC_WS && !frame_ws_is_text(codec->frame.ws);
}

bool pipeline_codec_has_loose_meta(const struct pipeline_codec *codec)
{
	return codec->kind == PIPELINE_CODEC_WS;
}

bool pipeline_codec_may_end(const struct pipeline_codec *codec)
{
	if (pipeline_codec_partial(codec))
		return false;
	return codec->kind != PIPELINE_CODEC_JSON_ARRAY || pipeline_codec_is_over(codec);
}

bool pipeline_codec_is_over(const struct pipeline_codec *codec)
{
	switch (codec->kind) {
	case PIPELINE_CODEC_WS:
		return frame_ws_closed(codec->frame.ws);
	case PIPELINE_CODEC_JSON_ARRAY:
		return frame_json_array_ended(&codec->frame.array);
	default:
		return false;
	}
}

uint64_t pipeline_codec_expected(const struct pipeline_codec *codec)
{
	switch (codec->kind) {
	case PIPELINE_CODEC_JSONRPC:
		return codec->frame.jsonrpc.left;
	case PIPELINE_CODEC_EVENTSTREAM:
		return codec->frame.eventstream.payload_left;
	case PIPELINE_CODEC_GRPC:
		return codec->frame.grpc.left;
	default:
		return 0;
	}
}

size_t pipeline_codec_memory(const struct pipeline_codec *codec)
{
	size_t memory = sizeof(*codec);

	if (codec->kind == PIPELINE_CODEC_WS)
		memory += frame_ws_memory(codec->frame.ws);
	else if (codec->kind == PIPELINE_CODEC_JSONRPC)
		memory += frame_jsonrpc_memory(&codec->frame.jsonrpc);
	else if (codec->kind == PIPELINE_CODEC_GRPC)
		memory += frame_grpc_memory(&codec->frame.grpc);
	return memory;
}
