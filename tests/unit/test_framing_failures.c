/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How streams of messages fail where nothing frames them, one test each and under every
 * cut: two messages become one (merging), one becomes two (splitting), one that was cut
 * off is taken for whole (silent truncation), and what a connection left behind is put
 * before what the next one brings (stale contamination).
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
#include "core/session.h"
#include "unit/flow.h"

#define ONE	 "Transfer $10"
#define TWO	 "Transfer $100"
#define JSON_ONE "{\"t\":\"" ONE "\"}"
#define JSON_TWO "{\"t\":\"" TWO "\"}"
#define BOTH	 ONE "|" TWO "|"
#define JSONS	 JSON_ONE "|" JSON_TWO "|"
/* What a merged text would have and neither message has; what only a whole second one has. */
#define TERMS                                     \
	{                                         \
		{                                 \
			"0Transfer", "0|Transfer" \
		}                                 \
	}
#define HEAD	     "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
#define CHUNKED	     HEAD "Transfer-Encoding: chunked\r\n\r\n"
#define LENGTH(n)    HEAD "Content-Length: " n "\r\n\r\n"
#define BYTES(array) (const uint8_t *)(array), sizeof(array) - 1
#define RAW                                            \
	{                                              \
		.kind = EXTRACT_RAW, .join_unit = true \
	}
#define PAIR_MAX 512u

/* Two messages, one after the other, in one of the framings. */
struct speech {
	const char *name;
	struct flow_config config;
	const uint8_t *one;
	size_t one_len;
	const uint8_t *two;
	size_t two_len;
	const char *payloads;
	/* By its bytes the rest of a message may be a message, another one: no mark begins it. */
	bool beginless;
};

static const struct speech speeches[] = {
	{"lines",
	 {.framing = {.kind = FRAMING_NDJSON, .any_line = true}, .extract = RAW, .terms = TERMS},
	 BYTES(ONE "\n"),
	 BYTES(TWO "\n"),
	 BOTH,
	 true},
	{"ndjson",
	 {.framing = {.kind = FRAMING_NDJSON}, .extract = {.kind = EXTRACT_AUTO}, .terms = TERMS},
	 BYTES(JSON_ONE "\n"),
	 BYTES(JSON_TWO "\n"),
	 JSONS,
	 false},
	{"lenprefix u32",
	 {.framing = {.kind = FRAMING_LENPREFIX, .type = LENPREFIX_U32, .big_endian = true},
	  .extract = RAW,
	  .terms = TERMS},
	 BYTES("\0\0\0\x0c" ONE),
	 BYTES("\0\0\0\x0d" TWO),
	 BOTH,
	 false},
	{"lenprefix varint",
	 {.framing = {.kind = FRAMING_LENPREFIX, .type = LENPREFIX_VARINT},
	  .extract = RAW,
	  .terms = TERMS},
	 BYTES("\x0c" ONE),
	 BYTES("\x0d" TWO),
	 BOTH,
	 false},
	{"sentinel",
	 {.framing = {.kind = FRAMING_SENTINEL, .sentinel = "\r\n.\r\n", .sentinel_len = 5},
	  .extract = RAW,
	  .terms = TERMS},
	 BYTES(ONE "\r\n.\r\n"),
	 BYTES(TWO "\r\n.\r\n"),
	 BOTH,
	 true},
	{"sse",
	 {.framing = {.kind = FRAMING_SSE}, .extract = RAW, .terms = TERMS},
	 BYTES("data: " ONE "\n\n"),
	 BYTES("data: " TWO "\n\n"),
	 BOTH,
	 false},
	{"http1 by length",
	 {.framing = {.kind = FRAMING_HTTP1}, .extract = RAW, .terms = TERMS, .request_count = 2},
	 BYTES(LENGTH("12") ONE),
	 BYTES(LENGTH("13") TWO),
	 BOTH,
	 false},
	{"http1 in chunks",
	 {.framing = {.kind = FRAMING_HTTP1}, .extract = RAW, .terms = TERMS, .request_count = 2},
	 BYTES(CHUNKED "8\r\nTransfer\r\n4\r\n $10\r\n0\r\n\r\n"),
	 BYTES(CHUNKED "8\r\nTransfer\r\n5\r\n $100\r\n0\r\n\r\n"),
	 BOTH,
	 false},
	{"jsonrpc_cl",
	 {.framing = {.kind = FRAMING_JSONRPC_CL},
	  .extract = {.kind = EXTRACT_AUTO},
	  .terms = TERMS},
	 BYTES("Content-Length: 20\r\n\r\n" JSON_ONE),
	 BYTES("Content-Length: 21\r\n\r\n" JSON_TWO),
	 JSONS,
	 false},
	{"ws of a server",
	 {.framing = {.kind = FRAMING_WS}, .extract = RAW, .terms = TERMS},
	 BYTES("\x81\x0c" ONE),
	 BYTES("\x81\x0d" TWO),
	 BOTH,
	 false},
	{"ws of a client",
	 {.framing = {.kind = FRAMING_WS}, .extract = RAW, .terms = TERMS, .request = true},
	 BYTES("\x81\x8c\0\0\0\0" ONE),
	 BYTES("\x81\x8d\0\0\0\0" TWO),
	 BOTH,
	 false},
	{"ws in fragments",
	 {.framing = {.kind = FRAMING_WS}, .extract = RAW, .terms = TERMS},
	 BYTES("\x01\x08Transfer\x80\x04 $10"),
	 BYTES("\x01\x08Transfer\x80\x05 $100"),
	 BOTH,
	 false},
};

