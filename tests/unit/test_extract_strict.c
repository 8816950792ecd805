/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks of chats under `strict`: what is represented passes, and nothing else; in every cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "unit/allocation.h"
#include "unit/flow.h"
#include "unit/sample.h"

#define CHUNK(choices)	  "{\"id\":\"i\",\"model\":\"m\",\"choices\":" choices "}"
#define CHOICE(members)	  CHUNK("[{" members "}]")
#define DELTA(members)	  CHOICE("\"index\":0,\"delta\":{" members "},\"finish_reason\":null")
#define CALL(members)	  DELTA("\"tool_calls\":[{" members "}]")
#define TEXT(text)	  DELTA("\"content\":\"" text "\"")
#define FUNCTION(members) CALL("\"index\":0,\"function\":{" members "}")
#define DONE		  "[DONE]"

static const struct sample events = {
	.config = {.kind = EXTRACT_OPENAI_CHAT, .strict = true},
	.flags = EXTRACTOR_EVENTS | EXTRACTOR_EVALUATE,
};

/* The data is one of a stream that is good around it. */
static enum fault fault_of(const char *data)
{
	const char *const *payloads = PAYLOADS(TEXT("a"), data, TEXT("b"), DONE);
	struct sample_result whole;

	sample_run(&events, payloads, 0, SIZE_MAX, &whole);
	sample_check(&events, payloads, whole.text, whole.fault, whole.payload);
	assert_int_equal(whole.payload, whole.fault ? 1 : 4);
	return whole.fault;
}

static void passes(const char *data)
{
	assert_string_equal(fault_name(fault_of(data)), "none");
}

static void refused(const char *data)
{
	assert_string_equal(fault_name(fault_of(data)), "unrepresented");
}

static void what_is_represented_passes(void **state)
{
	(void)state;
	passes(DELTA("\"role\":\"assistant\",\"content\":\"hi\""));
	passes(DELTA("\"role\":null,\"content\":null,\"tool_calls\":null"));
	passes(DELTA("\"tool_calls\":[]"));
	passes(CHOICE("\"index\":0,\"delta\":{},\"finish_reason\":\"stop\""));
	passes(CHOICE("\"delta\":null"));
	passes(CHOICE(""));
	passes(CALL("\"index\":0,\"id\":\"c\",\"type\":\"function\",\"function\":{\"name\":\"f\","
		    "\"arguments\":\"{\\\"a\\\":1}\"}"));
	passes(CALL("\"function\":{\"arguments\":null,\"name\":null},\"id\":null,\"type\":null,"
		    "\"index\":17"));
	passes(CALL("\"index\":1023,\"function\":null"));
	passes(CHUNK("[]"));
	passes(CHUNK("null"));
	passes("{}");
	passes(" {\"choices\" : [ { \"index\" : 0 , \"delta\" : { \"content\" : \"\" } } ] } ");
	passes(DELTA("\"\\u0063ontent\":\"\\ud83d\\ude00\""));
}

/* The members of the chunk itself are any: their text is evaluated as any text is. */
static void members_of_the_chunk_are_any(void **state)
{
	static const char other[] =
		"{\"object\":\"o\",\"created\":1,\"system_fingerprint\":null,\"service_tier\":"
		"\"t\",\"usage\":{\"choices\":[{\"index\":1},{\"index\":2}],\"total_tokens\":3},"
		"\"x\":[[\"y\"],true],\"choices\":[]}";

	(void)state;
	passes(other);
	passes("{\"delta\":{\"z\":1},\"index\":5,\"error\":{\"message\":\"m\"}}");
	sample_check(&events, PAYLOADS("{\"x\":\"seen\"}", DONE), "meta=x;x=seen", FAULT_NONE, 2);
}

