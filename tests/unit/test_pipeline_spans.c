/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks of a pipeline that evaluate elsewhere: what is asked, and what each answer does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "unit/asking.h"
#include "unit/ws_script.h"

static void nothing_leaves_before_its_verdict(void **state)
{
	static const char data[] = "{\"t\":\"abcd\"}\n{\"t\":\"efgh\"}\n";
	struct asking asking;

	(void)state;
	asking_begin(&asking_lines, data, LEN(data), &asking);
	asking_feed(&asking, LEN(data));
	assert_int_equal(asking.fault, FAULT_NONE);
	assert_int_equal(asking.taken, LEN(data));
	assert_int_equal(pipeline_framed(asking.pipeline), LEN(data));
	assert_int_equal(pipeline_released(asking.pipeline), 0);
	assert_true(asking.count >= 4);
	/* The later ones first: nothing leaves before the first of all. */
	for (size_t i = asking.count - 1; i; i--) {
		asking_answer(&asking, i, &asking_allow);
		assert_int_equal(pipeline_released(asking.pipeline), 0);
	}
	asking_answer(&asking, 0, &asking_allow);
	assert_int_equal(pipeline_released(asking.pipeline), LEN(data));
	asking_done(&asking);
}

static void windows_reach_back_in_their_channel(void **state)
{
	static const char data[] = "{\"t\":\"abcd\"}\n{\"t\":\"efgh\"}\n";
	struct asking asking;
	bool seen = false;

	(void)state;
	asking_begin(&asking_lines, data, LEN(data), &asking);
	asking_run(&asking);
	assert_int_equal(asking.fault, FAULT_NONE);
	for (size_t i = 0; i < asking.count; i++) {
		const struct span_item *item = &asking.asked[i].work.item;

		assert_true(item->end > item->start || item->last);
		if (strcmp(asking.asked[i].text, "bcdefgh") || item->last)
			continue;
		seen = true;
		assert_int_equal(item->before, 3);
	}
	assert_true(seen);
	asking_done(&asking);
}

/* The strings of a unit that no extractor joins are one text, each on a line of its own. */
static void other_texts_of_a_unit_are_one(void **state)
{
	static const char data[] = "{\"a\":\"x\",\"b\":[\"y\",\"z\"]}\n{\"a\":\"w\"}\n";
	struct asking_config config = asking_lines;
	struct asking asking;

	(void)state;
	config.extract = (struct extract){.kind = EXTRACT_AUTO};
	config.spans = &asking_by_unit;
	asking_begin(&config, data, LEN(data), &asking);
	asking_run(&asking);
	/* And the end, which has no text. */
	assert_int_equal(asking.count, 3);
	assert_string_equal(asking.asked[0].text, "a\nx\nb\nyz");
	assert_string_equal(asking.asked[0].channel, "unit");
	assert_true(asking.asked[0].work.item.final);
	assert_string_equal(asking.asked[1].text, "a\nw");
	assert_int_equal(asking.asked[1].work.item.start, 5);
	assert_int_equal(asking.asked[1].work.item.end, 7);
	asking_done(&asking);
}

static void a_denial_ends_the_flow(void **state)
{
	static const char data[] = "{\"t\":\"abcd\"}\n{\"t\":\"efgh\"}\n";
	const struct pipeline_denial *denial;
	struct session_state session;
	struct asking asking;
	size_t last;

	(void)state;
	asking_begin(&asking_lines, data, LEN(data), &asking);
	asking_feed(&asking, LEN(data));
	last = asking.count - 1;
	asking_answer(&asking, last, &asking_deny);
	assert_int_equal(asking.fault, FAULT_BLOCKED);
	assert_int_equal(pipeline_released(asking.pipeline), 0);
	denial = pipeline_denial(asking.pipeline);
	assert_string_equal(denial->task, "judge");
	assert_string_equal(denial->reason, "bad_word");
	assert_int_equal(denial->start, asking.asked[last].work.item.start);
	assert_int_equal(denial->end, asking.asked[last].work.item.end);
	session_get(asking.session, &session);
	assert_int_equal(session.end, SESSION_DENIED_END);
	/* What comes later changes nothing any more. */
	asking_answer(&asking, 0, &asking_allow);
	assert_int_equal(asking.fault, FAULT_BLOCKED);
	assert_int_equal(pipeline_released(asking.pipeline), 0);
	asking_feed(&asking, 0);
	assert_int_equal(asking.fault, FAULT_BLOCKED);
	asking_done(&asking);
}

