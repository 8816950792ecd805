/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hold: where the bytes of a flow wait. A socket is read straight into it, the
 * pipeline judges the bytes where they lie, and the same bytes are written out.
 *
 * Invariants:
 *  H1. A byte, once committed, does not change and does not move until it is
 *      consumed or dropped (compaction copies, and only between a write and the
 *      next read).
 *  H2. An empty hold has no memory: its chunks are back in the pool.
 *  H3. pool->bytes is the sum over all holds of committed, unconsumed bytes.
 *
 * Units: bytes. One thread; a pool outlives its holds.
 */
#ifndef SLUICE_DAEMON_HOLD_H
#define SLUICE_DAEMON_HOLD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/macros.h"

/*
 * Sizes of chunks. A flow that reads little takes small ones; one that fills a
 * small chunk gets the largest it may have: MEDIUM where the bytes are judged,
 * and should still be in the cache then, LARGE where they are only relayed, and
 * each read and write wakes somebody.
 */
enum hold_class { HOLD_SMALL, HOLD_MEDIUM, HOLD_LARGE, _HOLD_CLASS_MAX };

struct hold_chunk;

struct hold_pool {
	struct hold_chunk *free[_HOLD_CLASS_MAX];
	size_t count[_HOLD_CLASS_MAX];
	uint64_t bytes;
};

struct hold {
	struct hold_chunk *head, *tail;
	size_t bytes;
	enum hold_class largest, want; /* want: for the next read */
};

void hold_pool_done(struct hold_pool *pool);

void hold_init(struct hold *hold, enum hold_class largest);
/* Gives everything back. */
void hold_done(struct hold *hold, struct hold_pool *pool);

/* Room behind the last byte, for one read. -ENOMEM. Then commit what came, 0 too. */
int hold_reserve(struct hold *hold, struct hold_pool *pool, uint8_t **ret_room,
		 size_t *ret_len) must_check;
void hold_commit(struct hold *hold, struct hold_pool *pool, size_t len);

/* The first bytes, at most max of them, in at most *count pieces; returns how many bytes. */
size_t hold_peek(const struct hold *hold, size_t max, struct iovec *ret_pieces, int *count);
/*
 * Hands the bytes behind the first skip on, in order, until visit returns something else
 * than 0, which is returned.
 */
int hold_visit(const struct hold *hold, size_t skip,
	       int (*visit)(void *context, const uint8_t *bytes, size_t len),
	       void *context) must_check;
/* Drops the first len bytes. */
void hold_consume(struct hold *hold, struct hold_pool *pool, size_t len);
/* Drops all bytes but the first len. */
void hold_truncate(struct hold *hold, struct hold_pool *pool, size_t len);
/* Moves a small rest out of a large last chunk. Where memory is short it stays where it is. */
void hold_compact(struct hold *hold, struct hold_pool *pool);

#endif
