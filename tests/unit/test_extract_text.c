/* SPDX-License-Identifier: Apache-2.0 */
/* JSON in strings of JSON: arguments of calls, and whatever begins as such a text does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/macros.h"
#include "unit/extracted.h"

/* In a string: an object with a command that has an escape, in two parts or more. */
#define BEGIN "{\\\"cmd\\\":\\\"cat forb"
#define END   "dd\\\\u0065n\\\"}"

#define CHAT(delta)	 "{\"choices\":[{\"index\":0,\"delta\":{" delta "}}]}\n"
#define TOOL(text)	 CHAT("\"tool_calls\":[{\"index\":1,\"function\":{\"arguments\":\"" text "\"}}]")
#define FUNCTION(text)	 CHAT("\"function_call\":{\"arguments\":\"" text "\"}")
#define CONTENT(text)	 CHAT("\"content\":\"" text "\"")
#define FINISH		 "{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n"
#define BLOCK(delta)	 "{\"type\":\"content_block_delta\",\"index\":1,\"delta\":{" delta "}}\n"
#define INPUT_JSON(text) BLOCK("\"type\":\"input_json_delta\",\"partial_json\":\"" text "\"")
#define OUT(type, text)              \
	"{\"type\":\"response." type \
	".delta\",\"output_index\":1,\"item_id\":\"i\",\"delta\":\"" text "\"}\n"
#define TOOL_USE(text) \
	"{\"contentBlockIndex\":1,\"delta\":{\"toolUse\":{\"input\":\"" text "\"}}}\n"
#define ARGUMENTS(text)                                                                      \
	"{\"type\":\"tool-call-delta\",\"index\":1,\"delta\":{\"message\":{\"tool_calls\":{" \
	"\"function\":{\"arguments\":\"" text "\"}}}}}\n"

