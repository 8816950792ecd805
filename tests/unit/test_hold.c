/* SPDX-License-Identifier: Apache-2.0 */
/* The hold buffer against a flat copy of what it should hold, at its edges and at random. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/hold.h"
#include "unit/allocation.h"

#define PIECES 16

struct model {
	struct hold_pool pool;
	struct hold hold;
	uint64_t written, consumed; /* bytes of the pattern */
};

static uint8_t pattern(uint64_t i)
{
	return (uint8_t)(i * 2654435761u >> 13);
}

static uint64_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return *state >> 33;
}

/* Reads min(len, room) bytes of the pattern; returns how many. */
static size_t put(struct model *model, size_t len)
{
	uint8_t *room;
	size_t room_len;

	assert_int_equal(hold_reserve(&model->hold, &model->pool, &room, &room_len), 0);
	assert_true(room_len > 0);
	len = MIN(len, room_len);
	for (size_t i = 0; i < len; i++)
		room[i] = pattern(model->written + i);
	hold_commit(&model->hold, &model->pool, len);
	model->written += len;
	return len;
}

static void check(const struct model *model)
{
	struct iovec pieces[PIECES];
	int count = PIECES;
	uint64_t at = model->consumed;
	size_t total = hold_peek(&model->hold, SIZE_MAX, pieces, &count);

	assert_int_equal(model->hold.bytes, model->written - model->consumed);
	assert_int_equal(model->pool.bytes, model->hold.bytes);
	assert_int_equal(model->hold.head == NULL, model->hold.bytes == 0);
	assert_int_equal(model->hold.tail == NULL, model->hold.bytes == 0);
	for (int i = 0; i < count; i++) {
		assert_true(pieces[i].iov_len > 0);
		for (size_t j = 0; j < pieces[i].iov_len; j++, at++)
			assert_int_equal(((uint8_t *)pieces[i].iov_base)[j], pattern(at));
	}
	assert_int_equal(at - model->consumed, total);
}

static void consume(struct model *model, size_t len)
{
	hold_consume(&model->hold, &model->pool, len);
	model->consumed += len;
}

static void truncate_to(struct model *model, size_t len)
{
	hold_truncate(&model->hold, &model->pool, len);
	model->written = model->consumed + len;
}

static void done(struct model *model)
{
	hold_done(&model->hold, &model->pool);
	assert_int_equal(model->pool.bytes, 0);
	hold_pool_done(&model->pool);
}

/* Bytes that a chunk of a class holds: the first read is small, and one behind a full one is not. */
static size_t room_of(enum hold_class class)
{
	struct model model = {0};
	size_t room;

	hold_init(&model.hold, class);
	room = put(&model, SIZE_MAX);
	if (class != HOLD_SMALL)
		room = put(&model, SIZE_MAX);
	done(&model);
	return room;
}

static void classes_grow(void **unused)
{
	(void)unused;
	assert_true(room_of(HOLD_SMALL) < room_of(HOLD_MEDIUM));
	assert_true(room_of(HOLD_MEDIUM) < room_of(HOLD_LARGE));
}

static void empty_has_no_memory(void **unused)
{
	struct model model = {0};

	(void)unused;
	hold_init(&model.hold, HOLD_MEDIUM);
	assert_int_equal(put(&model, 0), 0);
	check(&model);
	assert_int_equal(model.pool.count[HOLD_SMALL], 1);
	put(&model, 10);
	consume(&model, 10);
	check(&model);
	assert_int_equal(model.pool.count[HOLD_SMALL], 1);
	done(&model);
}

static void a_full_read_asks_for_more(void **unused)
{
	struct model model = {0};
	uint8_t *room;
	size_t len;

	(void)unused;
	hold_init(&model.hold, HOLD_LARGE);
	assert_int_equal(put(&model, SIZE_MAX), room_of(HOLD_SMALL));
	consume(&model, room_of(HOLD_SMALL));
	assert_int_equal(hold_reserve(&model.hold, &model.pool, &room, &len), 0);
	assert_int_equal(len, room_of(HOLD_LARGE));
	hold_commit(&model.hold, &model.pool, 0);
	/* What came was little: little is asked for again. */
	put(&model, 1);
	consume(&model, 1);
	assert_int_equal(put(&model, SIZE_MAX), room_of(HOLD_SMALL));
	done(&model);
}

