/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watchers that evaluate elsewhere: what enforces nothing delays nothing, and the end of a
 * response waits for those of `output`. And what is asked of a message that is held whole.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "unit/asking.h"

#define LINES	"{\"t\":\"abcd\"}\n{\"t\":\"efgh\"}\n"
#define HEAD(n) "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: " #n "\r\n\r\n"
#define ONE	HEAD(4) "word"
#define TWO	HEAD(5) "other"
#define EVENTS                                                   \
	"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n" \
	"Transfer-Encoding: chunked\r\n\r\n"                     \
	"d\r\ndata: first\n\n\r\n"                               \
	"e\r\ndata: second\n\n\r\n"
#define LAST "0\r\n\r\n"

static struct asking_config lines_watched(void)
{
	struct asking_config config = asking_lines;

	config.warns = true;
	return config;
}

static void a_watcher_delays_nothing(void **state)
{
	const struct asking_config config = lines_watched();
	struct asking asking;

	(void)state;
	asking_begin(&config, LINES, LEN(LINES), &asking);
	asking_feed(&asking, LEN(LINES));
	assert_int_equal(asking.fault, FAULT_NONE);
	assert_int_equal(pipeline_released(asking.pipeline), LEN(LINES));
	assert_false(pipeline_waits(asking.pipeline));
	assert_true(pipeline_watches(asking.pipeline));
	assert_true(asking.open > 0);
	asking_end(&asking);
	assert_int_equal(asking.fault, FAULT_NONE);
	asking_allow_all(&asking);
	assert_int_equal(asking.fault, FAULT_NONE);
	assert_false(pipeline_watches(asking.pipeline));
	assert_int_equal(asking.found_count, 0);
	asking_done(&asking);
}

static void what_it_denies_is_found_once(void **state)
{
	const struct asking_config config = lines_watched();
	struct asking asking;

	(void)state;
	asking_begin(&config, LINES, LEN(LINES), &asking);
	asking_feed(&asking, LEN(LINES));
	assert_true(asking.count >= 2);
	asking_answer(&asking, 1, &asking_deny);
	assert_int_equal(asking.fault, FAULT_NONE);
	assert_int_equal(asking.found_count, 1);
	assert_ptr_equal(asking.found[0].task, &asking.task);
	assert_int_equal(asking.found[0].start, asking.asked[1].work.item.start);
	assert_int_equal(asking.found[0].end, asking.asked[1].work.item.end);
	assert_int_equal(asking.found[0].failure, SESSION_OK);
	assert_false(asking.found[0].unjudged);
	assert_string_equal(asking.found_reason[0], "bad_word");
	/* It rests now: nothing more is asked, and what was asked before is not heard. */
	asking_answer(&asking, 0, &asking_deny);
	assert_int_equal(asking.fault, FAULT_NONE);
	assert_int_equal(asking.found_count, 1);
	assert_false(pipeline_watches(asking.pipeline));
	assert_null(pipeline_denial(asking.pipeline));
	asking_done(&asking);
}

static void that_it_says_nothing_is_found_too(void **state)
{
	static const enum session_result failures[] = {
		SESSION_INTERCEPTOR_FAILED, SESSION_INTERCEPTOR_TIMEOUT, SESSION_VERDICT_INVALID};
	const struct asking_config config = lines_watched();
	struct asking asking;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(failures); i++) {
		asking_begin(&config, LINES, LEN(LINES), &asking);
		asking_feed(&asking, LEN(LINES));
		asking_fail(&asking, 0, failures[i]);
		assert_int_equal(asking.fault, FAULT_NONE);
		assert_int_equal(asking.found_count, 1);
		assert_int_equal(asking.found[0].failure, failures[i]);
		assert_null(pipeline_failure(asking.pipeline));
		assert_int_equal(pipeline_released(asking.pipeline), LEN(LINES));
		asking_done(&asking);
	}
}

