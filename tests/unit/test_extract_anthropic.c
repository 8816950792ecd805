/* SPDX-License-Identifier: Apache-2.0 */
/* Anthropic's messages: texts by block, tools held, what is over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "unit/extracted.h"

#define KIND EXTRACT_ANTHROPIC
#define DELTA(index, member, text)                                                                \
	"{\"type\":\"content_block_delta\",\"index\":" index ",\"delta\":{\"" member "\":\"" text \
	"\"}}\n"
#define STOP(index) "{\"type\":\"content_block_stop\",\"index\":" index "}\n"
#define OVER	    "{\"type\":\"message_stop\"}\n"

static void each_text_has_its_channel(void **state)
{
	(void)state;
	extracted_check(
		KIND,
		DELTA("0", "text", "Hel") DELTA("1", "thinking", "a") DELTA("0", "text", "lo")
			DELTA("1", "signature", "s") DELTA("2", "partial_json", "{\\\"b")
				DELTA("2", "partial_json", "\\\":1}") DELTA("3", "content", "c"),
		"b0.text=Hello;b1.thinking=a;b1.signature=s;b2.json={\"b\":1};"
		"b3.compaction=c;",
		FAULT_NONE);
	extracted_check(
		KIND,
		"{\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":"
		"\"tool_use\",\"id\":\"x\",\"name\":\"get\",\"input\":{ \"a\":[\"v\"]}}}\n"
		"{\"index\":2,\"content_block\":{\"type\":\"mcp_tool_result\",\"content\":["
		"{\"type\":\"text\",\"text\":\"r\"},{\"text\":\"s\"}]}}\n"
		"{\"index\":3,\"content_block\":{\"text\":\"t\",\"thinking\":\"u\",\"content\":"
		"\"v\"}}\n",
		"b1.type=tool_use;content_block.id=x;b1.name=get;content_block.input.a=v;"
		"b1.input={ \"a\":[\"v\"]};b2.type=mcp_tool_result;"
		"content_block.content.type=text;b2.result=rs;b3.text=t;b3.thinking=u;"
		"b3.compaction=v;",
		FAULT_NONE);
	extracted_check(KIND,
			"{\"index\":0,\"delta\":{\"type\":\"citations_delta\",\"citation\":{"
			"\"cited_text\":\"q\",\"title\":\"t\"}}}\n"
			"{\"error\":{\"message\":\"no\"}}\n",
			"b0.cited_text=q;delta.citation.title=t;error=no;", FAULT_NONE);
}

/* What a message or a block begins with, its deltas go on with. */
static void a_text_begins_before_its_deltas(void **state)
{
	static const char message[] =
		"{\"type\":\"message_start\",\"message\":{\"content\":[{\"text\":\"x\"},"
		"{\"text\":\"for\"}]}}\n" DELTA("1", "text", "bidden");
	static const char block[] =
		"{\"index\":1,\"content_block\":{\"thinking\":\"for\"}}\n" DELTA("1", "thinking",
										 "bidden");

	(void)state;
	extracted_check_term(KIND, message, true, 0);
	extracted_check_term(KIND, block, true, 0);
}

static void members_in_any_order(void **state)
{
	(void)state;
	extracted_check_orders(KIND,
			       (const char *const[]){"\"type\":\"content_block_delta\"",
						     "\"index\":7",
						     "\"delta\":{\"type\":\"text_delta\","
						     "\"text\":\"a\\ud83d\\ude00\\ud83d\"}"},
			       "b7.text=a\xf0\x9f\x98\x80\xef\xbf\xbd;");
	extracted_check_orders(
		KIND,
		(const char *const[]){"\"content_block\":{\"name\":\"f\",\"input\":{\"x\":1}}",
				      "\"delta\":{\"partial_json\":\"{}\",\"text\":\"t\"}",
				      "\"index\":1023"},
		"b1023.name=f;b1023.input={\"x\":1};b1023.json={};b1023.text=t;");
	/* Without an index it is the first. */
	extracted_check_orders(
		KIND, (const char *const[]){"\"delta\":{\"text\":\"a\"}", "\"x\":1", "\"y\":[]"},
		"b0.text=a;");
}

static void terms_split_over_deltas(void **state)
{
	static const char interleaved[] =
		DELTA("0", "text", "for") DELTA("1", "text", "x") DELTA("0", "text", "bidden");
	static const char blocks[] = DELTA("0", "text", "for") DELTA("1", "text", "bidden");
	static const char fields[] = DELTA("0", "text", "for") DELTA("0", "thinking", "bidden");
	static const char whole[] = "{\"delta\":{\"citation\":{\"cited_text\":\"for\"}}}\n"
				    "{\"delta\":{\"citation\":{\"cited_text\":\"bidden\"}}}\n";

	(void)state;
	extracted_check_term(KIND, interleaved, true, 0);
	extracted_check_term(KIND, blocks, false, strlen(blocks));
	extracted_check_term(KIND, fields, false, strlen(fields));
	extracted_check_term(KIND, whole, false, strlen(whole));
	extracted_check_term(KIND, DELTA("0", "text", "ok") DELTA("0", "partial_json", "forbidden"),
			     true, strlen(DELTA("0", "text", "ok")));
	/* The end of a block is not the end of what a reader goes on with. */
	extracted_check_term(KIND, DELTA("0", "text", "for") STOP("0") DELTA("0", "text", "bidden"),
			     true, 0);
}

