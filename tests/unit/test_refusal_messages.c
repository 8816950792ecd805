/* SPDX-License-Identifier: Apache-2.0 */
/* Refusals between the messages of a WebSocket, and of JSON-RPC, read by their framings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "core/frame_jsonrpc.h"
#include "core/frame_ws.h"
#include "core/refusal.h"
#include "unit/allocation.h"

static const char reason[] = "term.secrets";

/* What the framing hands on of it: payload, or text that is none, NUL-terminated. */
struct message {
	char text[4096];
	size_t len;
};

static void take(struct message *message, const struct piece *piece)
{
	if (piece->kind != PIECE_DATA && piece->kind != PIECE_META)
		return;
	assert_true(message->len + piece->len < sizeof(message->text));
	memcpy(message->text + message->len, piece->data, piece->len);
	message->len += piece->len;
	message->text[message->len] = '\0';
}

/* A client reads one close frame of status 1008, and nothing behind it. */
static void read_close(const uint8_t *bytes, size_t len, struct message *ret_message)
{
	static const struct frame_ws_config server = {.max_message = 1 << 20};
	cleanup(frame_ws_freep) struct frame_ws *frame = NULL;

	*ret_message = (struct message){.len = 0};
	assert_true(len >= 4);
	assert_memory_equal(bytes + 2, "\x03\xf0", 2);
	assert_int_equal(frame_ws_new(&server, &frame), 0);
	for (size_t used = 0; used < len;) {
		struct piece piece;

		assert_int_equal(frame_ws_next(frame, bytes + used, len - used, &piece),
				 FAULT_NONE);
		take(ret_message, &piece);
		used += piece.used;
		assert_true(used < len || piece.kind == PIECE_UNIT);
	}
	assert_true(frame_ws_closed(frame));
	assert_false(frame_ws_partial(frame));
}

static void check_close(const char *why, const char *task, const char *text)
{
	const struct refusal_mark mark = {.place = REFUSAL_WEBSOCKET, .form = 99, .left = 99};
	struct message message;
	uint8_t *bytes;
	size_t len;

	assert_int_equal(refusal_new(&mark, false, why, task, &bytes, &len), 0);
	read_close(bytes, len, &message);
	assert_string_equal(message.text, text);
	free(bytes);
}

static void a_websocket_is_closed(void **state)
{
	char task[257], text[512], long_reason[65];

	(void)state;
	check_close(reason, NULL, "term.secrets");
	check_close(reason, "keys", "term.secrets, task keys");
	check_close(reason, "quote\" \xc3\xa9", "term.secrets, task quote\" \xc3\xa9");
	memset(long_reason, 'r', 64);
	long_reason[64] = '\0';
	check_close(long_reason, NULL, long_reason);
	/* A frame of control holds 125 bytes; what does not fit is left out whole. */
	for (size_t len = 1; len <= 256; len++) {
		memset(task, 't', len);
		task[len] = '\0';
		snprintf(text, sizeof(text), "%s, task %s", reason, task);
		check_close(reason, task, strlen(text) <= 123 ? text : reason);
	}
}

static void read_error(const uint8_t *bytes, size_t len, struct message *ret_message)
{
	struct frame_jsonrpc frame;

	*ret_message = (struct message){.len = 0};
	frame_jsonrpc_init(&frame, 1 << 20);
	for (size_t used = 0; used < len;) {
		struct piece piece;

		assert_int_equal(frame_jsonrpc_next(&frame, bytes + used, len - used, &piece),
				 FAULT_NONE);
		take(ret_message, &piece);
		used += piece.used;
		assert_true(used < len || piece.kind == PIECE_MESSAGE);
	}
	assert_false(frame_jsonrpc_partial(&frame));
	frame_jsonrpc_done(&frame);
}

static const char *string_of(const json_t *object, const char *name)
{
	return json_string_value(json_object_get(object, name));
}

static void check_error(const char *task)
{
	const struct refusal_mark mark = {.place = REFUSAL_JSONRPC, .form = 99, .left = 99};
	const json_t *error, *data;
	struct message message;
	uint8_t *bytes;
	json_t *json;
	size_t len;

	assert_int_equal(refusal_new(&mark, false, reason, task, &bytes, &len), 0);
	read_error(bytes, len, &message);
	json = json_loadb(message.text, message.len, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(json);
	assert_int_equal(json_object_size(json), 3);
	assert_string_equal(string_of(json, "jsonrpc"), "2.0");
	assert_true(json_is_null(json_object_get(json, "id")));
	error = json_object_get(json, "error");
	assert_int_equal(json_object_size(error), 3);
	assert_int_equal(json_integer_value(json_object_get(error, "code")), -32000);
	assert_non_null(strstr(string_of(error, "message"), reason));
	data = json_object_get(error, "data");
	assert_string_equal(string_of(data, "reason"), reason);
	assert_int_equal(json_object_size(data), task ? 2 : 1);
	if (task) {
		assert_string_equal(string_of(data, "task"), task);
		assert_non_null(strstr(string_of(error, "message"), task));
	}
	json_decref(json);
	free(bytes);
}

static void json_rpc_has_an_error(void **state)
{
	char task[257];

	(void)state;
	check_error(NULL);
	check_error("keys");
	check_error("quote\" backslash\\ \t\r\n\x7f \xc3\xa9");
	memset(task, '"', 256);
	task[256] = '\0';
	check_error(task);
}

static void what_is_no_reason_or_task_is_not_said(void **state)
{
	static const char *const tasks[] = {"", "\xff", "\xc3"};
	static const char *const reasons[] = {"", "Upper", "two words", "r\n"};

	(void)state;
	for (int place = REFUSAL_WEBSOCKET; place <= REFUSAL_JSONRPC; place++) {
		const struct refusal_mark mark = {.place = (uint8_t)place};
		uint8_t *bytes = NULL;
		size_t len;

		for (size_t i = 0; i < ARRAY_SIZE(tasks); i++)
			assert_int_equal(refusal_new(&mark, false, reason, tasks[i], &bytes, &len),
					 -EINVAL);
		for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
			assert_int_equal(refusal_new(&mark, false, reasons[i], NULL, &bytes, &len),
					 -EINVAL);
		allocation_fail_at(0);
		assert_int_equal(refusal_new(&mark, false, reason, "keys", &bytes, &len), -ENOMEM);
		assert_true(allocation_failed());
		assert_null(bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_websocket_is_closed),
		cmocka_unit_test(json_rpc_has_an_error),
		cmocka_unit_test(what_is_no_reason_or_task_is_not_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
