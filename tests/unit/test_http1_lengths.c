/* SPDX-License-Identifier: Apache-2.0 */
/* Messages whose length or coding is in doubt: refused when the head is whole, and not before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "unit/http1_pieces.h"

#define HOST "GET / HTTP/1.1\r\nHost: a\r\n"
#define OK   "HTTP/1.1 200 OK\r\n"

#define BEGUN(data, fault) HTTP1_REFUSAL(data, fault, true)

/* Field lines after which nobody knows where the message ends. */
static const char *const ambiguous[] = {
	"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
	"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
	"Transfer-Encoding: chunked\r\nContent-Length: 0\r\n",
	"Transfer-Encoding: gzip, chunked\r\nContent-Length: 0\r\n",
	"Content-Length: 5\r\nContent-Length: 0\r\n",
	"Content-Length: 5\r\nContent-Length: 5\r\n",
	"Content-Length: 5\r\nX: y\r\ncontent-length: 5\r\n",
	"Content-Length: 5, 5\r\n",
	"Content-Length: 5,\r\n",
	"Content-Length: +5\r\n",
	"Content-Length: -5\r\n",
	"Content-Length: -0\r\n",
	"Content-Length: 0x5\r\n",
	"Content-Length: 5 5\r\n",
	"Content-Length: 5.0\r\n",
	"Content-Length: 5e1\r\n",
	"Content-Length: 5;\r\n",
	"Content-Length: \"5\"\r\n",
	"Content-Length: five\r\n",
	"Content-Length:\r\n",
	"Content-Length: \t\r\n",
	"Content-Length: \xd9\xa5\r\n",
	"Content-Length: \xc2\xa0"
	"5\r\n",
	"Content-Length: 18446744073709551616\r\n",
	"Content-Length: 18446744073709551621\r\n",
	"Content-Length: 99999999999999999999\r\n",
	"Content-Length: 184467440737095516160\r\n",
	"Transfer-Encoding: identity\r\n",
	"Transfer-Encoding: identity, chunked\r\n",
	"Transfer-Encoding: chunked, identity\r\n",
	"Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n",
	"Transfer-Encoding: chunked, chunked\r\n",
	"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
	"Transfer-Encoding: chunked\r\ntransfer-encoding: x\r\n",
	"Transfer-Encoding: chunked\r\nTransfer-encoding:\r\n",
	"Transfer-Encoding: chunked, gzip\r\n",
	"Transfer-Encoding: chunked, gzip, chunked\r\n",
	"Transfer-Encoding: xchunked\r\n",
	"Transfer-Encoding: chunkedx\r\n",
	"Transfer-Encoding: chunked;q=1\r\n",
	"Transfer-Encoding: chunked chunked\r\n",
	"Transfer-Encoding: \"chunked\"\r\n",
	"Transfer-Encoding: 'chunked'\r\n",
	"Transfer-Encoding: chunked,\r\n",
	"Transfer-Encoding: ,chunked\r\n",
	"Transfer-Encoding:\r\n",
	"Transfer-Encoding: gzip\r\n",
	"Transfer-Encoding: cow\r\n",
	"Transfer-Encoding: gzip;q=1, chunked\r\n",
	"Transfer-Encoding: \xc2\xa0"
	"chunked\r\n",
	"Transfer-Encoding: chunked\xc2\xa0\r\n",
	"Content-Length: 5\r\nConnection: close, Content-Length\r\n",
	"Transfer-Encoding: chunked\r\nConnection: transfer-encoding\r\n",
};

static void lengths_in_doubt(void **state)
{
	static const char *const starts[] = {"POST / HTTP/1.1\r\nHost: a\r\n", OK,
					     "HTTP/1.1 304 \r\n"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ambiguous); i++) {
		for (size_t j = 0; j < ARRAY_SIZE(starts); j++) {
			struct http1_pieces_config config = {.response = j > 0};
			char data[256];
			struct http1_refusal refusal = {data, 0, FAULT_AMBIGUOUS_LENGTH, true};

			snprintf(data, sizeof(data), "%s%s\r\n5\r\nhello\r\n", starts[j],
				 ambiguous[i]);
			refusal.len = strlen(data);
			http1_refusal_check(&config, &refusal);
			/* The request was for the head alone: in doubt all the same. */
			config.requests[0].head = true;
			http1_refusal_check(&config, &refusal);
			/* Malformed further on, it was never begun. */
			snprintf(data, sizeof(data), "%s%sX\r\n\r\n", starts[j], ambiguous[i]);
			refusal =
				(struct http1_refusal){data, strlen(data), FAULT_BAD_HEADER, false};
			http1_refusal_check(&config, &refusal);
		}
	}
}

