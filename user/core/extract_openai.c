/* SPDX-License-Identifier: Apache-2.0 */
#include "core/extract_openai.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What an idle buffer may keep, of each kind. */
#define KEEP_BYTES  512u
#define KEEP_PIECES 16u
#define NAME_SIZE   40u

/* What is known of a chunk: kinds of text first, each of its own channels. */
enum node {
	UNKNOWN,
	CONTENT,
	REASONING_CONTENT,
	REASONING,
	THINKING,
	REASONING_DETAILS,
	REFUSAL,
	TEXT,
	LOGPROBS_CONTENT,
	LOGPROBS_REFUSAL,
	ERROR_MESSAGE,
	FUNCTION_NAME,
	FUNCTION_ARGUMENTS,
	TOOL_NAME,
	TOOL_ARGUMENTS,
	_KIND_MAX,
	FINISH = _KIND_MAX,
	CHOICE_INDEX,
	CALL_INDEX,
	ROOT,
	ERROR,
	CHOICES,
	CHOICE,
	DELTA,
	PARTS, /* delta.content as a list */
	PART,
	THOUGHTS,
	THOUGHT,
	DETAILS,
	DETAIL,
	LOGPROBS,
	LOGPROBS_TOKENS,
	LOGPROBS_REFUSALS,
	LOGPROBS_TOKEN,
	LOGPROBS_REFUSED,
	FUNCTION,
	CALLS,
	CALL,
	CALL_FUNCTION,
	_NODE_MAX,
};
_Static_assert((int)_KIND_MAX <= (int)EXTRACT_KINDS_MAX,
	       "more kinds of text than a key tells apart");
_Static_assert((int)_NODE_MAX <= (int)TREE_NODES_MAX, "more nodes than a tree has");

static const struct tree_edge edges[] = {
	TREE_ELEMENT(UNKNOWN, TREE_OBJECT, ROOT),
	TREE_MEMBER(ROOT, "choices", TREE_ARRAY, CHOICES),
	TREE_MEMBER(ROOT, "error", TREE_OBJECT, ERROR),
	TREE_MEMBER(ERROR, "message", TREE_STRING, ERROR_MESSAGE),
	TREE_ELEMENT(CHOICES, TREE_OBJECT, CHOICE),
	TREE_MEMBER(CHOICE, "index", TREE_ANY, CHOICE_INDEX),
	TREE_MEMBER(CHOICE, "delta", TREE_OBJECT, DELTA),
	TREE_MEMBER(CHOICE, "finish_reason", TREE_STRING, FINISH),
	TREE_MEMBER(CHOICE, "text", TREE_STRING, TEXT),
	TREE_MEMBER(CHOICE, "logprobs", TREE_OBJECT, LOGPROBS),
	TREE_MEMBER(DELTA, "content", TREE_STRING, CONTENT),
	TREE_MEMBER(DELTA, "content", TREE_ARRAY, PARTS),
	TREE_MEMBER(DELTA, "reasoning_content", TREE_STRING, REASONING_CONTENT),
	TREE_MEMBER(DELTA, "reasoning", TREE_STRING, REASONING),
	TREE_MEMBER(DELTA, "reasoning_details", TREE_ARRAY, DETAILS),
	TREE_MEMBER(DELTA, "refusal", TREE_STRING, REFUSAL),
	TREE_MEMBER(DELTA, "tool_calls", TREE_ARRAY, CALLS),
	TREE_MEMBER(DELTA, "function_call", TREE_OBJECT, FUNCTION),
	TREE_ELEMENT(PARTS, TREE_OBJECT, PART),
	TREE_MEMBER(PART, "text", TREE_STRING, CONTENT),
	TREE_MEMBER(PART, "thinking", TREE_ARRAY, THOUGHTS),
	TREE_ELEMENT(THOUGHTS, TREE_OBJECT, THOUGHT),
	TREE_MEMBER(THOUGHT, "text", TREE_STRING, THINKING),
	TREE_ELEMENT(DETAILS, TREE_OBJECT, DETAIL),
	TREE_MEMBER(DETAIL, "text", TREE_STRING, REASONING_DETAILS),
	TREE_MEMBER(LOGPROBS, "content", TREE_ARRAY, LOGPROBS_TOKENS),
	TREE_MEMBER(LOGPROBS, "refusal", TREE_ARRAY, LOGPROBS_REFUSALS),
	TREE_ELEMENT(LOGPROBS_TOKENS, TREE_OBJECT, LOGPROBS_TOKEN),
	TREE_ELEMENT(LOGPROBS_REFUSALS, TREE_OBJECT, LOGPROBS_REFUSED),
	TREE_MEMBER(LOGPROBS_TOKEN, "token", TREE_STRING, LOGPROBS_CONTENT),
	TREE_MEMBER(LOGPROBS_REFUSED, "token", TREE_STRING, LOGPROBS_REFUSAL),
	TREE_MEMBER(FUNCTION, "name", TREE_STRING, FUNCTION_NAME),
	TREE_MEMBER(FUNCTION, "arguments", TREE_STRING, FUNCTION_ARGUMENTS),
	TREE_ELEMENT(CALLS, TREE_OBJECT, CALL),
	TREE_MEMBER(CALL, "index", TREE_ANY, CALL_INDEX),
	TREE_MEMBER(CALL, "function", TREE_OBJECT, CALL_FUNCTION),
	TREE_MEMBER(CALL_FUNCTION, "name", TREE_STRING, TOOL_NAME),
	TREE_MEMBER(CALL_FUNCTION, "arguments", TREE_STRING, TOOL_ARGUMENTS),
};

