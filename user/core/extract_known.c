/* SPDX-License-Identifier: Apache-2.0 */
#include "core/extract_known.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of raw texts that an idle extractor may keep room for. */
#define KEEP_BYTES 512u

void extract_known_init(struct extract_known *k, struct extract_tokens *tokens,
			const struct extract_form *const *forms, size_t count)
{
	memset(k, 0, sizeof(*k));
	k->tokens = tokens;
	extract_place_init(&k->place, tokens->set, tokens->json->replace);
	extract_tree_init(&k->tree, forms, count);
	extract_head_init(&k->head, tokens->set);
}

void extract_known_done(struct extract_known *k)
{
	extract_place_done(&k->place);
	extract_head_done(&k->head);
	extract_inner_free(k->inner);
	free(k->kept);
	free(k->artifacts);
	k->inner = NULL;
	k->kept = NULL;
	k->artifacts = NULL;
	k->kept_len = k->kept_capacity = 0;
	k->artifact_count = k->artifact_capacity = 0;
}

/* An index that is none, or too large a one, of a text it may not have. */
static enum fault set_index(struct extract_known *k, uint8_t node, int32_t index)
{
	const struct extract_node *of = &extract_nodes[node];

	if (of->strict && index < 0)
		return FAULT_BAD_JSON;
	if (of->strict && index > (int32_t)EXTRACT_INDEX_MAX)
		return FAULT_TOO_LARGE;
	if (of->outer == REGISTER_INDEX) {
		/* Two of them, of which each reader would take its own. */
		if (k->indexed)
			return FAULT_BAD_JSON;
		k->indexed = true;
		k->block = node == BEDROCK_INDEX;
	}
	return extract_place_set(&k->place, of->outer, index);
}

/* A piece of an index: digits alone are one that has a number. */
static enum fault index_text(struct extract_known *k, unsigned int flags, const uint8_t *text,
			     size_t len)
{
	if (flags & JSON_FIRST)
		k->index = 0;
	for (size_t i = 0; i < len && k->index >= 0; i++) {
		if (text[i] < '0' || text[i] > '9')
			k->index = EXTRACT_NO_INDEX;
		else
			k->index = MIN(k->index * 10 + text[i] - '0', EXTRACT_TOO_LARGE);
	}
	return flags & JSON_LAST ? set_index(k, k->number, k->index) : FAULT_NONE;
}

__attribute__((noinline)) static enum fault number_text(struct extract_known *k, unsigned int flags,
							const uint8_t *text, size_t len,
							uint64_t runes)
{
	enum fault fault = extract_tokens_text(k->tokens, JSON_NUMBER, flags, text, len, runes);

	if (flags & JSON_FIRST) {
		k->number = extract_tree_value(&k->tree, k->tokens->json, TREE_NUMBER);
		if (k->number)
			extract_head_pause(&k->head);
	}
	if (fault || !k->number)
		return fault;
	/* What has to be true or false is not: who asks for no more takes it for true. */
	if (extract_nodes[k->number].class == CLASS_THOUGHT)
		return FAULT_BAD_JSON;
	return index_text(k, flags, text, len);
}

static enum fault begin_bytes(struct extract_known *k)
{
	if (k->bytes == BYTES_PLAIN) {
		k->class = CLASS_NONE;
		return FAULT_NONE;
	}
	if (!k->inner)
		k->inner = extract_inner_new(k->tokens->set, k->tokens->json->replace);
	if (!k->inner)
		return FAULT_NO_MEMORY;
	extract_inner_begin(k->inner, k->bytes == BYTES_CERTAIN);
	return FAULT_NONE;
}

/* A string begins: what it is. */
static enum fault string_begin(struct extract_known *k)
{
	uint8_t node = extract_tree_value(&k->tree, k->tokens->json, TREE_STRING);

	k->text = NODE_UNKNOWN;
	k->class = CLASS_NONE;
	if (!node)
		return FAULT_NONE;
	/* Its text is joined, or says what others are: it is not of a head. */
	extract_head_pause(&k->head);
	k->class = extract_nodes[node].class;
	switch (k->class) {
	case CLASS_TEXT:
		k->text = extract_place_resolve(&k->place, node);
		return FAULT_NONE;
	case CLASS_LINE:
		k->line = node;
		return FAULT_NONE;
	case CLASS_INDEX:
		return set_index(k, node, EXTRACT_NO_INDEX);
	case CLASS_THOUGHT:
		return FAULT_BAD_JSON;
	case CLASS_BYTES:
		return begin_bytes(k);
	default:
		k->value_len = 0;
		return FAULT_NONE;
	}
}

