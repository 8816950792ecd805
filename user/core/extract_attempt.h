/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text that may be JSON under a wrong label: evaluated as it stands, and besides, as long
 * as it is JSON, as the strings of that, which an escape spells otherwise.
 *
 * Invariants:
 *  A1. What is read so begins at the first byte of a unit that is no white space of JSON,
 *      where that is {, [ or ", and ends at the first byte that is no JSON; that is no fault.
 *      Texts may follow one another, and members be named twice: of both there are readers.
 *  A2. How the text is cut into calls does not decide which of the two readings of a byte
 *      comes first: both go in blocks, counted from where the attempt began.
 */
#ifndef SLUICE_CORE_EXTRACT_ATTEMPT_H
#define SLUICE_CORE_EXTRACT_ATTEMPT_H

#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "core/channel.h"
#include "core/extract_raw.h"
#include "core/extract_tokens.h"
#include "core/fault.h"
#include "core/json.h"

#define ATTEMPT_BLOCK 4096u

struct extract_attempt {
	uint8_t state;
	struct extract_raw *raw; /* the reading as it stands; borrowed */
	struct json scanner;
	struct extract_tokens tokens;
	size_t len; /* of the block under way */
	uint8_t block[ATTEMPT_BLOCK];
};

void extract_attempt_init(struct extract_attempt *attempt, struct extract_raw *raw);
void extract_attempt_done(struct extract_attempt *attempt);

/* The next of the text, for both readings. */
enum fault extract_attempt_text(struct extract_attempt *attempt, const uint8_t *text,
				size_t len) must_check;
/* The unit ends, and the attempt with it. */
enum fault extract_attempt_end(struct extract_attempt *attempt) must_check;

size_t extract_attempt_memory(const struct extract_attempt *attempt); /* beside the struct itself */

#endif
