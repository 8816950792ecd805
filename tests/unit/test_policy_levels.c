/* SPDX-License-Identifier: Apache-2.0 */
/* The policy file: which tasks gate, which only watch, at which level, and strict reading. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "unit/policy_text.h"

#define V "version: 1\n"
/* Tasks 0 to 3; the longest terms have 9, 3, 20 and 5 runes. */
#define TASKS                                                                       \
	"tasks:\n"                                                                  \
	"  nine:   {kind: terms, terms: [\"forbidden\"]}\n"                         \
	"  three:  {kind: terms, terms: [abc]}\n"                                   \
	"  twenty: {kind: terms, terms: [abcdefghijklmnopqrst], warn_only: true}\n" \
	"  five:   {kind: terms, terms: [abcde]}\n"
#define LISTS                                  \
	"request:  {tasks: [twenty, three]}\n" \
	"response: {tasks: [three, nine]}\n"   \
	"output:   {tasks: [five, twenty, nine]}\n"

/* letters: those of the tasks in order: 9, 3, W for `twenty`, 5. */
static void check_list(const struct policy *policy, const size_t *tasks, size_t count,
		       const char *letters)
{
	char found[POLICY_TASKS_MAX + 1] = "";
	size_t i;

	assert_true(count < sizeof(found));
	for (i = 0; i < count; i++)
		found[i] = "93W5"[tasks[i]];
	assert_string_equal(found, letters);
	assert_int_equal(policy->task_count, 4);
}

static void check_tasks(const struct policy *policy, enum session_track track, const char *gating,
			const char *watching)
{
	check_list(policy, policy->track_tasks[track], policy->track_task_count[track], gating);
	check_list(policy, policy->warn[track].tasks, policy->warn[track].count, watching);
}

static void warn_only_tasks_gate_nothing(void **state)
{
	struct policy *policy = policy_text_load_good(V TASKS LISTS);

	(void)state;
	assert_true(policy->tasks[2].warn_only);
	assert_false(policy->tasks[0].warn_only);
	check_tasks(policy, SESSION_REQUEST, "3", "W");
	check_tasks(policy, SESSION_RESPONSE, "39", "W");
	check_list(policy, policy->output.tasks, policy->output.count, "59");
	/* Of the 20 runes none is held back. */
	assert_int_equal(policy_hold_back(policy, SESSION_REQUEST), 2);
	policy_unref(policy);
}

static void nothing_gates_where_the_policy_observes(void **state)
{
	struct policy *policy = policy_text_load_good(V "mode: observe\n" TASKS LISTS);
	uint32_t runes = 7;

	(void)state;
	assert_int_equal(policy->mode, POLICY_OBSERVE);
	check_tasks(policy, SESSION_REQUEST, "", "W3");
	/* `nine` stands in both of its lists. */
	check_tasks(policy, SESSION_RESPONSE, "", "395W");
	assert_int_equal(policy->output.count, 0);
	assert_int_equal(policy_hold_back(policy, SESSION_RESPONSE), 0);
	assert_false(policy_exposure_bound(policy, SESSION_REQUEST, &runes));
	assert_false(policy_exposure_bound(policy, SESSION_RESPONSE, &runes));
	assert_int_equal(runes, 7);
	policy_unref(policy);
}

static void a_warn_only_task_of_the_output_watches_the_response(void **state)
{
	struct policy *policy = policy_text_load_good(
		V TASKS "request: {tasks: [nine]}\noutput: {tasks: [twenty]}\n");

	(void)state;
	check_tasks(policy, SESSION_REQUEST, "9", "");
	check_tasks(policy, SESSION_RESPONSE, "", "W");
	assert_int_equal(policy->output.count, 0);
	policy_unref(policy);
	/* On both it evaluates once. */
	policy = policy_text_load_good(V TASKS
				       "response: {tasks: [twenty]}\noutput: {tasks: [twenty]}\n");
	check_tasks(policy, SESSION_RESPONSE, "", "W");
	policy_unref(policy);
}

