/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WebSocket flows at random, whole and broken, against a reference that has the whole
 * flow before it, in many cuts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "unit/ws_reference.h"
#include "unit/ws_story.h"

#define ROUNDS	   4000u
#define FRAMES_MAX 8u

struct maker {
	struct frame_ws_config config;
	unsigned int seed;
	z_stream stream;
	struct coded_bytes flow;
};

static unsigned int below(struct maker *maker, unsigned int limit)
{
	maker->seed = maker->seed * 1664525u + 1013904223u;
	return (maker->seed >> 8) % limit;
}

static void make_payload(struct maker *maker, bool text, struct coded_bytes *payload)
{
	static const char *const texts[] = {
		"a",
		"Hello",
		"\xc3\xa9",
		"\xe2\x82\xac",
		"\xf0\x9f\x98\x80",
		"\xed\x9f\xbf",
		"\xee\x80\x80",
		"\xf4\x8f\xbf\xbf",
		"{\"role\":\"assistant\",\"content\":\"more than a few words\"}",
	};
	static const char *const ill[] = {"\xff",     "\xc0\x80", "\xed\xa0\x80", "\xf4\x90",
					  "\xe0\x9f", "\x80",	  "\xf0\x9f",	  "\xc3"};

	for (unsigned int parts = below(maker, 5); parts; parts--) {
		const char *part = texts[below(maker, ARRAY_SIZE(texts))];

		if (!below(maker, text ? 40 : 3))
			part = ill[below(maker, ARRAY_SIZE(ill))];
		coded_bytes_add(payload, part, strlen(part));
	}
	if (!below(maker, 12))
		coded_content(CODED_TEXT, payload->len + below(maker, 400), payload);
}

static void make_control(struct maker *maker)
{
	struct coded_bytes payload = {.data = NULL};
	static const unsigned int codes[] = {1000, 1001, 1011, 1012, 3000, 4999, 1005, 2999, 999};
	unsigned int kind = below(maker, 12);
	uint8_t first = kind == 0 ? WS_CLOSE : kind < 6 ? WS_PING : WS_PONG;

	if (first == WS_CLOSE && below(maker, 4)) {
		unsigned int code = codes[below(maker, below(maker, 5) ? 6 : ARRAY_SIZE(codes))];
		const uint8_t bytes[] = {(uint8_t)(code >> 8), (uint8_t)code};

		coded_bytes_add(&payload, bytes, sizeof(bytes));
	}
	if (first != WS_CLOSE || payload.len)
		make_payload(maker, first == WS_CLOSE, &payload);
	if (payload.len > 125 && below(maker, 10))
		payload.len = 125;
	ws_frame_add(&maker->flow, maker->config.client, first, payload.data, payload.len);
	coded_bytes_done(&payload);
}

/* Some of what a sender may do to the stream between two messages, or may not. */
static void deflate_message(struct maker *maker, struct coded_bytes *payload)
{
	struct coded_bytes coded = {.data = NULL};

	if (maker->config.no_context_takeover || !below(maker, 8))
		deflateReset(&maker->stream);
	if (!below(maker, 8))
		deflateParams(&maker->stream, (int)below(maker, 10), (int)below(maker, 5));
	if (!below(maker, 6)) {
		/* A stream of its own, and the octet behind it. */
		coded_pack_simply(CODED_RAW, payload->data, payload->len, &coded);
		if (below(maker, 6))
			coded_bytes_add(&coded, "", 1);
		deflateReset(&maker->stream);
	} else {
		ws_deflate(&maker->stream, payload->data, payload->len, &coded);
	}
	if (coded.len && !below(maker, 12))
		coded.data[below(maker, (unsigned int)coded.len)] ^=
			(uint8_t)(1u << below(maker, 8));
	if (coded.len && !below(maker, 40))
		coded.len = below(maker, (unsigned int)coded.len);
	coded_bytes_done(payload);
	*payload = coded;
}

static void make_message(struct maker *maker)
{
	bool coded = maker->config.permessage_deflate && below(maker, 4), text = below(maker, 3);
	unsigned int fragments = below(maker, 2) ? 1 : 1 + below(maker, 5);
	struct coded_bytes payload = {.data = NULL};
	size_t at = 0;

	make_payload(maker, text, &payload);
	if (coded)
		deflate_message(maker, &payload);
	for (unsigned int i = 0; i < fragments; i++) {
		size_t left = payload.len - at;
		size_t len = i + 1 == fragments ? left : below(maker, (unsigned int)left + 1);
		uint8_t first = i ? WS_MORE : text ? WS_TEXT : WS_BINARY;

		if (!i && coded)
			first |= WS_RSV1;
		if (i + 1 == fragments)
			first |= WS_FIN;
		ws_frame_add(&maker->flow, maker->config.client, first, payload.data + at, len);
		at += len;
		if (i + 1 < fragments && !below(maker, 5))
			make_control(maker);
	}
	coded_bytes_done(&payload);
}

