/* SPDX-License-Identifier: Apache-2.0 */
/* Well-formed messages of HTTP/1: every kind of body, both directions, in every cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "unit/allocation.h"
#include "unit/http1_pieces.h"

#define POST   "POST /v1 HTTP/1.1\r\nHost: a\r\n"
#define POSTED "start POST /v1 HTTP/1.1\nfield Host: a\n"
#define OK     "HTTP/1.1 200 OK\r\n"
#define OKED   "start HTTP/1.1 200 OK\n"

static void check(const struct http1_pieces_config *config, const char *data, const char *expected)
{
	struct http1_pieces pieces;

	http1_pieces_run_splits(config, data, strlen(data), &pieces);
	assert_string_equal(pieces.text, expected);
	http1_pieces_done(&pieces);
}

static void check_request(const char *data, const char *expected)
{
	static const struct http1_pieces_config config = {.response = false};

	check(&config, data, expected);
}

static void check_response(const char *data, const char *expected)
{
	static const struct http1_pieces_config config = {.response = true};

	check(&config, data, expected);
}

static void requests_without_a_body(void **state)
{
	(void)state;
	check_request("GET /x?y=%20 HTTP/1.1\r\nHost: a\r\n\r\n",
		      "start GET /x?y=%20 HTTP/1.1\nfield Host: a\nhead none\nend\nclean\n");
	check_request("GET / HTTP/1.0\r\n\r\n", "start GET / HTTP/1.0\nhead none\nend\nclean\n");
	check_request("HEAD / HTTP/1.1\r\nhOsT:\r\n\r\n",
		      "start HEAD / HTTP/1.1\nfield hOsT:\nhead none HEAD\nend\nclean\n");
	check_request(POST "Content-Length: 0\r\n\r\n",
		      POSTED "field Content-Length: 0\nhead none\nend\nclean\n");
	check_request("", "clean\n");
}

static void bodies_of_a_length(void **state)
{
	(void)state;
	check_request(POST "Content-Length: 3\r\n\r\na\nb",
		      POSTED "field Content-Length: 3\nhead length=3\nbody a\\0ab\nend\nclean\n");
	check_request(POST "Content-Length:\t 0003 \t\r\n\r\nabc",
		      POSTED "field Content-Length:\\09 0003 \\09\nhead length=3\nbody abc\nend\n"
			     "clean\n");
	check_response(OK "Content-Length: 18446744073709551615\r\n\r\nab",
		       OKED "field Content-Length: 18446744073709551615\n"
			    "head length=18446744073709551615 200\nbody ab\ntruncated\n");
}

static void bodies_in_chunks(void **state)
{
	(void)state;
	check_response(OK "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
		       OKED "field Transfer-Encoding: chunked\nhead chunked 200\n"
			    "body hello\nchunk\nchunk-end\nend\nclean\n");
	check_request(POST "transfer-encoding:Chunked\t\r\n\r\n"
			   "00A;x;y=\"q;\\\"z\"\r\n0123456789\r\n1;~=!\r\n\r\r\n000;last\r\n\r\n",
		      POSTED "field transfer-encoding:Chunked\\09\nhead chunked\n"
			     "ext ;x;y=\"q;\\5c\"z\"\nbody 0123456789\nchunk\nchunk-end\n"
			     "ext ;~=!\nbody \\0d\nchunk\nchunk-end\next ;last\nend\nclean\n");
	check_request(POST "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		      POSTED "field Transfer-Encoding: chunked\nhead chunked\nend\nclean\n");
	/* Sizes of every case and of all the digits that there may be. */
	check_request(POST "Transfer-Encoding: chunked\r\n\r\nfFFFFffffffffffA\r\nx",
		      POSTED "field Transfer-Encoding: chunked\nhead chunked\nbody x\ntruncated\n");
}

static void trailers(void **state)
{
	(void)state;
	check_response(OK
		       "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-Foo: bar\r\nY:\r\n\r\n"
		       "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nz",
		       OKED "field Transfer-Encoding: chunked\nhead chunked 200\nbody abc\nchunk\n"
			    "chunk-end\nfield X-Foo: bar\nfield Y:\nend\n" OKED
			    "field Content-Length: 1\nhead length=1 200\nbody z\nend\nclean\n");
}

