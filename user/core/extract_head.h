/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The head that the documents of a stream share: most of each chunk of a chat is the
 * same bytes as in the chunk before, up to the array that holds what is new. A document
 * that begins so is taken up behind them.
 *
 * Invariants:
 *  Y1. A head is kept only where each text in it was evaluated, and cleared, by itself,
 *      so that the same bytes would be again; its runes are numbered all the same.
 *  Y2. Where texts are observed nothing is passed over.
 */
#ifndef SLUICE_CORE_EXTRACT_HEAD_H
#define SLUICE_CORE_EXTRACT_HEAD_H

#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/channel.h"
#include "core/fault.h"
#include "core/json.h"

#define EXTRACT_HEAD_MAX 512u /* bytes */

struct extract_head_kept;

struct extract_head {
	struct channel_set *set;
	const uint8_t
		*from;	/* of the document under way, where all of it is in this scan; or NULL */
	uint64_t track; /* number of its first rune */
	struct extract_head_kept *kept; /* NULL: none yet */
};

void extract_head_init(struct extract_head *head, struct channel_set *set);
void extract_head_done(struct extract_head *head);

/*
 * A scan of len bytes begins. Returns how many of them were passed over, and the scanner
 * is in the head's array then.
 */
size_t extract_head_begin(struct extract_head *head, struct json *json, const uint8_t *data,
			  size_t len);
/* The scan ends. */
static inline void extract_head_pause(struct extract_head *head)
{
	head->from = NULL;
}

/* The array opens, with this byte before end: what came before is the head. FAULT_NO_MEMORY. */
enum fault extract_head_keep(struct extract_head *head, const struct json *json,
			     const uint8_t *end) must_check;

size_t extract_head_memory(const struct extract_head *head); /* beside the struct itself */

#endif
