/* SPDX-License-Identifier: Apache-2.0 */
/* Refusals, read back as a client would: its chunks, its events or lines, their JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "core/refusal.h"
#include "unit/allocation.h"

#define LEFT_MAX 600u

static const char reason[] = "blocked";

/* NUL-terminated, for the sake of the readers below. */
static char *refuse(const struct refusal_mark *mark, bool head_request, const char *why,
		    const char *task, size_t *ret_len)
{
	uint8_t *bytes = NULL;
	char *text;

	assert_int_equal(refusal_new(mark, head_request, why, task, &bytes, ret_len), 0);
	assert_true(*ret_len <= REFUSAL_MAX);
	text = malloc(*ret_len + 1);
	assert_non_null(text);
	memcpy(text, bytes, *ret_len);
	text[*ret_len] = '\0';
	free(bytes);
	return text;
}

static void check_refused(const struct refusal_mark *mark, const char *why, const char *task,
			  int err)
{
	uint8_t *bytes = NULL;
	size_t len = 77;

	assert_int_equal(refusal_new(mark, false, why, task, &bytes, &len), err);
	assert_null(bytes);
	assert_int_equal(len, 77);
}

/* --- Readers --------------------------------------------------------------------------------- */

/* Appends what the chunks hold. They are whole, and none is the last one. */
static void read_chunks(const char *text, size_t len, char *ret_body, size_t *ret_len)
{
	const char *end = text + len;

	while (text < end) {
		char *after;
		size_t size;

		assert_true((*text >= '0' && *text <= '9') || (*text >= 'a' && *text <= 'f'));
		size = strtoul(text, &after, 16);
		assert_true(size > 0);
		assert_memory_equal(after, "\r\n", 2);
		text = after + 2;
		assert_true((size_t)(end - text) >= size + 2);
		memcpy(ret_body + *ret_len, text, size);
		*ret_len += size;
		text += size;
		assert_memory_equal(text, "\r\n", 2);
		text += 2;
	}
	ret_body[*ret_len] = '\0';
}

struct events {
	size_t count;
	char type[4][16], data[4][2048];
};

/* Of a stream whose lines end in LF, and none of whose events has two lines of data. */
static void read_events(const char *body, struct events *ret_events)
{
	struct events *events = ret_events;
	char type[16] = "", data[2048] = "";
	bool has_data = false;

	memset(events, 0, sizeof(*events));
	while (*body) {
		size_t len = strcspn(body, "\n");

		assert_int_equal(body[len], '\n');
		if (!len && has_data) {
			assert_true(events->count < ARRAY_SIZE(events->type));
			memcpy(events->type[events->count], type, sizeof(type));
			memcpy(events->data[events->count++], data, sizeof(data));
		}
		if (!len) {
			type[0] = '\0';
			has_data = false;
		} else if (!strncmp(body, "data: ", 6)) {
			assert_false(has_data);
			has_data = true;
			assert_true(len - 6 < sizeof(data));
			memcpy(data, body + 6, len - 6);
			data[len - 6] = '\0';
		} else if (!strncmp(body, "event: ", 7)) {
			assert_true(len - 7 < sizeof(type));
			memcpy(type, body + 7, len - 7);
			type[len - 7] = '\0';
		} else {
			assert_int_equal(body[0], ':');
		}
		body += len + 1;
	}
	/* Nothing is under way at the end. */
	assert_false(has_data);
	assert_string_equal(type, "");
}

static json_t *read_json(const char *text, size_t len)
{
	json_error_t error;
	json_t *json = json_loadb(text, len, JSON_REJECT_DUPLICATES, &error);

	assert_non_null(json);
	return json;
}

static void check_string(const json_t *object, const char *name, const char *value)
{
	const json_t *member = json_object_get(object, name);

	if (!value) {
		assert_null(member);
		return;
	}
	assert_true(json_is_string(member));
	assert_string_equal(json_string_value(member), value);
}

static void check_sentence(const json_t *sentence, const char *why, const char *task)
{
	assert_true(json_is_string(sentence));
	assert_non_null(strstr(json_string_value(sentence), why));
	if (task)
		assert_non_null(strstr(json_string_value(sentence), task));
	assert_null(strstr(json_string_value(sentence), "(null)"));
}

/* --- What they have to find ------------------------------------------------------------------ */

static const char *const before[] = {
	[REFUSAL_FORM_SSE] = "data: {\"n\":1}\n\n", [REFUSAL_FORM_LINES] = "{\"n\":1}\n"};

