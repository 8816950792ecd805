/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies of HTTP that are streams of messages with a head each, or an array; in every cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "core/session.h"
#include "unit/allocation.h"
#include "unit/coded.h"
#include "unit/eventstream.h"
#include "unit/flow.h"

#define OK	"HTTP/1.1 200 OK\r\n"
#define EVENTS	OK "Content-Type: application/vnd.amazon.eventstream\r\n"
#define JSON	OK "Content-Type: application/json\r\n"
#define CHUNKED "Transfer-Encoding: chunked\r\n"
#define GZIP	"Content-Encoding: gzip\r\n"
#define LAST	"0\r\n\r\n"
#define LEN(s)	(sizeof(s) - 1)

#define PART(text)                                                                            \
	"{\"candidates\":[{\"index\":0,\"content\":{\"role\":\"model\",\"parts\":[{\"text\":" \
	"\"" text "\"}]}}]}"

static const struct flow_config raw = {
	.framing = {.kind = FRAMING_HTTP1},
	.extract = {.kind = EXTRACT_RAW},
	.terms = {{"bomb"}},
	.request_count = 1,
};
static const struct flow_config gemini = {
	.framing = {.kind = FRAMING_HTTP1},
	.extract = {.kind = EXTRACT_GEMINI},
	.terms = {{"bomb"}},
	.request_count = 1,
};

static void text(struct coded_bytes *bytes, const char *more)
{
	coded_bytes_add(bytes, more, strlen(more));
}

static void add_chunk(struct coded_bytes *bytes, const void *data, size_t len)
{
	char line[32];

	snprintf(line, sizeof(line), "%zx\r\n", len);
	text(bytes, line);
	coded_bytes_add(bytes, data, len);
	text(bytes, "\r\n");
}

static void add_event_chunk(struct coded_bytes *bytes, const char *payload)
{
	struct coded_bytes event = {0};

	eventstream_add(&event, ":event-type", "chunk", payload);
	add_chunk(bytes, event.data, event.len);
	coded_bytes_done(&event);
}

/* sessions: of them, how the first ended. */
static void run(const struct flow_config *config, const struct coded_bytes *bytes, enum fault fault,
		uint64_t released, struct flow *ret_flow)
{
	flow_run_splits(config, bytes->data, bytes->len, ret_flow);
	assert_string_equal(fault_name(ret_flow->fault), fault_name(fault));
	assert_int_equal(ret_flow->released, released);
	if (!fault)
		assert_int_equal(ret_flow->sessions[0].end, SESSION_COMPLETE_END);
}

static void ends(const struct flow_config *config, struct coded_bytes *bytes, enum fault fault,
		 uint64_t released)
{
	struct flow flow;

	run(config, bytes, fault, released, &flow);
	flow_done(&flow);
	bytes->len = 0;
}

static void ends_text(const struct flow_config *config, const char *data, enum fault fault,
		      uint64_t released)
{
	struct coded_bytes bytes = {0};

	text(&bytes, data);
	ends(config, &bytes, fault, released);
	coded_bytes_done(&bytes);
}

/* So many bytes were released, and no refusal could follow them, once `fed` had come. */
static void stands(const struct flow *flow, size_t fed, uint64_t released, enum refusal_place place)
{
	assert_int_equal(flow_at(flow, fed)->released, released);
	assert_int_equal(flow_at(flow, fed)->mark.place, place);
}

