/* SPDX-License-Identifier: Apache-2.0 */
#include "core/refusal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/utf8.h"

#define REASON_MAX 64u
#define TASK_MAX   256u
/* Each byte of a task may become \u00XX. */
#define ESCAPED_SIZE  (6u * TASK_MAX + 1)
#define SENTENCE_SIZE (ESCAPED_SIZE + REASON_MAX + 64u)
/* The sentence twice, the task and the reason beside it, and words of this file's. */
#define TEXT_SIZE (3 * SENTENCE_SIZE + 512u)
#define HEAD_SIZE 256u

/* RFC 6455 7.4.1, and what is left of a control frame behind the status. */
#define WS_POLICY_VIOLATION 1008
#define WS_REASON_MAX	    123
/* Of those that JSON-RPC 2.0 leaves to the server (5.1). */
#define JSONRPC_REFUSED (-32000)

#define CRLF	       "\r\n"
#define CRLF_LEN       2u
#define CHUNK_SIZE_MAX 16u /* digits of a chunk's size */

/* What is said, as it stands within a JSON string. */
struct words {
	const char *reason;
	char task[ESCAPED_SIZE]; /* empty where there is none */
	char sentence[SENTENCE_SIZE];
};

static bool is_reason(const char *reason)
{
	size_t len = strnlen(reason, REASON_MAX + 1);

	return len >= 1 && len <= REASON_MAX &&
	       strspn(reason, "abcdefghijklmnopqrstuvwxyz0123456789_.:-") == len;
}

/* -EINVAL: too long, or ill-formed. */
static int escape(const char *text, char ret_escaped[static ESCAPED_SIZE])
{
	size_t len = strnlen(text, TASK_MAX + 1), at = 0;
	uint64_t runes;

	if (!len || len > TASK_MAX || utf8_prefix((const uint8_t *)text, len, &runes) != len)
		return -EINVAL;
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c < 0x20 || c == '"' || c == '\\')
			at += (size_t)snprintf(ret_escaped + at, ESCAPED_SIZE - at, "\\u%04x", c);
		else
			ret_escaped[at++] = text[i];
	}
	ret_escaped[at] = '\0';
	return 0;
}

static int words_init(struct words *words, const char *reason, const char *task)
{
	int err;

	if (!is_reason(reason))
		return -EINVAL;
	words->reason = reason;
	words->task[0] = '\0';
	if (!task) {
		snprintf(words->sentence, sizeof(words->sentence),
			 "Refused by the policy, reason %s.", reason);
		return 0;
	}
	err = escape(task, words->task);
	if (err)
		return err;
	snprintf(words->sentence, sizeof(words->sentence),
		 "Refused by the policy's task %s, reason %s.", words->task, reason);
	return 0;
}

/* A member for the task, behind another one; nothing where there is none. */
static void task_member(const struct words *words, char ret_member[static ESCAPED_SIZE + 16])
{
	ret_member[0] = '\0';
	if (words->task[0])
		snprintf(ret_member, ESCAPED_SIZE + 16, ",\"task\":\"%s\"", words->task);
}

static int copy_out(const char *head, size_t head_len, const char *body, size_t body_len,
		    uint8_t **ret_bytes, size_t *ret_len)
{
	uint8_t *bytes = malloc(head_len + body_len);

	if (!bytes)
		return -ENOMEM;
	memcpy(mempcpy(bytes, head, head_len), body, body_len);
	*ret_bytes = bytes;
	*ret_len = head_len + body_len;
	return 0;
}

/* The error object beside the problem's own members is what clients of these APIs show. */
static int new_message(const struct words *words, bool head_request, uint8_t **ret_bytes,
		       size_t *ret_len)
{
	char task[ESCAPED_SIZE + 16], body[TEXT_SIZE], head[HEAD_SIZE];
	size_t body_len, head_len;

	task_member(words, task);
	body_len = (size_t)snprintf(
		body, sizeof(body),
		"{\"type\":\"about:blank\",\"title\":\"Blocked by policy\",\"status\":403,"
		"\"detail\":\"%s\"%s,\"reason\":\"%s\",\"error\":{\"message\":\"%s\","
		"\"type\":\"policy_denied\",\"code\":\"%s\"}}",
		words->sentence, task, words->reason, words->sentence, words->reason);
	head_len = (size_t)snprintf(head, sizeof(head),
				    "HTTP/1.1 403 Forbidden" CRLF
				    "Content-Type: application/problem+json" CRLF
				    "Content-Length: %zu" CRLF "Connection: close" CRLF
				    "Cache-Control: no-store" CRLF CRLF,
				    body_len);
	return copy_out(head, head_len, body, head_request ? 0 : body_len, ret_bytes, ret_len);
}

static size_t write_event(enum refusal_form form, const struct words *words,
			  char ret_event[static TEXT_SIZE])
{
	char task[ESCAPED_SIZE + 16];

	if (form == REFUSAL_FORM_LINES)
		return (size_t)snprintf(ret_event, TEXT_SIZE, "{\"error\":\"%s\"}\n",
					words->sentence);
	task_member(words, task);
	return (size_t)snprintf(ret_event, TEXT_SIZE,
				"event: error\ndata: {\"error\":{\"message\":\"%s\","
				"\"type\":\"policy_denied\",\"code\":\"%s\"%s}}\n\n",
				words->sentence, words->reason, task);
}