static void a_transformation_ends_it_rewritten_while_nothing_left(void **state)
{
	static const char data[] = "{\"t\":\"abcd\"}\n{\"t\":\"efgh\"}\n";
	struct session_state session;
	struct asking asking;

	(void)state;
	asking_begin(&asking_lines, data, LEN(data), &asking);
	asking_feed(&asking, LEN(data));
	asking_answer(&asking, 1, &asking_transform);
	assert_int_equal(asking.fault, FAULT_REWRITTEN);
	assert_non_null(pipeline_denial(asking.pipeline));
	session_get(asking.session, &session);
	assert_int_equal(session.end, SESSION_REWRITTEN_END);
	asking_done(&asking);

	/* What is cleared of a unit leaves with all of it, and not before. */
	asking_begin(&asking_lines, data, LEN(data), &asking);
	asking_feed(&asking, LEN("{\"t\":\"abcd\"}\n"));
	assert_true(asking.count > 1);
	asking_answer(&asking, 0, &asking_allow);
	session_get(asking.session, &session);
	assert_true(session.track[SESSION_RESPONSE].confirmed > 0);
	assert_int_equal(pipeline_released(asking.pipeline), 0);
	asking_answer(&asking, 1, &asking_transform);
	assert_int_equal(asking.fault, FAULT_REWRITTEN);
	asking_done(&asking);

	asking_begin(&asking_lines, data, LEN(data), &asking);
	asking_feed(&asking, LEN("{\"t\":\"abcd\"}\n"));
	asking_allow_all(&asking);
	assert_int_equal(pipeline_released(asking.pipeline), LEN("{\"t\":\"abcd\"}\n"));
	asking_feed(&asking, asking.len - asking.taken);
	asking_answer(&asking, asking.count - 1, &asking_transform);
	assert_int_equal(asking.fault, FAULT_ACCOUNTING);
	assert_null(pipeline_denial(asking.pipeline));
	session_get(asking.session, &session);
	assert_int_equal(session.error, SESSION_TRANSFORM_TOO_LATE);
	asking_done(&asking);
}

static void no_verdict_is_a_failure_with_its_reason(void **state)
{
	static const char data[] = "{\"t\":\"abcd\"}\n";
	static const struct {
		enum session_result failure;
		enum fault fault;
		const char *reason;
	} cases[] = {
		{SESSION_INTERCEPTOR_FAILED, FAULT_INTERCEPTOR_FAILED,
		 "host_error:interceptor_failed"},
		{SESSION_INTERCEPTOR_TIMEOUT, FAULT_INTERCEPTOR_TIMEOUT,
		 "host_error:interceptor_timeout"},
		{SESSION_VERDICT_INVALID, FAULT_VERDICT_INVALID, "host_error:verdict_invalid"},
	};
	struct session_state session;
	struct asking asking;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		asking_begin(&asking_lines, data, LEN(data), &asking);
		asking_feed(&asking, LEN(data));
		asking_fail(&asking, 0, cases[i].failure);
		assert_int_equal(asking.fault, cases[i].fault);
		assert_int_equal(pipeline_released(asking.pipeline), 0);
		session_get(asking.session, &session);
		assert_string_equal(session_reason(&session), cases[i].reason);
		asking_done(&asking);
	}
}

static void an_answer_that_nobody_asked_for_fails_closed(void **state)
{
	static const char data[] = "{\"t\":\"abcd\"}\n{\"t\":\"efgh\"}\n";
	struct asking asking;

	(void)state;
	asking_begin(&asking_lines, data, LEN(data), &asking);
	asking_feed(&asking, LEN(data));
	asking_answer(&asking, 1, &asking_allow);
	asking.asked[1].answered = false;
	asking_answer(&asking, 1, &asking_allow);
	assert_int_equal(asking.fault, FAULT_ACCOUNTING);
	assert_int_equal(pipeline_released(asking.pipeline), 0);
	asking_done(&asking);
}

