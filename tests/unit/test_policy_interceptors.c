/* SPDX-License-Identifier: Apache-2.0 */
/* The policy file: tasks of kind interceptor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "unit/policy_text.h"

#define V      "version: 1\n"
#define URL    "url: \"http://127.0.0.1:80/x\""
#define BOUND  V "response: {tasks: [t]}\ntasks:\n  t: {kind: interceptor, "
#define UNUSED V "tasks:\n  t: {kind: interceptor, "

static const struct policy_interceptor *load(const char *text, struct policy **ret_policy)
{
	*ret_policy = policy_text_load_good(text);
	assert_non_null((*ret_policy)->tasks[0].interceptor);
	assert_null((*ret_policy)->tasks[0].terms);
	return (*ret_policy)->tasks[0].interceptor;
}

static void what_is_not_said_has_a_default(void **state)
{
	struct policy *policy;
	const struct policy_interceptor *i = load(BOUND URL "}\n", &policy);

	(void)state;
	assert_string_equal(i->url, "http://127.0.0.1:80/x");
	assert_string_equal(i->http_url, i->url);
	assert_null(i->socket_path);
	assert_int_equal(i->timeout_ms, 2000);
	assert_int_equal(i->concurrency, 32);
	assert_int_equal(i->spans.in_flight, 32);
	assert_int_equal(i->spans.cadence, SPAN_RUNES);
	assert_int_equal(i->spans.coverage.span, 256);
	assert_int_equal(i->spans.coverage.window, 1024);
	assert_int_equal(i->spans.coverage.detectable, 769);
	policy_unref(policy);
}

static void what_is_said_is_taken(void **state)
{
	struct policy *policy;
	const struct policy_interceptor *i =
		load(BOUND "url: \"http+unix:///run/a.sock:/eval/x?y=1\", timeout_ms: 800, "
			   "span_runes: 4, window_runes: 12, detectable_runes: 9, "
			   "cadence: sentence, concurrency: 3}\nlimits: {verdict_timeout_ms: 5}\n",
		     &policy);

	(void)state;
	assert_string_equal(i->socket_path, "/run/a.sock");
	assert_string_equal(i->http_url, "http://localhost/eval/x?y=1");
	assert_int_equal(i->timeout_ms, 800);
	assert_int_equal(i->concurrency, 3);
	assert_int_equal(i->spans.cadence, SPAN_SENTENCE);
	assert_int_equal(i->spans.coverage.window, 12);
	assert_int_equal(i->spans.coverage.detectable, 9);
	policy_unref(policy);
	i = load(BOUND URL "}\nlimits: {verdict_timeout_ms: 5}\n", &policy);
	assert_int_equal(i->timeout_ms, 5);
	policy_unref(policy);
	/* The window follows from L, or L from the window. */
	i = load(BOUND URL ", span_runes: 4, detectable_runes: 9}\n", &policy);
	assert_int_equal(i->spans.coverage.window, 12);
	policy_unref(policy);
	i = load(BOUND URL ", span_runes: 4, window_runes: 4}\n", &policy);
	assert_int_equal(i->spans.coverage.detectable, 1);
	policy_unref(policy);
	i = load(BOUND "url: \"http://[::1]:8080/\"}\n", &policy);
	assert_string_equal(i->http_url, "http://[::1]:8080/");
	policy_unref(policy);
}

static void bounds_count_it(void **state)
{
	static const char text[] = BOUND URL ", span_runes: 8, detectable_runes: 30}\n%s";
	struct policy *policy;
	char all[512];
	uint32_t runes = 7;

	(void)state;
	(void)snprintf(all, sizeof(all), text, "");
	(void)load(all, &policy);
	assert_int_equal(policy_hold_back(policy, SESSION_RESPONSE), 7);
	assert_int_equal(policy_tail(policy, SESSION_RESPONSE), 29);
	assert_int_equal(policy_tail(policy, SESSION_REQUEST), 0);
	assert_true(policy_exposure_bound(policy, SESSION_RESPONSE, &runes));
	assert_int_equal(runes, 0);
	policy_unref(policy);
	(void)snprintf(all, sizeof(all), text, "safety_level: deferred\n");
	(void)load(all, &policy);
	assert_false(policy_exposure_bound(policy, SESSION_RESPONSE, &runes));
	policy_unref(policy);
}

