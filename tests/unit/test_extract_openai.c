/* SPDX-License-Identifier: Apache-2.0 */
/* Streamed chat completions: whose each text is, what joins, and what waits for its end. */
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

static const struct flow_config openai = {.framing = {.kind = FRAMING_NDJSON},
					  .extract = {.kind = EXTRACT_OPENAI_CHAT}};

/* "name=text;" of every channel but those of what is not joined. */
static void joined(const struct flow *flow, char *ret_text, size_t size)
{
	size_t len = 0;

	ret_text[0] = '\0';
	for (size_t i = 0; i < flow->channel_count; i++) {
		const char *name = flow->channels[i].name;

		if (strcmp(name, "error") == 0 || (name[0] == 'c' && name[1] < 'a'))
			len += (size_t)snprintf(ret_text + len, size - len, "%s=%s;", name,
						(char *)flow->channels[i].text);
	}
}

static void check(const char *data, const char *channels, enum fault fault)
{
	char text[512];
	struct flow flow;

	flow_run_splits(&openai, data, strlen(data), &flow);
	joined(&flow, text, sizeof(text));
	assert_string_equal(fault_name(flow.fault), fault_name(fault));
	if (!fault)
		assert_string_equal(text, channels);
	flow_done(&flow);
}

static void each_text_has_its_channel(void **state)
{
	(void)state;
	check("{\"choices\":[{\"index\":0,\"delta\":{\"role\":\"a\",\"content\":\"Hel\"}}]}\n"
	      "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"lo\"}}]}\n",
	      "c0.content=Hello;", FAULT_NONE);
	check("{\"choices\":[{\"index\":1,\"delta\":{\"reasoning_content\":\"a\",\"reasoning\":"
	      "\"b\",\"content\":[{\"type\":\"thinking\",\"thinking\":[{\"type\":\"text\","
	      "\"text\":\"c\"}]},{\"type\":\"text\",\"text\":\"d\"}],\"refusal\":\"e\"}}]}\n",
	      "c1.reasoning=abc;c1.content=d;c1.refusal=e;", FAULT_NONE);
	check("{\"choices\":[{\"index\":0,\"delta\":{\"reasoning_details\":[{\"type\":\"t\","
	      "\"text\":\"a\",\"index\":7}],\"function_call\":{\"name\":\"f\",\"arguments\":"
	      "\"g\"}},\"text\":\"h\"}]}\n",
	      "c0.reasoning_details=a;c0.function.name=f;c0.function=g;c0.text=h;", FAULT_NONE);
	check("{\"choices\":[{\"index\":0,\"logprobs\":{\"content\":[{\"token\":\"a\","
	      "\"logprob\":-0.5,\"top_logprobs\":[{\"token\":\"x\"}]},{\"token\":\"b\"}],"
	      "\"refusal\":[{\"token\":\"c\"}]}}]}\n",
	      "c0.logprobs.content=ab;c0.logprobs.refusal=c;", FAULT_NONE);
	check("{\"error\":{\"message\":\"no\",\"type\":\"t\"}}\n", "error=no;", FAULT_NONE);
}

/* What a reader of deltas does not read there is any other string. */
static void texts_elsewhere_are_not_joined(void **state)
{
	static const char elsewhere[] =
		"{\"choices\":[{\"index\":0,\"message\":{\"content\":\"m\"},\"finish_reason\":"
		"\"stop\",\"delta\":[{\"content\":\"n\"}]}],\"delta\":{\"content\":\"o\"},"
		"\"x\":{\"choices\":[{\"delta\":{\"content\":\"p\"}}]},\"error\":\"q\"}\n";
	struct flow flow;

	(void)state;
	check(elsewhere, "error=q;", FAULT_NONE);
	flow_run_splits(&openai, elsewhere, strlen(elsewhere), &flow);
	assert_string_equal(flow_text(&flow, "choices.message.content"), "m");
	assert_string_equal(flow_text(&flow, "choices.finish_reason"), "stop");
	assert_string_equal(flow_text(&flow, "choices.delta.content"), "n");
	assert_string_equal(flow_text(&flow, "delta.content"), "o");
	assert_string_equal(flow_text(&flow, "x.choices.delta.content"), "p");
	flow_done(&flow);
	check("[{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}]\n"
	      "{\"choices\":{\"index\":0,\"delta\":{\"content\":\"a\"}}}\n"
	      "{\"choices\":[[{\"index\":0,\"delta\":{\"content\":\"a\"}}]]}\n"
	      "{\"choices\":[{\"index\":0,\"delta\":{\"content\":{\"content\":\"a\"}}}]}\n",
	      "", FAULT_NONE);
	/* Names count as they are read, not as they are spelled. */
	check("{\"ch\\u006fices\":[{\"d\\u0065lta\":{\"conten\\u0074\":\"\\u0061\"}}]}\n",
	      "c0.content=a;", FAULT_NONE);
}

