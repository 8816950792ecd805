/* SPDX-License-Identifier: Apache-2.0 */
#include "core/resume_table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 1024u

struct entry {
	struct entry *chain;	      /* of its bucket */
	struct entry *later, *sooner; /* its owner's that were used just after it, and before */
	struct owner *owner;
	struct resume *resume;
	size_t bytes;
	char key[SHA256_HEX_SIZE];
	struct resume_version version;
};

struct owner {
	struct owner *next;
	uint64_t number;
	size_t bytes;
	struct entry *newest, *oldest; /* by use; never empty between two calls */
};

/* Two bits a key: at its fullest one generation takes one key in 64 for one of its own. */
#define EVICTED_BITS (16u * RESUME_TABLE_EVICTED)
#define EVICTED_WORD 64u
_Static_assert(2 * EVICTED_BITS / 8 == RESUME_TABLE_BITS, "of both generations");

/* Keys that were evicted; of two generations the older one is forgotten when the other is full. */
struct evicted {
	uint64_t *bits; /* NULL: none was */
	size_t count;
};

struct resume_table {
	struct entry *buckets[BUCKETS];
	struct owner *owners;
	size_t count, bytes;
	struct evicted evicted[2]; /* the newer first */
	bool unremembered;	   /* one could not be: any key may be one */
};

/* Each with its length in front, so that where one ends is a part of it. */
static int add_part(struct sha256 *sha256, const struct resume_key_part *part)
{
	uint64_t length = part->len;
	int r = sha256_update(sha256, &length, sizeof(length));

	return r || !length ? r : sha256_update(sha256, part->at, part->len);
}

int resume_key(const struct resume_key_part *parts, size_t count,
	       char ret_key[static SHA256_HEX_SIZE])
{
	cleanup(sha256_done) struct sha256 sha256 = {0};
	int r = sha256_init(&sha256);

	for (size_t i = 0; i < count && !r; i++)
		r = add_part(&sha256, &parts[i]);
	return r ? r : sha256_hex(&sha256, ret_key);
}

int resume_table_new(struct resume_table **ret_table)
{
	struct resume_table *table = calloc(1, sizeof(*table));

	if (!table)
		return -ENOMEM;
	*ret_table = table;
	return 0;
}

/* The key is a digest already. */
static size_t bucket_of(const char *key)
{
	size_t bucket = 0;

	for (size_t i = 0; i < 8; i++)
		bucket = bucket * 31 + (unsigned char)key[i];
	return bucket % BUCKETS;
}

static void push(struct entry *entry)
{
	struct owner *owner = entry->owner;

	entry->later = NULL;
	entry->sooner = owner->newest;
	*(owner->newest ? &owner->newest->later : &owner->oldest) = entry;
	owner->newest = entry;
}

static void pull(struct entry *entry)
{
	struct owner *owner = entry->owner;

	*(entry->later ? &entry->later->sooner : &owner->newest) = entry->sooner;
	*(entry->sooner ? &entry->sooner->later : &owner->oldest) = entry->later;
}

static void drop_owner(struct resume_table *table, struct owner *owner)
{
	struct owner **at = &table->owners;

	while (*at != owner)
		at = &(*at)->next;
	*at = owner->next;
	free(owner);
}

static void drop(struct resume_table *table, struct entry *entry)
{
	struct entry **at = &table->buckets[bucket_of(entry->key)];
	struct owner *owner = entry->owner;

	while (*at != entry)
		at = &(*at)->chain;
	*at = entry->chain;
	pull(entry);
	table->count--;
	table->bytes -= entry->bytes;
	owner->bytes -= entry->bytes;
	resume_free(entry->resume);
	free(entry);
	if (!owner->newest)
		drop_owner(table, owner);
}

void resume_table_free(struct resume_table *table)
{
	if (!table)
		return;
	while (table->owners)
		drop(table, table->owners->newest);
	for (size_t i = 0; i < ARRAY_SIZE(table->evicted); i++)
		free(table->evicted[i].bits);
	free(table);
}

/* Of the two bits of a key, which is a digest in hex. */
static uint32_t evicted_bit(const char *key, size_t which)
{
	uint32_t bit = 0;

	for (size_t i = 0; i < 8; i++) {
		char digit = key[16 + 8 * which + i];

		bit = bit << 4 | (uint32_t)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
	}
	return bit % EVICTED_BITS;
}

static void remember_evicted(struct resume_table *table, const char *key)
{
	struct evicted *newer = &table->evicted[0], *older = &table->evicted[1];

	if (newer->count == RESUME_TABLE_EVICTED) {
		free(older->bits);
		*older = *newer;
		*newer = (struct evicted){0};
	}
	if (!newer->bits)
		newer->bits = calloc(EVICTED_BITS / EVICTED_WORD, sizeof(*newer->bits));
	if (!newer->bits) {
		table->unremembered = true;
		return;
	}
	for (size_t which = 0; which < 2; which++) {
		uint32_t bit = evicted_bit(key, which);

		newer->bits[bit / EVICTED_WORD] |= 1ull << bit % EVICTED_WORD;
	}
	newer->count++;
}