/*
 * Bytes that say nothing. SSE: a comment. Lines: white space, which ahead of the event
 * is part of its line, since not all readers skip an empty one.
 */
static uint8_t *fill(uint8_t *at, size_t len, enum refusal_form form, bool ahead)
{
	if (!len)
		return at;
	memset(at, ' ', len);
	if (form == REFUSAL_FORM_SSE)
		at[0] = ':';
	if (form == REFUSAL_FORM_SSE || !ahead)
		at[len - 1] = '\n';
	return at + len;
}

static uint8_t *copy(uint8_t *at, const void *bytes, size_t len)
{
	return mempcpy(at, bytes, len);
}

static int new_within_body(const struct refusal_mark *mark, const struct words *words,
			   uint8_t **ret_bytes, size_t *ret_len)
{
	enum refusal_form form = (enum refusal_form)mark->form;
	bool chunk = mark->place == REFUSAL_CHUNK, length = mark->place == REFUSAL_LENGTH;
	uint64_t left = chunk || length ? mark->left : 0;
	char event[TEXT_SIZE], size[CHUNK_SIZE_MAX + CRLF_LEN + 1];
	size_t event_len = write_event(form, words, event), size_len, filler, len;
	bool own = mark->place == REFUSAL_CHUNKS || (chunk && left < event_len);
	uint8_t *bytes, *at;

	if (left > REFUSAL_MAX || (length && left < event_len))
		return -ENOENT;
	size_len = (size_t)snprintf(size, sizeof(size), "%zx" CRLF, event_len);
	filler = (size_t)left - (own || !left ? 0 : event_len);
	len = event_len + filler + (chunk ? CRLF_LEN : 0) + (own ? size_len + CRLF_LEN : 0);
	if (len > REFUSAL_MAX)
		return -ENOENT;
	bytes = at = malloc(len);
	if (!bytes)
		return -ENOMEM;
	if (!own)
		at = copy(at, event, event_len);
	at = fill(at, filler, form, own);
	if (chunk)
		at = copy(at, CRLF, CRLF_LEN);
	if (own) {
		at = copy(at, size, size_len);
		at = copy(at, event, event_len);
		copy(at, CRLF, CRLF_LEN);
	}
	*ret_bytes = bytes;
	*ret_len = len;
	return 0;
}

/* A close frame: what does not fit its 125 bytes beside the reason is left out. */
static int new_close(const struct words *words, const char *task, uint8_t **ret_bytes,
		     size_t *ret_len)
{
	uint8_t head[] = {0x88, 0, WS_POLICY_VIOLATION >> 8, WS_POLICY_VIOLATION & 0xff};
	char text[TEXT_SIZE];
	int len = snprintf(text, sizeof(text), "%s%s%s", words->reason, task ? ", task " : "",
			   task ? task : "");

	if (len > WS_REASON_MAX)
		len = snprintf(text, sizeof(text), "%s", words->reason);
	head[1] = (uint8_t)(len + 2);
	return copy_out((const char *)head, sizeof(head), text, (size_t)len, ret_bytes, ret_len);
}

static int new_error(const struct words *words, uint8_t **ret_bytes, size_t *ret_len)
{
	char task[ESCAPED_SIZE + 16], body[TEXT_SIZE], head[HEAD_SIZE];
	size_t body_len, head_len;

	task_member(words, task);
	body_len = (size_t)snprintf(body, sizeof(body),
				    "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":%d,"
				    "\"message\":\"%s\",\"data\":{\"reason\":\"%s\"%s}}}",
				    JSONRPC_REFUSED, words->sentence, words->reason, task);
	head_len = (size_t)snprintf(head, sizeof(head), "Content-Length: %zu" CRLF CRLF, body_len);
	return copy_out(head, head_len, body, body_len, ret_bytes, ret_len);
}

int refusal_new(const struct refusal_mark *mark, bool head_request, const char *reason,
		const char *task, uint8_t **ret_bytes, size_t *ret_len)
{
	struct words words;
	int err = words_init(&words, reason, task);

	if (err)
		return err;
	switch ((enum refusal_place)mark->place) {
	case REFUSAL_NONE:
		return -ENOENT;
	case REFUSAL_MESSAGE:
		return new_message(&words, head_request, ret_bytes, ret_len);
	case REFUSAL_CHUNK:
	case REFUSAL_CHUNKS:
	case REFUSAL_LENGTH:
	case REFUSAL_PLAIN:
		if (mark->form != REFUSAL_FORM_SSE && mark->form != REFUSAL_FORM_LINES)
			return -EINVAL;
		return new_within_body(mark, &words, ret_bytes, ret_len);
	case REFUSAL_WEBSOCKET:
		return new_close(&words, task, ret_bytes, ret_len);
	case REFUSAL_JSONRPC:
		return new_error(&words, ret_bytes, ret_len);
	}
	return -EINVAL;
}