/* A text that waits: its bytes, or one surrogate. */
struct openai_piece {
	size_t len;
	uint64_t runes;
	uint16_t unit;
	uint8_t kind;
	int16_t call; /* -1: not known */
};

void extract_openai_init(struct extract_openai *o, struct extract_tokens *tokens)
{
	*o = (struct extract_openai){.tokens = tokens, .choice = -1, .call = -1};
	extract_tree_init(&o->tree, edges, ARRAY_SIZE(edges));
	extract_channels_init(&o->channels, tokens->set);
	extract_head_init(&o->head, tokens->set);
}

void extract_openai_done(struct extract_openai *o)
{
	extract_channels_done(&o->channels);
	extract_head_done(&o->head);
	free(o->pieces);
	free(o->bytes);
	o->pieces = NULL;
	o->bytes = NULL;
	o->piece_capacity = o->byte_capacity = 0;
}

static bool is_tool(uint8_t kind)
{
	return kind == TOOL_NAME || kind == TOOL_ARGUMENTS;
}

static bool is_call(uint8_t kind)
{
	return kind >= FUNCTION_NAME && kind < _KIND_MAX;
}

static void make_name(uint8_t kind, int32_t choice, int32_t call, char ret_name[static NAME_SIZE])
{
	static const char *const names[] = {
		[CONTENT] = "content",
		[REASONING_CONTENT] = "reasoning",
		[REASONING] = "reasoning",
		[THINKING] = "reasoning",
		[REASONING_DETAILS] = "reasoning_details",
		[REFUSAL] = "refusal",
		[TEXT] = "text",
		[LOGPROBS_CONTENT] = "logprobs.content",
		[LOGPROBS_REFUSAL] = "logprobs.refusal",
		[FUNCTION_NAME] = "function.name",
		[FUNCTION_ARGUMENTS] = "function",
	};

	if (kind == ERROR_MESSAGE)
		strcpy(ret_name, "error");
	else if (is_tool(kind))
		snprintf(ret_name, NAME_SIZE, "c%d.tool%d%s", choice, call,
			 kind == TOOL_NAME ? ".name" : "");
	else
		snprintf(ret_name, NAME_SIZE, "c%d.%s", choice, names[kind]);
}

/* The channel of a kind of text of the choice under way; of an error, which is nobody's. */
static enum fault channel_for(struct extract_openai *o, uint8_t kind, int32_t call,
			      struct channel **ret_channel)
{
	int32_t choice = kind == ERROR_MESSAGE ? 0 : o->choice;
	uint32_t key = EXTRACT_KEY(kind, choice, call);
	struct channel *channel = extract_channels_find(&o->channels, key);
	char name[NAME_SIZE];

	if (!channel) {
		make_name(kind, choice, call, name);
		return extract_channels_add(&o->channels, key, name, is_call(kind), ret_channel);
	}
	*ret_channel = channel;
	return FAULT_NONE;
}

static enum fault reserve(void **array, size_t *capacity, size_t need, size_t size)
{
	size_t more = MAX(*capacity * 2, need);
	void *grown;

	if (need <= *capacity)
		return FAULT_NONE;
	grown = realloc(*array, more * size);
	if (!grown)
		return FAULT_NO_MEMORY;
	*array = grown;
	*capacity = more;
	return FAULT_NONE;
}

