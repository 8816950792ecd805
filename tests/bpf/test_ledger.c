/* SPDX-License-Identifier: Apache-2.0 */
/* Ledgers: what a daemon counts of its sessions, and what its successor reads and settles. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "bpf/harness.h"

#define STREAM	 77u
#define TOLD_MAX 128u

/* A stream whose slots are taken, recorded as open. */
struct pair {
	struct sluice_open_stream open;
};

static void pair_open(struct harness *harness, struct pair *pair, uint64_t stream)
{
	size_t side;

	*pair = (struct pair){.open = {.origin = {.stream = stream}}};
	for (side = 0; side < 2; side++)
		assert_int_equal(kern_slot_take(harness->kern, &pair->open.slot[side],
						&pair->open.generation[side]),
				 0);
	assert_int_equal(kern_stream_record(harness->kern, stream, &pair->open), 0);
}

static void begin(struct harness *harness, const struct pair *pair, uint64_t session)
{
	kern_ledger_begin(harness->kern, pair->open.slot[0], pair->open.generation[0], session);
}

static void end(struct harness *harness, const struct pair *pair, uint64_t session)
{
	kern_ledger_end(harness->kern, pair->open.slot[1], pair->open.generation[1], session);
}

static void runes(struct harness *harness, const struct pair *pair, size_t side, uint64_t session,
		  uint32_t received, uint32_t confirmed)
{
	kern_ledger_runes(harness->kern, pair->open.slot[side], pair->open.generation[side],
			  session, received, confirmed);
}

static void bytes(struct harness *harness, const struct pair *pair, size_t side, uint64_t received,
		  uint64_t released)
{
	kern_ledger_received(harness->kern, pair->open.slot[side], pair->open.generation[side],
			     received);
	kern_ledger_released(harness->kern, pair->open.slot[side], pair->open.generation[side],
			     released);
}

/* What was told, in order. */
struct told {
	struct kern_left_session sessions[TOLD_MAX];
	uint64_t streams_of[TOLD_MAX];
	unsigned int count, streams;
	struct kern_left left; /* of the stream told of last */
	uint64_t stream;
	unsigned int refuse_at; /* the session that is refused; counted from 1, 0: none */
	bool refuse_stream;
	/* What is known to have been told of: the sessions below, and the stream. */
	uint64_t known_sessions;
	bool known_stream;
};

static bool is_told(void *context, uint64_t stream, const uint64_t *session)
{
	const struct told *told = context;

	assert_in_range(stream, STREAM, STREAM + 63);
	return session ? *session < told->known_sessions : told->known_stream;
}

static int tell_session(void *context, const struct kern_left *left,
			const struct kern_left_session *session)
{
	struct told *told = context;

	assert_true(told->count < TOLD_MAX);
	told->streams_of[told->count] = left->open->origin.stream;
	told->sessions[told->count++] = *session;
	return told->refuse_at == told->count ? -EIO : 0;
}

static int tell_stream(void *context, const struct kern_left *left)
{
	struct told *told = context;

	told->streams++;
	told->left = *left;
	told->stream = left->open->origin.stream;
	return told->refuse_stream ? -EIO : 0;
}

/* A successor's start, as far as it settles. */
static int succeed(struct harness *harness, struct told *told)
{
	const struct kern_settling settling = {is_told, tell_session, tell_stream, told};
	char error[HARNESS_ERROR];

	told->count = told->streams = 0;
	kern_close(harness->kern);
	harness->kern = NULL;
	assert_int_equal(harness_reopen(harness, error), 0);
	return kern_settle_left(harness->kern, &settling);
}

static void assert_track(const struct kern_left_track *track, uint64_t received, uint64_t confirmed)
{
	assert_true(track->known);
	assert_int_equal(track->received, received);
	assert_int_equal(track->confirmed, confirmed);
}

