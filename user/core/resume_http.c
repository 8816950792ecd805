/* SPDX-License-Identifier: Apache-2.0 */
#include "core/resume_http.h"

#include <string.h>

#include "core/percent.h"

/* Of a name or a value of the query, decoded; what is longer is neither number nor cursor. */
#define QUERY_MAX 255u

/* The digits at the front are a number of 64 bits, and are dropped. */
static bool take_number(struct http1_slice *text, uint64_t *ret_number)
{
	size_t len = http1_span(*text, HTTP1_DIGIT);
	uint64_t number = 0;

	if (!len)
		return false;
	for (size_t i = 0; i < len; i++)
		if (__builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, (uint64_t)(text->at[i] - '0'), &number))
			return false;
	http1_drop(text, len);
	*ret_number = number;
	return true;
}

static bool takes(struct http1_slice *text, char c)
{
	if (!text->len || text->at[0] != (uint8_t)c)
		return false;
	http1_drop(text, 1);
	return true;
}

static void set_kind(struct resume_request *request, enum resume_kind kind, uint64_t from)
{
	request->refused |= request->kind != RESUME_NONE;
	request->kind = kind;
	request->from = from;
}

/* bytes=FROM- or bytes=FROM-LAST */
static void on_range(struct resume_request *request, struct http1_slice value)
{
	struct http1_slice unit = http1_until(&value, '=');
	uint64_t from = 0, last;

	/* The second of two: nobody knows which counts. */
	request->refused |= request->ranged;
	request->ranged = true;
	value = http1_trim(value);
	if (!http1_equal(http1_trim(unit), "bytes") || !take_number(&value, &from) ||
	    !takes(&value, '-') || (value.len && (!take_number(&value, &last) || last < from)) ||
	    value.len)
		request->refused = true;
	else if (from)
		set_kind(request, RESUME_RANGE, from);
}

static void on_other_range(struct resume_request *request, struct http1_slice value)
{
	(void)value;
	request->refused = true;
}

static void on_condition(struct resume_request *request, struct http1_slice value)
{
	request->refused |= request->has_condition || value.len > RESUME_VALIDATOR_MAX;
	request->has_condition = true;
	if (request->refused)
		return;
	memcpy(request->condition, value.at, value.len);
	request->condition[value.len] = '\0';
}

static void on_event(struct resume_request *request, struct http1_slice value)
{
	if (!value.len)
		return;
	set_kind(request, RESUME_EVENT, 0);
	if (value.len > RESUME_ID_MAX) {
		request->refused = true;
		return;
	}
	request->event.len = (uint16_t)value.len;
	memcpy(request->event.text, value.at, value.len);
}

/* bytes FROM-LAST/LENGTH, or bytes * /LENGTH that asks how far the upload came. */
static void on_content_range(struct resume_request *request, struct http1_slice value)
{
	uint64_t from;

	(void)http1_until(&value, ' ');
	value = http1_trim(value);
	if (value.len && value.at[0] == '*')
		return;
	request->upload_refused |= !take_number(&value, &from) || from > 0;
}

static void on_upload_offset(struct resume_request *request, struct http1_slice value)
{
	uint64_t from;

	request->upload_refused |= !take_number(&value, &from) || value.len || from > 0;
}

static uint8_t lower(uint8_t byte)
{
	return byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte;
}

static void on_host(struct resume_request *request, struct http1_slice value)
{
	request->long_host = value.len > RESUME_HOST_MAX;
	request->host_len = 0;
	if (request->long_host)
		return;
	for (size_t i = 0; i < value.len; i++)
		request->host[i] = lower(value.at[i]);
	request->host_len = (uint16_t)value.len;
}

static const struct {
	const char *name;
	void (*apply)(struct resume_request *request, struct http1_slice value);
} fields[] = {
	{"host", on_host},
	{"range", on_range},
	{"request-range", on_other_range},
	{"if-range", on_condition},
	{"last-event-id", on_event},
	{"content-range", on_content_range},
	{"upload-offset", on_upload_offset},
};

/* Are they one to who writes '_' for what is neither a letter nor a digit? */
static bool looks_like(struct http1_slice name, const char *field)
{
	size_t len = strlen(field);
	bool same = name.len == len;

	for (size_t i = 0; i < len && same; i++)
		same = lower(name.at[i]) == (uint8_t)field[i] ||
		       (name.at[i] == '_' && field[i] == '-');
	return same;
}

void resume_request_field(struct resume_request *request, struct http1_slice line)
{
	struct http1_slice value = line, name = http1_until(&value, ':');

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		if (http1_equal(name, fields[i].name))
			fields[i].apply(request, http1_trim(value));
		else if (looks_like(name, fields[i].name))
			request->refused = request->upload_refused = true;
	}
}

void resume_split_target(struct http1_slice target, struct http1_slice *ret_path,
			 struct http1_slice *ret_query)
{
	struct http1_slice rest = target;
	size_t at = 0;

	if (rest.len && rest.at[0] != '/' && rest.at[0] != '*') {
		/* Behind scheme and authority; that of CONNECT has neither path nor query. */
		(void)http1_until(&rest, ':');
		at = rest.len > 2 && rest.at[0] == '/' ? 2 : rest.len;
		while (at < rest.len && rest.at[at] != '/' && rest.at[at] != '?')
			at++;
		http1_drop(&rest, at);
	}
	*ret_path = http1_until(&rest, '?');
	*ret_query = rest;
}