static void an_event_stream_leaves_event_by_event(void **state)
{
	struct coded_bytes bytes = {0};
	size_t first, second;
	struct flow flow;

	(void)state;
	text(&bytes, EVENTS CHUNKED "\r\n");
	add_event_chunk(&bytes, "one ");
	first = bytes.len;
	add_event_chunk(&bytes, "two");
	second = bytes.len;
	text(&bytes, LAST);
	run(&raw, &bytes, FAULT_NONE, bytes.len, &flow);
	assert_string_equal(flow_payloads(&flow), "one |two|");
	assert_string_equal(flow_text(&flow, "raw"), "one two");
	assert_int_equal(flow.messages, 2);
	stands(&flow, LEN(EVENTS CHUNKED "\r\n") - 1, 0, REFUSAL_MESSAGE);
	stands(&flow, LEN(EVENTS CHUNKED "\r\n"), LEN(EVENTS CHUNKED "\r\n"), REFUSAL_NONE);
	stands(&flow, first, first, REFUSAL_NONE);
	stands(&flow, second - 3, first, REFUSAL_NONE);
	stands(&flow, second - 2, second - 2, REFUSAL_NONE);
	stands(&flow, bytes.len, bytes.len, REFUSAL_MESSAGE);
	flow_done(&flow);
	coded_bytes_done(&bytes);
}

static void what_an_event_says_is_judged(void **state)
{
	struct flow_config config = raw;
	struct coded_bytes bytes = {0};
	size_t good;

	(void)state;
	text(&bytes, EVENTS CHUNKED "\r\n");
	add_event_chunk(&bytes, "one ");
	good = bytes.len;
	add_event_chunk(&bytes, "a bomb");
	ends(&raw, &bytes, FAULT_BLOCKED, good);
	/* Two that end in the middle of one chunk, and by the end of the connection. */
	text(&bytes, EVENTS "\r\n");
	eventstream_add(&bytes, NULL, NULL, "good");
	good = bytes.len;
	eventstream_add(&bytes, NULL, NULL, "a bomb");
	ends(&raw, &bytes, FAULT_BLOCKED, good);
	text(&bytes, EVENTS "\r\n");
	eventstream_add(&bytes, NULL, NULL, "good");
	text(&bytes, "more");
	ends(&raw, &bytes, FAULT_TRUNCATED, good);
	text(&bytes, EVENTS "Content-Length: 5\r\n\r\nhello");
	ends(&raw, &bytes, FAULT_TRUNCATED, LEN(EVENTS "Content-Length: 5\r\n\r\n"));
	/* Nobody reads it, and still it is framed. */
	memset(config.terms, 0, sizeof(config.terms));
	config.no_text = true;
	text(&bytes, EVENTS "\r\n");
	eventstream_add(&bytes, NULL, NULL, "a bomb");
	good = bytes.len;
	text(&bytes, "more");
	ends(&config, &bytes, FAULT_TRUNCATED, good);
	coded_bytes_done(&bytes);
}

/* In two chunks. */
static void pack(struct coded_bytes *bytes, const char *head, const struct coded_bytes *body)
{
	struct coded_bytes packed = {0};
	size_t half;

	coded_pack_simply(CODED_GZIP, body->data, body->len, &packed);
	half = packed.len / 2;
	text(bytes, head);
	add_chunk(bytes, packed.data, half);
	add_chunk(bytes, packed.data + half, packed.len - half);
	text(bytes, LAST);
	coded_bytes_done(&packed);
}

static void coded_streams_are_read_decoded(void **state)
{
	struct coded_bytes bytes = {0}, body = {0};
	struct flow flow;

	(void)state;
	eventstream_add(&body, ":event-type", "chunk", "one ");
	eventstream_add(&body, NULL, NULL, "two");
	pack(&bytes, EVENTS CHUNKED GZIP "\r\n", &body);
	run(&raw, &bytes, FAULT_NONE, bytes.len, &flow);
	assert_string_equal(flow_payloads(&flow), "one |two|");
	assert_string_equal(flow_text(&flow, "raw"), "one two");
	flow_done(&flow);
	bytes.len = 0;
	eventstream_add(&body, NULL, NULL, "a bomb");
	pack(&bytes, EVENTS CHUNKED GZIP "\r\n", &body);
	ends(&raw, &bytes, FAULT_BLOCKED, LEN(EVENTS CHUNKED GZIP "\r\n"));
	body.len = 0;
	text(&body, "[" PART("one ") "," PART("two") "]");
	pack(&bytes, JSON CHUNKED GZIP "\r\n", &body);
	run(&gemini, &bytes, FAULT_NONE, bytes.len, &flow);
	assert_string_equal(flow_payloads(&flow), PART("one ") "|" PART("two") "|");
	assert_int_equal(flow.messages, 2);
	flow_done(&flow);
	body.len = bytes.len = 0;
	text(&body, "[" PART("a bo") "," PART("mb") "]");
	pack(&bytes, JSON CHUNKED GZIP "\r\n", &body);
	ends(&gemini, &bytes, FAULT_BLOCKED, 0);
	coded_bytes_done(&bytes);
	coded_bytes_done(&body);
}