/* Puts a piece of the string under way with those that wait. */
static enum fault buffer(struct extract_openai *o, const uint8_t *text, size_t len, uint64_t runes,
			 uint16_t unit)
{
	struct openai_piece *last = o->piece_count ? &o->pieces[o->piece_count - 1] : NULL;
	int16_t call = (int16_t)(is_tool(o->field) ? o->call : 0);
	enum fault fault;

	fault = reserve((void **)&o->bytes, &o->byte_capacity, o->byte_count + len + 1, 1);
	if (fault)
		return fault;
	if (len)
		memcpy(o->bytes + o->byte_count, text, len);
	o->byte_count += len;
	if (o->piece_count > o->call_pieces && !unit && !last->unit && last->kind == o->field) {
		last->len += len;
		last->runes += runes;
		return FAULT_NONE;
	}
	fault = reserve((void **)&o->pieces, &o->piece_capacity, o->piece_count + 1,
			sizeof(*o->pieces));
	if (fault)
		return fault;
	o->pieces[o->piece_count++] = (struct openai_piece){
		.len = len, .runes = runes, .unit = unit, .kind = o->field, .call = call};
	return FAULT_NONE;
}

static enum fault flush(struct extract_openai *o)
{
	const uint8_t *text = o->bytes;
	enum fault fault = FAULT_NONE;

	for (size_t i = 0; i < o->piece_count && !fault; i++) {
		const struct openai_piece *piece = &o->pieces[i];
		struct channel *channel;

		fault = channel_for(o, piece->kind, piece->call, &channel);
		if (!fault && piece->unit)
			fault = channel_surrogate(o->tokens->set, channel, piece->unit);
		else if (!fault)
			fault = channel_text(o->tokens->set, channel, text, piece->len,
					     piece->runes);
		text += piece->len;
	}
	o->piece_count = o->call_pieces = o->byte_count = 0;
	if (o->byte_capacity > KEEP_BYTES || o->piece_capacity > KEEP_PIECES) {
		free(o->bytes);
		free(o->pieces);
		o->bytes = NULL;
		o->pieces = NULL;
		o->byte_capacity = o->piece_capacity = 0;
	}
	return fault;
}

/* Is it known whose the string under way is? */
static bool is_placed(const struct extract_openai *o)
{
	return (o->choice >= 0 && (o->call >= 0 || !is_tool(o->field))) ||
	       o->field == ERROR_MESSAGE;
}

static enum fault string_text(struct extract_openai *o, const uint8_t *text, size_t len,
			      uint64_t runes)
{
	struct channel *channel;
	enum fault fault;

	if (!len)
		return FAULT_NONE;
	if (!is_placed(o))
		return buffer(o, text, len, runes, 0);
	fault = channel_for(o, o->field, is_tool(o->field) ? o->call : 0, &channel);
	return fault ? fault : channel_text(o->tokens->set, channel, text, len, runes);
}

/* The call under way is known, and its texts with it. */
static enum fault place_call(struct extract_openai *o, uint32_t index)
{
	if (index > EXTRACT_INDEX_MAX)
		return FAULT_TOO_LARGE;
	o->call = (int32_t)index;
	for (size_t i = o->call_pieces; i < o->piece_count; i++)
		if (is_tool(o->pieces[i].kind))
			o->pieces[i].call = (int16_t)index;
	return o->choice >= 0 ? flush(o) : FAULT_NONE;
}

static enum fault place_choice(struct extract_openai *o, uint32_t index)
{
	o->choice = (int32_t)index;
	return flush(o);
}

/* A piece of an index: digits alone are one that has a number. */
static enum fault index_text(struct extract_openai *o, unsigned int flags, const uint8_t *text,
			     size_t len)
{
	if (flags & JSON_FIRST)
		o->index = 0;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return FAULT_BAD_JSON;
		o->index = o->index * 10 + (uint32_t)(text[i] - '0');
		if (o->index > EXTRACT_INDEX_MAX)
			return FAULT_TOO_LARGE;
	}
	if (!(flags & JSON_LAST))
		return FAULT_NONE;
	return o->number == CHOICE_INDEX ? place_choice(o, o->index) : place_call(o, o->index);
}

static enum fault number_text(struct extract_openai *o, unsigned int flags, const uint8_t *text,
			      size_t len, uint64_t runes)
{
	enum fault fault = extract_tokens_text(o->tokens, JSON_NUMBER, flags, text, len, runes);

	if (flags & JSON_FIRST)
		o->number = extract_tree_value(&o->tree, o->tokens->json, TREE_NUMBER);
	return fault || !o->number ? fault : index_text(o, flags, text, len);
}

/* A string begins: what it is. */
static enum fault string_begin(struct extract_openai *o)
{
	o->field = extract_tree_value(&o->tree, o->tokens->json, TREE_STRING);
	return o->field == CHOICE_INDEX || o->field == CALL_INDEX ? FAULT_BAD_JSON : FAULT_NONE;
}