static void check_events(const char *body, const char *why, const char *task)
{
	struct events events;
	json_t *json, *error;

	read_events(body, &events);
	assert_int_equal(events.count, 2);
	assert_string_equal(events.type[0], "");
	assert_string_equal(events.data[0], "{\"n\":1}");
	assert_string_equal(events.type[1], "error");
	json = read_json(events.data[1], strlen(events.data[1]));
	assert_int_equal(json_object_size(json), 1);
	error = json_object_get(json, "error");
	assert_int_equal(json_object_size(error), task ? 4 : 3);
	check_sentence(json_object_get(error, "message"), why, task);
	check_string(error, "type", "policy_denied");
	check_string(error, "code", why);
	check_string(error, "task", task);
	json_decref(json);
}

/* A reader that takes every line for JSON finds the error before what is none. */
static void check_lines(const char *body, const char *why, const char *task)
{
	size_t len = strlen(before[REFUSAL_FORM_LINES]);
	json_t *json;

	assert_memory_equal(body, before[REFUSAL_FORM_LINES], len);
	body += len;
	len = strcspn(body, "\n");
	assert_int_equal(body[len], '\n');
	json = read_json(body, len);
	assert_int_equal(json_object_size(json), 1);
	check_sentence(json_object_get(json, "error"), why, task);
	json_decref(json);
	body += len + 1;
	if (!*body)
		return;
	assert_int_equal(body[strlen(body) - 1], '\n');
	assert_int_equal(strspn(body, " \n"), strlen(body));
}

/* body: from `before` on. */
static void check_body(const char *body, enum refusal_form form, const char *why, const char *task)
{
	if (form == REFUSAL_FORM_SSE)
		check_events(body, why, task);
	else
		check_lines(body, why, task);
	assert_null(strstr(body, "[DONE]"));
}

static size_t event_len(enum refusal_form form, const char *task)
{
	const struct refusal_mark mark = {.place = REFUSAL_PLAIN, .form = (uint8_t)form};
	size_t len;

	free(refuse(&mark, false, reason, task, &len));
	return len;
}

/* A chunk that is told to hold `before` and what is left, and then the refusal. */
static void check_chunk(enum refusal_form form, uint64_t left, const char *task)
{
	const struct refusal_mark mark = {
		.place = REFUSAL_CHUNK, .form = (uint8_t)form, .left = left};
	char stream[4096], body[4096];
	size_t len, at, body_len = 0, event = event_len(form, task);
	char *text = refuse(&mark, false, reason, task, &len);

	at = (size_t)sprintf(stream, "%" PRIx64 "\r\n%s", strlen(before[form]) + left,
			     before[form]);
	assert_true(at + len < sizeof(stream));
	memcpy(stream + at, text, len);
	read_chunks(stream, at + len, body, &body_len);
	check_body(body, form, reason, task);
	/* Only where the event does not fit there is a chunk of its own. */
	assert_int_equal(body_len, strlen(before[form]) + left + (left < event ? event : 0));
	if (left >= event)
		assert_int_equal(len, left + 2);
	free(text);
}

static void check_chunks(enum refusal_form form, const char *task)
{
	const struct refusal_mark mark = {.place = REFUSAL_CHUNKS, .form = (uint8_t)form};
	char stream[4096], body[4096];
	size_t len, at, body_len = 0;
	char *text = refuse(&mark, false, reason, task, &len);

	at = (size_t)sprintf(stream, "%zx\r\n%s\r\n", strlen(before[form]), before[form]);
	memcpy(stream + at, text, len);
	read_chunks(stream, at + len, body, &body_len);
	check_body(body, form, reason, task);
	free(text);
}

static void check_unchunked(const struct refusal_mark *mark, const char *task)
{
	char body[4096];
	size_t len;
	char *text = refuse(mark, false, reason, task, &len);

	if (mark->place == REFUSAL_LENGTH)
		assert_int_equal(len, mark->left);
	snprintf(body, sizeof(body), "%s%s", before[mark->form], text);
	check_body(body, (enum refusal_form)mark->form, reason, task);
	free(text);
}

/* --- Tests ----------------------------------------------------------------------------------- */

