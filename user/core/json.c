/* SPDX-License-Identifier: Apache-2.0 */
#include "core/json.h"

#include <string.h>

#include "core/json_string.h"

/* Where in the grammar the scanner stands; the states inside a token come first. */
enum state {
	STRING = JSON_STRING_PLAIN,
	ESCAPE = JSON_STRING_ESCAPE,
	HEX = JSON_STRING_HEX,
	NUMBER,
	LITERAL,
	START,	      /* of a text */
	VALUE,	      /* must come */
	VALUE_OR_END, /* after [ */
	NAME,	      /* must come */
	NAME_OR_END,  /* after { */
	COLON,
	AFTER, /* a value in a container: a comma, or the container's end */
	DONE,  /* the text is whole */
};

/* How far a number has come; 0 where its first character is still to come. */
enum number { NUMBER_START, MINUS, ZERO, INTEGER, DOT, FRACTION, EXPONENT, SIGN, POWER, BROKEN };

static const char *const literals[] = {"true", "false", "null"};

void json_init(struct json *json, const struct json_sink *sink, void *context)
{
	memset(json, 0, sizeof(*json));
	json->sink = sink;
	json->context = context;
	json->state = START;
}

void json_done(struct json *json)
{
	json_names_done(&json->names);
}

static void after_value(struct json *json)
{
	json->state = json->depth ? AFTER : DONE;
}

static void token_begin(struct json *json, enum json_token token, enum state state)
{
	json->token = (uint8_t)token;
	json->state = (uint8_t)state;
	json->begun = false;
	json->number = NUMBER_START;
}

static void open_container(struct json *json, const uint8_t *at)
{
	bool object = *at == '{';
	uint8_t bit = (uint8_t)(1u << json->depth % 8), *byte = &json->objects[json->depth / 8];

	if (json->depth == JSON_DEPTH_MAX) {
		json->fault = FAULT_TOO_LARGE;
		return;
	}
	if (object) {
		json->fault = (uint8_t)json_names_open(&json->names);
		*byte |= bit;
	} else {
		json->arrays++;
		*byte = (uint8_t)(*byte & ~bit);
	}
	json->depth++;
	json->in_object = object;
	json->state = object ? NAME_OR_END : VALUE_OR_END;
	if (json->sink && json->sink->open && !json->fault)
		json->fault = (uint8_t)json->sink->open(json->context, at, object);
}

/* end: past its bracket. */
static const uint8_t *close_container(struct json *json, const uint8_t *end)
{
	unsigned int outer = json->depth - 2u;

	if (json->sink && json->sink->close)
		json->fault = (uint8_t)json->sink->close(json->context, end);
	if (json->in_object)
		json_names_close(&json->names);
	else
		json->arrays--;
	json->depth--;
	json->in_object = json->depth && (json->objects[outer / 8] >> outer % 8 & 1);
	after_value(json);
	return end;
}

static enum number number_next(enum number at, uint8_t c)
{
	bool digit = c >= '0' && c <= '9';

	switch (at) {
	case NUMBER_START:
		return c == '-' ? MINUS : c == '0' ? ZERO : INTEGER;
	case MINUS:
		return c == '0' ? ZERO : digit ? INTEGER : BROKEN;
	case INTEGER:
		if (digit)
			return INTEGER;
		/* fall through */
	case ZERO:
		return c == '.' ? DOT : (c | 0x20) == 'e' ? EXPONENT : BROKEN;
	case DOT:
		return digit ? FRACTION : BROKEN;
	case FRACTION:
		return digit ? FRACTION : (c | 0x20) == 'e' ? EXPONENT : BROKEN;
	case EXPONENT:
		if (c == '+' || c == '-')
			return SIGN;
		/* fall through */
	case SIGN:
	case POWER:
		return digit ? POWER : BROKEN;
	default:
		return BROKEN;
	}
}

static bool number_whole(enum number at)
{
	return at == ZERO || at == INTEGER || at == FRACTION || at == POWER;
}

static const uint8_t *number(struct json *json, const uint8_t *p, const uint8_t *end)
{
	enum number at = (enum number)json->number, next;
	const uint8_t *run = p;

	while (p < end && (next = number_next(at, *p)) != BROKEN) {
		at = next;
		p++;
		while (at == INTEGER && p < end && *p >= '0' && *p <= '9')
			p++;
	}
	json->number = (uint8_t)at;
	json_emit(json, run, (size_t)(p - run), (uint64_t)(p - run), p < end && number_whole(at));
	if (p == end || json->fault)
		return p;
	if (number_whole(at))
		after_value(json);
	else
		json->fault = FAULT_BAD_JSON;
	return p;
}

static inline const uint8_t *literal(struct json *json, const uint8_t *p, const uint8_t *end)
{
	const char *text = literals[json->literal];

	while (p < end && text[json->number]) {
		if (*p != (uint8_t)text[json->number]) {
			json->fault = FAULT_BAD_JSON;
			return p;
		}
		json->number++;
		p++;
	}
	if (!text[json->number]) {
		after_value(json);
		if (json->sink && json->sink->literal)
			json->fault = (uint8_t)json->sink->literal(json->context, (uint8_t)text[0]);
	}
	return p;
}

static void after_string(struct json *json)
{
	if (json->token == JSON_NAME)
		json->state = COLON;
	else
		after_value(json);
}

static const uint8_t *string(struct json *json, const uint8_t *p, const uint8_t *end)
{
	bool closed = false;

	p = json_string_scan(json, p, end, &closed);
	if (closed)
		after_string(json);
	return p;
}

