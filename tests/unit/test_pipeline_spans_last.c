/* SPDX-License-Identifier: Apache-2.0 */
/* The last that a task which evaluates elsewhere is asked about a response, and what is left. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "unit/asking.h"

#define CHUNK(text) "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"" text "\"}}]}\n\n"
#define FINISH	    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"length\"}]}\n\n"
#define DONE	    "data: [DONE]\n\n"
#define HEAD	    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
#define EARLY	    "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"

static struct asking_config events(enum extract_kind extract, const struct span_config *spans)
{
	return (struct asking_config){
		.framing = {.kind = FRAMING_SSE},
		.extract = {.kind = extract},
		.spans = spans,
	};
}

static struct asking_config responses(void)
{
	return (struct asking_config){
		.framing = {.kind = FRAMING_HTTP1},
		.extract = {.kind = EXTRACT_OPENAI_CHAT},
		.spans = &asking_by_unit,
	};
}

static const struct span_item *item_of(const struct asking *asking, size_t i)
{
	return &asking->asked[i].work.item;
}

/* Of all that were asked one is the last, and it was asked last. */
static size_t only_last(const struct asking *asking)
{
	assert_true(asking->count > 0);
	for (size_t i = 0; i < asking->count; i++) {
		assert_int_equal(item_of(asking, i)->last, i + 1 == asking->count);
		if (i + 1 < asking->count)
			assert_null(asking->asked[i].work.finish_reason);
	}
	return asking->count - 1;
}

static void the_end_is_said_once_more(void **state)
{
	static const char data[] = CHUNK("once") CHUNK(" more") FINISH DONE;
	const struct asking_config config = events(EXTRACT_OPENAI_CHAT, &asking_by_unit);
	struct asking asking;
	size_t last;

	(void)state;
	asking_begin(&config, data, LEN(data), &asking);
	asking_feed(&asking, LEN(data));
	asking_allow_all(&asking);
	assert_int_equal(pipeline_released(asking.pipeline), LEN(data));
	asking_end(&asking);
	assert_true(pipeline_waits(asking.pipeline));
	last = only_last(&asking);
	assert_string_equal(asking.asked[last].text, "once more");
	assert_string_equal(asking.asked[last].channel, "c0.content");
	assert_string_equal(asking.asked[last].work.finish_reason, "length");
	assert_int_equal(item_of(&asking, last)->before, 9);
	assert_int_equal(item_of(&asking, last)->start, item_of(&asking, last)->end);
	assert_true(item_of(&asking, last)->final);
	asking_answer(&asking, last, &asking_allow);
	assert_int_equal(asking.fault, FAULT_NONE);
	assert_false(pipeline_waits(asking.pipeline));
	assert_int_equal(asking.count, last + 1);
	asking_done(&asking);
}

static void what_waits_is_the_last_itself(void **state)
{
	static const char data[] = CHUNK("onc") FINISH;
	const struct asking_config config = events(EXTRACT_OPENAI_CHAT, &asking_spans);
	struct asking asking;
	size_t last;

	(void)state;
	asking_begin(&config, data, LEN(data), &asking);
	asking_run(&asking);
	assert_int_equal(asking.fault, FAULT_NONE);
	last = only_last(&asking);
	assert_string_equal(asking.asked[last].text, "onc");
	assert_int_equal(item_of(&asking, last)->before, 0);
	assert_string_equal(asking.asked[last].work.finish_reason, "length");
	asking_done(&asking);
}