static void tools_are_held_until_they_are_complete(void **state)
{
	static const char before[] = DELTA("0", "text", "ok");
	static const char start[] =
		"{\"index\":1,\"content_block\":{\"type\":\"tool_use\",\"name\":\"f\"}}\n";
	char data[1024];

	(void)state;
	snprintf(data, sizeof(data), "%s%s%s", before, start, DELTA("1", "partial_json", "{}"));
	extracted_check_held(KIND, data, strlen(before));
	strcat(data, STOP("0") DELTA("0", "text", "x"));
	extracted_check_held(KIND, data, strlen(before));
	strcat(data, STOP("1"));
	extracted_check_held(KIND, data, strlen(data));
	strcat(data, DELTA("1", "partial_json", "{}"));
	extracted_check_held(KIND, data, strlen(data) - strlen(DELTA("1", "partial_json", "{}")));
	strcat(data, OVER);
	extracted_check_held(KIND, data, strlen(data));
	/* An end whose index comes before its type, or is none. */
	snprintf(data, sizeof(data), "%s{\"index\":1,\"type\":\"content_block_stop\"}\n", start);
	extracted_check_held(KIND, data, strlen(data));
	snprintf(data, sizeof(data), "%s{\"index\":\"1\",\"type\":\"content_block_stop\"}\n",
		 start);
	extracted_check_held(KIND, data, 0);
}

/* An index matters where a text has it. */
static void indexes_that_are_none(void **state)
{
	static const char *const bad[] = {"-1",	  "1.5",  "1e2", "\"0\"", "\"\\ud800\"",
					  "null", "true", "{}",	 "[0]"};
	char data[256];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		snprintf(data, sizeof(data), "{\"index\":%s,\"delta\":{\"text\":\"a\"}}\n", bad[i]);
		extracted_check(KIND, data, "", FAULT_BAD_JSON);
		snprintf(data, sizeof(data), "{\"delta\":{\"text\":\"a\"},\"index\":%s}\n", bad[i]);
		extracted_check(KIND, data, "", FAULT_BAD_JSON);
		snprintf(data, sizeof(data), "{\"delta\":{\"text\":\"\"},\"index\":%s}\n", bad[i]);
		extracted_check_term(KIND, data, false, strlen(data));
	}
	extracted_check(KIND, DELTA("1024", "text", "a"), "", FAULT_TOO_LARGE);
	extracted_check(KIND, DELTA("99999999999999999999", "text", "a"), "", FAULT_TOO_LARGE);
	extracted_check(KIND, DELTA("1024", "text", ""), "", FAULT_NONE);
	extracted_check(KIND, DELTA("0", "text", "a\",\"text\":\"b"), "", FAULT_DUPLICATE_KEY);
	extracted_check(KIND, "{\"index\":0,\"index\":0}\n", "", FAULT_DUPLICATE_KEY);
}

static void shapes_that_are_others(void **state)
{
	(void)state;
	extracted_check(KIND,
			"{\"delta\":[{\"text\":\"a\"}],\"content_block\":\"b\",\"x\":{\"delta\":{"
			"\"text\":\"c\"}}}\n"
			"{\"delta\":{\"text\":[\"d\",{\"e\":\"f\"}],\"thinking\":null,"
			"\"partial_json\":1,\"citation\":\"g\",\"delta\":{\"text\":\"h\"}}}\n"
			"[{\"index\":0,\"delta\":{\"text\":\"i\"}}]\n",
			"delta.text=adi;content_block=b;x.delta.text=c;delta.text.e=f;"
			"delta.citation=g;delta.delta.text=h;",
			FAULT_NONE);
}

static void what_is_over(void **state)
{
	(void)state;
	extracted_check_complete(KIND, DELTA("0", "text", "a") STOP("0") OVER);
	extracted_check_complete(KIND, "{}\n{\"x\":1,\"type\":\"message\\u005fstop\"}\n");
}

static void every_allocation_may_fail(void **state)
{
	(void)state;
	extracted_check_allocations(KIND,
				    "{\"delta\":{\"text\":\"a\\ud83d\",\"thinking\":\"b\"},"
				    "\"content_block\":{\"name\":\"f\",\"input\":{\"a\":[1]}},"
				    "\"index\":3}\n" DELTA("1", "text", "c") OVER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_text_has_its_channel),
		cmocka_unit_test(a_text_begins_before_its_deltas),
		cmocka_unit_test(members_in_any_order),
		cmocka_unit_test(terms_split_over_deltas),
		cmocka_unit_test(tools_are_held_until_they_are_complete),
		cmocka_unit_test(indexes_that_are_none),
		cmocka_unit_test(shapes_that_are_others),
		cmocka_unit_test(what_is_over),
		cmocka_unit_test(every_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
