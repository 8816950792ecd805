/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of span sets share. For core/span*.c alone. */
#ifndef SLUICE_CORE_SPAN_INTERNAL_H
#define SLUICE_CORE_SPAN_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/span.h"

enum span_state { SPAN_UNDER_WAY, SPAN_CUT, SPAN_LENT };

struct span {
	struct span *next, *prev; /* of the set's, by their starts */
	enum span_state state;
	struct span_channel *channel; /* until it is lent */
	uint64_t id;
	uint64_t start, end; /* of the track */
	uint64_t runes;
	uint64_t rune_end, byte_end; /* of the text, once it is cut */
	bool final;
};

struct span_channel {
	struct span_channel *next, *prev; /* of the set's */
	char *name;
	/* The text from byte `base` on; from `need` on a window may have to see it. */
	uint8_t *text;
	size_t len, capacity;
	uint64_t base, need;
	uint64_t runes, bytes;	/* that are in spans, or primed */
	struct span *under_way; /* NULL: none */
	struct span *latest;	/* cut, and not lent; NULL: none is */
	size_t cut_count;	/* of those that are not lent */
	bool closed;
	bool stopped; /* its last rune ends a sentence where a space follows */
	enum span_text_kind kind;
	bool waits;
	uint64_t awaited; /* the number of the rune that waits */
	uint64_t end;	  /* behind the last rune that is in a span; of the track */
};

struct span_set {
	struct span_config config;
	uint64_t track; /* number of the next rune */
	uint64_t next_id;
	struct span *first, *last;
	struct span_channel *channels;
	struct span_channel *lender; /* closed; its text is lent until the next call */
	struct span_channel *kept;   /* closed, and all of it lent, for a last emission */
	bool has_lent;
	bool finished;	/* no text comes any more */
	bool last_lent; /* and the last emission is out, or was */
	uint32_t lent_count;
	size_t cut_count;
	size_t memory;
};

/* Where the last `runes` runes of the text begin that ends there. */
static inline const uint8_t *span_back(const uint8_t *end, uint64_t runes)
{
	while (runes--)
		do
			end--;
		while ((*end & 0xc0) == 0x80);
	return end;
}

/* The text that was lent last need not be kept any longer. */
void span_end_loan(struct span_set *set);
void span_free_channel(struct span_set *set, struct span_channel *channel);
/* A span begins with the rune of that number; of no text where channel is NULL. -ENOMEM. */
int span_begin(struct span_set *set, struct span_channel *channel, uint64_t track) must_check;

/* A text has ended of which all was lent: it is freed, or kept for the last emission. */
void span_keep_last(struct span_set *set, struct span_channel *channel);
/* The last emission, where that is one of no runes. */
void span_lend_last(const struct span_set *set, const struct span *span,
		    struct span_item *ret_item);

#endif
