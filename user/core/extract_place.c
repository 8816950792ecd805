/* SPDX-License-Identifier: Apache-2.0 */
#include "core/extract_place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/extract_raw.h"

/* What an idle buffer may keep, of each kind. */
#define KEEP_BYTES  512u
#define KEEP_PIECES 16u
#define NAME_SIZE   48u

/* A text that waits: its bytes, or one surrogate. */
struct extract_piece {
	size_t len;
	uint64_t runes;
	uint16_t unit;
	uint16_t needs; /* what is not known yet */
	int16_t outer, inner;
	uint8_t node;
	bool plain; /* any string, of the node's path */
	bool raw;
};

void extract_place_init(struct extract_place *p, struct channel_set *set, bool replace)
{
	*p = (struct extract_place){
		.set = set,
		.replace = replace,
		.known = EXTRACT_NEED(REGISTER_NONE),
		/* Where one of them ends and the next begins is not kept. */
		.plain = {.name = extract_strings_name, .joins = true, .always = true},
	};
	extract_channels_init(&p->channels, set);
}

static void free_pieces(struct extract_place *p)
{
	free(p->pieces);
	free(p->bytes);
	p->pieces = NULL;
	p->bytes = NULL;
	p->capacity = p->byte_capacity = 0;
}

void extract_place_done(struct extract_place *p)
{
	extract_channels_done(&p->channels);
	extract_text_done(&p->plain);
	free_pieces(p);
}

static void make_name(const struct extract_node *node, int outer, int inner,
		      char ret_name[static NAME_SIZE])
{
	size_t len = 0;

	for (const char *at = node->name; *at; at++) {
		char number[16] = {*at};

		if (*at == '#')
			snprintf(number, sizeof(number), "%d", outer);
		else if (*at == '*')
			snprintf(number, sizeof(number), "%d", inner);
		else if (*at == '+' && inner)
			snprintf(number, sizeof(number), ".%d", inner);
		else if (*at == '+')
			number[0] = '\0';
		else if (*at == '?')
			strcpy(number, inner ? "thought" : "text");
		len += (size_t)snprintf(ret_name + len, NAME_SIZE - len, "%s", number);
	}
}

static enum fault text_for(struct extract_place *p, uint8_t node, int outer, int inner,
			   struct extract_text **ret_text)
{
	uint8_t kind = extract_nodes[node].channel ? extract_nodes[node].channel : node;
	const struct extract_node *of = &extract_nodes[kind];
	struct extract_text *text;
	char name[NAME_SIZE];
	enum fault fault;
	uint32_t key;

	if (outer < 0 || inner < 0)
		return FAULT_BAD_JSON;
	if (outer >= EXTRACT_TOO_LARGE || inner >= EXTRACT_TOO_LARGE)
		return FAULT_TOO_LARGE;
	key = EXTRACT_KEY(kind, outer, inner);
	p->unit |= of->mode == MODE_UNIT || of->mode == MODE_NAME;
	text = extract_channels_find(&p->channels, key);
	if (!text) {
		make_name(of, outer, inner, name);
		fault = extract_channels_add(&p->channels, key, name, of->mode >= MODE_CALL, &text);
		if (fault)
			return fault;
		text->always = of->mode == MODE_CALL || kind == OLLAMA_TOOL_ARGUMENTS;
	}
	*ret_text = text;
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

/* Gives a piece what is known of it; what is not it needs. */
static void place_piece(const struct extract_place *p, struct extract_piece *piece)
{
	const struct extract_node *node = &extract_nodes[piece->node];

	piece->needs = (uint16_t)(node->needs & ~p->known);
	piece->outer = p->value[node->outer];
	piece->inner = p->value[node->inner];
}

static bool goes_on(const struct extract_place *p, const struct extract_piece *last,
		    const struct extract_piece *piece)
{
	return p->count > p->barrier && !piece->unit && !last->unit && !piece->raw && !last->raw &&
	       last->node == piece->node && last->needs == piece->needs &&
	       last->outer == piece->outer && last->inner == piece->inner;
}

/* Puts a piece with those that wait. */
static enum fault wait(struct extract_place *p, struct extract_piece piece, const uint8_t *text)
{
	struct extract_piece *last = p->count ? &p->pieces[p->count - 1] : NULL;
	enum fault fault;

