/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scripts (duplex.h) of a stream that becomes a WebSocket. A step has bytes of its own, and
 * releases all that its flow has, unless it is said otherwise.
 */
#ifndef SLUICE_TESTS_UNIT_WS_SCRIPT_H
#define SLUICE_TESTS_UNIT_WS_SCRIPT_H

#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

#include "unit/duplex.h"
#include "unit/ws_story.h"

/* Heads, without the empty line that ends them. */
#define WS_ASKS "GET /chat HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
#define WS_AGREES \
	"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
#define WS_DEFLATE "Sec-WebSocket-Extensions: permessage-deflate"

#define CLIENT SESSION_REQUEST
#define SERVER SESSION_RESPONSE

#define WS_STEPS_MAX 12u

struct ws_script {
	struct duplex_step steps[WS_STEPS_MAX];
	struct coded_bytes bytes[WS_STEPS_MAX];
	size_t count;
	enum refusal_place place; /* of the steps to come */
};

/* With the two heads as steps. */
void ws_script_begin(struct ws_script *ret_script, const char *asks, const char *agrees);
void ws_script_begin_plain(struct ws_script *ret_script);

/* Steps: an empty one, bytes, a frame, the end of a flow. */
struct duplex_step *ws_step(struct ws_script *script, enum session_track track);
struct duplex_step *ws_step_bytes(struct ws_script *script, enum session_track track,
				  const char *bytes);
struct duplex_step *ws_step_frame(struct ws_script *script, enum session_track track, uint8_t first,
				  const char *payload);
struct duplex_step *ws_step_end(struct ws_script *script, enum session_track track);
/* Each side sends a close, and ends. */
void ws_step_close(struct ws_script *script);

/* More of the last step. Coded: a text message, by a stream of zlib's. */
void ws_more_bytes(struct ws_script *script, const void *data, size_t len);
void ws_more_frame(struct ws_script *script, uint8_t first, const void *payload, size_t len);
void ws_more_coded(struct ws_script *script, z_stream *stream, const char *text);

/* Nothing of the last step is released. */
void ws_held(struct ws_script *script);
/* It ends in a fault, with nothing of it released. */
void ws_fails(struct ws_script *script, enum fault fault);

void ws_script_forget(struct ws_script *script);
/* As duplex_run(); the script is gone afterwards. */
void ws_script_run(const struct duplex_config *config, struct ws_script *script, const char *ends);
/* The same of one that completes, with this among the text of a flow. */
void ws_script_run_text(const struct duplex_config *config, struct ws_script *script,
			enum session_track track, const char *text);

#endif
