/* SPDX-License-Identifier: Apache-2.0 */
/* Literals of JSON anywhere in a text: what their readers see, whatever stands around them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "core/channel.h"
#include "core/extract_literals.h"
#include "core/terms.h"
#include "unit/literals.h"

static void denied(const char *text)
{
	literals_check(text, FAULT_BLOCKED);
}

static void passes(const char *text)
{
	literals_check(text, FAULT_NONE);
}

/* What is evaluated, of each level; in every cut. */
static void says(const char *text, const char *first, const char *second, const char *third)
{
	const char *const levels[] = {first, second, third};
	struct literals_heard *heard = malloc(sizeof(*heard));
	size_t len = strlen(text);

	assert_non_null(heard);
	for (size_t cut = 0; cut < len + 8; cut++) {
		size_t size = cut < len ? SIZE_MAX : cut - len + 1;

		assert_int_equal(literals_run(NULL, text, len, cut, size, heard), FAULT_NONE);
		for (size_t i = 0; i < ARRAY_SIZE(levels); i++)
			assert_string_equal(heard->text[i], levels[i]);
	}
	free(heard);
}

static void escapes_are_undone(void **state)
{
	(void)state;
	says("{}\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e9\\u6d41\"",
	     "a\"\\/\b\f\n\r\tA\xc3\xa9\xe6\xb5\x81", "/\b\f", "");
	says("x \"plain\" and \"caf\xc3\xa9\"", "", "", "");
	says("x \"\\ud83c\\udf0a \\ud83c- \\udf0a\"", "\xf0\x9f\x8c\x8a \xef\xbf\xbd- \xef\xbf\xbd",
	     "", "");
	/* What is no escape loses its backslash. */
	says("x \"\\q\\u12x4\\u\\u00\xc3\xa9\\\xc3\xa9\\", "qu12x4uu00\xc3\xa9\xc3\xa9", "", "");
	denied("{\"a\":\"forbidd\\u0065n\"}");
	denied("{\"forb\\u0069dden\":1}");
	denied("\"\\u0066\\u006f\\u0072\\u0062\\u0069\\u0064\\u0064\\u0065\\u006E\"");
	denied("{\"a\":\"x\\\\\\\"\\/forbi\\u0064den\"}");
	denied("{\"a\":\"forbidd\\u0065n");
	passes("{\"a\":\"forbidd\\\\u0065n\"}");
	passes("{\"a\":\"for\\nbidden\"}");
	/* What stands as it is was evaluated by others. */
	passes("[\"x\",forbidden]");
}

static void whatever_stands_around_them(void **state)
{
	static const char *const before[] = {
		"",
		"\xef\xbb\xbf",
		"\f",
		"\"",
		"\" ",
		"it's 5\" wide: ",
		"\"\"\"",
		"\\",
		"\" \\",
		"\\u00",
		"\"\\u00",
		"\"\\ud83d",
		"/* \" */",
		"// \"x\n",
		"NaN,\"\\\"\"",
		"data: ",
		"data: \"\n data :",
		"id: \"\\\ndata: ",
		"--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a\\\"\r\n\r\n",
		"--b\r\nX: \"\r\n\r\n",
		"payload=",
		"{\"x\":NaN,",
		"[\"a\", \"b",
		"{\"a\":[1,2,\"",
		"\xe6\xb5\x81\"\xc3\xa9",
	};
	static const char *const texts[] = {
		"{\"a\":\"forbidd\\u0065n\"}",
		"{ \"k\" : [ { \"a\" :\n \"x \\u0066orbidden\" } ] }\n",
		"{\"a\":1,\"a\":2,\"forb\\u0069dden\":NaN}",
		"{\"content\":\"for\"}\n{\"content\":\"bidden\"}",
		"{\"content\" :\r\n\t\"for\"} \"\n{\"content\":\n\"bidden\"}",
		"[\"for\",\"bidden\"]",
		"{\"a\":\"{\\\"b\\\":\\\"forbidd\\\\u0065n\\\"}\"}",
	};
	char text[512];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(before); i++)
		for (size_t j = 0; j < ARRAY_SIZE(texts); j++) {
			snprintf(text, sizeof(text), "%s%s", before[i], texts[j]);
			denied(text);
		}
}

