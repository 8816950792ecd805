/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 in lower-case hex, of bytes that come in pieces. */
#ifndef SLUICE_CORE_SHA256_H
#define SLUICE_CORE_SHA256_H

#include <stddef.h>

#include "base/macros.h"

/* With the terminating NUL. */
#define SHA256_HEX_SIZE 65

struct sha256 {
	void *context; /* NULL: nothing allocated */
};

/* -ENOMEM, or -EIO where the library refuses. */
int sha256_init(struct sha256 *sha256) must_check;
int sha256_update(struct sha256 *sha256, const void *data, size_t len) must_check;
/* The digest of what was put in so far; more may follow. */
int sha256_hex(const struct sha256 *sha256, char ret_hex[static SHA256_HEX_SIZE]) must_check;
/* The digest of one piece behind another, forgetting what was put in before. Allocates nothing. */
int sha256_two_hex(struct sha256 *sha256, const void *first, size_t first_len, const void *second,
		   size_t second_len, char ret_hex[static SHA256_HEX_SIZE]) must_check;
/* Accepts one that was never initialised, if it is all zero. */
void sha256_done(struct sha256 *sha256);

#endif
