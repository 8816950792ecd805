/* SPDX-License-Identifier: Apache-2.0 */
/* WebSocket behind a 101: both flows in the exchange that agreed on it, in every cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/macros.h"
#include "unit/ws_script.h"

static const struct duplex_config raw = {
	.framing = FRAMING_HTTP1,
	.extract = {.kind = EXTRACT_RAW, .join_unit = true},
	.terms = {"bomb"},
};
static const struct duplex_config joined = {
	.framing = FRAMING_HTTP1,
	.extract = {.kind = EXTRACT_RAW},
	.terms = {"bomb"},
};
static const struct duplex_config automatic = {
	.framing = FRAMING_HTTP1,
	.extract = {.kind = EXTRACT_AUTO},
	.terms = {"bomb"},
};

static void messages_leave_one_by_one(void **state)
{
	struct ws_script script;

	(void)state;
	ws_script_begin_plain(&script);
	ws_step_frame(&script, CLIENT, WS_FIN | WS_TEXT, "hello");
	ws_step_frame(&script, SERVER, WS_FIN | WS_TEXT, "");
	ws_step_frame(&script, SERVER, WS_PING, "are you there");
	ws_more_frame(&script, WS_FIN | WS_TEXT, "w\xc3\xb6rld", 6);
	ws_step_frame(&script, CLIENT, WS_PONG, "are you there");
	ws_step_frame(&script, SERVER, WS_MORE | WS_TEXT, "one, ");
	ws_held(&script);
	ws_step_frame(&script, SERVER, WS_PONG, "");
	ws_more_frame(&script, WS_FIN, "two", 3);
	ws_step_close(&script);
	ws_script_run(&raw, &script, "c");
}

static void their_text_is_told(void **state)
{
	struct ws_script script;

	(void)state;
	ws_script_begin_plain(&script);
	ws_step_frame(&script, SERVER, WS_MORE | WS_TEXT, "on");
	ws_more_frame(&script, WS_PING, "p", 1);
	ws_more_frame(&script, WS_FIN, "e", 1);
	ws_step_frame(&script, SERVER, WS_FIN | WS_TEXT, "two");
	ws_step_close(&script);
	ws_script_run_text(&raw, &script, SERVER, "raw=one;meta=p;raw=two");
	/* A message that nothing is known of is read as JSON too, where it is that. */
	ws_script_begin_plain(&script);
	ws_step_frame(&script, CLIENT, WS_FIN | WS_TEXT, "{\"a\":\"\\u0061b\"}");
	ws_step_frame(&script, CLIENT, WS_FIN | WS_TEXT, "plain");
	ws_step_close(&script);
	ws_script_run_text(&automatic, &script, CLIENT, "a=ab");
}

static void a_ping_may_be_any_bytes(void **state)
{
	struct ws_script script;

	(void)state;
	ws_script_begin_plain(&script);
	ws_step(&script, SERVER);
	ws_more_frame(&script, WS_PING, "\1\xff\xc3 x\xe2\x82", 7);
	ws_step(&script, CLIENT);
	ws_more_frame(&script, WS_PONG, "\1\xff\xc3 x\xe2\x82", 7);
	ws_step_close(&script);
	ws_script_run_text(&raw, &script, SERVER,
			   "\xef\xbf\xbd\xef\xbf\xbd x\xef\xbf\xbd\xef\xbf\xbd");
}

static void whatever_says_it_is_denied(void **state)
{
	static const struct {
		uint8_t first;
		const char *payload;
	} says[] = {
		{WS_FIN | WS_TEXT, "a bomb"},
		{WS_PING, "a bomb"},
		{WS_PONG, "\xff\xff"
			  "bomb"},
		{WS_CLOSE, "\x03\xe8"
			   "bomb"},
	};
	struct ws_script script;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(says); i++) {
		for (int track = 0; track < _SESSION_TRACK_MAX; track++) {
			ws_script_begin_plain(&script);
			ws_step_frame(&script, (enum session_track)track, WS_FIN | WS_TEXT, "good");
			ws_step_frame(&script, (enum session_track)track, says[i].first,
				      says[i].payload);
			ws_fails(&script, FAULT_BLOCKED);
			ws_script_run(&raw, &script, "d");
		}
	}
}

