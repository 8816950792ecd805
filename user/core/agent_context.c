/* SPDX-License-Identifier: Apache-2.0 */
#include "core/agent_context.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/utf8.h"

/* 2^53 - 1: what every reader of JSON tells from its neighbours (RFC 7493 2.2). */
#define NUMBER_MAX ((1ull << 53) - 1)
/* 9999-12-31T23:59:59.999Z; RFC 3339 5.6 has four digits for a year. */
#define TIME_MAX 253402300799999ull

#define MS_PER_S    1000u
#define S_PER_DAY   86400u
#define ESCAPE_SIZE 8u /* \u2028, and a NUL */

/* First counts what it is given (to is NULL), then writes it. */
struct writer {
	char *to;
	size_t len;
};

static void put(struct writer *writer, const void *bytes, size_t len)
{
	if (writer->to && len)
		memcpy(writer->to + writer->len, bytes, len);
	writer->len += len;
}

static void put_text(struct writer *writer, const char *text)
{
	put(writer, text, strlen(text));
}

static void put_number(struct writer *writer, uint64_t number)
{
	char digits[24];

	put(writer, digits, (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, number));
}

/*
 * Bytes of the line and paragraph separators, which end a line of JavaScript. The text is known
 * to be well-formed: what begins with 0xe2 has three bytes.
 */
static bool is_separator(const uint8_t *text)
{
	return text[0] == 0xe2 && text[1] == 0x80 && (text[2] & 0xfe) == 0xa8;
}

static bool is_escaped(const uint8_t *text)
{
	return *text < 0x20 || *text == '"' || *text == '\\' || is_separator(text);
}

/* The escape of what stands at text; returns how many bytes that is. */
static size_t put_escape(struct writer *writer, const uint8_t *text)
{
	static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
	const char *at = *text ? strchr(from, *text) : NULL;
	char escape[ESCAPE_SIZE];

	if (at) {
		put(writer, (const char[]){'\\', to[at - from]}, 2);
		return 1;
	}
	if (*text < 0x20)
		snprintf(escape, sizeof(escape), "\\u%04x", *text);
	else
		snprintf(escape, sizeof(escape), "\\u202%c", text[2] == 0xa8 ? '8' : '9');
	put_text(writer, escape);
	return *text < 0x20 ? 1 : 3;
}

/* A JSON string (RFC 8259 7). */
static void put_string(struct writer *writer, const uint8_t *text, size_t len)
{
	put_text(writer, "\"");
	while (len) {
		size_t n = 0;

		while (n < len && !is_escaped(text + n))
			n++;
		put(writer, text, n);
		if (n < len)
			n += put_escape(writer, text + n);
		text += n;
		len -= n;
	}
	put_text(writer, "\"");
}

/* `head` is what stands before the string. */
static void put_member(struct writer *writer, const char *head, const char *text)
{
	put_text(writer, head);
	put_string(writer, (const uint8_t *)text, strlen(text));
}

/*
 * The time in UTC (RFC 3339). The calendar repeats after 400 years of 146097 days; years are
 * counted from March, so that the day a leap year has more is its last.
 */
static void put_time(struct writer *writer, uint64_t time_ms)
{
	uint64_t seconds = time_ms / MS_PER_S, left = seconds % S_PER_DAY;
	uint64_t days = seconds / S_PER_DAY + 719468; /* since March 1 of the year 0 */
	uint64_t era = days / 146097, day = days % 146097;
	uint64_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
	uint64_t month;
	char text[40];

	day -= 365 * year + year / 4 - year / 100;
	month = (5 * day + 2) / 153;
	day -= (153 * month + 2) / 5;
	year += 400 * era + (month >= 10);
	month = month < 10 ? month + 3 : month - 9;
	snprintf(text, sizeof(text), "%04u-%02u-%02uT%02u:%02u:%02u.%03uZ", (unsigned int)year,
		 (unsigned int)month, (unsigned int)day + 1, (unsigned int)(left / 3600),
		 (unsigned int)(left / 60 % 60), (unsigned int)(left % 60),
		 (unsigned int)(time_ms % MS_PER_S));
	put_text(writer, text);
}

static void put_content(struct writer *writer, const struct agent_context *context)
{
	put_text(writer, "{\"content\":");
	if (!context->content)
		put_text(writer, "null");
	else if (context->content_json)
		put(writer, context->content, context->content_len);
	else
		put_string(writer, context->content, context->content_len);
	if (context->point == AGENT_INPUT)
		put_member(writer, ",\"role\":", context->role ?: "user");
	if (context->point == AGENT_POST_MODEL_CALL) {
		put_text(writer, ",\"tool_calls\":");
		put_text(writer, context->tool_calls ?: "[]");
		put_member(writer, ",\"finish_reason\":", context->finish_reason);
	}
	put_text(writer, "}");
}

/* Is its target made here? */
static bool has_target(const struct agent_context *context)
{
	return context->point <= AGENT_OUTPUT;
}