static void an_array_leaves_element_by_element(void **state)
{
	struct coded_bytes bytes = {0};
	size_t first, second;
	struct flow flow;

	(void)state;
	text(&bytes, JSON CHUNKED "\r\n");
	add_chunk(&bytes, "\r\n ", 3);
	add_chunk(&bytes, "[" PART("one "), LEN("[" PART("one ")));
	first = bytes.len;
	add_chunk(&bytes, ",\r\n", 3);
	add_chunk(&bytes, PART("two"), LEN(PART("two")));
	second = bytes.len;
	add_chunk(&bytes, "\n]\n", 3);
	text(&bytes, LAST);
	run(&gemini, &bytes, FAULT_NONE, bytes.len, &flow);
	assert_string_equal(flow_payloads(&flow), PART("one ") "|" PART("two") "|");
	assert_int_equal(flow.messages, 2);
	/* The head leaves with the first. */
	stands(&flow, first - 3, 0, REFUSAL_MESSAGE);
	stands(&flow, first - 2, first - 2, REFUSAL_NONE);
	stands(&flow, first, first, REFUSAL_NONE);
	stands(&flow, second - 3, first, REFUSAL_NONE);
	stands(&flow, second, second, REFUSAL_NONE);
	stands(&flow, bytes.len, bytes.len, REFUSAL_MESSAGE);
	flow_done(&flow);
	coded_bytes_done(&bytes);
}

static void what_an_element_says_is_judged(void **state)
{
	(void)state;
	ends_text(&gemini, JSON "\r\n[" PART("good") "," PART("a bomb") "]", FAULT_BLOCKED,
		  LEN(JSON "\r\n[" PART("good")));
	/* Their text is one. */
	ends_text(&gemini, JSON "\r\n[" PART("good") "," PART("a bo") "," PART("mb") "]",
		  FAULT_BLOCKED, LEN(JSON "\r\n[" PART("good")));
	ends_text(&gemini, JSON "\r\n[" PART("a bo") "]", FAULT_NONE,
		  LEN(JSON "\r\n[" PART("a bo") "]"));
	/* Behind the bracket nothing waits for more of it. */
	ends_text(&gemini, JSON CHUNKED "\r\n1\r\n[\r\n1\r\n]\r\n" LAST, FAULT_NONE,
		  LEN(JSON CHUNKED "\r\n1\r\n[\r\n1\r\n]\r\n" LAST));
	ends_text(&gemini, JSON "\r\n[" PART("good") ",", FAULT_TRUNCATED,
		  LEN(JSON "\r\n[" PART("good")));
	ends_text(&gemini, JSON "\r\n[" PART("good") ",{", FAULT_TRUNCATED,
		  LEN(JSON "\r\n[" PART("good")));
	ends_text(&gemini, JSON "\r\n[" PART("good") "]x", FAULT_BAD_JSON,
		  LEN(JSON "\r\n[" PART("good") "]"));
	ends_text(&gemini, JSON "\r\n[{\"a\":1,\"a\":2}]", FAULT_DUPLICATE_KEY, 0);
}

