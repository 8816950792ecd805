/* SPDX-License-Identifier: Apache-2.0 */
/* Accounting under offsets of every size: what an onlooker may rely on, whatever comes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <limits.h>

#include "base/macros.h"
#include "core/session.h"
#include "unit/accounts.h"

/* What an onlooker knows of a session: what it said of each call. */
struct onlooker {
	uint64_t received[_SESSION_TRACK_MAX];
	uint64_t frontier[_SESSION_TRACK_MAX][3];
	struct session_state last;
};

static void look(const struct session *session, struct onlooker *onlooker, uint64_t emitted)
{
	const struct session_state *last = &onlooker->last;
	struct session_state now = accounts_state(session);

	for (int t = 0; t < _SESSION_TRACK_MAX; t++) {
		const struct session_track_state *track = &now.track[t];
		uint64_t kept = session_persistable(&now, t, emitted);

		assert_true(track->start <= track->confirmed);
		assert_true(last->track[t].confirmed <= track->confirmed);
		assert_true(track->confirmed <= track->received);
		assert_int_equal(track->received, onlooker->received[t]);
		assert_true(track->received <= SESSION_RUNES_MAX);
		assert_int_equal(track->pending, track->received - track->confirmed);
		for (int k = 0; k < 3; k++)
			assert_true(track->confirmed <= onlooker->frontier[t][k]);
		assert_true(!track->has_release || track->release <= track->confirmed);
		assert_true(now.end == SESSION_OPEN || !track->has_release);
		assert_true(kept == track->start || (kept <= track->confirmed && kept <= emitted));
	}
	if (last->end != SESSION_OPEN) {
		assert_int_equal(now.end, last->end);
		assert_int_equal(now.error, last->error);
		assert_int_equal(now.ended_task, last->ended_task);
		assert_int_equal(now.ended_span_end, last->ended_span_end);
	}
	onlooker->last = now;
}

/* Offsets at every edge, near what the session has seen, and anywhere. */
static uint64_t draw_offset(unsigned int *seed, uint64_t near)
{
	static const uint64_t edges[] = {
		0,
		1,
		SESSION_RUNES_MAX - 1,
		SESSION_RUNES_MAX,
		SESSION_RUNES_MAX + 1ull,
		UINT32_MAX,
		1ull << 32,
		(1ull << 32) + 1,
		INT64_MAX,
		UINT64_MAX,
	};

	switch (accounts_draw(seed, 4)) {
	case 0:
		return edges[accounts_draw(seed, ARRAY_SIZE(edges))];
	case 1:
		return near;
	case 2:
		return near / (1 + accounts_draw(seed, 3));
	default:
		return accounts_draw(seed, 1u << 24) * 256ull;
	}
}

/* Returns whether a watermark moved. */
static bool hostile_step(struct session *session, struct onlooker *onlooker, unsigned int *seed)
{
	enum session_track t = accounts_draw(seed, 2) ? SESSION_RESPONSE : SESSION_REQUEST;
	int task = (int)accounts_draw(seed, 3);
	uint64_t start = draw_offset(seed, onlooker->frontier[t][task]);
	uint64_t end = draw_offset(seed, onlooker->received[t]), value;
	enum session_outcome outcome;
	enum session_result result;

	switch (accounts_draw(seed, 4)) {
	case 0:
		/* Most of those would end it at once. */
		if (accounts_draw(seed, 8))
			start = accounts_draw(seed, 1u << 12);
		if (session_observe(session, t, start, &value) == SESSION_OK)
			onlooker->received[t] = value;
		break;
	case 1:
		if (!session_advance(session, t, &value))
			break;
		assert_true(value > onlooker->last.track[t].confirmed);
		return true;
	case 2:
		if (accounts_draw(seed, 8))
			break;
		result = session_output(session, task - 1, accounts_draw_outcome(seed));
		assert_true(result != SESSION_OK || onlooker->last.end == SESSION_OPEN);
		break;
	default:
		if (accounts_draw(seed, 8))
			start = MIN(start, onlooker->frontier[t][task]);
		if (accounts_draw(seed, 8))
			end = MIN(end, onlooker->received[t]);
		outcome = accounts_draw_outcome(seed);
		result = session_outcome(session, t, task, start, end, outcome);
		if (result == SESSION_OK && outcome == SESSION_CLEARED)
			onlooker->frontier[t][task] = MAX(onlooker->frontier[t][task], end);
		break;
	}
	return false;
}

static void hostile_offsets_keep_the_invariants(void **state)
{
	static const uint64_t starts[] = {0, 1, 1u << 20, SESSION_RUNES_MAX - 1, SESSION_RUNES_MAX};
	unsigned int moves = 0;

	(void)state;
	for (unsigned int round = 0; round < 20000; round++) {
		unsigned int seed = round;
		struct accounts accounts = {
			.level = (enum session_level)accounts_draw(&seed, 3),
			.start = starts[accounts_draw(&seed, ARRAY_SIZE(starts))],
			.request_tasks = 3,
			.response_tasks = 3,
			.output_tasks = accounts_draw(&seed, 3),
		};
		struct session *session = accounts_new(accounts);
		struct onlooker onlooker = {.last = accounts_state(session)};

		for (int t = 0; t < _SESSION_TRACK_MAX; t++) {
			onlooker.received[t] = accounts.start;
			for (int k = 0; k < 3; k++)
				onlooker.frontier[t][k] = accounts.start;
		}
		if (accounts_draw(&seed, 8) == 0)
			assert_int_equal(session_end_of_payloads(session), SESSION_OK);
		for (unsigned int i = 0; i < 60; i++) {
			moves += hostile_step(session, &onlooker, &seed);
			look(session, &onlooker, draw_offset(&seed, onlooker.received[0]));
		}
		session_free(session);
	}
	assert_in_range(moves, 1000, UINT_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hostile_offsets_keep_the_invariants),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
