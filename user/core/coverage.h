/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Coverage: how much text a task has to see with each span, so that nothing it can detect
 * falls between two evaluations (Agent Control Specification 18.1). What is detectable in L
 * runes and reaches into a span can begin L - 1 runes below the span's start. A task that
 * evaluates spans of at most S runes therefore sees windows of at least S + L - 1 runes, that
 * end where the span ends.
 *
 * Units: runes of one channel. All sums are taken in 64 bits, of which no 32-bit operand can
 * take them out.
 */
#ifndef SLUICE_CORE_COVERAGE_H
#define SLUICE_CORE_COVERAGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

struct coverage {
	uint32_t span;	     /* S: runes of a span, at least 1 */
	uint32_t window;     /* N: runes of a window */
	uint32_t detectable; /* L: runes of the longest thing the task detects, at least 1 */
};

/* The smallest sound window: S + L - 1. */
uint64_t coverage_window(uint32_t span, uint32_t detectable);

/*
 * 0, or -EINVAL and one line for the operator in error (error_len bytes at most, NUL and all;
 * NULL with 0 for none): a span or an L of 0, or a window under coverage_window(), with the
 * number that would do. *ret_needed, which may be NULL, is coverage_window(); it is untouched
 * where the span or L is 0, and error where the coverage is sound.
 */
int coverage_check(const struct coverage *coverage, uint64_t *ret_needed, char *error,
		   size_t error_len) must_check;

/*
 * The window to evaluate with the span [start, end) of a channel: *ret_from..end. *ret_from is
 * 0 where fewer runes came before. -EINVAL: an empty span, one of more than S runes, or a
 * coverage that coverage_check() refuses.
 */
int coverage_of(const struct coverage *coverage, uint64_t start, uint64_t end,
		uint64_t *ret_from) must_check;

/* Runes of an attempt's end that the next one has to see before its first: L - 1. */
uint32_t coverage_tail(uint32_t detectable);

#endif
