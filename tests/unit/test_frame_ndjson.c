/* SPDX-License-Identifier: Apache-2.0 */
/* Lines: where they end, which are messages, how long they may be; in every cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "unit/flow.h"

/* "start+payload_start..payload_end-end" of each unit; a blank one in parentheses. */
static void describe(const struct flow *flow, char *text, size_t size)
{
	size_t len = 0;

	text[0] = '\0';
	for (size_t i = 0; i < flow->units; i++) {
		const struct pipeline_unit *unit = &flow->unit[i];

		len += (size_t)snprintf(
			text + len, size - len, unit->messages ? "[%d..%d-%d]" : "(%d..%d-%d)",
			(int)unit->payload_start, (int)unit->payload_end, (int)unit->end);
	}
}

static void check(const struct flow_config *config, const char *data, const char *units,
		  enum fault fault)
{
	struct flow flow;
	char text[256];

	flow_run_splits(config, data, strlen(data), &flow);
	describe(&flow, text, sizeof(text));
	assert_string_equal(text, units);
	assert_string_equal(fault_name(flow.fault), fault_name(fault));
	assert_int_equal(flow.released, flow.framed);
	flow_done(&flow);
}

static const struct flow_config lines = {.framing = {.kind = FRAMING_NDJSON}};
static const struct flow_config any_lines = {.framing = {.kind = FRAMING_NDJSON, .any_line = true}};
static const struct flow_config last_open = {
	.framing = {.kind = FRAMING_NDJSON, .final_newline_optional = true}};

static void lines_end_with_lf_or_crlf(void **state)
{
	(void)state;
	check(&lines, "", "", FAULT_NONE);
	check(&lines, "1\n", "[0..1-2]", FAULT_NONE);
	check(&lines, "{}\r\n[]\n", "[0..2-4][4..6-7]", FAULT_NONE);
	/* One CR belongs to the delimiter; those before it, and those within, to the payload. */
	check(&lines, "{}\r\r\n", "[0..3-5]", FAULT_NONE);
	check(&lines, "{\"a\":\r1}\n", "[0..8-9]", FAULT_NONE);
	check(&lines, "1\r2\n", "", FAULT_BAD_JSON);
	check(&lines, "{}\r{}\n", "", FAULT_BAD_JSON);
	check(&lines, "\"a\rb\"\n", "", FAULT_BAD_JSON);
	/* What other line readers split at is no line end here. */
	check(&lines, "\"\xe2\x80\xa8\xe2\x80\xa9\xc2\x85\"\n", "[0..10-11]", FAULT_NONE);
	check(&lines, "1\v2\n", "", FAULT_BAD_JSON);
}

static void lines_without_a_message(void **state)
{
	(void)state;
	check(&lines, "\n", "(0..0-1)", FAULT_NONE);
	check(&lines, "\r\n\n1\n", "(0..0-2)(2..2-3)[3..4-5]", FAULT_NONE);
	check(&lines, " \t\n1\n", "(0..2-3)[3..4-5]", FAULT_NONE);
	check(&any_lines, "\n \n", "(0..0-1)[1..2-3]", FAULT_NONE);
}

static void every_line_is_one_json_text(void **state)
{
	(void)state;
	check(&lines, "{\"a\":1}\n{\"a\":1,}\n", "[0..7-8]", FAULT_BAD_JSON);
	check(&lines, "{\"a\":1}{\"b\":2}\n", "", FAULT_BAD_JSON);
	check(&lines, "{\"a\":\n1}\n", "", FAULT_BAD_JSON);
	check(&lines, "{\"q\":\"a\nb\"}\n", "", FAULT_BAD_JSON);
	check(&lines, "\xef\xbb\xbf{}\n", "", FAULT_BAD_JSON);
	check(&lines, "{\"t\":\"\xc1\xa5\"}\n", "", FAULT_BAD_UTF8);
	check(&lines, "1\n{\"t\":1,\"t\":2}\n", "[0..1-2]", FAULT_DUPLICATE_KEY);
	check(&any_lines, "{\"q\":\"a\nb\"}\n\xff\n", "[0..7-8][8..11-12][12..13-14]", FAULT_NONE);
}

static void the_last_line(void **state)
{
	struct flow_config open = lines;

	(void)state;
	check(&lines, "1\n2", "[0..1-2]", FAULT_TRUNCATED);
	check(&lines, "1\n ", "[0..1-2]", FAULT_TRUNCATED);
	check(&lines, "1\r", "", FAULT_TRUNCATED);
	check(&last_open, "1\n22", "[0..1-2][2..4-4]", FAULT_NONE);
	check(&last_open, "1\n{\"a\":2", "[0..1-2]", FAULT_TRUNCATED);
	check(&last_open, "1\n[\"a", "[0..1-2]", FAULT_TRUNCATED);
	check(&last_open, "1\n-", "[0..1-2]", FAULT_TRUNCATED);
	check(&last_open, "1\n\"\xe6\xb0", "[0..1-2]", FAULT_TRUNCATED);
	check(&last_open, "1\r", "[0..2-2]", FAULT_NONE);
	check(&last_open, "1\n  ", "[0..1-2](2..4-4)", FAULT_NONE);
	open.no_end = true;
	check(&open, "1\n2", "[0..1-2]", FAULT_NONE);
}

static void a_payload_at_the_limit_and_past_it(void **state)
{
	struct flow_config config = lines;

	(void)state;
	config.max_message = 5;
	check(&config, "12345\n", "[0..5-6]", FAULT_NONE);
	check(&config, "12345\r\n", "[0..5-7]", FAULT_NONE);
	check(&config, "123456\n", "", FAULT_TOO_LARGE);
	check(&config, "12345\r\r\n", "", FAULT_TOO_LARGE);
	check(&config, "1\n12345\n123456", "[0..1-2][2..7-8]", FAULT_TOO_LARGE);
	check(&config, "     \n      \n", "(0..5-6)", FAULT_TOO_LARGE);
	/* Inside a string an LF is at fault, at the limit too. */
	check(&config, "\"abcd\n", "", FAULT_BAD_JSON);
	config.max_message = 1;
	check(&config, "1\n\r\n2\r\n", "[0..1-2](2..2-4)[4..5-7]", FAULT_NONE);
	check(&config, "{}\n", "", FAULT_TOO_LARGE);
	config = any_lines;
	config.max_message = 3;
	check(&config, "abc\nabc\r\nabcd\n", "[0..3-4][4..7-9]", FAULT_TOO_LARGE);
	config.max_message = UINT64_MAX;
	check(&config, "abc\nabc\r\nabcd\n", "[0..3-4][4..7-9][9..13-14]", FAULT_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_end_with_lf_or_crlf),
		cmocka_unit_test(lines_without_a_message),
		cmocka_unit_test(every_line_is_one_json_text),
		cmocka_unit_test(the_last_line),
		cmocka_unit_test(a_payload_at_the_limit_and_past_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
