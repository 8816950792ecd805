/* SPDX-License-Identifier: Apache-2.0 */
/* OpenAI's responses: what a delta is by the document's type, repetitions, calls held. */
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

#define KIND EXTRACT_OPENAI_RESPONSES
#define DELTA(type, output, text)                                                                \
	"{\"type\":\"response." type ".delta\",\"output_index\":" output ",\"content_index\":0," \
	"\"delta\":\"" text "\"}\n"
#define DONE(type, output) "{\"type\":\"response." type "\",\"output_index\":" output "}\n"

static void each_delta_has_its_channel(void **state)
{
	(void)state;
	extracted_check(KIND,
			DELTA("output_text", "0", "Hel") DELTA("refusal", "0", "r")
				DELTA("output_text", "0", "lo") DELTA("reasoning_text", "1", "s")
					DELTA("function_call_arguments", "2",
					      "{") DELTA("mcp_call_arguments", "3", "m")
						DELTA("custom_tool_call_input", "4", "i") DELTA(
							"code_interpreter_call_code", "5", "c")
							DELTA("output_audio_transcript", "6", "t"),
			"out0.text=Hello;out0.refusal=r;out1.reasoning_text=s;out2.arguments={;"
			"out3.arguments=m;out4.input=i;out5.code=c;out6.transcript=t;",
			FAULT_NONE);
	extracted_check(KIND,
			"{\"type\":\"response.output_text.delta\",\"output_index\":1,"
			"\"content_index\":2,\"delta\":\"a\"}\n"
			"{\"type\":\"response.reasoning_summary_text.delta\",\"output_index\":1,"
			"\"summary_index\":3,\"delta\":\"b\"}\n"
			"{\"type\":\"response.output_text.delta\",\"delta\":\"c\"}\n"
			"{\"type\":\"transcript.text.delta\",\"delta\":\"d\"}\n",
			"out1.text.2=a;out1.reasoning_summary.3=b;out0.text=c;transcript=d;",
			FAULT_NONE);
}

static void members_in_any_order(void **state)
{
	(void)state;
	extracted_check_orders(KIND,
			       (const char *const[]){"\"type\":\"response.output_text.delta\"",
						     "\"delta\":\"a\\ud83d\\ude00\\ud83d\"",
						     "\"output_index\":2,\"content_index\":1"},
			       "out2.text.1=a\xf0\x9f\x98\x80\xef\xbf\xbd;");
	extracted_check_orders(KIND,
			       (const char *const[]){"\"type\":\"response.unknown.delta\"",
						     "\"delta\":\"a\\ud83d\\ude00b\"",
						     "\"output_index\":\"x\""},
			       "delta=a\xf0\x9f\x98\x80"
			       "b;output_index=x;");
	extracted_check_orders(
		KIND,
		(const char *const[]){"\"type\":\"response.output_item.added\"",
				      "\"item\":{\"name\":\"f\",\"arguments\":\"{\",\"content\":[{"
				      "\"text\":\"x\"},{\"text\":\"y\"}]}",
				      "\"output_index\":3"},
		"out3.name=f;out3.arguments={;out3.text=x;out3.text.1=y;");
	/* Their repetition is any string, and the elements of a list are one text. */
	extracted_check_orders(
		KIND,
		(const char *const[]){"\"type\":\"response.output_item.done\"",
				      "\"item\":{\"name\":\"f\",\"arguments\":\"{\",\"content\":[{"
				      "\"text\":\"x\"},{\"text\":\"y\"}]}",
				      "\"output_index\":3"},
		"item.name=f;item.arguments={;item.content.text=xy;");
}

static void what_is_added_begins_a_text(void **state)
{
	static const char item[] =
		"{\"type\":\"response.output_item.added\",\"output_index\":1,\"item\":{"
		"\"arguments\":\"for\"}}\n" DELTA("function_call_arguments", "1", "bidden");
	static const char part[] =
		"{\"type\":\"response.content_part.added\",\"output_index\":1,\"content_index\":0,"
		"\"part\":{\"text\":\"for\"}}\n" DELTA("output_text", "1", "bidden");
	static const char response[] =
		"{\"type\":\"response.created\",\"response\":{\"output\":[{},{\"content\":[{"
		"\"text\":\"for\"}]}]}}\n" DELTA("output_text", "1", "bidden");
	static const char done[] = DELTA(
		"output_text", "1",
		"for") "{\"type\":\"response.output_text.done\",\"output_index\":1,\"text\":"
		       "\"bidden\"}\n"
		       "{\"type\":\"response.completed\",\"response\":{\"output\":[{\"content\":[{"
		       "\"text\":\"bidden\"}]}]}}\n";

	(void)state;
	extracted_check_term(KIND, item, true, 0);
	extracted_check_term(KIND, part, true, 0);
	extracted_check_term(KIND, response, true, 0);
	extracted_check_term(KIND, done, false, strlen(done));
}