/* Whatever else it is is a document, and leaves whole. */
static void a_document_is_no_array(void **state)
{
	static const char *const documents[] = {PART("good"), " \n" PART("good"), "\"good\"", "12"};
	char data[512];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(documents); i++) {
		struct coded_bytes bytes = {0};
		struct flow flow;

		snprintf(data, sizeof(data), JSON "Content-Length: %zu\r\n\r\n%s",
			 strlen(documents[i]), documents[i]);
		text(&bytes, data);
		run(&gemini, &bytes, FAULT_NONE, bytes.len, &flow);
		assert_int_equal(flow.units, 1);
		assert_int_equal(flow.messages, 1);
		flow_done(&flow);
		coded_bytes_done(&bytes);
	}
	ends_text(&gemini, JSON "\r\n" PART("a bomb"), FAULT_BLOCKED, 0);
	ends_text(&gemini, JSON "\r\n{\"error\":{\"message\":\"a bomb\"}}", FAULT_BLOCKED, 0);
	ends_text(&gemini, JSON "\r\n \r\n", FAULT_BAD_JSON, 0);
	ends_text(&gemini, JSON "\r\n\xef\xbb\xbf[]", FAULT_BAD_JSON, 0);
	/* An array that nobody said is a stream is one as well. */
	ends_text(&raw, JSON "\r\n[1,2]", FAULT_NONE, LEN(JSON "\r\n[1,2]"));
}

static void an_array_has_limits(void **state)
{
	struct flow_config config = gemini;

	(void)state;
	config.max_message = 8;
	/* Of an element, of which there may be many. */
	ends_text(&config, JSON "\r\n[123456,123456,12345678,\"123456\"]", FAULT_NONE,
		  LEN(JSON "\r\n[123456,123456,12345678,\"123456\"]"));
	ends_text(&config, JSON "\r\n[123456,123456789]", FAULT_TOO_LARGE, LEN(JSON "\r\n[123456"));
	/* And of the white space ahead of what is not known yet. */
	ends_text(&config, JSON "\r\n        ", FAULT_BAD_JSON, 0);
	ends_text(&config, JSON "\r\n         ", FAULT_TOO_LARGE, 0);
	ends_text(&config, JSON "\r\n        1", FAULT_TOO_LARGE, 0);
	ends_text(&config, JSON "\r\n       1", FAULT_NONE, LEN(JSON "\r\n       1"));
}

static void messages_with_a_binary_head_are_opaque(void **state)
{
	static const char *const types[] = {"grpc-web+proto", "grpc-web+json", "connect+json",
					    "json-seq"};
	struct flow_config config = raw;
	char data[256];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		snprintf(data, sizeof(data),
			 OK "Content-Type: application/%s\r\nContent-Length: 4\r\n\r\nbomb",
			 types[i]);
		ends_text(&raw, data, FAULT_OPAQUE_BODY, 0);
		config.release_opaque = config.unread = true;
		ends_text(&config, data, FAULT_NONE, strlen(data));
	}
}

static void any_allocation_may_fail(void **state)
{
	static const char data[] = JSON "\r\n[" PART("good") "]";
	struct coded_bytes bytes = {0};
	enum fault fault = FAULT_NO_MEMORY;
	uint64_t released;

	(void)state;
	for (unsigned long n = 0; fault; n++) {
		fault = flow_run_failing(&gemini, data, LEN(data), n, &released);
		assert_int_equal(allocation_failed(), fault == FAULT_NO_MEMORY);
	}
	fault = FAULT_NO_MEMORY;
	text(&bytes, EVENTS "\r\n");
	eventstream_add(&bytes, "n", "v", "good");
	for (unsigned long n = 0; fault; n++) {
		fault = flow_run_failing(&raw, bytes.data, bytes.len, n, &released);
		assert_int_equal(allocation_failed(), fault == FAULT_NO_MEMORY);
	}
	coded_bytes_done(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_event_stream_leaves_event_by_event),
		cmocka_unit_test(what_an_event_says_is_judged),
		cmocka_unit_test(coded_streams_are_read_decoded),
		cmocka_unit_test(an_array_leaves_element_by_element),
		cmocka_unit_test(what_an_element_says_is_judged),
		cmocka_unit_test(a_document_is_no_array),
		cmocka_unit_test(an_array_has_limits),
		cmocka_unit_test(messages_with_a_binary_head_are_opaque),
		cmocka_unit_test(any_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
