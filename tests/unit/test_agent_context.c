/* SPDX-License-Identifier: Apache-2.0 */
/* Agent contexts: the members that each point requires, strings, numbers, limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/macros.h"
#include "core/agent_context.h"
#include "unit/allocation.h"

static const struct agent_span window = {.start = 256, .end = 512, .before = 768};

static struct agent_context of_point(enum agent_point point)
{
	return (struct agent_context){
		.point = point,
		.time_ms = 1781877791123ull,
		.sequence = 7,
		.agent = "policy",
		.session = "42.1",
		.model = "m",
		.finish_reason = AGENT_FINISH_INCREMENTAL,
		.content = (const uint8_t *)"text",
		.content_len = 4,
		.stream = UINT64_MAX,
		.task = "moderation",
		.channel = "content",
		.span = &window,
	};
}

static void written_as(const struct agent_context *context, const char *json)
{
	cleanup(agent_buffer_done) struct agent_buffer buffer = {0};

	assert_int_equal(agent_context_write(context, &buffer), 0);
	assert_int_equal(buffer.len, strlen(json));
	assert_memory_equal(buffer.text, json, buffer.len);
}

#define HEAD(point)                                                           \
	"{\"spec\":\"agent-hooks/0.1\",\"interception_point\":\"" point "\"," \
	"\"timestamp\":\"2026-06-19T14:03:11.123Z\",\"sequence\":7,"          \
	"\"agent\":{\"id\":\"policy\",\"framework\":\"sluice\"},\"session\":{\"id\":\"42.1\"}"
#define TAIL                                                                \
	",\"extensions\":{\"sluice\":{\"stream\":\"18446744073709551615\"," \
	"\"task\":\"moderation\",\"channel\":\"content\","                  \
	"\"span\":{\"start\":256,\"end\":512,\"before\":768,\"final\":false}}}}"
#define INPUT  "{\"content\":\"text\",\"role\":\"user\"}"
#define REPLY  "{\"content\":\"text\",\"tool_calls\":[],\"finish_reason\":\"incremental\"}"
#define OUTPUT "{\"content\":\"text\"}"

static void each_point_has_its_members(void **state)
{
	struct agent_context context = of_point(AGENT_INPUT);

	(void)state;
	written_as(&context, HEAD("input") ",\"input\":" INPUT ",\"target\":" INPUT TAIL);
	context = of_point(AGENT_POST_MODEL_CALL);
	written_as(&context, HEAD("post_model_call") ",\"model\":{\"id\":\"m\"},\"response\":" REPLY
						     ",\"target\":" REPLY TAIL);
	context = of_point(AGENT_OUTPUT);
	written_as(&context, HEAD("output") ",\"output\":" OUTPUT ",\"target\":" OUTPUT TAIL);
}

static json_t *read_back(const struct agent_context *context)
{
	cleanup(agent_buffer_done) struct agent_buffer buffer = {0};
	json_t *json;

	assert_int_equal(agent_context_write(context, &buffer), 0);
	json = json_loadb(buffer.text, buffer.len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
	assert_non_null(json);
	return json;
}

static void the_last_emission_says_how_it_ended(void **state)
{
	struct agent_context context = of_point(AGENT_POST_MODEL_CALL);
	struct agent_span last = {.final = true};
	json_t *json, *response, *said;

	(void)state;
	context.finish_reason = "stop";
	context.span = &last;
	json = read_back(&context);
	response = json_object_get(json, "response");
	assert_string_equal(json_string_value(json_object_get(response, "finish_reason")), "stop");
	assert_true(json_equal(response, json_object_get(json, "target")));
	said = json_object_get(json_object_get(json, "extensions"), "sluice");
	assert_true(json_is_true(json_object_get(json_object_get(said, "span"), "final")));
	json_decref(json);
	/* A stream that cannot be whole: its content is null, and no window. */
	context.finish_reason = AGENT_FINISH_INCOMPLETE;
	context.content = NULL;
	context.span = NULL;
	json = read_back(&context);
	response = json_object_get(json, "target");
	assert_string_equal(json_string_value(json_object_get(response, "finish_reason")),
			    "stream_incomplete");
	assert_true(json_is_null(json_object_get(response, "content")));
	said = json_object_get(json_object_get(json, "extensions"), "sluice");
	assert_null(json_object_get(said, "span"));
	assert_int_equal(json_object_size(said), 3);
	json_decref(json);
}

/* A string of those bytes is written as that. */
static void string_is(const char *text, size_t len, const char *written)
{
	struct agent_context context = of_point(AGENT_OUTPUT);
	cleanup(agent_buffer_done) struct agent_buffer buffer = {0};
	char expected[256];
	json_t *json, *content;

	context.content = (const uint8_t *)text;
	context.content_len = len;
	snprintf(expected, sizeof(expected), "\"output\":{\"content\":\"%s\"},", written);
	assert_int_equal(agent_context_write(&context, &buffer), 0);
	assert_non_null(memmem(buffer.text, buffer.len, expected, strlen(expected)));
	json = json_loadb(buffer.text, buffer.len, JSON_ALLOW_NUL, NULL);
	assert_non_null(json);
	content = json_object_get(json_object_get(json, "target"), "content");
	assert_int_equal(json_string_length(content), len);
	assert_memory_equal(json_string_value(content), text, len);
	json_decref(json);
}

