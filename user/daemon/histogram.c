/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/histogram.h"

#include <assert.h>

static const struct {
	uint64_t ns;
	const char *seconds;
} bounds[HISTOGRAM_BOUNDS + 1] = {
	{10000ull, "1e-05"},	  {50000ull, "5e-05"},	    {100000ull, "0.0001"},
	{500000ull, "0.0005"},	  {1000000ull, "0.001"},    {5000000ull, "0.005"},
	{10000000ull, "0.01"},	  {50000000ull, "0.05"},    {100000000ull, "0.1"},
	{500000000ull, "0.5"},	  {1000000000ull, "1.0"},   {5000000000ull, "5.0"},
	{10000000000ull, "10.0"}, {60000000000ull, "60.0"}, {UINT64_MAX, "+Inf"},
};

void histogram_observe(struct histogram *histogram, uint64_t ns)
{
	size_t bucket = 0;

	while (ns > bounds[bucket].ns)
		bucket++;
	histogram->counts[bucket]++;
	histogram->sum_ns += ns;
}

void histogram_add(struct histogram *sum, const struct histogram *histogram)
{
	for (size_t i = 0; i <= HISTOGRAM_BOUNDS; i++)
		sum->counts[i] += histogram->counts[i];
	sum->sum_ns += histogram->sum_ns;
}

const char *histogram_bound(size_t bucket)
{
	assert(bucket <= HISTOGRAM_BOUNDS);
	return bounds[bucket].seconds;
}
