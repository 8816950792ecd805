/* SPDX-License-Identifier: Apache-2.0 */
#include "core/extract_head.h"

#include <stdlib.h>
#include <string.h>

struct extract_head_kept {
	struct json_mark mark;
	uint64_t runes;
	size_t len; /* 0: none */
	uint8_t bytes[EXTRACT_HEAD_MAX];
};

void extract_head_init(struct extract_head *head, struct channel_set *set)
{
	*head = (struct extract_head){.set = set};
}

void extract_head_done(struct extract_head *head)
{
	free(head->kept);
	head->kept = NULL;
}

size_t extract_head_begin(struct extract_head *head, struct json *json, const uint8_t *data,
			  size_t len)
{
	const struct extract_head_kept *kept = head->kept;

	/* What is evaluated elsewhere has to be seen again, as by an observer. */
	if (!json_blank(json) || head->set->on_text || head->set->span_count)
		return 0;
	head->from = data;
	head->track = head->set->track;
	if (!kept || !kept->len || len < kept->len || memcmp(data, kept->bytes, kept->len) != 0 ||
	    kept->runes > head->set->ceiling - head->set->track || !json_recall(json, &kept->mark))
		return 0;
	head->from = NULL;
	head->set->track += kept->runes;
	return kept->len;
}

enum fault extract_head_keep(struct extract_head *head, const struct json *json, const uint8_t *end)
{
	struct extract_head_kept *kept = head->kept;
	size_t len;

	/* A text that may go on in this unit has to be there when it does, and is counted. */
	if (!head->from || head->set->parked_count)
		return FAULT_NONE;
	len = (size_t)(end - head->from);
	if (len > EXTRACT_HEAD_MAX)
		return FAULT_NONE;
	if (!kept)
		kept = head->kept = malloc(sizeof(*kept));
	if (!kept)
		return FAULT_NO_MEMORY;
	kept->len = json_note(json, &kept->mark) ? len : 0;
	kept->runes = head->set->track - head->track;
	memcpy(kept->bytes, head->from, len);
	return FAULT_NONE;
}

size_t extract_head_memory(const struct extract_head *head)
{
	return head->kept ? sizeof(*head->kept) : 0;
}
