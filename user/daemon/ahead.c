/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/ahead.h"

#include <stdlib.h>

struct ahead *ahead_new(uint64_t eager)
{
	struct ahead *ahead = calloc(1, sizeof(*ahead));

	if (ahead)
		ahead->eager = eager;
	return ahead;
}

void ahead_add_unit(struct ahead *ahead, uint64_t end)
{
	if (ahead->missed || ahead->count == ARRAY_SIZE(ahead->ends)) {
		ahead->missed = end;
		return;
	}
	ahead->ends[(ahead->first + ahead->count) % ARRAY_SIZE(ahead->ends)] = end;
	ahead->count++;
}

static void drop_passed(struct ahead *ahead, uint64_t sent)
{
	while (ahead->count && ahead->ends[ahead->first] <= sent) {
		ahead->first = (ahead->first + 1) % ARRAY_SIZE(ahead->ends);
		ahead->count--;
	}
	if (ahead->missed <= sent)
		ahead->missed = 0;
}

uint64_t ahead_limit(struct ahead *ahead, uint64_t sent, uint64_t released, uint64_t received,
		     bool *ret_boundary)
{
	uint64_t limit = MIN(received, released + ahead->eager);

	*ret_boundary = true;
	drop_passed(ahead, sent);
	if (sent <= released)
		ahead->writes = 0;
	if (sent < released)
		return released;
	if (limit <= sent || ahead->writes >= LIMIT_AHEAD_WRITES)
		return sent;
	if (ahead->count && ahead->ends[ahead->first] <= limit)
		return ahead->ends[ahead->first];
	/* The beginning of a unit; of several, perhaps, where ends were missed. */
	*ret_boundary = false;
	return ahead->missed && !ahead->count ? sent : limit;
}

void ahead_wrote(struct ahead *ahead)
{
	ahead->writes++;
}