static void the_bound_is_what_the_level_makes_it(void **state)
{
	static const struct {
		const char *text;
		enum session_level level;
		uint32_t request, response;
	} cases[] = {
		{V TASKS LISTS, SESSION_BLOCKING, 0, 0},
		{V "safety_level: blocking\n" TASKS LISTS, SESSION_BLOCKING, 0, 0},
		{V "safety_level: complete\n" TASKS LISTS, SESSION_COMPLETE, 0, 0},
		{V "safety_level: deferred\n" TASKS LISTS, SESSION_DEFERRED, 2, 8},
		{V "safety_level: deferred\non_deny: refuse\n" TASKS LISTS, SESSION_DEFERRED, 2, 8},
	};
	struct policy *policy;
	uint32_t runes;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		policy = policy_text_load_good(cases[i].text);
		assert_int_equal(policy->level, cases[i].level);
		runes = 99;
		assert_true(policy_exposure_bound(policy, SESSION_REQUEST, &runes));
		assert_int_equal(runes, cases[i].request);
		runes = 99;
		assert_true(policy_exposure_bound(policy, SESSION_RESPONSE, &runes));
		assert_int_equal(runes, cases[i].response);
		policy_unref(policy);
	}
}

static void a_track_that_nothing_gates_has_no_bound(void **state)
{
	static const char *const levels[] = {"blocking", "complete", "deferred"};
	struct policy *policy;
	char text[1024];
	uint32_t runes = 7;
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(levels); i++) {
		(void)snprintf(text, sizeof(text),
			       V "safety_level: %s\n" TASKS
				 "request: {tasks: [twenty]}\nresponse: {tasks: [nine]}\n",
			       levels[i]);
		policy = policy_text_load_good(text);
		assert_false(policy_exposure_bound(policy, SESSION_REQUEST, &runes));
		assert_int_equal(runes, 7);
		assert_true(policy_exposure_bound(policy, SESSION_RESPONSE, &runes));
		runes = 7;
		policy_unref(policy);
	}
}

static void a_destination_inherits_strict_with_chat_alone(void **state)
{
	struct policy *policy = policy_text_load_good(
		V "extract: openai_chat\nstrict: true\n"
		  "destinations:\n"
		  "  - {match: \"*:1\", action: mediate}\n"
		  "  - {match: \"*:2\", action: mediate, framing: sse}\n"
		  "  - {match: \"*:3\", action: mediate, framing: ndjson, extract: raw}\n"
		  "  - {match: \"*:4\", action: mediate, strict: false, framing: ndjson}\n"
		  "  - {match: \"*:5\", action: mediate, extract: openai_chat}\n");

	(void)state;
	assert_true(policy->extract.strict);
	assert_true(policy_text_match(policy, "1.2.3.4:1")->extract.strict);
	assert_true(policy_text_match(policy, "1.2.3.4:2")->extract.strict);
	assert_false(policy_text_match(policy, "1.2.3.4:3")->extract.strict);
	assert_false(policy_text_match(policy, "1.2.3.4:4")->extract.strict);
	assert_true(policy_text_match(policy, "1.2.3.4:5")->extract.strict);
	policy_unref(policy);
}

static void strict_is_for_those_who_ask(void **state)
{
	struct policy *policy = policy_text_load_good(
		V "strict: false\n"
		  "destinations:\n"
		  "  - {match: \"*:1\", action: mediate, framing: http1, extract: openai_chat, "
		  "strict: true}\n"
		  "  - {match: \"*:2\", action: mediate, framing: sse, extract: openai_chat}\n"
		  "  - {match: \"*:3\", action: mediate, strict: false}\n");

	(void)state;
	assert_false(policy->extract.strict);
	assert_true(policy_text_match(policy, "1.2.3.4:1")->extract.strict);
	assert_false(policy_text_match(policy, "1.2.3.4:2")->extract.strict);
	assert_false(policy_text_match(policy, "1.2.3.4:3")->extract.strict);
	policy_unref(policy);
	policy = policy_text_load_good(V "extract: openai_chat\n"
					 "destinations:\n"
					 "  - {match: \"*:1\", action: mediate, strict: true}\n");
	assert_false(policy->extract.strict);
	assert_true(policy_text_match(policy, "1.2.3.4:1")->extract.strict);
	policy_unref(policy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(warn_only_tasks_gate_nothing),
		cmocka_unit_test(nothing_gates_where_the_policy_observes),
		cmocka_unit_test(a_warn_only_task_of_the_output_watches_the_response),
		cmocka_unit_test(the_bound_is_what_the_level_makes_it),
		cmocka_unit_test(a_track_that_nothing_gates_has_no_bound),
		cmocka_unit_test(a_destination_inherits_strict_with_chat_alone),
		cmocka_unit_test(strict_is_for_those_who_ask),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
