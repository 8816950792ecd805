/* SPDX-License-Identifier: Apache-2.0 */
/* Heads that the HTTP/1 codec refuses: every shape that two readers may read differently. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "unit/http1_pieces.h"

#define HOST	"GET / HTTP/1.1\r\nHost: a\r\n"
#define CHUNKED "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
#define OK	"HTTP/1.1 200 OK\r\n"

/* Before, and after, the head is whole. */
#define EARLY(data, fault) HTTP1_REFUSAL(data, fault, false)
#define BEGUN(data, fault) HTTP1_REFUSAL(data, fault, true)

static void request_lines(void **state)
{
	static const struct http1_refusal refusals[] = {
		EARLY("GET /\r\n", BAD_HEADER),
		EARLY("GET  / HTTP/1.1\r\n", BAD_HEADER),
		EARLY("GET /  HTTP/1.1\r\n", BAD_HEADER),
		EARLY("GET / HTTP/1.1 \r\n", BAD_HEADER),
		EARLY(" GET / HTTP/1.1\r\n", BAD_HEADER),
		EARLY("GET\t/ HTTP/1.1\r\n", BAD_HEADER),
		EARLY("GET /\tHTTP/1.1\r\n", BAD_HEADER),
		EARLY("GET /\x0bx HTTP/1.1\r\n", BAD_HEADER),
		EARLY("GET /a b HTTP/1.1\r\n", BAD_HEADER),
		EARLY("GET /\x7f HTTP/1.1\r\n", BAD_HEADER),
		EARLY("GET /\0 HTTP/1.1\r\n", BAD_HEADER),
		EARLY("GET /\rX HTTP/1.1\r\n", BAD_HEADER),
		EARLY("GET /#x HTTP/1.1\r\n", BAD_HEADER),
		EARLY("G(T / HTTP/1.1\r\n", BAD_HEADER),
		EARLY("G\xc3\xa9T / HTTP/1.1\r\n", BAD_HEADER),
		EARLY("GET: / HTTP/1.1\r\n", BAD_HEADER),
		EARLY("head / HTTP/1.1\r\n", BAD_HEADER),
		EARLY("Connect a:1 HTTP/1.1\r\n", BAD_HEADER),
		EARLY("GET / http/1.1\r\n", BAD_HEADER),
		EARLY("GET / HTTP/1\r\n", BAD_HEADER),
		EARLY("GET / HTTP/1.10\r\n", BAD_HEADER),
		EARLY("GET / HTTP/01.1\r\n", BAD_HEADER),
		EARLY("GET / HTTP/1,1\r\n", BAD_HEADER),
		EARLY("GET / HTTP/1.1\r\r\n", BAD_HEADER),
		EARLY("GET / HTTP/1.x\r\n", BAD_HEADER),
		EARLY("GET / HTTP/1.2\r\n", PROTOCOL),
		EARLY("GET / HTTP/0.9\r\n", PROTOCOL),
		EARLY("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", PROTOCOL),
		EARLY("GET / HTTP/1.1\n", BARE_LF),
		EARLY("GET /\nx HTTP/1.1\r\n", BARE_LF),
		EARLY("\nGET / HTTP/1.1\r\n", BARE_LF),
		EARLY("\r\n\nGET / HTTP/1.1\r\n", BARE_LF),
		EARLY("\r\r\nGET / HTTP/1.1\r\n", BAD_HEADER),
		EARLY("\rGET / HTTP/1.1\r\n", BAD_HEADER),
		/* Told by the first byte already: nothing else may come. */
		EARLY("\x16\x03\x01", BAD_HEADER),
		EARLY("\0", BAD_HEADER),
		EARLY("{\"a\"", BAD_HEADER),
		EARLY("\r\n ", BAD_HEADER),
		EARLY("GE", TRUNCATED),
		EARLY("GET / HTTP/1.1\r\n", TRUNCATED),
		EARLY(HOST "\r", TRUNCATED),
	};

	(void)state;
	http1_refusals_check(false, refusals, ARRAY_SIZE(refusals));
}

