/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/json_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "core/utf8.h"
#include "sys/clock.h"

#define ROOM_FIRST  2048u
#define NUMBER_SIZE 20u

void json_text_done(struct json_text *text)
{
	free(text->text);
	*text = (struct json_text){0};
}

void json_text_clear(struct json_text *text)
{
	text->len = 0;
	text->follows = text->failed = false;
}

/* Room for so many more bytes. */
static bool reserve(struct json_text *text, size_t len)
{
	size_t room = text->room ? text->room : ROOM_FIRST;
	char *grown;

	if (text->failed || text->len + len <= text->room)
		return !text->failed;
	while (room < text->len + len)
		room *= 2;
	grown = realloc(text->text, room);
	if (!grown) {
		text->failed = true;
		return false;
	}
	text->text = grown;
	text->room = room;
	return true;
}

static void put(struct json_text *text, const char *bytes, size_t len)
{
	if (!reserve(text, len))
		return;
	(void)memcpy(text->text + text->len, bytes, len);
	text->len += len;
}

static void put_name(struct json_text *text, const char *name)
{
	if (text->follows)
		put(text, ",", 1);
	text->follows = true;
	if (!name)
		return;
	put(text, "\"", 1);
	put(text, name, strlen(name));
	put(text, "\":", 2);
}

void json_text_begin(struct json_text *text, const char *name, char bracket)
{
	put_name(text, name);
	put(text, &bracket, 1);
	text->follows = false;
}

void json_text_end(struct json_text *text, char bracket)
{
	put(text, &bracket, 1);
	text->follows = true;
}

static void put_number(struct json_text *text, uint64_t number)
{
	char digits[NUMBER_SIZE];
	size_t at = sizeof(digits);

	do
		digits[--at] = (char)('0' + number % 10);
	while (number /= 10);
	put(text, digits + at, sizeof(digits) - at);
}

void json_text_number(struct json_text *text, const char *name, uint64_t number)
{
	put_name(text, name);
	put_number(text, number);
}

/* Bytes at the front that stand for themselves. */
static size_t plain(const char *string)
{
	size_t len = 0;

	while ((unsigned char)string[len] >= 0x20 && (unsigned char)string[len] < 0x7f &&
	       string[len] != '"' && string[len] != '\\')
		len++;
	return len;
}

/* The one character at the front, that is not plain; returns its length. */
static size_t put_special(struct json_text *text, const char *string)
{
	static const char hex[] = "0123456789abcdef";
	unsigned int len = utf8_rune((const uint8_t *)string, strlen(string));
	char escape[] = "\\u0000";

	if (*string == '"' || *string == '\\') {
		put(text, (const char[]){'\\', *string}, 2);
	} else if ((unsigned char)*string < 0x20) {
		escape[4] = hex[*string >> 4];
		escape[5] = hex[*string & 0xf];
		put(text, escape, sizeof(escape) - 1);
	} else if (!len) {
		put(text, "?", 1);
	} else {
		put(text, string, len);
	}
	return MAX(len, 1u);
}

void json_text_string(struct json_text *text, const char *name, const char *string)
{
	size_t len;

	if (!string) {
		json_text_null(text, name);
		return;
	}
	put_name(text, name);
	put(text, "\"", 1);
	while (*string) {
		len = plain(string);
		put(text, string, len);
		string += len;
		if (*string)
			string += put_special(text, string);
	}
	put(text, "\"", 1);
}

void json_text_bool(struct json_text *text, const char *name, bool value)
{
	put_name(text, name);
	put(text, value ? "true" : "false", value ? 4 : 5);
}

void json_text_null(struct json_text *text, const char *name)
{
	put_name(text, name);
	put(text, "null", 4);
}

void json_text_seconds(struct json_text *text, const char *name, uint64_t ns)
{
	uint64_t ms = ns / CLOCK_NS_PER_MS;
	char rest[] = ".000";

	for (size_t i = sizeof(rest) - 2, left = ms % 1000; i; i--, left /= 10)
		rest[i] = (char)('0' + left % 10);
	put_name(text, name);
	put_number(text, ms / 1000);
	put(text, rest, sizeof(rest) - 1);
}