/* Decoded into a buffer; what has no room is empty. */
static struct http1_slice decode(struct http1_slice text, uint8_t room[QUERY_MAX + 3])
{
	struct percent percent = {.plus = true};
	size_t used, len = percent_decode(&percent, text.at, text.len, room, QUERY_MAX + 1, &used);

	len += percent_end(&percent, room + len);
	return (struct http1_slice){room, used < text.len ? 0 : len};
}

/* No reader sees a number in what begins with a letter, and is ASCII without blanks. */
static bool is_cursor(struct http1_slice value)
{
	bool word = value.len && lower(value.at[0]) >= 'a' && lower(value.at[0]) <= 'z';

	for (size_t i = 0; i < value.len && word; i++)
		word = value.at[i] > ' ' && value.at[i] < 0x7f;
	return word;
}

static void on_after(struct resume_request *request, struct http1_slice value)
{
	struct http1_slice rest = value;
	uint64_t from;

	if (take_number(&rest, &from) && !rest.len)
		set_kind(request, RESUME_AFTER, from);
	else
		request->refused |= !is_cursor(value);
}

/*
 * Is that name, in lower case and without what divides its words, anywhere in the text? Its
 * first letter does not come again in it, so that no search goes back.
 */
static bool holds(struct http1_slice text, const char *name)
{
	struct percent percent = {.plus = true};
	size_t used, matched = 0;

	while (text.len) {
		uint8_t room[64];
		size_t len = percent_decode(&percent, text.at, text.len, room, sizeof(room), &used);

		http1_drop(&text, used);
		for (size_t i = 0; i < len; i++) {
			uint8_t byte = lower(room[i]);

			if (byte == '_' || byte == '-')
				continue;
			if (byte != (uint8_t)name[matched])
				matched = 0;
			matched += byte == (uint8_t)name[matched];
			if (!name[matched])
				return true;
		}
	}
	return false;
}

void resume_request_target(struct resume_request *request, struct http1_slice target)
{
	static const char name[] = "starting_after";
	struct http1_slice path, query;

	resume_split_target(target, &path, &query);
	while (query.at) {
		struct http1_slice part = http1_until(&query, '&'), value = part;
		struct http1_slice key = http1_until(&value, '=');
		uint8_t room[QUERY_MAX + 3];

		key = decode(key, room);
		if (key.len == sizeof(name) - 1 && memcmp(key.at, name, key.len) == 0) {
			on_after(request, decode(value, room));
			part = value;
		}
		request->refused |= holds(part, "startingafter") || holds(part, "lasteventid");
	}
}

/* bytes FROM-LAST/LENGTH; the length may be '*'. */
static void on_answer_range(struct resume_answer *answer, struct http1_slice value)
{
	struct http1_slice unit = http1_until(&value, ' ');

	struct http1_slice none = http1_trim(value);
	bool in_bytes = http1_equal(unit, "bytes");
	uint64_t length;

	answer->bad_range |= answer->has_range || !in_bytes;
	answer->unsatisfied = !answer->bad_range && takes(&none, '*') && takes(&none, '/') &&
			      take_number(&none, &length) && !none.len;
	answer->has_range = true;
	answer->in_bytes |= in_bytes;
	value = http1_trim(value);
	answer->length = UINT64_MAX;
	if (!take_number(&value, &answer->from) || !takes(&value, '-') ||
	    !take_number(&value, &answer->last) || answer->last < answer->from ||
	    !takes(&value, '/') || (!takes(&value, '*') && !take_number(&value, &answer->length)) ||
	    value.len)
		answer->bad_range = true;
}

static void set_validator(struct resume_answer *answer, struct http1_slice value)
{
	if (value.len > RESUME_VALIDATOR_MAX)
		value.len = 0;
	if (value.len)
		memcpy(answer->validator, value.at, value.len);
	answer->validator[value.len] = '\0';
}

/* A weak one is none: what it stands for need not be the same text. */
static void on_tag(struct resume_answer *answer, struct http1_slice value)
{
	if (!value.len || value.at[0] != '"')
		return;
	answer->has_tag = true;
	set_validator(answer, value);
}

static void on_modified(struct resume_answer *answer, struct http1_slice value)
{
	if (!answer->has_tag)
		set_validator(answer, value);
}

static void on_type(struct resume_answer *answer, struct http1_slice value)
{
	answer->several |=
		http1_equal(http1_trim(http1_until(&value, ';')), "multipart/byteranges");
}

static const struct {
	const char *name;
	void (*apply)(struct resume_answer *answer, struct http1_slice value);
} answer_fields[] = {
	{"content-range", on_answer_range},
	{"etag", on_tag},
	{"last-modified", on_modified},
	{"content-type", on_type},
};

void resume_answer_field(struct resume_answer *answer, struct http1_slice line)
{
	struct http1_slice value = line, name = http1_until(&value, ':');

	for (size_t i = 0; i < ARRAY_SIZE(answer_fields); i++) {
		if (http1_equal(name, answer_fields[i].name)) {
			answer_fields[i].apply(answer, http1_trim(value));
			return;
		}
	}
}