static void an_index_may_come_last(void **state)
{
	(void)state;
	check("{\"choices\":[{\"delta\":{\"content\":\"a\",\"refusal\":\"b\"},\"text\":\"c\","
	      "\"index\":2},{\"delta\":{\"content\":\"d\"},\"index\":10}]}\n"
	      "{\"choices\":[{\"delta\":{\"content\":\"e\"},\"index\":2}]}\n",
	      "c2.content=ae;c2.refusal=b;c2.text=c;c10.content=d;", FAULT_NONE);
	check("{\"choices\":[{\"delta\":{\"tool_calls\":["
	      "{\"function\":{\"name\":\"f\",\"arguments\":\"1\"},\"index\":3},"
	      "{\"function\":{\"arguments\":\"2\"}},"
	      "{\"index\":5,\"function\":{\"arguments\":\"3\"}}],\"content\":\"x\"},"
	      "\"index\":1}]}\n",
	      "c1.tool3.name=f;c1.tool3=1;c1.tool1=2;c1.tool5=3;c1.content=x;", FAULT_NONE);
	/* Two of one event do not mix, nor do choices and the calls in them. */
	check("{\"choices\":[{\"delta\":{\"content\":\"a\"}},{\"delta\":{\"content\":\"b\"},"
	      "\"index\":1},{\"index\":2,\"delta\":{\"tool_calls\":[{\"index\":1,\"function\":"
	      "{\"arguments\":\"c\"}},{\"function\":{\"arguments\":\"d\"}}]}}]}\n",
	      "c0.content=a;c1.content=b;c2.tool1=cd;", FAULT_NONE);
}

/* A missing one is 0, of a call its position. */
static void an_index_may_be_missing(void **state)
{
	(void)state;
	check("{\"choices\":[{\"text\":\"a\"}]}\n{\"choices\":[{\"index\":0,\"text\":\"b\"}]}\n",
	      "c0.text=ab;", FAULT_NONE);
	check("{\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"function\":{\"name\":"
	      "\"f\"}},{\"function\":{\"name\":\"g\"}}]}}]}\n"
	      "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"arguments\":\"1\"}},"
	      "{\"function\":{\"arguments\":\"2\"}}]}}]}\n",
	      "c0.tool0.name=f;c0.tool1.name=g;c0.tool0=1;c0.tool1=2;", FAULT_NONE);
}

static void indexes_that_are_none(void **state)
{
	static const char *const bad[] = {"-1",	  "1.5",  "1e2", "-0",	"\"0\"", "\"\\ud800\"",
					  "null", "true", "{}",	 "[0]", "1.0"};
	static const char *const forms[] = {
		"{\"choices\":[{\"text\":\"a\",\"index\":%s}]}\n",
		"{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":%s}]}}]}\n"};
	char data[128];

	(void)state;
	for (size_t form = 0; form < ARRAY_SIZE(forms); form++) {
		for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
			snprintf(data, sizeof(data), forms[form], bad[i]);
			check(data, "", FAULT_BAD_JSON);
		}
		snprintf(data, sizeof(data), forms[form], "1024");
		check(data, "", FAULT_TOO_LARGE);
		snprintf(data, sizeof(data), forms[form], "99999999999999999999999");
		check(data, "", FAULT_TOO_LARGE);
		snprintf(data, sizeof(data), forms[form], "1023");
		check(data, form ? "" : "c1023.text=a;", FAULT_NONE);
	}
	check("{\"choices\":[{\"index\":0,\"index\":0}]}\n", "", FAULT_DUPLICATE_KEY);
}

static void surrogates_join_over_events(void **state)
{
	(void)state;
	check("{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\\ud83d\"}}]}\n"
	      "{\"choices\":[{\"index\":1,\"delta\":{\"content\":\"\\ude00\"}}]}\n"
	      "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\"}}]}\n"
	      "{\"choices\":[{\"delta\":{\"content\":\"\\ude00b\"},\"index\":0}]}\n",
	      "c0.content=a\xf0\x9f\x98\x80"
	      "b;c1.content=\xef\xbf\xbd;",
	      FAULT_NONE);
	/* Also where both halves wait for the index. */
	check("{\"choices\":[{\"delta\":{\"content\":[{\"text\":\"x\\ud83d\"},{\"text\":"
	      "\"\\ude00\"},{\"text\":\"\\ud83d\"}]},\"index\":3}]}\n",
	      "c3.content=x\xf0\x9f\x98\x80\xef\xbf\xbd;", FAULT_NONE);
	check("{\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"arguments\":\"\\ud83d\"}"
	      ",\"index\":2},{\"function\":{\"arguments\":\"\\ude00\"},\"index\":2}]}}]}\n",
	      "c0.tool2=\xf0\x9f\x98\x80;", FAULT_NONE);
}