static void a_small_rest_leaves_its_large_chunk(void **unused)
{
	static const size_t rests[] = {1, 5000, 20000, 200000};

	(void)unused;
	for (size_t i = 0; i < ARRAY_SIZE(rests); i++) {
		struct model model = {0};

		hold_init(&model.hold, HOLD_LARGE);
		put(&model, SIZE_MAX);
		assert_int_equal(put(&model, SIZE_MAX), room_of(HOLD_LARGE));
		consume(&model, model.hold.bytes - rests[i]);
		assert_int_equal(model.pool.count[HOLD_LARGE], 0);
		hold_compact(&model.hold, &model.pool);
		assert_int_equal(model.pool.count[HOLD_LARGE], 1);
		check(&model);
		done(&model);
	}
}

static void a_large_rest_stays(void **unused)
{
	struct model model = {0};

	(void)unused;
	hold_init(&model.hold, HOLD_LARGE);
	put(&model, SIZE_MAX);
	put(&model, SIZE_MAX);
	consume(&model, room_of(HOLD_SMALL));
	hold_compact(&model.hold, &model.pool);
	check(&model);
	assert_int_equal(model.pool.count[HOLD_LARGE], 0);
	done(&model);
}

static void what_is_dropped_is_the_end(void **unused)
{
	struct model model = {0};
	size_t small = room_of(HOLD_SMALL), keep;

	(void)unused;
	hold_init(&model.hold, HOLD_MEDIUM);
	truncate_to(&model, 0);
	check(&model);
	for (keep = 0; keep <= small + 2; keep += small / 2 + 1) {
		put(&model, SIZE_MAX);
		put(&model, 5000);
		consume(&model, 7);
		truncate_to(&model, model.hold.bytes);
		check(&model);
		truncate_to(&model, keep);
		check(&model);
		/* What follows stands right behind what was kept. */
		put(&model, 100);
		check(&model);
		consume(&model, model.hold.bytes);
	}
	done(&model);
}

static void without_memory_nothing_is_lost(void **unused)
{
	struct model model = {0};
	uint8_t *room;
	size_t len;

	(void)unused;
	hold_init(&model.hold, HOLD_LARGE);
	allocation_fail_at(0);
	assert_int_equal(hold_reserve(&model.hold, &model.pool, &room, &len), -ENOMEM);
	assert_true(allocation_failed());
	check(&model);
	put(&model, SIZE_MAX);
	put(&model, SIZE_MAX);
	consume(&model, model.hold.bytes - 100000);
	allocation_fail_at(0);
	hold_compact(&model.hold, &model.pool);
	assert_true(allocation_failed());
	check(&model);
	done(&model);
}

static void random_traffic(void **unused)
{
	(void)unused;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct model model = {0};
		uint64_t state = seed;

		hold_init(&model.hold, seed % 2 ? HOLD_LARGE : HOLD_MEDIUM);
		for (int step = 0; step < 300; step++) {
			switch (next_random(&state) % 5) {
			case 0:
				put(&model, next_random(&state) % 6000);
				break;
			case 1:
				put(&model, next_random(&state) % 300000);
				break;
			case 2:
				if (model.hold.bytes)
					consume(&model, 1 + next_random(&state) % model.hold.bytes);
				break;
			case 3:
				if (step % 8 == 0)
					truncate_to(&model,
						    next_random(&state) % (model.hold.bytes + 1));
				break;
			default:
				hold_compact(&model.hold, &model.pool);
				break;
			}
			if (step % 16 == 0)
				check(&model);
		}
		check(&model);
		done(&model);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(classes_grow),
		cmocka_unit_test(empty_has_no_memory),
		cmocka_unit_test(a_full_read_asks_for_more),
		cmocka_unit_test(a_small_rest_leaves_its_large_chunk),
		cmocka_unit_test(a_large_rest_stays),
		cmocka_unit_test(what_is_dropped_is_the_end),
		cmocka_unit_test(without_memory_nothing_is_lost),
		cmocka_unit_test(random_traffic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
