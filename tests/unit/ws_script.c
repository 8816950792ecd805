/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/ws_script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

struct duplex_step *ws_step(struct ws_script *script, enum session_track track)
{
	struct duplex_step *step = &script->steps[script->count];

	assert_true(script->count < WS_STEPS_MAX);
	script->count++;
	*step = (struct duplex_step){
		.track = track,
		.released = DUPLEX_ALL,
		.place = script->place,
	};
	return step;
}

void ws_more_bytes(struct ws_script *script, const void *data, size_t len)
{
	coded_bytes_add(&script->bytes[script->count - 1], data, len);
}

void ws_more_frame(struct ws_script *script, uint8_t first, const void *payload, size_t len)
{
	ws_frame_add(&script->bytes[script->count - 1],
		     script->steps[script->count - 1].track == CLIENT, first, payload, len);
}

void ws_more_coded(struct ws_script *script, z_stream *stream, const char *text)
{
	struct coded_bytes coded = {0};

	ws_deflate(stream, text, strlen(text), &coded);
	ws_more_frame(script, WS_FIN | WS_RSV1 | WS_TEXT, coded.data, coded.len);
	coded_bytes_done(&coded);
}

struct duplex_step *ws_step_bytes(struct ws_script *script, enum session_track track,
				  const char *bytes)
{
	struct duplex_step *step = ws_step(script, track);

	ws_more_bytes(script, bytes, strlen(bytes));
	return step;
}

struct duplex_step *ws_step_frame(struct ws_script *script, enum session_track track, uint8_t first,
				  const char *payload)
{
	struct duplex_step *step = ws_step(script, track);

	ws_more_frame(script, first, payload, strlen(payload));
	return step;
}

struct duplex_step *ws_step_end(struct ws_script *script, enum session_track track)
{
	struct duplex_step *step = ws_step(script, track);

	step->end = true;
	return step;
}

void ws_step_close(struct ws_script *script)
{
	script->place = REFUSAL_NONE;
	ws_step_frame(script, SERVER, WS_CLOSE, "\x03\xe8");
	ws_step_frame(script, CLIENT, WS_CLOSE, "\x03\xe8");
	ws_step_end(script, SERVER);
	ws_step_end(script, CLIENT);
}

void ws_script_begin(struct ws_script *ret_script, const char *asks, const char *agrees)
{
	*ret_script = (struct ws_script){.place = REFUSAL_MESSAGE};
	ws_step_bytes(ret_script, CLIENT, asks);
	ret_script->place = REFUSAL_WEBSOCKET;
	ws_step_bytes(ret_script, SERVER, agrees);
}

void ws_script_begin_plain(struct ws_script *ret_script)
{
	ws_script_begin(ret_script, WS_ASKS "\r\n", WS_AGREES "\r\n");
}

/* What the step before it in the same flow released. */
static uint64_t released_before(const struct ws_script *script)
{
	enum session_track track = script->steps[script->count - 1].track;
	uint64_t bytes = 0, released = 0;

	for (size_t i = 0; i + 1 < script->count; i++) {
		if (script->steps[i].track != track)
			continue;
		bytes += script->bytes[i].len;
		released =
			script->steps[i].released == DUPLEX_ALL ? bytes : script->steps[i].released;
	}
	return released;
}

void ws_held(struct ws_script *script)
{
	ws_fails(script, FAULT_NONE);
}

void ws_fails(struct ws_script *script, enum fault fault)
{
	struct duplex_step *step = &script->steps[script->count - 1];

	step->fault = fault;
	step->released = released_before(script);
}

static void finish(struct ws_script *script)
{
	for (size_t i = 0; i < script->count; i++) {
		script->steps[i].data = script->bytes[i].data;
		script->steps[i].len = script->bytes[i].len;
	}
}

void ws_script_forget(struct ws_script *script)
{
	for (size_t i = 0; i < script->count; i++)
		coded_bytes_done(&script->bytes[i]);
}

void ws_script_run(const struct duplex_config *config, struct ws_script *script, const char *ends)
{
	finish(script);
	duplex_run(config, script->steps, script->count, ends);
	ws_script_forget(script);
}

void ws_script_run_text(const struct duplex_config *config, struct ws_script *script,
			enum session_track track, const char *text)
{
	finish(script);
	duplex_run_text(config, script->steps, script->count, "c", track, text);
	ws_script_forget(script);
}
