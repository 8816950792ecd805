/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Framing of WebSocket (RFC 6455), one direction of a connection behind its handshake:
 * a message is the join of its fragments, unmasked, with permessage-deflate (RFC 7692,
 * context takeover in both directions) undone. A control frame outside of a message is a
 * unit by itself; one between two fragments belongs to the unit of the message. The
 * payload of a ping or pong, and the reason of a close, are META, each one text. That of
 * a ping or pong may be any bytes (5.5.2), and is UTF-8 only where its sender made it so.
 *
 * FAULT_PROTOCOL: a mask where there may be none or none where there has to be one (5.1),
 * a length not in its shortest form, reserved bits or opcodes, a control frame that is
 * fragmented or longer than 125 bytes (5.5), a continuation without a beginning, a
 * beginning within a message, a close payload of one byte or with a code that may not be
 * sent (7.4: 1000 to 1003, 1007 to 1011 and 3000 to 4999 may, and 1012 to 1014, which
 * IANA has registered since), any frame behind a close. FAULT_BAD_UTF8: a text message or
 * close reason that is not UTF-8, told at the byte that shows it (8.1). FAULT_TOO_LARGE:
 * a payload, inflated, over the limit, told as soon as a length says so; of coded frames
 * no length does. FAULT_BAD_ENCODING: what does not inflate, or not to its message's end;
 * the ratio of what does is bounded as in content_coding.h, for each message.
 *
 * A close between two fragments is the last frame, and its message never ends.
 *
 * Invariants:
 *  W1. How the input is cut into calls changes neither the pieces, but for how the bytes
 *      of DATA and META are cut, nor the fault.
 *  W2. The byte at fault is not taken, and all before it are, in pieces of their own.
 *      In a coded payload it may be another of the payload's bytes that is told: the
 *      right one where they come one by one.
 *  W3. The last byte of a message or unit is taken by the piece that tells of its end,
 *      and by no other.
 *  W4. Nothing is allocated once it is made, for a length that was announced least of
 *      all; only the inflater has its window when it first needs it.
 *
 * Fragments without payload may follow each other without end: they count towards no
 * limit here, but are bytes of the unit, of which there are as many as may be held.
 *
 * Units: bytes.
 */
#ifndef SLUICE_CORE_FRAME_WS_H
#define SLUICE_CORE_FRAME_WS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/fault.h"
#include "core/piece.h"

struct frame_ws_config {
	bool client; /* sent by the client: masked */
	bool permessage_deflate;
	bool no_context_takeover; /* of this direction */
	uint64_t max_message;
};

struct frame_ws;

/* -ENOMEM. -EINVAL: zlib will not. */
int frame_ws_new(const struct frame_ws_config *config, struct frame_ws **ret_frame) must_check;
void frame_ws_free(struct frame_ws *frame); /* accepts NULL */
DEFINE_CLEANUP(struct frame_ws *, frame_ws_free)

/*
 * The next piece of len (at least 1) bytes; those that are not taken come first the next
 * time. A fault stays.
 */
enum fault frame_ws_next(struct frame_ws *frame, const uint8_t *data, size_t len,
			 struct piece *ret_piece) must_check;
/* Has a frame or message begun that has not ended? */
bool frame_ws_partial(const struct frame_ws *frame);
/* Is the message under way, or that ended last, text (and not binary)? */
bool frame_ws_is_text(const struct frame_ws *frame);
/* A close frame has come. */
bool frame_ws_closed(const struct frame_ws *frame);
size_t frame_ws_memory(const struct frame_ws *frame);

#endif