/* What is no text of the response is not the last that is said of it. */
static void what_passes_is_not_the_last(void **state)
{
	static const char data[] = CHUNK("once") FINISH DONE;
	struct asking_config config = events(EXTRACT_OPENAI_CHAT, &asking_by_unit);
	const struct span_config many = {
		.cadence = SPAN_UNIT, .coverage = asking_by_unit.coverage, .in_flight = 64};
	struct asking asking;
	size_t used, last;

	(void)state;
	config.spans = &many;
	asking_begin(&config, data, LEN(data), &asking);
	/* Nothing is asked before all has come. */
	assert_int_equal(pipeline_take(asking.pipeline, asking.data, LEN(data), &used), 0);
	asking.taken = used;
	asking_end(&asking);
	assert_int_equal(asking.fault, FAULT_NONE);
	last = only_last(&asking);
	assert_string_equal(asking.asked[last - 1].channel, "unit");
	assert_string_equal(asking.asked[last].text, "once");
	assert_string_equal(asking.asked[last].work.finish_reason, "length");
	asking_run(&asking);
	assert_int_equal(asking.fault, FAULT_NONE);
	asking_done(&asking);
}

/* The end stays until the last verdict came, and all before it has left. */
static void the_end_waits_for_the_last(void **state)
{
	static const char data[] =
		"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
		"Transfer-Encoding: chunked\r\n\r\n3c\r\n" CHUNK("once") "\r\n0\r\n\r\n";
	struct asking_config config = responses();
	struct asking asking;

	(void)state;
	assert_int_equal(LEN(CHUNK("once")), 0x3c);
	for (int deferred = 0; deferred < 2; deferred++) {
		config.level = deferred ? SESSION_DEFERRED : SESSION_BLOCKING;
		asking_begin(&config, data, LEN(data), &asking);
		asking_feed(&asking, LEN(data) - LEN("0\r\n\r\n"));
		asking_allow_all(&asking);
		assert_int_equal(pipeline_released(asking.pipeline), LEN(data) - LEN("0\r\n\r\n"));
		asking_feed(&asking, LEN("0\r\n\r\n"));
		assert_true(item_of(&asking, asking.count - 1)->last);
		assert_int_equal(pipeline_released(asking.pipeline),
				 LEN(data) - (deferred ? 0 : LEN("0\r\n\r\n")));
		assert_int_equal(asking.ended_count, 0);
		asking_allow_all(&asking);
		assert_int_equal(pipeline_released(asking.pipeline), LEN(data));
		assert_int_equal(asking.ended[0], SESSION_COMPLETE_END);
		asking_done(&asking);
	}
}

/* What the last verdict says counts for the last rune, and what left is not recalled. */
static void the_last_verdict_is_one(void **state)
{
	static const char data[] = CHUNK("once") DONE;
	const struct asking_config config = events(EXTRACT_OPENAI_CHAT, &asking_by_unit);
	const struct pipeline_denial *denial;
	struct session_state session;
	struct asking asking;

	(void)state;
	for (int transforms = 0; transforms < 2; transforms++) {
		asking_begin(&config, data, LEN(data), &asking);
		asking_feed(&asking, LEN(data));
		asking_allow_all(&asking);
		asking_end(&asking);
		assert_null(asking.asked[only_last(&asking)].work.finish_reason);
		asking_answer(&asking, only_last(&asking),
			      transforms ? &asking_transform : &asking_deny);
		session_get(asking.session, &session);
		if (transforms) {
			assert_int_equal(asking.fault, FAULT_ACCOUNTING);
			assert_int_equal(session.error, SESSION_TRANSFORM_TOO_LATE);
		} else {
			denial = pipeline_denial(asking.pipeline);
			assert_int_equal(asking.fault, FAULT_BLOCKED);
			assert_int_equal(session.end, SESSION_DENIED_END);
			assert_int_equal(denial->end, item_of(&asking, asking.count - 1)->end);
			assert_int_equal(denial->start, denial->end - 1);
		}
		asking_done(&asking);
	}
	asking_begin(&config, data, LEN(data), &asking);
	asking_feed(&asking, LEN(data));
	asking_allow_all(&asking);
	asking_end(&asking);
	asking_fail(&asking, only_last(&asking), SESSION_INTERCEPTOR_TIMEOUT);
	assert_int_equal(asking.fault, FAULT_INTERCEPTOR_TIMEOUT);
	asking_done(&asking);
}