/* A text that ends with the flow is asked about then, and the end waits. */
static void the_end_of_a_flow_waits(void **state)
{
	static const char data[] = "{\"t\":\"ab\"}\n";
	struct session_state session;
	struct asking asking;

	(void)state;
	asking_begin(&asking_lines, data, LEN(data), &asking);
	asking_feed(&asking, LEN(data));
	asking_allow_all(&asking);
	assert_int_equal(pipeline_released(asking.pipeline), 0);
	assert_false(pipeline_waits(asking.pipeline));
	asking_end(&asking);
	assert_int_equal(asking.fault, FAULT_NONE);
	assert_true(pipeline_waits(asking.pipeline));
	assert_string_equal(asking.asked[asking.count - 1].text, "ab");
	assert_true(asking.asked[asking.count - 1].work.item.final);
	asking_allow_all(&asking);
	assert_false(pipeline_waits(asking.pipeline));
	assert_int_equal(pipeline_released(asking.pipeline), LEN(data));
	(void)session_end_of_payloads(asking.session);
	assert_int_equal(session_finish(asking.session), SESSION_OK);
	session_get(asking.session, &session);
	assert_int_equal(session.end, SESSION_COMPLETE_END);
	asking_done(&asking);
}

/* Of so many units with that text each, one span of 4 runes after the other is asked about. */
static void bounds(const char *text, uint64_t max, enum fault fault)
{
	struct asking_config config = asking_lines;
	struct asking asking;
	char data[512];
	size_t len = 0;

	for (int i = 0; i < 24; i++)
		len += (size_t)snprintf(data + len, sizeof(data) - len, "{\"t\":\"%s\"}\n", text);
	config.max_pending_units = max;
	for (unsigned int seed = 0; seed < 50; seed++) {
		asking_run_random(&config, data, len, seed, &asking);
		assert_int_equal(asking.fault, fault);
		if (!fault)
			assert_int_equal(pipeline_released(asking.pipeline), len);
		asking_done(&asking);
	}
	asking_begin(&config, data, len, &asking);
	asking_run(&asking);
	assert_int_equal(asking.fault, fault);
	asking_done(&asking);
}

/* What waits for text that may never come is bounded, and when verdicts come is no matter. */
static void units_are_too_many_whenever_verdicts_come(void **state)
{
	(void)state;
	bounds("a", 3, FAULT_NONE);
	bounds("a", 2, FAULT_TOO_LARGE);
	bounds("ab", 1, FAULT_NONE);
	bounds("abc", 1, FAULT_NONE);
	bounds("abcdefghi", 1, FAULT_NONE);
	bounds("a", 1, FAULT_TOO_LARGE);
}

/* Frames of a WebSocket, one text over all of them. */
static void frames(const char *data, size_t len, enum fault fault)
{
	struct asking_config config = asking_responses;
	struct asking asking;

	config.spans = &asking_spans;
	config.extract = (struct extract){.kind = EXTRACT_RAW};
	config.websocket = true;
	config.max_pending_units = 1;
	for (unsigned int seed = 0; seed < 50; seed++) {
		asking_run_random(&config, data, len, seed, &asking);
		assert_int_equal(asking.fault, fault);
		asking_done(&asking);
	}
	asking_begin(&config, data, len, &asking);
	asking_run(&asking);
	assert_int_equal(asking.fault, fault);
	if (!fault)
		assert_int_equal(pipeline_released(asking.pipeline), len);
	asking_done(&asking);
}

/* A read may bring more units: what waits for text counts, not what waits for verdicts. */
static void a_read_may_bring_more_units(void **state)
{
	static const char one[] = WS_AGREES "\r\n\x81\4abcd\x81\1e";
	static const char waits[] = WS_AGREES "\r\n\x81\4abcd\x81\1e\x81\1f";
	static const char more[] = WS_AGREES "\r\n\x81\4abcd\x81\4efgh\x81\4ijkl\x81\1m";

	(void)state;
	frames(one, LEN(one), FAULT_NONE);
	frames(waits, LEN(waits), FAULT_TOO_LARGE);
	frames(more, LEN(more), FAULT_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_leaves_before_its_verdict),
		cmocka_unit_test(windows_reach_back_in_their_channel),
		cmocka_unit_test(other_texts_of_a_unit_are_one),
		cmocka_unit_test(a_denial_ends_the_flow),
		cmocka_unit_test(a_transformation_ends_it_rewritten_while_nothing_left),
		cmocka_unit_test(no_verdict_is_a_failure_with_its_reason),
		cmocka_unit_test(an_answer_that_nobody_asked_for_fails_closed),
		cmocka_unit_test(the_end_of_a_flow_waits),
		cmocka_unit_test(units_are_too_many_whenever_verdicts_come),
		cmocka_unit_test(a_read_may_bring_more_units),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
