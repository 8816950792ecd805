/* SPDX-License-Identifier: Apache-2.0 */
/* What a WebSocket may hold at most, and what it takes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/macros.h"
#include "core/pipeline_body.h"
#include "unit/allocation.h"
#include "unit/ws_script.h"

#define LIMIT 1000u

static const struct duplex_config raw = {
	.framing = FRAMING_HTTP1,
	.extract = {.kind = EXTRACT_RAW, .join_unit = true},
	.terms = {"bomb"},
};
static const struct duplex_config automatic = {
	.framing = FRAMING_HTTP1,
	.extract = {.kind = EXTRACT_AUTO},
	.terms = {"bomb"},
};

/* Bytes over and over, until the flow has a fault. */
static void feed_on(struct duplex *duplex, enum session_track track, const void *data, size_t len)
{
	enum fault fault = FAULT_NONE;

	for (size_t i = 0; i <= PIPELINE_FRAME_OVERHEAD && !fault; i++)
		fault = pipeline_feed(duplex->flows[track], data, len);
	assert_string_equal(fault_name(fault), fault_name(FAULT_TOO_LARGE));
	assert_int_equal(pipeline_received(duplex->flows[track]) -
				 pipeline_framed(duplex->flows[track]),
			 LIMIT + PIPELINE_FRAME_OVERHEAD);
	assert_in_range(pipeline_memory(duplex->flows[track]), 1, 128u << 10);
}

/* What holds nothing, and is of a unit that does not end. */
static void a_unit_has_a_limit_without_payload(void **state)
{
	static const uint8_t frame[] = {0x00, 0x80, 0, 0, 0, 0};
	/* A block of deflate that is empty, and not the last. */
	static const uint8_t block[] = {0x00, 0x00, 0x00, 0xff, 0xff};
	struct duplex_config config = raw;
	struct duplex_step steps[] = {
		{CLIENT, WS_ASKS WS_DEFLATE "\r\n\r\n", .released = DUPLEX_ALL},
		{SERVER, WS_AGREES WS_DEFLATE "\r\n\r\n", .released = DUPLEX_ALL},
		{CLIENT, "\x01\x80keys", .len = 6},
		{SERVER, "\x41\x7f\0\0\0\0\x10\0\0\0", .len = 10},
	};
	struct duplex duplex;

	(void)state;
	config.max_message = LIMIT;
	duplex_make(&config, &duplex);
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		if (!steps[i].len)
			steps[i].len = strlen(steps[i].data);
		if (steps[i].released != DUPLEX_ALL)
			steps[i].released = strlen(steps[i - 2].data);
		steps[i].place = i ? REFUSAL_WEBSOCKET : REFUSAL_MESSAGE;
		duplex_step(&duplex, &steps[i], 0);
	}
	feed_on(&duplex, CLIENT, frame, sizeof(frame));
	feed_on(&duplex, SERVER, block, sizeof(block));
	duplex_done(&duplex);
}

static void a_message_has_a_limit(void **state)
{
	static const struct {
		uint8_t first;
		size_t frames, len;
		enum fault fault;
	} messages[] = {
		{WS_FIN | WS_TEXT, 1, LIMIT, FAULT_NONE},
		{WS_FIN | WS_TEXT, 1, LIMIT + 1, FAULT_TOO_LARGE},
		{WS_MORE | WS_TEXT, 2, LIMIT / 2 + 1, FAULT_TOO_LARGE},
	};
	static const char text[LIMIT + 1];
	struct duplex_config config = raw;
	struct ws_script script;

	(void)state;
	config.max_message = LIMIT;
	for (size_t i = 0; i < ARRAY_SIZE(messages); i++) {
		ws_script_begin_plain(&script);
		ws_step(&script, SERVER);
		ws_more_frame(&script, messages[i].first, text, messages[i].len);
		if (messages[i].frames > 1)
			ws_more_frame(&script, WS_FIN, text, messages[i].len);
		if (messages[i].fault)
			ws_fails(&script, messages[i].fault);
		ws_script_run(&config, &script, messages[i].fault ? "f" : "x");
	}
}

