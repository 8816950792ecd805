/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks that watch a pipeline: what they find, and that they change nothing; in every cut. */
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
#include "unit/allocation.h"
#include "unit/flow.h"

#define OK	"HTTP/1.1 200 OK\r\n"
#define JSON(n) OK "Content-Type: application/json\r\nContent-Length: " n "\r\n\r\n"
#define LEN(s)	(sizeof(s) - 1)
#define ACUTE	"\xcc\x81"

static const struct flow_config responses = {
	.framing = {.kind = FRAMING_HTTP1},
	.extract = {.kind = EXTRACT_AUTO},
	.terms = {{"bomb"}},
	.watched = {{"loud", "noise"}},
	.request_count = 2,
};
static const struct flow_config lines = {
	.framing = {.kind = FRAMING_NDJSON},
	.extract = {.kind = EXTRACT_AUTO},
	.terms = {{"bomb"}},
	.watched = {{"loud", "noise"}},
};
static const struct flow_config path_t = {
	.framing = {.kind = FRAMING_NDJSON},
	.extract = {.kind = EXTRACT_PATH, .path = "t"},
	.terms = {{"bomb"}},
	.watched = {{"loud", "noise"}},
};

static void found(const struct flow *flow, size_t i, const char *task, uint32_t rule,
		  uint64_t start, uint64_t end)
{
	const struct flow_finding *finding = &flow->findings[i];

	assert_true(i < flow->finding_count);
	assert_string_equal(finding->task, task);
	assert_int_equal(finding->rule, rule);
	assert_int_equal(finding->start, start);
	assert_int_equal(finding->end, end);
}

static void what_is_found_is_told_and_ends_nothing(void **state)
{
	static const char data[] = "{\"a\":\"x noise\"}\n{\"a\":\"loud\"}\n{\"a\":\"noise\"}\n";
	struct flow_config config = lines;
	struct flow flow;

	(void)state;
	flow_run_to(&config, data, FAULT_NONE, LEN(data), &flow);
	assert_int_equal(flow.session_end, SESSION_COMPLETE_END);
	/* Once: the name is a rune, and two come before it. */
	assert_int_equal(flow.finding_count, 1);
	found(&flow, 0, "w0", 1, 3, 8);
	flow_done(&flow);
	config.watched[1][0] = "loud";
	flow_run_to(&config, data, FAULT_NONE, LEN(data), &flow);
	assert_int_equal(flow.finding_count, 2);
	found(&flow, 1, "w1", 0, 9, 13);
	flow_done(&flow);
	/* Nobody need be told. */
	config.no_text = true;
	flow_run_to(&config, data, FAULT_NONE, LEN(data), &flow);
	assert_int_equal(flow.finding_count, 2);
	flow_done(&flow);
}

/* Without tasks, and in the session's numbers where a resume began it. */
static void places_are_those_of_the_track(void **state)
{
	static const char data[] = "{\"t\":\"lo\"}\n{\"u\":\"between\"}\n{\"t\":\"ud\"}\n";
	struct flow_config config = path_t;
	struct flow flow;

	(void)state;
	config.start = 1000;
	flow_run_to(&config, data, FAULT_NONE, LEN(data), &flow);
	assert_int_equal(flow.finding_count, 1);
	/* Name and text, name and text, name: the term is of the ends of the first and last. */
	found(&flow, 0, "w0", 0, 1001, 1014);
	flow_done(&flow);
	config.start = 0;
	config.terms[0][0] = NULL;
	flow_run_to(&config, data, FAULT_NONE, LEN(data), &flow);
	assert_int_equal(flow.finding_count, 1);
	found(&flow, 0, "w0", 0, 1, 14);
	flow_done(&flow);
}

/* Many runs of text lie between the parts of what is found, and each has its place. */
static void places_over_many_units(void **state)
{
	char data[1024] = "";
	struct flow_config config = path_t;
	struct flow flow;

	(void)state;
	config.watched[0][0] = "abcdefghijklmnopqrst";
	for (char c = 'a'; c <= 't'; c++)
		sprintf(data + strlen(data), "{\"t\":\"%c\"}\n{\"u\":1}\n", c);
	flow_run_random(&config, data, strlen(data), 3, 50, &flow);
	assert_int_equal(flow.finding_count, 1);
	found(&flow, 0, "w0", 0, 1, 19 * 4 + 2);
	assert_int_equal(flow.released, strlen(data));
	flow_done(&flow);
}

