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
#include "unit/sample.h"

static const struct sample openai = {
	{.kind = EXTRACT_OPENAI_CHAT}, EXTRACTOR_EVALUATE | EXTRACTOR_EVENTS, NULL};

static void the_end_mark(void **state)
{
	struct sample automatic = openai;
	const char *content = "{\"choices\":[{\"delta\":{\"content\":\"a\"}}]}";

	(void)state;
	sample_check(&openai, PAYLOADS(content, "[DONE]"), "meta=choicesdeltacontent;c0.content=a",
		     FAULT_NONE, 2);
	assert_true(sample_completes(&openai, PAYLOADS(content, "[DONE]")));
	assert_false(sample_completes(&openai, PAYLOADS(content)));
	/* Not it, nor JSON. */
	sample_check(&openai, PAYLOADS("[DONE"), "", FAULT_BAD_JSON, 0);
	sample_check(&openai, PAYLOADS("[D"), "", FAULT_BAD_JSON, 0);
	sample_check(&openai, PAYLOADS("[DONE]]"), "", FAULT_BAD_JSON, 0);
	sample_check(&openai, PAYLOADS("[DONE] "), "", FAULT_BAD_JSON, 0);
	sample_check(&openai, PAYLOADS("[DONE]\n[DONE]"), "", FAULT_BAD_JSON, 0);
	sample_check(&openai, PAYLOADS(" [DONE]"), "", FAULT_BAD_JSON, 0);
	sample_check(&openai, PAYLOADS("[done]"), "", FAULT_BAD_JSON, 0);
	sample_check(&openai, PAYLOADS("["), "", FAULT_BAD_JSON, 0);
	sample_check(&openai, PAYLOADS("{\"a\":[DONE]}"), "", FAULT_BAD_JSON, 0);
	sample_check(&openai, PAYLOADS("\"[DONE]\"", "[]", "[\"DONE\"]"), "$=[DONE]DONE",
		     FAULT_NONE, 3);
	/* Nothing comes after it. */
	sample_check(&openai, PAYLOADS("[DONE]", "", ""), "", FAULT_NONE, 3);
	sample_check(&openai, PAYLOADS("[DONE]", "", "{}"), "", FAULT_PROTOCOL, 2);
	sample_check(&openai, PAYLOADS("[DONE]", "[DONE]"), "", FAULT_PROTOCOL, 1);
	automatic.config.kind = EXTRACT_AUTO;
	sample_check(&automatic, PAYLOADS("{\"a\":\"b\"}", "[DONE]", "1"), "", FAULT_PROTOCOL, 2);
}

static void data_that_is_empty_or_none(void **state)
{
	(void)state;
	sample_check(&openai, PAYLOADS("", "{}", "", "[1]"), "meta=1", FAULT_NONE, 4);
	sample_check(&openai, PAYLOADS(" "), "", FAULT_BAD_JSON, 0);
	sample_check(&openai, PAYLOADS("{}", "\n"), "", FAULT_BAD_JSON, 1);
	sample_check(&openai, PAYLOADS("{\"a\":"), "", FAULT_BAD_JSON, 0);
	sample_check(&openai, PAYLOADS("{}{}"), "", FAULT_BAD_JSON, 0);
}

/* It ends what waits for more, and what was held. */
static void the_end_mark_ends_every_text(void **state)
{
	struct sample sample = openai;
	const char *call = "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":"
			   "{\"arguments\":\"x\"}}]}}]}";
	const char *content = "{\"choices\":[{\"delta\":{\"content\":\"for\"}}]}";
	struct terms *terms = sample_terms("forbidden");
	struct sample_result result;

	(void)state;
	sample.terms = terms;
	sample_run(&sample, PAYLOADS(content), 0, SIZE_MAX, &result);
	assert_int_equal(result.frontier, result.track - 3);
	sample_run(&sample, PAYLOADS(call, content), 0, SIZE_MAX, &result);
	assert_int_equal(result.frontier, strlen("choicesdeltatool_callsfunctionarguments"));
	sample_run(&sample, PAYLOADS(call, content, "[DONE]"), 0, SIZE_MAX, &result);
	assert_int_equal(result.frontier, result.track);
	sample_check(
		&sample,
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
		sample_check(&sample, PAYLOADS("\xe6\xb0\xb4", "", "not JSON", "[DONE]", "x"), "",
			     FAULT_NONE, 5);
		sample_check(&sample, PAYLOADS("a", "\xe6\xb0"), "", FAULT_BAD_UTF8, 1);
		sample_check(&sample, PAYLOADS("\xff"), "", FAULT_BAD_UTF8, 0);
		sample_check(&sample, PAYLOADS("\xed\xa0\x80"), "", FAULT_BAD_UTF8, 0);
		sample.config.replace_ill_formed = true;
		sample_check(&sample, PAYLOADS("\xff", "\xe6", "\xb0"), "", FAULT_NONE, 3);
	}
	/* Also where a kind of JSON is only framed. */
	sample = (struct sample){{.kind = EXTRACT_OPENAI_CHAT}, EXTRACTOR_EVENTS, NULL};
	sample_check(&sample, PAYLOADS("not JSON"), "", FAULT_NONE, 1);
	sample_check(&sample, PAYLOADS("\xff"), "", FAULT_BAD_UTF8, 0);
}

