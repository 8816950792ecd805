/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks and trailers that the HTTP/1 codec refuses, and how it takes long bodies apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "unit/http1_pieces.h"

#define CHUNKED "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"

#define CASE(body, fault)                             \
	{                                             \
		body, sizeof(body) - 1, FAULT_##fault \
	}

static void malformed_chunks(void **state)
{
	static const struct {
		const char *body; /* may hold NUL */
		size_t len;
		enum fault fault;
	} cases[] = {
		CASE("5\nhello\r\n0\r\n\r\n", BARE_LF),
		CASE("2;\nxx\r\n10\r\n\r\n", BARE_LF),
		CASE("2;a\nxx\r\n0\r\n\r\n", BARE_LF),
		CASE("2;a=\"\n\"\r\nxx\r\n0\r\n\r\n", BARE_LF),
		CASE("2\r\nxx\n0\r\n\r\n", BARE_LF),
		CASE("0\n\r\n", BARE_LF),
		CASE("0\r\n\n", BARE_LF),
		CASE("0\r\nX: y\n\r\n", BARE_LF),
		CASE("0x5\r\nhello\r\n", BAD_FRAME),
		CASE("5 0\r\nhello\r\n", BAD_FRAME),
		CASE("5 \r\nhello\r\n", BAD_FRAME),
		CASE(" 5\r\nhello\r\n", BAD_FRAME),
		CASE("5\t\r\nhello\r\n", BAD_FRAME),
		CASE("+5\r\nhello\r\n", BAD_FRAME),
		CASE("-5\r\nhello\r\n", BAD_FRAME),
		CASE("-1\r\n", BAD_FRAME),
		CASE("5h\r\nhello\r\n", BAD_FRAME),
		CASE("5,5\r\nhello\r\n", BAD_FRAME),
		CASE("g\r\n", BAD_FRAME),
		CASE("\r\n", BAD_FRAME),
		CASE(";a\r\n", BAD_FRAME),
		CASE("\0\r\n", BAD_FRAME),
		CASE("5\0\r\nhello\r\n", BAD_FRAME),
		CASE("5\rhello\r\n", BAD_FRAME),
		CASE("5\r\r\nhello\r\n", BAD_FRAME),
		CASE("10000000000000000\r\n", BAD_FRAME),
		CASE("00000000000000005\r\nhello\r\n", BAD_FRAME),
		CASE("2\r\nok\r\n\r\n\r\n", BAD_FRAME),
		CASE("4\r\nabcd0\r\n\r\n", BAD_FRAME),
		CASE("4\r\nabcde\r\n0\r\n\r\n", BAD_FRAME),
		CASE("4\r\nabcd\rX", BAD_FRAME),
		CASE("4\r\nabcd\r\r\n", BAD_FRAME),
		CASE("4\r\nabcd\r\n\r\n", BAD_FRAME),
		CASE("2;\r\nxx\r\n", BAD_FRAME),
		CASE("2;;a\r\nxx\r\n", BAD_FRAME),
		CASE("2; a\r\nxx\r\n", BAD_FRAME),
		CASE("2 ;a\r\nxx\r\n", BAD_FRAME),
		CASE("2;a \r\nxx\r\n", BAD_FRAME),
		CASE("2;a =b\r\nxx\r\n", BAD_FRAME),
		CASE("2;a= b\r\nxx\r\n", BAD_FRAME),
		CASE("2;a=\r\nxx\r\n", BAD_FRAME),
		CASE("2;=b\r\nxx\r\n", BAD_FRAME),
		CASE("2;a=b=c\r\nxx\r\n", BAD_FRAME),
		CASE("2;a=\"b\r\nxx\r\n", BAD_FRAME),
		CASE("2;a=\"b\r\n\"\r\nxx\r\n", BAD_FRAME),
		CASE("2;a=\"b\\\r\nxx\r\n", BAD_FRAME),
		CASE("2;a=\"b\\\"\r\nxx\r\n", BAD_FRAME),
		CASE("2;a=\"b\"c\r\nxx\r\n", BAD_FRAME),
		CASE("2;a=\"b\x01\"\r\nxx\r\n", BAD_FRAME),
		CASE("2;a=\"\\\x01\"\r\nxx\r\n", BAD_FRAME),
		CASE("2;\"a\"=b\r\nxx\r\n", BAD_FRAME),
		CASE("2;a\rb\r\nxx\r\n", BAD_FRAME),
		CASE("2;a\r\r\nxx\r\n", BAD_FRAME),
		CASE("2;a\xc3\xa9\r\nxx\r\n", BAD_FRAME),
		CASE("0\r\nContent-Length: 5\r\n\r\n", BAD_HEADER),
		CASE("0\r\ntransfer-encoding: chunked\r\n\r\n", BAD_HEADER),
		CASE("0\r\nHost: b\r\n\r\n", BAD_HEADER),
		CASE("0\r\nContent-Type: text/html\r\n\r\n", BAD_HEADER),
		CASE("0\r\nContent-Encoding: gzip\r\n\r\n", BAD_HEADER),
		CASE("0\r\nX : y\r\n\r\n", BAD_HEADER),
		CASE("0\r\n X: y\r\n\r\n", BAD_HEADER),
		CASE("0\r\nX\r\n\r\n", BAD_HEADER),
		CASE("0\r\nGET / HTTP/1.1\r\n\r\n", BAD_HEADER),
		CASE("0\r\nX: a\0b\r\n\r\n", BAD_HEADER),
		CASE("0\r\nX: y\r\n z\r\n\r\n", BAD_HEADER),
		CASE("", TRUNCATED),
		CASE("5", TRUNCATED),
		CASE("5\r", TRUNCATED),
		CASE("5;", TRUNCATED),
		CASE("5\r\nhel", TRUNCATED),
		CASE("3\r\ncut", TRUNCATED),
		CASE("3\r\ncut\r", TRUNCATED),
		CASE("3\r\ncut\r\n", TRUNCATED),
		CASE("3\r\ncut\r\n0\r\n", TRUNCATED),
		CASE("3\r\ncut\r\n0\r\n\r", TRUNCATED),
		CASE("0\r\nX: y\r\n", TRUNCATED),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		static const struct http1_pieces_config config = {.response = false};
		const size_t head = sizeof(CHUNKED) - 1;
		struct http1_pieces pieces;
		char data[256];

		memcpy(data, CHUNKED, head);
		memcpy(data + head, cases[i].body, cases[i].len + 1);
		http1_pieces_run_cuts(&config, data, head + cases[i].len, &pieces);
		if (pieces.fault != cases[i].fault)
			fail_msg("'%s': expected %s; got\n%s", cases[i].body,
				 fault_name(cases[i].fault), pieces.text);
		assert_non_null(strstr(pieces.text, "\nhead chunked\n"));
		http1_pieces_done(&pieces);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(malformed_chunks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
