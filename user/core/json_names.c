/* SPDX-License-Identifier: Apache-2.0 */
#include "core/json_names.h"

#include <stdlib.h>
#include <string.h>

#include "core/utf8.h"

/* Objects of up to this many names are compared name by name. */
#define LINEAR_MAX 8u
/* What an idle scanner may keep. */
#define KEEP_BYTES 512u
#define KEEP_ITEMS 32u /* of each other arena */

/*
 * A node of a crit-bit tree over symbols of nine bits: 0 past the end of a name,
 * else 0x100 and the byte, so that a name and its prefix differ at a symbol too.
 */
struct json_node {
	uint32_t child[2]; /* LEAF and a key's number, or a node's number */
	uint32_t at;	   /* index of the symbol that decides */
	uint16_t others;   /* all bits but the one that decides */
};

#define LEAF	    0x80000000u
#define NO_ROOT	    UINT32_MAX
#define SYMBOL_MASK 0x1ffu

static enum fault reserve(void **array, uint32_t *capacity, uint64_t need, size_t size,
			  uint32_t first)
{
	uint64_t more = *capacity ? *capacity : first;
	void *grown;

	if (need <= *capacity)
		return FAULT_NONE;
	if (need >= LEAF)
		return FAULT_TOO_LARGE;
	while (more < need)
		more *= 2;
	grown = realloc(*array, (size_t)more * size);
	if (!grown)
		return FAULT_NO_MEMORY;
	*array = grown;
	*capacity = (uint32_t)more;
	return FAULT_NONE;
}

void json_names_done(struct json_names *names)
{
	free(names->bytes);
	free(names->keys);
	free(names->nodes);
	free(names->objects);
	memset(names, 0, sizeof(*names));
}

void json_names_clear(struct json_names *names)
{
	if (names->capacity > KEEP_BYTES || names->key_capacity > KEEP_ITEMS ||
	    names->object_capacity > KEEP_ITEMS || names->node_capacity > KEEP_ITEMS) {
		json_names_done(names);
		return;
	}
	names->used = names->key_count = names->object_count = names->node_count = 0;
	names->high = 0;
}

enum fault json_names_open(struct json_names *names)
{
	struct json_object *object;
	enum fault fault = reserve((void **)&names->objects, &names->object_capacity,
				   (uint64_t)names->object_count + 1, sizeof(*names->objects), 4);

	if (fault)
		return fault;
	object = &names->objects[names->object_count++];
	object->first_key = names->key_count;
	object->first_node = names->node_count;
	object->root = NO_ROOT;
	return FAULT_NONE;
}

void json_names_close(struct json_names *names)
{
	const struct json_object *object = &names->objects[--names->object_count];

	if (names->key_count > object->first_key)
		names->used = names->keys[object->first_key].offset;
	names->key_count = object->first_key;
	names->node_count = object->first_node;
}

enum fault json_names_begin(struct json_names *names)
{
	enum fault fault = reserve((void **)&names->keys, &names->key_capacity,
				   (uint64_t)names->key_count + 1, sizeof(*names->keys), 8);

	/* Even an empty name has an address. */
	if (!fault)
		fault = reserve((void **)&names->bytes, &names->capacity, (uint64_t)names->used + 1,
				1, 128);
	if (fault)
		return fault;
	names->keys[names->key_count++] = (struct json_key){.offset = names->used};
	names->high = 0;
	return FAULT_NONE;
}

enum fault json_names_text(struct json_names *names, const uint8_t *text, size_t len)
{
	enum fault fault = FAULT_NONE;

	if (len > names->capacity - names->used)
		fault = reserve((void **)&names->bytes, &names->capacity,
				(uint64_t)names->used + len, 1, 128);
	if (fault || !len)
		return fault;
	memcpy(names->bytes + names->used, text, len);
	names->used += (uint32_t)len;
	names->keys[names->key_count - 1].len += (uint32_t)len;
	names->high = 0;
	return FAULT_NONE;
}

enum fault json_names_surrogate(struct json_names *names, uint32_t unit)
{
	uint32_t high = names->high;
	uint8_t bytes[UTF8_MAX];
	enum fault fault;
	unsigned int len;

	if (high && utf8_is_low_surrogate(unit)) {
		/* What stood for the first half becomes the rune. */
		names->used -= UTF8_REPLACEMENT_LEN;
		names->keys[names->key_count - 1].len -= UTF8_REPLACEMENT_LEN;
		len = utf8_encode(0x10000 + ((high - 0xd800) << 10) + (unit - 0xdc00), bytes);
		return json_names_text(names, bytes, len);
	}
	fault = json_names_text(names, (const uint8_t *)UTF8_REPLACEMENT, UTF8_REPLACEMENT_LEN);
	if (!fault && utf8_is_high_surrogate(unit))
		names->high = (uint16_t)unit;
	return fault;
}

static unsigned int symbol(const struct json_names *names, const struct json_key *key, uint32_t at)
{
	return at < key->len ? 0x100u | names->bytes[key->offset + at] : 0;
}

static unsigned int direction(const struct json_node *node, unsigned int sym)
{
	return (1 + (node->others | sym)) >> 9;
}

/* First symbol in which two names differ, or UINT32_MAX. */
static uint32_t difference(const struct json_names *names, const struct json_key *a,
			   const struct json_key *b)
{
	const uint8_t *p = names->bytes + a->offset, *q = names->bytes + b->offset;
	uint32_t len = MIN(a->len, b->len), at = 0;

	while (at < len && p[at] == q[at])
		at++;
	return at == len && a->len == b->len ? UINT32_MAX : at;
}

