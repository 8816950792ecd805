/* SPDX-License-Identifier: Apache-2.0 */
/* An extractor by itself: the data of events, and text that may be JSON under a wrong label. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "core/channel.h"
#include "core/extract.h"
#include "core/terms.h"
#include "unit/allocation.h"

struct sample {
	struct extract config;
	unsigned int flags;
	const struct terms *terms; /* NULL: only observed */
};

struct result {
	char text[16384]; /* "name=piece;" as they came, pieces of one name joined */
	char last[64];
	size_t len;
	enum fault fault;
	size_t payload; /* the one at fault, or their count */
	bool complete;
	uint64_t track, frontier;
};

static void on_text(void *context, const char *channel, const uint8_t *text, size_t len)
{
	struct result *result = context;
	int n;

	if (strcmp(result->last, channel) != 0)
		result->len += (size_t)snprintf(result->text + result->len,
						sizeof(result->text) - result->len,
						"%s%s=", result->len ? ";" : "", channel);
	snprintf(result->last, sizeof(result->last), "%s", channel);
	n = snprintf(result->text + result->len, sizeof(result->text) - result->len, "%.*s",
		     (int)len, (const char *)text);
	assert_in_range(n, 0, sizeof(result->text) - result->len - 1);
	result->len += (size_t)n;
}

/* One payload, in pieces of exactly their size; a piece of 0 bytes is one too. */
static enum fault feed(struct extractor *x, const char *payload, size_t len, size_t cut,
		       size_t size)
{
	size_t at = 0, used;

	while (at < len) {
		size_t end = at < cut && cut < len ? cut : len,
		       n = end - at < size ? end - at : size;
		uint8_t *copy = malloc(n);
		enum fault fault;

		assert_non_null(copy);
		memcpy(copy, payload + at, n);
		fault = extractor_feed(x, copy, n, &used);
		free(copy);
		assert_true(used <= n);
		if (fault)
			return fault;
		assert_int_equal(used, n);
		at += n;
	}
	return extractor_unit_end(x, true);
}

static void run(const struct sample *sample, const char *const *payloads, size_t cut, size_t size,
		struct result *ret)
{
	struct channel_set set = {
		.terms = &sample->terms,
		.task_count = sample->terms != NULL,
		.ceiling = UINT64_MAX,
		.on_text = on_text,
		.context = ret,
	};
	struct extractor x;

	memset(ret, 0, sizeof(*ret));
	assert_int_equal(channel_set_init(&set), 0);
	assert_int_equal(extractor_init(&x, &sample->config, &set, sample->flags), 0);
	for (; payloads[ret->payload] && !ret->fault; ret->payload += !ret->fault)
		ret->fault =
			feed(&x, payloads[ret->payload], strlen(payloads[ret->payload]), cut, size);
	ret->frontier = set.floor;
	if (sample->terms)
		ret->frontier = channel_set_frontier(&set, 0);
	if (!ret->fault)
		ret->fault = extractor_end(&x);
	ret->complete = x.complete;
	ret->track = set.track;
	extractor_done(&x);
	channel_set_done(&set);
}

/* In one piece, in pieces of each size up to 9 bytes, and cut in two at each offset. */
static void check(const struct sample *sample, const char *const *payloads, const char *text,
		  enum fault fault, size_t payload)
{
	struct result whole, cut;
	size_t longest = 0;

	run(sample, payloads, 0, SIZE_MAX, &whole);
	assert_string_equal(fault_name(whole.fault), fault_name(fault));
	assert_int_equal(whole.payload, payload);
	if (!fault)
		assert_string_equal(whole.text, text);
	for (size_t i = 0; payloads[i]; i++)
		longest = MAX(longest, strlen(payloads[i]));
	for (size_t i = 1; i < longest + 10; i++) {
		if (i < 10)
			run(sample, payloads, 0, i, &cut);
		else
			run(sample, payloads, i - 9, SIZE_MAX, &cut);
		assert_string_equal(fault_name(cut.fault), fault_name(fault));
		assert_int_equal(cut.payload, payload);
		assert_int_equal(cut.complete, whole.complete);
		assert_int_equal(cut.frontier, whole.frontier);
		if (!fault || fault == FAULT_BLOCKED)
			assert_int_equal(cut.track, whole.track);
		if (!fault)
			assert_string_equal(cut.text, text);
	}
}

