/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP messages through a pipeline: what leaves, when, and what is text; in every cut. */
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
#include "unit/allocation.h"
#include "unit/flow.h"

#define OK	"HTTP/1.1 200 OK\r\n"
#define CHUNKED "Transfer-Encoding: chunked\r\n"
#define SSE	OK "Content-Type: text/event-stream\r\n"
#define STREAM	SSE CHUNKED "\r\n"
#define LINES	OK "Content-Type: application/x-ndjson\r\n" CHUNKED "\r\n"
#define JSON	OK "Content-Type: application/json\r\n"
#define LAST	"0\r\n\r\n"
#define POST	"POST /v1 HTTP/1.1\r\nHost: a\r\n"
#define LEN(s)	(sizeof(s) - 1)

/* Every response of it answers a request. */
static const struct flow_config responses = {
	.framing = {.kind = FRAMING_HTTP1},
	.extract = {.kind = EXTRACT_AUTO},
	.terms = {{"bomb"}},
	.request_count = 1,
};
static const struct flow_config requests = {
	.framing = {.kind = FRAMING_HTTP1},
	.extract = {.kind = EXTRACT_AUTO},
	.terms = {{"bomb"}},
	.request = true,
};

static void denied(const struct flow_config *config, const char *data, uint64_t released)
{
	flow_ends(config, data, FAULT_BLOCKED, released);
}

/* After every byte up to and with that many: so much is released, a refusal goes there. */
static void stays(const struct flow *flow, size_t from, size_t to, uint64_t released,
		  enum refusal_place place)
{
	for (size_t i = from; i <= to; i++) {
		assert_int_equal(flow_at(flow, i)->released, released);
		assert_int_equal(flow_at(flow, i)->mark.place, place);
	}
}

static void a_plain_message_leaves_whole(void **state)
{
	static const char data[] = JSON "Content-Length: 10\r\n\r\n{\"a\":\"hi\"}";
	struct flow flow;

	(void)state;
	flow_run_to(&responses, data, FAULT_NONE, LEN(data), &flow);
	stays(&flow, 0, LEN(data) - 1, 0, REFUSAL_MESSAGE);
	stays(&flow, LEN(data), LEN(data), LEN(data), REFUSAL_MESSAGE);
	assert_int_equal(flow_at(&flow, 0)->partial, 0);
	assert_int_equal(flow_at(&flow, 1)->partial, 1);
	assert_int_equal(flow_at(&flow, LEN(data) - 1)->partial, LEN(data) - 1);
	assert_int_equal(flow_at(&flow, LEN(data))->partial, 0);
	assert_int_equal(flow.units, 1);
	assert_string_equal(flow.starts, "HTTP/1.1 200 OK\n");
	assert_string_equal(flow_payloads(&flow), "{\"a\":\"hi\"}|");
	assert_string_equal(flow_text(&flow, "a"), "hi");
	assert_int_equal(flow.session_count, 1);
	assert_int_equal(flow.sessions[0].end, SESSION_COMPLETE_END);
	flow_done(&flow);
	flow_run_to(&responses, JSON "Content-Length: 12\r\n\r\n{\"a\":\"bomb\"}", FAULT_BLOCKED, 0,
		    &flow);
	assert_int_equal(flow.sessions[0].end, SESSION_DENIED_END);
	flow_done(&flow);
	flow_run_to(&responses, JSON CHUNKED "\r\n7\r\n{\"a\":\"b\r\n5\r\nomb\"}\r\n" LAST,
		    FAULT_BLOCKED, 0, &flow);
	flow_done(&flow);
	flow_run_to(&responses, OK CHUNKED "\r\n2\r\nbo\r\n2\r\nx!\r\n" LAST, FAULT_NONE,
		    LEN(OK CHUNKED "\r\n2\r\nbo\r\n2\r\nx!\r\n" LAST), &flow);
	assert_string_equal(flow_payloads(&flow), "box!|");
	flow_done(&flow);
}

