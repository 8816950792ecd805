/* SPDX-License-Identifier: Apache-2.0 */
/* What is released, what is held, and why a flow ends; in every cut. */
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
#include "core/session.h"
#include "core/terms.h"
#include "unit/flow.h"

static const struct flow_config path_t = {
	.framing = {.kind = FRAMING_NDJSON},
	.extract = {.kind = EXTRACT_PATH, .path = "t"},
	.terms = {{"bomb"}},
};
static const struct flow_config automatic = {
	.framing = {.kind = FRAMING_NDJSON},
	.extract = {.kind = EXTRACT_AUTO},
	.terms = {{"bomb"}},
};
static const struct flow_config raw_lines = {
	.framing = {.kind = FRAMING_NDJSON, .any_line = true},
	.extract = {.kind = EXTRACT_RAW},
	.terms = {{"bomb"}},
};

struct expected {
	enum fault fault;
	uint64_t released;
	uint64_t start, end; /* of the denial, in runes of the track */
};

static void check(const struct flow_config *config, const char *data, struct expected expected)
{
	struct flow flow;

	flow_run_splits(config, data, strlen(data), &flow);
	assert_string_equal(fault_name(flow.fault), fault_name(expected.fault));
	assert_int_equal(flow.released, expected.released);
	if (flow.fault == FAULT_BLOCKED) {
		assert_int_equal(flow.denial.start, expected.start);
		assert_int_equal(flow.denial.end, expected.end);
		assert_int_equal(flow.session_end, SESSION_DENIED_END);
	} else if (!config->no_end) {
		assert_int_equal(flow.session_end,
				 flow.fault ? SESSION_FAILED_END : SESSION_COMPLETE_END);
	}
	flow_done(&flow);
}

static void ends(const struct flow_config *config, const char *data, enum fault fault,
		 uint64_t released)
{
	check(config, data, (struct expected){.fault = fault, .released = released});
}

static void denied(const struct flow_config *config, const char *data, uint64_t released,
		   uint64_t start, uint64_t end)
{
	check(config, data, (struct expected){FAULT_BLOCKED, released, start, end});
}

static void clean_text_is_released_whole(void **state)
{
	(void)state;
	ends(&path_t, "{\"t\":\"one\"}\n{\"t\":\"two\"}\n", FAULT_NONE, 24);
	ends(&automatic, "{\"t\":\"bom\"}\n[\"b\",\"o\"]\n", FAULT_NONE, 22);
	ends(&raw_lines, "bom\no\n\n", FAULT_NONE, 7);
}

static void a_term_is_found_wherever_text_may_stand(void **state)
{
	(void)state;
	denied(&automatic, "{\"a\":\"a bomb\"}\n", 0, 3, 7);
	denied(&automatic, "1\n{\"bomb\":1}\n", 2, 1, 5);
	denied(&automatic, "{\"a\":\"b\\u006fm\\u0062\"}\n", 0, 1, 5);
	/* Over the elements of an array, with other text in between. */
	denied(&automatic, "{\"a\":[\"bo\",{\"x\":\"y\"},\"mb\"]}\n", 0, 1, 7);
	denied(&automatic, "[{\"a\":\"bo\"},{\"b\":\"-\"},{\"a\":\"mb\"}]\n", 0, 1, 8);
	/* But neither over units nor over paths. */
	ends(&automatic, "[\"bo\"]\n[\"mb\"]\n", FAULT_NONE, 14);
	ends(&automatic, "{\"a\":\"bo\",\"b\":\"mb\"}\n", FAULT_NONE, 20);
	ends(&automatic, "{\"bo\":\"mb\"}\n", FAULT_NONE, 12);
}

static void numbers_are_text(void **state)
{
	struct flow_config config = automatic;

	(void)state;
	config.terms[0][0] = "31337";
	ends(&config, "[1,3133,7]\n", FAULT_NONE, 11);
	denied(&config, "[0]\n[131337e5]\n", 4, 2, 7);
	denied(&config, "31337\n", 0, 0, 5);
}

/* A name cleared before clears no other name: not one that differs in a single byte. */
static void names_that_came_before(void **state)
{
	(void)state;
	for (int len = 1; len <= 18; len++) {
		for (int at = 0; at < len; at++) {
			struct flow_config config = automatic;
			char name[20], term[20], data[128];

			memset(name, 'a', sizeof(name));
			memset(term, 'a', sizeof(term));
			name[len] = term[len] = '\0';
			term[at] = 'z';
			config.terms[0][0] = term;
			snprintf(data, sizeof(data), "{\"%s\":{\"%s\":1}}\n{\"%s\":\"\"}\n", name,
				 name, term);
			denied(&config, data, 2 * (uint64_t)len + 12, 2 * (uint64_t)len + 1,
			       3 * (uint64_t)len + 1);
		}
	}
}

