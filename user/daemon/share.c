/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/share.h"

#include "base/macros.h"

uint64_t share_left(uint64_t total, uint64_t taken, uint64_t own, uint64_t sure)
{
	uint64_t free = taken < total ? total - taken : 0;
	uint64_t fair = own / SHARE_OF_FREE < free ? free - own / SHARE_OF_FREE : 0;
	uint64_t rest = own < sure ? sure - own : 0;

	/* What it takes is no longer free. */
	fair = fair / (SHARE_OF_FREE + 1) * SHARE_OF_FREE;
	return MIN(free, MAX(fair, rest));
}
