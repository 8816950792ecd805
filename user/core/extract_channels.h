/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The joined channels that an exchange turns out to have: one for each choice, tool call
 * and kind of text, made when its first text comes.
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
#include "core/fault.h"

#define EXTRACT_CHANNELS_MAX 1024u
/* The largest number of a choice, or of a tool call. */
#define EXTRACT_INDEX_MAX 1023u
#define EXTRACT_KINDS_MAX 16u

/* What a channel is for: kind of text, tool call, choice. Sorted by choice. */
#define EXTRACT_KEY(kind, choice, call) ((uint32_t)(choice) << 14 | (uint32_t)(call) << 4 | (kind))
#define EXTRACT_KEY_KIND(key)		((key)&15u)
#define EXTRACT_KEY_CHOICE(key)		((key) >> 14)

struct extract_channel {
	uint32_t key;
	struct channel *channel;
};

struct extract_channels {
	struct channel_set *set;
	struct extract_channel *entries; /* sorted by key */
	uint32_t count, capacity;
	struct extract_channel recent[EXTRACT_KINDS_MAX]; /* of each kind the one used last */
};

void extract_channels_init(struct extract_channels *channels, struct channel_set *set);
void extract_channels_done(struct extract_channels *channels);

/* The first entry whose key is not less, or their end. */
struct extract_channel *extract_channels_from(const struct extract_channels *channels,
					      uint32_t key);
/* NULL: there is none. */
struct channel *extract_channels_find(struct extract_channels *channels, uint32_t key);
/* Adds one that there is not. FAULT_TOO_LARGE: N1. FAULT_NO_MEMORY. */
enum fault extract_channels_add(struct extract_channels *channels, uint32_t key, const char *name,
				bool whole, struct channel **ret_channel) must_check;

size_t extract_channels_memory(const struct extract_channels *channels); /* not the channels' own */

#endif