#define PAYLOADS(...)             \
	(const char *const[])     \
	{                         \
		__VA_ARGS__, NULL \
	}

static const struct sample openai = {
	{.kind = EXTRACT_OPENAI_CHAT}, EXTRACTOR_EVALUATE | EXTRACTOR_EVENTS, NULL};

static bool completes(const struct sample *sample, const char *const *payloads)
{
	struct result result;

	run(sample, payloads, 0, SIZE_MAX, &result);
	return result.complete;
}

static void the_end_mark(void **state)
{
	struct sample automatic = openai;
	const char *content = "{\"choices\":[{\"delta\":{\"content\":\"a\"}}]}";

	(void)state;
	check(&openai, PAYLOADS(content, "[DONE]"), "meta=choicesdeltacontent;c0.content=a",
	      FAULT_NONE, 2);
	assert_true(completes(&openai, PAYLOADS(content, "[DONE]")));
	assert_false(completes(&openai, PAYLOADS(content)));
	/* Not it, nor JSON. */
	check(&openai, PAYLOADS("[DONE"), "", FAULT_BAD_JSON, 0);
	check(&openai, PAYLOADS("[D"), "", FAULT_BAD_JSON, 0);
	check(&openai, PAYLOADS("[DONE]]"), "", FAULT_BAD_JSON, 0);
	check(&openai, PAYLOADS("[DONE] "), "", FAULT_BAD_JSON, 0);
	check(&openai, PAYLOADS("[DONE]\n[DONE]"), "", FAULT_BAD_JSON, 0);
	check(&openai, PAYLOADS(" [DONE]"), "", FAULT_BAD_JSON, 0);
	check(&openai, PAYLOADS("[done]"), "", FAULT_BAD_JSON, 0);
	check(&openai, PAYLOADS("["), "", FAULT_BAD_JSON, 0);
	check(&openai, PAYLOADS("{\"a\":[DONE]}"), "", FAULT_BAD_JSON, 0);
	check(&openai, PAYLOADS("\"[DONE]\"", "[]", "[\"DONE\"]"), "$=[DONE]DONE", FAULT_NONE, 3);
	/* Nothing comes after it. */
	check(&openai, PAYLOADS("[DONE]", "", ""), "", FAULT_NONE, 3);
	check(&openai, PAYLOADS("[DONE]", "", "{}"), "", FAULT_PROTOCOL, 2);
	check(&openai, PAYLOADS("[DONE]", "[DONE]"), "", FAULT_PROTOCOL, 1);
	automatic.config.kind = EXTRACT_AUTO;
	check(&automatic, PAYLOADS("{\"a\":\"b\"}", "[DONE]", "1"), "", FAULT_PROTOCOL, 2);
}

static void data_that_is_empty_or_none(void **state)
{
	(void)state;
	check(&openai, PAYLOADS("", "{}", "", "[1]"), "meta=1", FAULT_NONE, 4);
	check(&openai, PAYLOADS(" "), "", FAULT_BAD_JSON, 0);
	check(&openai, PAYLOADS("{}", "\n"), "", FAULT_BAD_JSON, 1);
	check(&openai, PAYLOADS("{\"a\":"), "", FAULT_BAD_JSON, 0);
	check(&openai, PAYLOADS("{}{}"), "", FAULT_BAD_JSON, 0);
}

/* It ends what waits for more, and what was held. */
static void the_end_mark_ends_every_text(void **state)
{
	struct sample sample = openai;
	const char *term = "forbidden";
	const char *call = "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":"
			   "{\"arguments\":\"x\"}}]}}]}";
	const char *content = "{\"choices\":[{\"delta\":{\"content\":\"for\"}}]}";
	struct terms *terms;
	struct result result;
	size_t bad;

	(void)state;
	assert_int_equal(terms_new(&term, 1, 0, &bad, &terms), 0);
	sample.terms = terms;
	run(&sample, PAYLOADS(content), 0, SIZE_MAX, &result);
	assert_int_equal(result.frontier, result.track - 3);
	run(&sample, PAYLOADS(call, content), 0, SIZE_MAX, &result);
	assert_int_equal(result.frontier, strlen("choicesdeltatool_callsfunctionarguments"));
	run(&sample, PAYLOADS(call, content, "[DONE]"), 0, SIZE_MAX, &result);
	assert_int_equal(result.frontier, result.track);
	check(&sample,
	      PAYLOADS(content, "{\"choices\":[{\"delta\":{\"content\":\"bidden\"}}]}", "[DONE]"),
	      "", FAULT_BLOCKED, 1);
	terms_free(terms);
}

