/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/flow_tasks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/regex.h"
#include "core/terms.h"

static const char *const task_names[3][FLOW_TASKS_MAX] = {
	{"t0", "t1", "t2"},
	{"w0", "w1", "w2"},
	{"o0", "o1", "o2"},
};

static size_t prepare_tasks(struct flow_tasks *prepared, size_t first, unsigned int kind,
			    const char *const terms[FLOW_TASKS_MAX][8], const unsigned int *fold)
{
	const struct flow_config *config = prepared->config;
	const struct regex_options options = {.max_runes = config->max_runes};
	struct regex_error error;
	size_t bad, i;

	for (i = 0; i < FLOW_TASKS_MAX && terms[i][0]; i++) {
		size_t n = 0;

		while (n < 8 && terms[i][n])
			n++;
		if (config->patterns & 1u << (kind * FLOW_TASKS_MAX + i))
			assert_int_equal(regex_new(terms[i], n, &options, &error,
						   &prepared->regexes[first + i]),
					 0);
		else
			assert_int_equal(
				terms_new(terms[i], n, fold[i], &bad, &prepared->terms[first + i]),
				0);
		prepared->tasks[first + i] = (struct pipeline_task){
			.name = task_names[kind][i],
			.matcher = {prepared->terms[first + i], prepared->regexes[first + i]},
			.output = kind == 2,
		};
	}
	return i;
}

struct flow_tasks flow_tasks_make(const struct flow_config *config)
{
	struct flow_tasks p = {.config = config};

	p.count = prepare_tasks(&p, 0, 0, config->terms, config->fold);
	p.watched = prepare_tasks(&p, p.count, 1, config->watched, config->watched_fold);
	p.output = prepare_tasks(&p, p.count + p.watched, 2, config->output, config->output_fold);
	return p;
}

void flow_tasks_done(struct flow_tasks *prepared)
{
	for (size_t i = 0; i < prepared->count + prepared->watched + prepared->output; i++) {
		terms_free(prepared->terms[i]);
		regex_free(prepared->regexes[i]);
	}
}

struct session_config flow_tasks_session(const struct flow_tasks *prepared)
{
	const struct flow_config *config = prepared->config;
	enum session_track track = config->request ? SESSION_REQUEST : SESSION_RESPONSE;
	struct session_config session = {
		.level = config->level,
		.output_tasks = task_names[2],
		.output_count = prepared->output,
	};

	session.start[track] = config->start;
	session.tasks[track] = task_names[0];
	session.task_count[track] = prepared->count;
	session.tasks[!track] = task_names[0];
	session.task_count[!track] = config->other_track;
	return session;
}

struct pipeline_config flow_tasks_pipeline(const struct flow_tasks *prepared)
{
	const struct flow_config *config = prepared->config;

	return (struct pipeline_config){
		.framing = config->framing,
		.extract = config->extract,
		.max_message = config->max_message ? config->max_message : 1 << 20,
		.max_pending_units = config->max_pending_units ? config->max_pending_units : 1024,
		.track = config->request ? SESSION_REQUEST : SESSION_RESPONSE,
		.release_opaque = config->release_opaque,
		.level = config->level,
		.tasks = prepared->tasks,
		.task_count = prepared->count,
		.watchers = prepared->tasks + prepared->count,
		.watcher_count = prepared->watched + prepared->output,
	};
}