/* The term over pieces of a joined channel: nothing that holds a part of it leaves. */
static void a_term_over_units(void **state)
{
	(void)state;
	denied(&path_t, "{\"t\":\"a\"}\n{\"t\":\"bo\"}\n{\"t\":\"mb\"}\n", 10, 3, 8);
	denied(&path_t, "{\"t\":\"b\"}\n{\"t\":\"o\"}\n{\"t\":\"m\"}\n{\"t\":\"b\"}\n", 0, 1, 8);
	/* What could begin the term is released by what comes after, even in the same read. */
	denied(&path_t, "{\"t\":\"bo\"}\n{\"t\":\"x bomb\"}\n", 11, 6, 10);
	denied(&path_t, "{\"t\":\"bo\"}\n{\"t\":\"bomb\"}\n", 11, 4, 8);
	ends(&path_t, "{\"t\":\"bo\"}\n{\"t\":\"x\"}\n{\"t\":", FAULT_TRUNCATED, 21);
	/* It waits for text of its channel, not for other text. */
	ends(&path_t, "{\"t\":\"bo\"}\n{\"u\":\"x\"}\n{\"u\":", FAULT_TRUNCATED, 0);
	ends(&path_t, "{\"t\":\"bo\"}\n{\"u\":\"x\"}\n", FAULT_NONE, 21);
}

static void a_surrogate_over_units_waits(void **state)
{
	struct flow_config config = path_t;

	(void)state;
	config.terms[0][0] = "\xf0\x9f\x98\x80";
	denied(&config, "{\"t\":\"\\ud83d\"}\n{\"t\":\"\\ude00\"}\n", 0, 1, 2);
	ends(&config, "{\"t\":\"\\ud83d\"}\n{\"t\":\"\\ude01\"}\n", FAULT_NONE, 30);
	ends(&config, "{\"t\":\"\\ud83d\"}\n{\"u\":1", FAULT_TRUNCATED, 0);
	ends(&config, "{\"t\":\"\\ud83d\"}\n{\"t\":\"x\"", FAULT_TRUNCATED, 15);
	config.terms[0][0] = "\xef\xbf\xbd!";
	denied(&config, "{\"t\":\"\\ud83d\"}\n{\"t\":\"!\"}\n", 0, 1, 4);
}

static void a_raw_sequence_over_units_waits(void **state)
{
	struct flow_config config = raw_lines;

	(void)state;
	config.terms[0][0] = "\xe6\xb0\xb4x";
	denied(&config, "a\xe6\n\xb0\n\xb4x\n", 0, 1, 3);
	ends(&config, "a\xe6\n\xb0\n\xb4y\n", FAULT_NONE, 8);
	ends(&config, "a\xe6\n\xb0\n", FAULT_BAD_UTF8, 0);
}

/* Every way to cut the term itself into one to three pieces of the channel. */
static void a_term_split_at_every_position(void **state)
{
	static const char term[] = "\xc3\xa9"
				   "bomb";

	(void)state;
	for (size_t i = 0; i <= 6; i++) {
		for (size_t j = i; j <= 6; j++) {
			struct flow_config config = raw_lines;
			char data[64];

			config.terms[0][0] = term;
			snprintf(data, sizeof(data), "xy\n%.*s\n%.*s\n%s\n", (int)i, term,
				 (int)(j - i), term + i, term + j);
			/* The empty lines before the term leave with the first. */
			denied(&config, data, 3 + (i == 0) + (j == 0), 2, 7);
		}
	}
}

static void every_task_has_to_clear(void **state)
{
	struct flow_config config = path_t;

	(void)state;
	config.terms[1][0] = "xyz";
	ends(&config, "{\"t\":\"bo\"}\n{\"t\":\"xy\"}\n{\"t\":\"-\"}\n", FAULT_NONE, 32);
	ends(&config, "{\"t\":\"bo\"}\n{\"t\":\"xy\"}\n{", FAULT_TRUNCATED, 11);
	ends(&config, "{\"t\":\"xy\"}\n{\"t\":\"bo\"}\n{\"t\":\"mz\"}\n{", FAULT_TRUNCATED, 33);
	denied(&config, "{\"t\":\"xy\"}\n{\"t\":\"z bomb\"}\n", 0, 1, 5);
}