static void data_is_utf8_whatever_it_is(void **state)
{
	struct sample sample = {{.kind = EXTRACT_NONE}, EXTRACTOR_EVENTS, NULL};

	(void)state;
	for (unsigned int evaluate = 0; evaluate <= 1; evaluate++) {
		sample.flags = EXTRACTOR_EVENTS | (evaluate ? EXTRACTOR_EVALUATE : 0);
		sample.config.replace_ill_formed = false;
		check(&sample, PAYLOADS("\xe6\xb0\xb4", "", "not JSON", "[DONE]", "x"), "",
		      FAULT_NONE, 5);
		check(&sample, PAYLOADS("a", "\xe6\xb0"), "", FAULT_BAD_UTF8, 1);
		check(&sample, PAYLOADS("\xff"), "", FAULT_BAD_UTF8, 0);
		check(&sample, PAYLOADS("\xed\xa0\x80"), "", FAULT_BAD_UTF8, 0);
		sample.config.replace_ill_formed = true;
		check(&sample, PAYLOADS("\xff", "\xe6", "\xb0"), "", FAULT_NONE, 3);
	}
	/* Also where a kind of JSON is only framed. */
	sample = (struct sample){{.kind = EXTRACT_OPENAI_CHAT}, EXTRACTOR_EVENTS, NULL};
	check(&sample, PAYLOADS("not JSON"), "", FAULT_NONE, 1);
	check(&sample, PAYLOADS("\xff"), "", FAULT_BAD_UTF8, 0);
}

static void raw_data_joins_over_events(void **state)
{
	struct sample sample = {{.kind = EXTRACT_RAW}, EXTRACTOR_EVENTS | EXTRACTOR_EVALUATE, NULL};
	const char *term = "forbidden";
	struct terms *terms;
	size_t bad;

	(void)state;
	check(&sample, PAYLOADS("a\xc3\xa9", "", "[DONE]", "b"), "raw=a\xc3\xa9[DONE]b", FAULT_NONE,
	      4);
	/* What is between two events is not of the text, but cuts a sequence all the same. */
	check(&sample, PAYLOADS("\xe6\xb0", "\xb4"), "", FAULT_BAD_UTF8, 0);
	sample.config.replace_ill_formed = true;
	check(&sample, PAYLOADS("\xe6\xb0", "x\xff"), "raw=\xef\xbf\xbdx\xef\xbf\xbd", FAULT_NONE,
	      2);
	assert_int_equal(terms_new(&term, 1, 0, &bad, &terms), 0);
	sample.terms = terms;
	check(&sample, PAYLOADS("for", "bidden"), "", FAULT_BLOCKED, 1);
	sample.config.join_unit = true;
	check(&sample, PAYLOADS("for", "bidden"), "raw=forbidden", FAULT_NONE, 2);
	terms_free(terms);
}

static const struct sample attempt = {
	{.kind = EXTRACT_RAW}, EXTRACTOR_EVALUATE | EXTRACTOR_ATTEMPT, NULL};

static void text_that_is_json_too(void **state)
{
	(void)state;
	check(&attempt, PAYLOADS("{\"a\":\"\\u0073\"}"), "raw={\"a\":\"\\u0073\"};meta=a;a=s",
	      FAULT_NONE, 1);
	check(&attempt, PAYLOADS(" \r\n\t[{\"a\":{\"b\":\"c\"}},-1]"),
	      "raw= \r\n\t[{\"a\":{\"b\":\"c\"}},-1];meta=ab;a.b=c;meta=-1", FAULT_NONE, 1);
	/* Each unit anew. */
	check(&attempt, PAYLOADS("[\"a\"]", "x[\"b\"]", "[\"c\"]"),
	      "raw=[\"a\"];$=a;raw=x[\"b\"][\"c\"];$=c", FAULT_NONE, 3);
	/* A reader of lines takes them one by one, and some take the last of two members. */
	check(&attempt, PAYLOADS("{\"a\":\"1\"}\n{\"a\":\"2\",\"a\":\"3\"}\n4"),
	      "raw={\"a\":\"1\"}\n{\"a\":\"2\",\"a\":\"3\"}\n4;meta=a;a=1;meta=a;a=2;meta=a;a=3;"
	      "meta=4",
	      FAULT_NONE, 1);
}

