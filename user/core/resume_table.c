/* SPDX-License-Identifier: Apache-2.0 */
#include "core/resume_table.h"

#include <errno.h>
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
	char validator[RESUME_VALIDATOR_MAX + 1];
};

struct owner {
	struct owner *next;
	uint64_t number;
	size_t bytes;
	struct entry *newest, *oldest; /* by use; never empty between two calls */
};

struct resume_table {
	struct entry *buckets[BUCKETS];
	struct owner *owners;
	size_t count, bytes;
};

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
	free(table);
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

static int new_entry(const char *key, const char *validator, const struct resume *resume,
		     struct entry **ret_entry)
{
	struct entry *entry = calloc(1, sizeof(*entry));
	int r = entry ? resume_copy(resume, &entry->resume) : -ENOMEM;

	if (r) {
		free(entry);
		return r;
	}
	memcpy(entry->key, key, sizeof(entry->key));
	(void)stpcpy(entry->validator, validator);
	entry->bytes = sizeof(*entry) + resume_memory(entry->resume);
	*ret_entry = entry;
	return 0;
}

/* Known already: the same again, another representation, or no one knows which of two (J3). */
static bool stays(struct entry *entry, const char *validator, const struct resume *resume)
{
	if (strcmp(entry->validator, validator) != 0)
		return false;
	if (!resume_same(entry->resume, resume))
		resume_spoil(entry->resume);
	return true;
}

int resume_table_put(struct resume_table *table, uint64_t owner, const char *key,
		     const char *validator, const struct resume *resume)
{
	struct entry *known = find(table, key), *entry;
	int r;

	if (known && stays(known, validator, resume))
		return 0;
	if (known)
		drop(table, known);
	r = new_entry(key, validator, resume, &entry);
	if (r)
		return r;
	r = insert(table, owner, entry);
	if (r) {
		resume_free(entry->resume);
		free(entry);
	}
	return r;
}

const struct resume *resume_table_find(struct resume_table *table, const char *key,
				       const char **ret_validator)
{
	struct entry *entry = find(table, key);

	if (!entry)
		return NULL;
	pull(entry);
	push(entry);
	*ret_validator = entry->validator;
	return entry->resume;
}

size_t resume_table_count(const struct resume_table *table)
{
	return table->count;
}

size_t resume_table_memory(const struct resume_table *table)
{
	return sizeof(*table) + table->bytes;
}
