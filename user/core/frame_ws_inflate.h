/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Undoes permessage-deflate (RFC 7692 7.2.2) in one direction of a connection.
 *
 * The window is kept from message to message, whatever size was agreed on: the largest
 * one reads all. A block that says it is the last of its stream (7.2.3.4) ends the
 * stream and no more; what follows is another one, with an empty window.
 *
 * A message ends where a block does: four octets are put behind it that make its last
 * one whole. Where they do not, its readers would not agree on where the next begins.
 *
 * Invariants:
 *  I1. How the input is cut into calls changes neither the output nor the fault.
 *  I2. Of a message no more is given out than max_message, and no more than CODING_SLACK
 *      and CODING_RATIO_MAX (content_coding.h) times its input so far, held after each
 *      byte of it. The slack is the message's and not the connection's: silence in audio
 *      and the like stay above that ratio for as long as they last.
 *  I3. A fault comes after the output before it, and stays.
 *
 * Units: bytes.
 */
#ifndef SLUICE_CORE_FRAME_WS_INFLATE_H
#define SLUICE_CORE_FRAME_WS_INFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/fault.h"

struct frame_ws_inflater;

struct frame_ws_inflated {
	const uint8_t *data; /* until the next call */
	size_t len;
	size_t used; /* of the input */
	bool more;   /* what was used decides more: output, or a fault */
};

/* -ENOMEM. -EINVAL: zlib will not. */
int frame_ws_inflater_new(bool takeover, uint64_t max_message,
			  struct frame_ws_inflater **ret_inflater) must_check;
void frame_ws_inflater_free(struct frame_ws_inflater *inflater); /* accepts NULL */

void frame_ws_inflate_begin(struct frame_ws_inflater *inflater);
/*
 * Some output, or none, of what is used of len (at least 1) bytes of a message. Where the
 * last call left more inside, no input is used: it comes out first.
 */
enum fault frame_ws_inflate(struct frame_ws_inflater *inflater, const uint8_t *data, size_t len,
			    struct frame_ws_inflated *ret_inflated) must_check;
/* The message ended: output that this decides; no more when its length is 0. */
enum fault frame_ws_inflate_end(struct frame_ws_inflater *inflater,
				struct frame_ws_inflated *ret_inflated) must_check;

size_t frame_ws_inflater_memory(const struct frame_ws_inflater *inflater);

#endif