/* In each session anew, however short the text is and however often it came. */
static void each_session_finds_anew(void **state)
{
	static const char *const bodies[] = {
		JSON("12") "{\"a\":\"loud\"}",
		JSON("25") "[\"loud\",\"loud\",\"a noise\"]",
		JSON("10") "{\"loud\":1}",
		OK "X: a loud noise, of more than a few bytes\r\nContent-Length: 0\r\n\r\n",
	};
	struct flow_config config = responses;
	char data[1024];
	struct flow flow;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++)
		for (int tasks = 0; tasks < 2; tasks++) {
			uint64_t start;

			config.terms[0][0] = tasks ? "bomb" : NULL;
			/* The second is as the first was, also when that had been found out. */
			snprintf(data, sizeof(data), "%s%s%s", bodies[i], bodies[i], bodies[i]);
			config.request_count = 3;
			flow_run_to(&config, data, FAULT_NONE, strlen(data), &flow);
			assert_int_equal(flow.finding_count, 3);
			start = flow.findings[0].start;
			for (size_t j = 0; j < 3; j++)
				found(&flow, j, "w0", 0, start, start + 4);
			flow_done(&flow);
		}
}

/* Text that came while a watcher rested is known to the others alone. */
static void what_came_while_it_rested_is_new(void **state)
{
	static const char data[] = JSON("16") "[\"noise\",\"loud\"]" JSON("08") "[\"loud\"]";
	struct flow flow;

	(void)state;
	flow_run_to(&responses, data, FAULT_NONE, LEN(data), &flow);
	assert_int_equal(flow.finding_count, 2);
	assert_int_equal(flow.findings[0].rule, 1);
	assert_int_equal(flow.findings[1].rule, 0);
	flow_done(&flow);
}

/* It is left amid texts when it rests, which is nothing to those of the next session. */
static void what_it_was_left_with_is_gone(void **state)
{
	static const char *const bodies[] = {
		JSON("18") "{\"a\":[\"noiselou\"]}" JSON("06") "[\"d\" ]",
		/* In a text that goes on in its unit. */
		JSON("17") "{\"a\":[\"lo\",\"ud\"]}" JSON("22") "{\"a\":[\"lo\"],\"b\":[\"y\"]}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bodies); i++) {
		struct flow_config config = responses;
		struct flow flow;

		config.watched_fold[0] = i ? 0 : TERMS_FOLD_NFC;
		flow_run_to(&config, bodies[i], FAULT_NONE, strlen(bodies[i]), &flow);
		assert_int_equal(flow.finding_count, 1);
		flow_done(&flow);
	}
}

/* An interim response, and what a 101 leads to, are of the session of the answer. */
static void an_interim_answer_is_of_the_same_session(void **state)
{
	static const char data[] =
		"HTTP/1.1 103 loud\r\n\r\n" JSON("08") "[\"loud\"]" JSON("08") "[\"loud\"]";

	(void)state;
	for (int tasks = 0; tasks < 2; tasks++) {
		struct flow_config config = responses;
		struct flow flow;

		config.terms[0][0] = tasks ? "bomb" : NULL;
		flow_run_to(&config, data, FAULT_NONE, LEN(data), &flow);
		assert_int_equal(flow.finding_count, 2);
		found(&flow, 0, "w0", 0, 13, 17);
		assert_true(flow.findings[1].start > 20);
		flow_done(&flow);
	}
}

/* What is found ahead of a denial is told, and nothing behind it. */
static void a_denial_ends_what_is_found(void **state)
{
	struct flow_config config = lines;
	struct flow flow;

	(void)state;
	flow_run_to(&config, "{\"a\":\"loud bomb\"}\n", FAULT_BLOCKED, 0, &flow);
	assert_int_equal(flow.finding_count, 1);
	found(&flow, 0, "w0", 0, 1, 5);
	flow_done(&flow);
	flow_run_to(&config, "{\"a\":\"bomb loud\"}\n", FAULT_BLOCKED, 0, &flow);
	assert_int_equal(flow.finding_count, 0);
	flow_done(&flow);
	/* At the very same rune. */
	config.watched[0][0] = "a bomb";
	flow_run_to(&config, "{\"a\":\"a bomb loud\"}\n", FAULT_BLOCKED, 0, &flow);
	assert_int_equal(flow.finding_count, 1);
	found(&flow, 0, "w0", 0, 1, 7);
	flow_done(&flow);
	/* And a fault of the framing takes nothing back. */
	flow_run_to(&lines, "{\"a\":\"loud\"}\n{\"a\":\"noise\"]\n", FAULT_BAD_JSON, 13, &flow);
	assert_int_equal(flow.finding_count, 1);
	flow_done(&flow);
}

