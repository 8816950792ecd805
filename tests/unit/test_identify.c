/* SPDX-License-Identifier: Apache-2.0 */
/* What a client speaks, by its first bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "core/identify.h"

/* Of `len` bytes, in memory of exactly that size. */
static enum identity of(const char *bytes, size_t len)
{
	uint8_t *copy = malloc(len + !len);
	enum identity identity;

	assert_non_null(copy);
	memcpy(copy, bytes, len);
	identity = identify(copy, len);
	free(copy);
	return identity;
}

/* It is told by byte number `by`, not before, and for good. */
static void check(const char *bytes, enum identity identity, size_t by)
{
	size_t len = strlen(bytes);

	assert_true(by <= IDENTIFY_MAX);
	for (size_t i = 0; i <= len; i++)
		assert_int_equal(of(bytes, i), i < by ? IDENTITY_MORE : identity);
}

static void every_method_is_http(void **state)
{
	static const char methods[][20] = {
		"ACL",
		"BASELINE-CONTROL",
		"BIND",
		"CHECKIN",
		"CHECKOUT",
		"CONNECT",
		"COPY",
		"DELETE",
		"GET",
		"HEAD",
		"LABEL",
		"LINK",
		"LOCK",
		"MERGE",
		"MKACTIVITY",
		"MKCALENDAR",
		"MKCOL",
		"MKREDIRECTREF",
		"MKWORKSPACE",
		"MOVE",
		"OPTIONS",
		"ORDERPATCH",
		"PATCH",
		"POST",
		"PROPFIND",
		"PROPPATCH",
		"PUT",
		"QUERY",
		"REBIND",
		"REPORT",
		"SEARCH",
		"TRACE",
		"UNBIND",
		"UNCHECKOUT",
		"UNLINK",
		"UNLOCK",
		"UPDATE",
		"UPDATEREDIRECTREF",
		"VERSION-CONTROL",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
		char bytes[64] = "";

		strcat(strcat(bytes, methods[i]), " / HTTP/1.1\r\n");
		check(bytes, IDENTITY_HTTP1, strlen(methods[i]) + 1);
		/* Case counts, and so does the space. */
		bytes[strlen(methods[i])] = '\t';
		check(bytes, IDENTITY_UNKNOWN, strlen(methods[i]) + 1);
		bytes[0] |= 0x20;
		if (bytes[0] != 'c')
			check(bytes, IDENTITY_UNKNOWN, 1);
	}
}

static void headers_are_json_rpc(void **state)
{
	(void)state;
	check("Content-Length: 2\r\n\r\n{}", IDENTITY_JSONRPC_CL, 15);
	check("content-length:2\r\n\r\n{}", IDENTITY_JSONRPC_CL, 15);
	check("CONTENT-TYPE: a/b\r\n", IDENTITY_JSONRPC_CL, 13);
	check("Content-Length : 2", IDENTITY_UNKNOWN, 15);
	check("Content-Language: en", IDENTITY_UNKNOWN, 10);
	/* This far it may be either. */
	check("CONNECT a:1 HTTP/1.1", IDENTITY_HTTP1, 8);
	check("CONTENT-LENGTH: 1", IDENTITY_JSONRPC_CL, 15);
}

static void what_begins_with_another_byte(void **state)
{
	(void)state;
	check("{\"jsonrpc\":\"2.0\"}\n", IDENTITY_NDJSON, 1);
	check("[1]\n", IDENTITY_NDJSON, 1);
	check("\x16\x03\x01", IDENTITY_TLS, 1);
}

static void what_is_none_of_them(void **state)
{
	static const struct {
		const char *bytes;
		size_t by;
	} others[] = {
		{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 3},
		{"SSH-2.0-x\r\n", 2},
		{"EHLO a\r\n", 1},
		{"GETX / HTTP/1.1\r\n", 4},
		{"GET\r\n", 4},
		{"X-GET / HTTP/1.1\r\n", 1},
		{"HTTP/1.1 200 OK\r\n", 2},
		{"\r\nGET / HTTP/1.1\r\n", 1},
		{" GET / HTTP/1.1\r\n", 1},
		{" {\"a\":1}\n", 1},
		{"\xef\xbb\xbf{\"a\":1}\n", 1},
		{"\"text\"\n", 1},
		{"12\n", 1},
		{"data: x\n\n", 1},
		{"\x80\x80\x01\x03\x01", 1},
		{"\x15\x03\x01", 1},
		{"\x81\x85key!", 1},
		{"*1\r\n$4\r\nPING\r\n", 1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		check(others[i].bytes, IDENTITY_UNKNOWN, others[i].by);
	assert_int_equal(of("", 1), IDENTITY_UNKNOWN);
}

/* Whatever comes, it is told in so many bytes. */
static void no_more_bytes_are_needed(void **state)
{
	static const char some[] = "GETPUOSCKRDCH-LENorfA ";
	unsigned int seed = 1;

	(void)state;
	for (unsigned int round = 0; round < 20000; round++) {
		enum identity last = IDENTITY_MORE;
		char bytes[IDENTIFY_MAX];

		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = some[(size_t)rand_r(&seed) % (sizeof(some) - 1)];
		for (size_t i = 0; i <= sizeof(bytes); i++) {
			enum identity identity = of(bytes, i);

			assert_true(last == IDENTITY_MORE || identity == last);
			last = identity;
		}
		assert_int_not_equal(last, IDENTITY_MORE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_method_is_http),
		cmocka_unit_test(headers_are_json_rpc),
		cmocka_unit_test(what_begins_with_another_byte),
		cmocka_unit_test(what_is_none_of_them),
		cmocka_unit_test(no_more_bytes_are_needed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
