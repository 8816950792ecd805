/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/sse_reference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

void sse_tell(struct sse_story *story, const void *text, size_t len)
{
	assert_true(story->len + len < sizeof(story->text));
	memcpy(story->text + story->len, text, len);
	story->len += len;
	story->text[story->len] = '\0';
}

void sse_tell_end(struct sse_story *story, size_t end)
{
	char text[24];

	sse_tell(story, text, (size_t)snprintf(text, sizeof(text), "@%zu ", end));
}

void sse_tell_text(struct sse_story *story, char kind, const void *text, size_t len)
{
	sse_tell(story, &kind, 1);
	sse_tell(story, "(", 1);
	sse_tell(story, text, len);
	sse_tell(story, ")", 1);
}

struct reference {
	const uint8_t *data;
	size_t len, at;
	uint8_t payload[512];
	size_t payload_len;
	uint64_t limit;
	bool has_data, begun;
	struct sse_story *story;
};

static void reference_add(struct reference *ref, uint8_t byte, size_t at)
{
	if (ref->story->fault)
		return;
	if (ref->payload_len == ref->limit) {
		ref->story->fault = FAULT_TOO_LARGE;
		ref->story->fault_at = at;
		return;
	}
	assert_true(ref->payload_len < sizeof(ref->payload));
	ref->payload[ref->payload_len++] = byte;
}

/* A data field: from where its name ends, at a colon, at the line's end or the stream's. */
static void reference_data(struct reference *ref, size_t name_end, size_t end)
{
	size_t at = name_end;

	if (ref->has_data)
		reference_add(ref, '\n', at);
	ref->has_data = true;
	if (at < end)
		at++;
	if (at < end && ref->data[at] == ' ')
		at++;
	for (; at < end; at++)
		reference_add(ref, ref->data[at], at);
}

static void reference_blank(struct reference *ref, size_t end)
{
	if (ref->has_data)
		sse_tell_text(ref->story, 'E', ref->payload, ref->payload_len);
	else
		sse_tell(ref->story, "B", 1);
	sse_tell_end(ref->story, end);
	ref->has_data = ref->begun = false;
	ref->payload_len = 0;
}

/* Returns whether there was one. */
static bool reference_line(struct reference *ref)
{
	size_t start = ref->at, end = start;
	const uint8_t *line = ref->data + start;
	bool ended, tail = false;

	while (end < ref->len && ref->data[end] != '\n' && ref->data[end] != '\r')
		end++;
	ended = end < ref->len;
	if (start == ref->len)
		return false;
	ref->at = end + ended;
	if (end == start) {
		tail = ref->data[end] == '\r' && ref->at < ref->len && ref->data[ref->at] == '\n';
		reference_blank(ref, ref->at);
		if (tail) {
			sse_tell(ref->story, "T", 1);
			sse_tell_end(ref->story, ++ref->at);
		}
		return true;
	}
	ref->begun = true;
	if (end - start >= 4 && !memcmp(line, "data", 4) && (end - start == 4 || line[4] == ':')) {
		/* At the end of the stream the name may go on yet. */
		if (end - start > 4 || ended)
			reference_data(ref, start + 4, end);
	} else if (ended || end - start > 4 || memcmp(line, "data", end - start) != 0) {
		sse_tell_text(ref->story, ended ? 'M' : 'm', line, end - start);
	}
	if (ended && ref->data[end] == '\r' && ref->at < ref->len && ref->data[ref->at] == '\n')
		ref->at++;
	return true;
}

void sse_reference(const void *data, size_t len, uint64_t limit, struct sse_story *ret_story)
{
	static const char bom[] = "\xef\xbb\xbf";
	struct reference ref = {.data = data, .len = len, .limit = limit, .story = ret_story};

	*ret_story = (struct sse_story){.fault = FAULT_NONE};
	if (len && len < 3 && !memcmp(data, bom, len))
		return;
	if (len >= 3 && !memcmp(data, bom, 3))
		ref.at = 3;
	while (!ret_story->fault && reference_line(&ref))
		;
	if (ref.payload_len)
		sse_tell_text(ret_story, 'e', ref.payload, ref.payload_len);
	ret_story->partial = ref.begun;
}