/* Parked texts: those that watch may see them joined where those that gate see them apart. */
static void texts_that_go_on_in_a_unit(void **state)
{
	static const char data[] = "{\"a\":[\"lo\",\"u\",\"d\",{\"b\":\"x\"}],\"c\":[\"bo\"]}\n";
	struct flow_config config = lines;
	struct flow flow;

	(void)state;
	flow_run_to(&config, data, FAULT_NONE, LEN(data), &flow);
	assert_int_equal(flow.finding_count, 1);
	flow_done(&flow);
	/* Of the tasks that gate, the place of a match is that without those that watch. */
	for (int watched = 0; watched < 2; watched++) {
		config.watched[0][0] = watched ? "loudbom" : NULL;
		flow_run_to(&config, "{\"a\":[\"lou\",\"d\",\"bo\",\"mb\"]}\n", FAULT_BLOCKED, 0,
			    &flow);
		assert_int_equal(flow.denial.start, 5);
		assert_int_equal(flow.denial.end, 9);
		assert_int_equal(flow.finding_count, watched);
		flow_done(&flow);
	}
	/* A mark that follows what nobody who gates waits for begins a text of its own. */
	for (int watched = 0; watched < 2; watched++) {
		config.terms[0][0] = ACUTE "x";
		config.fold[0] = TERMS_FOLD_NFC;
		config.watched[0][0] = watched ? "ef" : NULL;
		flow_run_to(&config, "{\"a\":[\"e\",\"" ACUTE "x\"]}\n", FAULT_BLOCKED, 0, &flow);
		flow_done(&flow);
	}
}

/* Who only watches refuses no body that is no text; who gates, or judges, does. */
static void opaque_bodies(void **state)
{
	static const char data[] = OK "Content-Type: image/png\r\nContent-Length: 4\r\n\r\nloud";
	struct flow_config config = responses;

	(void)state;
	config.no_text = true;
	config.request_count = 1;
	flow_ends(&config, data, FAULT_OPAQUE_BODY, 0);
	config.terms[0][0] = NULL;
	config.unread = true;
	flow_clean(&config, data);
	config.other_track = true;
	config.output[0][0] = "loud";
	flow_ends(&config, data, FAULT_OPAQUE_BODY, 0);
}

static void bad_configurations_are_refused(void **state)
{
	static const char *const words[] = {"loud"}, *const names[] = {"t0"};
	const struct session_config session_config = {.tasks = {names, names},
						      .task_count = {1, 1}};
	struct pipeline_task task = {.name = "t0"}, watcher = {.name = "w0"};
	struct pipeline_config config = {
		.framing = {.kind = FRAMING_SSE},
		.extract = {.kind = EXTRACT_RAW},
		.max_message = 1,
		.max_pending_units = 1,
		.track = SESSION_RESPONSE,
		.tasks = &task,
		.task_count = 1,
		.watchers = &watcher,
		.watcher_count = 1,
	};
	struct pipeline *pipeline = NULL;
	struct terms *terms;
	size_t bad;

	(void)state;
	assert_int_equal(terms_new(words, 1, 0, &bad, &terms), 0);
	assert_int_equal(session_new(&session_config, &config.session), SESSION_OK);
	task.matcher.terms = terms;
	assert_int_equal(pipeline_new(&config, &pipeline), -EINVAL); /* no terms */
	watcher.matcher.terms = terms;
	watcher.output = true;
	assert_int_equal(pipeline_new(&config, &pipeline), -EINVAL); /* unknown to the session */
	config.track = SESSION_REQUEST;
	assert_int_equal(pipeline_new(&config, &pipeline), -EINVAL); /* no response */
	watcher.output = false;
	config.task_count = 0;
	config.extract.kind = EXTRACT_NONE;
	assert_int_equal(pipeline_new(&config, &pipeline), -EINVAL); /* nothing to watch */
	config.extract.kind = EXTRACT_RAW;
	assert_int_equal(pipeline_new(&config, &pipeline), 0);
	/* Nobody is told. */
	assert_int_equal(pipeline_feed(pipeline, (const uint8_t *)"data:", 5), FAULT_NONE);
	pipeline_free(pipeline);
	session_fail(config.session, SESSION_OPERATOR);
	assert_true(session_free(config.session));
	terms_free(terms);
}

