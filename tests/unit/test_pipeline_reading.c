/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies that are not quite what their head says they are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "unit/flow.h"

#define OK	"HTTP/1.1 200 OK\r\n"
#define CHUNKED "Transfer-Encoding: chunked\r\n\r\n"
#define LAST	"0\r\n\r\n"

/* sizeof(data) counts the NUL that ends it. */
#define ENDS(data, fault, released) ends(data, sizeof(data) - 1, fault, released)
#define CLEAN(data)		    ENDS(data, FAULT_NONE, sizeof(data) - 1)

static void ends(const char *data, size_t len, enum fault fault, uint64_t released)
{
	static const struct flow_config responses = {
		.framing = {.kind = FRAMING_HTTP1},
		.extract = {.kind = EXTRACT_AUTO},
		.terms = {{"bomb"}},
		.request_count = 1,
	};
	struct flow flow;

	flow_run_splits(&responses, data, len, &flow);
	assert_string_equal(fault_name(flow.fault), fault_name(fault));
	assert_int_equal(flow.released, released);
	flow_done(&flow);
}

static void an_empty_body_is_no_malformed_document(void **state)
{
	(void)state;
	CLEAN(OK "Content-Type: application/json\r\n" CHUNKED LAST);
	CLEAN(OK "Content-Type: text/plain\r\n" CHUNKED LAST);
	CLEAN(OK CHUNKED LAST);
	CLEAN(OK "Content-Type: application/json\r\n\r\n");
	ENDS(OK "Content-Type: application/json\r\n" CHUNKED "1\r\n \r\n" LAST, FAULT_BAD_JSON, 0);
}

/* Nobody says so, and some readers find out by the zeros. */
static void a_text_in_utf_16_is_refused(void **state)
{
	(void)state;
	ENDS(OK "Content-Length: 8\r\n\r\nb\0o\0m\0b\0", FAULT_BAD_UTF8, 0);
	ENDS(OK "Content-Type: text/plain\r\nContent-Length: 8\r\n\r\n\0b\0o\0m\0b", FAULT_BAD_UTF8,
	     0);
	ENDS(OK "Content-Type: text/html\r\n" CHUNKED "4\r\nbo\0\0\r\n" LAST, FAULT_BAD_UTF8, 0);
	ENDS(OK "Content-Length: 5\r\n\r\nbomb\0", FAULT_BLOCKED, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_body_is_no_malformed_document),
		cmocka_unit_test(a_text_in_utf_16_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
