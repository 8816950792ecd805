/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What accounting costs: an outcome and an advance of a track with four tasks, each task
 * clearing in turn, and observe with them as a stream does it. Prints one JSON object a line:
 * name, value, unit. Each figure is the best of several runs in processor time.
 *
 *   bench_session [session]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "bench/bench.h"
#include "core/session.h"

#define REPEATS 15u
#define PAIRS	(1u << 22)
#define SPAN	16u

static const char *const tasks[] = {"keys", "secrets", "moderation", "names"};

static struct session *make_session(void)
{
	const struct session_config config = {
		.tasks = {[SESSION_RESPONSE] = tasks},
		.task_count = {[SESSION_RESPONSE] = ARRAY_SIZE(tasks)},
	};
	struct session *session;

	if (session_new(&config, &session) != SESSION_OK)
		exit(1);
	return session;
}

static void must(bool held)
{
	if (held)
		return;
	fprintf(stderr, "bench_session: the session did not do what it was to\n");
	exit(1);
}

static void observe(struct session *session, uint64_t runes)
{
	uint64_t received;

	must(session_observe(session, SESSION_RESPONSE, runes, &received) == SESSION_OK);
}

/* Pairs of outcome and advance; with each round of the tasks the watermark moves once. */
static double run(bool observing)
{
	struct session *session = make_session();
	uint64_t at = 0, mark = 0, runes = PAIRS / ARRAY_SIZE(tasks) * SPAN;
	unsigned int moves = 0;
	double begin;

	if (!observing)
		observe(session, runes);
	begin = cpu_now();
	for (; at < runes; at += SPAN) {
		if (observing)
			observe(session, SPAN);
		for (int task = 0; task < (int)ARRAY_SIZE(tasks); task++) {
			must(session_outcome(session, SESSION_RESPONSE, task, at, at + SPAN,
					     SESSION_CLEARED) == SESSION_OK);
			moves += (unsigned int)session_advance(session, SESSION_RESPONSE, &mark);
		}
	}
	begin = cpu_now() - begin;
	must(moves == PAIRS / ARRAY_SIZE(tasks) && mark == runes);
	must(session_finish(session) == SESSION_OK);
	must(session_free(session));
	return begin;
}

static void measure(const char *name, bool observing)
{
	double best = run(observing);

	for (unsigned int i = 1; i < REPEATS; i++)
		best = MIN(best, run(observing));
	report(name, PAIRS / best / 1e6, "million/s");
}

int main(int argc, char **argv)
{
	if (argc > 2 || (argc == 2 && strcmp(argv[1], "session"))) {
		fprintf(stderr, "usage: bench_session [session]\n");
		return 2;
	}
	measure("session_outcome_advance_4_tasks", false);
	measure("session_observe_outcome_advance_4_tasks", true);
	return 0;
}
