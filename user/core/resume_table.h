/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resume table: the resumes that are known, by key. A key is a digest of all that tells one
 * resume from another: the policy, what the client asked whom for, and where it stopped.
 * What is not in the table, or was dropped from it, is not known: its resume is refused.
 *
 * Invariants:
 *  J1. At most RESUME_TABLE_ENTRIES and RESUME_TABLE_BYTES, whatever comes, and beside them
 *      RESUME_TABLE_BITS bytes for what was evicted.
 *  J2. Where there is no room the owner (a watched cgroup) that takes the most bytes loses
 *      what it used least recently: one that takes less than another loses nothing to it.
 *  J3. One key stands for one end of one text, read in one way. Where another one is put under
 *      it, be it that of another version, it is known no more which is meant, and the entry is
 *      spoiled. So is what is put under a key that was evicted: it may have been another text's.
 *      Of evicted keys at least the last RESUME_TABLE_EVICTED are remembered, by bits that now
 *      and then take another key for one of them.
 *
 * Owners are for accounting alone: an agent may resume what another one of the same policy
 * began. Nothing of the table is kept anywhere else; it ends with the process.
 */
#ifndef SLUICE_CORE_RESUME_TABLE_H
#define SLUICE_CORE_RESUME_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/media_type.h"
#include "core/resume.h"
#include "core/sha256.h"

#define RESUME_TABLE_ENTRIES 4096u
#define RESUME_TABLE_BYTES   (4u << 20)
#define RESUME_TABLE_EVICTED (1u << 18)
#define RESUME_TABLE_BITS    (4u * RESUME_TABLE_EVICTED)
/* Bytes of a validator (RFC 9110 8.8), at most; a longer one is none. */
#define RESUME_VALIDATOR_MAX 255u

struct resume_key_part {
	const void *at;
	size_t len;
};

/* The key of SHA256_HEX_SIZE of a list of parts: no two lists have the same. -ENOMEM, -EIO. */
int resume_key(const struct resume_key_part *parts, size_t count,
	       char ret_key[static SHA256_HEX_SIZE]) must_check;

struct resume_table;

/* What the text is a part of, and how it was read: who goes on from it has to be of the same. */
struct resume_version {
	char validator[RESUME_VALIDATOR_MAX + 1]; /* "" without */
	enum media_class media;
};

/* -ENOMEM. */
int resume_table_new(struct resume_table **ret_table) must_check;
void resume_table_free(struct resume_table *table);
DEFINE_CLEANUP(struct resume_table *, resume_table_free)

/*
 * Keeps a copy of a resume under a key of SHA256_HEX_SIZE. The same text under another
 * validator is of that one from here on. -ENOMEM, and -E2BIG where it alone is too large: the
 * key is not known then, unless it was.
 */
int resume_table_put(struct resume_table *table, uint64_t owner, const char *key,
		     const struct resume_version *version, const struct resume *resume) must_check;

/* NULL: not known. Both answers are valid until the next put. */
const struct resume *resume_table_find(struct resume_table *table, const char *key,
				       const struct resume_version **ret_version);

size_t resume_table_count(const struct resume_table *table);
size_t resume_table_memory(const struct resume_table *table);

#endif
