/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tasks that evaluate elsewhere are asked of bodies of all kinds: all of it, and the same
 * however it is cut and whenever they answer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "unit/asking.h"

/* The length is that of the text. */
#define BODY(type, n, text) \
	"HTTP/1.1 200 OK\r\nContent-Type: " type "\r\nContent-Length: " n "\r\n\r\n" text

static const char *const responses[] = {
	BODY("text/plain", "31", "say \"a\\u0062c\" and {\"k\":\"v\\n\"}."),
	BODY("application/json", "53",
	     "{\"m\":[\"a\",\"b\",{\"m\":\"c\"}],\"n\":1.5,\"j\":\"{\\\"x\\\":\\\"y\\\"}"
	     "\"}"),
	BODY("text/plain", "58",
	     "\\u0061 \"q\\u0062\": {\"k\":\"v\"} {\"k\":\"v\"} {\"k\":\"v\"} "
	     "{\"k\":\"v\"}."),
	BODY("application/json", "45",
	     "{\"m\":[\"\\ud83d\",{\"x\":\"mid\"},\"\\ude00\"],\"n\":\"z\"}"),
	BODY("application/json", "29", "[{\"a\":\"b\"},{\"a\":\"b\"},{\"c\":1}]"),
	BODY("application/x-www-form-urlencoded", "19", "a=b%63d&e=f+g&h=%7B"),
	BODY("application/x-ndjson", "71",
	     "{\"message\":{\"content\":\"a b\"},\"done\":false}\n"
	     "{\"message\":{\"content\":\"\"}}\n\n"),
	"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
	": note\nid: 7\nevent: x\ndata: plain\n\ndata: {\"type\":\"content_block_delta\","
	"\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"hi\"}}\n\n",
	"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	"Transfer-Encoding: chunked\r\n\r\n8;e=f\r\n{\"a\":\"b\"\r\n1\r\n}\r\n0\r\n"
	"T: trailer\r\n\r\n",
};

/* Whatever the text is read as: each rune is asked about, once, so that all of it leaves. */
static void every_way_of_reading_is_asked_about(void **state)
{
	struct asking_config config = asking_responses;
	struct asking asking;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(responses); i++) {
		for (unsigned int seed = 0; seed < 40; seed++) {
			config.spans = seed & 1 ? &asking_by_unit : &asking_spans;
			asking_run_random(&config, responses[i], strlen(responses[i]), seed,
					  &asking);
			if (asking.fault || pipeline_released(asking.pipeline) != asking.len)
				fail_msg("%s: fault %s, released %zu", responses[i],
					 fault_name(asking.fault),
					 (size_t)pipeline_released(asking.pipeline));
			asking_done(&asking);
		}
	}
}

/* Was the same asked in both, but for last items of no runes, which are a matter of time? */
static bool is_asked(const struct asking *asking, const struct asked *asked)
{
	const struct span_item *item = &asked->work.item;

	for (size_t i = 0; i < asking->count; i++) {
		const struct span_item *other = &asking->asked[i].work.item;

		if (item->start == other->start && item->end == other->end &&
		    item->before == other->before &&
		    strcmp(asked->text, asking->asked[i].text) == 0 &&
		    strcmp(asked->channel, asking->asked[i].channel) == 0)
			return true;
	}
	return item->start == item->end;
}

static void asked_the_same(const struct asking *a, const struct asking *b)
{
	assert_int_equal(a->fault, b->fault);
	assert_int_equal(pipeline_released(a->pipeline), pipeline_released(b->pipeline));
	for (size_t i = 0; i < a->count; i++)
		assert_true(is_asked(b, &a->asked[i]));
	for (size_t i = 0; i < b->count; i++)
		assert_true(is_asked(a, &b->asked[i]));
}

/* In two pieces, the second of which comes before or behind the verdicts of the first. */
static void cut_at(const struct asking_config *config, const struct asking *whole, size_t at)
{
	struct asking asking;

	for (int answered = 0; answered < 2; answered++) {
		asking_begin(config, whole->data, whole->len, &asking);
		asking_feed(&asking, at);
		if (answered && !asking.fault)
			asking_allow_all(&asking);
		asking_run(&asking);
		asked_the_same(whole, &asking);
		asking_done(&asking);
	}
}

static void how_it_is_cut_changes_no_question(void **state)
{
	static const struct span_config *const spans[] = {&asking_spans, &asking_by_unit};
	struct asking_config config = asking_responses;
	struct asking whole;

	(void)state;
	for (size_t n = 0; n < ARRAY_SIZE(responses) * ARRAY_SIZE(spans) * _SESSION_LEVEL_MAX;
	     n++) {
		const char *data = responses[n % ARRAY_SIZE(responses)];

		config.spans = spans[n / ARRAY_SIZE(responses) % ARRAY_SIZE(spans)];
		config.level = (enum session_level)(n / ARRAY_SIZE(responses) / ARRAY_SIZE(spans));
		asking_begin(&config, data, strlen(data), &whole);
		asking_run(&whole);
		assert_int_equal(whole.fault, FAULT_NONE);
		for (size_t at = 1; at < whole.len; at++)
			cut_at(&config, &whole, at);
		asking_done(&whole);
	}
}

