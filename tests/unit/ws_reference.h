/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What RFC 6455 and RFC 7692 make of the bytes of one direction, by a reader that has all
 * of them before it and goes byte by byte. It knows no ratio of coded payloads.
 */
#ifndef SLUICE_TESTS_UNIT_WS_REFERENCE_H
#define SLUICE_TESTS_UNIT_WS_REFERENCE_H

#include <stddef.h>

#include "core/frame_ws.h"
#include "unit/ws_story.h"

void ws_reference(const struct frame_ws_config *config, const void *data, size_t len,
		  struct ws_story *ret_story);

#endif