static void a_chunk_is_an_object(void **state)
{
	(void)state;
	refused("[\"not an object\"]");
	refused("[]");
	refused("\"text\"");
	refused("1");
	refused("true");
	refused("null");
	refused(" [{}]");
	assert_int_equal(fault_of("{not JSON}"), FAULT_BAD_JSON);
	assert_int_equal(fault_of("{\"choices\":["), FAULT_BAD_JSON);
	assert_int_equal(fault_of("{} {}"), FAULT_BAD_JSON);
	assert_int_equal(fault_of(""), FAULT_BAD_JSON);
	refused("[DONE");
	refused("[DONE]]");
}

static void there_is_one_choice(void **state)
{
	(void)state;
	refused(CHUNK("[{\"index\":0},{\"index\":1}]"));
	refused(CHUNK("[{},{}]"));
	refused(CHUNK("[null]"));
	refused(CHUNK("[[]]"));
	refused(CHUNK("[\"a\"]"));
	refused(CHUNK("[1]"));
	refused(CHUNK("{}"));
	refused(CHUNK("\"\""));
	refused(CHUNK("0"));
	refused(CHUNK("false"));
	refused(CHOICE("\"index\":1"));
	refused(CHOICE("\"index\":-1"));
	refused(CHOICE("\"index\":-0"));
	refused(CHOICE("\"index\":0.0"));
	refused(CHOICE("\"index\":0e1"));
	refused(CHOICE("\"index\":10"));
	refused(CHOICE("\"index\":\"0\""));
	refused(CHOICE("\"index\":null"));
	refused(CHOICE("\"index\":false"));
	refused(CHOICE("\"index\":[0]"));
}

static void other_members_carry_nothing(void **state)
{
	static const char *const nothing[] = {"null", "\"\"", "[]", "{}", "[ ]", "{ }"};
	static const char *const something[] = {
		"\"a\"",	"1",	  "0",	       "true",	  "false",	 "[null]", "[[]]",
		"{\"b\":null}", "[\"\"]", "{\"\":[]}", "\"\\n\"", "\"\\ud800\"", "[1]",	   "[true]",
	};
	static const char *const places[] = {
		CHOICE("\"delta\":{},\"logprobs\":%s"),
		DELTA("\"content\":\"a\",\"refusal\":%s"),
		DELTA("\"function_call\":%s,\"content\":\"a\""),
		CALL("\"index\":0,\"x\":%s"),
		FUNCTION("\"strict\":%s,\"name\":\"n\""),
		CHOICE("\"text\":%s,\"index\":0"),
	};
	char data[256];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(nothing); j++) {
			snprintf(data, sizeof(data), places[i], nothing[j]);
			passes(data);
		}
		for (size_t j = 0; j < ARRAY_SIZE(something); j++) {
			snprintf(data, sizeof(data), places[i], something[j]);
			refused(data);
		}
	}
}

static void members_are_of_their_type(void **state)
{
	static const char *const strings[] = {
		CHOICE("\"finish_reason\":%s"),	 DELTA("\"role\":%s"),
		DELTA("\"content\":%s"),	 CALL("\"index\":0,\"id\":%s"),
		CALL("\"index\":0,\"type\":%s"), FUNCTION("\"name\":%s"),
		FUNCTION("\"arguments\":%s"),
	};
	static const char *const others[] = {
		"123", "true", "false", "[]", "{}", "{\"city\":\"SF\"}", "[\"a\"]"};
	char data[256];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(strings); i++)
		for (size_t j = 0; j < ARRAY_SIZE(others); j++) {
			snprintf(data, sizeof(data), strings[i], others[j]);
			refused(data);
		}
	refused(CHOICE("\"delta\":[]"));
	refused(CHOICE("\"delta\":\"\""));
	refused(CHOICE("\"delta\":0"));
	refused(DELTA("\"tool_calls\":{}"));
	refused(DELTA("\"tool_calls\":\"\""));
	refused(DELTA("\"tool_calls\":true"));
	refused(DELTA("\"tool_calls\":[null]"));
	refused(DELTA("\"tool_calls\":[[]]"));
	refused(DELTA("\"tool_calls\":[\"a\"]"));
	refused(CALL("\"index\":0,\"function\":[]"));
	refused(CALL("\"index\":0,\"function\":\"f\""));
}