/* Pings within a message are of its unit. */
static void so_much_may_be_no_payload(void **state)
{
	static const uint8_t open[] = {0x01, 0x00}, ping[127] = {WS_PING, 125};
	const size_t fit = BODY_META_MAX / 126;
	struct duplex_config config = raw;
	struct ws_script script;
	struct duplex duplex;

	(void)state;
	ws_script_begin_plain(&script);
	duplex_make(&config, &duplex);
	for (size_t i = 0; i < script.count; i++)
		assert_int_equal(
			pipeline_feed(duplex.flows[i], script.bytes[i].data, script.bytes[i].len),
			FAULT_NONE);
	assert_int_equal(pipeline_feed(duplex.flows[SERVER], open, sizeof(open)), FAULT_NONE);
	for (size_t i = 0; i <= fit; i++)
		assert_int_equal(pipeline_feed(duplex.flows[SERVER], ping, sizeof(ping)),
				 i < fit ? FAULT_NONE : FAULT_TOO_LARGE);
	duplex_done(&duplex);
	ws_script_forget(&script);
}

/* A client's frames are unmasked in 16 KiB; deflate has its window besides. */
static void check_idle(const char *asks, const char *agrees, size_t client, size_t server)
{
	struct ws_script script;
	struct duplex duplex;

	ws_script_begin(&script, asks, agrees);
	ws_step_frame(&script, CLIENT, WS_FIN | WS_TEXT, "hello");
	ws_step_frame(&script, SERVER, WS_FIN | WS_TEXT, "hello");
	duplex_make(&raw, &duplex);
	for (size_t i = 0; i < script.count; i++) {
		script.steps[i].data = script.bytes[i].data;
		script.steps[i].len = script.bytes[i].len;
		duplex_step(&duplex, &script.steps[i], 0);
	}
	assert_in_range(pipeline_memory(duplex.flows[CLIENT]), client / 2, client);
	assert_in_range(pipeline_memory(duplex.flows[SERVER]), server / 2, server);
	duplex_done(&duplex);
	ws_script_forget(&script);
}

static void an_idle_one_is_small(void **state)
{
	(void)state;
	check_idle(WS_ASKS "\r\n", WS_AGREES "\r\n", 24 << 10, 6 << 10);
	check_idle(WS_ASKS WS_DEFLATE "\r\n\r\n", WS_AGREES WS_DEFLATE "\r\n\r\n", 96 << 10,
		   80 << 10);
}

/* Each allocation in turn: what is not complete has failed, and nothing leaks. */
static void any_allocation_may_fail(void **state)
{
	struct duplex_config config = automatic;
	struct ws_script script;
	bool complete = false;

	(void)state;
	config.no_text = true;
	ws_script_begin(&script, WS_ASKS WS_DEFLATE "\r\n\r\n", WS_AGREES WS_DEFLATE "\r\n\r\n");
	ws_step_frame(&script, CLIENT, WS_FIN | WS_TEXT, "hello");
	ws_step_frame(&script, SERVER, WS_PING, "hello");
	for (unsigned long n = 0; !complete; n++) {
		enum fault fault = FAULT_NONE;
		struct duplex duplex;

		duplex_make(&config, &duplex);
		allocation_fail_at(n);
		for (size_t i = 0; i < script.count && !fault; i++)
			fault = pipeline_feed(duplex.flows[script.steps[i].track],
					      script.bytes[i].data, script.bytes[i].len);
		complete = !allocation_failed();
		assert_string_equal(fault_name(fault),
				    fault_name(complete ? FAULT_NONE : FAULT_NO_MEMORY));
		duplex_done(&duplex);
	}
	ws_script_forget(&script);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_unit_has_a_limit_without_payload),
		cmocka_unit_test(a_message_has_a_limit),
		cmocka_unit_test(so_much_may_be_no_payload),
		cmocka_unit_test(an_idle_one_is_small),
		cmocka_unit_test(any_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