/* In chunks of two events; the first of the second chunk ends in CRLF. */
static void events_leave_one_by_one(void **state)
{
	static const char data[] = STREAM "13\r\ndata: 1\n\ndata: 22\n\n\r\n"
					  "b\r\ndata: 3\r\n\r\n\r\n" LAST;
	size_t head = LEN(STREAM), at = head + 4;
	struct flow flow;

	(void)state;
	flow_run_to(&responses, data, FAULT_NONE, LEN(data), &flow);
	stays(&flow, 0, head - 1, 0, REFUSAL_MESSAGE);
	/* The size of a chunk waits for what it holds. */
	stays(&flow, head, at + 8, head, REFUSAL_CHUNKS);
	stays(&flow, at + 9, at + 18, at + 9, REFUSAL_CHUNK);
	assert_int_equal(flow_at(&flow, at + 9)->mark.left, 10);
	assert_int_equal(flow_at(&flow, at + 9)->mark.form, REFUSAL_FORM_SSE);
	stays(&flow, at + 19, at + 20, at + 19, REFUSAL_CHUNK);
	assert_int_equal(flow_at(&flow, at + 19)->mark.left, 0);
	at += 21;
	stays(&flow, at, at + 3 + 9, at, REFUSAL_CHUNKS);
	at += 3;
	stays(&flow, at + 10, at + 10, at + 10, REFUSAL_CHUNK);
	assert_int_equal(flow_at(&flow, at + 10)->mark.left, 1);
	stays(&flow, at + 11, at + 12, at + 11, REFUSAL_CHUNK);
	at += 13;
	stays(&flow, at, LEN(data) - 1, at, REFUSAL_CHUNKS);
	stays(&flow, LEN(data), LEN(data), LEN(data), REFUSAL_MESSAGE);
	assert_string_equal(flow_payloads(&flow), "1|22|3|");
	assert_int_equal(flow.messages, 3);
	assert_true(flow.unit[3].outer);
	/* Between events nothing is due that a timeout could go by. */
	assert_int_equal(flow_at(&flow, head)->partial, 0);
	assert_true(flow_at(&flow, head + 5)->partial > 0);
	assert_int_equal(flow_at(&flow, head + 4 + 19)->partial, 0);
	flow_done(&flow);
}

/* A chunk that ends within an event, or between the CR and the LF behind one. */
static void chunks_do_not_respect_events(void **state)
{
	static const char data[] = STREAM "5\r\ndata:\r\n5\r\n 1\n\nd\r\n9\r\nata: 2\r\n\r\r\n"
					  "1\r\n\n\r\n" LAST;
	size_t cut = LEN(STREAM "5\r\ndata:\r\n5\r\n 1\n\n");
	size_t end = LEN(STREAM "5\r\ndata:\r\n5\r\n 1\n\nd\r\n9\r\nata: 2\r\n\r");
	struct flow flow;

	(void)state;
	flow_run_to(&responses, data, FAULT_NONE, LEN(data), &flow);
	stays(&flow, LEN(STREAM), cut - 1, LEN(STREAM), REFUSAL_CHUNKS);
	stays(&flow, cut, end - 1, cut, REFUSAL_CHUNK);
	assert_int_equal(flow_at(&flow, cut)->mark.left, 1);
	stays(&flow, end, end + 1, end, REFUSAL_CHUNK);
	stays(&flow, end + 2, end + 5, end + 2, REFUSAL_CHUNKS);
	stays(&flow, end + 6, end + 7, end + 6, REFUSAL_CHUNK);
	assert_string_equal(flow_payloads(&flow), "1|2|");
	flow_done(&flow);
}

static void events_by_length_and_until_the_end(void **state)
{
	static const char length[] = SSE "Content-Length: 18\r\n\r\ndata: 1\n\ndata: 2\n\n";
	static const char close[] = SSE "\r\ndata: 1\n\ndata: 2\n\n";
	size_t head = LEN(SSE "Content-Length: 18\r\n\r\n");
	struct flow flow;

	(void)state;
	flow_run_to(&responses, length, FAULT_NONE, LEN(length), &flow);
	stays(&flow, head, head + 8, head, REFUSAL_LENGTH);
	assert_int_equal(flow_at(&flow, head)->mark.left, 18);
	stays(&flow, head + 9, head + 17, head + 9, REFUSAL_LENGTH);
	assert_int_equal(flow_at(&flow, head + 9)->mark.left, 9);
	stays(&flow, head + 18, head + 18, head + 18, REFUSAL_MESSAGE);
	flow_done(&flow);
	head = LEN(SSE "\r\n");
	flow_run_to(&responses, close, FAULT_NONE, LEN(close), &flow);
	stays(&flow, head, head + 8, head, REFUSAL_PLAIN);
	stays(&flow, head + 18, head + 18, head + 18, REFUSAL_PLAIN);
	assert_int_equal(flow.sessions[0].end, SESSION_COMPLETE_END);
	flow_done(&flow);
	flow_ends(&responses, SSE "\r\ndata: 1\n\ndata: 2\n", FAULT_TRUNCATED, head + 9);
	flow_ends(&responses, SSE "Content-Length: 8\r\n\r\ndata: 1\n", FAULT_TRUNCATED,
		  LEN(SSE "Content-Length: 8\r\n\r\n"));
}

