/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/hold.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct hold_chunk {
	struct hold_chunk *next, *prev; /* prev only within a hold */
	uint32_t start, end;
	enum hold_class class;
	uint8_t bytes[];
};

#define HEADER 32u
_Static_assert(offsetof(struct hold_chunk, bytes) <= HEADER, "chunks fill whole pages");

static const uint32_t rooms[] = {4096u - HEADER, (128u << 10) - HEADER, (4u << 20) - HEADER};
/* Free chunks that are kept for the next read. */
static const size_t kept[] = {1024, 8, 2};
_Static_assert(ARRAY_SIZE(rooms) == _HOLD_CLASS_MAX, "every class has a size");
_Static_assert(ARRAY_SIZE(kept) == _HOLD_CLASS_MAX, "every class has a number to keep");

/* A rest below this part of its chunk is worth a copy; below this many small chunks, into them. */
#define COMPACT_PART  4u
#define COMPACT_SMALL 4u
/* A tail with less room than this is left: a read into it would be cut short. */
#define TAIL_ROOM_MIN 1024u

static struct hold_chunk *chunk_take(struct hold_pool *pool, enum hold_class class)
{
	struct hold_chunk *chunk = pool->free[class];

	if (chunk) {
		pool->free[class] = chunk->next;
		pool->count[class]--;
	} else {
		chunk = malloc(offsetof(struct hold_chunk, bytes) + rooms[class]);
		if (!chunk)
			return NULL;
		chunk->class = class;
	}
	chunk->next = chunk->prev = NULL;
	chunk->start = chunk->end = 0;
	return chunk;
}

static void chunk_give(struct hold_pool *pool, struct hold_chunk *chunk)
{
	if (pool->count[chunk->class] >= kept[chunk->class]) {
		free(chunk);
		return;
	}
	chunk->next = pool->free[chunk->class];
	pool->free[chunk->class] = chunk;
	pool->count[chunk->class]++;
}

static size_t chunk_room(const struct hold_chunk *chunk)
{
	return rooms[chunk->class] - chunk->end;
}

static void free_list(struct hold_chunk *chunk)
{
	struct hold_chunk *next;

	for (; chunk; chunk = next) {
		next = chunk->next;
		free(chunk);
	}
}

void hold_pool_done(struct hold_pool *pool)
{
	for (int class = 0; class < _HOLD_CLASS_MAX; class ++)
		free_list(pool->free[class]);
	*pool = (struct hold_pool){0};
}

void hold_init(struct hold *hold, enum hold_class largest)
{
	*hold = (struct hold){.largest = largest};
}

void hold_done(struct hold *hold, struct hold_pool *pool)
{
	struct hold_chunk *chunk, *next;

	for (chunk = hold->head; chunk; chunk = next) {
		next = chunk->next;
		chunk_give(pool, chunk);
	}
	pool->bytes -= hold->bytes;
	hold_init(hold, hold->largest);
}

static void append(struct hold *hold, struct hold_chunk *chunk)
{
	chunk->prev = hold->tail;
	if (hold->tail)
		hold->tail->next = chunk;
	else
		hold->head = chunk;
	hold->tail = chunk;
}

int hold_reserve(struct hold *hold, struct hold_pool *pool, uint8_t **ret_room, size_t *ret_len)
{
	struct hold_chunk *tail = hold->tail;

	if (!tail || chunk_room(tail) < TAIL_ROOM_MIN) {
		tail = chunk_take(pool, hold->want);
		if (!tail)
			return -ENOMEM;
		append(hold, tail);
	}
	*ret_room = tail->bytes + tail->end;
	*ret_len = chunk_room(tail);
	return 0;
}

static void drop_tail(struct hold *hold, struct hold_pool *pool)
{
	struct hold_chunk *tail = hold->tail;

	hold->tail = tail->prev;
	if (tail->prev)
		tail->prev->next = NULL;
	else
		hold->head = NULL;
	chunk_give(pool, tail);
}

