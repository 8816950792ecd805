/* SPDX-License-Identifier: Apache-2.0 */
/* Length prefixes: every type, order and edge, in every cut. */
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

struct expected {
	enum fault fault;
	size_t units;
	uint64_t framed;
};

static void check(const struct flow_config *config, const char *data, size_t len,
		  struct expected expected)
{
	struct flow flow;

	flow_run_splits(config, data, len, &flow);
	assert_string_equal(fault_name(flow.fault), fault_name(expected.fault));
	assert_int_equal(flow.units, expected.units);
	assert_int_equal(flow.framed, expected.framed);
	assert_int_equal(flow.released, expected.framed);
	flow_done(&flow);
}

static struct flow_config with(enum lenprefix_type type, bool big_endian, bool includes_header)
{
	return (struct flow_config){
		.framing = {.kind = FRAMING_LENPREFIX,
			    .type = type,
			    .big_endian = big_endian,
			    .includes_header = includes_header},
	};
}

#define CHECK(config, data, ...) \
	check(config, data, sizeof(data) - 1, (struct expected){__VA_ARGS__})

static void every_width_and_order(void **state)
{
	(void)state;
	for (int type = LENPREFIX_U8; type <= LENPREFIX_U64; type++) {
		for (int big = 0; big <= 1; big++) {
			size_t width = (size_t)1 << type, len = 0;
			struct flow_config config = with((enum lenprefix_type)type, big, false);
			char data[64] = {0};
			struct flow flow;

			/* Payloads of 3, 0 and 5 bytes. */
			for (size_t i = 0; i < 3; i++) {
				static const char sizes[] = {3, 0, 5};

				data[len + (big ? width - 1 : 0)] = sizes[i];
				memset(data + len + width, 'x', (size_t)sizes[i]);
				len += width + (size_t)sizes[i];
			}
			check(&config, data, len, (struct expected){FAULT_NONE, 3, len});
			check(&config, data, len - 1,
			      (struct expected){FAULT_TRUNCATED, 2, 2 * width + 3});
			check(&config, data, width - 1,
			      (struct expected){width > 1 ? FAULT_TRUNCATED : FAULT_NONE, 0, 0});
			flow_run(&config, data, len, NULL, 0, &flow);
			assert_int_equal(flow.unit[0].payload_start, width);
			assert_int_equal(flow.unit[0].payload_end, width + 3);
			assert_int_equal(flow.unit[1].payload_start, flow.unit[1].payload_end);
			assert_int_equal(flow.unit[1].end, 2 * width + 3);
			flow_done(&flow);
		}
	}
}

static void the_order_of_bytes_counts(void **state)
{
	struct flow_config big = with(LENPREFIX_U16, true, false);
	struct flow_config little = with(LENPREFIX_U16, false, false);

	(void)state;
	CHECK(&big, "\0\3abc", FAULT_NONE, 1, 5);
	CHECK(&little, "\0\3abc", FAULT_TRUNCATED, 0, 0);
	CHECK(&little, "\3\0abc", FAULT_NONE, 1, 5);
	big = with(LENPREFIX_U32, true, false);
	CHECK(&big, "\0\0\1\0abc", FAULT_TRUNCATED, 0, 0);
}

static void lengths_that_count_themselves(void **state)
{
	struct flow_config config = with(LENPREFIX_U32, true, true);

	(void)state;
	CHECK(&config, "\0\0\0\7abc\0\0\0\4\0\0\0\5x", FAULT_NONE, 3, 16);
	CHECK(&config, "\0\0\0\4\0\0\0\3", FAULT_BAD_FRAME, 1, 4);
	CHECK(&config, "\0\0\0\0", FAULT_BAD_FRAME, 0, 0);
	config = with(LENPREFIX_U8, true, true);
	CHECK(&config, "\1\2a\0", FAULT_BAD_FRAME, 2, 3);
	config = with(LENPREFIX_U64, false, true);
	CHECK(&config, "\x9\0\0\0\0\0\0\0a\7\0\0\0\0\0\0\0", FAULT_BAD_FRAME, 1, 9);
	config = with(LENPREFIX_VARINT, true, true);
	CHECK(&config, "\4abc\1", FAULT_NONE, 2, 5);
	CHECK(&config, "\1\0", FAULT_BAD_FRAME, 1, 1);
	/* The limit is one of the payload. */
	config = with(LENPREFIX_U16, true, true);
	config.max_message = 3;
	CHECK(&config, "\0\5abc", FAULT_NONE, 1, 5);
	CHECK(&config, "\0\6abcd", FAULT_TOO_LARGE, 0, 0);
}

