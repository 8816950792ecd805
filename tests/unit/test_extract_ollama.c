/* SPDX-License-Identifier: Apache-2.0 */
/* Ollama's answers: what joins over lines, and tool calls, which are whole in one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "core/extract_channels.h"
#include "unit/flow.h"

static const struct flow_config ollama = {.framing = {.kind = FRAMING_NDJSON},
					  .extract = {.kind = EXTRACT_OLLAMA_CHAT}};

/* "name=text;" of every channel but meta, in order of appearance. */
static void check(const char *data, const char *channels, enum fault fault)
{
	char text[512] = "";
	size_t len = 0;
	struct flow flow;

	flow_run_splits(&ollama, data, strlen(data), &flow);
	assert_string_equal(fault_name(flow.fault), fault_name(fault));
	for (size_t i = 0; i < flow.channel_count && !fault; i++)
		if (strcmp(flow.channels[i].name, "meta") != 0)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s=%s;",
						flow.channels[i].name,
						(char *)flow.channels[i].text);
	assert_string_equal(text, channels);
	flow_done(&flow);
}

static void check_term(const char *data, bool denied, size_t released)
{
	struct flow_config config = ollama;

	config.terms[0][0] = "forbidden";
	flow_ends(&config, data, denied ? FAULT_BLOCKED : FAULT_NONE, released);
}

static void chat_and_generate(void **state)
{
	static const char apart[] = "{\"message\":{\"thinking\":\"for\"}}\n{\"thinking\":\"x\"}\n"
				    "{\"message\":{\"thinking\":\"bidden\"}}\n";
	static const char fields[] = "{\"thinking\":\"for\"}\n{\"response\":\"bidden\"}\n";

	(void)state;
	check("{\"model\":\"m\",\"response\":\"\",\"thinking\":\"We\",\"done\":false}\n"
	      "{\"model\":\"m\",\"response\":\"So\",\"thinking\":\" do\"}\n"
	      "{\"response\":\"ft\",\"done\":true}\n",
	      "model=mm;thinking=We do;response=Soft;", FAULT_NONE);
	check("{\"message\":{\"content\":\"\\ud83d\"}}\n{\"message\":{\"content\":\"\\ude00\"}}\n"
	      "{\"x\":{\"response\":\"a\",\"message\":{\"content\":\"b\"}},\"message\":[{"
	      "\"content\":\"c\"}],\"content\":\"d\"}\n",
	      "content=\xf0\x9f\x98\x80"
	      "d;x.response=a;x.message.content=b;message.content=c;",
	      FAULT_NONE);
	/* Two texts under one name hide nothing from each other. */
	check_term(apart, true, 0);
	check_term(fields, false, sizeof(fields) - 1);
}

static void tool_calls(void **state)
{
	(void)state;
	check("{\"message\":{\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":"
	      "{ \"a\":[1, {\"b\":\"\\u0078\"}],\"c\":\"\xe6\xb0\xb4\"}}},"
	      "{\"function\":{\"arguments\":[],\"name\":\"g\"}},"
	      "{\"function\":{\"arguments\":\"text\\ud83d\"}}]}}\n",
	      "tool0.name=f;message.tool_calls.function.arguments.a.b=x;"
	      "message.tool_calls.function.arguments.c=\xe6\xb0\xb4;"
	      "tool0.arguments={ \"a\":[1, {\"b\":\"\\u0078\"}],\"c\":\"\xe6\xb0\xb4\"};"
	      "tool1.arguments=[];tool1.name=g;tool2.arguments=text\xef\xbf\xbd;",
	      FAULT_NONE);
	/* Each message counts anew. */
	check("{\"message\":{\"tool_calls\":[{\"function\":{\"name\":\"f\"}}]}}\n"
	      "{\"message\":{\"tool_calls\":[{\"function\":{\"name\":\"g\"}}]}}\n"
	      "{\"tool_calls\":[{\"function\":{\"name\":\"h\"}}]}\n",
	      "tool0.name=fg;tool_calls.function.name=h;", FAULT_NONE);
	check("{\"message\":{\"tool_calls\":[{\"function\":{\"arguments\":{\"a\":}}}]}}\n", "",
	      FAULT_BAD_JSON);
	check("{\"message\":{\"tool_calls\":[{\"function\":{\"arguments\":{\"a\":\"\xff\"}}}]}}\n",
	      "", FAULT_BAD_UTF8);
}

static void arguments_that_are_ill_formed(void **state)
{
	struct flow_config config = ollama;
	static const char data[] = "{\"message\":{\"tool_calls\":[{\"function\":{\"arguments\":{"
				   "\"a\":\"\xff\"}}}]}}\n";
	struct flow flow;

	(void)state;
	config.extract.replace_ill_formed = true;
	flow_run_splits(&config, data, sizeof(data) - 1, &flow);
	assert_int_equal(flow.fault, FAULT_NONE);
	assert_string_equal(flow_text(&flow, "tool0.arguments"), "{\"a\":\"\xef\xbf\xbd\"}");
	flow_done(&flow);
}

static void terms_in_tool_calls(void **state)
{
	static const char two[] =
		"{\"message\":{\"tool_calls\":[{\"function\":{\"name\":\"for\"}},{\"function\":"
		"{\"name\":\"bidden\"}}]}}\n";
	static const char lines[] =
		"{\"message\":{\"tool_calls\":[{\"function\":{\"arguments\":\"for\"}}]}}\n"
		"{\"message\":{\"tool_calls\":[{\"function\":{\"arguments\":\"bidden\"}}]}}\n";

	(void)state;
	check_term("{\"message\":{\"tool_calls\":[{\"function\":{\"arguments\":{\"a\":"
		   "\"forbidden\"}}}]}}\n",
		   true, 0);
	check_term("{\"message\":{\"tool_calls\":[{\"function\":{\"arguments\":{\"a\":"
		   "\"forb\\u0069dden\"}}}]}}\n",
		   true, 0);
	/* The end of a call is the end of its texts. */
	check_term(two, false, sizeof(two) - 1);
	check_term(lines, false, sizeof(lines) - 1);
}

static void as_many_calls_as_there_may_be(void **state)
{
	struct flow_config config = ollama;
	size_t capacity = 40 * (EXTRACT_CHANNELS_MAX + 4);
	char *data = malloc(capacity);
	struct flow flow;

	(void)state;
	config.no_text = true;
	config.terms[0][0] = "forbidden";
	for (unsigned int more = 0; more <= 1; more++) {
		size_t len = (size_t)snprintf(data, capacity, "{\"message\":{\"tool_calls\":[");

		for (unsigned int i = 0; i < EXTRACT_CHANNELS_MAX + more; i++)
			len += (size_t)snprintf(data + len, capacity - len,
						"%s{\"function\":{\"name\":\"a\"}}", i ? "," : "");
		len += (size_t)snprintf(data + len, capacity - len, "]}}\n");
		flow_run(&config, data, len, NULL, 0, &flow);
		assert_int_equal(flow.fault, more ? FAULT_TOO_LARGE : FAULT_NONE);
		flow_done(&flow);
	}
	free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chat_and_generate),
		cmocka_unit_test(tool_calls),
		cmocka_unit_test(arguments_that_are_ill_formed),
		cmocka_unit_test(terms_in_tool_calls),
		cmocka_unit_test(as_many_calls_as_there_may_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