/* It is read in two ways, by turns, whose numbers are those of the text and not of its cuts. */
static void a_long_form_is_numbered_by_its_text(void **state)
{
	static const size_t pieces[] = {1, 100, 1022, 1023, 1024, 1025, 2048, 2500, 2607};
	struct asking_config config = asking_responses;
	char data[3000];
	int head =
		snprintf(data, sizeof(data), BODY("application/x-www-form-urlencoded", "2608", ""));
	struct asking whole;
	uint64_t start = UINT64_MAX, end = 0;

	(void)state;
	/* What is decoded is shorter, and no piece ends where a triplet does. */
	for (size_t i = 0; i < 2608; i++)
		data[(size_t)head + i] = "a%62+%c3%A9%zz&%"[i % 16];
	asking_begin(&config, data, (size_t)head + 2608, &whole);
	asking_run(&whole);
	assert_int_equal(whole.fault, FAULT_NONE);
	for (size_t i = 0; i < whole.count; i++) {
		const struct span_item *item = &whole.asked[i].work.item;

		if (strcmp(whole.asked[i].channel, "raw") == 0)
			start = MIN(start, item->start);
		end = MAX(end, item->end);
	}
	assert_int_equal(end - start, 2608 + 2608 / 16 * 9);
	for (size_t i = 0; i < ARRAY_SIZE(pieces); i++)
		cut_at(&config, &whole, (size_t)head + pieces[i]);
	asking_done(&whole);
}

/* Feeds, and allows all that is asked, until that question is. */
static void run_until(struct asking *asking, size_t question)
{
	while (asking->count <= question) {
		for (size_t i = 0; i < asking->count; i++)
			if (!asking->asked[i].answered)
				asking_answer(asking, i, &asking_allow);
		if (asking->count > question)
			break;
		if (asking->taken < asking->len)
			asking_feed(asking, 1);
		else
			asking_end(asking);
		assert_int_equal(asking->fault, FAULT_NONE);
	}
}

/* Whichever question is not allowed: nothing leaves with it, and the session does not complete. */
static void each_question_may_be_the_one(void **state)
{
	static const struct verdict *const verdicts[] = {&asking_deny, &asking_transform};
	struct asking whole, asking;

	(void)state;
	for (size_t n = 0; n < ARRAY_SIZE(responses) * ARRAY_SIZE(verdicts); n++) {
		const char *data = responses[n / ARRAY_SIZE(verdicts)];
		const struct verdict *verdict = verdicts[n % ARRAY_SIZE(verdicts)];
		enum fault fault = verdict == &asking_deny ? FAULT_BLOCKED : FAULT_REWRITTEN;

		asking_begin(&asking_responses, data, strlen(data), &whole);
		asking_run(&whole);
		for (size_t bad = 0; bad < whole.count; bad++) {
			uint64_t before;
			bool late;

			asking_begin(&asking_responses, data, strlen(data), &asking);
			run_until(&asking, bad);
			before = pipeline_released(asking.pipeline);
			assert_true(pipeline_released_runes(asking.pipeline) <=
				    asking.asked[bad].work.item.start);
			asking_answer(&asking, bad, verdict);
			/* What has left before is past rewriting. */
			late = verdict == &asking_transform &&
			       pipeline_released_runes(asking.pipeline);
			assert_int_equal(asking.fault, late ? FAULT_ACCOUNTING : fault);
			assert_int_equal(pipeline_released(asking.pipeline), before);
			exchanges_fail(asking.exchanges, SESSION_DISCONNECTED);
			assert_int_equal(asking.ended_count, 1);
			assert_int_not_equal(asking.ended[0], SESSION_COMPLETE_END);
			asking_done(&asking);
		}
		asking_done(&whole);
	}
}

/* The stream goes away with questions out: the session fails, and nothing is heard any more. */
static void a_stream_may_go_with_questions_out(void **state)
{
	struct asking asking;

	(void)state;
	for (size_t n = 0; n < ARRAY_SIZE(responses); n++) {
		asking_begin(&asking_responses, responses[n], strlen(responses[n]), &asking);
		asking_feed(&asking, asking.len);
		if (!asking.open)
			asking_end(&asking);
		assert_true(asking.open > 0);
		exchanges_fail(asking.exchanges, SESSION_DISCONNECTED);
		assert_int_equal(asking.ended_count, 1);
		assert_int_equal(asking.ended[0], SESSION_FAILED_END);
		asking_answer(&asking, 0, &asking_allow);
		assert_int_equal(asking.fault, FAULT_ACCOUNTING);
		assert_int_equal(pipeline_released(asking.pipeline), 0);
		asking_done(&asking);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_way_of_reading_is_asked_about),
		cmocka_unit_test(how_it_is_cut_changes_no_question),
		cmocka_unit_test(a_long_form_is_numbered_by_its_text),
		cmocka_unit_test(each_question_may_be_the_one),
		cmocka_unit_test(a_stream_may_go_with_questions_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