static void the_denial_names_task_and_term(void **state)
{
	struct flow_config config = automatic;
	struct flow flow;

	(void)state;
	config.terms[1][0] = "aa";
	config.terms[1][1] = "xyz";
	config.terms[2][0] = "never";
	flow_run_splits(&config, "[\"--xyz bomb\"]\n", 15, &flow);
	assert_string_equal(flow.task, "t1");
	assert_int_equal(flow.denial.rule, 1);
	flow_done(&flow);
	/* The same end: the first task. */
	config.terms[1][1] = "mb";
	flow_run_splits(&config, "[\"a bomb\"]\n", 11, &flow);
	assert_string_equal(flow.task, "t0");
	flow_done(&flow);
}

static void folded_terms(void **state)
{
	struct flow_config config = path_t;

	(void)state;
	config.terms[0][0] = "caf\xc3\xa9";
	config.fold[0] = TERMS_FOLD_NFC | TERMS_FOLD_CASEFOLD;
	denied(&config, "{\"t\":\"CAFe\"}\n{\"t\":\"\\u0301\"}\n", 0, 1, 7);
	ends(&config, "{\"t\":\"cafe\"}\n{\"t\":\"x\"}\n", FAULT_NONE, 23);
	denied(&config, "{\"t\":\"caf\"}\n{\"u\":\"e\"}\n{\"t\":\"\xc3\x89\"}\n", 0, 1, 8);
	config.terms[0][0] = "bomb";
	config.fold[0] = TERMS_FOLD_IGNORABLE;
	denied(&config, "{\"t\":\"bo\\u200b\"}\n{\"t\":\"\xe2\x80\x8dmb\"}\n", 0, 1, 8);
}

static void without_tasks_units_leave_as_they_are_complete(void **state)
{
	struct flow_config config = path_t;
	struct flow flow;

	(void)state;
	config.terms[0][0] = NULL;
	config.no_text = true;
	flow_run_splits(&config, "{\"t\":\"bomb\"}\n{\"t\":\"bo\"}\n{", 25, &flow);
	assert_int_equal(flow.fault, FAULT_TRUNCATED);
	assert_int_equal(flow.released, 24);
	assert_int_equal(flow.runes, 0);
	flow_done(&flow);
	/* Lines are JSON all the same; other payloads are nobody's business. */
	flow_run_splits(&config, "{\"t\":1}\n{]\n", 11, &flow);
	assert_int_equal(flow.fault, FAULT_BAD_JSON);
	assert_int_equal(flow.released, 8);
	flow_done(&flow);
	config.framing = (struct framing){.kind = FRAMING_LENPREFIX};
	flow_run_splits(&config, "\2\xff\xfe\0\1x", 6, &flow);
	assert_int_equal(flow.fault, FAULT_NONE);
	assert_int_equal(flow.released, 6);
	flow_done(&flow);
}

static void faults_keep_what_was_released(void **state)
{
	struct flow_config config = automatic;

	(void)state;
	ends(&config, "{\"a\":\"x\"}\n{\"a\":\"y\",}\n", FAULT_BAD_JSON, 10);
	ends(&config, "{\"a\":\"x\"}\n{\"a\":\"\xff\"}\n", FAULT_BAD_UTF8, 10);
	ends(&config, "{\"a\":\"x\"}\n{\"a\":1,\"a\":2}\n", FAULT_DUPLICATE_KEY, 10);
	ends(&config, "{\"a\":\"x\"}\n{\"a\":", FAULT_TRUNCATED, 10);
	config.max_message = 9;
	ends(&config, "{\"a\":\"x\"}\n{\"a\":\"xy\"}\n", FAULT_TOO_LARGE, 10);
	config.framing = (struct framing){.kind = FRAMING_LENPREFIX, .type = LENPREFIX_VARINT};
	ends(&config, "\3\"x\"\x80", FAULT_TRUNCATED, 4);
}

static void pending_units_at_the_cap_and_past_it(void **state)
{
	struct flow_config config = path_t;

	(void)state;
	config.max_pending_units = 3;
	/* A text that waits, and units behind it, each with text of its own. */
	ends(&config, "{\"t\":\"b\"}\n{\"u\":1}\n{\"u\":1}\n{\"t\":\"x\"}\n", FAULT_NONE, 36);
	ends(&config, "{\"t\":\"b\"}\n{\"u\":1}\n{\"u\":1}\n{\"u\":1}\n{\"t\":\"x\"}\n",
	     FAULT_TOO_LARGE, 0);
	/* Units without text take no place. */
	ends(&config, "{\"t\":\"b\"}\n\n\n{}\n\n[]\ntrue\n\n{\"t\":\"x\"}\n", FAULT_NONE, 35);
	/* What is cleared as it comes takes none either, however much comes at once. */
	config.max_pending_units = 1;
	ends(&config, "{\"t\":\"x\"}\n{\"u\":1}\n{\"t\":\"x\"}\n{\"u\":1}\n", FAULT_NONE, 36);
}