static void targets(void **state)
{
	static const char *const bad[] = {
		"GET *",
		"OPTIONS **",
		"GET a:80",
		"GET x",
		"GET ?x",
		"GET //",
		"CONNECT /",
		"CONNECT a",
		"CONNECT a:",
		"CONNECT :80",
		"CONNECT a:8x",
		"CONNECT http://a:80",
		"CONNECT u@a:80",
		"CONNECT [::1]",
		"CONNECT []:80",
		"CONNECT [::1:80",
		"CONNECT [::1]x:80",
		"CONNECT a:80:80",
		"CONNECT *",
		"GET http:/a/",
		"GET http://",
		"GET http:///x",
		"GET http://u:p@a/",
		"GET http://a:b/",
		"GET ftp://a/",
		"GET ws://a/",
		"GET httpx://a/",
		"GET http://[::1/",
		"GET http://a\\b/",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		static const struct http1_pieces_config config = {.response = false};
		char data[128];
		struct http1_refusal refusal = {data, 0, FAULT_BAD_HEADER, false};

		snprintf(data, sizeof(data), "%s HTTP/1.1\r\nHost: a\r\n\r\n", bad[i]);
		refusal.len = strlen(data);
		/* A path may begin with two slashes. */
		if (strcmp(bad[i], "GET //") == 0) {
			refusal.fault = FAULT_NONE;
			refusal.begun = true;
		}
		http1_refusal_check(&config, &refusal);
	}
}

static void hosts(void **state)
{
	static const struct http1_refusal refusals[] = {
		EARLY("GET / HTTP/1.1\r\n\r\n", BAD_HEADER),
		EARLY("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", BAD_HEADER),
		EARLY("GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", BAD_HEADER),
		EARLY("GET / HTTP/1.1\r\nHost: a\r\nHOST:\r\n\r\n", BAD_HEADER),
		EARLY("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", BAD_HEADER),
		EARLY("GET / HTTP/1.1\r\nHost: u@a\r\n\r\n", BAD_HEADER),
		EARLY("GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", BAD_HEADER),
		EARLY("GET / HTTP/1.1\r\nHost: :80\r\n\r\n", BAD_HEADER),
		EARLY("GET / HTTP/1.1\r\nHost: a:x\r\n\r\n", BAD_HEADER),
		EARLY("GET / HTTP/1.1\r\nHost: http://a\r\n\r\n", BAD_HEADER),
		EARLY("GET / HTTP/1.1\r\nHost: [::1\r\n\r\n", BAD_HEADER),
		EARLY("GET / HTTP/1.1\r\nHost: a\xc3\xa9\r\n\r\n", BAD_HEADER),
		EARLY("GET http://a/ HTTP/1.1\r\nHost: b\r\n\r\n", BAD_HEADER),
		EARLY("GET http://a/ HTTP/1.1\r\nHost:\r\n\r\n", BAD_HEADER),
		EARLY("GET http://a:443/ HTTP/1.1\r\nHost: a\r\n\r\n", BAD_HEADER),
		EARLY("GET https://a:80/ HTTP/1.1\r\nHost: a\r\n\r\n", BAD_HEADER),
		EARLY("GET http://a[/ HTTP/1.1\r\nHost: a{\r\n\r\n", BAD_HEADER),
		EARLY("GET http://a~/ HTTP/1.0\r\nHost: a^\r\n\r\n", BAD_HEADER),
		EARLY("GET http://a!/ HTTP/1.0\r\nHost: a\x01\r\n\r\n", BAD_HEADER),
		EARLY("GET http://a-/ HTTP/1.0\r\nHost: a\r\n\r\n", BAD_HEADER),
		/* Letters' case apart, not every pair of bytes 0x20 apart is one of case. */
		EARLY("GET http://a0/ HTTP/1.0\r\nHost: a\x10\r\n\r\n", BAD_HEADER),
	};

	(void)state;
	http1_refusals_check(false, refusals, ARRAY_SIZE(refusals));
}