/*
 * A string begins after its quote. Most lie in one piece, of ASCII and without
 * escapes, and are dealt with here at once; any other is left to string().
 */
static inline __attribute__((always_inline)) const uint8_t *
begin_string(struct json *json, enum json_token token, const uint8_t *p, const uint8_t *end)
{
	const uint8_t *stop = json_skip_plain(p, end);
	size_t len = (size_t)(stop - p);
	enum fault fault = FAULT_NONE;

	if (stop == end || *stop != '"') {
		if (token == JSON_NAME)
			json->fault = (uint8_t)json_names_begin(&json->names);
		token_begin(json, token, STRING);
		return p;
	}
	if (json->sink)
		fault = json->sink->text(json->context, token, JSON_FIRST | JSON_LAST, p, len, len);
	if (!fault && token == JSON_NAME)
		fault = json_names_add(&json->names, p, len);
	json->fault = (uint8_t)fault;
	json->token = (uint8_t)token;
	after_string(json);
	return stop + 1;
}

/* A value, by its first character. */
static const uint8_t *value(struct json *json, const uint8_t *p, const uint8_t *end)
{
	switch (*p) {
	case '"':
		return begin_string(json, JSON_STRING, p + 1, end);
	case '{':
	case '[':
		open_container(json, p);
		return p + !json->fault;
	case '-':
	case '0' ... '9':
		token_begin(json, JSON_NUMBER, NUMBER);
		return number(json, p, end);
	case 't':
	case 'f':
	case 'n':
		json->literal = *p == 't' ? 0 : *p == 'f' ? 1 : 2;
		json->number = 0;
		json->state = LITERAL;
		return literal(json, p, end);
	default:
		json->fault = FAULT_BAD_JSON;
		return p;
	}
}

/* A name begins after its quote; what nearly always follows is taken along. */
static const uint8_t *begin_name(struct json *json, const uint8_t *p, const uint8_t *end)
{
	p = begin_string(json, JSON_NAME, p, end);
	if (json->fault || json->state != COLON || p == end || *p != ':')
		return p;
	json->state = VALUE;
	p++;
	return p<end && * p> ' ' ? value(json, p, end) : p;
}

static bool is_space(uint8_t c)
{
	return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* After a value in a container. */
static const uint8_t *after(struct json *json, const uint8_t *p, const uint8_t *end)
{
	if (*p == ',') {
		json->state = json->in_object ? NAME : VALUE;
		if (json->in_object && p + 1 < end && p[1] == '"')
			return begin_name(json, p + 2, end);
	} else if (*p == (json->in_object ? '}' : ']')) {
		return close_container(json, p + 1);
	} else {
		json->fault = FAULT_BAD_JSON;
		return p;
	}
	return p + 1;
}

/* One step between tokens, at a character that is no white space. */
static const uint8_t *structure(struct json *json, const uint8_t *p, const uint8_t *end)
{
	switch ((enum state)json->state) {
	case COLON:
		if (*p != ':')
			break;
		json->state = VALUE;
		return p + 1;
	case AFTER:
		return after(json, p, end);
	case NAME_OR_END:
		if (*p == '}')
			return close_container(json, p + 1);
		/* fall through */
	case NAME:
		if (*p != '"')
			break;
		return begin_name(json, p + 1, end);
	case VALUE_OR_END:
		if (*p == ']')
			return close_container(json, p + 1);
		/* fall through */
	case START:
	case VALUE:
		return value(json, p, end);
	default:
		break;
	}
	json->fault = FAULT_BAD_JSON;
	return p;
}

enum fault json_scan(struct json *json, const uint8_t *data, size_t len, size_t *ret_used)
{
	const uint8_t *p = data, *end = data + len;

	while (p < end && !json->fault) {
		if (json->state > LITERAL) {
			if (*p > ' ' || !is_space(*p)) {
				p = structure(json, p, end);
				continue;
			}
			if (*p == '\n' && json->by_line)
				break;
			p++;
		} else if (json->state == NUMBER) {
			p = number(json, p, end);
		} else if (json->state == LITERAL) {
			p = literal(json, p, end);
		} else {
			p = string(json, p, end);
		}
	}
	*ret_used = (size_t)(p - data);
	return (enum fault)json->fault;
}

bool json_note(const struct json *json, struct json_mark *ret_mark)
{
	return json->depth == 2 && json->arrays == 1 &&
	       json_names_note(&json->names, &ret_mark->names);
}

bool json_recall(struct json *json, const struct json_mark *mark)
{
	if (json->state != START || !json_names_recall(&json->names, &mark->names))
		return false;
	/* An object, and in it an array. */
	json->objects[0] = 1;
	json->depth = 2;
	json->arrays = 1;
	json->in_object = false;
	json->state = VALUE_OR_END;
	return true;
}

bool json_blank(const struct json *json)
{
	return json->state == START;
}

enum fault json_end(struct json *json)
{
	if (!json->fault && json->state == NUMBER && !json->depth &&
	    number_whole((enum number)json->number)) {
		json_emit(json, NULL, 0, 0, true);
		json->state = DONE;
	}
	if (!json->fault && json->state != DONE)
		json->fault = FAULT_BAD_JSON;
	if (json->fault)
		return (enum fault)json->fault;
	json->state = START;
	json_names_clear(&json->names);
	return FAULT_NONE;
}

size_t json_memory(const struct json *json)
{
	return json_names_memory(&json->names);
}
