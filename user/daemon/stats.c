/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/stats.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/limits.h"
#include "daemon/reason.h"

void stats_done(struct stats *stats)
{
	free(stats->reasons.list);
	free(stats->findings.list);
	*stats = (struct stats){0};
}

void stats_count_name(struct stats_names *names, const char *name)
{
	struct stats_count *grown;
	size_t i;

	for (i = 0; i < names->count; i++) {
		if (!strcmp(names->list[i].name, name)) {
			names->list[i].count++;
			return;
		}
	}
	grown = i < LIMIT_REASONS ? realloc(names->list, (i + 1) * sizeof(*grown)) : NULL;
	if (!grown) {
		names->lost++;
		return;
	}
	names->list = grown;
	grown[i].count = 1;
	(void)snprintf(grown[i].name, sizeof(grown[i].name), "%s", name);
	names->count++;
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

json_t *stats_names_json(const struct stats_names *names)
{
	json_t *object = json_object();

	for (size_t i = 0; object && i < names->count; i++) {
		const struct stats_count *reason = &names->list[i];

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
