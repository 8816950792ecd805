/* SPDX-License-Identifier: Apache-2.0 */
/* The tasks and watchers of a flow for tests, and what a session and a pipeline are told of them. */
#ifndef SLUICE_TESTS_UNIT_FLOW_TASKS_H
#define SLUICE_TESTS_UNIT_FLOW_TASKS_H

#include <stddef.h>

#include "core/pipeline.h"
#include "core/session.h"
#include "unit/flow.h"

/* What all runs of one configuration share: its tasks, then the watchers of both kinds. */
struct flow_tasks {
	const struct flow_config *config;
	struct terms *terms[3 * FLOW_TASKS_MAX]; /* each, or the regex, is NULL */
	struct regex *regexes[3 * FLOW_TASKS_MAX];
	struct pipeline_task tasks[3 * FLOW_TASKS_MAX];
	size_t count, watched, output;
};

struct flow_tasks flow_tasks_make(const struct flow_config *config);
void flow_tasks_done(struct flow_tasks *tasks);

struct session_config flow_tasks_session(const struct flow_tasks *tasks);
/* Without its sessions and observers; valid as long as the tasks. */
struct pipeline_config flow_tasks_pipeline(const struct flow_tasks *tasks);

#endif
