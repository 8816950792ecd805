/* SPDX-License-Identifier: Apache-2.0 */
#include "core/extract_strict.h"

#include <stdlib.h>
#include <string.h>

/* What the pieces of a value have to be. */
enum strict_part {
	PART_ANY,
	PART_EMPTY, /* no text at all */
	PART_ZERO,
	PART_INDEX,
	PART_WORD, /* and those behind it: enum strict_word */
};

/* The members that are represented. */
static const struct strict_field {
	uint8_t node; /* enum extract_node_id: of the object that has it */
	uint8_t type; /* enum tree_type */
	uint8_t part;
	uint8_t len;
	const char *name;
} fields[] = {
#define FIELD(node, name, type, part)                    \
	{                                                \
		node, type, part, sizeof(name) - 1, name \
	}
	FIELD(NODE_ROOT, "choices", TREE_ARRAY, PART_ANY),
	FIELD(OPENAI_CHOICE, "index", TREE_NUMBER, PART_ZERO),
	FIELD(OPENAI_CHOICE, "delta", TREE_OBJECT, PART_ANY),
	FIELD(OPENAI_CHOICE, "finish_reason", TREE_STRING, PART_ANY),
	FIELD(OPENAI_DELTA, "role", TREE_STRING, PART_ANY),
	FIELD(OPENAI_DELTA, "content", TREE_STRING, PART_ANY),
	FIELD(OPENAI_DELTA, "tool_calls", TREE_ARRAY, PART_ANY),
	FIELD(OPENAI_CALL, "index", TREE_NUMBER, PART_INDEX),
	FIELD(OPENAI_CALL, "id", TREE_STRING, PART_WORD + STRICT_ID),
	FIELD(OPENAI_CALL, "type", TREE_STRING, PART_WORD + STRICT_TYPE),
	FIELD(OPENAI_CALL, "function", TREE_OBJECT, PART_ANY),
	FIELD(OPENAI_CALL_FUNCTION, "name", TREE_STRING, PART_WORD + STRICT_NAME),
	FIELD(OPENAI_CALL_FUNCTION, "arguments", TREE_STRING, PART_ANY),
#undef FIELD
};

void extract_strict_init(struct extract_strict *strict, struct extract_known *known,
			 const struct json *json)
{
	*strict = (struct extract_strict){.known = known, .json = json};
}

static void free_call(struct strict_call *call)
{
	for (size_t i = 0; i < _STRICT_WORD_MAX; i++)
		free(call->words[i].bytes);
	*call = (struct strict_call){0};
}

void extract_strict_done(struct extract_strict *strict)
{
	free_call(&strict->call);
	for (uint32_t i = 0; i < strict->call_count; i++)
		free_call(&strict->calls[i]);
	free(strict->calls);
	strict->calls = NULL;
	strict->call_count = 0;
}

static const struct strict_field *find_field(const struct extract_strict *s, uint8_t node)
{
	size_t len;
	const uint8_t *name = json_names_last(&s->json->names, &len);

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (fields[i].node == node && fields[i].len == len &&
		    memcmp(fields[i].name, name, len) == 0)
			return &fields[i];
	return NULL;
}

/* A member of an object whose members are known. */
static enum fault begin_member(struct extract_strict *s, uint8_t node, unsigned int type)
{
	const struct strict_field *field = find_field(s, node);

	if (field) {
		s->part = field->part;
		if (type == TREE_LITERAL && field->type != TREE_NUMBER)
			return FAULT_NONE;
		return type == field->type ? FAULT_NONE : FAULT_UNREPRESENTED;
	}
	if (node == NODE_ROOT)
		return FAULT_NONE;
	s->part = PART_EMPTY;
	s->empty = type == TREE_OBJECT || type == TREE_ARRAY;
	return type ? FAULT_NONE : FAULT_UNREPRESENTED;
}

/*
 * A value begins, with so many containers around it. Its type is enum tree_type, where
 * TREE_LITERAL is null alone, and 0 is true or false.
 */
static enum fault begin_value(struct extract_strict *s, unsigned int type, uint32_t around)
{
	const struct extract_tree *tree = &s->known->tree;

	if (s->empty)
		return FAULT_UNREPRESENTED;
	s->part = PART_ANY;
	/* Whatever is in another member of the chunk. */
	if (tree->known != around)
		return FAULT_NONE;
	switch (tree->node) {
	case NODE_ROOT:
	case OPENAI_CHOICE:
	case OPENAI_DELTA:
	case OPENAI_CALL:
	case OPENAI_CALL_FUNCTION:
		return begin_member(s, tree->node, type);
	case OPENAI_CHOICES:
		if (s->choice || type != TREE_OBJECT)
			return FAULT_UNREPRESENTED;
		s->choice = true;
		return FAULT_NONE;
	case NODE_UNKNOWN:
	case OPENAI_CALLS:
		return type == TREE_OBJECT ? FAULT_NONE : FAULT_UNREPRESENTED;
	default:
		return FAULT_NONE;
	}
}

static enum fault add_index(struct extract_strict *s, unsigned int flags, const uint8_t *text,
			    size_t len)
{
	if (flags & JSON_FIRST)
		s->index = 0;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return FAULT_UNREPRESENTED;
		s->index = MIN(s->index * 10 + text[i] - '0', (uint32_t)EXTRACT_TOO_LARGE);
	}
	s->indexed = true;
	return FAULT_NONE;
}

static enum fault add_word(struct strict_text *word, const uint8_t *text, size_t len)
{
	uint8_t *grown;