static void literals_of_a_name_are_joined(void **state)
{
	(void)state;
	denied("data: {\"x\":[{\"content\":\"for\"}]}\n\ndata: "
	       "{\"x\":[{\"content\":\"bidden\"}]}\n");
	denied("{\"response\":\"forb\"}\n{\"response\":\"idd\"}\n{\"response\":\"en\"}\n");
	denied("{\"content\":\"for\",\"n\":1,\"b\":\"x\"}\n{\"b\":\"y\",\"\\u0063ontent\":"
	       "\"bidden\"}");
	denied("{\"content\":\"forb\\u0069d\"}{\"content\":\"den\"}");
	denied("{\"a\":[\"for\",\"bidden\"]}");
	denied("{\"a\":[1,\"for\", null , \"bidden\" ]}");
	denied("[\n \"for\",\n \"bidden\"\n]");
	denied("[[\"for\"],[\"bidden\"]]");
	denied("{\"a\":[\"for\"],\"b\":[\"x\"],\"a\":[\"bidden\"]}");
	/* What was cleared before is not where something waits for it. */
	denied("{\"c\":\"den\"}{\"c\":\"den\"}{\"c\":\"forbid\"}{\"c\":\"den\"}");
	denied("{\"c\":\"for\"}{\"c\":\"for\"}{\"c\":\"bidden\"}");
	passes("{\"c\":\"den\"}{\"c\":\"forbid\"}{\"c\":\"x\"}{\"c\":\"den\"}");
	passes("{\"a\":\"for\"}{\"b\":\"bidden\"}");
	passes("{\"content\":\"for\"}{\"content\":\"x\"}{\"content\":\"bidden\"}");
	passes("{\"for\":\"for\",\"bidden\":\"bidden\"}");
	passes("{\"a\":\"for\",\"b\":[\"bidden\"]}");
	passes("{\"a\":\"for\"}{\"a\":[\"bidden\"]}");
	passes("say \"for\" and \"bidden\", it is \"for\", he said, \"bidden\"");
	passes("{\"a\":[{\"b\":\"for\"},{\"c\":\"bidden\"}]}");
}

static void halves_of_a_pair_may_lie_apart(void **state)
{
	struct terms *terms = literals_terms("\xf0\x9f\x8c\x8a", 0);
	static const char pair[] = "{\"c\":\"x\\ud83c\"}\n{\"c\":\"\\udf0a\"}";
	static const char none[] = "{\"c\":\"x\\ud83c\"}\n{\"d\":\"\\udf0a\"}";

	(void)state;
	for (size_t cut = 0; cut < sizeof(pair); cut++) {
		assert_int_equal(literals_run(terms, pair, strlen(pair), cut, SIZE_MAX, NULL),
				 FAULT_BLOCKED);
		assert_int_equal(literals_run(terms, none, strlen(none), cut, SIZE_MAX, NULL),
				 FAULT_NONE);
	}
	terms_free(terms);
	says(pair, "x\xf0\x9f\x8c\x8a", "", "");
	says(none, "x\xef\xbf\xbd\xef\xbf\xbd", "", "");
	denied("{\"\\ud83c\":\"for\"}{\"\\ud83c\":\"bidden\"}");
}

/* JSON in a string of JSON, and so on: one level more than that is nobody's. */
static void literals_in_literals(void **state)
{
	(void)state;
	denied("{\"arguments\":\"{\\\"cmd\\\":\\\"cat forbidd\\\\u0065n\\\"}\"}");
	denied("{\"arguments\":\"{\\\"cmd\\\":\\\"cat forbi\"}\n"
	       "{\"arguments\":\"dd\\\\u0065n\\\"}\"}\n");
	denied("{\"arguments\":\"{\\\"cmd\\\":\\\"forbidd\\\\u00\"}\n"
	       "{\"arguments\":\"65n\\\"}\"}\n");
	denied("[\"{\\u0022a\\u0022:\\u0022forbidd\\u005cu0065n\\u0022}\"]");
	denied("\"{\\\"a\\\":\\\"for\\\"}{\\\"a\\\":\\\"bidden\\\"}\"");
	denied("\"\\\"\\\\\\\"\\\\\\\\u0066orbidden\\\\\\\"\\\"\"");
	passes("\"\\\"\\\\\\\"\\\\\\\\\\\\\\\"\\\\\\\\\\\\\\\\u0066orbidden\"");
	/* A text of its own each. */
	passes("\"\\\"for\"\n\"\\\"bidden\"");
	says("[\"\\\"a\\\\\\\"b\"]", "\"a\\\"b", "a\"b", "b");
}

static void lines_end_literals(void **state)
{
	(void)state;
	passes("\"forb\\u0069d\nden\"");
	passes("\"forb\\u0069d\rden\"");
	passes("{\"content\n\":\"forb\"}{\"content\n\":\"idden\"}");
	denied("{\"content\"\n:\n\"forb\"}{\"content\"\r\n:\"idden\"}");
	denied("\"x\n\"forb\\u0069dden");
	denied("\"\\\nforb\\u0069dden\"");
}

