/* SPDX-License-Identifier: Apache-2.0 */
#include "core/json_string.h"

void json_emit(struct json *json, const uint8_t *text, size_t len, uint64_t runes, bool last)
{
	unsigned int flags = (json->begun ? 0 : JSON_FIRST) | (last ? JSON_LAST : 0);
	enum fault fault = FAULT_NONE;

	if (!len && !last)
		return;
	json->begun = true;
	if (json->token == JSON_NAME)
		fault = json_names_text(&json->names, text, len);
	if (!fault && json->sink)
		fault = json->sink->text(json->context, json->token, flags, text, len, runes);
	if (!fault && last && json->token == JSON_NAME)
		fault = json_names_end(&json->names);
	json->fault = (uint8_t)fault;
}

static void emit_surrogate(struct json *json, uint32_t unit)
{
	unsigned int flags = json->begun ? 0 : JSON_FIRST;
	enum fault fault = FAULT_NONE;

	json->begun = true;
	if (json->token == JSON_NAME)
		fault = json_names_surrogate(&json->names, unit);
	if (!fault && json->sink)
		fault = json->sink->surrogate(json->context, json->token, flags, unit);
	json->fault = (uint8_t)fault;
}

static void emit_replacement(struct json *json)
{
	json_emit(json, (const uint8_t *)UTF8_REPLACEMENT, UTF8_REPLACEMENT_LEN, 1, false);
}

static void ill_formed(struct json *json)
{
	if (json->replace)
		emit_replacement(json);
	else
		json->fault = FAULT_BAD_UTF8;
}

/*
 * Byte by byte through a sequence that is ill-formed, or cut by the input's end,
 * until it is over. Returns the byte after what it took.
 */
static const uint8_t *sequence(struct json *json, const uint8_t *p, const uint8_t *end)
{
	while (p < end && !json->fault) {
		switch (utf8_push(&json->utf8, *p)) {
		case UTF8_MORE:
			p++;
			continue;
		case UTF8_DONE:
			p++;
			json_emit(json, json->utf8.bytes, json->utf8.have, 1, false);
			break;
		case UTF8_ILL:
			/* What broke a sequence off is looked at anew; what begins none is gone. */
			p += json->replace && !json->utf8.have;
			ill_formed(json);
			break;
		}
		json->utf8.have = 0;
		break;
	}
	return p;
}

/* Plain text up to the closing quote, an escape, or what stops the run. */
static const uint8_t *plain(struct json *json, const uint8_t *p, const uint8_t *end,
			    bool *ret_closed)
{
	const uint8_t *run = p;
	uint64_t runes = 0;

	for (;;) {
		const uint8_t *stop = json_skip_plain(p, end);
		unsigned int len = 0;

		runes += (uint64_t)(stop - p);
		p = stop;
		while (p < end && *p >= 0x80 && (len = utf8_rune(p, (size_t)(end - p)))) {
			p += len;
			runes++;
		}
		if (!len || p == end || !json_is_plain(*p))
			break;
	}
	if (p < end && *p == '"') {
		json_emit(json, run, (size_t)(p - run), runes, true);
		*ret_closed = true;
		return p + 1;
	}
	json_emit(json, run, (size_t)(p - run), runes, false);
	if (p == end || json->fault)
		return p;
	if (*p == '\\') {
		json->state = JSON_STRING_ESCAPE;
		return p + 1;
	}
	if (*p >= 0x80)
		return sequence(json, p, end);
	json->fault = FAULT_BAD_JSON;
	return p;
}

static const uint8_t *escape(struct json *json, const uint8_t *p)
{
	const uint8_t *escaped;

	if (*p == 'u') {
		json->state = JSON_STRING_HEX;
		json->number = 0;
		json->unit = 0;
		return p + 1;
	}
	escaped = json_escaped(*p);
	if (!escaped) {
		json->fault = FAULT_BAD_JSON;
		return p;
	}
	json->state = JSON_STRING_PLAIN;
	json_emit(json, escaped, 1, 1, false);
	return p + 1;
}

static const uint8_t *hex(struct json *json, const uint8_t *p)
{
	uint8_t bytes[UTF8_MAX];
	int digit = json_hex_digit(*p);

	if (digit < 0) {
		json->fault = FAULT_BAD_JSON;
		return p;
	}
	json->unit = (uint16_t)(json->unit << 4 | digit);
	if (++json->number < 4)
		return p + 1;
	json->state = JSON_STRING_PLAIN;
	if (json->unit >= 0xd800 && json->unit <= 0xdfff)
		emit_surrogate(json, json->unit);
	else
		json_emit(json, bytes, utf8_encode(json->unit, bytes), 1, false);
	return p + 1;
}

const uint8_t *json_string_scan(struct json *json, const uint8_t *p, const uint8_t *end,
				bool *ret_closed)
{
	while (p < end && !json->fault && !*ret_closed) {
		if (json->state == JSON_STRING_ESCAPE)
			p = escape(json, p);
		else if (json->state == JSON_STRING_HEX)
			p = hex(json, p);
		else if (json->utf8.have)
			p = sequence(json, p, end);
		else
			p = plain(json, p, end, ret_closed);
	}
	return p;
}
