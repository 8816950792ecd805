/* SPDX-License-Identifier: Apache-2.0 */
/* A queue of bytes in one piece: in at the back, out at the front. All zero is an empty one. */
#ifndef SLUICE_CORE_BYTE_QUEUE_H
#define SLUICE_CORE_BYTE_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

struct byte_queue {
	uint8_t *bytes;
	size_t first, len, capacity;
};

void byte_queue_done(struct byte_queue *queue);

/* Its first byte, of an empty one NULL or any; until the next push. */
static inline uint8_t *byte_queue_front(const struct byte_queue *queue)
{
	return queue->bytes ? queue->bytes + queue->first : NULL;
}

/* -ENOMEM: it is as it was. */
int byte_queue_push(struct byte_queue *queue, const void *bytes, size_t len) must_check;
/* Drops the first len bytes, of at least so many. */
void byte_queue_pop(struct byte_queue *queue, size_t len);

#endif