static void escapes_in_arguments(void **state)
{
	static const struct {
		enum extract_kind kind;
		const char *lines;
	} calls[] = {
		{EXTRACT_OPENAI_CHAT, TOOL(BEGIN) TOOL("i" END)},
		{EXTRACT_OPENAI_CHAT, TOOL(BEGIN) TOOL("\\\\u0069") TOOL(END)},
		{EXTRACT_OPENAI_CHAT, TOOL(BEGIN "\\\\u0") TOOL("069" END)},
		{EXTRACT_OPENAI_CHAT, TOOL(BEGIN "\\\\") TOOL("u0069" END)},
		{EXTRACT_OPENAI_CHAT, TOOL(BEGIN "i" END)},
		{EXTRACT_OPENAI_CHAT, TOOL("{\\\"forbidd\\\\u0065n\\\":1}")},
		{EXTRACT_OPENAI_CHAT, TOOL("{\\\"a\\\":\\\"{\\\\\\\"b\\\\\\\":\\\\\\\"forb")
					      TOOL("idd\\\\\\\\u0065n\\\\\\\"}\\\"}")},
		{EXTRACT_OPENAI_CHAT, FUNCTION(BEGIN) FUNCTION("i" END)},
		{EXTRACT_OPENAI_CHAT, FUNCTION("\\\"\\\\u0066orbidden\\\"")},
		{EXTRACT_ANTHROPIC, INPUT_JSON(BEGIN) INPUT_JSON("i" END)},
		{EXTRACT_ANTHROPIC, INPUT_JSON(BEGIN "\\\\u006") INPUT_JSON("9" END)},
		{EXTRACT_OPENAI_RESPONSES,
		 OUT("function_call_arguments", BEGIN) OUT("function_call_arguments", "i" END)},
		{EXTRACT_OPENAI_RESPONSES,
		 OUT("mcp_call_arguments", BEGIN) OUT("mcp_call_arguments", "i" END)},
		{EXTRACT_OPENAI_RESPONSES,
		 OUT("custom_tool_call_input", BEGIN) OUT("custom_tool_call_input", "i" END)},
		{EXTRACT_BEDROCK, TOOL_USE(BEGIN) TOOL_USE("i" END)},
		{EXTRACT_COHERE, ARGUMENTS(BEGIN) ARGUMENTS("i" END)},
		{EXTRACT_OLLAMA_CHAT,
		 "{\"message\":{\"tool_calls\":[{\"function\":{\"arguments\":\""
		 "x " BEGIN "i" END "\"}}]}}\n"},
		{EXTRACT_OLLAMA_CHAT, "{\"message\":{\"tool_calls\":[{\"function\":{\"arguments\":{"
				      "\"a\":\"" BEGIN "i" END "\"}}}]}}\n"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		extracted_check_term(calls[i].kind, calls[i].lines, true, 0);
	extracted_check_term(EXTRACT_OPENAI_CHAT, TOOL(BEGIN) TOOL("\\\\u0069x" END), false,
			     strlen(TOOL(BEGIN) TOOL("\\\\u0069x" END)));
}

/* What another call has, or what came before in this one, is not of a literal. */
static void literals_of_calls_end(void **state)
{
	static const char other[] =
		CHAT("\"tool_calls\":[{\"index\":2,\"function\":{\"arguments\":\"" END "\"}}]");
	static const char apart[] =
		TOOL("{\\\"a\\\":\\\"\\\\u0066or\\\",") TOOL("\\\"a\\\":\\\"\\\\u0062idden\\\"}");
	char data[1024];

	(void)state;
	strcpy(data, TOOL(BEGIN "\\\\u0069"));
	strcat(data, other);
	extracted_check_term(EXTRACT_OPENAI_CHAT, data, false, strlen(data));
	extracted_check_term(EXTRACT_OPENAI_CHAT, apart, false, strlen(apart));
}

/* Once a call is complete nothing of it is held but a literal that goes on. */
static void a_call_that_is_complete(void **state)
{
	static const char whole[] = TOOL("{\\\"cmd\\\":\\\"\\\\u0066\\\"}") FINISH CONTENT("x");
	static const char open[] = TOOL("{\\\"cmd\\\":\\\"\\\\u0066o") FINISH CONTENT("x");

	(void)state;
	extracted_check_held(EXTRACT_OPENAI_CHAT, whole, strlen(whole));
	extracted_check_held(EXTRACT_OPENAI_CHAT, open, 0);
	extracted_check_term(EXTRACT_OPENAI_CHAT,
			     TOOL("{\\\"cmd\\\":\\\"\\\\u0066o") FINISH CONTENT("x")
				     TOOL("rbidden\\\"}"),
			     true, 0);
}

static void content_that_is_json(void **state)
{
	static const char text[] =
		CONTENT(" ") CONTENT("{\\\"a\\\":\\\"forb\\\\u00") CONTENT("69dden\\\"}");
	static const char list[] = CONTENT("[\\\"\\\\u0066") CONTENT("orbidden\\\"]");
	static const char prose[] = CONTENT("it is \\\"forb\\\\u00") CONTENT("69dden\\\"");

	(void)state;
	extracted_check_term(EXTRACT_OPENAI_CHAT, text, true,
			     strlen(CONTENT(" ") CONTENT("{\\\"a\\\":\\\"forb\\\\u00")) -
				     strlen(CONTENT("{\\\"a\\\":\\\"forb\\\\u00")));
	extracted_check_term(EXTRACT_OPENAI_CHAT, list, true, 0);
	extracted_check_term(EXTRACT_OPENAI_CHAT, prose, false, strlen(prose));
	extracted_check(EXTRACT_OPENAI_CHAT, text,
			"c0.content= {\"a\":\"forb\\u0069dden\"};c0.content.literals=forbidden;",
			FAULT_NONE);
}

static void strings_that_are_json(void **state)
{
	(void)state;
	extracted_check_term(
		EXTRACT_AUTO,
		"{\"messages\":[{\"content\":\"\\n{\\\"a\\\":\\\"\\\\u0066orbidden\\\"}"
		"\"}]}\n",
		true, 0);
	extracted_check_term(EXTRACT_AUTO, "{\"a\":\"[\\\"\\\\u0066orbidden\\\"]\"}\n", true, 0);
	extracted_check_term(EXTRACT_AUTO, "\"{\\\"\\\\u0066orbidden\\\":1}\"\n", true, 0);
	/* As an answer that is no stream has them. */
	extracted_check_term(EXTRACT_AUTO,
			     "{\"tool_calls\":[{\"function\":{\"arguments\":\"" BEGIN "i" END
			     "\"}}]}\n",
			     true, 0);
	extracted_check_term(EXTRACT_AUTO,
			     "{\"a\":\"{\\\"t\\\":\\\"for\\\"}{\\\"t\\\":\\\"bidden\\\"}\"}\n",
			     true, 0);
	extracted_check_term(EXTRACT_OPENAI_RESPONSES,
			     "{\"delta\":\"x\\ud83d\\ude00 {\\\"a\\\":\\\"\\\\u0066orbidden\\\"}\","
			     "\"type\":\"unknown\"}\n",
			     true, 0);
	/* Each has an end. */
	extracted_check_term(EXTRACT_AUTO,
			     "{\"a\":[\"{\\\"t\\\":\\\"\\\\u0066or\",\"{\\\"t\\\":\\\"bidden\"]}\n",
			     false,
			     strlen("{\"a\":[\"{\\\"t\\\":\\\"\\\\u0066or\","
				    "\"{\\\"t\\\":\\\"bidden\"]}\n"));
	extracted_check(EXTRACT_AUTO,
			"{\"a\":\"x{\\\"\\\\u0066\\\"}\",\"b\":\"{\\\"\\\\u0066\\\"}\"}\n",
			"a=x{\"\\u0066\"};b={\"\\u0066\"};strings.literals=f;", FAULT_NONE);
	extracted_check(EXTRACT_AUTO, "{\"a\":\"{\\\"\\ud83d\\ude00\\\\u0066\\\"}\"}\n",
			"a={\"\xf0\x9f\x98\x80\\u0066\"};strings.literals=\xf0\x9f\x98\x80"
			"f;",
			FAULT_NONE);
}

static void any_allocation_may_fail(void **state)
{
	(void)state;
	extracted_check_allocations(EXTRACT_OPENAI_CHAT,
				    TOOL("{\\\"a\\\":\\\"\\\\u0061\\\\\\\"\\\"}")
					    CONTENT("{\\\"a\\\":\\\"\\\\u0061\\\"}"));
	extracted_check_allocations(
		EXTRACT_AUTO, "{\"a\":[\"{\\\"a\\\":\\\"\\\\u0061\\\\\\\"b\\\\\\\":\\\"}\"]}\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(escapes_in_arguments),
		cmocka_unit_test(literals_of_calls_end),
		cmocka_unit_test(a_call_that_is_complete),
		cmocka_unit_test(content_that_is_json),
		cmocka_unit_test(strings_that_are_json),
		cmocka_unit_test(any_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
