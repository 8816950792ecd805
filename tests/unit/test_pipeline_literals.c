/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies that are JSON, or streams of it, under a label that says otherwise; in every cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "unit/flow.h"

#define OK   "HTTP/1.1 200 OK\r\n"
#define POST "POST / HTTP/1.1\r\nHost: a\r\n"
#define FORM "Content-Type: application/x-www-form-urlencoded\r\n"

static const struct flow_config responses = {
	.framing = {.kind = FRAMING_HTTP1},
	.extract = {.kind = EXTRACT_AUTO},
	.terms = {{"forbidden"}},
	.request_count = 1,
	.twice = true,
};
static const struct flow_config requests = {
	.framing = {.kind = FRAMING_HTTP1},
	.extract = {.kind = EXTRACT_AUTO},
	.terms = {{"forbidden"}},
	.request = true,
	.twice = true,
};

/* A message with this body. */
static void body(const struct flow_config *config, const char *type, const char *text,
		 enum fault fault)
{
	char data[512];
	int len = snprintf(data, sizeof(data), "%s%sContent-Length: %zu\r\n\r\n%s",
			   config->request ? POST : OK, type, strlen(text), text);
	struct flow flow;

	flow_run_splits(config, data, (size_t)len, &flow);
	if (flow.fault != fault)
		fail_msg("%s, not %s: %s", fault_name(flow.fault), fault_name(fault), data);
	assert_int_equal(flow.released, fault ? 0 : (uint64_t)len);
	flow_done(&flow);
}

/* In both directions, under each label that makes it text. */
static void denied_as_text(const char *text)
{
	static const char *const types[] = {
		"",
		"Content-Type: text/plain\r\n",
		"Content-Type: multipart/form-data; boundary=b\r\n",
		FORM,
	};

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		body(&responses, types[i], text, FAULT_BLOCKED);
		body(&requests, types[i], text, FAULT_BLOCKED);
	}
}

static void streams_under_a_wrong_label(void **state)
{
	(void)state;
	denied_as_text("data: {\"delta\":{\"content\":\"for\"}}\n\n"
		       "data: {\"delta\":{\"content\":\"bidden\"}}\n\n");
	denied_as_text("data: {\"a\":\"forbidd\\u0065n\"}\n\n");
	denied_as_text("{\"response\":\"for\"}\n{\"response\":\"bidden\"}\n");
	denied_as_text("{\"response\":\"forb\\u0069d\"}\r\n{\"response\":\"den\"}\r\n");
	denied_as_text("data: {\"arguments\":\"{\\\"c\\\":\\\"forbi\"}\n\n"
		       "data: {\"arguments\":\"dd\\\\u0065n\\\"}\"}\n\n");
	body(&responses, "Content-Type: text/plain\r\n",
	     "data: {\"a\":\"for\"}\n\ndata: {\"b\":\"bidden\"}\n\n", FAULT_NONE);
}

static void json_amid_other_text(void **state)
{
	(void)state;
	denied_as_text("--b\r\nContent-Disposition: form-data; name=\"f\"\r\n\r\n"
		       "{\"c\":\"forbidd\\u0065n\"}\r\n--b--\r\n");
	denied_as_text("\xef\xbb\xbf{\"c\":\"forbidd\\u0065n\"}");
	denied_as_text("{\"x\":NaN,\"c\":\"forbidd\\u0065n\"}");
	denied_as_text("/* x */{\"c\":\"forbidd\\u0065n\"}");
	denied_as_text("\f{\"c\":\"forbidd\\u0065n\"}");
	denied_as_text("\"forbidd\\u0065n\"");
	denied_as_text("he said \"no\" {\"c\":\"forbidd\\u0065n\"}");
	denied_as_text("5\" {\"c\":\"forbidd\\u0065n");
}

static void json_in_forms(void **state)
{
	(void)state;
	body(&requests, FORM, "a=1&payload=%7B%22c%22%3A%22forbidd%5Cu0065n%22%7D", FAULT_BLOCKED);
	body(&requests, FORM, "payload={%22c%22:[%22for%22,+%22bidden%22]}", FAULT_BLOCKED);
	body(&requests, FORM, "payload={\"c\":\"forbidd\\u0065n\"}", FAULT_BLOCKED);
	body(&requests, FORM, "payload=%22forbidd%2520\\u0065n%22", FAULT_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(streams_under_a_wrong_label),
		cmocka_unit_test(json_amid_other_text),
		cmocka_unit_test(json_in_forms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
