/* SPDX-License-Identifier: Apache-2.0 */
#include "core/extract_tokens.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/resume_marks.h"

static const char meta_name[] = "meta";

void extract_tokens_init(struct extract_tokens *t, struct channel_set *set, const struct json *json)
{
	*t = (struct extract_tokens){
		.set = set,
		.json = json,
		.string = {.name = extract_strings_name, .joins = true},
	};
}

void extract_tokens_done(struct extract_tokens *t)
{
	free(t->declared);
	t->declared = NULL;
	extract_path_done(&t->path);
	extract_text_done(&t->string);
	extract_text_done(&t->joined_text);
}

int extract_tokens_join(struct extract_tokens *t, const char *path)
{
	t->declared = strdup(path);
	if (!t->declared)
		return -ENOMEM;
	t->declared_names = 1;
	for (const char *at = path; (at = strchr(at, '.')); at++)
		t->declared_names++;
	if (channel_set_join(t->set, path, false, &t->joined) < 0)
		return -ENOMEM;
	t->joined_text.channel = t->joined;
	t->joined_text.name = t->declared;
	return 0;
}

/* Is the value under way at the declared path? Compared from the innermost name outwards. */
static bool is_declared(const struct extract_tokens *t)
{
	const struct json_names *names = &t->json->names;
	const char *end, *begin;

	if (!t->joined || names->object_count != t->declared_names)
		return false;
	end = t->declared + strlen(t->declared);
	for (uint32_t depth = t->declared_names; depth-- > 0; end = begin - 1) {
		size_t len;
		const uint8_t *name = json_names_at(names, depth, &len);

		begin = memrchr(t->declared, '.', (size_t)(end - t->declared));
		begin = begin ? begin + 1 : t->declared;
		if (len != (size_t)(end - begin) || memcmp(name, begin, len) != 0)
			return false;
	}
	return true;
}

/* Chooses the channel of the token that begins. */
static enum fault begin(struct extract_tokens *t, enum json_token token)
{
	enum fault fault = FAULT_NONE;

	t->park = false;
	t->text = NULL;
	if (token != JSON_STRING) {
		if (token == JSON_NAME)
			extract_path_name(&t->path, &t->json->names);
		t->current = channel_set_scratch(t->set, meta_name);
		return FAULT_NONE;
	}
	if (is_declared(t)) {
		t->current = t->joined;
		t->text = &t->joined_text;
		return FAULT_NONE;
	}
	/*
	 * A text that may go on has to be told from any other by its path; for an
	 * observer what fits is enough.
	 */
	t->park = t->json->arrays > 0;
	if (t->park || t->set->on_text)
		fault = extract_path_make(&t->path, &t->json->names, t->park);
	if (!fault)
		t->current = t->park ? channel_set_find(t->set, t->path.text, t->path.len)
				     : channel_set_scratch(t->set, t->path.text);
	t->text = &t->string;
	t->string.channel = t->current;
	return fault;
}

static enum fault finish(struct extract_tokens *t)
{
	if (t->current->joined)
		return FAULT_NONE;
	if (t->park)
		return channel_park(t->set, t->current, t->path.text, t->path.len);
	return channel_end(t->set, t->current);
}

/* A piece of a token, or a whole string. Out of line, to keep the common way short. */
__attribute__((noinline)) static enum fault piece(struct extract_tokens *t, enum json_token token,
						  unsigned int flags, const uint8_t *text,
						  size_t len, uint64_t runes)
{
	bool whole = flags == (JSON_FIRST | JSON_LAST);
	enum fault fault = flags & JSON_FIRST ? begin(t, token) : FAULT_NONE;

	if (fault)
		return fault;
	if (whole && !t->park && !t->current->joined && !extract_text_is_json(text, len))
		return channel_set_whole(t->set, t->current->name, text, len, runes, true);
	fault = t->text ? extract_text_add(t->text, t->set, text, len, runes)
			: channel_text(t->set, t->current, text, len, runes);
	if (!fault && t->text && (flags & JSON_LAST))
		fault = t->text == &t->string ? extract_text_end(t->text)
					      : extract_text_flush(t->text);
	return !fault && (flags & JSON_LAST) ? finish(t) : fault;
}

enum fault extract_tokens_text(void *context, enum json_token token, unsigned int flags,
			       const uint8_t *text, size_t len, uint64_t runes)
{
	struct extract_tokens *t = context;

	if (t->marks && token != JSON_NAME)
		resume_marks_token(t->marks, &t->json->names, token, flags, text, len);
	if (flags != (JSON_FIRST | JSON_LAST) || token == JSON_STRING)
		return piece(t, token, flags, text, len, runes);
	if (token == JSON_NAME)
		extract_path_name(&t->path, &t->json->names);
	/* Names come again and again, numbers seldom. */
	return channel_set_whole(t->set, meta_name, text, len, runes, token == JSON_NAME);
}

enum fault extract_tokens_surrogate(void *context, enum json_token token, unsigned int flags,
				    uint32_t unit)
{
	struct extract_tokens *t = context;
	enum fault fault = flags & JSON_FIRST ? begin(t, token) : FAULT_NONE;

	if (fault)
		return fault;
	return t->text ? extract_text_surrogate(t->text, t->set, unit)
		       : channel_surrogate(t->set, t->current, unit);
}

const struct json_sink extract_tokens_sink = {
	.text = extract_tokens_text,
	.surrogate = extract_tokens_surrogate,
};

size_t extract_tokens_memory(const struct extract_tokens *t)
{
	return extract_path_memory(&t->path) + (t->declared ? strlen(t->declared) + 1 : 0) +
	       extract_text_memory(&t->string) + extract_text_memory(&t->joined_text);
}
