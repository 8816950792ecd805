/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every allocation of a scenario fails once, in turn: the answer is an error or
 * a fault, nothing uncleared is released, and (under ASan) nothing leaks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/pipeline.h"
#include "core/policy.h"
#include "core/session.h"
#include "core/terms.h"
#include "sys/yaml.h"
#include "unit/allocation.h"

#define SWEEP_MAX 5000

static const char input[] =
	"{\"t\":\"an e\xcc\x81 and \\ud83d\\ude00\",\"keys\":{\"a\":[1,\"two\"]}}\n"
	"{\"t\":\"ends like a forb\"}\n{\"t\":\"idden\"}\n{\"t\":\"after\"}\n";
/* The end of the first line: the second waits for the third, which is refused. */
static const uint64_t cleared = sizeof("{\"t\":\"an e\xcc\x81 and \\ud83d\\ude00\","
				       "\"keys\":{\"a\":[1,\"two\"]}}\n") -
				1;

/* Runs the scenario; returns the fault, or FAULT_NO_MEMORY where something could not be made. */
static enum fault run_pipeline(unsigned int fold, uint64_t *ret_released)
{
	const char *const words[] = {"forbidden", "caf\xc3\xa9"}, *const names[] = {"refused"};
	const struct session_config session_config = {
		.tasks = {[SESSION_RESPONSE] = names},
		.task_count = {[SESSION_RESPONSE] = 1},
	};
	struct pipeline_task task = {.name = "refused"};
	struct pipeline_config config = {
		.framing = {.kind = FRAMING_NDJSON},
		.extract = {.kind = EXTRACT_PATH, .path = "t"},
		.max_message = 1024,
		.max_pending_units = 64,
		.track = SESSION_RESPONSE,
		.tasks = &task,
		.task_count = 1,
	};
	enum fault fault = FAULT_NO_MEMORY;
	struct pipeline *pipeline = NULL;
	struct session *session = NULL;
	struct terms *terms = NULL;
	size_t bad;

	*ret_released = 0;
	if (terms_new(words, 2, fold, &bad, &terms))
		return fault;
	task.matcher.terms = terms;
	if (!session_new(&session_config, &session)) {
		config.session = session;
		if (!pipeline_new(&config, &pipeline)) {
			for (size_t i = 0; i < sizeof(input) - 1; i++)
				fault = pipeline_feed(pipeline, (const uint8_t *)input + i, 1);
			*ret_released = pipeline_released(pipeline);
			pipeline_free(pipeline);
		}
		session_fail(session, SESSION_FRAMING_FAULT);
		assert_true(session_free(session));
	}
	terms_free(terms);
	return fault;
}

static void sweep_pipeline(unsigned int fold)
{
	uint64_t released;
	unsigned long n;

	assert_int_equal(run_pipeline(fold, &released), FAULT_BLOCKED);
	assert_int_equal(released, cleared);
	for (n = 0; n < SWEEP_MAX; n++) {
		enum fault fault;

		allocation_fail_at(n);
		fault = run_pipeline(fold, &released);
		if (!allocation_failed())
			break;
		assert_int_equal(fault, FAULT_NO_MEMORY);
		assert_true(released <= cleared);
	}
	assert_in_range(n, 5, SWEEP_MAX - 1);
}

static void pipeline_fails_closed_at_every_allocation(void **state)
{
	(void)state;
	sweep_pipeline(0);
}

static void folding_pipeline_fails_closed_at_every_allocation(void **state)
{
	(void)state;
	sweep_pipeline(TERMS_FOLD_CASEFOLD | TERMS_FOLD_NFC | TERMS_FOLD_STRIP_MN);
}

static int load_policy(const char *text)
{
	struct doc_node *document = NULL;
	struct policy_error error;
	struct policy *policy = NULL;
	struct yaml_error yaml_error;
	int r = yaml_parse(text, strlen(text), &document, &yaml_error);

	if (r)
		return r;
	r = policy_new(document, &policy, &error);
	doc_node_free(document);
	if (!r)
		policy_unref(policy);
	return r;
}

static void policy_is_whole_or_not_there_at_every_allocation(void **state)
{
	static const char text[] = "version: 1\nname: n\n"
				   "destinations:\n"
				   "  - {match: \"10.0.0.0/8:5432\", action: pass}\n"
				   "  - {match: \"*:9000\", action: mediate, framing: {kind: "
				   "lenprefix, type: u32, endian: big}, extract: raw}\n"
				   "framing: ndjson\nextract: \"path:a.b\"\n"
				   "request: {tasks: [keys, shapes, cards]}\n"
				   "response: {tasks: [keys, trial, asked, told]}\n"
				   "output: {tasks: [keys]}\n"
				   "tasks:\n  keys: {kind: terms, terms: [one, two]}\n"
				   "  trial: {kind: terms, terms: [three], warn_only: true}\n"
				   "  shapes: {kind: regex, patterns: ['AKIA[0-9]{4}', 'b{2}']}\n"
				   "  cards: {kind: builtin, rules: [jwt, payment_cards]}\n"
				   "  asked: {kind: interceptor, url: \"http://127.0.0.1:80/x\"}\n"
				   "  told: {kind: interceptor, "
				   "url: \"http+unix:///run/a.sock:/x\"}\n"
				   "resolvers: [127.0.0.53]\nunix: [/run/x.sock]\n";
	unsigned long n;

	(void)state;
	assert_int_equal(load_policy(text), 0);
	for (n = 0; n < SWEEP_MAX; n++) {
		int r;

		allocation_fail_at(n);
		r = load_policy(text);
		if (!allocation_failed())
			break;
		assert_int_equal(r, -ENOMEM);
	}
	assert_in_range(n, 20, SWEEP_MAX - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pipeline_fails_closed_at_every_allocation),
		cmocka_unit_test(folding_pipeline_fails_closed_at_every_allocation),
		cmocka_unit_test(policy_is_whole_or_not_there_at_every_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