static void varints(void **state)
{
	struct flow_config config = with(LENPREFIX_VARINT, false, false);

	(void)state;
	CHECK(&config, "\0\5ABCDE\1x", FAULT_NONE, 3, 9);
	CHECK(&config, "\1x\xff\x80", FAULT_TRUNCATED, 1, 2);
	/* The shortest form only. */
	CHECK(&config, "\x80\0", FAULT_BAD_FRAME, 0, 0);
	CHECK(&config, "\x81\0a", FAULT_BAD_FRAME, 0, 0);
	CHECK(&config, "\xff\x80\x80\0", FAULT_BAD_FRAME, 0, 0);
	config.max_message = 65536;
	CHECK(&config, "\x80\x80\x80\1", FAULT_TOO_LARGE, 0, 0);
	CHECK(&config, "\x80\x80\4", FAULT_TRUNCATED, 0, 0);
	CHECK(&config, "\x81\x80\4", FAULT_TOO_LARGE, 0, 0);
	/* 64 bits and no more. */
	config.max_message = UINT64_MAX;
	CHECK(&config, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\1", FAULT_TRUNCATED, 0, 0);
	CHECK(&config, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\2", FAULT_BAD_FRAME, 0, 0);
	CHECK(&config, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81\1", FAULT_BAD_FRAME, 0, 0);
	CHECK(&config, "\x80\x80\x80\x80\x80\x80\x80\x80\x80\0", FAULT_BAD_FRAME, 0, 0);
}

static void a_varint_of_two_bytes(void **state)
{
	struct flow_config config = with(LENPREFIX_VARINT, false, false);
	char data[302];

	(void)state;
	memset(data, 'x', sizeof(data));
	data[0] = (char)0xac;
	data[1] = 2;
	check(&config, data, sizeof(data), (struct expected){FAULT_NONE, 1, 302});
}

static void a_declared_length_at_the_limit_and_past_it(void **state)
{
	struct flow_config config = with(LENPREFIX_U32, false, false);

	(void)state;
	config.max_message = 3;
	CHECK(&config, "\3\0\0\0abc", FAULT_NONE, 1, 7);
	/* Known from the length: no payload byte has come. */
	CHECK(&config, "\4\0\0\0", FAULT_TOO_LARGE, 0, 0);
	CHECK(&config, "\1\0\0\0a\xf0\xff\xff\xff", FAULT_TOO_LARGE, 1, 5);
	config = with(LENPREFIX_U64, true, false);
	config.max_message = UINT64_MAX;
	CHECK(&config,
	      "\xff\xff\xff\xff\xff\xff\xff\xff"
	      "abc",
	      FAULT_TRUNCATED, 0, 0);
}

/* A length announced is no memory taken. */
static void the_expected_size_is_told_and_not_allocated(void **state)
{
	struct pipeline_config config = {
		.framing = {.kind = FRAMING_LENPREFIX, .type = LENPREFIX_U32, .big_endian = true},
		.max_message = UINT32_MAX,
		.max_pending_units = 1,
	};
	struct pipeline *pipeline = NULL;
	size_t before;

	(void)state;
	assert_int_equal(pipeline_new(&config, &pipeline), 0);
	before = pipeline_memory(pipeline);
	assert_int_equal(pipeline_expected(pipeline), 0);
	assert_int_equal(pipeline_feed(pipeline, (const uint8_t *)"\x7f\xff\xff", 3), FAULT_NONE);
	assert_int_equal(pipeline_expected(pipeline), 0);
	assert_int_equal(pipeline_feed(pipeline,
				       (const uint8_t *)"\xff"
							"a",
				       2),
			 FAULT_NONE);
	assert_int_equal(pipeline_expected(pipeline), 0x7fffffff);
	assert_int_equal(pipeline_memory(pipeline), before);
	assert_int_equal(pipeline_end(pipeline), FAULT_TRUNCATED);
	pipeline_free(pipeline);
	config.framing.type = LENPREFIX_VARINT + 1;
	assert_int_equal(pipeline_new(&config, &pipeline), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_width_and_order),
		cmocka_unit_test(the_order_of_bytes_counts),
		cmocka_unit_test(lengths_that_count_themselves),
		cmocka_unit_test(varints),
		cmocka_unit_test(a_varint_of_two_bytes),
		cmocka_unit_test(a_declared_length_at_the_limit_and_past_it),
		cmocka_unit_test(the_expected_size_is_told_and_not_allocated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