static void a_call_has_an_index(void **state)
{
	(void)state;
	refused(CALL(""));
	refused(CALL("\"id\":\"c\",\"function\":{\"name\":\"a\",\"arguments\":\"{}\"}"));
	refused(CALL("\"index\":null"));
	refused(CALL("\"index\":\"0\""));
	refused(CALL("\"index\":true"));
	refused(CALL("\"index\":-1"));
	refused(CALL("\"index\":1.0"));
	refused(CALL("\"index\":1e2"));
	refused(CALL("\"index\":{}"));
	/* One that has it does not lend it. */
	refused(DELTA("\"tool_calls\":[{\"index\":0},{}]"));
	assert_int_equal(fault_of(CALL("\"index\":1024")), FAULT_TOO_LARGE);
	assert_int_equal(fault_of(CALL("\"index\":99999999999999999999")), FAULT_TOO_LARGE);
}

/* Two payloads, and the mark: which fault, in the second one. */
static void calls(const char *first, const char *second, enum fault fault)
{
	const char *const *payloads = PAYLOADS(first, second, DONE);
	struct sample_result whole;

	sample_run(&events, payloads, 0, SIZE_MAX, &whole);
	sample_check(&events, payloads, whole.text, fault, fault ? 1 : 3);
}

static void calls_say_the_same_of_themselves(void **state)
{
	(void)state;
	calls(CALL("\"index\":0,\"id\":\"a\",\"type\":\"t\""),
	      CALL("\"type\":\"t\",\"id\":\"a\",\"index\":0"), FAULT_NONE);
	calls(CALL("\"index\":0,\"id\":\"a\""), CALL("\"index\":1,\"id\":\"b\""), FAULT_NONE);
	calls(CALL("\"index\":1,\"id\":\"a\""), CALL("\"id\":\"b\",\"index\":0"), FAULT_NONE);
	calls(CALL("\"index\":0,\"id\":\"\""), CALL("\"index\":0,\"id\":\"\""), FAULT_NONE);
	calls(CALL("\"index\":0,\"id\":null"), CALL("\"index\":0,\"id\":\"a\""), FAULT_NONE);
	calls(CALL("\"index\":0,\"id\":\"a\""), CALL("\"index\":0,\"id\":null"), FAULT_NONE);
	calls(CALL("\"index\":0,\"id\":\"a\""), CALL("\"index\":0,\"id\":\"b\""),
	      FAULT_UNREPRESENTED);
	calls(CALL("\"index\":0,\"id\":\"a\""), CALL("\"index\":0,\"id\":\"ab\""),
	      FAULT_UNREPRESENTED);
	calls(CALL("\"index\":0,\"id\":\"a\""), CALL("\"index\":0,\"id\":\"\""),
	      FAULT_UNREPRESENTED);
	calls(CALL("\"index\":0,\"type\":\"a\""), CALL("\"type\":\"b\",\"index\":0"),
	      FAULT_UNREPRESENTED);
	calls(FUNCTION("\"name\":\"a\""), FUNCTION("\"name\":\"b\""), FAULT_UNREPRESENTED);
	calls(FUNCTION("\"name\":\"\\ud83d\\ude00\""), FUNCTION("\"name\":\"\\ud83d\\ude01\""),
	      FAULT_UNREPRESENTED);
	calls(FUNCTION("\"name\":\"a\""), FUNCTION("\"name\":\"a\",\"arguments\":\"b\""),
	      FAULT_NONE);
	calls(FUNCTION("\"arguments\":\"a\""), FUNCTION("\"arguments\":\"b\""), FAULT_NONE);
}