static void mistakes_are_named(void **state)
{
	static const struct {
		const char *text;
		int err;
		unsigned int line, column;
		const char *words;
	} cases[] = {
		{UNUSED "timeout_ms: 1}\n", -EINVAL, 3, 6, "'t' has no 'url'"},
		{UNUSED "url: \"http://localhost:80/x\"}\n", -EINVAL, 3, 31, "no name"},
		{UNUSED "url: \"http://127.0.0.1/x\"}\n", -EINVAL, 3, 31, "ADDRESS:PORT"},
		{UNUSED "url: \"http://127.0.0.1:80\"}\n", -EINVAL, 3, 31, "PATH"},
		{UNUSED "url: \"http://127.0.0.1:0/\"}\n", -EINVAL, 3, 31, "PORT"},
		{UNUSED "url: \"http://127.1:80/\"}\n", -EINVAL, 3, 31, "ADDRESS"},
		{UNUSED "url: \"http://::1:80/\"}\n", -EINVAL, 3, 31, "ADDRESS"},
		{UNUSED "url: \"http://[127.0.0.1]:80/\"}\n", -EINVAL, 3, 31, "ADDRESS"},
		{UNUSED "url: \"http://u@127.0.0.1:80/\"}\n", -EINVAL, 3, 31, "ADDRESS"},
		{UNUSED "url: \"https://127.0.0.1:80/\"}\n", -EINVAL, 3, 31, "http://"},
		{UNUSED "url: \"http://127.0.0.1:80/a b\"}\n", -EINVAL, 3, 31, "http://"},
		{UNUSED "url: \"http+unix://run/a.sock:/x\"}\n", -EINVAL, 3, 31, "SOCKET"},
		{UNUSED "url: \"http+unix:///run/a.sock\"}\n", -EINVAL, 3, 31, "SOCKET"},
		{UNUSED URL ", timeout_ms: 0}\n", -EINVAL, 3, 68, ""},
		{UNUSED URL ", concurrency: 1025}\n", -EINVAL, 3, 69, ""},
		{UNUSED URL ", span_runes: 0}\n", -EINVAL, 3, 68, ""},
		{UNUSED URL ", cadence: words}\n", -EINVAL, 3, 65,
		 "allowed: runes, unit, sentence"},
		{UNUSED URL ", span_runes: 4, detectable_runes: 9, window_runes: 10}\n", -EINVAL, 3,
		 106, "needs 12"},
		{UNUSED URL ", span_runes: 4, window_runes: 3}\n", -EINVAL, 3, 85, "needs 4"},
		{UNUSED URL ", terms: [a]}\n", -EINVAL, 3, 56, "unknown key 'terms'"},
		{V "tasks:\n  t: {kind: terms, terms: [a], url: x}\n", -EINVAL, 3, 32,
		 "unknown key 'url'"},
	};
	struct policy *policy = NULL;
	struct policy_error error;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		error = (struct policy_error){0};
		if (policy_text_load(cases[i].text, &policy, &error) != cases[i].err ||
		    error.line != cases[i].line || error.column != cases[i].column ||
		    !strstr(error.message, cases[i].words))
			fail_msg("%s: %u:%u: %s", cases[i].text, error.line, error.column,
				 error.message);
	}
}

/* Bound to what it may watch, and to what judges the response. */
static void what_enforces_nothing_watches(void **state)
{
	static const char *const warned[] = {
		BOUND URL ", warn_only: true}\n",
		BOUND URL "}\nmode: observe\n",
	};
	static const char output[] =
		V "request: {tasks: [u]}\noutput: {tasks: [t]}\ntasks:\n"
		  "  u: {kind: terms, terms: [a]}\n  t: {kind: interceptor, " URL "}\n";
	struct policy_error error = {0};
	struct policy *policy = NULL;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(warned); i++) {
		assert_int_equal(policy_text_load(warned[i], &policy, &error), 0);
		assert_int_equal(policy->warn[SESSION_REQUEST].count +
					 policy->warn[SESSION_RESPONSE].count,
				 1);
		assert_int_equal(policy->track_task_count[SESSION_REQUEST] +
					 policy->track_task_count[SESSION_RESPONSE],
				 0);
		policy_unref(policy);
	}
	assert_int_equal(policy_text_load(output, &policy, &error), 0);
	assert_int_equal(policy->output.count, 1);
	policy_unref(policy);
}

/* Those of the output are of the response as well. */
static void the_output_counts_with_the_response(void **state)
{
	char text[4096];
	struct policy_error error = {0};
	struct policy *policy = NULL;

	(void)state;
	for (unsigned int count = 8; count <= 9; count++) {
		size_t len = (size_t)snprintf(text, sizeof(text),
					      V "response: {tasks: [t1, t2, t3, t4]}\n"
						"output: {tasks: [t5, t6, t7, t8%s]}\ntasks:\n",
					      count == 9 ? ", t9" : "");

		for (unsigned int i = 1; i <= 9; i++)
			len += (size_t)snprintf(text + len, sizeof(text) - len,
						"  t%u: {kind: interceptor, " URL "}\n", i);
		assert_int_equal(policy_text_load(text, &policy, &error), count == 9 ? -EINVAL : 0);
		if (count == 8)
			policy_unref(policy);
		else
			assert_non_null(strstr(error.message, "at most 8"));
	}
}

static void a_track_has_so_many(void **state)
{
	struct policy *policy = NULL;
	struct policy_error error;
	char text[4096], names[256] = "";

	(void)state;
	for (unsigned int count = 8; count <= 9; count++) {
		size_t len = 0;

		for (unsigned int i = 0; i < count; i++)
			(void)snprintf(names + 4 * i, sizeof(names) - 4 * i, " t%u,", i);
		names[4 * count - 1] = '\0';
		len = (size_t)snprintf(text, sizeof(text), V "request: {tasks: [%s]}\ntasks:\n",
				       names);
		for (unsigned int i = 0; i < count; i++)
			len += (size_t)snprintf(text + len, sizeof(text) - len,
						"  t%u: {kind: interceptor, " URL "}\n", i);
		if (count == 8) {
			policy_unref(policy_text_load_good(text));
			continue;
		}
		assert_int_equal(policy_text_load(text, &policy, &error), -EINVAL);
		assert_non_null(strstr(error.message, "at most 8"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_not_said_has_a_default),
		cmocka_unit_test(what_is_said_is_taken),
		cmocka_unit_test(bounds_count_it),
		cmocka_unit_test(mistakes_are_named),
		cmocka_unit_test(what_enforces_nothing_watches),
		cmocka_unit_test(the_output_counts_with_the_response),
		cmocka_unit_test(a_track_has_so_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
