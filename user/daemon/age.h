/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Age: since when bytes of a flow have been there, without a mark for each. Of more than
 * AGE_MARKS arrivals that wait at once the later ones count as old as the last that has a mark:
 * a byte may be taken for older than it is, and never for younger.
 */
#ifndef SLUICE_DAEMON_AGE_H
#define SLUICE_DAEMON_AGE_H

#include <stdbool.h>
#include <stdint.h>

#define AGE_MARKS 8u

struct age {
	struct {
		uint64_t end; /* offset of the flow */
		uint64_t since_ns;
	} marks[AGE_MARKS];
	unsigned int first, count;
};

/* The bytes up to that offset, from the end of those before on, are there since then. */
void age_add(struct age *age, uint64_t end, uint64_t since_ns);
/* Since when the oldest byte is there. False: there is none. */
bool age_oldest(const struct age *age, uint64_t *ret_since_ns);
/* The bytes up to that offset go. False: there were none; else since when the oldest was there. */
bool age_take(struct age *age, uint64_t end, uint64_t *ret_since_ns);

#endif
