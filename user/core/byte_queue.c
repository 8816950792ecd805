/* SPDX-License-Identifier: Apache-2.0 */
#include "core/byte_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void byte_queue_done(struct byte_queue *queue)
{
	free(queue->bytes);
}

int byte_queue_push(struct byte_queue *queue, const void *bytes, size_t len)
{
	size_t capacity = queue->capacity ? queue->capacity : 256;
	uint8_t *grown;

	if (queue->first + queue->len + len > queue->capacity && queue->first) {
		memmove(queue->bytes, byte_queue_front(queue), queue->len);
		queue->first = 0;
	}
	while (capacity < queue->len + len)
		capacity *= 2;
	if (capacity != queue->capacity) {
		grown = realloc(queue->bytes, capacity);
		if (!grown)
			return -ENOMEM;
		queue->bytes = grown;
		queue->capacity = capacity;
	}
	memcpy(byte_queue_front(queue) + queue->len, bytes, len);
	queue->len += len;
	return 0;
}

void byte_queue_pop(struct byte_queue *queue, size_t len)
{
	queue->len -= len;
	queue->first = queue->len ? queue->first + len : 0;
}