static void test_an_open_session_is_told_of_once(void **state)
{
	struct harness *harness = *state;
	struct told told = {0};
	struct pair pair;

	pair_open(harness, &pair, STREAM);
	begin(harness, &pair, 0);
	bytes(harness, &pair, 0, 120, 80);
	bytes(harness, &pair, 1, 64, 64);
	runes(harness, &pair, 0, 0, 33, 21);
	runes(harness, &pair, 1, 0, 0x7fffffff, 0x7fffffff);
	assert_int_equal(succeed(harness, &told), 0);
	assert_int_equal(told.count, 1);
	assert_int_equal(told.streams, 1);
	assert_int_equal(told.stream, STREAM);
	assert_int_equal(told.left.session_count, 1);
	assert_int_equal(told.sessions[0].number, 0);
	assert_track(&told.sessions[0].track[0], 33, 21);
	assert_track(&told.sessions[0].track[1], 0x7fffffff, 0x7fffffff);
	assert_int_equal(told.left.received[0], 120);
	assert_int_equal(told.left.released[0], 80);
	assert_int_equal(told.left.received[1], 64);
	assert_int_equal(told.left.released[1], 64);

	assert_int_equal(succeed(harness, &told), 0);
	assert_int_equal(told.count + told.streams, 0);
}

static void test_ended_sessions_are_not_told_of(void **state)
{
	struct harness *harness = *state;
	struct told told = {0};
	struct pair pair;
	uint64_t session;

	pair_open(harness, &pair, STREAM);
	for (session = 0; session < 9; session++) {
		begin(harness, &pair, session);
		runes(harness, &pair, 0, session, 10, 10);
		runes(harness, &pair, 1, session, 20, 20);
		end(harness, &pair, session);
	}
	assert_int_equal(succeed(harness, &told), 0);
	assert_int_equal(told.count, 0);
	assert_int_equal(told.streams, 1);

	/* The next one has not said anything yet: it does not begin with another's runes. */
	pair_open(harness, &pair, STREAM);
	for (session = 0; session < 9; session++) {
		begin(harness, &pair, session);
		runes(harness, &pair, 0, session, 10, 10);
		runes(harness, &pair, 1, session, 20, 20);
		end(harness, &pair, session);
	}
	begin(harness, &pair, 9);
	assert_int_equal(succeed(harness, &told), 0);
	assert_int_equal(told.count, 1);
	assert_int_equal(told.sessions[0].number, 9);
	assert_track(&told.sessions[0].track[0], 0, 0);
	assert_track(&told.sessions[0].track[1], 0, 0);
}

/* Requests that wait: the runes of the last ones are kept, of the response the oldest's alone. */
static void test_pipelined_sessions(void **state)
{
	struct harness *harness = *state;
	struct told told = {0};
	struct pair pair;
	uint64_t session;
	unsigned int i;

	pair_open(harness, &pair, STREAM);
	for (session = 0; session < SLUICE_SESSIONS_MAX; session++) {
		begin(harness, &pair, session);
		runes(harness, &pair, 0, session, 100 + (uint32_t)session, 50);
		if (session == 0)
			runes(harness, &pair, 1, 0, 7, 5);
	}
	assert_int_equal(succeed(harness, &told), 0);
	assert_int_equal(told.count, SLUICE_SESSIONS_MAX);
	assert_int_equal(told.left.session_count, SLUICE_SESSIONS_MAX);
	for (i = 0; i < told.count; i++) {
		const struct kern_left_session *one = &told.sessions[i];

		assert_int_equal(one->number, i);
		assert_int_equal(one->track[0].known,
				 i + SLUICE_LEDGER_RUNES >= SLUICE_SESSIONS_MAX);
		if (one->track[0].known)
			assert_track(&one->track[0], 100 + i, 50);
		assert_track(&one->track[1], i ? 0 : 7, i ? 0 : 5);
	}
}

/* Four requests, and a response under way. */
static void four_open(struct harness *harness, struct pair *pair)
{
	uint64_t session;

	pair_open(harness, pair, STREAM);
	for (session = 0; session < 4; session++) {
		begin(harness, pair, session);
		runes(harness, pair, 0, session, 9, 9);
	}
	runes(harness, pair, 1, 0, 7, 5);
}

/* A successor that stops leaves all of the stream to the next, which knows nothing of it. */
static void test_settling_that_stops(void **state)
{
	struct harness *harness = *state;
	struct told told = {.refuse_at = 3};
	struct pair pair;

	four_open(harness, &pair);
	assert_int_equal(succeed(harness, &told), -EIO);
	assert_int_equal(told.count, 3);
	assert_int_equal(told.streams, 0);
	told.refuse_at = 0;
	told.refuse_stream = true;
	assert_int_equal(succeed(harness, &told), -EIO);
	assert_int_equal(told.count, 4);
	assert_int_equal(told.streams, 1);
	told.refuse_stream = false;
	assert_int_equal(succeed(harness, &told), 0);
	assert_int_equal(told.count, 4);
	assert_track(&told.sessions[0].track[1], 7, 5);
	assert_int_equal(told.streams, 1);
	assert_int_equal(succeed(harness, &told), 0);
	assert_int_equal(told.count + told.streams, 0);
}

