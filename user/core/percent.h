/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Percent-decoding (RFC 3986 2.1), incremental, for evaluation: of a request target,
 * and of a form (WHATWG URL 5.1), where '+' is a space.
 */
#ifndef SLUICE_CORE_PERCENT_H
#define SLUICE_CORE_PERCENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct percent {
	bool plus;     /* '+' is a space */
	uint8_t have;  /* bytes of a triplet under way: 0, "%", or "%X" */
	uint8_t first; /* its first digit, as it came */
};

/*
 * Decodes some of len bytes into room (at least 3) bytes; *ret_used is what was taken.
 * Returns how many bytes came out. What is no triplet stands for itself.
 */
size_t percent_decode(struct percent *percent, const uint8_t *data, size_t len, uint8_t *out,
		      size_t room, size_t *ret_used);
/* The text ends: what was under way, at most 2 bytes. */
size_t percent_end(struct percent *percent, uint8_t out[2]);

#endif