static enum fault openai_text(void *context, enum json_token token, unsigned int flags,
			      const uint8_t *text, size_t len, uint64_t runes)
{
	struct extract_openai *o = context;
	enum fault fault;

	if (token == JSON_NAME)
		return extract_tokens_text(o->tokens, token, flags, text, len, runes);
	if (token == JSON_NUMBER)
		return number_text(o, flags, text, len, runes);
	fault = flags & JSON_FIRST ? string_begin(o) : FAULT_NONE;
	if (fault)
		return fault;
	if (o->field && o->field < _KIND_MAX)
		return string_text(o, text, len, runes);
	/* An empty reason, as some servers send all along, is none. */
	if (o->field == FINISH && len)
		o->finished = true;
	return extract_tokens_text(o->tokens, token, flags, text, len, runes);
}

static enum fault openai_surrogate(void *context, enum json_token token, unsigned int flags,
				   uint32_t unit)
{
	struct extract_openai *o = context;
	enum fault fault = FAULT_NONE;
	struct channel *channel;

	if (token != JSON_STRING)
		return extract_tokens_surrogate(o->tokens, token, flags, unit);
	if (flags & JSON_FIRST)
		fault = string_begin(o);
	if (fault)
		return fault;
	if (!o->field || o->field >= _KIND_MAX) {
		o->finished |= o->field == FINISH;
		return extract_tokens_surrogate(o->tokens, token, flags, unit);
	}
	if (!is_placed(o))
		return buffer(o, NULL, 0, 0, (uint16_t)unit);
	fault = channel_for(o, o->field, is_tool(o->field) ? o->call : 0, &channel);
	return fault ? fault : channel_surrogate(o->tokens->set, channel, unit);
}

static enum fault openai_literal(void *context, uint8_t first)
{
	const struct extract_openai *o = context;

	(void)first;
	return extract_tree_value(&o->tree, o->tokens->json, TREE_LITERAL) ? FAULT_BAD_JSON
									   : FAULT_NONE;
}

static enum fault openai_open(void *context, const uint8_t *at, bool object)
{
	struct extract_openai *o = context;

	switch (extract_tree_open(&o->tree, o->tokens->json, object)) {
	case CHOICES:
		return extract_head_keep(&o->head, o->tokens->json, at + 1);
	case ERROR:
		/* Its text is joined: it is not of a head. */
		extract_head_pause(&o->head);
		break;
	case CHOICE_INDEX:
	case CALL_INDEX:
		return FAULT_BAD_JSON;
	case CHOICE:
		o->finished = false;
		break;
	case CALLS:
		o->calls = 0;
		break;
	case CALL:
		o->call = -1;
		o->call_pieces = o->piece_count;
		break;
	default:
		break;
	}
	return FAULT_NONE;
}

/* No more of a choice comes in this object. */
static enum fault close_choice(struct extract_openai *o)
{
	enum fault fault = o->choice < 0 ? place_choice(o, 0) : FAULT_NONE;
	const struct extract_channel *at, *end;
	uint32_t choice = (uint32_t)o->choice;

	o->choice = -1;
	if (fault || !o->finished || !o->channels.count)
		return fault;
	at = extract_channels_from(&o->channels, EXTRACT_KEY(0, choice, 0));
	end = o->channels.entries + o->channels.count;
	for (; at < end && EXTRACT_KEY_CHOICE(at->key) == choice; at++)
		if (is_call(EXTRACT_KEY_KIND(at->key)))
			channel_complete(at->channel);
	return FAULT_NONE;
}

static enum fault openai_close(void *context, const uint8_t *end)
{
	struct extract_openai *o = context;
	enum fault fault = FAULT_NONE;

	(void)end;
	switch (extract_tree_close(&o->tree, o->tokens->json)) {
	case CHOICE:
		return close_choice(o);
	case CALL:
		fault = o->call < 0 ? place_call(o, o->calls) : FAULT_NONE;
		o->call_pieces = o->piece_count;
		o->calls++;
		return fault;
	default:
		return FAULT_NONE;
	}
}

size_t extract_openai_resume(struct extract_openai *o, struct json *json, const uint8_t *data,
			     size_t len)
{
	size_t skipped = extract_head_begin(&o->head, json, data, len);

	if (skipped)
		extract_tree_enter(&o->tree, (const uint8_t[]){ROOT, CHOICES}, 2);
	return skipped;
}

void extract_openai_pause(struct extract_openai *o)
{
	extract_head_pause(&o->head);
}

const struct json_sink extract_openai_sink = {
	.text = openai_text,
	.surrogate = openai_surrogate,
	.literal = openai_literal,
	.open = openai_open,
	.close = openai_close,
};

size_t extract_openai_memory(const struct extract_openai *o)
{
	return extract_channels_memory(&o->channels) + extract_head_memory(&o->head) +
	       o->piece_capacity * sizeof(*o->pieces) + o->byte_capacity;
}