static void bodies_until_the_end(void **state)
{
	(void)state;
	check_response(OK "\r\nab\r\ncd", OKED "head close 200\nbody ab\\0d\\0acd\nclose\n");
	check_response("HTTP/1.0 200 \r\n\r\n", "start HTTP/1.0 200 \nhead close 200\nclose\n");
	check_response("HTTP/1.1 999 \t\xff\r\n\r\n",
		       "start HTTP/1.1 999 \\09\\ff\nhead close 999\nclose\n");
}

static void pipelining(void **state)
{
	(void)state;
	check_request(POST "Content-Length: 2\r\n\r\n{}" POST "Content-Length: 3\r\n\r\n[1]"
			   "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
		      POSTED "field Content-Length: 2\nhead length=2\nbody {}\nend\n" POSTED
			     "field Content-Length: 3\nhead length=3\nbody [1]\nend\n"
			     "start GET / HTTP/1.1\nfield Host: a\nhead none\nend\nclean\n");
	/* Empty lines belong to the request behind them, and are nothing without one. */
	check_request("\r\n\r\n" POST "Content-Length: 2\r\n\r\n{}\r\nGET / HTTP/1.0\r\n\r\n\r\n\r",
		      POSTED "field Content-Length: 2\nhead length=2\nbody {}\nend\n"
			     "start GET / HTTP/1.0\nhead none\nend\nclean\n");
}