static void runes_at_the_ceiling_and_past_it(void **state)
{
	struct flow_config config = automatic;

	(void)state;
	config.start = SESSION_RUNES_MAX - 4;
	ends(&config, "\"ab\"\n\"cd\"\n", FAULT_NONE, 10);
	ends(&config, "\"ab\"\n\"cde\"\n", FAULT_ACCOUNTING, 5);
	config.start = SESSION_RUNES_MAX;
	ends(&config, "[]\n\"a\"\n", FAULT_ACCOUNTING, 3);
}

struct parts {
	struct session *session;
	struct terms *terms;
	struct pipeline *pipeline;
};

/* A session of tasks t0 and t1 on the response track, a pipeline that runs t0. */
static void make_parts(struct parts *parts)
{
	const char *names[] = {"t0", "t1"}, *terms[] = {"bomb"};
	const struct session_config session_config = {.tasks = {names, names},
						      .task_count = {1, 2}};
	struct pipeline_task task = {.name = "t0"};
	struct pipeline_config config = {
		.framing = {.kind = FRAMING_NDJSON},
		.extract = {.kind = EXTRACT_AUTO},
		.max_message = 1000,
		.max_pending_units = 10,
		.track = SESSION_RESPONSE,
		.tasks = &task,
		.task_count = 1,
	};
	size_t bad;

	assert_int_equal(session_new(&session_config, &parts->session), SESSION_OK);
	assert_int_equal(terms_new(terms, 1, 0, &bad, &parts->terms), 0);
	task.matcher.terms = parts->terms;
	config.session = parts->session;
	assert_int_equal(pipeline_new(&config, &parts->pipeline), 0);
}

static void free_parts(struct parts *parts)
{
	pipeline_free(parts->pipeline);
	terms_free(parts->terms);
	session_fail(parts->session, SESSION_DISCONNECTED);
	assert_true(session_free(parts->session));
}

static enum fault feed(struct parts *parts, const char *text)
{
	return pipeline_feed(parts->pipeline, (const uint8_t *)text, strlen(text));
}

/* A task that is not the pipeline's clears later, from outside. */
static void another_evaluator_gates_the_track(void **state)
{
	struct parts parts;

	(void)state;
	make_parts(&parts);
	assert_int_equal(feed(&parts, "\"ab\"\n\"cd\"\n"), FAULT_NONE);
	assert_int_equal(pipeline_framed(parts.pipeline), 10);
	assert_int_equal(pipeline_released(parts.pipeline), 0);
	assert_int_equal(session_outcome(parts.session, SESSION_RESPONSE, 1, 0, 3, SESSION_CLEARED),
			 SESSION_OK);
	assert_int_equal(pipeline_released(parts.pipeline), 0);
	assert_int_equal(pipeline_advance(parts.pipeline), 5);
	assert_int_equal(session_outcome(parts.session, SESSION_RESPONSE, 1, 3, 4, SESSION_CLEARED),
			 SESSION_OK);
	assert_int_equal(feed(&parts, "\"e"), FAULT_NONE);
	assert_int_equal(pipeline_released(parts.pipeline), 10);
	/* Nor are more units held for it than for tasks of its own. */
	for (int i = 0; i < 10; i++)
		assert_int_equal(feed(&parts, "\"\n\"e"), FAULT_NONE);
	assert_int_equal(feed(&parts, "\"\n"), FAULT_TOO_LARGE);
	assert_int_equal(pipeline_released(parts.pipeline), 10);
	free_parts(&parts);
}

/* The session ended elsewhere: no unit leaves any more, not even one without text. */
static void a_session_that_ended_elsewhere(void **state)
{
	struct parts parts;

	(void)state;
	make_parts(&parts);
	assert_int_equal(session_outcome(parts.session, SESSION_RESPONSE, 1, 0, 1, SESSION_CLEARED),
			 SESSION_OFFSET_PAST_END);
	assert_int_equal(feed(&parts, "\n{}\n"), FAULT_NONE);
	assert_int_equal(pipeline_framed(parts.pipeline), 4);
	assert_int_equal(pipeline_released(parts.pipeline), 0);
	assert_int_equal(pipeline_advance(parts.pipeline), 0);
	assert_int_equal(feed(&parts, "\"x\"\n"), FAULT_ACCOUNTING);
	assert_int_equal(feed(&parts, "\n"), FAULT_ACCOUNTING);
	assert_int_equal(pipeline_end(parts.pipeline), FAULT_ACCOUNTING);
	assert_int_equal(pipeline_released(parts.pipeline), 0);
	free_parts(&parts);
}