static void text_that_is_no_json(void **state)
{
	(void)state;
	check(&attempt, PAYLOADS(""), "", FAULT_NONE, 1);
	check(&attempt, PAYLOADS(" "), "raw= ", FAULT_NONE, 1);
	check(&attempt, PAYLOADS("\"a\""), "raw=\"a\"", FAULT_NONE, 1);
	check(&attempt, PAYLOADS("x{\"a\":1}"), "raw=x{\"a\":1}", FAULT_NONE, 1);
	check(&attempt, PAYLOADS("{\"a\":\"b\",c"), "raw={\"a\":\"b\",c;meta=a;a=b", FAULT_NONE, 1);
	check(&attempt, PAYLOADS("{\"a\":\"b"), "raw={\"a\":\"b;meta=a;a=b", FAULT_NONE, 1);
	check(&attempt, PAYLOADS("[\"a\\q\",\"b\"]"), "raw=[\"a\\q\",\"b\"];$=a", FAULT_NONE, 1);
	check(&attempt, PAYLOADS("[12"), "raw=[12;meta=12", FAULT_NONE, 1);
	check(&attempt, PAYLOADS("[] []]"), "raw=[] []]", FAULT_NONE, 1);
	check(&attempt, PAYLOADS("[\"\\ud83d", "[\"\\ude00\"]"),
	      "raw=[\"\\ud83d;$=\xef\xbf\xbd;raw=[\"\\ude00\"];$=\xef\xbf\xbd", FAULT_NONE, 2);
	check(&attempt, PAYLOADS("{\"a\":\"\xe6\xb0\xb4\"}"),
	      "raw={\"a\":\"\xe6\xb0\xb4\"};meta=a;a=\xe6\xb0\xb4", FAULT_NONE, 1);
	check(&attempt, PAYLOADS("{\"a\":\"\xe6\"}"), "", FAULT_BAD_UTF8, 0);
}

static void terms_are_found_in_both_readings(void **state)
{
	struct sample sample = attempt;
	const char *term = "secret";
	struct terms *terms;
	size_t bad;

	(void)state;
	assert_int_equal(terms_new(&term, 1, 0, &bad, &terms), 0);
	sample.terms = terms;
	check(&sample, PAYLOADS("x", "{\"a\":\"\\u0073ecret\"}"), "", FAULT_BLOCKED, 1);
	check(&sample, PAYLOADS("{\"\\u0073ecret\":1}"), "", FAULT_BLOCKED, 0);
	check(&sample, PAYLOADS("{\"a\":\"secret\"}"), "", FAULT_BLOCKED, 0);
	check(&sample, PAYLOADS("{\"a\":1}\n\n{\"a\":\"s\\u0065cret\"}"), "", FAULT_BLOCKED, 0);
	check(&sample, PAYLOADS("{\"a\":1,\"a\":\"s\\u0065cret\"}"), "", FAULT_BLOCKED, 0);
	check(&sample, PAYLOADS("[\"secre\",", "\"t\"]"), "raw=[\"secre\",;$=secre;raw=\"t\"]",
	      FAULT_NONE, 2);
	check(&sample, PAYLOADS("{\"a\":1} x {\"a\":\"s\\u0065cret\"}"),
	      "raw={\"a\":1} x {\"a\":\"s\\u0065cret\"};meta=a1", FAULT_NONE, 1);
	terms_free(terms);
}

/* Over the ends of blocks, where only the order of what is handed on could differ. */
static void long_texts(void **state)
{
	size_t size = 2 * ATTEMPT_BLOCK + 100, len = 0;
	char *data = malloc(size + 64);
	struct result whole, cut;

	(void)state;
	data[len++] = ' ';
	data[len++] = '[';
	while (len < size)
		len += (size_t)sprintf(data + len, "\"w%zu\\u00e9\",", len);
	sprintf(data + len, "1]");
	run(&attempt, PAYLOADS(data), 0, SIZE_MAX, &whole);
	assert_int_equal(whole.fault, FAULT_NONE);
	for (size_t n = 1; n < 3 * ATTEMPT_BLOCK; n = n * 3 + 1) {
		run(&attempt, PAYLOADS(data), 0, n, &cut);
		assert_int_equal(cut.fault, FAULT_NONE);
		assert_int_equal(cut.track, whole.track);
		assert_string_equal(cut.text, whole.text);
		run(&attempt, PAYLOADS(data), ATTEMPT_BLOCK - n % 5, SIZE_MAX, &cut);
		assert_string_equal(cut.text, whole.text);
	}
	free(data);
}

