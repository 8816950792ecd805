/* SPDX-License-Identifier: Apache-2.0 */
#include "core/resume_marks.h"

#include <string.h>

#include "core/http1_grammar.h"

static bool is_name(const struct json_names *names, uint32_t depth, const char *name)
{
	size_t len;
	const uint8_t *at = json_names_at(names, depth, &len);

	return len == strlen(name) && memcmp(at, name, len) == 0;
}

static enum resume_mark mark_of(const struct json_names *names, enum json_token token)
{
	if (token == JSON_NUMBER && names->object_count == 1 &&
	    is_name(names, 0, "sequence_number"))
		return MARK_SEQUENCE;
	if (token == JSON_STRING && names->object_count == 2 && is_name(names, 1, "id") &&
	    is_name(names, 0, "response"))
		return MARK_RESPONSE;
	return MARK_NONE;
}

static void add_digits(struct resume_marks *marks, const uint8_t *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		marks->spoiled |= !(http1_sets[text[i]] & HTTP1_DIGIT) ||
				  __builtin_mul_overflow(marks->number, 10, &marks->number) ||
				  __builtin_add_overflow(marks->number, (uint64_t)(text[i] - '0'),
							 &marks->number);
}

static void add_text(struct resume_marks *marks, const uint8_t *text, size_t len)
{
	marks->spoiled |= len > RESUME_ID_MAX - (size_t)marks->text.len;
	if (marks->spoiled)
		return;
	memcpy(marks->text.text + marks->text.len, text, len);
	marks->text.len = (uint16_t)(marks->text.len + len);
}

void resume_marks_token(struct resume_marks *marks, const struct json_names *names,
			enum json_token token, unsigned int flags, const uint8_t *text, size_t len)
{
	if (flags & JSON_FIRST) {
		marks->under_way = mark_of(names, token);
		marks->spoiled = false;
		marks->number = 0;
		marks->text.len = 0;
	}
	if (marks->under_way == MARK_SEQUENCE)
		add_digits(marks, text, len);
	else if (marks->under_way == MARK_RESPONSE && len)
		add_text(marks, text, len);
	if (!(flags & JSON_LAST))
		return;
	if (marks->under_way == MARK_SEQUENCE) {
		marks->has_sequence = !marks->spoiled;
		marks->sequence = marks->number;
	} else if (marks->under_way == MARK_RESPONSE) {
		marks->response = marks->text;
		if (marks->spoiled)
			marks->response.len = 0;
	}
	marks->under_way = MARK_NONE;
}

void resume_marks_block(struct resume_marks *marks, const uint8_t *lines, size_t len)
{
	struct http1_slice rest = {lines, len};

	while (rest.at) {
		struct http1_slice value = http1_until(&rest, '\n'),
				   name = http1_until(&value, ':');

		/* One with a NUL is none (9.2.6). */
		if (name.len != 2 || memcmp(name.at, "id", 2) != 0 ||
		    (value.len && memchr(value.at, '\0', value.len)))
			continue;
		/* As it would come back in a field, without blanks around it. */
		value = http1_trim(value);
		marks->has_event = true;
		marks->event.len = value.len > RESUME_ID_MAX ? 0 : (uint16_t)value.len;
		if (marks->event.len)
			memcpy(marks->event.text, value.at, value.len);
	}
}
