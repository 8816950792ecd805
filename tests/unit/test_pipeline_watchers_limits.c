/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks that watch a pipeline, at the limits of what is kept for them. */
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
#include "core/fold.h"
#include "core/terms.h"
#include "unit/flow.h"

#define ACUTE "\xcc\x81"

static const struct flow_config lines = {
	.framing = {.kind = FRAMING_NDJSON},
	.extract = {.kind = EXTRACT_AUTO},
	.terms = {{"bomb"}},
	.watched = {{"loud", "noise"}},
};

/* An object of so many members with such a value, in an array, and more of it. */
static char *many_members(size_t count, const char *value, const char *more)
{
	char *data = malloc(count * 32 + 64);
	size_t len;

	assert_non_null(data);
	len = (size_t)sprintf(data, "[{");
	for (size_t i = 0; i < count; i++)
		len += (size_t)sprintf(data + len, "%s\"k%zu\":%s", i ? "," : "", i, value);
	sprintf(data + len, "%s\n", more);
	return data;
}

/* However many texts are parked for those that watch alone, it is no fault. */
static void texts_without_number(void **state)
{
	/* One more that a task which gates waits for; and in a unit of its own one that begins anew. */
	char *data = many_members(2 * CHANNEL_PARKED_MAX, "\"lo\"",
				  ",\"g\":\"bo\"},{\"k7\":\"ud\"}]\n[\"lo\",\"o\"]");
	size_t len = strlen(data), cut = len - 14;
	struct flow_config config = lines;
	struct flow flow;

	(void)state;
	config.no_text = true;
	config.max_message = len;
	config.watched[1][0] = "loo";
	flow_run(&config, data, len, &cut, 1, &flow);
	assert_int_equal(flow.fault, FAULT_NONE);
	assert_int_equal(flow.released, len);
	assert_int_equal(flow.finding_count, 2);
	/* Nor is memory without bound: what there is no room for ends for them as well. */
	assert_true(flow.peak_memory < CHANNEL_PARKED_MAX * 700ull);
	flow_done(&flow);
	config.terms[0][0] = "lot";
	flow_run(&config, data, len, NULL, 0, &flow);
	assert_int_equal(flow.fault, FAULT_TOO_LARGE);
	flow_done(&flow);
	free(data);
}

/* Those that are parked for the tasks that gate have their number, whoever waited before. */
static void texts_that_come_to_be_waited_for(void **state)
{
	for (size_t count = CHANNEL_PARKED_MAX; count <= CHANNEL_PARKED_MAX + 1; count++) {
		char *data = many_members(count, "[\"lo\",\"bo\"]", "}]");
		struct flow_config config = lines;
		struct flow flow;

		(void)state;
		config.no_text = true;
		for (int watched = 0; watched < 2; watched++) {
			config.watched[0][0] = watched ? "loud" : NULL;
			flow_run(&config, data, strlen(data), NULL, 0, &flow);
			assert_int_equal(flow.fault,
					 count > CHANNEL_PARKED_MAX ? FAULT_TOO_LARGE : FAULT_NONE);
			flow_done(&flow);
		}
		free(data);
	}
}

/* A watcher that cannot go on does not; a task of `output` that cannot is a fault. */
static void a_matcher_that_fails(void **state)
{
	char data[4096] = "{\"a\":\"e";
	struct flow_config config = lines;
	struct flow flow;

	(void)state;
	/* Marks of another class each time, which fold as one. */
	for (unsigned int i = 0; i <= FOLD_SEGMENT_MAX; i++)
		strcat(data, i & 1 ? ACUTE : "\xcc\xa3");
	strcat(data, "\"}\n{\"a\":\"loud\"}\n");
	config.watched_fold[0] = TERMS_FOLD_NFC;
	config.watched[1][0] = "loud";
	flow_run_random(&config, data, strlen(data), 1, 5, &flow);
	assert_int_equal(flow.fault, FAULT_NONE);
	assert_int_equal(flow.finding_count, 1);
	assert_string_equal(flow.findings[0].task, "w1");
	flow_done(&flow);
	config.output[0][0] = "loud";
	config.output_fold[0] = TERMS_FOLD_NFC;
	flow_run_random(&config, data, strlen(data), 1, 5, &flow);
	assert_int_equal(flow.fault, FAULT_TOO_LARGE);
	assert_int_equal(flow.released, 0);
	flow_done(&flow);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_without_number),
		cmocka_unit_test(texts_that_come_to_be_waited_for),
		cmocka_unit_test(a_matcher_that_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
