/* SPDX-License-Identifier: Apache-2.0 */
/* What interceptors counted, by the name of their task, beyond the life of a policy. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/interceptor_internal.h"
#include "daemon/limits.h"

#define OTHERS "other"

void interceptor_stats_add(struct interceptor_stats *sum, const struct interceptor_stats *stats)
{
	sum->asked += stats->asked;
	sum->allowed += stats->allowed;
	sum->denied += stats->denied;
	sum->transformed += stats->transformed;
	sum->failed += stats->failed;
	sum->timed_out += stats->timed_out;
	sum->invalid += stats->invalid;
	sum->cancelled += stats->cancelled;
	sum->waited += stats->waited;
	sum->waited_ms += stats->waited_ms;
	sum->warnings += stats->warnings;
	sum->told += stats->told;
	sum->untold += stats->untold;
	sum->waiting += stats->waiting;
	sum->in_flight += stats->in_flight;
	histogram_add(&sum->latency, &stats->latency);
}

static struct interceptor_total *find(const struct interceptors *interceptors, const char *task)
{
	struct interceptor_total *total;

	LIST_FOREACH(total, &interceptors->totals, entry)
	if (!strcmp(total->task, task))
		return total;
	return NULL;
}

int interceptor_total_get(struct interceptors *interceptors, const char *task,
			  struct interceptor_total **ret_total)
{
	struct interceptor_total *total = find(interceptors, task);

	if (!total && interceptors->total_count >= LIMIT_REASONS) {
		task = OTHERS;
		total = find(interceptors, task);
	}
	if (!total) {
		total = calloc(1, sizeof(*total));
		if (total)
			total->task = strdup(task);
		if (!total || !total->task) {
			free(total);
			return -ENOMEM;
		}
		LIST_INSERT_HEAD(&interceptors->totals, total, entry);
		interceptors->total_count++;
	}
	*ret_total = total;
	return 0;
}

void interceptor_totals_free(struct interceptors *interceptors)
{
	struct interceptor_total *total;

	while ((total = LIST_FIRST(&interceptors->totals))) {
		LIST_REMOVE(total, entry);
		free(total->task);
		free(total);
	}
}

void interceptors_visit(const struct interceptors *interceptors,
			void (*visit)(void *context, const char *task,
				      const struct interceptor_stats *stats),
			void *context)
{
	const struct interceptor_total *total;
	const struct interceptor *interceptor;

	LIST_FOREACH(total, &interceptors->totals, entry)
	{
		struct interceptor_stats sum = total->gone;

		TAILQ_FOREACH(interceptor, &interceptors->list, entry)
		{
			if (interceptor->total == total)
				interceptor_stats_add(&sum, &interceptor->stats);
		}
		visit(context, total->task, &sum);
	}
}