/* A text after another one has nothing of that. */
static void texts_end(void **state)
{
	static const char *const texts[][2] = {
		{"{\"a\":\"for\"}", "{\"a\":\"bidden\"}"},
		{"{\"a\":", "\"x\",\"a\":1}"},
		{"\"forb\\u00", "69dden\""},
		{"\"\\\"forb\\\\u0069", "dden\""},
		{"[\"for\",", "\"bidden\"]"},
	};
	struct terms *terms = literals_terms("forbidden", 0);
	const struct matcher matcher = {.terms = terms};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct channel_set set = {
			.matchers = &matcher, .task_count = 1, .ceiling = UINT64_MAX};
		struct extract_literals *l;

		assert_int_equal(channel_set_init(&set), 0);
		l = extract_literals_new(&set, "t", true);
		assert_non_null(l);
		for (size_t j = 0; j < 2; j++) {
			const char *text = texts[i][j];

			assert_int_equal(literals_feed(l, text, strlen(text), 0, SIZE_MAX),
					 FAULT_NONE);
			assert_int_equal(extract_literals_end(l), FAULT_NONE);
			assert_int_equal(channel_set_unit_end(&set), FAULT_NONE);
			assert_int_equal(channel_set_frontier(&set, 0), set.track);
		}
		extract_literals_free(l);
		channel_set_done(&set);
	}
	terms_free(terms);
}

/* Where nothing joins, literals that ended hold nothing; one that has not does. */
static void literals_that_do_not_join(void **state)
{
	static const char first[] = "{\"a\":\"f\\u006fr\",", second[] = "\"b\":\"forb\\u0069";
	struct terms *terms = literals_terms("forbidden", 0);
	const struct matcher matcher = {.terms = terms};
	struct channel_set set = {.matchers = &matcher, .task_count = 1, .ceiling = UINT64_MAX};
	struct extract_literals *l;

	(void)state;
	assert_int_equal(channel_set_init(&set), 0);
	l = extract_literals_new(&set, "t", false);
	assert_non_null(l);
	assert_int_equal(literals_feed(l, first, strlen(first), 0, 3), FAULT_NONE);
	assert_int_equal(channel_set_unit_end(&set), FAULT_NONE);
	assert_int_equal(channel_set_frontier(&set, 0), 3);
	assert_int_equal(literals_feed(l, second, strlen(second), 0, 3), FAULT_NONE);
	assert_int_equal(channel_set_unit_end(&set), FAULT_NONE);
	assert_int_equal(channel_set_frontier(&set, 0), 3);
	assert_int_equal(set.track, 8);
	assert_int_equal(literals_feed(l, "dden", 4, 0, SIZE_MAX), FAULT_BLOCKED);
	extract_literals_free(l);
	channel_set_done(&set);
	terms_free(terms);
}

/* What folds with what may follow is settled where the literal ends. */
static void folded_literals(void **state)
{
	struct terms *terms = literals_terms("caf\xc3\xa9", TERMS_FOLD_NFC | TERMS_FOLD_CASEFOLD);
	static const char *const texts[] = {"[1,{\"\\u0043afe\\u0301\":1}]",
					    "{\"c\":\"CAF\"}\n{\"c\":\"\\u0065\\u0301\"}",
					    "{\"c\":\"ca\"}\n{\"c\":\"fe\"}\n{\"c\":\"\\u0301\"}"};
	static const char other[] = "{\"c\":\"caf\"}{\"c\":\"\\u0065\\u0323\"}";

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		for (size_t cut = 0; cut < strlen(texts[i]); cut++)
			assert_int_equal(literals_run(terms, texts[i], strlen(texts[i]), cut,
						      SIZE_MAX, NULL),
					 FAULT_BLOCKED);
	assert_int_equal(literals_run(terms, other, strlen(other), 0, SIZE_MAX, NULL), FAULT_NONE);
	terms_free(terms);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(escapes_are_undone),
		cmocka_unit_test(whatever_stands_around_them),
		cmocka_unit_test(literals_of_a_name_are_joined),
		cmocka_unit_test(halves_of_a_pair_may_lie_apart),
		cmocka_unit_test(literals_in_literals),
		cmocka_unit_test(lines_end_literals),
		cmocka_unit_test(texts_end),
		cmocka_unit_test(literals_that_do_not_join),
		cmocka_unit_test(folded_literals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