/* A term in so many lines: denied or not, and what may leave before. */
static void check_term(const char *data, bool denied, size_t released)
{
	struct flow_config config = openai;

	config.terms[0][0] = "forbidden";
	flow_ends(&config, data, denied ? FAULT_BLOCKED : FAULT_NONE, released);
}

#define CONTENT(index, text) \
	"{\"choices\":[{\"index\":" index ",\"delta\":{\"content\":\"" text "\"}}]}\n"
#define TOOL(text)                                                                         \
	"{\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":" \
	"{\"arguments\":\"" text "\"}}]}}]}\n"
#define FINISH(index) \
	"{\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\",\"index\":" index "}]}\n"

static void terms_are_found_in_what_joins(void **state)
{
	static const char two[] = CONTENT("0", "say for") CONTENT("0", "bidden");
	static const char choices[] = CONTENT("0", "for") CONTENT("1", "bidden");
	static const char interleaved[] =
		CONTENT("0", "for") CONTENT("1", "x") CONTENT("0", "bidden");
	static const char fields[] =
		"{\"choices\":[{\"index\":0,\"delta\":{\"reasoning\":\"for\"}}]}\n" CONTENT(
			"0", "bidden");
	static const char last[] =
		"{\"choices\":[{\"delta\":{\"content\":\"for\"},\"index\":0}]}\n"
		"{\"choices\":[{\"delta\":{\"content\":\"bidden\"},\"index\":0}]}\n";
	static const char tokens[] =
		"{\"choices\":[{\"logprobs\":{\"content\":[{\"token\":\"for\"},{\"token\":"
		"\"bid\"},{\"token\":\"den\"}]}}]}\n";
	static const char unknown[] =
		"{\"choices\":[{\"index\":0,\"message\":{\"content\":\"for\"}}]}\n"
		"{\"choices\":[{\"index\":0,\"message\":{\"content\":\"bidden\"}}]}\n";

	(void)state;
	check_term(two, true, 0);
	check_term(choices, false, sizeof(choices) - 1);
	check_term(interleaved, true, 0);
	check_term(fields, false, sizeof(fields) - 1);
	check_term(last, true, 0);
	check_term(tokens, true, 0);
	check_term(unknown, false, sizeof(unknown) - 1);
	check_term(CONTENT("0", "a") CONTENT("0", "forbidden"), true, strlen(CONTENT("0", "a")));
	check_term("{\"choices\":[{\"index\":0,\"x\":\"forbidden\"}]}\n", true, 0);
	check_term("{\"forb\\u0069dden\":1}\n", true, 0);
}

/* Both of reasoning, as some servers send it twice, hide nothing from each other. */
static void a_text_that_is_sent_twice(void **state)
{
	(void)state;
	check_term("{\"choices\":[{\"index\":0,\"delta\":{\"reasoning\":\"for\","
		   "\"reasoning_content\":\"for\"}}]}\n"
		   "{\"choices\":[{\"index\":0,\"delta\":{\"reasoning\":\"bidden\","
		   "\"reasoning_content\":\"bidden\"}}]}\n",
		   true, 0);
}

/* What is released while the flow is open. */
static void check_held(const char *data, size_t released)
{
	struct flow_config config = openai;
	struct flow flow;

	config.terms[0][0] = "forbidden";
	config.no_end = true;
	flow_run_splits(&config, data, strlen(data), &flow);
	assert_int_equal(flow.fault, FAULT_NONE);
	assert_int_equal(flow.released, released);
	flow_done(&flow);
}

static void calls_are_held_until_they_are_complete(void **state)
{
	static const char before[] = CONTENT("0", "ok");
	static const char open[] = CONTENT("0", "ok") TOOL("{\\\"a") TOOL("\\\":1}");
	static const char other[] = CONTENT("0", "ok") TOOL("{}") CONTENT("0", "x") FINISH("1");
	static const char finished[] = CONTENT("0", "ok") TOOL("{}") CONTENT("1", "x") FINISH("0");
	static const char again[] = TOOL("{}") FINISH("0") TOOL("{}");
	static const char empty[] =
		TOOL("{}") "{\"choices\":[{\"index\":0,\"finish_reason\":\"\"}]}\n";
	static const char null[] =
		TOOL("{}") "{\"choices\":[{\"index\":0,\"finish_reason\":null}]}\n";
	static const char one[] =
		"{\"choices\":[{\"finish_reason\":\"tool_calls\",\"delta\":{\"tool_calls\":["
		"{\"function\":{\"name\":\"g\",\"arguments\":\"{}\"}}]}}]}\n";
	static const char function[] = "{\"choices\":[{\"index\":0,\"delta\":{\"function_call\":"
				       "{\"arguments\":\"x\"}}}]}\n";

	(void)state;
	check_held(open, strlen(before));
	check_held(other, strlen(before));
	check_held(finished, strlen(finished));
	check_held(again, strlen(TOOL("{}") FINISH("0")));
	check_held(empty, 0);
	check_held(null, 0);
	check_held(one, strlen(one));
	check_held(function, 0);
	/* The end of the stream is the end of the call. */
	check_term(open, false, strlen(open));
	check_term(function, false, strlen(function));
	/* A deny does not wait for it, and a call that goes on after it hides nothing. */
	check_term(CONTENT("0", "ok") TOOL("for") TOOL("bidden"), true, strlen(before));
	check_term(TOOL("for") FINISH("0") TOOL("bidden"), true, 0);
}

static void as_many_channels_as_there_may_be(void **state)
{
	struct flow_config config = openai;
	size_t capacity = 64 * (EXTRACT_CHANNELS_MAX + 2);
	char *data = malloc(capacity);
	struct flow flow;

	(void)state;
	config.no_text = true;
	config.terms[0][0] = "forbidden";
	for (unsigned int more = 0; more <= 1; more++) {
		size_t len = 0;

		for (unsigned int i = 0; i < EXTRACT_CHANNELS_MAX; i++)
			len += (size_t)snprintf(data + len, capacity - len,
						"{\"choices\":[{\"index\":%u,\"text\":\"a\"}]}\n",
						EXTRACT_INDEX_MAX - i);
		if (more)
			len += (size_t)snprintf(data + len, capacity - len,
						"{\"error\":{\"message\":\"a\"}}\n");
		flow_run(&config, data, len, NULL, 0, &flow);
		assert_int_equal(flow.fault, more ? FAULT_TOO_LARGE : FAULT_NONE);
		flow_done(&flow);
	}
	free(data);
}

/* What waits for its index takes memory while it does, and none after. */
static void a_buffer_is_let_go(void **state)
{
	struct flow_config config = openai;
	size_t size = 100000, len;
	char *data = malloc(size + 200);
	struct flow first, both;

	(void)state;
	config.no_text = true;
	config.terms[0][0] = "forbidden";
	len = (size_t)sprintf(data, "{\"choices\":[{\"text\":\"");
	memset(data + len, 'a', size);
	len += size;
	len += (size_t)sprintf(data + len, "\",\"index\":0}]}\n");
	flow_run(&config, data, len, &len, 1, &first);
	assert_in_range(first.peak_memory, 1, size / 2);
	flow_run(&config, data, len, (size_t[]){size}, 1, &both);
	assert_in_range(both.peak_memory, size / 2, size * 4);
	assert_int_equal(both.released, len);
	flow_done(&first);
	flow_done(&both);
	free(data);
}

static void random_cuts_of_a_long_stream(void **state)
{
	char data[8192];
	size_t len = 0;
	struct flow flow;

	(void)state;
	for (unsigned int i = 0; i < 24; i++)
		len += (size_t)snprintf(
			data + len, sizeof(data) - len,
			i % 3 ? "{\"id\":\"chatcmpl-0123456789abcdef\",\"choices\":[{\"index\":%u,"
				"\"delta\":{\"content\":\"w%u "
				"\\u00e9\"},\"finish_reason\":null}]}\n"
			      : "{\"id\":\"chatcmpl-0123456789abcdef\",\"choices\":[{\"delta\":"
				"{\"tool_calls\":[{\"function\":{\"arguments\":\"w%u\"},\"index\":"
				"%u}]}}]}\n",
			i % 2, i);
	flow_run_random(&openai, data, len, 7, 200, &flow);
	assert_int_equal(flow.fault, FAULT_NONE);
	assert_string_equal(flow_text(&flow, "c1.content"),
			    "w1 \xc3\xa9w5 \xc3\xa9w7 \xc3\xa9w11 \xc3\xa9w13 \xc3\xa9w17 \xc3\xa9"
			    "w19 \xc3\xa9w23 \xc3\xa9");
	flow_done(&flow);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_text_has_its_channel),
		cmocka_unit_test(texts_elsewhere_are_not_joined),
		cmocka_unit_test(an_index_may_come_last),
		cmocka_unit_test(an_index_may_be_missing),
		cmocka_unit_test(indexes_that_are_none),
		cmocka_unit_test(surrogates_join_over_events),
		cmocka_unit_test(terms_are_found_in_what_joins),
		cmocka_unit_test(a_text_that_is_sent_twice),
		cmocka_unit_test(calls_are_held_until_they_are_complete),
		cmocka_unit_test(as_many_channels_as_there_may_be),
		cmocka_unit_test(a_buffer_is_let_go),
		cmocka_unit_test(random_cuts_of_a_long_stream),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