static void any_allocation_may_fail(void **state)
{
	static const char data[] = JSON("25") "{\"a\":[\"lo\",\"u" ACUTE "d\"],\"b\":1}";
	struct flow_config config = responses;
	bool failed = true;
	uint64_t released;

	(void)state;
	config.request_count = 1;
	config.watched_fold[0] = TERMS_FOLD_NFC;
	config.output[0][0] = "x";
	for (unsigned long n = 0; failed; n++) {
		enum fault fault = flow_run_failing(&config, data, LEN(data), n, &released);

		failed = allocation_failed();
		assert_int_equal(fault, failed ? FAULT_NO_MEMORY : FAULT_NONE);
		assert_int_equal(released, failed ? 0 : LEN(data));
	}
}

/* Lines whose texts join, are parked, and hold marks, of few letters. */
static size_t random_lines(unsigned int *seed, char *data)
{
	static const char *const texts[] = {"b",       "om",	  "bo", "mb", "e",	 ACUTE,
					    "\\ud83d", "\\ude00", "x",	"eb", ACUTE "b", "m"};
	static const char *const shapes[] = {
		"{\"t\":\"%s%s\"}\n",
		"{\"u\":[\"%s\",\"%s\"]}\n",
		"[{\"a\":\"%s\"},{\"a\":\"%s\"},{\"a\":\"x\"}]\n",
		"{\"t\":\"%s\",\"v\":\"%s\"}\n",
	};
	size_t len = 0;

	for (unsigned int i = 1 + (unsigned int)rand_r(seed) % 8; i > 0; i--)
		len += (size_t)sprintf(data + len,
				       shapes[(size_t)rand_r(seed) % ARRAY_SIZE(shapes)],
				       texts[(size_t)rand_r(seed) % ARRAY_SIZE(texts)],
				       texts[(size_t)rand_r(seed) % ARRAY_SIZE(texts)]);
	return len;
}

/* With and without those that watch the same leaves, ends and is denied, after every byte. */
static void those_who_watch_change_nothing(void **state)
{
	unsigned int seed = 11, denied = 0, findings = 0, folded[2] = {0, TERMS_FOLD_NFC};
	char data[2048];

	(void)state;
	for (unsigned int round = 0; round < 600; round++) {
		size_t len = random_lines(&seed, data);
		struct flow_config config = path_t;
		struct flow with, without;

		config.terms[0][0] = round & 4 ? "bomb" : ACUTE "b";
		config.fold[0] = folded[rand_r(&seed) % 2];
		config.watched[0][0] = "omx";
		config.watched[0][1] = "ee";
		config.watched_fold[0] = folded[rand_r(&seed) % 2];
		config.watched[1][0] = "mbo";
		config.level = (enum session_level)(round % _SESSION_LEVEL_MAX);
		flow_run_random(&config, data, len, seed, 3, &with);
		config.watched[0][0] = NULL;
		flow_run_random(&config, data, len, seed, 3, &without);
		flow_assert_points(&with, &without);
		assert_int_equal(without.finding_count, 0);
		findings += with.finding_count > 0;
		denied += with.fault == FAULT_BLOCKED;
		with.finding_count = 0;
		flow_assert_same(&with, &without);
		flow_done(&with);
		flow_done(&without);
	}
	assert_in_range(denied, 50, 550);
	assert_in_range(findings, 50, 550);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_found_is_told_and_ends_nothing),
		cmocka_unit_test(places_are_those_of_the_track),
		cmocka_unit_test(places_over_many_units),
		cmocka_unit_test(each_session_finds_anew),
		cmocka_unit_test(what_came_while_it_rested_is_new),
		cmocka_unit_test(what_it_was_left_with_is_gone),
		cmocka_unit_test(an_interim_answer_is_of_the_same_session),
		cmocka_unit_test(a_denial_ends_what_is_found),
		cmocka_unit_test(texts_that_go_on_in_a_unit),
		cmocka_unit_test(opaque_bodies),
		cmocka_unit_test(bad_configurations_are_refused),
		cmocka_unit_test(any_allocation_may_fail),
		cmocka_unit_test(those_who_watch_change_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