static bool same_name(const struct extract_artifact *artifact, const uint8_t *name, size_t len)
{
	return artifact->len == len && memcmp(artifact->name, name, len) == 0;
}

/* The artifact under way has this name. */
static enum fault name_artifact(struct extract_known *k, const uint8_t *name, size_t len)
{
	uint32_t i = 0, capacity = MAX(4u, k->artifact_capacity * 2);
	struct extract_artifact *grown;

	if (len > EXTRACT_VALUE_MAX)
		return FAULT_TOO_LARGE;
	while (i < k->artifact_count && !same_name(&k->artifacts[i], name, len))
		i++;
	if (i > EXTRACT_INDEX_MAX)
		return FAULT_TOO_LARGE;
	if (i == k->artifact_capacity) {
		grown = realloc(k->artifacts, capacity * sizeof(*grown));
		if (!grown)
			return FAULT_NO_MEMORY;
		k->artifacts = grown;
		k->artifact_capacity = capacity;
	}
	if (i == k->artifact_count) {
		k->artifacts[i].len = len;
		memcpy(k->artifacts[i].name, name, len);
		k->artifact_count++;
	}
	return extract_place_set(&k->place, REGISTER_ARTIFACT, (int32_t)i);
}

static const struct extract_type *find_type(const struct extract_known *k)
{
	for (size_t i = 0; i < k->tree.form_count; i++) {
		const struct extract_form *form = k->tree.forms[i];

		for (size_t j = 0; j < form->type_count; j++)
			if (form->types[j].len == k->value_len &&
			    memcmp(form->types[j].name, k->value, k->value_len) == 0)
				return &form->types[j];
	}
	return NULL;
}

/* A piece of a string that says what others are; its text is any string's besides. */
static enum fault value_text(struct extract_known *k, unsigned int flags, const uint8_t *text,
			     size_t len)
{
	if (len && k->value_len + len <= EXTRACT_VALUE_MAX)
		memcpy(k->value + k->value_len, text, len);
	k->value_len = MIN(k->value_len + len, EXTRACT_VALUE_MAX + (size_t)1);
	/* An empty reason, as some servers send all along, is none. */
	if (k->class == CLASS_FINISH && len)
		k->finished = true;
	if (!(flags & JSON_LAST))
		return FAULT_NONE;
	if (k->class == CLASS_TYPE)
		return extract_place_type(&k->place, find_type(k));
	if (k->class == CLASS_FINISH && k->value_len <= EXTRACT_VALUE_MAX)
		channel_set_finished(k->tokens->set, k->value, k->value_len);
	return k->class == CLASS_NAME ? name_artifact(k, k->value, k->value_len) : FAULT_NONE;
}

/* A string that is a line. */
static enum fault line_text(struct extract_known *k, unsigned int flags, const uint8_t *text,
			    size_t len, uint64_t runes)
{
	enum fault fault = extract_place_text(&k->place, k->line, text, len, runes);

	if (!fault && (flags & JSON_LAST))
		fault = extract_place_text(&k->place, k->line, (const uint8_t *)"\n", 1, 1);
	return fault;
}

/* Out of line, so that what a name takes stays small. */
__attribute__((noinline)) static enum fault string_text(struct extract_known *k, unsigned int flags,
							const uint8_t *text, size_t len,
							uint64_t runes)
{
	enum fault fault = flags & JSON_FIRST ? string_begin(k) : FAULT_NONE;

	if (fault)
		return fault;
	if (k->text || k->class == CLASS_LINE) {
		fault = k->text ? extract_place_text(&k->place, k->text, text, len, runes)
				: line_text(k, flags, text, len, runes);
		return fault || !(flags & JSON_LAST) ? fault : extract_place_string_end(&k->place);
	}
	if (k->class == CLASS_BYTES)
		return extract_inner_text(k->inner, k->tokens, flags, text, len, runes);
	fault = extract_tokens_text(k->tokens, JSON_STRING, flags, text, len, runes);
	return fault || k->class < CLASS_TYPE ? fault : value_text(k, flags, text, len);
}