/* Where no text is left to see there is a last one all the same. */
static void it_may_be_without_text(void **state)
{
	static const char data[] = "{\"a\":\"x\"}\n";
	struct asking_config config = asking_lines;
	struct asking asking;
	size_t last;

	(void)state;
	config.extract = (struct extract){.kind = EXTRACT_AUTO};
	config.spans = &asking_by_unit;
	asking_begin(&config, data, LEN(data), &asking);
	asking_run(&asking);
	assert_int_equal(asking.fault, FAULT_NONE);
	last = only_last(&asking);
	assert_int_equal(last, 1);
	assert_null(item_of(&asking, last)->text);
	assert_int_equal(item_of(&asking, last)->before, 0);
	asking_done(&asking);
	/* And where there was none at all there is none. */
	asking_begin(&config, "", 0, &asking);
	asking_run(&asking);
	assert_int_equal(asking.fault, FAULT_NONE);
	assert_int_equal(asking.count, 0);
	asking_done(&asking);
}

static void requests_and_outputs_have_none(void **state)
{
	static const char data[] = "GET /?q=word HTTP/1.1\r\nHost: a\r\n\r\n";
	struct asking_config config = events(EXTRACT_OPENAI_CHAT, &asking_by_unit);
	static const char said[] = CHUNK("once") FINISH DONE;
	struct pipeline_work work;
	struct asking asking;

	(void)state;
	asking_begin(&asking_requests, data, LEN(data), &asking);
	asking_feed(&asking, LEN(data));
	assert_false(pipeline_left(asking.pipeline, 0, &work));
	asking_run(&asking);
	assert_int_equal(asking.fault, FAULT_NONE);
	for (size_t i = 0; i < asking.count; i++)
		assert_false(item_of(&asking, i)->last);
	asking_done(&asking);

	config.output = true;
	asking_begin(&config, said, LEN(said), &asking);
	asking_run(&asking);
	assert_true(asking.count > 0);
	for (size_t i = 0; i < asking.count; i++)
		assert_false(item_of(&asking, i)->last);
	asking_done(&asking);
}

/* An interim response is not the end of its exchange. */
static void each_exchange_has_one(void **state)
{
	static const char data[] = EARLY HEAD CHUNK("once") FINISH DONE;
	const struct asking_config config = responses();
	struct asking asking;

	(void)state;
	for (size_t cut = 1; cut < LEN(data); cut += 7) {
		asking_begin(&config, data, LEN(data), &asking);
		asking_feed(&asking, cut);
		asking_allow_all(&asking);
		asking_run(&asking);
		assert_int_equal(asking.fault, FAULT_NONE);
		assert_string_equal(asking.asked[only_last(&asking)].work.finish_reason, "length");
		assert_int_equal(pipeline_released(asking.pipeline), LEN(data));
		assert_int_equal(asking.ended[0], SESSION_COMPLETE_END);
		asking_done(&asking);
	}
}

#define EVENTS CHUNK("word") FINISH
#define COUNTED(len) \
	"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: " len "\r\n\r\n"

/* A watcher has it too, also where its session has ended by then. */
static void watchers_have_it(void **state)
{
	struct asking_config config = responses();
	struct asking asking;
	char data[1024];
	size_t count = 0;
	int len;

	(void)state;
	config.warns = true;
	len = snprintf(data, sizeof(data), COUNTED("%zu") EVENTS COUNTED("%zu") EVENTS, LEN(EVENTS),
		       LEN(EVENTS));
	asking_begin(&config, data, (size_t)len, &asking);
	asking_run(&asking);
	assert_int_equal(asking.fault, FAULT_NONE);
	for (size_t i = 0; i < asking.count; i++) {
		if (!item_of(&asking, i)->last)
			continue;
		assert_int_equal(asking.asked[i].work.exchange, count);
		assert_string_equal(asking.asked[i].work.finish_reason, "length");
		count++;
	}
	assert_int_equal(count, 2);
	assert_int_equal(asking.found_count, 0);
	asking_done(&asking);
}