static void within_a_body_at_every_place(void **state)
{
	static const char *const tasks[] = {NULL, "secrets", "a task with \"quotes\" and a \\"};

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_SIZE(tasks); i++) {
		const char *task = tasks[i / 2];
		enum refusal_form form = i % 2 ? REFUSAL_FORM_LINES : REFUSAL_FORM_SSE;
		struct refusal_mark mark = {.place = REFUSAL_PLAIN, .form = (uint8_t)form};
		size_t event = event_len(form, task);

		assert_in_range(event, 40, LEFT_MAX - 100);
		check_unchunked(&mark, task);
		check_chunks(form, task);
		for (mark.left = 0; mark.left <= LEFT_MAX; mark.left++) {
			check_chunk(form, mark.left, task);
			mark.place = REFUSAL_LENGTH;
			if (mark.left >= event)
				check_unchunked(&mark, task);
			else
				check_refused(&mark, reason, task, -ENOENT);
		}
	}
}

static void the_bytes_themselves(void **state)
{
	static const char event[] =
		"event: error\ndata: {\"error\":{\"message\":\"Refused by the policy's task keys, "
		"reason "
		"blocked.\",\"type\":\"policy_denied\",\"code\":\"blocked\",\"task\":\"keys\"}}"
		"\n\n";
	static const char *const fillers[] = {"", "\n", ":\n", ": \n", ":  \n"};
	struct refusal_mark mark = {.place = REFUSAL_PLAIN, .form = REFUSAL_FORM_SSE};
	char expected[512];
	size_t len;
	char *text = refuse(&mark, false, reason, "keys", &len);

	(void)state;
	assert_string_equal(text, event);
	free(text);
	mark.place = REFUSAL_CHUNK;
	for (mark.left = 0; mark.left < ARRAY_SIZE(fillers); mark.left++) {
		snprintf(expected, sizeof(expected), "%s\r\n%zx\r\n%s\r\n", fillers[mark.left],
			 strlen(event), event);
		text = refuse(&mark, false, reason, "keys", &len);
		assert_string_equal(text, expected);
		free(text);
	}
	for (size_t i = 0; i < ARRAY_SIZE(fillers); i++) {
		mark.left = strlen(event) + i;
		snprintf(expected, sizeof(expected), "%s%s\r\n", event, fillers[i]);
		text = refuse(&mark, false, reason, "keys", &len);
		assert_string_equal(text, expected);
		free(text);
	}
	mark = (struct refusal_mark){.place = REFUSAL_PLAIN, .form = REFUSAL_FORM_LINES};
	text = refuse(&mark, false, "hold_timeout", NULL, &len);
	assert_string_equal(text, "{\"error\":\"Refused by the policy, reason hold_timeout.\"}\n");
	free(text);
}

/* Checks the head, and returns what follows it. */
static const char *check_head(const char *text, size_t *ret_body_len)
{
	static const char head[] = "HTTP/1.1 403 Forbidden\r\n"
				   "Content-Type: application/problem+json\r\n"
				   "Content-Length: ";
	char *after;

	assert_memory_equal(text, head, sizeof(head) - 1);
	*ret_body_len = strtoul(text + sizeof(head) - 1, &after, 10);
	assert_memory_equal(after, "\r\nConnection: close\r\nCache-Control: no-store\r\n\r\n", 48);
	return after + 48;
}

static void between_messages(void **state)
{
	static const char *const tasks[] = {NULL, "secrets", "quote\" backslash\\ \t\x7f \xc3\xa9"};
	const struct refusal_mark mark = {.place = REFUSAL_MESSAGE, .form = 99, .left = 1};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(tasks); i++) {
		size_t len, head_only_len, body_len, head_body_len;
		char *text = refuse(&mark, false, "host_error:timeout", tasks[i], &len);
		char *head = refuse(&mark, true, "host_error:timeout", tasks[i], &head_only_len);
		const char *body = check_head(text, &body_len);
		json_t *json, *error;

		assert_int_equal(body_len, len - (size_t)(body - text));
		json = read_json(body, body_len);
		assert_int_equal(json_object_size(json), tasks[i] ? 7 : 6);
		check_string(json, "type", "about:blank");
		check_string(json, "title", "Blocked by policy");
		assert_int_equal(json_integer_value(json_object_get(json, "status")), 403);
		check_sentence(json_object_get(json, "detail"), "host_error:timeout", tasks[i]);
		check_string(json, "task", tasks[i]);
		check_string(json, "reason", "host_error:timeout");
		error = json_object_get(json, "error");
		assert_int_equal(json_object_size(error), 3);
		check_sentence(json_object_get(error, "message"), "host_error:timeout", tasks[i]);
		check_string(error, "type", "policy_denied");
		check_string(error, "code", "host_error:timeout");
		json_decref(json);
		/* To HEAD the same head. */
		assert_int_equal(*check_head(head, &head_body_len), '\0');
		assert_int_equal(head_body_len, body_len);
		assert_int_equal(head_only_len, len - body_len);
		assert_memory_equal(head, text, head_only_len);
		free(text);
		free(head);
	}
}

