/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a framing hands on, piece by piece: the payload of messages as their reader sees
 * it, text that is neither payload nor fixed grammar, and where units end. Shared by the
 * framings whose payload does not lie in the flow in one piece.
 *
 * A framing is driven by a `next` function: it takes some of the input and says what
 * that was. Pieces of one input come in the order of its bytes; how the input is cut
 * changes nothing but how the bytes of DATA and META are cut into pieces.
 */
#ifndef SLUICE_CORE_PIECE_H
#define SLUICE_CORE_PIECE_H

#include <stddef.h>
#include <stdint.h>

enum piece_kind {
	PIECE_NOTHING,	/* all of `used` was grammar, and nothing ends with it */
	PIECE_DATA,	/* bytes of the payload of the message under way */
	PIECE_META,	/* bytes of a text that is none */
	PIECE_META_END, /* that text ends */
	PIECE_MESSAGE,	/* a message, and with it a unit, ends with the last byte taken */
	PIECE_UNIT,	/* a unit that is no message does */
	PIECE_TAIL,	/* sse: the LF behind the CR with which a unit ended */
};

struct piece {
	enum piece_kind kind;
	const uint8_t *data; /* DATA, META: in the input, or in the framing until its next call */
	size_t len;
	size_t used; /* of the input */
};

#endif
