/* SPDX-License-Identifier: Apache-2.0 */
/* How long heads, trailers and extensions may be, and what is kept of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "unit/http1_pieces.h"

#define CHUNKED "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
#define BODY	(1u << 20)

/* before, unit as often as there is room, middle, 'x' to the exact size, behind */
struct shape {
	const char *before, *unit, *middle, *behind;
	size_t outside, beyond; /* bytes of before and behind that have limits of their own */
	bool response;
};

static const struct shape shapes[] = {
	{"GET /", "", "", " HTTP/1.1\r\nHost: a\r\n\r\n", 0, 0, false},
	{"", "\r\n", "GET /", " HTTP/1.0\r\n\r\n", 0, 0, false},
	{"GET / HTTP/1.0\r\nX:", "", "", "\r\n\r\n", 0, 0, false},
	{"GET / HTTP/1.0\r\n", "X: y\r\n", "Y:", "\r\n\r\n", 0, 0, false},
	{"HTTP/1.1 200 ", "", "", "\r\nContent-Length: 0\r\n\r\n", 0, 0, true},
	{"HTTP/1.1 204 No\r\n", "X:\r\n", "Y:", "\r\n\r\n", 0, 0, true},
	{CHUNKED "0\r\n", "", "X:", "\r\n\r\n", sizeof(CHUNKED "0\r\n") - 1, 0, false},
	{CHUNKED "0\r\n", "X: y\r\n", "Y:", "\r\n\r\n", sizeof(CHUNKED "0\r\n") - 1, 0, false},
	{CHUNKED "0;", "", "a", "\r\n\r\n", sizeof(CHUNKED) - 1, 2, false},
	{CHUNKED "0", ";x=\"y\"", ";a", "\r\n\r\n", sizeof(CHUNKED) - 1, 2, false},
};

static size_t put(char *data, const char *text)
{
	memcpy(data, text, strlen(text));
	return strlen(text);
}

/* So that what is limited has `size` bytes. */
static char *build(const struct shape *shape, size_t size, size_t *ret_len)
{
	size_t len = shape->outside + size + shape->beyond, at;
	size_t end = len - strlen(shape->behind), last = end - strlen(shape->middle);
	char *data = malloc(len);

	assert_non_null(data);
	at = put(data, shape->before);
	while (*shape->unit && at + strlen(shape->unit) <= last)
		at += put(data + at, shape->unit);
	at += put(data + at, shape->middle);
	memset(data + at, 'x', end - at);
	put(data + end, shape->behind);
	*ret_len = len;
	return data;
}

static void run(const struct shape *shape, size_t size, enum fault fault)
{
	const struct http1_pieces_config config = {.response = shape->response};
	struct http1_pieces whole, pieces;
	size_t len, *cuts;
	char *data = build(shape, size, &len);

	http1_pieces_run(&config, data, len, NULL, 0, &whole);
	if (whole.fault != fault)
		fail_msg("'%s' of %zu: %s", shape->before, size, fault_name(whole.fault));
	cuts = calloc(len, sizeof(*cuts));
	assert_non_null(cuts);
	for (size_t i = 0; i < len; i++)
		cuts[i] = i + 1;
	http1_pieces_run(&config, data, len, cuts, len, &pieces);
	http1_pieces_assert_same(&whole, &pieces);
	http1_pieces_done(&pieces);
	for (size_t cut = len - 8; cut < len; cut++) {
		http1_pieces_run(&config, data, len, &cut, 1, &pieces);
		http1_pieces_assert_same(&whole, &pieces);
		http1_pieces_done(&pieces);
	}
	http1_pieces_done(&whole);
	free(cuts);
	free(data);
}

static void at_the_limit_and_past_it(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(shapes); i++) {
		run(&shapes[i], HTTP1_HEAD_MAX, FAULT_NONE);
		run(&shapes[i], HTTP1_HEAD_MAX + 1, FAULT_TOO_LARGE);
	}
}

/* A line that never ends is not waited for. */
static void no_end_of_line(void **state)
{
	static const struct http1_pieces_config config = {.response = false};
	size_t len = HTTP1_HEAD_MAX + 1;
	char *data = malloc(len);

	(void)state;
	assert_non_null(data);
	memset(data, 'x', len);
	for (size_t size = len - 1; size <= len; size++) {
		enum fault expected = size < len ? FAULT_TRUNCATED : FAULT_TOO_LARGE;
		size_t cut = HTTP1_HEAD_MAX;
		struct http1_pieces pieces;

		for (size_t cuts = 0; cuts <= 1; cuts++) {
			http1_pieces_run(&config, data, size, &cut, size < len ? 0 : cuts, &pieces);
			assert_int_equal(pieces.fault, expected);
			http1_pieces_done(&pieces);
		}
	}
	free(data);
}

/* Each head has the limit for itself, and nothing but its start line is kept of it. */
static void every_head_anew(void **state)
{
	struct frame_http1 frame;
	size_t len;
	char *data = build(&shapes[3], HTTP1_HEAD_MAX, &len);

	(void)state;
	frame_http1_init(&frame, false);
	for (unsigned int i = 0; i < 3; i++) {
		size_t at = 0;

		while (at < len || frame_http1_due(&frame)) {
			/* One piece reaches into the middle of a line. */
			size_t part = at < len / 2 ? len / 2 - at : len - at;
			struct http1_piece piece;

			assert_int_equal(
				frame_http1_next(&frame, (const uint8_t *)data + at, part, &piece),
				FAULT_NONE);
			at += piece.used;
		}
		assert_true(frame_http1_between(&frame));
		assert_true(frame_http1_memory(&frame) <= 64);
	}
	frame_http1_done(&frame);
	free(data);
}

/* The bytes of a body are handed on as they lie there, as many as there are. */
static void long_bodies_in_one_piece(void **state)
{
	static const char *const heads[] = {
		"HTTP/1.1 200 OK\r\nContent-Length: 1048576\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n100000\r\n",
		"HTTP/1.1 200 OK\r\n\r\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		size_t head = strlen(heads[i]), at = 0;
		uint8_t *data = calloc(1, head + BODY);
		struct http1_piece piece = {0};
		struct frame_http1 frame;

		assert_non_null(data);
		memcpy(data, heads[i], head);
		frame_http1_init(&frame, true);
		for (; piece.kind != HTTP1_BODY; at += piece.used)
			assert_int_equal(
				frame_http1_next(&frame, data + at, head + BODY - at, &piece),
				FAULT_NONE);
		assert_int_equal(at, head + BODY);
		assert_ptr_equal(piece.data, data + head);
		assert_int_equal(piece.len, BODY);
		frame_http1_done(&frame);
		free(data);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(at_the_limit_and_past_it),
		cmocka_unit_test(no_end_of_line),
		cmocka_unit_test(every_head_anew),
		cmocka_unit_test(long_bodies_in_one_piece),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
