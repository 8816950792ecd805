/* SPDX-License-Identifier: Apache-2.0 */
/* Who asks an interceptor when, what is counted of it, and what is left where memory is not. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/interceptor_internal.h"
#include "daemon/limits.h"
#include "unit/allocation.h"

#define OUT_MAX 1100u

/* What went out, in order, while it has not come back. */
static struct question *out[OUT_MAX];
static size_t out_count, wakes;
static bool refuses;

int transfer_begin(struct question *question)
{
	if (refuses)
		return -EIO;
	assert_true(out_count < OUT_MAX);
	out[out_count++] = question;
	/* All that is known of it is which question it is of. */
	question->easy = (CURL *)question;
	return 0;
}

void transfer_end(struct interceptors *interceptors, CURL *easy)
{
	(void)interceptors;
	for (size_t i = 0; i < out_count; i++) {
		if ((CURL *)out[i] != easy)
			continue;
		(void)memmove(&out[i], &out[i + 1], (--out_count - i) * sizeof(out[0]));
		return;
	}
}

void transfer_wake(struct interceptors *interceptors)
{
	(void)interceptors;
	wakes++;
}

struct fixture {
	struct interceptors interceptors;
	struct interceptor *one, *two;
	struct asker a, b; /* of one */
	struct asker c;	   /* of two */
	struct interceptor_answer answer;
	size_t answers;
};

static const struct policy_interceptor few = {.url = "http://127.0.0.1:1/x", .concurrency = 1};
static const struct policy_interceptor lots = {.url = "http://127.0.0.1:2/x", .concurrency = 1024};

static const struct agent_context about = {
	.point = AGENT_INPUT,
	.agent = "agent",
	.session = "1.1",
	.content = (const uint8_t *)"text",
	.content_len = 4,
};

static void load(struct fixture *f, const struct policy_interceptor *one,
		 const struct policy_interceptor *two)
{
	assert_int_equal(interceptor_new(&f->interceptors, "one", one, &f->one), 0);
	assert_int_equal(interceptor_new(&f->interceptors, "two", two, &f->two), 0);
	asker_init(&f->a, f->one);
	asker_init(&f->b, f->one);
	asker_init(&f->c, f->two);
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	TAILQ_INIT(&f->interceptors.list);
	LIST_INIT(&f->interceptors.totals);
	out_count = wakes = 0;
	refuses = false;
	*state = f;
	return 0;
}

/* Nothing is out and nothing waits once all who asked are gone. */
static int teardown(void **state)
{
	struct fixture *f = *state;
	struct interceptor *interceptor;

	if (f->one) {
		asker_done(&f->a);
		asker_done(&f->b);
		asker_done(&f->c);
	}
	while ((interceptor = TAILQ_FIRST(&f->interceptors.list))) {
		struct interceptor_stats *s = &interceptor->stats;

		interceptor_untell(interceptor);
		if (s->waiting || s->in_flight || interceptor->notes ||
		    s->asked != s->allowed + s->denied + s->transformed + s->failed + s->timed_out +
					s->invalid + s->cancelled)
			return -1;
		interceptor_free(interceptor);
	}
	if (out_count || f->interceptors.in_flight)
		return -1;
	interceptor_totals_free(&f->interceptors);
	free(f);
	return 0;
}

static void on_answered(void *context, const struct interceptor_answer *answer)
{
	struct fixture *f = context;

	f->answer = *answer;
	f->answers++;
}

static void ask(struct fixture *f, struct asker *asker)
{
	assert_int_equal(interceptor_ask(asker, &about, on_answered, f), 0);
}

static void settle(struct fixture *f, struct question *question, const char *verdict)
{
	question->answer = (uint8_t *)strdup(verdict);
	assert_non_null(question->answer);
	question->answer_len = strlen(verdict);
	question_settle(question, SESSION_OK);
	interceptors_step(&f->interceptors);
}

#define ALLOW "{\"decision\":\"allow\"}"

static void test_askers_take_turns(void **state)
{
	struct fixture *f = *state;

	load(f, &few, &few);
	for (int i = 0; i < 3; i++)
		ask(f, &f->a);
	ask(f, &f->b);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(out_count, 1);
		assert_ptr_equal(out[0]->asker, i == 2 ? &f->b : &f->a);
		settle(f, out[0], ALLOW);
	}
	assert_int_equal(f->answers, 4);
	assert_int_equal(f->one->stats.waited, 3);
}