	word->given = true;
	if (!len)
		return FAULT_NONE;
	if (len > STRICT_WORD_MAX - word->len)
		return FAULT_TOO_LARGE;
	grown = realloc(word->bytes, word->len + len);
	if (!grown)
		return FAULT_NO_MEMORY;
	memcpy(grown + word->len, text, len);
	word->bytes = grown;
	word->len += len;
	return FAULT_NONE;
}

/* A piece of the value under way. */
static enum fault add_piece(struct extract_strict *s, unsigned int flags, const uint8_t *text,
			    size_t len)
{
	switch ((enum strict_part)s->part) {
	case PART_ANY:
		return FAULT_NONE;
	case PART_EMPTY:
		return len ? FAULT_UNREPRESENTED : FAULT_NONE;
	case PART_ZERO:
		/* What can follow a zero in a number is another character. */
		return len && (len > 1 || *text != '0') ? FAULT_UNREPRESENTED : FAULT_NONE;
	case PART_INDEX:
		return add_index(s, flags, text, len);
	default:
		return add_word(&s->call.words[s->part - PART_WORD], text, len);
	}
}

/* A piece of a token is looked at before it is handed on. */
static enum fault look(struct extract_strict *s, enum json_token token, unsigned int flags,
		       const uint8_t *text, size_t len)
{
	enum fault fault = FAULT_NONE;

	if (token == JSON_NAME)
		return FAULT_NONE;
	if (flags & JSON_FIRST)
		fault = begin_value(s, token == JSON_NUMBER ? TREE_NUMBER : TREE_STRING,
				    s->json->depth);
	return fault ? fault : add_piece(s, flags, text, len);
}

static enum fault strict_text(void *context, enum json_token token, unsigned int flags,
			      const uint8_t *text, size_t len, uint64_t runes)
{
	struct extract_strict *s = context;
	enum fault fault = look(s, token, flags, text, len);

	return fault ? fault : extract_known_sink.text(s->known, token, flags, text, len, runes);
}

static enum fault strict_surrogate(void *context, enum json_token token, unsigned int flags,
				   uint32_t unit)
{
	struct extract_strict *s = context;
	/* No UTF-8: as a part of a word it is like nothing but itself. */
	const uint8_t bytes[] = {(uint8_t)(unit >> 8), (uint8_t)unit};
	enum fault fault = look(s, token, flags, bytes, sizeof(bytes));

	return fault ? fault : extract_known_sink.surrogate(s->known, token, flags, unit);
}

static enum fault strict_literal(void *context, uint8_t first)
{
	struct extract_strict *s = context;
	enum fault fault = begin_value(s, first == 'n' ? TREE_LITERAL : 0, s->json->depth);

	return fault ? fault : extract_known_sink.literal(s->known, first);
}

static enum fault strict_open(void *context, const uint8_t *at, bool object)
{
	struct extract_strict *s = context;
	enum fault fault = begin_value(s, object ? TREE_OBJECT : TREE_ARRAY, s->json->depth - 1u);

	return fault ? fault : extract_known_sink.open(s->known, at, object);
}

static enum fault grow_calls(struct extract_strict *s)
{
	uint32_t count = s->index + 1;
	struct strict_call *grown;

	if (count <= s->call_count)
		return FAULT_NONE;
	grown = realloc(s->calls, count * sizeof(*grown));
	if (!grown)
		return FAULT_NO_MEMORY;
	memset(grown + s->call_count, 0, (count - s->call_count) * sizeof(*grown));
	s->calls = grown;
	s->call_count = count;
	return FAULT_NONE;
}

/*
 * The fragment of a call ends: what it says the call is has to be what others said. An index
 * that is too large the known form has refused.
 */
static enum fault end_call(struct extract_strict *s)
{
	enum fault fault = s->indexed ? grow_calls(s) : FAULT_UNREPRESENTED;

	for (size_t i = 0; i < _STRICT_WORD_MAX && !fault; i++) {
		struct strict_text *word = &s->call.words[i], *known = &s->calls[s->index].words[i];

		if (!word->given)
			continue;
		if (!known->given) {
			*known = *word;
			*word = (struct strict_text){0};
		} else if (known->len != word->len ||
			   (word->len && memcmp(known->bytes, word->bytes, word->len) != 0)) {
			fault = FAULT_UNREPRESENTED;
		}
	}
	free_call(&s->call);
	s->indexed = false;
	return fault;
}

static enum fault strict_close(void *context, const uint8_t *end)
{
	struct extract_strict *s = context;
	const struct extract_tree *tree = &s->known->tree;
	enum fault fault = FAULT_NONE;

	if (s->empty) {
		s->empty = false;
	} else if (tree->known == s->json->depth && tree->node == OPENAI_CALL) {
		fault = end_call(s);
	} else if (s->json->depth == 1) {
		s->chunk = true;
		s->choice = false;
	}
	return fault ? fault : extract_known_sink.close(s->known, end);
}

const struct json_sink extract_strict_sink = {
	.text = strict_text,
	.surrogate = strict_surrogate,
	.literal = strict_literal,
	.open = strict_open,
	.close = strict_close,
};

size_t extract_strict_memory(const struct extract_strict *strict)
{
	size_t bytes = strict->call_count * sizeof(*strict->calls);

	for (uint32_t i = 0; i < strict->call_count; i++)
		for (size_t j = 0; j < _STRICT_WORD_MAX; j++)
			bytes += strict->calls[i].words[j].len;
	return bytes;
}