static bool has(const struct evicted *evicted, uint32_t bit)
{
	return evicted->bits &&
	       (evicted->bits[bit / EVICTED_WORD] & 1ull << bit % EVICTED_WORD) != 0;
}

static bool was_evicted(const struct resume_table *table, const char *key)
{
	for (size_t i = 0; i < ARRAY_SIZE(table->evicted); i++)
		if (has(&table->evicted[i], evicted_bit(key, 0)) &&
		    has(&table->evicted[i], evicted_bit(key, 1)))
			return true;
	return table->unremembered;
}

static struct entry *find(const struct resume_table *table, const char *key)
{
	struct entry *entry = table->buckets[bucket_of(key)];

	while (entry && strcmp(entry->key, key) != 0)
		entry = entry->chain;
	return entry;
}

/* J2 */
static void make_room(struct resume_table *table, size_t bytes)
{
	while (table->count && (table->count >= RESUME_TABLE_ENTRIES ||
				table->bytes + bytes > RESUME_TABLE_BYTES)) {
		struct owner *largest = table->owners;

		for (struct owner *owner = largest; owner; owner = owner->next)
			if (owner->bytes > largest->bytes)
				largest = owner;
		remember_evicted(table, largest->oldest->key);
		drop(table, largest->oldest);
	}
}

static struct owner *owner_of(struct resume_table *table, uint64_t number)
{
	struct owner *owner = table->owners;

	while (owner && owner->number != number)
		owner = owner->next;
	if (owner)
		return owner;
	owner = calloc(1, sizeof(*owner));
	if (!owner)
		return NULL;
	owner->number = number;
	owner->next = table->owners;
	table->owners = owner;
	return owner;
}

/* Takes the resume over. */
static int insert(struct resume_table *table, uint64_t number, struct entry *entry)
{
	struct owner *owner;

	if (entry->bytes > RESUME_TABLE_BYTES)
		return -E2BIG;
	/* First, since it may take an owner away. */
	make_room(table, entry->bytes);
	owner = owner_of(table, number);
	if (!owner)
		return -ENOMEM;
	entry->owner = owner;
	entry->chain = table->buckets[bucket_of(entry->key)];
	table->buckets[bucket_of(entry->key)] = entry;
	push(entry);
	owner->bytes += entry->bytes;
	table->bytes += entry->bytes;
	table->count++;
	return 0;
}

static int new_entry(const char *key, const struct resume_version *version,
		     const struct resume *resume, struct entry **ret_entry)
{
	struct entry *entry = calloc(1, sizeof(*entry));
	int r = entry ? resume_copy(resume, &entry->resume) : -ENOMEM;

	if (r) {
		free(entry);
		return r;
	}
	memcpy(entry->key, key, sizeof(entry->key));
	entry->version = *version;
	entry->bytes = sizeof(*entry) + resume_memory(entry->resume);
	*ret_entry = entry;
	return 0;
}

/* Known already: the same again, or no one knows which of two (J3). */
static void put_again(struct entry *entry, const struct resume_version *version,
		      const struct resume *resume)
{
	if (entry->version.media != version->media || !resume_same(entry->resume, resume))
		resume_spoil(entry->resume);
	entry->version = *version;
}

int resume_table_put(struct resume_table *table, uint64_t owner, const char *key,
		     const struct resume_version *version, const struct resume *resume)
{
	struct entry *known = find(table, key), *entry;
	int r;

	if (known) {
		put_again(known, version, resume);
		return 0;
	}
	r = new_entry(key, version, resume, &entry);
	if (r)
		return r;
	if (was_evicted(table, key))
		resume_spoil(entry->resume);
	r = insert(table, owner, entry);
	if (r) {
		resume_free(entry->resume);
		free(entry);
	}
	return r;
}

const struct resume *resume_table_find(struct resume_table *table, const char *key,
				       const struct resume_version **ret_version)
{
	struct entry *entry = find(table, key);

	if (!entry)
		return NULL;
	pull(entry);
	push(entry);
	*ret_version = &entry->version;
	return entry->resume;
}

size_t resume_table_count(const struct resume_table *table)
{
	return table->count;
}

size_t resume_table_memory(const struct resume_table *table)
{
	size_t bytes = sizeof(*table) + table->bytes;

	for (size_t i = 0; i < ARRAY_SIZE(table->evicted); i++)
		bytes += table->evicted[i].bits ? EVICTED_BITS / 8 : 0;
	return bytes;
}