/* The payloads, each and a '|'. */
static void join_payloads(const struct flow *flow, const uint8_t *data,
			  char ret_text[static PAIR_MAX])
{
	size_t at = 0;

	for (size_t i = 0; i < flow->units; i++) {
		const struct pipeline_unit *unit = &flow->unit[i];
		size_t len = (size_t)(unit->payload_end - unit->payload_start);

		if (!len)
			continue;
		assert_true(at + len + 2 <= PAIR_MAX);
		memcpy(ret_text + at, data + unit->payload_start, len);
		at += len;
		ret_text[at++] = '|';
	}
	ret_text[at] = '\0';
	if (!at)
		snprintf(ret_text, PAIR_MAX, "%s", flow_payloads(flow));
}

/* The first message and len bytes of the second. */
static size_t put(const struct speech *speech, size_t len, uint8_t ret_data[static PAIR_MAX])
{
	assert_true(speech->one_len + len <= PAIR_MAX);
	memcpy(ret_data, speech->one, speech->one_len);
	memcpy(ret_data + speech->one_len, speech->two, len);
	return speech->one_len + len;
}

/* How the session of the flow, in http1 that of its second exchange, ended. */
static int last_end(const struct flow *flow)
{
	return flow->session_count ? flow->sessions[flow->session_count - 1].end
				   : flow->session_end;
}

static void merging(const struct speech *speech)
{
	uint8_t data[PAIR_MAX];
	size_t len = put(speech, speech->two_len, data);
	char payloads[PAIR_MAX];
	struct flow flow;

	flow_run_splits(&speech->config, data, len, &flow);
	assert_string_equal(fault_name(flow.fault), fault_name(FAULT_NONE));
	assert_int_equal(flow.messages, 2);
	assert_int_equal(flow.released, len);
	join_payloads(&flow, data, payloads);
	assert_string_equal(payloads, speech->payloads);
	assert_int_equal(last_end(&flow), SESSION_COMPLETE_END);
	flow_done(&flow);
}

static void splitting(const struct speech *speech)
{
	uint8_t data[PAIR_MAX];
	size_t len = put(speech, speech->two_len, data);
	struct flow flow;

	/* Every cut in two and more gives what these points say, or fails. */
	flow_run_splits(&speech->config, data, len, &flow);
	for (size_t fed = 0; fed <= len; fed++) {
		size_t whole = fed < speech->one_len ? 0 : fed < len ? speech->one_len : len;
		const struct flow_point *point = flow_at(&flow, fed);

		assert_int_equal(point->released, whole);
		assert_int_equal(point->partial, fed - whole);
	}
	flow_done(&flow);
}

static void truncation(const struct speech *speech)
{
	for (size_t cut = 1; cut < speech->two_len; cut++) {
		uint8_t data[PAIR_MAX];
		size_t len = put(speech, cut, data);
		struct flow flow;

		flow_run(&speech->config, data, len, NULL, 0, &flow);
		assert_string_equal(fault_name(flow.fault), fault_name(FAULT_TRUNCATED));
		assert_int_equal(flow.messages, 1);
		assert_int_equal(flow.released, speech->one_len);
		assert_int_equal(last_end(&flow), SESSION_FAILED_END);
		flow_done(&flow);
	}
	for (size_t cut = 1; cut < speech->one_len; cut++) {
		struct flow flow;

		flow_run(&speech->config, speech->one, cut, NULL, 0, &flow);
		assert_string_equal(fault_name(flow.fault), fault_name(FAULT_TRUNCATED));
		assert_int_equal(flow.messages, 0);
		assert_int_equal(flow.released, 0);
		flow_done(&flow);
	}
}

/*
 * The rest of a message on a connection of its own, where a task waits for the text of the
 * whole one. A cut before that text leaves it whole, but in no message.
 */
