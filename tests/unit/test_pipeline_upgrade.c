/* SPDX-License-Identifier: Apache-2.0 */
/* What a 101 agrees on, or does not, and with which extension; in every cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/macros.h"
#include "unit/ws_script.h"

static const struct duplex_config raw = {
	.framing = FRAMING_HTTP1,
	.extract = {.kind = EXTRACT_RAW, .join_unit = true},
	.terms = {"bomb"},
};

/* What a client says before it has its answer may be anything to its server. */
static void nothing_comes_before_the_answer(void **state)
{
	static const char *const early[] = {"\x81\x80mask", "\r\n", "\n", "\x89"};
	struct ws_script script;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(early); i++) {
		script = (struct ws_script){.place = REFUSAL_MESSAGE};
		ws_step_bytes(&script, CLIENT, WS_ASKS "\r\n");
		ws_step_bytes(&script, CLIENT, early[i]);
		ws_fails(&script, FAULT_PROTOCOL);
		ws_script_run(&raw, &script, "x");
	}
	/* Nor does the answer before the question is whole. */
	script = (struct ws_script){.place = REFUSAL_MESSAGE};
	ws_step_bytes(&script, CLIENT, WS_ASKS "Content-Length: 4\r\n\r\nno");
	ws_held(&script);
	ws_step_bytes(&script, SERVER, WS_AGREES "\r\n");
	ws_fails(&script, FAULT_PROTOCOL);
	ws_script_run(&raw, &script, "f");
}

static void what_is_not_agreed_on_does_not_begin(void **state)
{
	static const struct {
		const char *asks, *agrees;
		enum fault fault;
	} answers[] = {
		{"GET / HTTP/1.1\r\nHost: a\r\n\r\n", WS_AGREES "\r\n", FAULT_PROTOCOL},
		{WS_ASKS "\r\n", "HTTP/1.1 101 X\r\nUpgrade: websocket\r\n\r\n", FAULT_PROTOCOL},
		{WS_ASKS "\r\n", "HTTP/1.1 101 X\r\nConnection: Upgrade\r\n\r\n", FAULT_PROTOCOL},
		{WS_ASKS "\r\n", WS_AGREES "Upgrade: h2c\r\n\r\n", FAULT_UNFRAMED},
		{WS_ASKS "\r\n",
		 "HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: tls/1.3\r\n\r\n",
		 FAULT_UNFRAMED},
		{WS_ASKS WS_DEFLATE "\r\n\r\n",
		 WS_AGREES "Sec-WebSocket-Extensions: x-thing\r\n\r\n", FAULT_UNFRAMED},
		{WS_ASKS WS_DEFLATE "\r\n\r\n", WS_AGREES WS_DEFLATE "; x\r\n\r\n", FAULT_UNFRAMED},
		{WS_ASKS WS_DEFLATE "\r\n\r\n", WS_AGREES WS_DEFLATE ", permessage-deflate\r\n\r\n",
		 FAULT_UNFRAMED},
		/* Nobody offered it. */
		{WS_ASKS "\r\n", WS_AGREES WS_DEFLATE "\r\n\r\n", FAULT_UNFRAMED},
		{"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
		 WS_AGREES "\r\n", FAULT_UNFRAMED},
	};
	struct ws_script script;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		script = (struct ws_script){.place = REFUSAL_MESSAGE};
		ws_step_bytes(&script, CLIENT, answers[i].asks);
		ws_step_bytes(&script, SERVER, answers[i].agrees);
		ws_fails(&script, answers[i].fault);
		ws_script_run(&raw, &script, "f");
	}
	/* A head that is denied agrees on nothing. */
	script = (struct ws_script){.place = REFUSAL_MESSAGE};
	ws_step_bytes(&script, CLIENT, WS_ASKS "\r\n");
	ws_step_bytes(&script, SERVER, WS_AGREES "X: bomb\r\n\r\n");
	ws_fails(&script, FAULT_BLOCKED);
	ws_script_run(&raw, &script, "d");
}

static void http_may_stay(void **state)
{
	struct ws_script script = {.place = REFUSAL_MESSAGE};

	(void)state;
	ws_step_bytes(&script, CLIENT, WS_ASKS "\r\n");
	ws_step_bytes(&script, SERVER, "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno");
	ws_step_bytes(&script, CLIENT, WS_ASKS "\r\n");
	script.place = REFUSAL_WEBSOCKET;
	ws_step_bytes(&script, SERVER, WS_AGREES "\r\n");
	ws_step_frame(&script, CLIENT, WS_FIN | WS_TEXT, "hello");
	ws_step_close(&script);
	ws_script_run(&raw, &script, "cc");
}

static void new_stream(z_stream *stream)
{
	*stream = (z_stream){0};
	assert_int_equal(deflateInit2(stream, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY), Z_OK);
}

static void coded_messages_are_read_decoded(void **state)
{
	struct ws_script script;
	z_stream streams[_SESSION_TRACK_MAX];

	(void)state;
	ws_script_begin(&script, WS_ASKS WS_DEFLATE "; client_max_window_bits\r\n\r\n",
			WS_AGREES WS_DEFLATE "\r\n\r\n");
	for (int track = 0; track < _SESSION_TRACK_MAX; track++) {
		new_stream(&streams[track]);
		for (int i = 0; i < 2; i++) {
			ws_step(&script, (enum session_track)track);
			ws_more_coded(&script, &streams[track], "the same once more");
		}
	}
	ws_step(&script, SERVER);
	ws_more_frame(&script, WS_FIN | WS_TEXT, "not coded", 9);
	ws_step(&script, SERVER);
	ws_more_coded(&script, &streams[SERVER], "the same bo");
	ws_more_coded(&script, &streams[SERVER], "once more a bomb");
	ws_fails(&script, FAULT_BLOCKED);
	/* The first of the two leaves. */
	script.steps[script.count - 1].released += 2 + script.bytes[script.count - 1].data[1];
	ws_script_run(&raw, &script, "d");
	for (int track = 0; track < _SESSION_TRACK_MAX; track++)
		(void)deflateEnd(&streams[track]);
}

/* With its own window each direction forgets, or does not. */
static void each_direction_keeps_its_window_or_not(void **state)
{
	static const char *const parameters[] = {
		"; client_no_context_takeover\r\n\r\n",
		"; server_no_context_takeover; client_max_window_bits=15\r\n\r\n",
	};
	struct ws_script script;
	z_stream stream;

	(void)state;
	for (int alone = 0; alone < _SESSION_TRACK_MAX; alone++) {
		for (int track = 0; track < _SESSION_TRACK_MAX; track++) {
			char agrees[256] = WS_AGREES WS_DEFLATE;

			ws_script_begin(&script, WS_ASKS WS_DEFLATE "\r\n\r\n",
					strcat(agrees, parameters[alone]));
			new_stream(&stream);
			ws_step(&script, (enum session_track)track);
			ws_more_coded(&script, &stream, "abcabcabcabcabcabc");
			ws_step(&script, (enum session_track)track);
			ws_more_coded(&script, &stream, "abcabcabcabcabcabc");
			if (track == alone)
				ws_fails(&script, FAULT_BAD_ENCODING);
			ws_script_run(&raw, &script, track == alone ? "f" : "x");
			(void)deflateEnd(&stream);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_comes_before_the_answer),
		cmocka_unit_test(what_is_not_agreed_on_does_not_begin),
		cmocka_unit_test(http_may_stay),
		cmocka_unit_test(coded_messages_are_read_decoded),
		cmocka_unit_test(each_direction_keeps_its_window_or_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