static void lines_leave_one_by_one(void **state)
{
	static const char data[] = LINES "7\r\n{}\n[1]\n\r\n" LAST;
	size_t head = LEN(LINES);
	struct flow flow;

	(void)state;
	flow_run_to(&responses, data, FAULT_NONE, LEN(data), &flow);
	stays(&flow, head, head + 5, head, REFUSAL_CHUNKS);
	stays(&flow, head + 6, head + 9, head + 6, REFUSAL_CHUNK);
	assert_int_equal(flow_at(&flow, head + 6)->mark.form, REFUSAL_FORM_LINES);
	assert_int_equal(flow_at(&flow, head + 6)->mark.left, 4);
	stays(&flow, head + 10, head + 11, head + 10, REFUSAL_CHUNK);
	stays(&flow, head + 12, LEN(data) - 1, head + 12, REFUSAL_CHUNKS);
	assert_string_equal(flow_payloads(&flow), "{}|[1]|");
	flow_done(&flow);
}

static void nothing_leaves_behind_a_deny(void **state)
{
	struct flow flow;
	size_t at = LEN(STREAM "16\r\ndata: 1\n\n");

	(void)state;
	flow_run_to(&responses, STREAM "16\r\ndata: 1\n\ndata:  bomb \n\r\n" LAST OK "\r\n",
		    FAULT_BLOCKED, at, &flow);
	assert_int_equal(flow.sessions[0].end, SESSION_DENIED_END);
	assert_int_equal(flow.points[flow.point_count - 1].mark.place, REFUSAL_CHUNK);
	assert_int_equal(flow.points[flow.point_count - 1].mark.left, 13);
	flow_done(&flow);
	/* Over events and chunks of what is joined, and what waits holds all that follows. */
	denied(&responses,
	       STREAM
	       "3a\r\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"bo\"}}]}\n\n\r\n"
	       "4\r\n: c\n\r\n1\r\n\n\r\n"
	       "3a\r\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"mb\"}}]}\n\n\r\n",
	       LEN(STREAM));
	denied(&responses,
	       LINES "22\r\n{\"message\":{\"content\":\"a bo\"}}   \n\r\n"
		     "22\r\n{\"message\":{\"content\":\"mb\"}}     \n\r\n",
	       LEN(LINES));
}

static void every_line_is_text(void **state)
{
	static const char *const heads[] = {
		"HTTP/1.1 200 a bomb\r\nContent-Length: 0\r\n\r\n",
		OK "X-Note: a bomb\r\nContent-Length: 0\r\n\r\n",
		OK "bomb: x\r\nContent-Length: 0\r\n\r\n",
		OK "Content-Type: text/plain;bomb=1\r\nContent-Length: 0\r\n\r\n",
	};
	static const char trailer[] = STREAM "9\r\ndata: 1\n\n\r\n0\r\nX: bomb\r\n\r\n";
	static const char extension[] =
		STREAM "9\r\ndata: 1\n\n\r\n9;bomb=1\r\ndata: 2\n\n\r\n" LAST;
	size_t whole = LEN(STREAM "9\r\ndata: 1\n\n\r\n");

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(heads); i++)
		denied(&responses, heads[i], 0);
	denied(&responses, trailer, whole);
	denied(&responses, extension, whole);
	flow_ends(&responses, OK "X: \xff\r\nContent-Length: 0\r\n\r\n", FAULT_BAD_UTF8, 0);
	flow_ends(&responses, STREAM "9\r\ndata: 1\n\n\r\n0\r\nX: \xff\r\n\r\n", FAULT_BAD_UTF8,
		  whole);
	/* Lines are texts of their own. */
	flow_clean(&responses, OK "X: bo\r\nmb: x\r\nContent-Length: 0\r\n\r\n");
}

