/* SPDX-License-Identifier: Apache-2.0 */
/* Safety levels through a pipeline: how much may be held. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "core/session.h"
#include "unit/flow.h"
#include "unit/streamed.h"

/* As much as a hold may have room for, and not a byte more; level by level. */
static void a_held_message_has_a_largest_size(void **state)
{
	static const enum session_level levels[] = {SESSION_BLOCKING, SESSION_COMPLETE,
						    SESSION_DEFERRED};
	static const char head[] = OK "Content-Type: text/event-stream\r\n\r\n";
	size_t max = 64 + PIPELINE_FRAME_OVERHEAD, len = max + 64;
	size_t cuts[3] = {100, max - 1, max};
	char *data = malloc(len);
	struct flow flow;

	(void)state;
	assert_non_null(data);
	for (size_t i = 0; i < len; i += 4)
		memcpy(data + i, ":ab\n", 4);
	for (size_t i = 62; i < len; i += 64)
		memcpy(data + i, "\n\n", 2);
	memcpy(data, head, LEN(head));
	data[LEN(head)] = ':';
	for (size_t level = 0; level < ARRAY_SIZE(levels); level++) {
		struct flow_config config = answers(levels[level], 1);

		config.max_message = 64;
		config.no_text = true;
		for (size_t cut_count = 0; cut_count <= 3; cut_count += 3) {
			bool held = levels[level] == SESSION_COMPLETE;

			flow_run(&config, data, len, cuts, cut_count, &flow);
			assert_int_equal(flow.fault, held ? FAULT_TOO_LARGE : FAULT_NONE);
			assert_int_equal(flow.released, held ? 0 : len);
			if (cut_count)
				assert_int_equal(flow.points[2].fault, FAULT_NONE);
			flow_done(&flow);
			/* So many, and it ends. */
			flow_run(&config, data, max, cuts, cut_count ? 2 : 0, &flow);
			assert_int_equal(flow.fault, FAULT_NONE);
			assert_int_equal(flow.released, max);
			flow_done(&flow);
		}
	}
	free(data);
}

/* Each message has that much, however many there are. */
static void the_largest_size_is_of_each_message(void **state)
{
	const size_t body = PIPELINE_FRAME_OVERHEAD - 128;
	struct flow_config config = answers(SESSION_COMPLETE, 2);
	char *data = malloc(2 * body + 512);
	size_t len = 0;
	struct flow flow;

	(void)state;
	assert_non_null(data);
	for (int i = 0; i < 2; i++) {
		len += (size_t)sprintf(
			data + len, "%s%zu\r\n\r\n",
			OK "Content-Type: text/event-stream\r\nContent-Length: ", body);
		for (size_t at = 0; at < body; at += 4, len += 4)
			memcpy(data + len, at % 64 ? "abc\n" : ":b\n\n", 4);
		memcpy(data + len - 4, "ab\n\n", 4);
	}
	config.max_message = 64;
	config.no_text = true;
	flow_run(&config, data, len, NULL, 0, &flow);
	assert_int_equal(flow.fault, FAULT_NONE);
	assert_int_equal(flow.released, len);
	flow_done(&flow);
	free(data);
}

/* Units of one message, or under deferred, take one place; under blocking each its own. */
static void pending_units_by_level(void **state)
{
	static const char data[] = "data: b\n\ndata: bo\n\ndata: bom\n\ndata: x\n\n";
	struct flow_config config = joined;
	struct flow flow;

	(void)state;
	config.max_pending_units = 1;
	config.extract = (struct extract){.kind = EXTRACT_RAW};
	config.terms[0][0] = "bbobomb";
	flow_run_to(&config, data, FAULT_TOO_LARGE, 0, &flow);
	flow_done(&flow);
	config.level = SESSION_DEFERRED;
	flow_clean(&config, data);
	config = answers(SESSION_COMPLETE, 1);
	config.max_pending_units = 1;
	flow_clean(&config, STREAM ONE ONE ONE LAST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_held_message_has_a_largest_size),
		cmocka_unit_test(the_largest_size_is_of_each_message),
		cmocka_unit_test(pending_units_by_level),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