static void field_lines(void **state)
{
	static const struct http1_refusal refusals[] = {
		EARLY(HOST "X : y\r\n\r\n", BAD_HEADER),
		EARLY(HOST "X\t: y\r\n\r\n", BAD_HEADER),
		EARLY(HOST "Transfer-Encoding : chunked\r\n\r\n", BAD_HEADER),
		EARLY(HOST " X: y\r\n\r\n", BAD_HEADER),
		EARLY(HOST "\tX: y\r\n\r\n", BAD_HEADER),
		EARLY(HOST "X: y\r\n z\r\n\r\n", BAD_HEADER),
		EARLY(HOST "X: y\r\n\tz\r\n\r\n", BAD_HEADER),
		EARLY(HOST "X: y\r\n \r\n\r\n", BAD_HEADER),
		EARLY(HOST "Content-Length:\r\n 5\r\n\r\n", BAD_HEADER),
		EARLY("GET / HTTP/1.1\r\n Host: a\r\n\r\n", BAD_HEADER),
		EARLY(HOST ": y\r\n\r\n", BAD_HEADER),
		EARLY(HOST "X\r\n\r\n", BAD_HEADER),
		EARLY(HOST "X y: z\r\n\r\n", BAD_HEADER),
		EARLY(HOST "X(y): z\r\n\r\n", BAD_HEADER),
		EARLY(HOST "\"X\": z\r\n\r\n", BAD_HEADER),
		EARLY(HOST "X\xc2\xa0: z\r\n\r\n", BAD_HEADER),
		EARLY(HOST "Content-Length\x0b: 5\r\n\r\n", BAD_HEADER),
		EARLY(HOST "Content-Length\0: 5\r\n\r\n", BAD_HEADER),
		EARLY(HOST "X: a\0b\r\n\r\n", BAD_HEADER),
		EARLY(HOST "X: a\x01\r\n\r\n", BAD_HEADER),
		EARLY(HOST "X: a\x0b\r\n\r\n", BAD_HEADER),
		EARLY(HOST "X: a\x7f\r\n\r\n", BAD_HEADER),
		EARLY(HOST "Transfer-Encoding:\x0b"
			   "chunked\r\n\r\n",
		      BAD_HEADER),
		EARLY(HOST "Transfer-Encoding: chunked\x0c\r\n\r\n", BAD_HEADER),
		EARLY(HOST "X: a\rb\r\n\r\n", BAD_HEADER),
		EARLY(HOST "X: a\rContent-Length: 5\r\n\r\n", BAD_HEADER),
		EARLY(HOST "X: a\r\r\n\r\n", BAD_HEADER),
		EARLY(HOST "\rX: a\r\n\r\n", BAD_HEADER),
		EARLY(HOST "X: a\n\r\n", BARE_LF),
		EARLY(HOST "X: a\nContent-Length: 5\r\n\r\n", BARE_LF),
		EARLY(HOST "X: a\r\n\n", BARE_LF),
		EARLY(HOST "\n", BARE_LF),
		EARLY(HOST "\r\r\n", BAD_HEADER),
		EARLY(HOST "X: a\r\n\rGET", TRUNCATED),
	};

	(void)state;
	http1_refusals_check(false, refusals, ARRAY_SIZE(refusals));
}

static void status_lines(void **state)
{
	static const struct http1_refusal refusals[] = {
		EARLY("HTTP/1.1 200\r\n\r\n", BAD_HEADER),
		EARLY("HTTP/1.1\r\n\r\n", BAD_HEADER),
		EARLY("HTTP/1.1 \r\n\r\n", BAD_HEADER),
		EARLY("HTTP/1.1  200 OK\r\n\r\n", BAD_HEADER),
		EARLY("HTTP/1.1\t200 OK\r\n\r\n", BAD_HEADER),
		EARLY("HTTP/1.1 200\tOK\r\n\r\n", BAD_HEADER),
		EARLY("HTTP/1.1 20 OK\r\n\r\n", BAD_HEADER),
		EARLY("HTTP/1.1 2000 OK\r\n\r\n", BAD_HEADER),
		EARLY("HTTP/1.1 0200 OK\r\n\r\n", BAD_HEADER),
		EARLY("HTTP/1.1 099 OK\r\n\r\n", BAD_HEADER),
		EARLY("HTTP/1.1 2x0 OK\r\n\r\n", BAD_HEADER),
		EARLY("HTTP/1.1 +20 OK\r\n\r\n", BAD_HEADER),
		EARLY("HTTP/1.1 200 O\x01K\r\n\r\n", BAD_HEADER),
		EARLY("HTTP/1.1 200 O\0K\r\n\r\n", BAD_HEADER),
		EARLY("HTTP/1.1 200 O\rK\r\n\r\n", BAD_HEADER),
		EARLY("HTTP/1.1 200 \x7f\r\n\r\n", BAD_HEADER),
		EARLY("http/1.1 200 OK\r\n\r\n", BAD_HEADER),
		EARLY("ICY 200 OK\r\n\r\n", BAD_HEADER),
		EARLY("HTTP 200 OK\r\n\r\n", BAD_HEADER),
		EARLY("\r\nHTTP/1.1 200 OK\r\n\r\n", BAD_HEADER),
		EARLY("220 mail ESMTP", BAD_HEADER),
		EARLY("HTTP/2 200 OK\r\n\r\n", BAD_HEADER),
		EARLY("HTTP/2.0 200 OK\r\n\r\n", PROTOCOL),
		EARLY("HTTP/1.1 200 OK\n\r\n", BARE_LF),
		EARLY("\nHTTP/1.1 200 OK\r\n\r\n", BARE_LF),
		EARLY(OK "\n", BARE_LF),
		EARLY(OK "X: a\r\n b\r\n\r\n", BAD_HEADER),
		EARLY("H", TRUNCATED),
		EARLY(OK, TRUNCATED),
		BEGUN(OK "Content-Length: 1\r\n\r\nxx", BAD_HEADER),
		BEGUN(OK "Content-Length: 1\r\n\r\nx\r\n", BAD_HEADER),
	};

	(void)state;
	http1_refusals_check(true, refusals, ARRAY_SIZE(refusals));
}