static void a_target_is_read_as_its_server_reads_it(void **state)
{
	struct flow_config config = requests;

	(void)state;
	denied(&requests, "GET /a?q=bomb HTTP/1.1\r\nHost: a\r\n\r\n", 0);
	denied(&requests, "GET /a?q=bo%6Db HTTP/1.1\r\nHost: a\r\n\r\n", 0);
	denied(&requests, "GET /%62%6f%6d%62 HTTP/1.1\r\nHost: a\r\n\r\n", 0);
	flow_clean(&requests, "GET /bo%2Fmb HTTP/1.1\r\nHost: a\r\n\r\n");
	flow_ends(&requests, "GET /%ff HTTP/1.1\r\nHost: a\r\n\r\n", FAULT_BAD_UTF8, 0);
	config.terms[0][0] = "a bomb";
	denied(&config, "GET /?q=a+bomb HTTP/1.1\r\nHost: a\r\n\r\n", 0);
	denied(&config, "GET /?q=a%20bomb HTTP/1.1\r\nHost: a\r\n\r\n", 0);
	config.terms[0][0] = "a+bomb";
	denied(&config, "GET /?q=a+bomb HTTP/1.1\r\nHost: a\r\n\r\n", 0);
	denied(&config, "GET /?q=a%2bbomb HTTP/1.1\r\nHost: a\r\n\r\n", 0);
}

/* A request of that type and body. */
static void body(const struct flow_config *config, const char *type, const char *text,
		 enum fault fault)
{
	char data[256];
	int len = snprintf(data, sizeof(data), POST "%sContent-Length: %zu\r\n\r\n%s", type,
			   strlen(text), text);

	flow_ends(config, data, fault, fault ? 0 : (uint64_t)len);
}

static void requests_are_read_by_what_they_are(void **state)
{
	static const char form[] = "Content-Type: application/x-www-form-urlencoded\r\n";
	static const char json[] = "Content-Type: application/json\r\n";
	struct flow_config config = requests, twice = requests;

	(void)state;
	config.twice = twice.twice = true;
	body(&requests, json, "{\"messages\":[{\"role\":\"user\",\"content\":\"b\\u006fmb\"}]}",
	     FAULT_BLOCKED);
	body(&requests, json, "{\"system\":[{\"text\":\"bo\"},{\"text\":\"mb\"}]}", FAULT_BLOCKED);
	body(&requests, json, "{\"tools\":[{\"name\":\"bomb\"}]}", FAULT_BLOCKED);
	body(&requests, json, "{]", FAULT_BAD_JSON);
	body(&twice, form, "a=bo%6Db", FAULT_BLOCKED);
	body(&twice, form, "a=bomb", FAULT_BLOCKED);
	config.terms[0][0] = "a bomb";
	body(&config, form, "q=a+bomb", FAULT_BLOCKED);
	body(&config, form, "q=a+bom%", FAULT_NONE);
	body(&config, form, "%", FAULT_NONE);
	/* A wrong label hides nothing; none is text. */
	body(&twice, "Content-Type: text/plain\r\n", "{\"a\":\"b\\u006fmb\"}", FAULT_BLOCKED);
	body(&twice, "Content-Type: text/plain\r\n", "{\"a\":\"b\\u006fmb", FAULT_BLOCKED);
	body(&twice, "", "bomb", FAULT_BLOCKED);
	body(&twice, "", "{\"a\":", FAULT_NONE);
	body(&twice, "", "\xff", FAULT_BAD_UTF8);
}