static void make_flow(struct maker *maker)
{
	maker->config = (struct frame_ws_config){
		.client = below(maker, 2),
		.permessage_deflate = below(maker, 2),
		.no_context_takeover = below(maker, 2),
		.max_message = below(maker, 6) ? 1 << 20 : below(maker, 60),
	};
	deflateReset(&maker->stream);
	for (unsigned int frames = 1 + below(maker, FRAMES_MAX); frames; frames--) {
		if (below(maker, 4))
			make_message(maker);
		else
			make_control(maker);
	}
	/* Bytes that are not as they were sent: headers too. */
	if (!below(maker, 4))
		maker->flow.data[below(maker, (unsigned int)maker->flow.len)] ^=
			(uint8_t)(1u << below(maker, 8));
	if (!below(maker, 6))
		maker->flow.len = below(maker, (unsigned int)maker->flow.len + 1);
}

static void check_flow(struct maker *maker, unsigned int faults[_FAULT_MAX])
{
	struct ws_story expected, got;

	ws_reference(&maker->config, maker->flow.data, maker->flow.len, &expected);
	faults[expected.fault]++;
	for (unsigned int i = 0; i < 8; i++) {
		struct ws_cuts cuts = {1 + below(maker, 60), 1 + below(maker, 30), 0};

		if (i == 0)
			cuts = (struct ws_cuts){SIZE_MAX, 1, 0};
		else if (i == 1)
			cuts = (struct ws_cuts){1, 1, 0};
		else if (i < 5)
			cuts.jitter = 1 + below(maker, 1000);
		ws_run(&maker->config, maker->flow.data, maker->flow.len, &cuts, &got);
		ws_assert_same(&got, &expected);
		ws_story_done(&got);
	}
	ws_story_done(&expected);
}

static void random_flows(void **state)
{
	struct maker maker = {.seed = 20240711};
	unsigned int faults[_FAULT_MAX] = {0};

	(void)state;
	assert_int_equal(deflateInit2(&maker.stream, 6, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY),
			 Z_OK);
	for (unsigned int round = 0; round < ROUNDS; round++) {
		maker.flow.len = 0;
		make_flow(&maker);
		check_flow(&maker, faults);
	}
	deflateEnd(&maker.stream);
	coded_bytes_done(&maker.flow);
	/* All of them came up, and often. */
	assert_true(faults[FAULT_NONE] > ROUNDS / 4);
	assert_true(faults[FAULT_PROTOCOL] > ROUNDS / 50);
	assert_true(faults[FAULT_BAD_UTF8] > ROUNDS / 50);
	assert_true(faults[FAULT_BAD_ENCODING] > ROUNDS / 50);
	assert_true(faults[FAULT_TOO_LARGE] > ROUNDS / 50);
}

static void check_head(const struct frame_ws_config *config, const uint8_t *data, size_t len)
{
	const struct ws_cuts cuts[] = {{1, 1, 0}, {SIZE_MAX, 1, 0}, {0, 0, 1}};
	struct ws_story expected, got;

	ws_reference(config, data, len, &expected);
	for (size_t i = 0; i < ARRAY_SIZE(cuts); i++) {
		ws_run(config, data, len, &cuts[i], &got);
		ws_assert_same(&got, &expected);
		ws_story_done(&got);
	}
	ws_story_done(&expected);
}

/* All first bytes with many a length, for both roles, in and outside of a message. */
static void every_head(void **state)
{
	static const uint8_t lengths[] = {0, 1, 2, 3, 4, 5, 124, 125, 126, 127};
	static const uint8_t behind[] = {0, 0x7e, 0x03, 0xe8, 0xa9, 0, 0x80};

	(void)state;
	for (unsigned int i = 0; i < 8; i++) {
		const struct frame_ws_config config = {
			.client = i & 1, .permessage_deflate = i & 2, .max_message = 3};

		for (unsigned int head = 0; head < 512; head++) {
			for (size_t j = 0; j < ARRAY_SIZE(lengths); j++) {
				const uint8_t bytes[] = {(uint8_t)(head >> 1),
							 (uint8_t)((head & 1) << 7 | lengths[j])};
				struct coded_bytes flow = {.data = NULL};

				if (i & 4)
					ws_frame_add(&flow, config.client, WS_TEXT, "\xc3", 1);
				coded_bytes_add(&flow, bytes, sizeof(bytes));
				coded_bytes_add(&flow, behind, sizeof(behind));
				check_head(&config, flow.data, flow.len);
				coded_bytes_done(&flow);
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_flows),
		cmocka_unit_test(every_head),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
