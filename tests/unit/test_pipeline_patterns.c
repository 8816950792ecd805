/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks that search for patterns: what is held, denied, found, and where the track ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/macros.h"
#include "core/session.h"
#include "unit/allocation.h"
#include "unit/flow.h"

#define OK	"HTTP/1.1 200 OK\r\n"
#define JSON(n) OK "Content-Type: application/json\r\nContent-Length: " n "\r\n\r\n"
#define T(text) "{\"t\":\"" text "\"}\n"
#define LEN(s)	(sizeof(s) - 1)

static const struct flow_config path_t = {
	.framing = {.kind = FRAMING_NDJSON},
	.extract = {.kind = EXTRACT_PATH, .path = "t"},
	.terms = {{"AKIA[0-9A-Z]{4}"}},
	.patterns = 1,
};
static const struct flow_config automatic = {
	.framing = {.kind = FRAMING_NDJSON},
	.extract = {.kind = EXTRACT_AUTO},
	.terms = {{"AKIA[0-9A-Z]{4}"}},
	.patterns = 1,
};
static const struct flow_config responses = {
	.framing = {.kind = FRAMING_HTTP1},
	.extract = {.kind = EXTRACT_AUTO},
	.terms = {{"bomb\\b"}},
	.patterns = 1,
	.request_count = 1,
};

/* Denied by a task with its rule, at runes of the track, which ends behind so many. */
static void denied(const struct flow_config *config, const char *data, const char *task,
		   uint64_t start, uint64_t end, uint64_t runes)
{
	struct flow flow;

	flow_run_splits(config, data, strlen(data), &flow);
	assert_string_equal(fault_name(flow.fault), "blocked");
	assert_string_equal(flow.task, task);
	assert_int_equal(flow.denial.start, start);
	assert_int_equal(flow.denial.end, end);
	assert_int_equal(flow.runes, runes);
	assert_int_equal(flow.session_end, SESSION_DENIED_END);
	flow_done(&flow);
}

static void pattern(struct flow_config *config, const char *text)
{
	memset(config->terms, 0, sizeof(config->terms));
	config->terms[0][0] = text;
}

static void a_match_over_units_is_withheld(void **state)
{
	(void)state;
	flow_ends(&path_t, T("x AKIA") T("12") T("34 y"), FAULT_BLOCKED, 0);
	denied(&path_t, T("x AKIA") T("12") T("34 y"), "t0", 3, 13, 13);
	flow_ends(&path_t, T("free") T("AKI") T("A1") T("234"), FAULT_BLOCKED, LEN(T("free")));
	flow_clean(&path_t, T("x AKIA") T("12") T("3 y"));
	flow_clean(&path_t, T("AKIA") "{\"u\":\"1234\"}\n");
}

/* What could begin a match waits; all else leaves with its unit. */
static void no_more_is_held_than_could_match(void **state)
{
	static const struct {
		const char *pattern, *text;
		bool held;
	} cases[] = {
		{"AKIA[0-9A-Z]{4}", "some AKIA1", true},
		{"AKIA[0-9A-Z]{4}", "some A", true},
		{"AKIA[0-9A-Z]{4}", "some AKIA1 ", false},
		{"AKIA[0-9A-Z]{4}", "some AKIB", false},
		{"AKIA[0-9A-Z]{4}", "thing", false},
		{"(?<=x)ab", "x", false},
		{"(?<=x)ab", "a", false},
		{"(?<=x)ab", "xa", true},
		{"foo\\b", "foo", true},
		{"foo\\b", "foods", false},
		{"^foo", "a fo", false},
		{"(?i)ab", "xA", true},
		{"[0-9](?:[ -]?[0-9]){3}", "12-", true},
		{"[0-9](?:[ -]?[0-9]){3}", "12- ", false},
	};
	struct flow_config config = path_t;
	struct flow flow;

	(void)state;
	config.no_end = true;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char data[64] = "{\"t\":\"";

		strcat(strcat(data, cases[i].text), "\"}\n");
		pattern(&config, cases[i].pattern);
		flow_run_splits(&config, data, strlen(data), &flow);
		assert_int_equal(flow.fault, FAULT_NONE);
		assert_int_equal(flow.released, cases[i].held ? 0 : strlen(data));
		flow_done(&flow);
	}
}