/* What was told of ends without another word, and stays ended. */
static void test_what_is_known(void **state)
{
	struct harness *harness = *state;
	struct told told = {.known_sessions = 2, .refuse_stream = true};
	struct pair pair;

	four_open(harness, &pair);
	assert_int_equal(succeed(harness, &told), -EIO);
	assert_int_equal(told.count, 2);
	assert_int_equal(told.left.first_session, 2);
	assert_int_equal(told.sessions[0].number, 2);
	assert_int_equal(told.sessions[1].number, 3);
	/* What was the oldest had runes of a response; these have not. */
	assert_track(&told.sessions[0].track[1], 0, 0);
	assert_track(&told.sessions[1].track[1], 0, 0);
	told.known_sessions = 0;
	assert_int_equal(succeed(harness, &told), -EIO);
	assert_int_equal(told.count, 2);
	told.known_sessions = 4;
	told.known_stream = true;
	assert_int_equal(succeed(harness, &told), 0);
	assert_int_equal(told.count + told.streams, 0);
	told = (struct told){0};
	assert_int_equal(succeed(harness, &told), 0);
	assert_int_equal(told.count + told.streams, 0);
}

static int tell_stream_once(void *context, const struct kern_left *left)
{
	(void)tell_stream(context, left);
	return -EIO;
}

/* Nothing new is told of before all that is known has ended: behind it, it would be forgotten. */
static void test_what_is_known_ends_first(void **state)
{
	struct harness *harness = *state;
	struct told told = {.known_sessions = 1};
	const struct kern_settling settling = {is_told, tell_session, tell_stream_once, &told};
	struct pair pair[8];
	char error[HARNESS_ERROR];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(pair); i++) {
		pair_open(harness, &pair[i], STREAM + i);
		begin(harness, &pair[i], 0);
	}
	kern_close(harness->kern);
	harness->kern = NULL;
	assert_int_equal(harness_reopen(harness, error), 0);
	assert_int_equal(kern_settle_left(harness->kern, &settling), -EIO);
	assert_int_equal(told.streams, 1);
	told.known_sessions = 0;
	assert_int_equal(succeed(harness, &told), 0);
	assert_int_equal(told.count, 0);
	assert_int_equal(told.streams, ARRAY_SIZE(pair));
}

static void test_every_stream_is_settled(void **state)
{
	struct harness *harness = *state;
	struct told told = {0};
	struct pair pair[20];
	uint64_t seen = 0;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(pair); i++) {
		pair_open(harness, &pair[i], STREAM + i);
		begin(harness, &pair[i], 0);
		runes(harness, &pair[i], 0, 0, i, i);
	}
	assert_int_equal(succeed(harness, &told), 0);
	assert_int_equal(told.count, ARRAY_SIZE(pair));
	assert_int_equal(told.streams, ARRAY_SIZE(pair));
	for (i = 0; i < told.count; i++) {
		assert_track(&told.sessions[i].track[0], told.streams_of[i] - STREAM,
			     told.streams_of[i] - STREAM);
		seen |= 1ull << (told.streams_of[i] - STREAM);
	}
	assert_int_equal(seen, (1u << ARRAY_SIZE(pair)) - 1);
}

