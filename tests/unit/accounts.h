/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions for tests of accounting: up to three tasks a track, named t0, t1, t2, and as many
 * of `output`, named o0, o1, o2. What fails to be made, or is refused, fails the test.
 */
#ifndef TESTS_UNIT_ACCOUNTS_H
#define TESTS_UNIT_ACCOUNTS_H

#include <stddef.h>
#include <stdint.h>

#include "core/session.h"

struct accounts {
	enum session_level level;
	uint64_t start; /* of both tracks */
	size_t request_tasks, response_tasks, output_tasks;
};

struct session *accounts_new(struct accounts accounts);
struct session_state accounts_state(const struct session *session);

void accounts_observe(struct session *session, enum session_track track, uint64_t runes);
/* An outcome that is taken. */
void accounts_outcome(struct session *session, enum session_track track, int task, uint64_t start,
		      uint64_t end, enum session_outcome outcome);
/* Task 0 of the response clears [start, end), and the watermark moves there. */
void accounts_clear(struct session *session, uint64_t start, uint64_t end);

/* The session failed so, nothing more can be done with it, and it is freed. */
void accounts_failed(struct session *session, enum session_result error, const char *reason);

/* A number under below, and an outcome that seldom is other than a clearance; seed moves on. */
unsigned int accounts_draw(unsigned int *seed, unsigned int below);
enum session_outcome accounts_draw_outcome(unsigned int *seed);

#endif