static void protocols_that_were_not_asked_for(void **state)
{
	static const char switching[] =
		"HTTP/1.1 101 S\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n";
	static const struct http1_refusal unasked = {switching, sizeof(switching) - 1,
						     FAULT_PROTOCOL, true};
	static const struct http1_refusal unnamed[] = {
		BEGUN("HTTP/1.1 101 S\r\n\r\n", PROTOCOL),
		BEGUN("HTTP/1.1 101 S\r\nUpgrade: x\r\n\r\n", PROTOCOL),
		BEGUN("HTTP/1.1 101 S\r\nConnection: upgrade\r\n\r\n", PROTOCOL),
		BEGUN("HTTP/1.1 101 S\r\nUpgrade: x\r\nConnection: upgrade\r\nContent-Length: 1\r\n"
		      "\r\n",
		      AMBIGUOUS_LENGTH),
	};
	static const struct http1_pieces_config asked = {
		.response = true,
		.requests = {{.upgrade = true}},
	};

	(void)state;
	http1_refusals_check(true, &unasked, 1);
	for (size_t i = 0; i < ARRAY_SIZE(unnamed); i++)
		http1_refusal_check(&asked, &unnamed[i]);
}

/* What comes behind a whole message is read as the next one, and never as more of it. */
static void what_is_smuggled_behind(void **state)
{
	static const struct {
		const char *data, *last;
	} cases[] = {
		{"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nxGET /evil HTTP/1.1\r\n",
		 "start GET /evil HTTP/1.1\ntruncated\n"},
		{CHUNKED "0\r\n\r\nGET /evil HTTP/1.1\r\n",
		 "start GET /evil HTTP/1.1\ntruncated\n"},
		{HOST "\r\n5\r\nhello", "end\nbad_header\n"},
		{HOST "\r\nhello world", "end\ntruncated\n"},
		{CHUNKED "0\r\n\r\n\r\n\r\n0\r\n\r\n", "end\nbad_header\n"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		static const struct http1_pieces_config config = {.response = false};
		struct http1_pieces pieces;
		size_t len = strlen(cases[i].last), text_len;

		http1_pieces_run_cuts(&config, cases[i].data, strlen(cases[i].data), &pieces);
		text_len = strlen(pieces.text);
		assert_true(text_len > len);
		assert_string_equal(pieces.text + text_len - len, cases[i].last);
		http1_pieces_done(&pieces);
	}
}

/* Behind a tunnel's head the codec takes nothing: it is begun anew, or not used any more. */
static void nothing_behind_a_tunnel(void **state)
{
	static const char data[] = OK "\r\n";
	static const struct http1_request connect = {.connect = true};
	struct http1_piece piece = {0};
	struct frame_http1 frame;
	bool closed = true;

	(void)state;
	frame_http1_init(&frame, true);
	frame_http1_answer(&frame, &connect);
	for (size_t at = 0; at < sizeof(data) - 1 || frame_http1_due(&frame); at += piece.used)
		assert_int_equal(frame_http1_next(&frame, (const uint8_t *)data + at,
						  sizeof(data) - 1 - at, &piece),
				 FAULT_NONE);
	assert_int_equal(piece.kind, HTTP1_END);
	assert_false(frame_http1_between(&frame));
	assert_int_equal(frame_http1_next(&frame, (const uint8_t *)data, 1, &piece),
			 FAULT_PROTOCOL);
	assert_int_equal(frame_http1_end(&frame, &closed), FAULT_NONE);
	assert_false(closed);
	frame_http1_done(&frame);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(request_lines),
		cmocka_unit_test(targets),
		cmocka_unit_test(hosts),
		cmocka_unit_test(field_lines),
		cmocka_unit_test(status_lines),
		cmocka_unit_test(protocols_that_were_not_asked_for),
		cmocka_unit_test(what_is_smuggled_behind),
		cmocka_unit_test(nothing_behind_a_tunnel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
