/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines under random streams, damaged bytes and failing allocations; in random cuts. */
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

/* Every allocation fails once: the flow ends with that name, releases no more, leaks nothing. */
static void any_allocation_may_fail(void **state)
{
	static const char stream[] =
		"{\"t\":\"ab\",\"u\":[\"b\",\"o\",{\"v\":[\"b\"],\"w\":[\"b\\ud83d\"]}]}\n"
		"{\"1\":1,\"2\":1,\"3\":1,\"4\":1,\"5\":1,\"6\":1,\"7\":1,\"8\":1,\"9\":1,\"10\":1}"
		"\n"
		"{\"t\":\"bo\"}\n{\"u\":1,\"t\":\"m\"}\n{\"u\":2}\n{\"u\":3}\n{\"u\":4}\n{\"t\":"
		"\"x\"}\n";
	const char *names[] = {"t0"}, *words[] = {"bombastic"};
	const struct session_config session_config = {.tasks = {names}, .task_count = {1}};
	bool failed = true;

	(void)state;
	for (unsigned int fold = 0; fold <= TERMS_FOLD_NFC; fold += TERMS_FOLD_NFC) {
		struct pipeline_task task = {.name = "t0"};
		struct terms *terms;
		size_t bad;

		assert_int_equal(terms_new(words, 1, fold, &bad, &terms), 0);
		task.matcher.terms = terms;
		for (unsigned long n = 0; failed || n == 0; n++) {
			struct pipeline_config config = {
				.framing = path_t.framing,
				.extract = path_t.extract,
				.max_message = 1000,
				.max_pending_units = 100,
				.track = SESSION_REQUEST,
				.tasks = &task,
				.task_count = 1,
			};
			struct pipeline *pipeline = NULL;
			enum fault fault;
			int r;

			assert_int_equal(session_new(&session_config, &config.session), SESSION_OK);
			allocation_fail_at(n);
			r = pipeline_new(&config, &pipeline);
			fault = r ? FAULT_NO_MEMORY
				  : pipeline_feed(pipeline, (const uint8_t *)stream,
						  strlen(stream));
			if (!fault)
				fault = pipeline_end(pipeline);
			failed = allocation_failed();
			assert_true(r == 0 || r == -ENOMEM);
			assert_int_equal(fault, failed ? FAULT_NO_MEMORY : FAULT_NONE);
			if (!r)
				assert_int_equal(pipeline_released(pipeline) == strlen(stream),
						 !failed);
			pipeline_free(pipeline);
			session_fail(config.session, SESSION_DISCONNECTED);
			assert_true(session_free(config.session));
		}
		failed = true;
		terms_free(terms);
	}
}

/* A long term arrives rune by rune, each in a unit of its own, and then does not end. */
static void many_pieces_of_one_term(void **state)
{
	static char term[402], data[600 * 32];
	struct flow_config config = path_t;
	struct flow flow;
	size_t len = 0, unit = 0;

	(void)state;
	memset(term, 'a', 400);
	term[400] = 'b';
	config.terms[0][0] = term;
	for (unsigned int i = 0; i < 600; i++)
		len += (size_t)sprintf(data + len, "{\"u\":1,\"t\":\"a\"}\n");
	unit = len / 600;
	config.no_end = true;
	flow_run(&config, data, len, NULL, 0, &flow);
	/* The last 400 runes wait, and the units they are in. */
	assert_int_equal(flow.fault, FAULT_NONE);
	assert_int_equal(flow.released, 200 * unit);
	flow_done(&flow);
	config.no_end = false;
	len += (size_t)sprintf(data + len, "{\"t\":\"b\"}\n");
	flow_run(&config, data, len, NULL, 0, &flow);
	assert_int_equal(flow.fault, FAULT_BLOCKED);
	assert_int_equal(flow.released, 200 * unit);
	assert_int_equal(flow.denial.start, 200 * 4 + 3);
	assert_int_equal(flow.denial.end, 600 * 4 + 2);
	flow_done(&flow);
}

static unsigned int pick(unsigned int *seed, unsigned int below)
{
	return (unsigned int)rand_r(seed) % below;
}