void hold_commit(struct hold *hold, struct hold_pool *pool, size_t len)
{
	struct hold_chunk *tail = hold->tail;

	assert(tail && len <= chunk_room(tail));
	if (len >= rooms[HOLD_SMALL])
		hold->want = hold->largest;
	else if (len <= rooms[HOLD_SMALL] / 2)
		hold->want = HOLD_SMALL;
	tail->end += (uint32_t)len;
	hold->bytes += len;
	pool->bytes += len;
	if (tail->start == tail->end)
		drop_tail(hold, pool);
}

size_t hold_peek(const struct hold *hold, size_t max, struct iovec *ret_pieces, int *count)
{
	size_t total = 0;
	int used = 0;

	for (struct hold_chunk *chunk = hold->head; chunk && total < max && used < *count;
	     chunk = chunk->next) {
		size_t len = MIN((size_t)(chunk->end - chunk->start), max - total);

		ret_pieces[used++] = (struct iovec){chunk->bytes + chunk->start, len};
		total += len;
	}
	*count = used;
	return total;
}

int hold_visit(const struct hold *hold, size_t skip,
	       int (*visit)(void *context, const uint8_t *bytes, size_t len), void *context)
{
	int r = 0;

	for (struct hold_chunk *chunk = hold->head; chunk && !r; chunk = chunk->next) {
		size_t len = chunk->end - chunk->start;
		size_t skipped = MIN(len, skip);

		skip -= skipped;
		if (skipped < len)
			r = visit(context, chunk->bytes + chunk->start + skipped, len - skipped);
	}
	return r;
}

void hold_consume(struct hold *hold, struct hold_pool *pool, size_t len)
{
	assert(len <= hold->bytes);
	hold->bytes -= len;
	pool->bytes -= len;
	while (len) {
		struct hold_chunk *head = hold->head;
		size_t part = MIN((size_t)(head->end - head->start), len);

		head->start += (uint32_t)part;
		len -= part;
		if (head->start < head->end)
			continue;
		hold->head = head->next;
		if (hold->head)
			hold->head->prev = NULL;
		else
			hold->tail = NULL;
		chunk_give(pool, head);
	}
}

void hold_truncate(struct hold *hold, struct hold_pool *pool, size_t len)
{
	assert(len <= hold->bytes);
	while (hold->bytes > len) {
		struct hold_chunk *tail = hold->tail;
		size_t part = MIN((size_t)(tail->end - tail->start), hold->bytes - len);

		tail->end -= (uint32_t)part;
		hold->bytes -= part;
		pool->bytes -= part;
		if (tail->start == tail->end)
			drop_tail(hold, pool);
	}
}

void hold_compact(struct hold *hold, struct hold_pool *pool)
{
	struct hold rest = {.largest = hold->largest, .want = hold->want};
	struct hold_chunk *tail = hold->tail;
	enum hold_class class;
	size_t len;

	if (!tail)
		return;
	len = tail->end - tail->start;
	class = len > COMPACT_SMALL * rooms[HOLD_SMALL] ? HOLD_MEDIUM : HOLD_SMALL;
	if (tail->class <= class || len >= rooms[tail->class] / COMPACT_PART)
		return;
	for (uint32_t from = tail->start; from < tail->end;) {
		struct hold_chunk *chunk = chunk_take(pool, class);

		if (!chunk) {
			hold_done(&rest, pool);
			return;
		}
		chunk->end = MIN(tail->end - from, rooms[class]);
		(void)memcpy(chunk->bytes, tail->bytes + from, chunk->end);
		from += chunk->end;
		append(&rest, chunk);
	}
	drop_tail(hold, pool);
	rest.head->prev = hold->tail;
	if (hold->tail)
		hold->tail->next = rest.head;
	else
		hold->head = rest.head;
	hold->tail = rest.tail;
}
