/* SPDX-License-Identifier: Apache-2.0 */
/* Delimiters: found where a plain search finds them, in every cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "unit/flow.h"

static struct flow_config with(const char *sentinel, size_t len)
{
	struct flow_config config = {.framing = {.kind = FRAMING_SENTINEL, .sentinel_len = len}};

	memcpy(config.framing.sentinel, sentinel, len);
	return config;
}

/* Units as the leftmost occurrences, one after the other, cut them. */
static void check(const struct flow_config *config, const char *data, size_t len)
{
	const uint8_t *sentinel = config->framing.sentinel;
	size_t size = config->framing.sentinel_len, start = 0, unit = 0;
	struct flow flow;
	const char *at;

	flow_run_splits(config, data, len, &flow);
	while ((at = memmem(data + start, len - start, sentinel, size))) {
		size_t end = (size_t)(at - data) + size;

		assert_true(unit < flow.units);
		assert_int_equal(flow.unit[unit].payload_start, start);
		assert_int_equal(flow.unit[unit].payload_end, end - size);
		assert_int_equal(flow.unit[unit].end, end);
		assert_int_equal(flow.unit[unit].messages, 1);
		start = end;
		unit++;
	}
	assert_int_equal(flow.units, unit);
	assert_int_equal(flow.released, start);
	assert_int_equal(flow.fault, start == len ? FAULT_NONE : FAULT_TRUNCATED);
	flow_done(&flow);
}

static void delimiters_are_found(void **state)
{
	static const struct {
		const char *sentinel, *data;
	} cases[] = {
		{"<<END>>", "{\"a\":1}<<END>>{\"b\":2}<<END>>"},
		{"<<END>>", "<<END>><<<END>>><<EN<<END>"},
		{"ABABC", "xABABABCyABABC"},
		{"ABABC", "ABABABABABC"},
		{"AAB", "AAAAABAABAAAB"},
		{"aaaa", "aaaaaaaaaaa"},
		{"abcabd", "abcabcabdabcababcabd"},
		{"\n", "one\ntwo\n\n"},
		{"\r\n.\r\n", "text\r\n.\r\n\r\n\r\n.\r\n"},
		{"xyz", ""},
		{"xyz", "xy"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct flow_config config = with(cases[i].sentinel, strlen(cases[i].sentinel));

		check(&config, cases[i].data, strlen(cases[i].data));
	}
}

static void bytes_may_be_anything(void **state)
{
	struct flow_config config = with("\0", 1);

	(void)state;
	check(&config, "ab\0cd", 5);
	check(&config, "\0\0\xff\xfe\0", 5);
	config = with("\0\0\1", 3);
	check(&config, "\0\0\0\0\1\0\0\1\0", 9);
}

/* Every text over two letters, for every delimiter of up to four. */
static void small_alphabets(void **state)
{
	(void)state;
	for (unsigned int size = 1; size <= 4; size++) {
		for (unsigned int s = 0; s < 1u << size; s++) {
			char sentinel[4], data[9];
			struct flow_config config;

			for (unsigned int i = 0; i < size; i++)
				sentinel[i] = s >> i & 1 ? 'a' : 'b';
			config = with(sentinel, size);
			for (unsigned int d = 0; d < 1u << sizeof(data); d += 3) {
				for (unsigned int i = 0; i < sizeof(data); i++)
					data[i] = d >> i & 1 ? 'a' : 'b';
				check(&config, data, sizeof(data));
			}
		}
	}
}

static void the_longest_delimiter(void **state)
{
	char data[4 * SENTINEL_LEN_MAX];
	struct flow_config config;
	char sentinel[SENTINEL_LEN_MAX];

	(void)state;
	memset(sentinel, 'a', sizeof(sentinel));
	sentinel[sizeof(sentinel) - 1] = 'b';
	memset(data, 'a', sizeof(data));
	data[100] = data[sizeof(data) - 1] = 'b';
	config = with(sentinel, sizeof(sentinel));
	check(&config, data, sizeof(data));
}

static void a_payload_at_the_limit_and_past_it(void **state)
{
	struct flow_config config = with("ABABC", 5);
	struct flow flow;

	(void)state;
	config.max_message = 3;
	flow_run_splits(&config, "xABABABCxyzABABC", 16, &flow);
	assert_int_equal(flow.fault, FAULT_NONE);
	assert_int_equal(flow.units, 2);
	flow_done(&flow);
	/* Four bytes of payload, known to be payload only when the false start ends. */
	flow_run_splits(&config,
			"xABABC"
			"xyABABABC",
			15, &flow);
	assert_int_equal(flow.fault, FAULT_TOO_LARGE);
	assert_int_equal(flow.released, 6);
	flow_done(&flow);
	flow_run_splits(&config, "wxyz", 4, &flow);
	assert_int_equal(flow.fault, FAULT_TOO_LARGE);
	flow_done(&flow);
}

static void delimiters_out_of_range(void **state)
{
	struct pipeline_config config = {
		.framing = {.kind = FRAMING_SENTINEL}, .max_message = 1, .max_pending_units = 1};
	struct pipeline *pipeline = NULL;

	(void)state;
	assert_int_equal(pipeline_new(&config, &pipeline), -EINVAL);
	config.framing.sentinel_len = SENTINEL_LEN_MAX + 1;
	assert_int_equal(pipeline_new(&config, &pipeline), -EINVAL);
	config.framing.sentinel_len = SENTINEL_LEN_MAX;
	assert_int_equal(pipeline_new(&config, &pipeline), 0);
	pipeline_free(pipeline);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(delimiters_are_found),
		cmocka_unit_test(bytes_may_be_anything),
		cmocka_unit_test(small_alphabets),
		cmocka_unit_test(the_longest_delimiter),
		cmocka_unit_test(a_payload_at_the_limit_and_past_it),
		cmocka_unit_test(delimiters_out_of_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