/* Runes later than it ends: the unit of the match waits for them, and the track has them. */
static void a_match_counts_where_it_is_decided(void **state)
{
	struct flow_config config = path_t;

	(void)state;
	pattern(&config, "foo\\b");
	denied(&config, T("a foo bar"), "t0", 3, 6, 7);
	denied(&config, T("a foo") T(" bar"), "t0", 3, 6, 8);
	denied(&config, T("a foo") "{\"u\":\"bar\"}\n" T("-"), "t0", 3, 6, 12);
	denied(&config, T("a foo"), "t0", 3, 6, 6);
	flow_clean(&config, T("a foo") T("d"));
	flow_clean(&config, T("foo_"));
	pattern(&config, "foo(?=bar)");
	denied(&config, T("a foob") T("arn"), "t0", 3, 6, 10);
	flow_clean(&config, T("a foob") T("a"));
	pattern(&config, "foo$");
	denied(&config, T("foo") T("foo"), "t0", 5, 8, 8);
	flow_clean(&config, T("foo") T("."));
}

static void the_match_decided_first_counts_then_the_first_task(void **state)
{
	struct flow_config config = path_t;

	(void)state;
	pattern(&config, "bomb\\b");
	config.terms[1][0] = "bomb";
	denied(&config, T("a bomb x"), "t1", 3, 7, 7);
	pattern(&config, "bom?b");
	config.terms[1][0] = "bomb";
	denied(&config, T("a bomb x"), "t0", 3, 7, 7);
	pattern(&config, "bomb");
	config.terms[1][0] = "o[m]";
	config.patterns = 2;
	denied(&config, T("a bomb x"), "t1", 4, 6, 6);
	/* Each task has to clear. */
	config.no_end = true;
	flow_ends(&config, T("a") T("bo"), FAULT_NONE, LEN(T("a")));
	flow_ends(&config, T("a") T("bo."), FAULT_NONE, LEN(T("a") T("bo.")));
}

static void the_denial_names_the_pattern(void **state)
{
	struct flow_config config = automatic;
	struct flow flow;

	(void)state;
	config.terms[0][0] = "xx";
	config.terms[0][1] = "y{2,3}z";
	flow_run_splits(&config, "[\"--yyyz xx\"]\n", 14, &flow);
	assert_string_equal(flow.task, "t0");
	assert_int_equal(flow.denial.rule, 1);
	flow_done(&flow);
}

/* Strings of one name in a unit are one text while something of it is held. */
static void parts_of_a_text_in_one_unit(void **state)
{
	struct flow_config config = automatic;

	(void)state;
	flow_ends(&config, "{\"a\":[\"AKIA\",\"1234\"]}\n", FAULT_BLOCKED, 0);
	flow_clean(&config, "{\"a\":\"AKIA\",\"b\":\"1234\"}\n");
	pattern(&config, "^b");
	flow_ends(&config, "{\"x\":[\"a\",\"b\"]}\n", FAULT_BLOCKED, 0);
	flow_clean(&config, "{\"x\":[\"ab\",\"xb\"]}\n");
}

/* A text that was cleared alone is so again, and no other for its sake. */
static void texts_that_recur(void **state)
{
	struct flow_config config = automatic;

	(void)state;
	pattern(&config, "^dog$");
	flow_clean(&config,
		   "{\"a\":\"hotdog\"}\n{\"a\":\"hotdog\"}\n{\"a\":\"dogs\"}\n{\"a\":\"dogs\"}\n");
	flow_ends(&config, "{\"a\":\"hotdog\"}\n{\"a\":\"hotdog\"}\n{\"a\":\"dog\"}\n",
		  FAULT_BLOCKED, 30);
}

static void watchers_find_patterns_and_end_nothing(void **state)
{
	struct flow_config config = path_t;
	struct flow flow;

	(void)state;
	pattern(&config, "bomb\\b");
	config.watched[0][0] = "no[i1]se";
	config.watched[1][0] = "noise";
	config.patterns |= FLOW_WATCHED;
	flow_run_to(&config, T("a noi") T("se"), FAULT_NONE, LEN(T("a noi") T("se")), &flow);
	assert_int_equal(flow.finding_count, 2);
	assert_string_equal(flow.findings[0].task, "w0");
	assert_int_equal(flow.findings[0].start, 3);
	assert_int_equal(flow.findings[0].end, 9);
	flow_done(&flow);
}

/* What is decided behind the denial was never in the track, wherever it ends. */
static void nothing_is_found_behind_the_denial(void **state)
{
	struct flow_config config = path_t;
	struct flow flow;

	(void)state;
	pattern(&config, "bomb\\b");
	config.watched[0][0] = "omb";
	config.watched[1][0] = "omb\\b";
	config.watched[2][0] = "omb(?= x)";
	config.patterns |= FLOW_WATCHED << 1 | FLOW_WATCHED << 2;
	flow_run_splits(&config, T("a bomb x"), LEN(T("a bomb x")), &flow);
	assert_int_equal(flow.fault, FAULT_BLOCKED);
	assert_int_equal(flow.finding_count, 2);
	assert_string_equal(flow.findings[1].task, "w1");
	flow_done(&flow);
}