/* Each provider has words of its own for why it has finished. */
static void every_provider_says_why(void **state)
{
	static const struct {
		enum extract_kind extract;
		const char *data, *reason;
	} rows[] = {
		{EXTRACT_OPENAI_CHAT, CHUNK("word") FINISH DONE, "length"},
		{EXTRACT_OPENAI_CHAT, CHUNK("word") DONE, NULL},
		{EXTRACT_ANTHROPIC,
		 "data: "
		 "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"text\":\"word\"}}\n\n"
		 "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"max_tokens\","
		 "\"stop_sequence\":null}}\n\ndata: {\"type\":\"message_stop\"}\n\n",
		 "max_tokens"},
		{EXTRACT_ANTHROPIC, "data: {\"type\":\"message\",\"stop_reason\":\"end_turn\"}\n\n",
		 "end_turn"},
		{EXTRACT_OLLAMA_CHAT,
		 "data: {\"message\":{\"content\":\"word\"}}\n\n"
		 "data: {\"done\":true,\"done_reason\":\"load\"}\n\n",
		 "load"},
		{EXTRACT_OPENAI_RESPONSES,
		 "data: "
		 "{\"type\":\"response.created\",\"response\":{\"status\":\"in_progress\"}}\n\n"
		 "data: {\"type\":\"response.incomplete\",\"response\":{\"status\":\"incomplete\","
		 "\"incomplete_details\":{\"reason\":\"max_output_tokens\"}}}\n\n",
		 "max_output_tokens"},
		{EXTRACT_OPENAI_RESPONSES,
		 "data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\","
		 "\"incomplete_details\":null}}\n\n",
		 "completed"},
		{EXTRACT_COHERE,
		 "data: "
		 "{\"type\":\"message-end\",\"delta\":{\"finish_reason\":\"MAX_TOKENS\"}}\n\n",
		 "MAX_TOKENS"},
		{EXTRACT_BEDROCK, "data: {\"messageStop\":{\"stopReason\":\"tool_use\"}}\n\n",
		 "tool_use"},
		{EXTRACT_BEDROCK, "data: {\"stopReason\":\"end_turn\"}\n\n", "end_turn"},
		{EXTRACT_GEMINI,
		 "data: {\"candidates\":[{\"index\":0,\"finishReason\":\"SAFETY\"}]}\n\n",
		 "SAFETY"},
		/* What is no word is not repeated to anybody. */
		{EXTRACT_OLLAMA_CHAT, "data: {\"done_reason\":\"a b\"}\n\n", NULL},
	};
	struct asking asking;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows) * 2; i++) {
		const enum extract_kind kind = i % 2 ? EXTRACT_AUTO : rows[i / 2].extract;
		const struct asking_config config = events(kind, &asking_by_unit);
		const char *reason;

		asking_begin(&config, rows[i / 2].data, strlen(rows[i / 2].data), &asking);
		asking_run(&asking);
		assert_int_equal(asking.fault, FAULT_NONE);
		reason = asking.asked[only_last(&asking)].work.finish_reason;
		if (rows[i / 2].reason)
			assert_string_equal(reason, rows[i / 2].reason);
		else
			assert_null(reason);
		asking_done(&asking);
	}
}

static void what_breaks_off_is_left(void **state)
{
	static const char data[] = HEAD CHUNK("once") CHUNK(" more") "data: {\"cho";
	struct asking_config config = responses();
	struct pipeline_work work;
	struct asking asking;

	(void)state;
	asking_begin(&config, data, LEN(data), &asking);
	assert_false(pipeline_left(asking.pipeline, 0, &work));
	asking_feed(&asking, LEN(data));
	asking_allow_all(&asking);
	assert_true(pipeline_left(asking.pipeline, 0, &work));
	assert_memory_equal(work.item.text, "once more", 9);
	assert_int_equal(work.item.len, 9);
	assert_int_equal(work.item.before, 9);
	assert_false(work.item.last);
	assert_null(work.finish_reason);
	assert_ptr_equal(work.task, &asking.task);
	assert_false(pipeline_left(asking.pipeline, 1, &work));
	/* Also once the fault is known. */
	exchanges_fail(asking.exchanges, SESSION_DISCONNECTED);
	asking_done(&asking);

	/* Of what no question had the beginning is known. */
	config.spans = &asking_spans;
	asking_begin(&config, data, LEN(data), &asking);
	asking_feed(&asking, LEN(data));
	asking_allow_all(&asking);
	assert_true(pipeline_left(asking.pipeline, 0, &work));
	assert_memory_equal(work.item.text, "ce more", 7);
	assert_int_equal(work.item.before, 6);
	assert_true(work.item.start < work.item.end);
	asking_done(&asking);
}

