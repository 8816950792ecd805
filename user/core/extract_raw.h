/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text as it stands: UTF-8 into a channel, or checked alone, in any pieces.
 *
 * Invariants:
 *  V1. A sequence that the end of a piece cuts waits for the next, and is no rune before.
 */
#ifndef SLUICE_CORE_EXTRACT_RAW_H
#define SLUICE_CORE_EXTRACT_RAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/channel.h"
#include "core/extract_text.h"
#include "core/fault.h"
#include "core/utf8.h"

struct extract_raw {
	struct channel_set *set;
	struct channel *channel; /* NULL: the text is only checked */
	bool replace;	  /* U+FFFD per maximal ill-formed subpart, instead of FAULT_BAD_UTF8 */
	struct utf8 utf8; /* a sequence under way */
	struct extract_text *text; /* the channel's, where its literals are read; or NULL */
};

enum fault extract_raw_text(struct extract_raw *raw, const uint8_t *text, size_t len) must_check;

/* The text ends: a sequence under way is ill-formed. */
enum fault extract_raw_end(struct extract_raw *raw) must_check;

/* A unit ends and the text does not: a sequence under way is numbered with it, and waits. */
enum fault extract_raw_cut(struct extract_raw *raw) must_check;

#endif
