/* SPDX-License-Identifier: Apache-2.0 */
#include "core/extract_ollama.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/extract_raw.h"

/* Bytes of arguments that an idle extractor may keep room for. */
#define KEEP_BYTES 512u
#define NAME_SIZE  32u

/* What is known of a message: kinds of text first, each of its own channels. */
enum node {
	UNKNOWN,
	CONTENT,
	MESSAGE_THINKING,
	RESPONSE,
	THINKING,
	TOOL_NAME,
	TOOL_ARGUMENTS,
	_KIND_MAX,
	DONE = _KIND_MAX,
	ROOT,
	MESSAGE,
	CALLS,
	CALL,
	FUNCTION,
	ARGUMENTS,
	_NODE_MAX,
};
_Static_assert((int)_KIND_MAX <= (int)EXTRACT_KINDS_MAX,
	       "more kinds of text than a key tells apart");
_Static_assert((int)_NODE_MAX <= (int)TREE_NODES_MAX, "more nodes than a tree has");

static const struct tree_edge edges[] = {
	TREE_ELEMENT(UNKNOWN, TREE_OBJECT, ROOT),
	TREE_MEMBER(ROOT, "message", TREE_OBJECT, MESSAGE),
	TREE_MEMBER(ROOT, "response", TREE_STRING, RESPONSE),
	TREE_MEMBER(ROOT, "thinking", TREE_STRING, THINKING),
	TREE_MEMBER(ROOT, "done", TREE_LITERAL, DONE),
	TREE_MEMBER(MESSAGE, "content", TREE_STRING, CONTENT),
	TREE_MEMBER(MESSAGE, "thinking", TREE_STRING, MESSAGE_THINKING),
	TREE_MEMBER(MESSAGE, "tool_calls", TREE_ARRAY, CALLS),
	TREE_ELEMENT(CALLS, TREE_OBJECT, CALL),
	TREE_MEMBER(CALL, "function", TREE_OBJECT, FUNCTION),
	TREE_MEMBER(FUNCTION, "name", TREE_STRING, TOOL_NAME),
	TREE_MEMBER(FUNCTION, "arguments", TREE_STRING, TOOL_ARGUMENTS),
	TREE_MEMBER(FUNCTION, "arguments", TREE_OBJECT | TREE_ARRAY, ARGUMENTS),
};

void extract_ollama_init(struct extract_ollama *o, struct extract_tokens *tokens)
{
	*o = (struct extract_ollama){.tokens = tokens};
	extract_tree_init(&o->tree, edges, ARRAY_SIZE(edges));
	extract_channels_init(&o->channels, tokens->set);
}

void extract_ollama_done(struct extract_ollama *o)
{
	extract_channels_done(&o->channels);
	free(o->bytes);
	o->bytes = NULL;
	o->len = o->capacity = 0;
}

static bool is_tool(uint8_t kind)
{
	return kind == TOOL_NAME || kind == TOOL_ARGUMENTS;
}

static enum fault channel_for(struct extract_ollama *o, uint8_t kind, struct channel **ret_channel)
{
	static const char *const names[] = {
		[CONTENT] = "content",
		[MESSAGE_THINKING] = "thinking",
		[RESPONSE] = "response",
		[THINKING] = "thinking",
	};
	uint32_t call = is_tool(kind) ? o->call : 0;
	struct channel *channel;
	char name[NAME_SIZE];

	if (call > EXTRACT_INDEX_MAX)
		return FAULT_TOO_LARGE;
	channel = extract_channels_find(&o->channels, EXTRACT_KEY(kind, 0, call));
	if (channel) {
		*ret_channel = channel;
		return FAULT_NONE;
	}
	if (is_tool(kind))
		snprintf(name, sizeof(name), "tool%u.%s", call,
			 kind == TOOL_NAME ? "name" : "arguments");
	else
		strcpy(name, names[kind]);
	return extract_channels_add(&o->channels, EXTRACT_KEY(kind, 0, call), name, false,
				    ret_channel);
}

static enum fault string_begin(struct extract_ollama *o)
{
	uint8_t kind = extract_tree_value(&o->tree, o->tokens->json, TREE_STRING);

	o->current = NULL;
	return kind ? channel_for(o, kind, &o->current) : FAULT_NONE;
}

