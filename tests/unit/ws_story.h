/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WebSocket flows for tests: frames are written, the framing is driven over them in cuts,
 * and what it tells becomes one text that is compared whole:
 *   T(payload)@end  a text message       B(payload)@end  a binary one
 *   P(text)         a text that is none  U@end           a unit that is no message
 * and, of what has not ended, t(payload) or b(payload), and p(text).
 * Fails with cmocka's assertions.
 */
#ifndef SLUICE_TESTS_UNIT_WS_STORY_H
#define SLUICE_TESTS_UNIT_WS_STORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

#include "core/frame_ws.h"
#include "unit/coded.h"

/* First bytes of frames. */
#define WS_FIN	  0x80
#define WS_RSV1	  0x40
#define WS_MORE	  0x00
#define WS_TEXT	  0x01
#define WS_BINARY 0x02
#define WS_CLOSE  0x88
#define WS_PING	  0x89
#define WS_PONG	  0x8a

/* Appends a frame; masked with a key of its own where the client sends it. */
void ws_frame_add(struct coded_bytes *bytes, bool client, uint8_t first, const void *payload,
		  size_t len);

/*
 * Appends what permessage-deflate makes of a message, by a stream of zlib's that is kept
 * from message to message.
 */
void ws_deflate(z_stream *stream, const void *payload, size_t len, struct coded_bytes *bytes);

struct ws_story {
	struct coded_bytes text;
	struct coded_bytes payload, meta; /* under way; empty when all is told */
	enum fault fault;
	size_t fault_at;
	/* Of a coded payload, where any byte may be told; else both 0. */
	size_t payload_at, payload_end;
	bool partial, closed, is_text;
};

void ws_story_done(struct ws_story *story);
void ws_tell_text(struct ws_story *story, char kind, struct coded_bytes *text);
void ws_tell_end(struct ws_story *story, size_t end);
/* All that has not ended. */
void ws_tell_rest(struct ws_story *story);

/*
 * Drives the framing. first, size: of the first cut and of each that follows. Where jitter
 * is not 0, every call has as many of the bytes that are left as it says at random.
 */
struct ws_cuts {
	size_t first, size;
	unsigned int jitter;
};

void ws_run(const struct frame_ws_config *config, const void *data, size_t len,
	    const struct ws_cuts *cuts, struct ws_story *ret_story);
void ws_assert_same(const struct ws_story *got, const struct ws_story *expected);

/*
 * Against the reference, in one piece, byte by byte, cut in two at every offset, and at
 * random; of a short flow every size of cut besides.
 */
void ws_check_cuts(const struct frame_ws_config *config, const void *data, size_t len,
		   struct ws_story *ret_story);
/* And that this is what comes of it. */
void ws_check(const struct frame_ws_config *config, const void *data, size_t len, const char *text,
	      bool partial);
/* Or that this is the fault, told at this byte, with this before it. */
void ws_check_fault(const struct frame_ws_config *config, const void *data, size_t len,
		    const char *text, enum fault fault, size_t fault_at);

#endif
