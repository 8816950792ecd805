/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The joined channels that an exchange turns out to have: one for each kind of text, and
 * choice, block or call, made when its first text comes.
 *
 * Invariants:
 *  N1. There are EXTRACT_CHANNELS_MAX at most.
 */
#ifndef SLUICE_CORE_EXTRACT_CHANNELS_H
#define SLUICE_CORE_EXTRACT_CHANNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/channel.h"
#include "core/extract_text.h"
#include "core/fault.h"

#define EXTRACT_CHANNELS_MAX 1024u
/* The largest number that tells texts apart. */
#define EXTRACT_INDEX_MAX 1023u
#define EXTRACT_RECENT	  16u

/* What a channel is for: kind of text, and two numbers. Sorted by the first of them. */
#define EXTRACT_KEY(kind, outer, inner) ((uint32_t)(outer) << 18 | (uint32_t)(inner) << 8 | (kind))
#define EXTRACT_KEY_KIND(key)		((key)&255u)
#define EXTRACT_KEY_OUTER(key)		((key) >> 18)

struct extract_channel {
	uint32_t key;
	struct extract_text *text; /* its channel is the set's */
};

struct extract_channels {
	struct channel_set *set;
	struct extract_channel *entries; /* sorted by key */
	uint32_t count, capacity;
	struct extract_channel recent[EXTRACT_RECENT]; /* of each few kinds the one used last */
};

void extract_channels_init(struct extract_channels *channels, struct channel_set *set);
void extract_channels_done(struct extract_channels *channels);

/* The first entry whose key is not less, or their end. */
struct extract_channel *extract_channels_from(const struct extract_channels *channels,
					      uint32_t key);
/* NULL: there is none. */
struct extract_text *extract_channels_find(struct extract_channels *channels, uint32_t key);
/* Adds one that there is not. FAULT_TOO_LARGE: N1. FAULT_NO_MEMORY. */
enum fault extract_channels_add(struct extract_channels *channels, uint32_t key, const char *name,
				bool whole, struct extract_text **ret_text) must_check;

size_t extract_channels_memory(const struct extract_channels *channels); /* not the channels' own */

#endif
