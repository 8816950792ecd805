/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/accounts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>

#include <cmocka.h>

static const char *const names[] = {"t0", "t1", "t2"};
static const char *const output_names[] = {"o0", "o1", "o2"};

struct session *accounts_new(struct accounts accounts)
{
	struct session_config config = {
		.level = accounts.level,
		.start = {accounts.start, accounts.start},
		.tasks = {names, names},
		.task_count = {accounts.request_tasks, accounts.response_tasks},
		.output_tasks = output_names,
		.output_count = accounts.output_tasks,
	};
	struct session *session = NULL;

	assert_int_equal(session_new(&config, &session), SESSION_OK);
	return session;
}

struct session_state accounts_state(const struct session *session)
{
	struct session_state state;

	session_get(session, &state);
	return state;
}

void accounts_observe(struct session *session, enum session_track track, uint64_t runes)
{
	uint64_t received;

	assert_int_equal(session_observe(session, track, runes, &received), SESSION_OK);
}

void accounts_outcome(struct session *session, enum session_track track, int task, uint64_t start,
		      uint64_t end, enum session_outcome outcome)
{
	assert_int_equal(session_outcome(session, track, task, start, end, outcome), SESSION_OK);
}

void accounts_clear(struct session *session, uint64_t start, uint64_t end)
{
	uint64_t mark;

	accounts_outcome(session, SESSION_RESPONSE, 0, start, end, SESSION_CLEARED);
	assert_int_equal(session_advance(session, SESSION_RESPONSE, &mark), 1);
	assert_int_equal(mark, end);
}

void accounts_failed(struct session *session, enum session_result error, const char *reason)
{
	struct session_state state = accounts_state(session);
	uint64_t value = 77;

	assert_int_equal(state.end, SESSION_FAILED_END);
	assert_int_equal(state.error, error);
	assert_string_equal(session_reason(&state), reason);
	assert_false(state.track[SESSION_REQUEST].has_release);
	assert_false(state.track[SESSION_RESPONSE].has_release);
	assert_int_equal(session_advance(session, SESSION_RESPONSE, &value), 0);
	assert_int_equal(session_observe(session, SESSION_RESPONSE, 1, &value), SESSION_CLOSED);
	assert_int_equal(session_outcome(session, SESSION_RESPONSE, 0, 0, 1, SESSION_DENIED),
			 SESSION_CLOSED);
	assert_int_equal(session_output(session, 0, SESSION_DENIED), SESSION_CLOSED);
	assert_int_equal(session_finish(session), SESSION_CLOSED);
	assert_int_equal(session_end_of_payloads(session), SESSION_OK);
	assert_int_equal(value, 77);
	assert_int_equal(accounts_state(session).error, error);
	assert_true(session_free(session));
}

unsigned int accounts_draw(unsigned int *seed, unsigned int below)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (*seed >> 8) % below;
}

enum session_outcome accounts_draw_outcome(unsigned int *seed)
{
	unsigned int luck = accounts_draw(seed, 160);

	return luck < 2	   ? SESSION_DENIED
	       : luck < 4  ? SESSION_TRANSFORMED
	       : luck == 4 ? _SESSION_OUTCOME_MAX
			   : SESSION_CLEARED;
}
