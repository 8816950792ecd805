/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Framing guard: what to do with the partial message a flow holds, decided from
 * what was recorded of it. The gates are asked in this order: mode, hash, age.
 *
 * Invariants:
 *  G1. An unframed flow is never waited for, whatever else is recorded.
 *  G2. A partial message is waited for up to its timeout, never past it.
 *  G3. The digest depends on nothing but what the verdict was made of.
 *
 * Times are seconds on one clock.
 */
#ifndef SLUICE_CORE_GUARD_H
#define SLUICE_CORE_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/sha256.h"

enum guard_mode { GUARD_LENGTH_PREFIXED, GUARD_DELIMITED, GUARD_UNFRAMED };

enum guard_verdict {
	GUARD_DISCARD_AND_RESET,
	GUARD_MESSAGE_COMPLETE,
	GUARD_STALE_PARTIAL_BUFFER,
	GUARD_MESSAGE_IN_PROGRESS,
	_GUARD_VERDICT_MAX,
};

struct guard_record {
	enum guard_mode mode;
	const char *partial_hash; /* NULL or empty: nothing is held */
	double last_byte;	  /* when the last byte came */
	double timeout;
	uint64_t expected_size; /* 0: unknown */
};

/* Holds a double of any size with one decimal, twice, and the words around it. */
#define GUARD_DIRECTIVE_SIZE 512u

struct guard_decision {
	enum guard_verdict verdict;
	char directive[GUARD_DIRECTIVE_SIZE];
	char digest[SHA256_HEX_SIZE]; /* of the manifest */
};

/*
 * The gates alone, without a manifest: neither hash nor digest is made, so that every flow
 * may be asked about at every tick. partial: part of a message is held. age: since its last
 * byte.
 */
enum guard_verdict guard_judge(enum guard_mode mode, bool partial, double age, double timeout);

/*
 * The verdict on a record, where a hash says that something is held, and its manifest.
 * -ENOMEM, -EIO: the digest could not be made; the caller fails closed.
 */
int guard_decide(const struct guard_record *record, double now,
		 struct guard_decision *ret_decision) must_check;

/* Upper-case name, as in the manifest. */
const char *guard_verdict_name(enum guard_verdict verdict);

/*
 * Whether the hash recorded of a partial message is that of the bytes held. Where
 * it is not, or bytes are held without one, they have to be discarded and their
 * session settled before the guard is asked. False also where no hash can be made.
 */
bool guard_partial_intact(const char *recorded, const uint8_t *held, size_t len);

#endif
