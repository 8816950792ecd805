/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Masking of WebSocket payload (RFC 6455 5.3): byte i is exclusive-ored with byte i
 * modulo 4 of the frame's key. Undoing it is the same.
 */
#ifndef SLUICE_CORE_FRAME_WS_MASK_H
#define SLUICE_CORE_FRAME_WS_MASK_H

#include <stddef.h>
#include <stdint.h>

#define FRAME_WS_KEY_LEN 4u

/*
 * Writes len bytes to ret_plain, which does not overlap data. at: how many bytes of the
 * payload came before.
 */
void frame_ws_unmask(const uint8_t key[FRAME_WS_KEY_LEN], unsigned int at, const uint8_t *data,
		     size_t len, uint8_t *ret_plain);

#endif