static void targets_and_hosts(void **state)
{
	static const char *const good[][2] = {
		{"GET /a//../%zz|{}\\^`\"<>\xc3\xa9", "a"},
		{"OPTIONS *", "a:80"},
		{"CONNECT a.example:443", "a.example"},
		{"CONNECT [::1]:443", "[::1]:443"},
		{"GET http://a.example", "A.Example"},
		{"GET HTTP://a.example:80?q", "a.example"},
		{"GET http://a.example/x", "a.example:80"},
		{"GET https://a.example:443/x", "a.example"},
		{"GET https://a.example:80/x", "a.example:80"},
		{"GET http://[fe80::1%25x]:8080/", "[FE80::1%25x]:8080"},
		{"get /", ""},
		{"M-SEARCH!#$%&'*+-.^_`|~09 /", "a_b~c!$&'()*+,;=:"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		char data[256];
		struct http1_pieces pieces;
		static const struct http1_pieces_config config = {.response = false};

		snprintf(data, sizeof(data), "%s HTTP/1.1\r\nHost: %s\r\n\r\n", good[i][0],
			 good[i][1]);
		http1_pieces_run_splits(&config, data, strlen(data), &pieces);
		if (pieces.fault)
			fail_msg("'%s', host '%s': %s", good[i][0], good[i][1], pieces.text);
		http1_pieces_done(&pieces);
	}
}

static void responses_without_a_body(void **state)
{
	static const struct http1_pieces_config config = {
		.response = true,
		.requests = {{.head = true}, {0}, {0}, {0}},
	};

	(void)state;
	check(&config,
	      OK "Content-Length: 1234\r\n\r\n"
		 "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n"
		 "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n" OK
		 "Content-Length: 2\r\n\r\nok",
	      OKED
	      "field Content-Length: 1234\nhead none 200\nend\n"
	      "start HTTP/1.1 304 Not Modified\nfield Transfer-Encoding: chunked\n"
	      "head none 304\nend\n"
	      "start HTTP/1.1 204 No Content\nfield Content-Length: 0\nhead none 204\nend\n" OKED
	      "field Content-Length: 2\nhead length=2 200\nbody ok\nend\nclean\n");
}

static void interim_responses(void **state)
{
	static const struct http1_pieces_config config = {
		.response = true,
		.requests = {{.head = true}, {.upgrade = true}},
	};

	(void)state;
	check(&config,
	      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" OK
	      "\r\nHTTP/1.1 102 \r\n\r\n" OK "\r\nb",
	      "start HTTP/1.1 100 Continue\nhead none 100 interim\nend\n"
	      "start HTTP/1.1 103 Early Hints\nfield Link: x\nhead none 103 interim\nend\n" OKED
	      "head none 200\nend\nstart HTTP/1.1 102 \nhead none 102 interim\nend\n" OKED
	      "head close 200\nbody b\nclose\n");
}

static void tunnels(void **state)
{
	static const struct http1_pieces_config connect = {
		.response = true,
		.requests = {{.connect = true}, {.connect = true}},
	};
	static const struct http1_pieces_config upgrade = {
		.response = true,
		.requests = {{.upgrade = true}},
	};

	(void)state;
	check(&connect, "HTTP/1.1 407 No\r\nContent-Length: 1\r\n\r\nx" OK "\r\n\x16\x03",
	      "start HTTP/1.1 407 No\nfield Content-Length: 1\nhead length=1 407\nbody "
	      "x\nend\n" OKED "head tunnel 200\nend\nclean\n");
	check(&connect, "HTTP/1.1 204 \r\nContent-Length: 0\r\n\r\n",
	      "start HTTP/1.1 204 \nfield Content-Length: 0\nhead tunnel 204\nend\nclean\n");
	check(&upgrade,
	      "HTTP/1.1 101 S\r\nUpgrade: websocket\r\nConnection: keep-alive, "
	      "Upgrade\r\n\r\n\x81\x01",
	      "start HTTP/1.1 101 S\nfield Upgrade: websocket\nfield Connection: keep-alive, "
	      "Upgrade\n"
	      "head tunnel 101\nend\nclean\n");
}

static void what_a_head_says(void **state)
{
	static const struct {
		const char *fields, *head;
	} cases[] = {
		{"Expect: 100-continue\r\nContent-Length: 9\r\n", "length=9 expect"},
		{"Expect: x=\"y\", 100-Continue\r\nTransfer-Encoding: chunked\r\n",
		 "chunked expect"},
		{"Expect: 100-continue\r\n", "none"},
		{"Expect: 200-ok\r\nContent-Length: 9\r\n", "length=9"},
		{"Upgrade: websocket\r\nConnection: Upgrade\r\n", "none upgrade"},
		{"Connection: TE\r\nConnection: close,\t, UPGRADE\r\nUpgrade: h2c\r\n",
		 "none upgrade"},
		{"Upgrade: websocket\r\nConnection: close\r\n", "none"},
		{"Upgrade:\r\nConnection: upgrade\r\n", "none"},
		{"Connection: upgrade, te\r\n", "none"},
		{"Content-Encoding: gzip\r\nContent-Length: 9\r\n", "length=9 gzip"},
		{"Content-Encoding: X-GZIP\r\nContent-Length: 9\r\n", "length=9 gzip"},
		{"Content-Encoding: Deflate\r\nContent-Length: 9\r\n", "length=9 deflate"},
		{"Content-Encoding: identity\r\nContent-Length: 9\r\n", "length=9"},
		{"Content-Encoding:\r\nContent-Length: 9\r\n", "length=9"},
		{"Content-Encoding: br\r\nContent-Length: 9\r\n", "length=9 br"},
		{"Content-Encoding: Zstd\r\nContent-Length: 9\r\n", "length=9 zstd"},
		{"Content-Encoding: compress\r\nContent-Length: 0\r\n", "none"},
		{"Content-Encoding: br, gzip\r\n", "none"},
		{"Content-Type: application/json; charset=utf-8\r\nContent-Length: 9\r\n",
		 "length=9 json"},
		{"Content-Type: text/event-stream\r\nContent-Length: 9\r\n", "length=9 sse"},
		{"Content-Type: application/x-ndjson\r\n", "none lines"},
		{"Content-Type: text/html\r\nContent-Type: text/html\r\n", "none text"},
		{"Content-Type: text/html\r\nContent-Type: text/event-stream\r\n", "none opaque"},
		{"Content-Type: text/html, text/html\r\n", "none opaque"},
		{"Content-Type:\r\n", "none opaque"},
		{"Content-Type: image/png\r\nContent-Type: text/html\r\n", "none opaque"},
		{"X-Content-Length: x\r\nContent-Lengt: 5\r\nTransfer_Encoding: gzip\r\n", "none"},
		{"X: \x80\xff \t~!\r\nY:\t\r\nZ::\r\n", "none"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		static const struct http1_pieces_config config = {.response = false};
		char data[512], head[64];
		struct http1_pieces pieces;

		snprintf(data, sizeof(data), POST "%s\r\n", cases[i].fields);
		snprintf(head, sizeof(head), "\nhead %s\n", cases[i].head);
		http1_pieces_run_splits(&config, data, strlen(data), &pieces);
		if (!strstr(pieces.text, head))
			fail_msg("%s: %s", cases[i].fields, pieces.text);
		http1_pieces_done(&pieces);
	}
	/* Of these a server of HTTP/1.0 knows nothing. */
	check_request("POST / HTTP/1.0\r\nUpgrade: x\r\nConnection: upgrade\r\nExpect: "
		      "100-continue\r\nContent-Length: 1\r\n\r\nx",
		      "start POST / HTTP/1.0\nfield Upgrade: x\nfield Connection: upgrade\n"
		      "field Expect: 100-continue\nfield Content-Length: 1\nhead length=1\nbody x\n"
		      "end\nclean\n");
	/* What only requests have says nothing in a response. */
	check_response(OK
		       "Host: a b\r\nHost: c\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx",
		       OKED "field Host: a b\nfield Host: c\nfield Expect: 100-continue\n"
			    "field Content-Length: 1\nhead length=1 200\nbody x\nend\nclean\n");
}

static void codings_where_nothing_is_coded(void **state)
{
	static const struct http1_pieces_config config = {
		.response = true,
		.requests = {{.head = true}, {.head = true}},
	};

	(void)state;
	check(&config,
	      OK "Content-Encoding: dcb\r\n\r\n" OK "Transfer-Encoding: gzip, chunked\r\n\r\n"
		 "HTTP/1.1 304 \r\nContent-Encoding: zstd, br\r\n\r\n",
	      OKED "field Content-Encoding: dcb\nhead none 200\nend\n" OKED
		   "field Transfer-Encoding: gzip, chunked\nhead none 200\nend\n"
		   "start HTTP/1.1 304 \nfield Content-Encoding: zstd, br\nhead none 304\nend\n"
		   "clean\n");
}

/* Where each piece ends, in bytes. */
static void offsets(void **state)
{
	static const struct http1_pieces_config config = {.response = false};
	struct http1_pieces pieces;
	static const char data[] = "\r\nPOST / HTTP/1.0\r\nX: y\r\nContent-Length: 1\r\n\r\nzGET / "
				   "HTTP/1.1\r\nHost:\r\nTransfer-Encoding: chunked\r\n\r\n"
				   "1;a\r\nx\r\n2\r\nxy\r\n0\r\nT: t\r\n\r\n";

	(void)state;
	http1_pieces_run_splits(&config, data, sizeof(data) - 1, &pieces);
	assert_string_equal(pieces.ends,
			    "19 25 44 46 47 63 70 98 100 105 106 108 113 115 124 126 ");
	http1_pieces_done(&pieces);
}

/* The n-th allocation fails; was there one? The data comes `most` bytes at a time. */
static bool fails(unsigned long n, const char *data, size_t len, size_t most)
{
	struct frame_http1 frame;
	enum fault fault = FAULT_NONE;
	bool failed;

	frame_http1_init(&frame, false);
	allocation_fail_at(n);
	for (size_t at = 0; at < len && !fault;) {
		struct http1_piece piece = {0};

		fault = frame_http1_next(&frame, (const uint8_t *)data + at, MIN(most, len - at),
					 &piece);
		at += piece.used;
	}
	failed = allocation_failed();
	assert_int_equal(fault, failed ? FAULT_NO_MEMORY : FAULT_NONE);
	frame_http1_done(&frame);
	return failed;
}

static void memory_runs_out(void **state)
{
	static const char data[] =
		POST "Transfer-Encoding: chunked\r\n\r\n1;abc\r\nx\r\n0\r\n"
		     "X-A-Trailer: that is not short, and comes in pieces\r\n\r\n";
	const size_t len = sizeof(data) - 1;
	unsigned long n = 0;

	(void)state;
	while (fails(n, data, len, 1))
		n++;
	assert_true(n >= 3);
	/* The start line is kept even where nothing is cut. */
	assert_true(fails(0, data, len, len));
	assert_false(fails(1, data, len, len));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_without_a_body),
		cmocka_unit_test(bodies_of_a_length),
		cmocka_unit_test(bodies_in_chunks),
		cmocka_unit_test(trailers),
		cmocka_unit_test(bodies_until_the_end),
		cmocka_unit_test(pipelining),
		cmocka_unit_test(targets_and_hosts),
		cmocka_unit_test(responses_without_a_body),
		cmocka_unit_test(interim_responses),
		cmocka_unit_test(tunnels),
		cmocka_unit_test(what_a_head_says),
		cmocka_unit_test(codings_where_nothing_is_coded),
		cmocka_unit_test(offsets),
		cmocka_unit_test(memory_runs_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