	fault = reserve((void **)&p->bytes, &p->byte_capacity, p->byte_count + piece.len + 1, 1);
	if (fault)
		return fault;
	place_piece(p, &piece);
	if (piece.len)
		memcpy(p->bytes + p->byte_count, text, piece.len);
	p->byte_count += piece.len;
	if (last && goes_on(p, last, &piece)) {
		last->len += piece.len;
		last->runes += piece.runes;
		return FAULT_NONE;
	}
	fault = reserve((void **)&p->pieces, &p->capacity, p->count + 1, sizeof(*p->pieces));
	if (!fault)
		p->pieces[p->count++] = piece;
	return fault;
}

static enum fault emit_plain(struct extract_place *p, const struct extract_piece *piece,
			     const uint8_t *text)
{
	const char *path = extract_nodes[piece->node].name;
	struct channel *channel = channel_set_find(p->set, path, strlen(path));
	enum fault fault;

	p->plain.channel = channel;
	fault = piece->unit ? extract_text_surrogate(&p->plain, p->set, piece->unit)
			    : extract_text_add(&p->plain, p->set, text, piece->len, piece->runes);
	return fault ? fault : channel_park(p->set, channel, path, strlen(path));
}

static enum fault emit_raw(struct extract_place *p, uint8_t node, int outer, int inner,
			   const uint8_t *text, size_t len)
{
	struct extract_raw raw = {.set = p->set, .replace = p->replace};
	struct extract_text *of;
	enum fault fault = text_for(p, node, outer, inner, &of);

	if (fault)
		return fault;
	/* What is in it is evaluated as in any JSON. */
	raw.channel = of->channel;
	return extract_raw_text(&raw, text, len);
}

static enum fault emit(struct extract_place *p, const struct extract_piece *piece,
		       const uint8_t *text)
{
	struct extract_text *of;
	enum fault fault;

	if (piece->plain)
		return emit_plain(p, piece, text);
	if (piece->raw)
		return emit_raw(p, piece->node, piece->outer, piece->inner, text, piece->len);
	fault = text_for(p, piece->node, piece->outer, piece->inner, &of);
	if (fault)
		return fault;
	fault = piece->unit ? extract_text_surrogate(of, p->set, piece->unit)
			    : extract_text_add(of, p->set, text, piece->len, piece->runes);
	return fault ? fault : extract_text_flush(of);
}

/* Those that need nothing more, up to the first that does. */
static enum fault flush(struct extract_place *p)
{
	enum fault fault = FAULT_NONE;

	while (p->head < p->count && !p->pieces[p->head].needs && !fault) {
		const struct extract_piece *piece = &p->pieces[p->head++];

		fault = emit(p, piece, p->bytes + p->byte_head);
		p->byte_head += piece->len;
	}
	if (!fault)
		fault = extract_text_end(&p->plain);
	p->barrier = p->count;
	if (p->head < p->count)
		return fault;
	p->head = p->count = p->barrier = p->byte_head = p->byte_count = 0;
	memset(p->from, 0, sizeof(p->from));
	if (p->byte_capacity > KEEP_BYTES || p->capacity > KEEP_PIECES)
		free_pieces(p);
	return fault;
}

uint8_t extract_place_resolve(const struct extract_place *p, uint8_t node)
{
	const struct extract_node *of = &extract_nodes[node];

	if (!of->group || !(p->known & EXTRACT_NEED_TYPE))
		return node;
	if (!p->type || p->type->group != of->group)
		return NODE_UNKNOWN;
	return p->type->to ? p->type->to : node;
}

static bool is_placed(const struct extract_place *p, uint8_t node)
{
	return !p->count && !(extract_nodes[node].needs & ~p->known);
}

enum fault extract_place_text(struct extract_place *p, uint8_t node, const uint8_t *text,
			      size_t len, uint64_t runes)
{
	const struct extract_node *of = &extract_nodes[node];
	struct extract_text *known;
	enum fault fault;

	if (!len)
		return FAULT_NONE;
	if (!is_placed(p, node))
		return wait(p, (struct extract_piece){.len = len, .runes = runes, .node = node},
			    text);
	fault = text_for(p, node, p->value[of->outer], p->value[of->inner], &known);
	if (fault)
		return fault;
	p->open = known;
	return extract_text_add(known, p->set, text, len, runes);
}

enum fault extract_place_flush(struct extract_place *p)
{
	struct extract_text *open = p->open;

	p->open = NULL;
	return extract_text_flush(open);
}

enum fault extract_place_surrogate(struct extract_place *p, uint8_t node, uint32_t unit)
{
	const struct extract_node *of = &extract_nodes[node];
	struct extract_text *known;
	enum fault fault;