static void a_head_that_its_body_waits_for_leaves_first(void **state)
{
	static const char head[] = POST "Expect: 100-continue\r\nContent-Length: 4\r\n\r\n";
	struct flow flow;

	(void)state;
	flow_run_to(&requests, POST "Expect: 100-continue\r\nContent-Length: 4\r\n\r\nbomb",
		    FAULT_BLOCKED, LEN(head), &flow);
	assert_int_equal(flow_at(&flow, LEN(head) - 1)->released, 0);
	assert_int_equal(flow_at(&flow, LEN(head))->released, LEN(head));
	assert_int_equal(flow_at(&flow, LEN(head) + 1)->released, LEN(head));
	flow_done(&flow);
	denied(&requests, POST "Expect: 100-continue\r\nX: bomb\r\nContent-Length: 4\r\n\r\n", 0);
	flow_run_to(&requests, POST "Expect: 100-continue\r\nContent-Length: 4\r\n\r\nfine",
		    FAULT_NONE, LEN(head) + 4, &flow);
	assert_int_equal(flow.units, 2);
	assert_int_equal(flow.messages, 1);
	flow_done(&flow);
}

static void requests_one_behind_the_other(void **state)
{
	static const char first[] = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
	struct flow flow;

	(void)state;
	flow_run_to(&requests,
		    "GET / HTTP/1.1\r\nHost: a\r\n\r\n\r\nGET /bomb HTTP/1.1\r\nHost: a\r\n\r\n",
		    FAULT_BLOCKED, LEN(first), &flow);
	assert_string_equal(flow.starts, "GET / HTTP/1.1\n");
	assert_int_equal(flow.session_count, 2);
	/* The first was never answered. */
	assert_int_equal(flow.sessions[0].end, SESSION_FAILED_END);
	assert_int_equal(flow.sessions[1].end, SESSION_DENIED_END);
	flow_done(&flow);
	flow_ends(&requests, "GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\n", FAULT_TRUNCATED,
		  LEN(first));
}

static void opaque_bodies_are_refused_or_released_unread(void **state)
{
#define PNG OK "Content-Type: image/png\r\nContent-Length: 4\r\n"
	struct flow_config config = responses;
	struct flow flow;

	(void)state;
	flow_ends(&responses, PNG "\r\n\x89PNG", FAULT_OPAQUE_BODY, 0);
	config.release_opaque = config.unread = true;
	flow_run_to(&config, PNG "\r\n\x89PNG", FAULT_NONE, LEN(PNG "\r\n") + 4, &flow);
	assert_int_equal(flow_at(&flow, LEN(PNG "\r\n"))->released, LEN(PNG "\r\n"));
	assert_int_equal(flow_at(&flow, LEN(PNG "\r\n") + 1)->released, LEN(PNG "\r\n") + 1);
	/* Nothing can be said inside. */
	assert_int_equal(flow_at(&flow, LEN(PNG "\r\n") + 1)->mark.place, REFUSAL_NONE);
	flow_done(&flow);
	denied(&config, PNG "X: bomb\r\n\r\nabcd", 0);
#undef PNG
}

static void faults_of_framing_release_nothing_of_their_message(void **state)
{
	static const struct {
		const char *data;
		enum fault fault;
	} bad[] = {
		{OK "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
		 FAULT_AMBIGUOUS_LENGTH},
		{OK "Content-Length: 1\r\nContent-Length: 1\r\n\r\nx", FAULT_AMBIGUOUS_LENGTH},
		{OK "Content-Length : 1\r\n\r\nx", FAULT_BAD_HEADER},
		{OK "A: b\r\n c\r\n\r\n", FAULT_BAD_HEADER},
		{OK "A: b\n\r\n", FAULT_BARE_LF},
		{OK "Content-Encoding: x\r\nContent-Length: 1\r\n\r\nx", FAULT_UNSUPPORTED_CODING},
		{OK CHUNKED "\r\n1\nx\r\n" LAST, FAULT_BARE_LF},
		{OK CHUNKED "\r\n1\r\nxy\r\n" LAST, FAULT_BAD_FRAME},
		{OK CHUNKED "\r\n0x1\r\nx\r\n" LAST, FAULT_BAD_FRAME},
		{"HTTP/2.0 200 OK\r\n\r\n", FAULT_PROTOCOL},
		{OK "Content-Length: 2\r\n\r\nx", FAULT_TRUNCATED},
		{"", FAULT_TRUNCATED}, /* an answer is due */
	};
	struct flow_config config = responses;
	static const char before[] = OK "Content-Length: 0\r\n\r\n";

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		char data[256];

		config.request_count = 1;
		flow_ends(&config, bad[i].data, bad[i].fault, 0);
		config.request_count = 2;
		snprintf(data, sizeof(data), "%s%s", before, bad[i].data);
		flow_ends(&config, data, bad[i].fault, LEN(before));
	}
}