static void strings_are_escaped(void **state)
{
	(void)state;
	string_is("", 0, "");
	string_is("a\"b\\c/d", 7, "a\\\"b\\\\c/d");
	string_is("\b\f\n\r\t", 5, "\\b\\f\\n\\r\\t");
	string_is("\0\x01\x1f\x7f", 4, "\\u0000\\u0001\\u001f\x7f");
	string_is("\xe2\x80\xa7\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xaa", 12,
		  "\xe2\x80\xa7\\u2028\\u2029\xe2\x80\xaa");
	string_is("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xef\xbf\xbf", 12,
		  "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xef\xbf\xbf");
}

/* Each string, with what would break out of it. */
static void no_string_leaves_its_quotes(void **state)
{
	static const size_t fields[] = {
		offsetof(struct agent_context, agent),
		offsetof(struct agent_context, session),
		offsetof(struct agent_context, model),
		offsetof(struct agent_context, finish_reason),
		offsetof(struct agent_context, task),
		offsetof(struct agent_context, channel),
	};
	struct agent_context plain = of_point(AGENT_POST_MODEL_CALL);
	json_t *whole = read_back(&plain);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		struct agent_context context = plain;
		json_t *json;

		*(const char **)((char *)&context + fields[i]) = "\"},\"x\":{\"y\":\"\n";
		json = read_back(&context);
		assert_int_equal(json_object_size(json), json_object_size(whole));
		assert_false(json_equal(json, whole));
		json_decref(json);
	}
	json_decref(whole);
}

static void refused(const struct agent_context *context, int err)
{
	struct agent_buffer buffer = {0};

	assert_int_equal(agent_context_write(context, &buffer), err);
	assert_null(buffer.text);
	assert_int_equal(buffer.len, 0);
}

static void what_cannot_be_said_is_refused(void **state)
{
	static const struct {
		size_t field;
		bool may_be_empty;
	} rows[] = {
		{offsetof(struct agent_context, agent), false},
		{offsetof(struct agent_context, session), false},
		{offsetof(struct agent_context, model), true},
		{offsetof(struct agent_context, finish_reason), true},
		{offsetof(struct agent_context, channel), true},
	};
	static const char *const bad[] = {NULL, "\xff", "a\xc3", "\xed\xa0\x80", "\xc0\x80", ""};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		for (size_t j = 0; j < ARRAY_SIZE(bad) - rows[i].may_be_empty; j++) {
			struct agent_context context = of_point(AGENT_POST_MODEL_CALL);

			*(const char **)((char *)&context + rows[i].field) = bad[j];
			refused(&context, -EINVAL);
		}
	for (size_t i = 0; i < ARRAY_SIZE(bad) - 1; i++) {
		struct agent_context context = of_point(AGENT_OUTPUT);

		context.content = (const uint8_t *)bad[i];
		context.content_len = bad[i] ? strlen(bad[i]) : 0;
		refused(&context, -EINVAL);
	}
}

/* What is JSON stands as it is, in the target as in the member, and other points have theirs. */
static void json_stands_as_it_is(void **state)
{
	struct agent_context context = of_point(AGENT_POST_MODEL_CALL);

	(void)state;
	context.task = NULL;
	context.finish_reason = "tool_calls";
	context.content = (const uint8_t *)"{\"a\":1}";
	context.content_len = 7;
	context.content_json = true;
	context.tool_calls = "[{\"id\":\"1\"}]";
#define CALLS \
	"{\"content\":{\"a\":1},\"tool_calls\":[{\"id\":\"1\"}],\"finish_reason\":\"tool_calls\"}"
	written_as(&context, HEAD("post_model_call") ",\"model\":{\"id\":\"m\"},\"response\":" CALLS
						     ",\"target\":" CALLS "}");
	context.point = AGENT_INPUT;
	context.role = "external";
#define FOREIGN "{\"content\":{\"a\":1},\"role\":\"external\"}"
	written_as(&context, HEAD("input") ",\"input\":" FOREIGN ",\"target\":" FOREIGN "}");
	context.role = "\xff";
	refused(&context, -EINVAL);

	context = (struct agent_context){.point = AGENT_SHUTDOWN, .agent = "policy"};
	context.session = "42.1";
	context.time_ms = of_point(AGENT_INPUT).time_ms;
	context.sequence = 7;
	refused(&context, -EINVAL);
	context.members = "\"target\":null";
	written_as(&context, HEAD("agent_shutdown") ",\"target\":null}");
	context.task = "\xff";
	context.channel = "content";
	refused(&context, -EINVAL);
}

static void what_only_one_point_says_is_not_asked_of_others(void **state)
{
	static const enum agent_point points[] = {AGENT_INPUT, AGENT_OUTPUT};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(points); i++) {
		struct agent_context context = of_point(points[i]);

		context.model = context.finish_reason = NULL;
		json_decref(read_back(&context));
		context.content = NULL;
		refused(&context, -EINVAL);
	}
}