/* A slot that went on to another flow keeps nothing of the one before, and is not written by it. */
static void test_another_generation(void **state)
{
	struct harness *harness = *state;
	struct pair before, after;
	struct told told = {0};
	uint32_t slot = 0;
	uint16_t generation;
	unsigned int i;

	pair_open(harness, &before, STREAM);
	begin(harness, &before, 0);
	bytes(harness, &before, 0, 120, 80);
	runes(harness, &before, 0, 0, 33, 21);
	kern_stream_forget(harness->kern, STREAM);
	kern_slot_give(harness->kern, before.open.slot[0]);
	kern_slot_give(harness->kern, before.open.slot[1]);
	/* Taken in the order they were given: the last ones come last. */
	for (i = 0; i < SLUICE_SLOTS && slot != before.open.slot[0]; i++)
		assert_int_equal(kern_slot_take(harness->kern, &slot, &generation), 0);
	assert_int_equal(slot, before.open.slot[0]);
	after = before;
	after.open.generation[0] = generation;
	assert_int_equal(
		kern_slot_take(harness->kern, &after.open.slot[1], &after.open.generation[1]), 0);
	assert_int_equal(kern_stream_record(harness->kern, STREAM, &after.open), 0);
	begin(harness, &after, 0);
	/* Those of the flow that is over. */
	bytes(harness, &before, 0, 500, 400);
	runes(harness, &before, 0, 0, 44, 44);
	begin(harness, &before, 1);
	end(harness, &before, 0);
	assert_int_equal(succeed(harness, &told), 0);
	assert_int_equal(told.count, 1);
	assert_track(&told.sessions[0].track[0], 0, 0);
	assert_int_equal(told.left.received[0], 0);
	assert_int_equal(told.left.released[0], 0);
}

/* A record whose slots are others' by now says nothing of bytes and sessions. */
static void test_a_record_without_its_slots(void **state)
{
	struct harness *harness = *state;
	struct told told = {0};
	struct pair pair;

	pair_open(harness, &pair, STREAM);
	begin(harness, &pair, 0);
	bytes(harness, &pair, 0, 120, 80);
	pair.open.generation[0]++;
	assert_int_equal(kern_stream_record(harness->kern, STREAM, &pair.open), 0);
	assert_int_equal(succeed(harness, &told), 0);
	assert_int_equal(told.count, 0);
	assert_int_equal(told.streams, 1);
	assert_int_equal(told.left.received[0], 0);

	pair_open(harness, &pair, STREAM);
	pair.open.slot[0] = SLUICE_SLOTS;
	pair.open.slot[1] = 0;
	assert_int_equal(kern_stream_record(harness->kern, STREAM, &pair.open), 0);
	assert_int_equal(succeed(harness, &told), 0);
	assert_int_equal(told.count, 0);
	assert_int_equal(told.streams, 1);
}

/* What root, or a fault, wrote into the pinned array cannot make a start go on for ever. */
static void test_counts_that_make_no_sense(void **state)
{
	struct harness *harness = *state;
	struct sluice_ledger ledger;
	struct told told = {0};
	struct pair pair;
	int ledgers;

	pair_open(harness, &pair, STREAM);
	ledgers = harness_map(harness, "ledgers");
	assert_int_equal(bpf_map_lookup_elem(ledgers, &pair.open.slot[0], &ledger), 0);
	assert_int_equal(ledger.generation, pair.open.generation[0]);
	ledger.sessions = UINT64_MAX;
	assert_int_equal(bpf_map_update_elem(ledgers, &pair.open.slot[0], &ledger, BPF_ANY), 0);
	assert_int_equal(succeed(harness, &told), 0);
	assert_int_equal(told.count, 0);
	assert_int_equal(told.streams, 1);

	/* More ended than began. */
	pair_open(harness, &pair, STREAM);
	begin(harness, &pair, 0);
	end(harness, &pair, 0);
	end(harness, &pair, 1);
	assert_int_equal(succeed(harness, &told), 0);
	assert_int_equal(told.count, 0);
	assert_int_equal(told.streams, 1);
	(void)close(ledgers);
}

#define LEDGER_TEST(f) cmocka_unit_test_setup_teardown(f, harness_setup_open, harness_teardown)

int main(void)
{
	const struct CMUnitTest ledger[] = {
		LEDGER_TEST(test_an_open_session_is_told_of_once),
		LEDGER_TEST(test_ended_sessions_are_not_told_of),
		LEDGER_TEST(test_pipelined_sessions),
		LEDGER_TEST(test_settling_that_stops),
		LEDGER_TEST(test_what_is_known),
		LEDGER_TEST(test_what_is_known_ends_first),
		LEDGER_TEST(test_every_stream_is_settled),
		LEDGER_TEST(test_another_generation),
		LEDGER_TEST(test_a_record_without_its_slots),
		LEDGER_TEST(test_counts_that_make_no_sense),
	};

	return harness_run(ledger);
}