static void test_tasks_take_turns(void **state)
{
	struct fixture *f = *state;

	load(f, &lots, &lots);
	for (size_t i = 0; i < LIMIT_QUESTIONS + 2; i++)
		ask(f, &f->a);
	for (size_t i = 0; i < 2; i++)
		ask(f, &f->c);
	assert_int_equal(out_count, LIMIT_QUESTIONS);
	for (size_t i = 0; i < 4; i++) {
		settle(f, out[0], ALLOW);
		assert_int_equal(out_count, LIMIT_QUESTIONS);
		assert_ptr_equal(out[out_count - 1]->asker, i % 2 ? &f->c : &f->a);
	}
	assert_int_equal(f->two->stats.waiting, 0);
}

static void test_each_end_is_counted_once(void **state)
{
	static const struct {
		const char *verdict;
		enum session_result result;
		size_t count; /* where it is in the counts */
	} ends[] = {
		{ALLOW, SESSION_OK, offsetof(struct interceptor_stats, allowed)},
		{"{\"decision\":\"deny\"}", SESSION_OK, offsetof(struct interceptor_stats, denied)},
		{"{\"decision\":\"transform\",\"transform\":{\"path\":\"$target\"}}", SESSION_OK,
		 offsetof(struct interceptor_stats, transformed)},
		{"{}", SESSION_VERDICT_INVALID, offsetof(struct interceptor_stats, invalid)},
		{"", SESSION_VERDICT_INVALID, offsetof(struct interceptor_stats, invalid)},
		{NULL, SESSION_INTERCEPTOR_FAILED, offsetof(struct interceptor_stats, failed)},
		{NULL, SESSION_INTERCEPTOR_TIMEOUT, offsetof(struct interceptor_stats, timed_out)},
		{NULL, SESSION_VERDICT_INVALID, offsetof(struct interceptor_stats, invalid)},
	};
	struct fixture *f = *state;

	load(f, &lots, &lots);
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		const uint64_t *count =
			(const uint64_t *)(const void *)((const char *)&f->one->stats +
							 ends[i].count);
		uint64_t before = *count;

		ask(f, &f->a);
		if (ends[i].verdict)
			settle(f, out[0], ends[i].verdict);
		else
			question_settle(out[0], ends[i].result);
		assert_int_equal(f->answers, i + 1);
		assert_int_equal(f->answer.failure, ends[i].result);
		assert_int_equal(*count, before + 1);
	}
	/* The first that had no verdict is what is told. */
	assert_string_equal(f->a.error, "no verdict: bad_decision");
}

static void test_what_could_not_go_out_fails_from_the_loop(void **state)
{
	struct fixture *f = *state;

	load(f, &lots, &lots);
	refuses = true;
	ask(f, &f->a);
	ask(f, &f->b);
	assert_int_equal(f->answers, 0);
	assert_int_equal(wakes, 2);
	/* One whose asker is gone is nobody's, and not to be found any more. */
	asker_done(&f->b);
	question_settle(LIST_FIRST(&f->one->lost), SESSION_INTERCEPTOR_FAILED);
	assert_true(LIST_EMPTY(&f->one->lost));
	assert_int_equal(f->answers, 1);
	assert_int_equal(f->one->stats.failed, 1);
	assert_int_equal(f->one->stats.cancelled, 1);
}

static void test_who_is_gone_is_not_told(void **state)
{
	struct fixture *f = *state;

	load(f, &few, &few);
	ask(f, &f->a);
	ask(f, &f->a);
	ask(f, &f->b);
	asker_done(&f->a);
	assert_int_equal(f->one->stats.cancelled, 2);
	assert_int_equal(out_count, 0);
	assert_int_equal(wakes, 1);
	interceptors_step(&f->interceptors);
	assert_int_equal(out_count, 1);
	assert_ptr_equal(out[0]->asker, &f->b);
	assert_int_equal(f->answers, 0);
}