/* Of a connection that is kept the verdicts of one message come while the next is under way. */
static void each_exchange_is_judged_for_itself(void **state)
{
	static const char data[] = ONE TWO;
	struct asking_config config = asking_responses;
	struct asking asking;
	size_t first;

	(void)state;
	config.warns = true;
	asking_begin(&config, data, LEN(data), &asking);
	asking_feed(&asking, LEN(ONE));
	first = asking.count;
	assert_int_equal(first, 2);
	asking_feed(&asking, LEN(TWO));
	assert_int_equal(asking.fault, FAULT_NONE);
	assert_int_equal(pipeline_released(asking.pipeline), LEN(data));
	assert_int_equal(asking.count, 4);
	assert_int_equal(asking.asked[0].work.exchange, 0);
	assert_int_equal(asking.asked[2].work.exchange, 1);
	asking_answer(&asking, 3, &asking_deny);
	asking_answer(&asking, 0, &asking_allow);
	asking_answer(&asking, 1, &asking_deny);
	assert_int_equal(asking.found_count, 2);
	assert_int_equal(asking.found[0].exchange, 1);
	assert_int_equal(asking.found[1].exchange, 0);
	/* Each counts from its own beginning. */
	assert_true(asking.found[0].end < 80 && asking.found[1].end < 80);
	assert_true(asking.found[0].start < asking.found[0].end);
	asking_answer(&asking, 2, &asking_deny);
	assert_int_equal(asking.found_count, 2);
	assert_false(pipeline_watches(asking.pipeline));
	asking_done(&asking);
}

/* No more is out at once than of one session, however many wait. */
static void so_many_are_out_over_all_exchanges(void **state)
{
	static const char data[] = ONE ONE ONE ONE;
	struct asking_config config = asking_responses;
	struct asking asking;

	(void)state;
	config.warns = true;
	asking_begin(&config, data, LEN(data), &asking);
	asking_feed(&asking, LEN(data));
	assert_int_equal(asking.taken, LEN(data));
	assert_int_equal(asking.open, asking_by_unit.in_flight);
	asking_answer(&asking, 0, &asking_allow);
	assert_int_equal(asking.open, asking_by_unit.in_flight);
	asking_allow_all(&asking);
	assert_int_equal(asking.count, 8);
	assert_false(pipeline_watches(asking.pipeline));
	asking_done(&asking);
}

static void one_that_is_too_far_behind_is_left(void **state)
{
	struct asking_config config = lines_watched();
	const size_t step = 4096, len = 2 * PIPELINE_BACKLOG_MAX;
	char *data = malloc(len);
	struct asking asking;
	size_t most = 0;

	(void)state;
	assert_non_null(data);
	memset(data, 'x', len);
	config.framing =
		(struct framing){.kind = FRAMING_SENTINEL, .sentinel = "\n", .sentinel_len = 1};
	config.extract = (struct extract){.kind = EXTRACT_RAW};
	for (size_t i = 127; i < len; i += 128)
		data[i] = '\n';
	asking_begin(&config, data, len, &asking);
	while (asking.taken < len) {
		asking_feed(&asking, step);
		assert_int_equal(asking.fault, FAULT_NONE);
		most = MAX(most, pipeline_memory(asking.pipeline));
	}
	assert_int_equal(pipeline_released(asking.pipeline), len);
	assert_int_equal(asking.found_count, 1);
	assert_true(asking.found[0].unjudged);
	assert_true(asking.found[0].start < asking.found[0].end);
	assert_true(most < 4 * PIPELINE_BACKLOG_MAX);
	/* What it had is free again, and what it says of it is not heard. */
	assert_true(pipeline_memory(asking.pipeline) < PIPELINE_BACKLOG_MAX / 2);
	asking_answer(&asking, 0, &asking_deny);
	assert_int_equal(asking.found_count, 1);
	asking_done(&asking);
	free(data);
}

/* A response that a task of `output` is asked about, and of it so many bytes. */
static void begin_output(struct asking *asking, size_t len)
{
	static const char data[] = EVENTS LAST;
	struct asking_config config = asking_responses;

	config.spans = &asking_spans;
	config.output = true;
	asking_begin(&config, data, LEN(data), asking);
	asking_feed(asking, len);
}