static void numbers_have_their_limits(void **state)
{
	static const uint64_t most = (1ull << 53) - 1;
	static const size_t fields[] = {
		offsetof(struct agent_span, start),
		offsetof(struct agent_span, end),
		offsetof(struct agent_span, before),
	};
	struct agent_context context = of_point(AGENT_INPUT);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		struct agent_span span = {0};

		context.span = &span;
		*(uint64_t *)((char *)&span + fields[i]) = most;
		json_decref(read_back(&context));
		*(uint64_t *)((char *)&span + fields[i]) = most + 1;
		refused(&context, -EINVAL);
	}
	context = of_point(AGENT_INPUT);
	context.sequence = most;
	json_decref(read_back(&context));
	context.sequence++;
	refused(&context, -EINVAL);
	context = of_point(_AGENT_POINT_MAX);
	refused(&context, -EINVAL);
	assert_string_equal(agent_point_name(_AGENT_POINT_MAX), "unknown");
}

/* Days of the calendar as the C library has them: all up to 2134, and some of each later year. */
static void times_are_those_of_the_calendar(void **state)
{
	struct agent_context context = of_point(AGENT_OUTPUT);
	struct agent_buffer buffer = {0};

	(void)state;
	for (uint64_t day = 0; day <= 2932896; day += day < 60000 ? 1 : 89) {
		uint64_t second = day * 86400 + day % 86400;
		time_t at = (time_t)second;
		char expected[64], text[40];
		struct tm tm;

		context.time_ms = second * 1000 + day % 1000;
		buffer.len = 0;
		assert_int_equal(agent_context_write(&context, &buffer), 0);
		assert_non_null(gmtime_r(&at, &tm));
		assert_true(strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm));
		snprintf(expected, sizeof(expected), "\"timestamp\":\"%s.%03uZ\"", text,
			 (unsigned int)(day % 1000));
		assert_non_null(memmem(buffer.text, 200, expected, strlen(expected)));
	}
	context.time_ms = 253402300799999ull;
	buffer.len = 0;
	assert_int_equal(agent_context_write(&context, &buffer), 0);
	assert_non_null(memmem(buffer.text, buffer.len, "\"9999-12-31T23:59:59.999Z\"", 26));
	agent_buffer_done(&buffer);
	context.time_ms++;
	refused(&context, -EINVAL);
}

static void contexts_are_not_larger_than_the_limit(void **state)
{
	struct agent_context context = of_point(AGENT_OUTPUT);
	struct agent_buffer buffer = {0};
	size_t len = AGENT_CONTEXT_MAX / 2, beside;
	uint8_t *content = malloc(len);

	(void)state;
	memset(content, 'x', len);
	context.content = content;
	context.content_len = 0;
	assert_int_equal(agent_context_write(&context, &buffer), 0);
	beside = buffer.len;
	buffer.len = 0;
	context.content_len = (AGENT_CONTEXT_MAX - beside) / 2;
	assert_int_equal(agent_context_write(&context, &buffer), 0);
	assert_true(buffer.len == AGENT_CONTEXT_MAX || buffer.len == AGENT_CONTEXT_MAX - 1);
	context.content_len++;
	beside = buffer.len;
	assert_int_equal(agent_context_write(&context, &buffer), -E2BIG);
	assert_int_equal(buffer.len, beside);
	agent_buffer_done(&buffer);
	free(content);
}

static void contexts_are_appended_or_nothing_is(void **state)
{
	struct agent_context context = of_point(AGENT_INPUT);
	struct agent_buffer buffer = {0};
	size_t one;

	(void)state;
	allocation_fail_at(0);
	refused(&context, -ENOMEM);
	assert_true(allocation_failed());
	assert_int_equal(agent_context_write(&context, &buffer), 0);
	one = buffer.len;
	while (buffer.capacity - buffer.len >= one)
		assert_int_equal(agent_context_write(&context, &buffer), 0);
	allocation_fail_at(0);
	assert_int_equal(agent_context_write(&context, &buffer), -ENOMEM);
	assert_true(allocation_failed());
	assert_int_equal(buffer.len % one, 0);
	assert_int_equal(agent_context_write(&context, &buffer), 0);
	for (size_t at = one; at < buffer.len; at += one)
		assert_memory_equal(buffer.text + at, buffer.text, one);
	agent_buffer_done(&buffer);
	agent_buffer_done(&buffer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_point_has_its_members),
		cmocka_unit_test(the_last_emission_says_how_it_ended),
		cmocka_unit_test(strings_are_escaped),
		cmocka_unit_test(no_string_leaves_its_quotes),
		cmocka_unit_test(what_cannot_be_said_is_refused),
		cmocka_unit_test(json_stands_as_it_is),
		cmocka_unit_test(what_only_one_point_says_is_not_asked_of_others),
		cmocka_unit_test(numbers_have_their_limits),
		cmocka_unit_test(times_are_those_of_the_calendar),
		cmocka_unit_test(contexts_are_not_larger_than_the_limit),
		cmocka_unit_test(contexts_are_appended_or_nothing_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
