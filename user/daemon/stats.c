/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/stats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/limits.h"
#include "daemon/reason.h"

void stats_done(struct stats *stats)
{
	free(stats->reasons);
	*stats = (struct stats){0};
}

void stats_count_reason(struct stats *stats, const char *name)
{
	struct stats_reason *grown;
	size_t i;

	for (i = 0; i < stats->reason_count; i++) {
		if (!strcmp(stats->reasons[i].name, name)) {
			stats->reasons[i].count++;
			return;
		}
	}
	grown = i < LIMIT_REASONS ? realloc(stats->reasons, (i + 1) * sizeof(*grown)) : NULL;
	if (!grown) {
		stats->reasons_lost++;
		return;
	}
	stats->reasons = grown;
	grown[i].count = 1;
	(void)snprintf(grown[i].name, sizeof(grown[i].name), "%s", name);
	stats->reason_count++;
}

json_t *stats_sessions_json(const uint64_t sessions[_SESSION_END_MAX])
{
	json_t *object = json_object();

	for (int end = 0; object && end < _SESSION_END_MAX; end++) {
		if (json_object_set_new(object, session_end_name((enum session_end)end),
					json_integer((json_int_t)sessions[end]))) {
			json_decref(object);
			return NULL;
		}
	}
	return object;
}

json_t *stats_reasons_json(const struct stats *stats)
{
	json_t *object = json_object();

	for (size_t i = 0; object && i < stats->reason_count; i++) {
		const struct stats_reason *reason = &stats->reasons[i];

		if (!strcmp(reason->name, reason_name(REASON_COMPLETE)))
			continue;
		if (json_object_set_new(object, reason->name,
					json_integer((json_int_t)reason->count))) {
			json_decref(object);
			return NULL;
		}
	}
	return object;
}