/* All of a response but its end leaves; its text is asked about whole, when it has ended. */
static void the_end_waits_for_the_output(void **state)
{
	struct asking asking;

	(void)state;
	begin_output(&asking, LEN(EVENTS));
	assert_int_equal(asking.fault, FAULT_NONE);
	assert_int_equal(asking.count, 0);
	assert_int_equal(pipeline_released(asking.pipeline), LEN(EVENTS));
	asking_feed(&asking, LEN(LAST));
	assert_int_equal(asking.count, 2);
	assert_non_null(strstr(asking.asked[0].text, "200 OK"));
	assert_string_equal(asking.asked[1].text, "firstsecond");
	assert_true(asking.asked[0].work.item.final && asking.asked[1].work.item.final);
	assert_true(asking.asked[0].work.task->output);
	assert_int_equal(pipeline_released(asking.pipeline), LEN(EVENTS));
	assert_int_equal(asking.ended_count, 0);
	assert_true(pipeline_waits(asking.pipeline));
	/* Nor does it leave when somebody else's watermark moves. */
	assert_int_equal(pipeline_advance(asking.pipeline), LEN(EVENTS));
	asking_answer(&asking, 1, &asking_allow);
	assert_int_equal(pipeline_released(asking.pipeline), LEN(EVENTS));
	asking_answer(&asking, 0, &asking_allow);
	assert_int_equal(asking.fault, FAULT_NONE);
	assert_int_equal(pipeline_released(asking.pipeline), LEN(EVENTS LAST));
	assert_int_equal(asking.ended_count, 1);
	assert_int_equal(asking.ended[0], SESSION_COMPLETE_END);
	asking_done(&asking);
}

static void an_output_that_is_denied_does_not_end(void **state)
{
	struct asking asking;

	(void)state;
	begin_output(&asking, LEN(EVENTS LAST));
	asking_answer(&asking, 1, &asking_deny);
	assert_int_equal(asking.fault, FAULT_OUTPUT_DENIED);
	assert_int_equal(pipeline_released(asking.pipeline), LEN(EVENTS));
	assert_string_equal(pipeline_denial(asking.pipeline)->task, "judge");
	assert_string_equal(pipeline_denial(asking.pipeline)->reason, "bad_word");
	assert_int_equal(asking.found_count, 1);
	exchanges_fail(asking.exchanges, SESSION_FRAMING_FAULT);
	assert_int_equal(asking.ended_count, 1);
	assert_int_equal(asking.ended[0], SESSION_DENIED_END);
	asking_done(&asking);
}

/* Of a response that has left nothing can be rewritten; without a verdict it does not end. */
static void an_output_without_verdict_does_not_end(void **state)
{
	struct asking asking;

	(void)state;
	begin_output(&asking, LEN(EVENTS LAST));
	asking_answer(&asking, 0, &asking_transform);
	assert_int_equal(asking.fault, FAULT_ACCOUNTING);
	assert_int_equal(pipeline_released(asking.pipeline), LEN(EVENTS));
	asking_done(&asking);

	begin_output(&asking, LEN(EVENTS LAST));
	asking_fail(&asking, 0, SESSION_INTERCEPTOR_TIMEOUT);
	assert_int_equal(asking.fault, FAULT_INTERCEPTOR_TIMEOUT);
	assert_int_equal(pipeline_released(asking.pipeline), LEN(EVENTS));
	assert_int_equal(asking.found_count, 1);
	assert_int_equal(asking.found[0].failure, SESSION_INTERCEPTOR_TIMEOUT);
	asking_done(&asking);
}

/* A flow that is one exchange: its units leave, and its end is judged. */
static void a_flow_is_one_output(void **state)
{
	struct asking_config config = asking_lines;
	struct asking asking;

	(void)state;
	config.output = true;
	asking_begin(&config, LINES, LEN(LINES), &asking);
	asking_feed(&asking, LEN(LINES));
	assert_int_equal(pipeline_released(asking.pipeline), LEN(LINES));
	assert_int_equal(asking.count, 0);
	asking_end(&asking);
	assert_int_equal(asking.fault, FAULT_NONE);
	assert_true(pipeline_waits(asking.pipeline));
	assert_int_equal(asking.count, 2);
	assert_string_equal(asking.asked[0].text, "t\nt");
	assert_string_equal(asking.asked[1].text, "abcdefgh");
	asking_answer(&asking, 1, &asking_allow);
	assert_int_equal(asking.fault, FAULT_NONE);
	assert_true(pipeline_waits(asking.pipeline));
	asking_answer(&asking, 0, &asking_deny);
	assert_int_equal(asking.fault, FAULT_OUTPUT_DENIED);
	asking_done(&asking);
}