static void what_ended_leaves_nothing(void **state)
{
	static const char data[] = HEAD CHUNK("once") FINISH DONE;
	const struct asking_config config = responses();
	struct pipeline_work work;
	struct asking asking;

	(void)state;
	asking_begin(&config, data, LEN(data), &asking);
	asking_feed(&asking, LEN(data));
	asking_allow_all(&asking);
	assert_true(pipeline_left(asking.pipeline, 0, &work));
	asking_end(&asking);
	/* The last one is out, whatever comes of it. */
	assert_true(item_of(&asking, asking.count - 1)->last);
	assert_false(pipeline_left(asking.pipeline, 0, &work));
	asking_done(&asking);
}

#define CALL(text)                                                                  \
	"data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0," \
	"\"function\":{\"arguments\":\"" text "\"}}]}}]}\n\n"
#define CALLED \
	"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n"

/* A call is asked about once, when it is complete; what a window does not hold in windows. */
static void a_call_is_whole(void **state)
{
	static const char data[] = CALL("rm ") CALL("-r. ") CALL("f") CALLED CHUNK("so");
	struct asking_config config = events(EXTRACT_OPENAI_CHAT, &asking_by_unit);
	const struct span_config sentences = {
		.cadence = SPAN_SENTENCE, .coverage = asking_by_unit.coverage, .in_flight = 4};
	const struct span_config *const spans[] = {&asking_by_unit, &sentences, &asking_spans};
	struct asking asking;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(spans); i++) {
		size_t calls = 0;

		config.spans = spans[i];
		asking_begin(&config, data, LEN(data), &asking);
		asking_feed(&asking, LEN(data) - LEN(CALLED CHUNK("so")));
		asking_allow_all(&asking);
		assert_int_equal(pipeline_released(asking.pipeline), 0);
		asking_feed(&asking, LEN(CALLED CHUNK("so")));
		for (size_t k = 0; k < asking.count; k++) {
			if (strcmp(asking.asked[k].channel, "c0.tool0"))
				continue;
			calls++;
			if (spans[i] != &asking_spans)
				assert_string_equal(asking.asked[k].text, "rm -r. f");
			else
				assert_string_equal(asking.asked[k].text,
						    calls == 1 ? "rm -r. " : "m -r. f");
		}
		assert_int_equal(calls, spans[i] == &asking_spans ? 2 : 1);
		asking_allow_all(&asking);
		/* It leaves, and does not wait for the end of the stream. */
		assert_true(pipeline_released(asking.pipeline) >= LEN(data) - LEN(CHUNK("so")));
		asking_run(&asking);
		assert_int_equal(asking.fault, FAULT_NONE);
		(void)only_last(&asking);
		asking_done(&asking);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_end_is_said_once_more),
		cmocka_unit_test(what_waits_is_the_last_itself),
		cmocka_unit_test(what_passes_is_not_the_last),
		cmocka_unit_test(the_end_waits_for_the_last),
		cmocka_unit_test(the_last_verdict_is_one),
		cmocka_unit_test(it_may_be_without_text),
		cmocka_unit_test(requests_and_outputs_have_none),
		cmocka_unit_test(each_exchange_has_one),
		cmocka_unit_test(watchers_have_it),
		cmocka_unit_test(every_provider_says_why),
		cmocka_unit_test(what_breaks_off_is_left),
		cmocka_unit_test(what_ended_leaves_nothing),
		cmocka_unit_test(a_call_is_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