static void rest_alone(const struct speech *speech, size_t cut)
{
	struct flow_config config = speech->config;
	const uint8_t *rest = speech->two + cut;
	size_t len = speech->two_len - cut;
	char payloads[PAIR_MAX];
	struct flow flow;

	config.terms[0][0] = TWO;
	config.terms[0][1] = NULL;
	flow_run_splits(&config, rest, len, &flow);
	if (!memmem(rest, len, TWO, sizeof(TWO) - 1)) {
		assert_int_not_equal(flow.fault, FAULT_BLOCKED);
		for (size_t i = 0; i < flow.channel_count; i++)
			assert_null(strstr((const char *)flow.channels[i].text, TWO));
	}
	join_payloads(&flow, rest, payloads);
	assert_null(strstr(payloads, TWO));
	if (!speech->beginless)
		assert_int_equal(flow.messages, 0);
	flow_done(&flow);
}

static void contamination(const struct speech *speech)
{
	struct flow_config config = speech->config;
	struct flow flow;

	/* The task would know the message if it saw it: it does where nothing is cut. */
	config.terms[0][0] = TWO;
	config.terms[0][1] = NULL;
	flow_run(&config, speech->two, speech->two_len, NULL, 0, &flow);
	assert_string_equal(fault_name(flow.fault), fault_name(FAULT_BLOCKED));
	flow_done(&flow);
	for (size_t cut = 1; cut < speech->two_len; cut++) {
		flow_run(&config, speech->two, cut, NULL, 0, &flow);
		assert_int_equal(flow.released, 0);
		assert_int_equal(flow.messages, 0);
		flow_done(&flow);
		rest_alone(speech, cut);
	}
}

static void for_each(void (*test)(const struct speech *speech))
{
	for (size_t i = 0; i < ARRAY_SIZE(speeches); i++) {
		print_message("%s\n", speeches[i].name);
		test(&speeches[i]);
	}
}

static void merging_two_messages_are_never_one(void **state)
{
	(void)state;
	for_each(merging);
}

static void splitting_a_message_is_released_whole_or_not_at_all(void **state)
{
	(void)state;
	for_each(splitting);
}

static void silent_truncation_a_message_that_was_cut_off_fails(void **state)
{
	(void)state;
	for_each(truncation);
}

static void stale_contamination_two_halves_are_never_joined(void **state)
{
	(void)state;
	for_each(contamination);
}

/* Two lines without the LF that ends the second: it may go on, and is no message. */
static void a_last_line_without_its_end_is_no_message(void **state)
{
	static const char data[] = ONE "\n" TWO;
	struct flow flow;

	(void)state;
	flow_run_splits(&speeches[0].config, data, sizeof(data) - 1, &flow);
	assert_string_equal(fault_name(flow.fault), fault_name(FAULT_TRUNCATED));
	assert_int_equal(flow.messages, 1);
	assert_int_equal(flow.released, sizeof(ONE "\n") - 1);
	flow_done(&flow);
}

/* Events in a body leave one by one: a cut takes the event it hits, and the answer with it. */
static void events_in_a_body_are_whole_or_absent(void **state)
{
	static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
				   "Transfer-Encoding: chunked\r\n\r\n";
	static const char first[] = "14\r\ndata: " ONE "\n\n",
			  second[] = "\r\n15\r\ndata: " TWO "\n\n";
	static const char end[] = "\r\n0\r\n\r\n";
	const size_t ends[] = {sizeof(head) - 1, sizeof(first) - 1, 2, sizeof(second) - 3, 2,
			       sizeof(end) - 3};
	struct flow_config config = speeches[6].config;
	char data[PAIR_MAX];
	size_t len = (size_t)snprintf(data, sizeof(data), "%s%s%s%s", head, first, second, end);
	struct flow flow;

	(void)state;
	config.request_count = 1;
	for (size_t cut = 1; cut <= len; cut++) {
		size_t whole = 0;

		for (size_t i = 0; i < ARRAY_SIZE(ends) && whole + ends[i] <= cut; i++)
			whole += ends[i];
		flow_run(&config, data, cut, NULL, 0, &flow);
		assert_string_equal(fault_name(flow.fault),
				    fault_name(cut < len ? FAULT_TRUNCATED : FAULT_NONE));
		assert_int_equal(flow.released, whole);
		assert_int_equal(last_end(&flow),
				 cut < len ? SESSION_FAILED_END : SESSION_COMPLETE_END);
		flow_done(&flow);
	}
	flow_run_splits(&config, data, len, &flow);
	assert_string_equal(flow_payloads(&flow), BOTH);
	flow_done(&flow);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(merging_two_messages_are_never_one),
		cmocka_unit_test(splitting_a_message_is_released_whole_or_not_at_all),
		cmocka_unit_test(silent_truncation_a_message_that_was_cut_off_fails),
		cmocka_unit_test(stale_contamination_two_halves_are_never_joined),
		cmocka_unit_test(a_last_line_without_its_end_is_no_message),
		cmocka_unit_test(events_in_a_body_are_whole_or_absent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