/* At the level complete a text is asked about once, up to a window; then by spans. */
static void a_message_held_whole_is_asked_about_whole(void **state)
{
	static const struct span_config spans = {
		.cadence = SPAN_UNIT,
		.coverage = {.span = 40, .window = 200, .detectable = 100},
		.in_flight = 8,
	};
	static const char data[] = EVENTS LAST;
	static const struct span_config small = {
		.coverage = {.span = 10, .window = 60, .detectable = 51},
		.in_flight = 16,
	};
	struct asking_config config = asking_responses;
	struct asking asking;

	(void)state;
	config.spans = &spans;
	config.level = SESSION_COMPLETE;
	asking_begin(&config, data, LEN(data), &asking);
	asking_feed(&asking, LEN(EVENTS));
	assert_int_equal(asking.count, 0);
	asking_feed(&asking, LEN(LAST));
	assert_int_equal(asking.count, 2);
	assert_int_equal(asking.asked[0].work.item.before, 0);
	assert_string_equal(asking.asked[1].text, "firstsecond");
	assert_int_equal(pipeline_released(asking.pipeline), 0);
	asking_allow_all(&asking);
	assert_int_equal(pipeline_released(asking.pipeline), LEN(data));
	asking_done(&asking);

	config.spans = &small;
	asking_begin(&config, data, LEN(data), &asking);
	asking_feed(&asking, LEN(data));
	assert_true(asking.count > 1);
	assert_int_equal(asking.asked[0].work.item.runes, 60);
	assert_int_equal(asking.asked[1].work.item.runes, 60);
	assert_int_equal(asking.asked[1].work.item.before, 50);
	asking_allow_all(&asking);
	assert_int_equal(pipeline_released(asking.pipeline), LEN(data));
	asking_done(&asking);
}

/* Tasks that enforce nothing change nothing of what those that do let leave. */
static void a_watcher_beside_a_task(void **state)
{
	struct asking asking;
	struct asking_config plain = asking_lines;
	struct pipeline_task watcher = {.name = "watch", .spans = &asking_spans};
	struct pipeline_config config;
	struct pipeline_work work, watched = {0};
	size_t used, gating = 0;

	(void)state;
	asking_begin(&plain, LINES, LEN(LINES), &asking);
	pipeline_free(asking.pipeline);
	config = asking_configure(&plain, &asking);
	config.watchers = &watcher;
	config.watcher_count = 1;
	assert_int_equal(pipeline_new(&config, &asking.pipeline), 0);
	assert_int_equal(pipeline_take(asking.pipeline, (const uint8_t *)LINES, LEN(LINES), &used),
			 FAULT_NONE);
	while (pipeline_work(asking.pipeline, &work)) {
		if (work.task == &watcher) {
			assert_int_equal(work.number, 1);
			watched = work;
			continue;
		}
		gating++;
		assert_int_equal(work.number, 0);
		assert_int_equal(pipeline_released(asking.pipeline), 0);
	}
	assert_true(gating > 0 && watched.task);
	assert_int_equal(pipeline_verdict(asking.pipeline, &watched, SESSION_OK, &asking_deny),
			 FAULT_NONE);
	assert_int_equal(pipeline_released(asking.pipeline), 0);
	assert_int_equal(asking.found_count, 1);
	assert_true(pipeline_waits(asking.pipeline) || gating);
	asking_done(&asking);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_watcher_delays_nothing),
		cmocka_unit_test(what_it_denies_is_found_once),
		cmocka_unit_test(that_it_says_nothing_is_found_too),
		cmocka_unit_test(each_exchange_is_judged_for_itself),
		cmocka_unit_test(so_many_are_out_over_all_exchanges),
		cmocka_unit_test(one_that_is_too_far_behind_is_left),
		cmocka_unit_test(the_end_waits_for_the_output),
		cmocka_unit_test(an_output_that_is_denied_does_not_end),
		cmocka_unit_test(an_output_without_verdict_does_not_end),
		cmocka_unit_test(a_flow_is_one_output),
		cmocka_unit_test(a_message_held_whole_is_asked_about_whole),
		cmocka_unit_test(a_watcher_beside_a_task),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