static void configurations_out_of_range(void **state)
{
	struct parts parts;
	struct pipeline_task task = {.name = "t0"};
	struct pipeline_config good = {
		.framing = {.kind = FRAMING_NDJSON},
		.extract = {.kind = EXTRACT_AUTO},
		.max_message = 1,
		.max_pending_units = 1,
		.track = SESSION_RESPONSE,
		.tasks = &task,
		.task_count = 1,
	};
	struct pipeline_config config;
	struct pipeline *pipeline = NULL;

	(void)state;
	make_parts(&parts);
	good.session = parts.session;
	assert_int_equal(pipeline_new(&good, &pipeline), -EINVAL); /* no terms */
	task.matcher.terms = parts.terms;
	config = good;
	config.session = NULL;
	assert_int_equal(pipeline_new(&config, &pipeline), -EINVAL);
	config = good;
	config.extract.kind = EXTRACT_NONE;
	assert_int_equal(pipeline_new(&config, &pipeline), -EINVAL);
	config = good;
	config.max_message = 0;
	assert_int_equal(pipeline_new(&config, &pipeline), -EINVAL);
	config = good;
	config.max_pending_units = 0;
	assert_int_equal(pipeline_new(&config, &pipeline), -EINVAL);
	config = good;
	config.framing.kind = _FRAMING_MAX;
	assert_int_equal(pipeline_new(&config, &pipeline), -EINVAL);
	task.name = "t2";
	assert_int_equal(pipeline_new(&good, &pipeline), -EINVAL);
	assert_null(pipeline);
	pipeline_free(NULL);
	free_parts(&parts);
}

static void an_idle_pipeline_is_small(void **state)
{
	struct parts parts;

	(void)state;
	make_parts(&parts);
	assert_int_equal(feed(&parts, "{\"id\":1,\"t\":[\"b\",\"c\"]}\n"), FAULT_NONE);
	assert_in_range(pipeline_memory(parts.pipeline), sizeof(void *), 3840);
	free_parts(&parts);
}

/* Many names, many texts that wait, deep nesting: given back at the unit's end. */
static void a_large_unit_leaves_nothing_behind(void **state)
{
	struct parts parts;
	char text[900];
	size_t idle, len;

	(void)state;
	make_parts(&parts);
	assert_int_equal(feed(&parts, "{\"id\":1,\"t\":[\"b\",\"c\"]}\n"), FAULT_NONE);
	idle = pipeline_memory(parts.pipeline);
	len = (size_t)sprintf(text, "[{");
	for (unsigned int i = 0; i < 60; i++)
		len += (size_t)sprintf(text + len, "%s\"name%u\":\"b\"", i ? "," : "", i);
	sprintf(text + len, "}");
	assert_int_equal(feed(&parts, text), FAULT_NONE);
	assert_true(pipeline_memory(parts.pipeline) > 4 * idle);
	assert_int_equal(feed(&parts, "]\n"), FAULT_NONE);
	assert_true(pipeline_memory(parts.pipeline) <= idle);
	free_parts(&parts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clean_text_is_released_whole),
		cmocka_unit_test(a_term_is_found_wherever_text_may_stand),
		cmocka_unit_test(numbers_are_text),
		cmocka_unit_test(names_that_came_before),
		cmocka_unit_test(a_term_over_units),
		cmocka_unit_test(a_surrogate_over_units_waits),
		cmocka_unit_test(a_raw_sequence_over_units_waits),
		cmocka_unit_test(a_term_split_at_every_position),
		cmocka_unit_test(every_task_has_to_clear),
		cmocka_unit_test(the_denial_names_task_and_term),
		cmocka_unit_test(folded_terms),
		cmocka_unit_test(without_tasks_units_leave_as_they_are_complete),
		cmocka_unit_test(faults_keep_what_was_released),
		cmocka_unit_test(pending_units_at_the_cap_and_past_it),
		cmocka_unit_test(runes_at_the_ceiling_and_past_it),
		cmocka_unit_test(another_evaluator_gates_the_track),
		cmocka_unit_test(a_session_that_ended_elsewhere),
		cmocka_unit_test(configurations_out_of_range),
		cmocka_unit_test(an_idle_pipeline_is_small),
		cmocka_unit_test(a_large_unit_leaves_nothing_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