/* The member that 4.2 requires at the point, and the target, which is its copy. */
static void put_target(struct writer *writer, const struct agent_context *context)
{
	static const char *const members[] = {
		[AGENT_INPUT] = ",\"input\":",
		[AGENT_POST_MODEL_CALL] = ",\"response\":",
		[AGENT_OUTPUT] = ",\"output\":",
	};
	size_t start, len;

	if (!has_target(context)) {
		put_text(writer, ",");
		put_text(writer, context->members);
		return;
	}
	if (context->point == AGENT_POST_MODEL_CALL) {
		put_member(writer, ",\"model\":{\"id\":", context->model);
		put_text(writer, "}");
	}
	put_text(writer, members[context->point]);
	start = writer->len;
	put_content(writer, context);
	len = writer->len - start;
	put_text(writer, ",\"target\":");
	put(writer, writer->to ? writer->to + start : NULL, len);
}

static void put_span(struct writer *writer, const struct agent_span *span)
{
	put_text(writer, ",\"span\":{\"start\":");
	put_number(writer, span->start);
	put_text(writer, ",\"end\":");
	put_number(writer, span->end);
	put_text(writer, ",\"before\":");
	put_number(writer, span->before);
	put_text(writer, span->final ? ",\"final\":true}" : ",\"final\":false}");
}

static void put_extension(struct writer *writer, const struct agent_context *context)
{
	put_text(writer, ",\"extensions\":{\"sluice\":{\"stream\":\"");
	put_number(writer, context->stream);
	put_member(writer, "\",\"task\":", context->task);
	put_member(writer, ",\"channel\":", context->channel);
	if (context->span)
		put_span(writer, context->span);
	put_text(writer, "}}");
}

static void put_context(struct writer *writer, const struct agent_context *context)
{
	put_text(writer, "{\"spec\":\"agent-hooks/0.1\",\"interception_point\":\"");
	put_text(writer, agent_point_name(context->point));
	put_text(writer, "\",\"timestamp\":\"");
	put_time(writer, context->time_ms);
	put_text(writer, "\",\"sequence\":");
	put_number(writer, context->sequence);
	put_member(writer, ",\"agent\":{\"id\":", context->agent);
	put_member(writer, ",\"framework\":\"sluice\"},\"session\":{\"id\":", context->session);
	put_text(writer, "}");
	put_target(writer, context);
	if (context->task)
		put_extension(writer, context);
	put_text(writer, "}");
}

static bool is_well_formed(const uint8_t *text, size_t len)
{
	uint64_t runes;

	return utf8_prefix(text, len, &runes) == len;
}

static bool is_string(const char *text)
{
	return text && is_well_formed((const uint8_t *)text, strlen(text));
}

static bool is_valid(const struct agent_context *context)
{
	const struct agent_span *span = context->span;
	bool model_call = context->point == AGENT_POST_MODEL_CALL;

	if ((unsigned int)context->point >= _AGENT_POINT_MAX || context->time_ms > TIME_MAX ||
	    context->sequence > NUMBER_MAX)
		return false;
	if (span &&
	    (span->start > NUMBER_MAX || span->end > NUMBER_MAX || span->before > NUMBER_MAX))
		return false;
	if (!is_string(context->agent) || !*context->agent || !is_string(context->session) ||
	    !*context->session || (context->task && !is_string(context->task)) ||
	    (context->task && !is_string(context->channel)))
		return false;
	if (!has_target(context))
		return is_string(context->members);
	if (context->role && !is_string(context->role))
		return false;
	if (model_call && (!is_string(context->model) || !is_string(context->finish_reason)))
		return false;
	if (!context->content)
		return model_call;
	return is_well_formed(context->content, context->content_len);
}

static int reserve(struct agent_buffer *buffer, size_t len)
{
	size_t capacity = MAX(buffer->capacity, (size_t)1024);
	char *grown;

	while (len > capacity - buffer->len)
		capacity *= 2;
	if (capacity == buffer->capacity)
		return 0;
	grown = realloc(buffer->text, capacity);
	if (!grown)
		return -ENOMEM;
	buffer->text = grown;
	buffer->capacity = capacity;
	return 0;
}

int agent_context_write(const struct agent_context *context, struct agent_buffer *buffer)
{
	struct writer writer = {0};
	int err;

	if (!is_valid(context))
		return -EINVAL;
	put_context(&writer, context);
	if (writer.len > AGENT_CONTEXT_MAX)
		return -E2BIG;
	err = reserve(buffer, writer.len);
	if (err)
		return err;
	writer = (struct writer){.to = buffer->text + buffer->len};
	put_context(&writer, context);
	buffer->len += writer.len;
	return 0;
}

void agent_buffer_done(struct agent_buffer *buffer)
{
	free(buffer->text);
	*buffer = (struct agent_buffer){0};
}

const char *agent_point_name(enum agent_point point)
{
	static const char *const names[] = {
		[AGENT_INPUT] = "input",
		[AGENT_POST_MODEL_CALL] = "post_model_call",
		[AGENT_OUTPUT] = "output",
		[AGENT_STARTUP] = "agent_startup",
		[AGENT_PRE_MODEL_CALL] = "pre_model_call",
		[AGENT_PRE_TOOL_CALL] = "pre_tool_call",
		[AGENT_POST_TOOL_CALL] = "post_tool_call",
		[AGENT_SHUTDOWN] = "agent_shutdown",
	};

	_Static_assert(ARRAY_SIZE(names) == _AGENT_POINT_MAX, "a point without a name");
	return (unsigned int)point < _AGENT_POINT_MAX ? names[point] : "unknown";
}