static enum fault ollama_text(void *context, enum json_token token, unsigned int flags,
			      const uint8_t *text, size_t len, uint64_t runes)
{
	struct extract_ollama *o = context;
	enum fault fault;

	if (token == JSON_STRING) {
		fault = flags & JSON_FIRST ? string_begin(o) : FAULT_NONE;
		if (fault)
			return fault;
		if (o->current)
			return channel_text(o->tokens->set, o->current, text, len, runes);
	}
	return extract_tokens_text(o->tokens, token, flags, text, len, runes);
}

static enum fault ollama_surrogate(void *context, enum json_token token, unsigned int flags,
				   uint32_t unit)
{
	struct extract_ollama *o = context;
	enum fault fault = FAULT_NONE;

	if (token == JSON_STRING) {
		if (flags & JSON_FIRST)
			fault = string_begin(o);
		if (fault)
			return fault;
		if (o->current)
			return channel_surrogate(o->tokens->set, o->current, unit);
	}
	return extract_tokens_surrogate(o->tokens, token, flags, unit);
}

static enum fault ollama_literal(void *context, uint8_t first)
{
	struct extract_ollama *o = context;

	if (first == 't' && extract_tree_value(&o->tree, o->tokens->json, TREE_LITERAL) == DONE)
		o->done = true;
	return FAULT_NONE;
}

static enum fault ollama_open(void *context, const uint8_t *at, bool object)
{
	struct extract_ollama *o = context;

	switch (extract_tree_open(&o->tree, o->tokens->json, object)) {
	case CALLS:
		o->call = 0;
		break;
	case ARGUMENTS:
		o->from = at;
		break;
	default:
		break;
	}
	return FAULT_NONE;
}

static enum fault keep(struct extract_ollama *o, const uint8_t *end)
{
	size_t len = (size_t)(end - o->from), capacity = MAX(o->capacity * 2, o->len + len);
	uint8_t *grown;

	if (o->len + len > o->capacity) {
		grown = realloc(o->bytes, capacity);
		if (!grown)
			return FAULT_NO_MEMORY;
		o->bytes = grown;
		o->capacity = capacity;
	}
	memcpy(o->bytes + o->len, o->from, len);
	o->len += len;
	return FAULT_NONE;
}

/* The arguments are whole. */
static enum fault close_arguments(struct extract_ollama *o, const uint8_t *end)
{
	struct extract_raw raw = {.set = o->tokens->set, .replace = o->tokens->json->replace};
	enum fault fault = keep(o, end);

	o->from = NULL;
	if (!fault)
		fault = channel_for(o, TOOL_ARGUMENTS, &raw.channel);
	if (!fault)
		fault = extract_raw_text(&raw, o->bytes, o->len);
	o->len = 0;
	if (o->capacity > KEEP_BYTES) {
		free(o->bytes);
		o->bytes = NULL;
		o->capacity = 0;
	}
	return fault;
}

static enum fault close_call(struct extract_ollama *o)
{
	static const uint8_t kinds[] = {TOOL_NAME, TOOL_ARGUMENTS};
	enum fault fault = FAULT_NONE;

	for (size_t i = 0; i < ARRAY_SIZE(kinds) && !fault && o->call <= EXTRACT_INDEX_MAX; i++) {
		struct channel *channel =
			extract_channels_find(&o->channels, EXTRACT_KEY(kinds[i], 0, o->call));

		if (channel)
			fault = channel_end(o->tokens->set, channel);
	}
	o->call++;
	return fault;
}

static enum fault ollama_close(void *context, const uint8_t *end)
{
	struct extract_ollama *o = context;

	switch (extract_tree_close(&o->tree, o->tokens->json)) {
	case ARGUMENTS:
		return close_arguments(o, end);
	case CALL:
		return close_call(o);
	default:
		return FAULT_NONE;
	}
}

const struct json_sink extract_ollama_sink = {
	.text = ollama_text,
	.surrogate = ollama_surrogate,
	.literal = ollama_literal,
	.open = ollama_open,
	.close = ollama_close,
};

void extract_ollama_resume(struct extract_ollama *o, const uint8_t *data)
{
	if (o->from)
		o->from = data;
}

enum fault extract_ollama_pause(struct extract_ollama *o, const uint8_t *end)
{
	return o->from ? keep(o, end) : FAULT_NONE;
}

size_t extract_ollama_memory(const struct extract_ollama *o)
{
	return extract_channels_memory(&o->channels) + o->capacity;
}