static void lengths_that_may_not_be(void **state)
{
	static const struct http1_refusal requests[] = {
		BEGUN("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		      AMBIGUOUS_LENGTH),
		BEGUN("CONNECT a:1 HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx",
		      AMBIGUOUS_LENGTH),
		BEGUN("CONNECT a:1 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
		      AMBIGUOUS_LENGTH),
	};
	static const struct http1_refusal responses[] = {
		BEGUN("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", AMBIGUOUS_LENGTH),
		BEGUN("HTTP/1.1 204 \r\nContent-Length: 1\r\n\r\nx", AMBIGUOUS_LENGTH),
		BEGUN("HTTP/1.1 204 \r\nTransfer-Encoding: chunked\r\n\r\n", AMBIGUOUS_LENGTH),
		BEGUN("HTTP/1.1 100 \r\nContent-Length: 1\r\n\r\nx", AMBIGUOUS_LENGTH),
		BEGUN("HTTP/1.1 103 \r\nTransfer-Encoding: chunked\r\n\r\n", AMBIGUOUS_LENGTH),
	};
	static const struct http1_refusal connect[] = {
		BEGUN(OK "Content-Length: 1\r\n\r\nx", AMBIGUOUS_LENGTH),
		BEGUN("HTTP/1.1 299 \r\nTransfer-Encoding: chunked\r\n\r\n", AMBIGUOUS_LENGTH),
	};
	static const struct http1_pieces_config connects = {
		.response = true,
		.requests = {{.connect = true}},
	};

	(void)state;
	http1_refusals_check(false, requests, ARRAY_SIZE(requests));
	http1_refusals_check(true, responses, ARRAY_SIZE(responses));
	for (size_t i = 0; i < ARRAY_SIZE(connect); i++)
		http1_refusal_check(&connects, &connect[i]);
}

static void codings_that_are_not_decoded(void **state)
{
	static const struct http1_refusal requests[] = {
		BEGUN(HOST "Transfer-Encoding: gzip, chunked\r\n\r\n", UNSUPPORTED_CODING),
		BEGUN(HOST "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n",
		      UNSUPPORTED_CODING),
		BEGUN(HOST "Transfer-Encoding: cow, chunked\r\n\r\n", UNSUPPORTED_CODING),
		BEGUN(HOST "Content-Encoding: dcb\r\nContent-Length: 1\r\n\r\nx",
		      UNSUPPORTED_CODING),
		BEGUN(HOST "Content-Encoding: gzip, gzip\r\nContent-Length: 1\r\n\r\nx",
		      UNSUPPORTED_CODING),
		BEGUN(HOST "Content-Encoding: gzip\r\nContent-Encoding: identity\r\n"
			   "Transfer-Encoding: chunked\r\n\r\n",
		      UNSUPPORTED_CODING),
		BEGUN(HOST "Content-Encoding: gzip,\r\nContent-Length: 1\r\n\r\nx",
		      UNSUPPORTED_CODING),
		BEGUN(HOST "Content-Encoding: gzip;q=1\r\nContent-Length: 1\r\n\r\nx",
		      UNSUPPORTED_CODING),
		BEGUN(HOST "Content-Encoding: *\r\nContent-Length: 1\r\n\r\nx", UNSUPPORTED_CODING),
	};
	static const struct http1_refusal responses[] = {
		BEGUN(OK "Content-Encoding: zstd-x\r\nContent-Length: 3\r\n\r\nabc",
		      UNSUPPORTED_CODING),
		BEGUN(OK "Content-Encoding: compress\r\n\r\n", UNSUPPORTED_CODING),
		BEGUN(OK "Content-Encoding: br, zstd\r\n\r\n", UNSUPPORTED_CODING),
		BEGUN(OK "Transfer-Encoding: deflate, chunked\r\n\r\n", UNSUPPORTED_CODING),
	};

	(void)state;
	http1_refusals_check(false, requests, ARRAY_SIZE(requests));
	http1_refusals_check(true, responses, ARRAY_SIZE(responses));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lengths_in_doubt),
		cmocka_unit_test(lengths_that_may_not_be),
		cmocka_unit_test(codings_that_are_not_decoded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