	if (!is_placed(p, node))
		return wait(p, (struct extract_piece){.unit = (uint16_t)unit, .node = node}, NULL);
	fault = text_for(p, node, p->value[of->outer], p->value[of->inner], &known);
	return fault ? fault : extract_text_surrogate(known, p->set, unit);
}

enum fault extract_place_raw(struct extract_place *p, uint8_t node, const uint8_t *text, size_t len)
{
	const struct extract_node *of = &extract_nodes[node];

	if (!is_placed(p, node))
		return wait(p, (struct extract_piece){.len = len, .node = node, .raw = true}, text);
	return emit_raw(p, node, p->value[of->outer], p->value[of->inner], text, len);
}

void extract_place_open(struct extract_place *p, enum extract_register which)
{
	extract_place_close(p, which);
	p->from[which] = p->barrier = p->count;
}

enum fault extract_place_set(struct extract_place *p, enum extract_register which, int32_t value)
{
	uint16_t bit = (uint16_t)EXTRACT_NEED(which);

	p->value[which] = (int16_t)value;
	p->known |= bit;
	if (!p->count)
		return FAULT_NONE;
	for (size_t i = MAX(p->from[which], p->head); i < p->count; i++) {
		struct extract_piece *piece = &p->pieces[i];

		if (!(piece->needs & bit))
			continue;
		if (extract_nodes[piece->node].outer == which)
			piece->outer = (int16_t)value;
		if (extract_nodes[piece->node].inner == which)
			piece->inner = (int16_t)value;
		piece->needs &= (uint16_t)~bit;
	}
	return flush(p);
}

enum fault extract_place_type(struct extract_place *p, const struct extract_type *type)
{
	p->type = type;
	p->known |= EXTRACT_NEED_TYPE;
	for (size_t i = p->head; i < p->count; i++) {
		struct extract_piece *piece = &p->pieces[i];
		uint8_t node = extract_place_resolve(p, piece->node);

		if (!(piece->needs & EXTRACT_NEED_TYPE))
			continue;
		piece->needs &= (uint16_t)~EXTRACT_NEED_TYPE;
		if (node == NODE_UNKNOWN) {
			piece->plain = true;
			piece->needs = 0;
		} else if (node != piece->node) {
			piece->node = node;
			place_piece(p, piece);
		}
	}
	return p->count ? flush(p) : FAULT_NONE;
}

void extract_place_end(struct extract_place *p)
{
	p->known = EXTRACT_NEED(REGISTER_NONE);
	p->type = NULL;
}

void extract_place_complete(struct extract_place *p, enum extract_register which, int32_t value)
{
	const struct extract_channel *at, *end;
	uint32_t outer = (uint32_t)value;

	if (!p->channels.count || value < 0 || value >= EXTRACT_TOO_LARGE)
		return;
	at = extract_channels_from(&p->channels, EXTRACT_KEY(0, outer, 0));
	end = p->channels.entries + p->channels.count;
	for (; at < end && (which == REGISTER_NONE || EXTRACT_KEY_OUTER(at->key) == outer); at++) {
		const struct extract_node *node = &extract_nodes[EXTRACT_KEY_KIND(at->key)];

		if (node->mode >= MODE_CALL && (which == REGISTER_NONE || node->outer == which))
			channel_complete(at->text->channel);
	}
}

enum fault extract_place_unit_end(struct extract_place *p)
{
	enum fault fault = FAULT_NONE;

	if (!p->unit)
		return FAULT_NONE;
	p->unit = false;
	for (uint32_t i = 0; i < p->channels.count && !fault; i++) {
		const struct extract_channel *at = &p->channels.entries[i];
		uint8_t mode = extract_nodes[EXTRACT_KEY_KIND(at->key)].mode;
		struct channel *channel = at->text->channel;

		if (!channel->runes && !channel->waiting)
			continue;
		if (mode == MODE_UNIT)
			fault = channel_end(p->set, channel);
		else if (mode == MODE_NAME)
			fault = channel_cut(p->set, channel);
		if (!fault && (mode == MODE_UNIT || mode == MODE_NAME))
			fault = extract_text_end(at->text);
	}
	return fault;
}

size_t extract_place_memory(const struct extract_place *p)
{
	return extract_channels_memory(&p->channels) + extract_text_memory(&p->plain) +
	       p->capacity * sizeof(*p->pieces) + p->byte_capacity;
}