/* Where JSON goes deeper than it is followed, something could hide. */
static void an_attempt_that_is_too_deep(void **state)
{
	char data[JSON_DEPTH_MAX + 2];
	struct result result;

	(void)state;
	for (unsigned int more = 0; more <= 1; more++) {
		memset(data, '[', sizeof(data));
		data[JSON_DEPTH_MAX + more] = '\0';
		run(&attempt, PAYLOADS(data), 0, SIZE_MAX, &result);
		assert_int_equal(result.fault, more ? FAULT_TOO_LARGE : FAULT_NONE);
	}
}

/* Payloads cut in two, by an extractor that may fail at any allocation. */
static enum fault run_failing(const struct sample *sample, const char *const *payloads)
{
	struct channel_set set = {.terms = &sample->terms, .task_count = 1, .ceiling = UINT64_MAX};
	enum fault fault = FAULT_NO_MEMORY;
	struct extractor x;

	if (channel_set_init(&set) == 0 &&
	    extractor_init(&x, &sample->config, &set, sample->flags) == 0) {
		fault = FAULT_NONE;
		for (; *payloads && !fault; payloads++) {
			size_t len = strlen(*payloads), half = len / 2, used;

			fault = extractor_feed(&x, (const uint8_t *)*payloads, half, &used);
			if (!fault)
				fault = extractor_feed(&x, (const uint8_t *)*payloads + half,
						       len - half, &used);
			if (!fault)
				fault = extractor_unit_end(&x, true);
		}
		if (!fault)
			fault = extractor_end(&x);
		extractor_done(&x);
	}
	channel_set_done(&set);
	return fault;
}

static void every_allocation_may_fail(void **state)
{
	static const char *const chunks[] = {
		"{\"id\":\"chatcmpl-0123456789abcdef\",\"choices\":[{\"delta\":{\"tool_calls\":["
		"{\"function\":{\"name\":\"f\",\"arguments\":\"{\\ud83d\"}}],\"content\":[{"
		"\"text\":"
		"\"s\\u0065c\"}],\"refusal\":\"a\",\"reasoning\":\"b\"},\"index\":3}]}",
		"[DONE]", NULL};
	static const char *const messages[] = {
		"{\"message\":{\"content\":\"sec\",\"tool_calls\":[{\"function\":{\"name\":\"f\","
		"\"arguments\":{\"a\":[1,\"sec\"]}}}]},\"thinking\":\"x\",\"response\":\"y\"}",
		NULL};
	static const char *const texts[] = {"{\"a\":[\"sec\",{\"b\":\"x\"}]} [1", NULL};
	const struct {
		struct sample sample;
		const char *const *payloads;
	} runs[] = {{openai, chunks},
		    {{{.kind = EXTRACT_OLLAMA_CHAT}, EXTRACTOR_EVALUATE, NULL}, messages},
		    {attempt, texts}};
	const char *term = "secret";
	struct terms *terms;
	size_t bad;

	(void)state;
	assert_int_equal(terms_new(&term, 1, 0, &bad, &terms), 0);
	for (size_t i = 0; i < ARRAY_SIZE(runs); i++) {
		struct sample sample = runs[i].sample;
		unsigned long n = 0;

		sample.terms = terms;
		assert_int_equal(run_failing(&sample, runs[i].payloads), FAULT_NONE);
		for (;; n++) {
			enum fault fault;

			allocation_fail_at(n);
			fault = run_failing(&sample, runs[i].payloads);
			if (!allocation_failed())
				break;
			assert_int_equal(fault, FAULT_NO_MEMORY);
		}
		assert_in_range(n, 5, 1000);
	}
	terms_free(terms);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_end_mark),
		cmocka_unit_test(data_that_is_empty_or_none),
		cmocka_unit_test(the_end_mark_ends_every_text),
		cmocka_unit_test(data_is_utf8_whatever_it_is),
		cmocka_unit_test(raw_data_joins_over_events),
		cmocka_unit_test(text_that_is_json_too),
		cmocka_unit_test(text_that_is_no_json),
		cmocka_unit_test(terms_are_found_in_both_readings),
		cmocka_unit_test(long_texts),
		cmocka_unit_test(an_attempt_that_is_too_deep),
		cmocka_unit_test(every_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
