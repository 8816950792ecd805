/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The framings that hand on pieces (piece.h), driven alike: one that is made when a flow
 * or a body turns out to need it.
 */
#ifndef SLUICE_CORE_PIPELINE_CODEC_H
#define SLUICE_CORE_PIPELINE_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/content_coding.h"
#include "core/fault.h"
#include "core/frame_ws.h"
#include "core/piece.h"

enum pipeline_codec_kind {
	PIPELINE_CODEC_WS,
	PIPELINE_CODEC_JSONRPC,
	PIPELINE_CODEC_EVENTSTREAM,
	PIPELINE_CODEC_JSON_ARRAY,
	PIPELINE_CODEC_GRPC,
};

struct pipeline_codec_config {
	enum pipeline_codec_kind kind;
	uint64_t max_message;
	struct frame_ws_config ws;  /* ws, but for its limit */
	enum content_coding coding; /* grpc */
	bool grpc_web;
};

struct pipeline_codec;

/* -ENOMEM. -EINVAL: as frame_ws_new(). */
int pipeline_codec_new(const struct pipeline_codec_config *config,
		       struct pipeline_codec **ret_codec) must_check;
void pipeline_codec_free(struct pipeline_codec *codec); /* accepts NULL */

enum fault pipeline_codec_next(struct pipeline_codec *codec, const uint8_t *data, size_t len,
			       struct piece *ret_piece) must_check;
/* Has a message, or a control frame, begun that has not ended? */
bool pipeline_codec_partial(const struct pipeline_codec *codec);
/* Is the payload under way not text, by what its framing says? */
bool pipeline_codec_is_opaque(const struct pipeline_codec *codec);
/* May a text that is no payload be any bytes (a ping's)? */
bool pipeline_codec_has_loose_meta(const struct pipeline_codec *codec);
/* May the flow end here, between two units? An array may not, before its bracket. */
bool pipeline_codec_may_end(const struct pipeline_codec *codec);
/* Has its sender said that no message follows? With a close, or an array's bracket. */
bool pipeline_codec_is_over(const struct pipeline_codec *codec);
/* Bytes of the payload under way that are still to come; 0 where that is unknown. */
uint64_t pipeline_codec_expected(const struct pipeline_codec *codec);
size_t pipeline_codec_memory(const struct pipeline_codec *codec);

#endif