static enum fault tree_add(struct json_names *names, struct json_object *object, uint32_t number)
{
	const struct json_key *key = &names->keys[number], *near;
	uint32_t at, *where = &object->root;
	unsigned int bits, side;
	struct json_node *node;
	enum fault fault;

	if (object->root == NO_ROOT) {
		object->root = LEAF | number;
		return FAULT_NONE;
	}
	fault = reserve((void **)&names->nodes, &names->node_capacity,
			(uint64_t)names->node_count + 1, sizeof(*names->nodes), 16);
	if (fault)
		return fault;
	while (!(*where & LEAF)) {
		node = &names->nodes[*where];
		where = &node->child[direction(node, symbol(names, key, node->at))];
	}
	near = &names->keys[*where & ~LEAF];
	at = difference(names, key, near);
	if (at == UINT32_MAX)
		return FAULT_DUPLICATE_KEY;
	bits = symbol(names, key, at) ^ symbol(names, near, at);
	while (bits & (bits - 1))
		bits &= bits - 1;
	/* The new node goes above the first one that decides on a later bit. */
	for (where = &object->root; !(*where & LEAF);) {
		node = &names->nodes[*where];
		if (node->at > at || (node->at == at && (~node->others & SYMBOL_MASK) < bits))
			break;
		where = &node->child[direction(node, symbol(names, key, node->at))];
	}
	node = &names->nodes[names->node_count];
	node->at = at;
	node->others = (uint16_t)(~bits & SYMBOL_MASK);
	side = direction(node, symbol(names, key, at));
	node->child[side] = LEAF | number;
	node->child[!side] = *where;
	*where = names->node_count++;
	return FAULT_NONE;
}

static bool same(const struct json_names *names, const struct json_key *a, const struct json_key *b)
{
	const uint8_t *p = names->bytes + a->offset, *q = names->bytes + b->offset;

	return a->len == b->len && (!a->len || (*p == *q && memcmp(p, q, a->len) == 0));
}

/* Out of line, to keep what nearly all objects need short. */
__attribute__((noinline)) static enum fault add_to_long(struct json_names *names,
							struct json_object *object, uint32_t last)
{
	enum fault fault = FAULT_NONE;

	/* The first name past the linear part brings those before it into the tree. */
	if (object->root == NO_ROOT)
		for (uint32_t i = object->first_key; i < last && !fault; i++)
			fault = tree_add(names, object, i);
	return fault ? fault : tree_add(names, object, last);
}

enum fault json_names_end(struct json_names *names)
{
	struct json_object *object = &names->objects[names->object_count - 1];
	uint32_t last = names->key_count - 1;

	if (last - object->first_key >= LINEAR_MAX)
		return add_to_long(names, object, last);
	for (uint32_t i = object->first_key; i < last; i++)
		if (same(names, &names->keys[i], &names->keys[last]))
			return FAULT_DUPLICATE_KEY;
	return FAULT_NONE;
}

static enum fault add_growing(struct json_names *names, const uint8_t *text, size_t len)
{
	enum fault fault = json_names_begin(names);

	if (!fault)
		fault = json_names_text(names, text, len);
	return fault ? fault : json_names_end(names);
}

enum fault json_names_add(struct json_names *names, const uint8_t *text, size_t len)
{
	if (names->key_count == names->key_capacity || len >= names->capacity - names->used)
		return add_growing(names, text, len);
	names->keys[names->key_count++] =
		(struct json_key){.offset = names->used, .len = (uint32_t)len};
	memcpy(names->bytes + names->used, text, len);
	names->used += (uint32_t)len;
	return json_names_end(names);
}

const uint8_t *json_names_at(const struct json_names *names, uint32_t depth, size_t *ret_len)
{
	uint32_t end = depth + 1 < names->object_count ? names->objects[depth + 1].first_key
						       : names->key_count;
	const struct json_key *key = &names->keys[end - 1];

	*ret_len = key->len;
	return names->bytes + key->offset;
}

bool json_names_note(const struct json_names *names, struct json_names_mark *ret_mark)
{
	/* So few have no tree. */
	_Static_assert(JSON_NAMES_MARK <= LINEAR_MAX, "a mark of names that are in a tree");
	if (names->object_count != 1 || names->key_count > JSON_NAMES_MARK ||
	    names->used > sizeof(ret_mark->bytes))
		return false;
	ret_mark->used = names->used;
	ret_mark->key_count = names->key_count;
	memcpy(ret_mark->keys, names->keys, names->key_count * sizeof(*names->keys));
	memcpy(ret_mark->bytes, names->bytes, names->used);
	return true;
}

bool json_names_recall(struct json_names *names, const struct json_names_mark *mark)
{
	if (names->object_count || !names->object_capacity ||
	    names->key_capacity < mark->key_count || names->capacity < mark->used)
		return false;
	memcpy(names->keys, mark->keys, mark->key_count * sizeof(*names->keys));
	memcpy(names->bytes, mark->bytes, mark->used);
	names->key_count = mark->key_count;
	names->used = mark->used;
	names->objects[names->object_count++] = (struct json_object){.root = NO_ROOT};
	return true;
}

size_t json_names_memory(const struct json_names *names)
{
	return names->capacity + names->key_capacity * sizeof(*names->keys) +
	       names->node_capacity * sizeof(*names->nodes) +
	       names->object_capacity * sizeof(*names->objects);
}