static void a_body_has_a_limit(void **state)
{
	struct flow_config config = responses;

	(void)state;
	config.max_message = 4;
	flow_clean(&config, OK "Content-Length: 4\r\n\r\n1234");
	flow_ends(&config, OK "Content-Length: 5\r\n\r\n12345", FAULT_TOO_LARGE, 0);
	flow_clean(&config, OK CHUNKED "\r\n3\r\n123\r\n1\r\n4\r\n" LAST);
	flow_ends(&config, OK CHUNKED "\r\n3\r\n123\r\n2\r\n45\r\n" LAST, FAULT_TOO_LARGE, 0);
	flow_clean(&config, STREAM "b\r\ndata: 1234\n\r\n1\r\n\n\r\n" LAST);
	flow_ends(&config, STREAM "c\r\ndata: 12345\n\r\n1\r\n\n\r\n" LAST, FAULT_TOO_LARGE,
		  LEN(STREAM));
}

static void without_tasks_bodies_are_forwarded_as_they_come(void **state)
{
	static const char data[] = JSON "Content-Length: 12\r\n\r\n{\"a\":\"bomb\"}";
	size_t head = LEN(JSON "Content-Length: 12\r\n\r\n");
	struct flow_config config = responses;
	struct flow flow;

	(void)state;
	config.terms[0][0] = NULL;
	config.no_text = config.unread = true;
	flow_run_to(&config, data, FAULT_NONE, LEN(data), &flow);
	for (size_t i = head; i <= LEN(data); i++)
		assert_int_equal(flow_at(&flow, i)->released, i);
	assert_int_equal(flow_at(&flow, head - 1)->released, 0);
	assert_int_equal(flow.session_count, 0);
	flow_done(&flow);
	flow_ends(&config, OK "A: b\n\r\n", FAULT_BARE_LF, 0);
	flow_clean(&config, STREAM "e\r\ndata: {\"bomb\n\n\r\n" LAST);
}

static void any_allocation_may_fail(void **state)
{
	static const char data[] = JSON "Content-Length: 10\r\n\r\n{\"a\":\"hi\"}" STREAM
					"9\r\ndata: 1\n\n\r\n11\r\n: c\ndata: a bomb\n\n\r\n" LAST;
	static const size_t cleared =
		LEN(JSON "Content-Length: 10\r\n\r\n{\"a\":\"hi\"}" STREAM "9\r\ndata: 1\n\n\r\n");
	struct flow_config config = responses;
	uint64_t released;
	unsigned long n;

	(void)state;
	config.request_count = 2;
	for (n = 0; n < 2000; n++) {
		enum fault fault = flow_run_failing(&config, data, LEN(data), n, &released);

		assert_true(released <= cleared);
		if (!allocation_failed())
			break;
		assert_int_equal(fault, FAULT_NO_MEMORY);
	}
	assert_int_equal(released, cleared);
	assert_in_range(n, 10, 1999);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plain_message_leaves_whole),
		cmocka_unit_test(events_leave_one_by_one),
		cmocka_unit_test(chunks_do_not_respect_events),
		cmocka_unit_test(events_by_length_and_until_the_end),
		cmocka_unit_test(lines_leave_one_by_one),
		cmocka_unit_test(nothing_leaves_behind_a_deny),
		cmocka_unit_test(every_line_is_text),
		cmocka_unit_test(a_target_is_read_as_its_server_reads_it),
		cmocka_unit_test(requests_are_read_by_what_they_are),
		cmocka_unit_test(a_head_that_its_body_waits_for_leaves_first),
		cmocka_unit_test(requests_one_behind_the_other),
		cmocka_unit_test(opaque_bodies_are_refused_or_released_unread),
		cmocka_unit_test(faults_of_framing_release_nothing_of_their_message),
		cmocka_unit_test(a_body_has_a_limit),
		cmocka_unit_test(without_tasks_bodies_are_forwarded_as_they_come),
		cmocka_unit_test(any_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