static void test_notes_go_last_and_give_way(void **state)
{
	struct fixture *f = *state;

	load(f, &few, &lots);
	for (size_t i = 0; i <= LIMIT_NOTES; i++)
		interceptor_tell(f->one, &about);
	assert_int_equal(f->one->stats.untold, 1);
	assert_int_equal(out_count, 0);
	interceptors_step(&f->interceptors);
	assert_int_equal(out_count, 1);
	/* It is answered, and what with is not read. */
	settle(f, out[0], "no verdict");
	assert_int_equal(f->one->stats.told, 1);
	assert_int_equal(out_count, 1);
	ask(f, &f->a);
	assert_int_equal(f->one->stats.untold, 2);
	assert_int_equal(out_count, 1);
	assert_ptr_equal(out[0]->asker, &f->a);
	assert_int_equal(f->one->stats.waited, 0);
	assert_int_equal(f->one->stats.asked, 1);
}

static void test_a_note_gives_way_to_another_task(void **state)
{
	struct fixture *f = *state;

	load(f, &lots, &lots);
	for (size_t i = 1; i < LIMIT_QUESTIONS; i++)
		ask(f, &f->a);
	interceptor_tell(f->one, &about);
	interceptors_step(&f->interceptors);
	assert_int_equal(out_count, LIMIT_QUESTIONS);
	ask(f, &f->c);
	assert_int_equal(out_count, LIMIT_QUESTIONS);
	assert_ptr_equal(out[out_count - 1]->asker, &f->c);
	assert_int_equal(f->one->stats.untold, 1);
}

static void test_without_memory_nothing_is_asked(void **state)
{
	struct fixture *f = *state;
	struct interceptor *none = NULL;
	bool failed = true;
	int r;

	load(f, &lots, &lots);
	for (unsigned long n = 0; failed; n++) {
		allocation_fail_at(n);
		r = interceptor_ask(&f->a, &about, on_answered, f);
		failed = allocation_failed();
		assert_int_equal(r, failed ? -ENOMEM : 0);
		assert_int_equal(f->one->stats.asked, failed ? 0 : 1);
		assert_int_equal(f->one->stats.waiting, 0);
	}
	failed = true;
	for (unsigned long n = 0; failed; n++) {
		uint64_t untold = f->one->stats.untold;

		allocation_fail_at(n);
		interceptor_tell(f->one, &about);
		failed = allocation_failed();
		assert_int_equal(f->one->stats.untold, untold + failed);
	}
	failed = true;
	for (unsigned long n = 0; failed; n++) {
		allocation_fail_at(n);
		r = interceptor_new(&f->interceptors, "three", &few, &none);
		failed = allocation_failed();
		assert_int_equal(r, failed ? -ENOMEM : 0);
		assert_int_equal(none != NULL, !failed);
	}
}

struct sums {
	size_t names;
	uint64_t asked, other;
};

static void add(void *context, const char *task, const struct interceptor_stats *stats)
{
	struct sums *sums = context;

	sums->names++;
	sums->asked += stats->asked;
	if (strcmp(task, "other") == 0)
		sums->other += stats->asked;
}

static void test_counts_outlive_a_policy(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < LIMIT_REASONS + 2; i++) {
		struct sums before = {0}, after = {0};
		struct interceptor *interceptor;
		struct asker asker = {0};
		char name[16];

		(void)snprintf(name, sizeof(name), "t%zu", i);
		assert_int_equal(interceptor_new(&f->interceptors, name, &few, &interceptor), 0);
		asker_init(&asker, interceptor);
		ask(f, &asker);
		asker_done(&asker);
		interceptors_visit(&f->interceptors, add, &before);
		interceptor_free(interceptor);
		interceptors_visit(&f->interceptors, add, &after);
		assert_memory_equal(&before, &after, sizeof(before));
		assert_int_equal(after.asked, i + 1);
		assert_int_equal(after.names, i < LIMIT_REASONS ? i + 1 : LIMIT_REASONS + 1);
		assert_int_equal(after.other, i < LIMIT_REASONS ? 0 : i + 1 - LIMIT_REASONS);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_askers_take_turns),
		TEST(test_tasks_take_turns),
		TEST(test_each_end_is_counted_once),
		TEST(test_what_could_not_go_out_fails_from_the_loop),
		TEST(test_who_is_gone_is_not_told),
		TEST(test_notes_go_last_and_give_way),
		TEST(test_a_note_gives_way_to_another_task),
		TEST(test_without_memory_nothing_is_asked),
		TEST(test_counts_outlive_a_policy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
