/* SPDX-License-Identifier: Apache-2.0 */
/* The boot clock goes on while the machine sleeps, and no one sets it; the other tells the time. */
#ifndef SLUICE_SYS_CLOCK_H
#define SLUICE_SYS_CLOCK_H

#include <stdint.h>
#include <time.h>

#define CLOCK_NS_PER_MS 1000000ull
#define CLOCK_NS_PER_S	1000000000ull

static inline uint64_t clock_boot_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * CLOCK_NS_PER_S + (uint64_t)now.tv_nsec;
}

/* Since 1970, UTC. */
static inline uint64_t clock_real_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / CLOCK_NS_PER_MS;
}

#endif
