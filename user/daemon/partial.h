/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Partial: what is recorded of the message a flow holds that is not whole: what would end
 * it (message_boundary_delimiter), the SHA-256 of its bytes (partial_buffer_state_hash),
 * how much is still to come (expected_message_size), how long that may take
 * (incomplete_message_timeout). The framing guard decides from these (core/guard.h).
 *
 * Invariants:
 *  I1. Nothing is kept beside the flow: each element is read off its pipeline, its hold
 *      and its policy when it is asked for.
 *  I2. The hash is of held text, and goes to a successor alone: it is in no query, no log
 *      and no metric.
 *
 * Who takes flows over, with the bytes that their holds had, asks guard_partial_intact()
 * about them first, and only then the guard.
 */
#ifndef SLUICE_DAEMON_PARTIAL_H
#define SLUICE_DAEMON_PARTIAL_H

#include "base/macros.h"
#include "core/guard.h"
#include "core/pipeline.h"
#include "core/sha256.h"

struct flow;

/* A sentinel in hex is the longest. */
#define PARTIAL_DELIMITER_SIZE (2 * SENTINEL_LEN_MAX + 1)

/* How messages of that framing end. Of one that is not known yet: as its first bytes will. */
enum guard_mode partial_mode(enum framing_kind kind);

/* By what they end, in words. */
void partial_delimiter(const struct framing *framing, char ret_text[static PARTIAL_DELIMITER_SIZE]);

/*
 * Of a mediated flow, of the bytes behind its last unit; "" where it holds none. -ENODATA: some
 * of them was written ahead and is not here any more. -ENOMEM, -EIO.
 */
int partial_hash(const struct flow *flow, char ret_hex[static SHA256_HEX_SIZE]) must_check;

#endif
