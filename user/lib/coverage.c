/* SPDX-License-Identifier: Apache-2.0 */
#include "core/coverage.h"

#include "sluice/sluice.h"

static struct coverage inner_of(const struct sluice_coverage *coverage)
{
	return (struct coverage){
		.span = coverage->span,
		.window = coverage->window,
		.detectable = coverage->detectable,
	};
}

uint64_t sluice_coverage_window(uint32_t span, uint32_t detectable)
{
	return coverage_window(span, detectable);
}

int sluice_coverage_check(const struct sluice_coverage *coverage, uint64_t *ret_needed)
{
	struct coverage inner = inner_of(coverage);

	return coverage_check(&inner, ret_needed, NULL, 0);
}

int sluice_coverage_of(const struct sluice_coverage *coverage, uint64_t start, uint64_t end,
		       uint64_t *ret_from)
{
	struct coverage inner = inner_of(coverage);

	return coverage_of(&inner, start, end, ret_from);
}

uint32_t sluice_coverage_tail(uint32_t detectable)
{
	return coverage_tail(detectable);
}