static void a_term_lies_over_fragments(void **state)
{
	struct ws_script script;

	(void)state;
	for (int track = 0; track < _SESSION_TRACK_MAX; track++) {
		ws_script_begin_plain(&script);
		ws_step_frame(&script, (enum session_track)track, WS_MORE | WS_TEXT, "a bo");
		ws_held(&script);
		ws_step_frame(&script, (enum session_track)track, WS_PING, "p");
		ws_held(&script);
		ws_step_frame(&script, (enum session_track)track, WS_FIN, "mb");
		ws_fails(&script, FAULT_BLOCKED);
		ws_script_run(&raw, &script, "d");
	}
}

static void text_joins_as_the_policy_says(void **state)
{
	struct ws_script script;

	(void)state;
	ws_script_begin_plain(&script);
	ws_step_frame(&script, SERVER, WS_FIN | WS_TEXT, "a bo");
	ws_step_frame(&script, SERVER, WS_FIN | WS_TEXT, "mb");
	ws_step_close(&script);
	ws_script_run(&raw, &script, "c");
	ws_script_begin_plain(&script);
	ws_step_frame(&script, SERVER, WS_FIN | WS_TEXT, "a bo");
	ws_held(&script);
	ws_step_frame(&script, SERVER, WS_FIN | WS_TEXT, "mb");
	ws_fails(&script, FAULT_BLOCKED);
	ws_script_run(&joined, &script, "d");
	/* Behind a close no more can come, and nothing waits for it. */
	ws_script_begin_plain(&script);
	ws_step_frame(&script, SERVER, WS_FIN | WS_TEXT, "a bo");
	ws_held(&script);
	ws_step_frame(&script, CLIENT, WS_FIN | WS_TEXT, "bom");
	ws_held(&script);
	ws_step_close(&script);
	ws_script_run(&joined, &script, "c");
}

static void binary_messages_are_refused_or_released(void **state)
{
	struct duplex_config config = raw;
	struct ws_script script;

	(void)state;
	ws_script_begin_plain(&script);
	ws_step_frame(&script, CLIENT, WS_FIN | WS_BINARY, "a bomb");
	ws_fails(&script, FAULT_OPAQUE_BODY);
	ws_script_run(&config, &script, "f");
	config.release_opaque = true;
	ws_script_begin_plain(&script);
	ws_step(&script, SERVER);
	ws_more_frame(&script, WS_FIN | WS_BINARY,
		      "a \xff"
		      "bomb",
		      7);
	ws_step_frame(&script, SERVER, WS_FIN | WS_TEXT, "good");
	ws_more_frame(&script, WS_FIN | WS_BINARY, "", 0);
	ws_step_frame(&script, SERVER, WS_FIN | WS_TEXT, "a bomb");
	ws_fails(&script, FAULT_BLOCKED);
	ws_script_run(&config, &script, "d");
}

static void flows_end_between_messages(void **state)
{
	struct ws_script script;

	(void)state;
	/* Without a close, too. */
	ws_script_begin_plain(&script);
	ws_step_frame(&script, CLIENT, WS_FIN | WS_TEXT, "hello");
	ws_step_end(&script, CLIENT);
	ws_step_frame(&script, SERVER, WS_FIN | WS_TEXT, "hello");
	ws_step_end(&script, SERVER);
	ws_script_run(&raw, &script, "c");
	/* And before any. */
	ws_script_begin_plain(&script);
	ws_step_end(&script, CLIENT);
	ws_step_end(&script, SERVER);
	ws_script_run(&raw, &script, "c");
	ws_script_begin_plain(&script);
	ws_step_end(&script, SERVER);
	ws_step_end(&script, CLIENT);
	ws_script_run(&raw, &script, "c");
	/* What waits for more text does not any more. */
	ws_script_begin_plain(&script);
	ws_step_frame(&script, CLIENT, WS_FIN | WS_TEXT, "bo");
	ws_held(&script);
	ws_step_end(&script, CLIENT);
	ws_step_end(&script, SERVER);
	ws_script_run(&joined, &script, "c");
	/* A client that is done before the answer has no messages. */
	script = (struct ws_script){.place = REFUSAL_MESSAGE};
	ws_step_bytes(&script, CLIENT, WS_ASKS "\r\n")->end = true;
	script.place = REFUSAL_WEBSOCKET;
	ws_step_bytes(&script, SERVER, WS_AGREES "\r\n");
	ws_step_frame(&script, SERVER, WS_FIN | WS_TEXT, "hello");
	ws_step_end(&script, SERVER);
	ws_script_run(&raw, &script, "c");
}