static void raw_data_joins_over_events(void **state)
{
	struct sample sample = {{.kind = EXTRACT_RAW}, EXTRACTOR_EVENTS | EXTRACTOR_EVALUATE, NULL};
	struct terms *terms = sample_terms("forbidden");

	(void)state;
	sample_check(&sample, PAYLOADS("a\xc3\xa9", "", "[DONE]", "b"), "raw=a\xc3\xa9[DONE]b",
		     FAULT_NONE, 4);
	/* What is between two events is not of the text, but cuts a sequence all the same. */
	sample_check(&sample, PAYLOADS("\xe6\xb0", "\xb4"), "", FAULT_BAD_UTF8, 0);
	sample.config.replace_ill_formed = true;
	sample_check(&sample, PAYLOADS("\xe6\xb0", "x\xff"), "raw=\xef\xbf\xbdx\xef\xbf\xbd",
		     FAULT_NONE, 2);
	sample.terms = terms;
	sample_check(&sample, PAYLOADS("for", "bidden"), "", FAULT_BLOCKED, 1);
	sample.config.join_unit = true;
	sample_check(&sample, PAYLOADS("for", "bidden"), "raw=forbidden", FAULT_NONE, 2);
	terms_free(terms);
}

static const struct sample attempt = {
	{.kind = EXTRACT_RAW}, EXTRACTOR_EVALUATE | EXTRACTOR_ATTEMPT, NULL};

static void text_that_has_literals(void **state)
{
	(void)state;
	sample_check(&attempt, PAYLOADS("{\"a\":\"\\u0073\"}"),
		     "raw={\"a\":\"\\u0073\"};raw.literals=s", FAULT_NONE, 1);
	sample_check(&attempt, PAYLOADS("x\"\\u0073\" x"), "raw=x\"\\u0073\" x;raw.literals=s",
		     FAULT_NONE, 1);
	sample_check(&attempt, PAYLOADS("[\"\\ud83d", "[\"\\ude00\"]"),
		     "raw=[\"\\ud83d;raw.literals=\xef\xbf\xbd;raw=[\"\\ude00\"];"
		     "raw.literals=\xef\xbf\xbd",
		     FAULT_NONE, 2);
	sample_check(&attempt, PAYLOADS("{\"\\u0061\":\"\xe6\xb0\xb4\"}"),
		     "raw={\"\\u0061\":\"\xe6\xb0\xb4\"};raw.literals=a\xe6\xb0\xb4", FAULT_NONE,
		     1);
	sample_check(&attempt, PAYLOADS("{\"a\":\"\xe6\"}"), "", FAULT_BAD_UTF8, 0);
}

static void text_that_has_none(void **state)
{
	(void)state;
	sample_check(&attempt, PAYLOADS(""), "", FAULT_NONE, 1);
	sample_check(&attempt, PAYLOADS(" "), "raw= ", FAULT_NONE, 1);
	sample_check(&attempt, PAYLOADS("'a\\u0061'"), "raw='a\\u0061'", FAULT_NONE, 1);
	sample_check(&attempt, PAYLOADS("say \"x\"", "{1}"), "raw=say \"x\"{1}", FAULT_NONE, 2);
}

static void terms_are_found_in_both_readings(void **state)
{
	static const char *const texts[] = {
		"{\"a\":\"\\u0073ecret\"}",
		"{\"\\u0073ecret\":1}",
		"{\"a\":\"secret\"}",
		"{\"a\":1}\n\n{\"a\":\"s\\u0065cret\"}",
		"{\"a\":1,\"a\":\"s\\u0065cret\"}",
		"{\"a\":1} x {\"a\":\"s\\u0065cret\"}",
		"\xef\xbb\xbf{\"a\":\"s\\u0065cret\"}",
		"data: {\"a\":\"sec\"}\n\ndata: {\"a\":\"ret\"}\n\n",
		"{\"a\":\"sec\"}\n{\"a\":\"ret\"}\n",
		"{\"arguments\":\"{\\\"a\\\":\\\"s\\\\u0065cret\\\"}\"}",
	};
	struct sample sample = attempt;
	struct terms *terms = sample_terms("secret");

	(void)state;
	sample.terms = terms;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		sample_check(&sample, PAYLOADS("x", texts[i]), "", FAULT_BLOCKED, 1);
	/* Each unit anew. */
	sample_check(&sample, PAYLOADS("[\"secre\",", "\"t\"]"),
		     "raw=[\"secre\",;raw.literals=secre;raw=\"t\"]", FAULT_NONE, 2);
	terms_free(terms);
}

/* Over the ends of blocks, where only the order of what is handed on could differ. */
static void long_texts(void **state)
{
	size_t size = 2 * EXTRACT_TEXT_BLOCK + 100, len = 0;
	char *data = malloc(size + 64);
	struct sample_result whole, cut;

	(void)state;
	while (len < size)
		len += (size_t)sprintf(data + len, "{\"w\":\"%zu\\u00e9\"}", len);
	sample_run(&attempt, PAYLOADS(data), 0, SIZE_MAX, &whole);
	assert_int_equal(whole.fault, FAULT_NONE);
	for (size_t n = 1; n < 3 * EXTRACT_TEXT_BLOCK; n = n * 3 + 1) {
		sample_run(&attempt, PAYLOADS(data), 0, n, &cut);
		assert_int_equal(cut.fault, FAULT_NONE);
		assert_int_equal(cut.track, whole.track);
		assert_string_equal(cut.text, whole.text);
		sample_run(&attempt, PAYLOADS(data), EXTRACT_TEXT_BLOCK - n % 5, SIZE_MAX, &cut);
		assert_string_equal(cut.text, whole.text);
	}
	free(data);
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
	struct terms *terms = sample_terms("secret");

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(runs); i++) {
		struct sample sample = runs[i].sample;

		sample.terms = terms;
		sample_check_allocations(&sample, runs[i].payloads);
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
		cmocka_unit_test(text_that_has_literals),
		cmocka_unit_test(text_that_has_none),
		cmocka_unit_test(terms_are_found_in_both_readings),
		cmocka_unit_test(long_texts),
		cmocka_unit_test(every_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