static void words_of_calls_are_bounded(void **state)
{
	static const char before[] =
		"{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"",
			  after[] = "\"}]}}]}";
	char data[sizeof(before) + STRICT_WORD_MAX + 1 + sizeof(after)];

	(void)state;
	for (size_t len = STRICT_WORD_MAX; len <= STRICT_WORD_MAX + 1; len++) {
		struct sample_result result;

		memcpy(data, before, sizeof(before) - 1);
		memset(data + sizeof(before) - 1, 'a', len);
		memcpy(data + sizeof(before) - 1 + len, after, sizeof(after));
		for (size_t size = 1; size < 2000; size += 37) {
			sample_run(&events, PAYLOADS(data, DONE), 0, size, &result);
			assert_int_equal(result.fault,
					 len > STRICT_WORD_MAX ? FAULT_TOO_LARGE : FAULT_NONE);
		}
	}
}

static void ends(const char *const *payloads, enum fault fault, size_t payload)
{
	struct sample_result whole;

	sample_run(&events, payloads, 0, SIZE_MAX, &whole);
	sample_check(&events, payloads, whole.text, fault, payload);
}

static void a_stream_has_chunks_and_then_its_mark(void **state)
{
	(void)state;
	ends(PAYLOADS(TEXT("a"), DONE), FAULT_NONE, 2);
	ends(PAYLOADS("{}", DONE), FAULT_NONE, 2);
	ends(PAYLOADS(DONE), FAULT_PROTOCOL, 0);
	ends(PAYLOADS(TEXT("a"), DONE, TEXT("b")), FAULT_PROTOCOL, 2);
	ends(PAYLOADS(TEXT("a"), DONE, DONE), FAULT_PROTOCOL, 2);
	ends(PAYLOADS(TEXT("a")), FAULT_TRUNCATED, 1);
	ends(PAYLOADS(TEXT("a"), CHOICE("\"finish_reason\":\"stop\"")), FAULT_TRUNCATED, 2);
	ends((const char *const[]){NULL}, FAULT_TRUNCATED, 0);
}

/* Lines, and messages of their own, have no mark; what they hold has the same form. */
static void other_framings_have_the_form_alone(void **state)
{
	struct sample messages = events;

	(void)state;
	messages.flags = EXTRACTOR_MESSAGES | EXTRACTOR_EVALUATE;
	sample_check(&messages, PAYLOADS("{\"x\":\"seen\"}"), "meta=x;x=seen", FAULT_NONE, 1);
	sample_check(&messages, PAYLOADS("{}", CHUNK("[{},{}]")), "", FAULT_UNREPRESENTED, 1);
	messages.flags = EXTRACTOR_JSON | EXTRACTOR_EVALUATE;
	sample_check(&messages, PAYLOADS("{}", CHUNK("[{},{}]")), "", FAULT_UNREPRESENTED, 1);
}

/* Without it, and of documents that are no chat, all of this is any text. */
static void only_where_it_is_asked_for(void **state)
{
	static const char *const data = "{\"choices\":[{\"index\":3},{\"x\":\"y\"}]}";
	struct sample loose = events;

	(void)state;
	loose.config.strict = false;
	sample_check(&loose, PAYLOADS(data), "meta=choicesindex3x;choices.x=y", FAULT_NONE, 1);
	loose.config = (struct extract){.kind = EXTRACT_AUTO, .strict = true};
	sample_check(&loose, PAYLOADS(data), "meta=choicesindex3x;choices.x=y", FAULT_NONE, 1);
}

#define EVENT(data) "data: " data "\n\n"

static const struct flow_config flows = {
	.framing = {.kind = FRAMING_SSE},
	.extract = {.kind = EXTRACT_OPENAI_CHAT, .strict = true},
	.terms = {{"bomb"}},
};

