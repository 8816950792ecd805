/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of channels share. For core/channel*.c alone. */
#ifndef SLUICE_CORE_CHANNEL_INTERNAL_H
#define SLUICE_CORE_CHANNEL_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/channel.h"
#include "core/fault.h"

static inline size_t channel_cursors(const struct channel_set *set)
{
	return set->task_count + set->watch_count;
}

/* A whole text by itself, evaluated whatever it is; as channel_set_whole(). */
enum fault channel_whole(struct channel_set *set, const char *name, const uint8_t *text, size_t len,
			 uint64_t runes) must_check;

/* As channel_pending(), of the tasks that gate, and of those that watch and do not rest. */
uint64_t channel_gated(const struct channel_set *set, const struct channel *channel);
uint64_t channel_watched(const struct channel_set *set, const struct channel *channel);

/* The text ends for the tasks that gate, and goes on for those that watch. */
enum fault channel_end_gating(struct channel_set *set, struct channel *channel) must_check;

/* Where in the track a task has matched; its cursor counts from that rune of the channel on. */
struct channel_match channel_match_of(const struct channel_set *set, const struct channel *channel,
				      size_t task, uint64_t base);
enum fault channel_matcher_fault(int err);

/*
 * Those that watch, over text that those which gate have evaluated, and what they find of it
 * that is decided by then: where a match that denied was, or UINT64_MAX. The fault is that of a
 * matcher which may not fail.
 */
enum fault channel_watch(struct channel_set *set, struct channel *channel, const uint8_t *text,
			 size_t len, uint64_t runes, uint64_t decided) must_check;
enum fault channel_watch_end(struct channel_set *set, struct channel *channel,
			     uint64_t decided) must_check;

/*
 * The same text, for those that evaluate elsewhere; a rune that waits; the end of a joined
 * text; the end of a unit; what was delivered before. FAULT_NO_MEMORY.
 */
enum fault channel_spans_text(struct channel_set *set, struct channel *channel, const uint8_t *text,
			      size_t len, uint64_t runes) must_check;
enum fault channel_spans_wait(struct channel_set *set, struct channel *channel) must_check;
enum fault channel_spans_end(struct channel_set *set, struct channel *channel) must_check;
enum fault channel_spans_unit_end(struct channel_set *set) must_check;
int channel_spans_prime(struct channel_set *set, struct channel *channel, const uint8_t *text,
			size_t len) must_check;

#endif