/* Bytes that would end a line, or a string, of what is sent stay within the string. */
static void a_task_is_escaped(void **state)
{
	const struct refusal_mark mark = {.place = REFUSAL_PLAIN, .form = REFUSAL_FORM_SSE};
	char task[2] = "", body[4096];

	(void)state;
	for (unsigned int c = 1; c < 0x80; c++) {
		size_t len;
		char *text;

		task[0] = (char)c;
		text = refuse(&mark, false, reason, task, &len);
		snprintf(body, sizeof(body), "%s%s", before[REFUSAL_FORM_SSE], text);
		check_events(body, reason, task);
		free(text);
	}
}

static void what_is_no_reason_or_task(void **state)
{
	static const struct refusal_mark marks[] = {
		{.place = REFUSAL_PLAIN}, {.place = REFUSAL_MESSAGE}, {.place = REFUSAL_NONE}};
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_.:-";
	char text[258];
	size_t len;

	(void)state;
	for (unsigned int c = 1; c < 256; c++) {
		snprintf(text, sizeof(text), "a%c", (char)c);
		if (strchr(letters, (int)c))
			free(refuse(&marks[0], false, text, NULL, &len));
		else
			check_refused(&marks[0], text, NULL, -EINVAL);
	}
	for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
		check_refused(&marks[i], "", NULL, -EINVAL);
		check_refused(&marks[i], reason, "", -EINVAL);
		check_refused(&marks[i], reason, "\xff", -EINVAL);
		check_refused(&marks[i], reason, "a\xc3", -EINVAL);
	}
	for (size_t i = 0; i < 2; i++) {
		memset(text, 'r', 65);
		text[65] = '\0';
		check_refused(&marks[i], text, NULL, -EINVAL);
		text[64] = '\0';
		free(refuse(&marks[i], false, text, NULL, &len));
		/* The longest there is, every byte of it escaped. */
		memset(text, '\x01', 257);
		text[257] = '\0';
		check_refused(&marks[i], reason, text, -EINVAL);
		text[256] = '\0';
		free(refuse(&marks[i], false, reason, text, &len));
		assert_true(len > 2 * 6 * 256);
	}
}

static void where_nothing_can_be_said(void **state)
{
	struct refusal_mark mark = {.place = REFUSAL_NONE};
	size_t len;

	(void)state;
	check_refused(&mark, reason, NULL, -ENOENT);
	mark = (struct refusal_mark){.place = REFUSAL_JSONRPC + 1};
	check_refused(&mark, reason, NULL, -EINVAL);
	mark = (struct refusal_mark){.place = REFUSAL_PLAIN, .form = REFUSAL_FORM_LINES + 1};
	check_refused(&mark, reason, NULL, -EINVAL);
	for (int form = 0; form <= REFUSAL_FORM_LINES; form++) {
		mark = (struct refusal_mark){
			.place = REFUSAL_LENGTH, .form = (uint8_t)form, .left = REFUSAL_MAX};
		free(refuse(&mark, false, reason, NULL, &len));
		assert_int_equal(len, REFUSAL_MAX);
		mark.left++;
		check_refused(&mark, reason, NULL, -ENOENT);
		mark.left = UINT64_MAX;
		check_refused(&mark, reason, NULL, -ENOENT);
		mark.place = REFUSAL_CHUNK;
		check_refused(&mark, reason, NULL, -ENOENT);
		mark.left = REFUSAL_MAX - 1;
		check_refused(&mark, reason, NULL, -ENOENT);
		mark.left = REFUSAL_MAX - 2;
		free(refuse(&mark, false, reason, NULL, &len));
		assert_int_equal(len, REFUSAL_MAX);
	}
}

static void memory_may_fail(void **state)
{
	static const struct refusal_mark marks[] = {{.place = REFUSAL_PLAIN},
						    {.place = REFUSAL_MESSAGE}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
		allocation_fail_at(0);
		check_refused(&marks[i], reason, "keys", -ENOMEM);
		assert_true(allocation_failed());
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(within_a_body_at_every_place),
		cmocka_unit_test(the_bytes_themselves),
		cmocka_unit_test(between_messages),
		cmocka_unit_test(a_task_is_escaped),
		cmocka_unit_test(what_is_no_reason_or_task),
		cmocka_unit_test(where_nothing_can_be_said),
		cmocka_unit_test(memory_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