static void event_streams_of_their_own(void **state)
{
	(void)state;
	flow_clean(&flows,
		   ": hello\n\n" EVENT(TEXT("a")) "event: x\nid: 1\n\n" EVENT(DONE) ":\n\n");
	flow_ends(&flows, EVENT(TEXT("a")) EVENT(TEXT("c")), FAULT_TRUNCATED,
		  2 * strlen(EVENT(TEXT("a"))));
	flow_ends(&flows, EVENT(TEXT("a")) EVENT(CHUNK("[{},{}]")) EVENT(DONE), FAULT_UNREPRESENTED,
		  strlen(EVENT(TEXT("a"))));
	flow_ends(&flows, EVENT(TEXT("a")) "data:\n\n" EVENT(DONE), FAULT_BAD_JSON,
		  strlen(EVENT(TEXT("a"))));
	flow_ends(&flows, EVENT(TEXT("a bomb")) EVENT(DONE), FAULT_BLOCKED, 0);
}

/* What is the same as in the chunk before is passed over, and the rest is not. */
static void heads_that_are_passed_over(void **state)
{
	struct flow_config unseen = flows;
	struct flow flow;

	(void)state;
	unseen.no_text = true;
	flow_run_to(&unseen, EVENT(TEXT("a")) EVENT(TEXT("c")) EVENT(CHUNK("[]")) EVENT(DONE),
		    FAULT_NONE,
		    strlen(EVENT(TEXT("a")) EVENT(TEXT("c")) EVENT(CHUNK("[]")) EVENT(DONE)),
		    &flow);
	flow_done(&flow);
	flow_ends(&unseen, EVENT(TEXT("a")) EVENT(TEXT("c")) EVENT(CHUNK("[{},{}]")),
		  FAULT_UNREPRESENTED, strlen(EVENT(TEXT("a")) EVENT(TEXT("c"))));
	flow_ends(&unseen, EVENT(TEXT("a")) EVENT(DELTA("\"x\":1")), FAULT_UNREPRESENTED,
		  strlen(EVENT(TEXT("a"))));
}

#define HEAD "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"

static const struct flow_config bodies = {
	.framing = {.kind = FRAMING_HTTP1, .inner = HTTP1_INNER_MEDIA},
	.extract = {.kind = EXTRACT_OPENAI_CHAT, .strict = true},
	.terms = {{"bomb"}},
	.requests = {{0}},
	.request_count = 1,
};

static void bodies_of_http(void **state)
{
	(void)state;
	flow_clean(&bodies, HEAD "\r\n" EVENT(TEXT("a")) EVENT(DONE));
	flow_ends(&bodies, HEAD "\r\n" EVENT(TEXT("a")) EVENT(DELTA("\"x\":1")),
		  FAULT_UNREPRESENTED, strlen(HEAD "\r\n" EVENT(TEXT("a"))));
	flow_ends(&bodies, HEAD "\r\n" EVENT(TEXT("a")), FAULT_TRUNCATED,
		  strlen(HEAD "\r\n" EVENT(TEXT("a"))));
	flow_ends(&bodies, HEAD "\r\n" EVENT(DONE), FAULT_PROTOCOL, strlen(HEAD "\r\n"));
	flow_ends(&bodies, HEAD "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", FAULT_TRUNCATED,
		  strlen(HEAD "Transfer-Encoding: chunked\r\n\r\n"));
	/* A response that has no body at all promised no chunks. */
	flow_clean(&bodies, HEAD "Content-Length: 0\r\n\r\n");
	/* One that is no stream has no chunks. */
	flow_clean(&bodies, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
			    "Content-Length: 26\r\n\r\n{\"choices\":[{},{\"x\":\"y\"}]}");
	flow_clean(&bodies, "HTTP/1.1 204 No Content\r\n\r\n");
}

/* Some readers take every event for a chunk, and some those alone that have no name. */
static void events_have_no_name_of_their_own(void **state)
{
	(void)state;
	flow_clean(&flows, "event: message\n" EVENT(TEXT("a")) EVENT(DONE));
	flow_clean(&flows, "event:\n" EVENT(TEXT("a")) "event\n" EVENT(DONE));
	flow_ends(&flows, EVENT(TEXT("a")) "event: x\n" EVENT(TEXT("b")) EVENT(DONE),
		  FAULT_UNREPRESENTED, strlen(EVENT(TEXT("a"))));
	flow_ends(&flows, EVENT(TEXT("a")) "event: messages\n" EVENT(DONE), FAULT_UNREPRESENTED,
		  strlen(EVENT(TEXT("a"))));
	flow_ends(&bodies, HEAD "\r\n" EVENT(TEXT("a")) "id: 1\nevent: x\n" EVENT(TEXT("b")),
		  FAULT_UNREPRESENTED, strlen(HEAD "\r\n" EVENT(TEXT("a"))));
}