static enum fault known_text(void *context, enum json_token token, unsigned int flags,
			     const uint8_t *text, size_t len, uint64_t runes)
{
	struct extract_known *k = context;

	if (token == JSON_NAME)
		return extract_tokens_text(k->tokens, token, flags, text, len, runes);
	return token == JSON_NUMBER ? number_text(k, flags, text, len, runes)
				    : string_text(k, flags, text, len, runes);
}

static enum fault known_surrogate(void *context, enum json_token token, unsigned int flags,
				  uint32_t unit)
{
	struct extract_known *k = context;
	enum fault fault = FAULT_NONE;

	if (token != JSON_STRING)
		return extract_tokens_surrogate(k->tokens, token, flags, unit);
	if (flags & JSON_FIRST)
		fault = string_begin(k);
	if (fault)
		return fault;
	if (k->text)
		return extract_place_surrogate(&k->place, k->text, unit);
	if (k->class == CLASS_LINE)
		return extract_place_surrogate(&k->place, k->line, unit);
	if (k->class == CLASS_BYTES)
		return extract_inner_surrogate(k->inner, k->tokens, unit);
	fault = extract_tokens_surrogate(k->tokens, token, flags, unit);
	if (fault || k->class < CLASS_TYPE)
		return fault;
	return value_text(k, 0, (const uint8_t *)UTF8_REPLACEMENT, UTF8_REPLACEMENT_LEN);
}

static enum fault known_literal(void *context, uint8_t first)
{
	struct extract_known *k = context;
	uint8_t node = extract_tree_value(&k->tree, k->tokens->json, TREE_LITERAL);

	if (!node)
		return FAULT_NONE;
	extract_head_pause(&k->head);
	switch (extract_nodes[node].class) {
	case CLASS_INDEX:
		return set_index(k, node, EXTRACT_NO_INDEX);
	case CLASS_THOUGHT:
		return extract_place_set(&k->place, REGISTER_THOUGHT, first == 't');
	case CLASS_DONE:
		k->over |= first == 't';
		return FAULT_NONE;
	default:
		return FAULT_NONE;
	}
}

static enum fault known_open(void *context, const uint8_t *at, bool object)
{
	struct extract_known *k = context;
	uint8_t node = extract_tree_open(&k->tree, k->tokens->json, object);
	const struct extract_node *of = &extract_nodes[node];
	enum extract_register which = of->outer;

	switch (of->class) {
	case CLASS_HEAD:
		return extract_head_keep(&k->head, k->tokens->json, at + 1);
	case CLASS_INDEX:
		extract_head_pause(&k->head);
		return set_index(k, node, EXTRACT_NO_INDEX);
	case CLASS_THOUGHT:
		return FAULT_BAD_JSON;
	case CLASS_RAW:
		extract_head_pause(&k->head);
		k->raw = node;
		k->from = at;
		break;
	case CLASS_LIST:
		k->count[which] = 0;
		break;
	case CLASS_SCOPE:
		k->finished &= which != REGISTER_CHOICE;
		extract_place_open(&k->place, which);
		break;
	case CLASS_ELEMENT:
		extract_place_open(&k->place, which);
		return extract_place_set(&k->place, which,
					 (int32_t)MIN(k->count[which]++, EXTRACT_INDEX_MAX + 1));
	case CLASS_BLOCK:
		extract_head_pause(&k->head);
		k->filled = true;
		break;
	default:
		break;
	}
	return FAULT_NONE;
}

static enum fault keep(struct extract_known *k, const uint8_t *end)
{
	size_t len = (size_t)(end - k->from), need = k->kept_len + len,
	       capacity = MAX(k->kept_capacity * 2, need);
	uint8_t *grown;

	if (need > k->kept_capacity) {
		grown = realloc(k->kept, capacity);
		if (!grown)
			return FAULT_NO_MEMORY;
		k->kept = grown;
		k->kept_capacity = capacity;
	}
	memcpy(k->kept + k->kept_len, k->from, len);
	k->kept_len = need;
	return FAULT_NONE;
}

__attribute__((noinline)) static enum fault close_raw(struct extract_known *k, const uint8_t *end)
{
	enum fault fault = keep(k, end);

	k->from = NULL;
	if (!fault)
		fault = extract_place_raw(&k->place, k->raw, k->kept, k->kept_len);
	k->kept_len = 0;
	if (k->kept_capacity > KEEP_BYTES) {
		free(k->kept);
		k->kept = NULL;
		k->kept_capacity = 0;
	}
	return fault;
}