/* Random messages over few letters, so that terms and halves of terms are frequent. */
static size_t random_stream(unsigned int *seed, char *data, size_t size)
{
	static const char *const pieces[] = {"a",
					     "b",
					     "ab",
					     "abc",
					     "aab",
					     "\\u0061",
					     "b\\u0062",
					     "\xc3\xa9",
					     "\\ud83d",
					     "\\ude00",
					     "\\ud83d\\ude00",
					     "",
					     "x",
					     "-"};
	static const char *const shapes[] = {
		"{\"t\":\"%s\"}\n",
		"{\"t\":\"%s\"}\r\n",
		"{\"u\":\"%s\",\"t\":\"b\"}\n",
		"{\"l\":[\"%s\",\"a\"]}\n",
		"{\"t\":[\"%s\",1,\"ab\"]}\n",
		"{\"%s\":12}\n",
		"\n",
	};
	size_t len = 0, units = 1 + pick(seed, 12);

	for (size_t i = 0; i < units && len + 200 < size; i++) {
		char text[64] = "";

		for (unsigned int n = pick(seed, 4); n > 0; n--)
			strcat(text, pieces[pick(seed, ARRAY_SIZE(pieces))]);
		len += (size_t)snprintf(data + len, size - len,
					shapes[pick(seed, ARRAY_SIZE(shapes))], text);
	}
	return len;
}

/* A flow is denied exactly when a channel's text holds a term; a clean one leaves whole. */
static void random_streams_against_a_plain_search(void **state)
{
	static const char *const all_terms[] = {"abb",
						"babab",
						"a\xc3\xa9",
						"aaba",
						"bc-a",
						"xx",
						"\xf0\x9f\x98\x80"
						"b"};
	unsigned int seed = 20, found = 0;

	(void)state;
	for (unsigned int round = 0; round < 1000; round++) {
		struct flow_config config = path_t;
		const char *term = all_terms[pick(&seed, ARRAY_SIZE(all_terms))];
		struct flow flow, plain;
		char data[2048];
		size_t len = random_stream(&seed, data, sizeof(data));
		const char *text;

		config.terms[0][0] = NULL;
		flow_run(&config, data, len, NULL, 0, &plain);
		assert_int_equal(plain.fault, FAULT_NONE);
		text = flow_text(&plain, "t");
		config.terms[0][0] = term;
		if (round % 3 == 0)
			config.terms[1][0] = "abbab";
		flow_run_random(&config, data, len, seed, 4, &flow);
		if (text && strstr(text, term)) {
			assert_int_equal(flow.fault, FAULT_BLOCKED);
			found++;
		} else if (flow.fault != FAULT_BLOCKED) {
			assert_int_equal(flow.fault, FAULT_NONE);
			assert_int_equal(flow.released, len);
		}
		flow_done(&flow);
		flow_done(&plain);
	}
	assert_in_range(found, 50, 950);
}

/* One byte changed somewhere: whatever it is, all cuts agree. */
static void damaged_streams_in_every_cut(void **state)
{
	unsigned int seed = 4;

	(void)state;
	for (unsigned int round = 0; round < 1000; round++) {
		struct flow_config config = round % 2 ? path_t : automatic;
		struct flow flow;
		char data[2048];
		size_t len = random_stream(&seed, data, sizeof(data));

		config.terms[0][0] = "abb";
		config.terms[1][0] = "ba";
		if (round % 5 == 0)
			config.extract = (struct extract){.kind = EXTRACT_RAW};
		if (round % 7 == 0)
			config.max_message = 10;
		if (round % 11 == 0)
			config.max_pending_units = 2;
		data[pick(&seed, (unsigned int)len)] = (char)pick(&seed, 256);
		flow_run_random(&config, data, len, seed, 4, &flow);
		flow_done(&flow);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_allocation_may_fail),
		cmocka_unit_test(many_pieces_of_one_term),
		cmocka_unit_test(random_streams_against_a_plain_search),
		cmocka_unit_test(damaged_streams_in_every_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
