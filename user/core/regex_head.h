/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a match can begin with, byte by byte, where that is ASCII: of each of its first
 * bytes, which can be there. Put together as the pattern is read; it says less than it
 * could, never more. The heads of up to any number of patterns are searched for at once.
 */
#ifndef SLUICE_CORE_REGEX_HEAD_H
#define SLUICE_CORE_REGEX_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

#define REGEX_HEAD_MAX	   16u
#define REGEX_HEAD_BUCKETS 4u
_Static_assert(64 / REGEX_HEAD_MAX == REGEX_HEAD_BUCKETS, "a bit of the state per byte of a head");

struct regex_head {
	unsigned int count;
	bool fixed; /* all that is matched has just these bytes, or more than fit */
	uint64_t sets[REGEX_HEAD_MAX][2]; /* a bit per byte below 128 */
};

/* Nothing is matched; something is of which nothing is known; an ASCII byte, or another. */
void regex_head_empty(struct regex_head *head);
void regex_head_any(struct regex_head *head);
void regex_head_rune(struct regex_head *head, uint32_t rune, bool caseless);
/* A class or an escape, len bytes as PCRE2 reads them, that is of one rune. */
void regex_head_class(struct regex_head *head, const char *text, size_t len, bool caseless);
void regex_head_follow(struct regex_head *head, const struct regex_head *next);
void regex_head_or(struct regex_head *head, const struct regex_head *other);
void regex_head_repeat(struct regex_head *head, uint32_t min, uint32_t max);

/*
 * A search for heads: each is in one of a few buckets, which has for each byte what any
 * of its heads has there, up to the length of its shortest one. The state has
 * REGEX_HEAD_MAX bits per bucket: bit i is set where the last i + 1 bytes fit its first ones.
 */
struct regex_heads {
	unsigned int buckets;
	uint64_t masks[256]; /* per byte of text: which bits it leaves */
	uint64_t begin, end; /* the first bit of each bucket, and its last */
	unsigned int count[REGEX_HEAD_BUCKETS];
};

/* Adds a head of at least one byte to a bucket; all of a bucket, then the next. */
void regex_heads_add(struct regex_heads *heads, unsigned int bucket, const struct regex_head *head);
/* After the last: what the bits mean. */
void regex_heads_finish(struct regex_heads *heads);

#endif