static void terms_split_over_deltas(void **state)
{
	static const char two[] = DELTA("output_text", "0", "for") DELTA("output_text", "1", "x")
		DELTA("output_text", "0", "bidden");
	static const char outputs[] =
		DELTA("output_text", "0", "for") DELTA("output_text", "1", "bidden");
	static const char kinds[] =
		DELTA("output_text", "0", "for") DELTA("refusal", "0", "bidden");
	static const char unknown[] = DELTA("x", "0", "for") DELTA("x", "0", "bidden");

	(void)state;
	extracted_check_term(KIND, two, true, 0);
	extracted_check_term(KIND, outputs, false, strlen(outputs));
	extracted_check_term(KIND, kinds, false, strlen(kinds));
	extracted_check_term(KIND, unknown, false, strlen(unknown));
	extracted_check_term(KIND, DELTA("x", "0", "forbidden"), true, 0);
}

static void calls_are_held_until_they_are_done(void **state)
{
	static const char *const ends[] = {
		DONE("function_call_arguments.done", "1"),
		DONE("mcp_call_arguments.done", "1"),
		DONE("custom_tool_call_input.done", "1"),
		DONE("output_item.done", "1"),
		"{\"output_index\":1,\"type\":\"response.output_item.done\"}\n",
		"{\"type\":\"response.completed\"}\n"};
	static const char call[] =
		DELTA("output_text", "0", "ok") DELTA("function_call_arguments", "1", "{}")
			DELTA("custom_tool_call_input", "1", "x");
	char data[1024];

	(void)state;
	extracted_check_held(KIND, call, strlen(DELTA("output_text", "0", "ok")));
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		snprintf(data, sizeof(data), "%s%s", call, ends[i]);
		extracted_check_held(KIND, data, strlen(data));
	}
	snprintf(data, sizeof(data), "%s%s%s", call, DONE("output_item.done", "0"),
		 "{\"type\":\"response.output_text.done\",\"output_index\":1}\n");
	extracted_check_held(KIND, data, strlen(DELTA("output_text", "0", "ok")));
}

static void hostile_shapes(void **state)
{
	(void)state;
	extracted_check(KIND, DELTA("output_text", "\"0\"", "a"), "", FAULT_BAD_JSON);
	extracted_check(KIND, DELTA("output_text", "-1", "a"), "", FAULT_BAD_JSON);
	extracted_check(KIND, DELTA("output_text", "1024", "a"), "", FAULT_TOO_LARGE);
	extracted_check(KIND,
			"{\"delta\":\"a\",\"content_index\":{},\"type\":"
			"\"response.output_text.delta\"}\n",
			"", FAULT_BAD_JSON);
	/* A type that is none, or too long a one, says nothing. */
	extracted_check(KIND, "{\"delta\":\"a\",\"type\":null,\"output_index\":-1}\n", "delta=a;",
			FAULT_NONE);
	extracted_check(
		KIND,
		"{\"delta\":\"a\",\"type\":\"response.output_text.delta\\ud800\"}\n"
		"{\"delta\":\"b\",\"type\":\"response.output_text.deltaxxxxxxxxxxxxxxxxxxxxx"
		"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
		"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"}\n"
		"{\"delta\":{\"x\":\"c\"},\"type\":\"response.output_text.delta\"}\n",
		"delta=ab;delta.x=c;", FAULT_NONE);
}

static void what_is_over(void **state)
{
	(void)state;
	extracted_check_complete(
		KIND, DELTA("output_text", "0", "a") "{\"type\":\"response.completed\"}\n");
}

static void every_allocation_may_fail(void **state)
{
	(void)state;
	extracted_check_allocations(
		KIND, "{\"delta\":\"a\\ud83d\",\"item\":{\"name\":\"f\",\"content\":[{"
		      "\"text\":\"forbid\"}]},\"output_index\":3,\"type\":\"x\"}\n" DELTA(
			      "output_text", "1", "b"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_delta_has_its_channel),
		cmocka_unit_test(members_in_any_order),
		cmocka_unit_test(what_is_added_begins_a_text),
		cmocka_unit_test(terms_split_over_deltas),
		cmocka_unit_test(calls_are_held_until_they_are_done),
		cmocka_unit_test(hostile_shapes),
		cmocka_unit_test(what_is_over),
		cmocka_unit_test(every_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
