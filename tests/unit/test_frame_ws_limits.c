/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What WebSocket framing takes: limits of payloads, memory, copies, and masks undone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/frame_ws_mask.h"
#include "unit/allocation.h"
#include "unit/ws_story.h"

#define CHECK(config, data, text, partial) ws_check(config, data, sizeof(data) - 1, text, partial)
#define FAULT(config, data, text, fault, at) \
	ws_check_fault(config, data, sizeof(data) - 1, text, fault, at)

static void a_payload_at_the_limit_and_past_it(void **state)
{
	const struct frame_ws_config five = {.max_message = 5}, none = {.max_message = 0};
	const struct frame_ws_config masked = {.client = true, .max_message = 3};
	const struct frame_ws_config all = {.max_message = UINT64_MAX};

	(void)state;
	CHECK(&five, "\x81\x05hello\x81\x05hello", "T(hello)@7 T(hello)@14 ", false);
	CHECK(&five, "\x01\x02he\x00\x00\x80\x03llo", "T(hello)@11 ", false);
	FAULT(&five, "\x81\x06hello!", "", FAULT_TOO_LARGE, 1);
	FAULT(&five, "\x01\x05hello\x80\x01!", "t(hello)", FAULT_TOO_LARGE, 8);
	FAULT(&five, "\x02\x04hell\x00\x00\x00\x02o", "b(hell)", FAULT_TOO_LARGE, 9);
	FAULT(&five, "\x82\x7e\x01\x00", "", FAULT_TOO_LARGE, 3);
	FAULT(&five, "\x82\x7f\0\0\0\1\0\0\0\0", "", FAULT_TOO_LARGE, 9);
	FAULT(&five, "\x02\x01x\x00\x7f\x7f\xff\xff\xff\xff\xff\xff\xff", "b(x)", FAULT_TOO_LARGE,
	      12);
	CHECK(&none, "\x81\x00\x02\x00\x80\x00", "T()@2 B()@6 ", false);
	FAULT(&none, "\x81\x01x", "", FAULT_TOO_LARGE, 1);
	CHECK(&masked, "\x82\x83\0\0\0\0abc", "B(abc)@9 ", false);
	FAULT(&masked, "\x82\x84\0\0\0\0abcd", "", FAULT_TOO_LARGE, 1);
	CHECK(&all, "\x82\x7f\x7f\xff\xff\xff\xff\xff\xff\xffx", "b(x)", true);
	FAULT(&all, "\x02\x01x\x00\x7f\xff\xff\xff\xff\xff\xff\xff\xff", "b(x)", FAULT_PROTOCOL, 5);
}

/* Whatever length was announced, memory is that of the frame. */
static void memory_is_the_same_for_every_length(void **state)
{
	const struct frame_ws_config config = {.client = true, .max_message = UINT64_MAX};
	static const uint8_t data[] = "\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xff\1\2\3\4abc";
	struct frame_ws *frame = NULL;
	struct piece piece;
	size_t memory;

	(void)state;
	assert_int_equal(frame_ws_new(&config, &frame), 0);
	memory = frame_ws_memory(frame);
	assert_in_range(memory, 16 << 10, 20 << 10);
	allocation_fail_at(0);
	assert_int_equal(frame_ws_next(frame, data, sizeof(data) - 1, &piece), FAULT_NONE);
	assert_false(allocation_failed());
	assert_int_equal(piece.kind, PIECE_DATA);
	assert_int_equal(piece.len, 3);
	assert_int_equal(frame_ws_memory(frame), memory);
	frame_ws_free(frame);
	frame_ws_free(NULL);
}

/* Where nothing is masked the payload is handed on where it stands, in one piece. */
static void a_payload_is_not_copied(void **state)
{
	const struct frame_ws_config config = {.max_message = 1 << 20};
	const size_t len = 1 << 20;
	struct coded_bytes bytes = {.data = NULL};
	uint8_t *payload = malloc(len);
	struct frame_ws *frame = NULL;
	struct piece piece;

	(void)state;
	assert_non_null(payload);
	memset(payload, 'z', len);
	ws_frame_add(&bytes, false, WS_FIN | WS_TEXT, payload, len);
	assert_int_equal(frame_ws_new(&config, &frame), 0);
	assert_int_equal(frame_ws_next(frame, bytes.data, bytes.len, &piece), FAULT_NONE);
	assert_int_equal(piece.kind, PIECE_DATA);
	assert_ptr_equal(piece.data, bytes.data + 10);
	assert_int_equal(piece.len, len);
	assert_int_equal(piece.used, bytes.len - 1);
	assert_int_equal(frame_ws_next(frame, bytes.data + piece.used, 1, &piece), FAULT_NONE);
	assert_int_equal(piece.kind, PIECE_MESSAGE);
	assert_int_equal(piece.used, 1);
	frame_ws_free(frame);
	coded_bytes_done(&bytes);
	free(payload);
}

/* Every length and phase, against one byte at a time. */
static void unmasking_in_every_phase(void **state)
{
	static const uint8_t key[] = {0x01, 0x20, 0xfe, 0x7f};

	(void)state;
	for (size_t len = 0; len < 100; len++) {
		for (unsigned int at = 0; at < 4; at++) {
			uint8_t *data = malloc(len + 1), *plain = malloc(len + 1);

			assert_non_null(data);
			assert_non_null(plain);
			for (size_t i = 0; i < len; i++)
				data[i] = (uint8_t)(i * 37 + len);
			plain[len] = 0xa5;
			frame_ws_unmask(key, at, data, len, plain);
			for (size_t i = 0; i < len; i++)
				assert_int_equal(plain[i], data[i] ^ key[(at + i) % 4]);
			assert_int_equal(plain[len], 0xa5);
			free(data);
			free(plain);
		}
	}
}

static void no_memory_is_an_error(void **state)
{
	const struct frame_ws_config config = {.client = true, .permessage_deflate = true};
	struct frame_ws *frame = NULL;
	unsigned long n;

	(void)state;
	for (n = 0;; n++) {
		int r;

		allocation_fail_at(n);
		r = frame_ws_new(&config, &frame);
		if (!allocation_failed()) {
			assert_int_equal(r, 0);
			break;
		}
		assert_int_equal(r, -ENOMEM);
		assert_null(frame);
	}
	assert_int_equal(n, 2);
	frame_ws_free(frame);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_payload_at_the_limit_and_past_it),
		cmocka_unit_test(memory_is_the_same_for_every_length),
		cmocka_unit_test(a_payload_is_not_copied),
		cmocka_unit_test(unmasking_in_every_phase),
		cmocka_unit_test(no_memory_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