static void output_and_levels(void **state)
{
	static const char document[] = JSON("14") "{\"a\":\"a bomb\"}";
	struct flow_config config = responses;

	(void)state;
	for (int level = 0; level < _SESSION_LEVEL_MAX; level++) {
		config.level = (enum session_level)level;
		flow_ends(&config, document, FAULT_BLOCKED, 0);
	}
	pattern(&config, "never");
	config.output[0][0] = "b[o]mb$";
	config.patterns |= FLOW_OUTPUT;
	for (int level = 0; level < _SESSION_LEVEL_MAX; level++) {
		config.level = (enum session_level)level;
		flow_ends(&config, document, FAULT_OUTPUT_DENIED, 0);
	}
	config = path_t;
	config.level = SESSION_DEFERRED;
	flow_ends(&config, T("AKIA") T("12") T("34"), FAULT_BLOCKED, LEN(T("AKIA") T("12")));
}

/* A window bounds what has none: what is longer escapes, what is not is withheld. */
static void a_window_bounds_what_is_held(void **state)
{
	struct flow_config config = path_t;

	(void)state;
	pattern(&config, "<.*>");
	config.max_runes = 5;
	flow_ends(&config, T("a<b") T("c>"), FAULT_BLOCKED, 0);
	flow_clean(&config, T("a<b") T("cdef>"));
	config.no_end = true;
	flow_ends(&config, T("a<b"), FAULT_NONE, 0);
	flow_ends(&config, T("a<b") T("cdef"), FAULT_NONE, LEN(T("a<b") T("cdef")));
}

static const char costly[] = "(?:(?:a{1,9}){1,9}){1,9}b";

/* The flow ends, closed and by name; where a task only watches, that task rests. */
static void steps_past_the_limit_end_the_flow(void **state)
{
	struct flow_config config = path_t;
	struct flow flow;

	(void)state;
	pattern(&config, costly);
	flow_run_to(&config, T("fine") T("aaaaaaaaaaaaaaaaac") T("x"), FAULT_MATCH_LIMIT,
		    LEN(T("fine")), &flow);
	assert_int_equal(flow.session_end, SESSION_FAILED_END);
	flow_done(&flow);
	flow_clean(&config, T("fine") T("aaac"));
	pattern(&config, "bomb");
	config.watched[0][0] = costly;
	config.patterns = FLOW_WATCHED;
	flow_clean(&config, T("fine") T("aaaaaaaaaaaaaaaaac") T("aab"));
	config.watched[0][0] = NULL;
	config.output[0][0] = costly;
	config.patterns = FLOW_OUTPUT;
	config.other_track = true;
	flow_ends(&config, T("fine") T("aaaaaaaaaaaaaaaaac"), FAULT_MATCH_LIMIT, LEN(T("fine")));
	assert_string_equal(fault_name(FAULT_MATCH_LIMIT), "match_limit");
}

static void without_memory_nothing_leaves(void **state)
{
	static const char data[] = T("a AKIA") T("12") T("34");
	unsigned long n = 0, refused = 0;

	(void)state;
	for (;; n++) {
		uint64_t released;
		enum fault fault = flow_run_failing(&path_t, data, LEN(data), n, &released);

		assert_int_equal(released, 0);
		if (!allocation_failed())
			break;
		/* A text that could not be kept in less room is kept all the same. */
		refused += fault == FAULT_NO_MEMORY;
		assert_true(fault == FAULT_NO_MEMORY || fault == FAULT_BLOCKED);
	}
	assert_in_range(n - refused, 1, 20);
	assert_in_range(refused, 10, 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_match_over_units_is_withheld),
		cmocka_unit_test(no_more_is_held_than_could_match),
		cmocka_unit_test(a_match_counts_where_it_is_decided),
		cmocka_unit_test(the_match_decided_first_counts_then_the_first_task),
		cmocka_unit_test(the_denial_names_the_pattern),
		cmocka_unit_test(parts_of_a_text_in_one_unit),
		cmocka_unit_test(texts_that_recur),
		cmocka_unit_test(watchers_find_patterns_and_end_nothing),
		cmocka_unit_test(nothing_is_found_behind_the_denial),
		cmocka_unit_test(output_and_levels),
		cmocka_unit_test(a_window_bounds_what_is_held),
		cmocka_unit_test(steps_past_the_limit_end_the_flow),
		cmocka_unit_test(without_memory_nothing_leaves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