/* What a success has for a body is read as a stream by clients that asked for one. */
static void a_success_is_events_or_json(void **state)
{
	(void)state;
	flow_ends(&bodies, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n" EVENT(TEXT("a")),
		  FAULT_UNREPRESENTED, 0);
	flow_ends(&bodies, "HTTP/1.1 201 Created\r\n\r\n" EVENT(TEXT("a")), FAULT_UNREPRESENTED, 0);
	flow_clean(&bodies, "HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/plain\r\n"
			    "Content-Length: 4\r\n\r\ngone");
	flow_clean(&bodies, "HTTP/1.1 301 Moved Permanently\r\nContent-Type: text/plain\r\n"
			    "Content-Length: 4\r\n\r\nhere");
}

/* A client sends no chunks, and need not end with a mark. */
static void requests_are_not_meant(void **state)
{
	struct flow_config requests = flows;

	(void)state;
	requests.request = true;
	flow_clean(&requests, "");
	flow_clean(&requests, EVENT(CHUNK("[{\"index\":1},{\"x\":\"y\"}]")));
}

static void no_memory(void **state)
{
	struct sample sample = events;
	struct terms *terms = sample_terms("bomb");

	(void)state;
	sample.terms = terms;
	sample_check_allocations(&sample,
				 PAYLOADS(CALL("\"index\":2,\"id\":\"abc\",\"type\":\"def\""),
					  CALL("\"index\":7,\"id\":\"ghi\""), DONE));
	terms_free(terms);
}

/* What the words of the calls take is told. */
static void memory_is_told(void **state)
{
	static const char data[] = CALL("\"index\":9,\"id\":\"0123456789\"");
	struct channel_set set = {.ceiling = UINT64_MAX};
	struct extractor x;
	size_t used, before;

	(void)state;
	assert_int_equal(channel_set_init(&set), 0);
	assert_int_equal(extractor_init(&x, &events.config, &set, events.flags), 0);
	before = extract_strict_memory(x.strict);
	assert_in_range(extractor_memory(&x), sizeof(*x.strict), SIZE_MAX);
	assert_int_equal(extractor_feed(&x, (const uint8_t *)data, sizeof(data) - 1, &used), 0);
	assert_int_equal(extract_strict_memory(x.strict) - before,
			 10 * sizeof(struct strict_call) + 10);
	extractor_done(&x);
	channel_set_done(&set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_represented_passes),
		cmocka_unit_test(members_of_the_chunk_are_any),
		cmocka_unit_test(a_chunk_is_an_object),
		cmocka_unit_test(there_is_one_choice),
		cmocka_unit_test(other_members_carry_nothing),
		cmocka_unit_test(members_are_of_their_type),
		cmocka_unit_test(a_call_has_an_index),
		cmocka_unit_test(calls_say_the_same_of_themselves),
		cmocka_unit_test(words_of_calls_are_bounded),
		cmocka_unit_test(a_stream_has_chunks_and_then_its_mark),
		cmocka_unit_test(other_framings_have_the_form_alone),
		cmocka_unit_test(only_where_it_is_asked_for),
		cmocka_unit_test(event_streams_of_their_own),
		cmocka_unit_test(heads_that_are_passed_over),
		cmocka_unit_test(bodies_of_http),
		cmocka_unit_test(events_have_no_name_of_their_own),
		cmocka_unit_test(a_success_is_events_or_json),
		cmocka_unit_test(requests_are_not_meant),
		cmocka_unit_test(no_memory),
		cmocka_unit_test(memory_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
