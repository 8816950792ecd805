/* SPDX-License-Identifier: Apache-2.0 */
#include "core/coverage.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

uint32_t coverage_tail(uint32_t detectable)
{
	return detectable ? detectable - 1 : 0;
}

uint64_t coverage_window(uint32_t span, uint32_t detectable)
{
	return (uint64_t)span + coverage_tail(detectable);
}

static bool is_sound(const struct coverage *coverage)
{
	return coverage->span && coverage->detectable &&
	       coverage->window >= coverage_window(coverage->span, coverage->detectable);
}

int coverage_check(const struct coverage *coverage, uint64_t *ret_needed, char *error,
		   size_t error_len)
{
	uint64_t needed = coverage_window(coverage->span, coverage->detectable);

	if (!coverage->span) {
		snprintf(error, error_len, "a span has to be of one rune at least");
		return -EINVAL;
	}
	if (!coverage->detectable) {
		snprintf(error, error_len, "what is detected has to be of one rune at least");
		return -EINVAL;
	}
	if (ret_needed)
		*ret_needed = needed;
	if (is_sound(coverage))
		return 0;
	snprintf(error, error_len,
		 "a window of %" PRIu32 " runes is too small: with spans of %" PRIu32
		 " runes, what is %" PRIu32 " runes long needs %" PRIu64,
		 coverage->window, coverage->span, coverage->detectable, needed);
	return -EINVAL;
}

int coverage_of(const struct coverage *coverage, uint64_t start, uint64_t end, uint64_t *ret_from)
{
	if (!is_sound(coverage) || end <= start || end - start > coverage->span)
		return -EINVAL;
	*ret_from = end - MIN(end, (uint64_t)coverage->window);
	return 0;
}