/* A container ends without the number that is its own. */
__attribute__((noinline)) static enum fault set_missing(struct extract_known *k,
							const struct extract_node *of)
{
	int32_t position = (int32_t)MIN(k->count[of->outer], EXTRACT_INDEX_MAX + 1);

	if (of->outer == REGISTER_ARTIFACT)
		return name_artifact(k, k->value, 0);
	return extract_place_set(&k->place, of->outer, of->position ? position : 0);
}

static enum fault close_scope(struct extract_known *k, const struct extract_node *of)
{
	enum extract_register which = of->outer;
	enum fault fault = FAULT_NONE;

	if (!extract_place_knows(&k->place, which))
		fault = set_missing(k, of);
	k->count[which]++;
	if (!fault && which == REGISTER_CHOICE && k->finished)
		extract_place_complete(&k->place, which, k->place.value[which]);
	extract_place_close(&k->place, which);
	return fault;
}

/* What the document is says what it ends; what it lacks is 0. */
__attribute__((noinline)) static enum fault end_document(struct extract_known *k)
{
	/* Of a document that has no type. */
	static const struct extract_type none = {.group = GROUP_TEXT};
	static const enum extract_register ours[] = {REGISTER_INDEX, REGISTER_OUTPUT,
						     REGISTER_PART};
	const struct extract_type *type = k->place.type;
	enum fault fault = FAULT_NONE;

	if (!(k->place.known & EXTRACT_NEED_TYPE))
		fault = extract_place_type(&k->place, &none);
	for (size_t i = 0; i < ARRAY_SIZE(ours) && !fault; i++)
		if (!extract_place_knows(&k->place, ours[i]))
			fault = extract_place_set(&k->place, ours[i], 0);
	if (fault)
		return fault;
	if (type && type->ends)
		extract_place_complete(&k->place, type->ends, k->place.value[type->ends]);
	else if (k->block && !k->filled)
		extract_place_complete(&k->place, REGISTER_INDEX, k->place.value[REGISTER_INDEX]);
	if (type && type->over) {
		k->over = true;
		extract_place_complete(&k->place, REGISTER_NONE, 0);
	}
	return FAULT_NONE;
}

static enum fault close_document(struct extract_known *k)
{
	enum fault fault = FAULT_NONE;

	/* Most say nothing, and nothing waits in them. */
	if (k->place.type || k->block || k->place.count)
		fault = end_document(k);
	k->block = k->filled = k->indexed = false;
	extract_place_end(&k->place);
	return fault;
}

static enum fault known_close(void *context, const uint8_t *end)
{
	struct extract_known *k = context;
	const struct extract_node *of =
		&extract_nodes[extract_tree_close(&k->tree, k->tokens->json)];

	switch (of->class) {
	case CLASS_RAW:
		return close_raw(k, end);
	case CLASS_SCOPE:
		return close_scope(k, of);
	case CLASS_ELEMENT:
		extract_place_close(&k->place, of->outer);
		return FAULT_NONE;
	case CLASS_DOCUMENT:
		return close_document(k);
	default:
		return FAULT_NONE;
	}
}

const struct json_sink extract_known_sink = {
	.text = known_text,
	.surrogate = known_surrogate,
	.literal = known_literal,
	.open = known_open,
	.close = known_close,
};

enum fault extract_known_scan(struct extract_known *k, struct json *json, const uint8_t *data,
			      size_t len, size_t *ret_used)
{
	size_t skipped = extract_head_begin(&k->head, json, data, len);
	enum fault fault;

	if (skipped)
		extract_tree_enter(&k->tree, (const uint8_t[]){NODE_ROOT, OPENAI_CHOICES}, 2);
	if (k->from)
		k->from = data;
	fault = json_scan(json, data + skipped, len - skipped, ret_used);
	*ret_used += skipped;
	extract_head_pause(&k->head);
	return !fault && k->from ? keep(k, data + *ret_used) : fault;
}

enum fault extract_known_end_texts(struct extract_known *k)
{
	enum fault fault = extract_place_unit_end(&k->place);

	if (fault || !k->inner)
		return fault;
	k->over |= k->inner->over;
	return extract_inner_unit_end(k->inner);
}

size_t extract_known_memory(const struct extract_known *k)
{
	return extract_place_memory(&k->place) + extract_head_memory(&k->head) + k->kept_capacity +
	       k->artifact_capacity * sizeof(*k->artifacts) +
	       (k->inner ? extract_inner_memory(k->inner) : 0);
}