static void a_message_that_does_not_end_is_truncated(void **state)
{
	static const char *const parts[] = {"\x01", "\x81\x05hel", "\x01\x02he", "\x88\x02\x03"};
	struct ws_script script;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		ws_script_begin_plain(&script);
		ws_step_frame(&script, SERVER, WS_FIN | WS_TEXT, "whole");
		ws_step_bytes(&script, SERVER, parts[i]);
		ws_held(&script);
		ws_step_end(&script, SERVER);
		ws_fails(&script, FAULT_TRUNCATED);
		ws_script_run(&raw, &script, "f");
	}
	/* The last frame of all stands within it. */
	ws_script_begin_plain(&script);
	ws_step_bytes(&script, SERVER, "\x01\x02he\x88");
	ws_more_bytes(&script, "", 1);
	ws_held(&script);
	ws_step_end(&script, SERVER);
	ws_fails(&script, FAULT_TRUNCATED);
	ws_script_run(&raw, &script, "f");
}

static void faults_of_frames_release_nothing_more(void **state)
{
	static const struct {
		enum session_track track;
		const char *bytes;
		enum fault fault;
	} bad[] = {
		{CLIENT, "\x81\x01x", FAULT_PROTOCOL}, /* not masked */
		{SERVER, "\x81\x81keyax", FAULT_PROTOCOL},
		{SERVER, "\x83\x01x", FAULT_PROTOCOL},
		{SERVER, "\xc1\x01x", FAULT_PROTOCOL}, /* deflate was not agreed on */
		{SERVER, "\x81\x02\xc3(", FAULT_BAD_UTF8},
		{SERVER, "\x88\x02\x03\xed", FAULT_PROTOCOL}, /* 1005 */
		{CLIENT, "\r\n", FAULT_PROTOCOL},
		{CLIENT, "GET / HTTP/1.1\r\n", FAULT_PROTOCOL},
		{SERVER, "HTTP/1.1 200 OK\r\n", FAULT_PROTOCOL},
	};
	struct ws_script script;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		ws_script_begin_plain(&script);
		ws_step_frame(&script, bad[i].track, WS_FIN | WS_TEXT, "whole");
		ws_step_bytes(&script, bad[i].track, bad[i].bytes);
		ws_fails(&script, bad[i].fault);
		ws_script_run(&raw, &script, "f");
	}
	/* Nothing follows a close. */
	ws_script_begin_plain(&script);
	script.place = REFUSAL_NONE;
	ws_step(&script, SERVER);
	ws_more_frame(&script, WS_CLOSE, "", 0);
	ws_step_frame(&script, SERVER, WS_PING, "x");
	ws_fails(&script, FAULT_PROTOCOL);
	ws_script_run(&raw, &script, "f");
}

static void without_tasks_messages_are_framed(void **state)
{
	const struct duplex_config config = {
		.framing = FRAMING_HTTP1,
		.extract = {.kind = EXTRACT_AUTO},
	};
	struct ws_script script;

	(void)state;
	ws_script_begin_plain(&script);
	ws_step_frame(&script, SERVER, WS_FIN | WS_BINARY, "a bomb");
	ws_step_frame(&script, SERVER, WS_MORE | WS_TEXT, "a ");
	ws_held(&script);
	ws_step_frame(&script, SERVER, WS_FIN, "bomb");
	ws_step_frame(&script, CLIENT, WS_PING, "bomb");
	ws_step_close(&script);
	ws_script_run(&config, &script, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_leave_one_by_one),
		cmocka_unit_test(their_text_is_told),
		cmocka_unit_test(a_ping_may_be_any_bytes),
		cmocka_unit_test(whatever_says_it_is_denied),
		cmocka_unit_test(a_term_lies_over_fragments),
		cmocka_unit_test(text_joins_as_the_policy_says),
		cmocka_unit_test(binary_messages_are_refused_or_released),
		cmocka_unit_test(flows_end_between_messages),
		cmocka_unit_test(a_message_that_does_not_end_is_truncated),
		cmocka_unit_test(faults_of_frames_release_nothing_more),
		cmocka_unit_test(without_tasks_messages_are_framed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
