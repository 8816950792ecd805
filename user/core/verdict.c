/* SPDX-License-Identifier: Apache-2.0 */
#include "core/verdict.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "core/utf8.h"
#include "core/verdict_path.h"

enum type { ABSENT, STRING, NUMBER, LITERAL, OBJECT, ARRAY };

enum member {
	DECISION,
	REASON,
	MESSAGE,
	WARNINGS,
	APPROVAL,
	TRANSFORM,
	EVIDENCE,
	LABELS,
	MEMBER_COUNT,
	OTHER = MEMBER_COUNT,
};

static const char *const members[] = {
	[DECISION] = "decision", [REASON] = "reason",	     [MESSAGE] = "message",
	[WARNINGS] = "warnings", [APPROVAL] = "approval",    [TRANSFORM] = "transform",
	[EVIDENCE] = "evidence", [LABELS] = "result_labels",
};

/* Strings whose text is looked at. */
enum wanted { NOTHING, OF_DECISION, OF_REASON, OF_PATH, OF_WARNING };

static const char host_error[] = "host_error:";

/*
 * What one scan has gathered. Members are told from another by the name of the innermost
 * object, and by how many containers are around the value.
 */
struct reading {
	struct json json;
	bool is_object; /* the value as a whole */
	enum member at; /* the member of it that is under way */
	enum type types[MEMBER_COUNT + 1];
	bool good_path; /* of transform */
	bool bad_warnings, bad_labels;
	bool host_reason;
	uint32_t warnings;
	enum verdict_decision decision;
	char reason[VERDICT_REASON_MAX + 1];
	char warned[VERDICT_WARNED_MAX][VERDICT_REASON_MAX + 1];
	const uint8_t *evidence, *evidence_end;
	enum wanted wanted;
	uint16_t high; /* a surrogate whose other half has to be next */
	size_t len;
	uint8_t *text; /* of the string that is wanted; it has room for the whole verdict */
};

static bool text_is(const uint8_t *text, size_t len, const char *word)
{
	return len == strlen(word) && memcmp(text, word, len) == 0;
}

static bool name_is(const struct reading *reading, const char *word)
{
	size_t len;
	const uint8_t *name = json_names_last(&reading->json.names, &len);

	return text_is(name, len, word);
}

static enum member find_member(const struct reading *reading)
{
	for (int m = 0; m < MEMBER_COUNT; m++)
		if (name_is(reading, members[m]))
			return (enum member)m;
	return OTHER;
}

static void member_begins(struct reading *reading, enum type type)
{
	reading->at = find_member(reading);
	reading->types[reading->at] = type;
	if (type == STRING)
		reading->wanted = reading->at == DECISION ? OF_DECISION
				  : reading->at == REASON ? OF_REASON
							  : NOTHING;
}

/* A value inside of a member. */
static void inner_begins(struct reading *reading, enum type type)
{
	if (reading->at == WARNINGS) {
		reading->bad_warnings |= type != OBJECT;
		reading->warnings++;
	} else if (reading->at == LABELS) {
		reading->bad_labels |= type != STRING;
	} else if (reading->at == TRANSFORM && type == STRING && name_is(reading, "path")) {
		reading->wanted = OF_PATH;
	}
}

static void warning_member_begins(struct reading *reading, enum type type)
{
	bool reason = name_is(reading, "reason");

	if (!reason && !name_is(reading, "message"))
		return;
	reading->bad_warnings |= type != STRING;
	if (reason && type == STRING)
		reading->wanted = OF_WARNING;
}

/* depth: containers around the value. */
static void value_begins(struct reading *reading, enum type type, unsigned int depth)
{
	reading->wanted = NOTHING;
	reading->len = 0;
	if (depth == 0)
		reading->is_object = type == OBJECT;
	else if (!reading->is_object)
		return;
	else if (depth == 1)
		member_begins(reading, type);
	else if (depth == 2)
		inner_begins(reading, type);
	else if (depth == 3 && reading->at == WARNINGS)
		warning_member_begins(reading, type);
}

static bool is_host_reason(const struct reading *reading)
{
	size_t len = strlen(host_error);

	return reading->len >= len && memcmp(reading->text, host_error, len) == 0;
}

/* What may be told of a reason. */
static void keep_reason(const struct reading *reading, char kept[VERDICT_REASON_MAX + 1])
{
	static const char unnamed[] = "unnamed";
	bool good = reading->len <= VERDICT_REASON_MAX;

	for (size_t i = 0; good && i < reading->len; i++) {
		uint8_t c = reading->text[i];

		good = (c >= 'a' && c <= 'z') || verdict_is_digit(c) || (c && strchr("_.:-", c));
	}
	if (good)
		memcpy(kept, reading->text, reading->len);
	else
		memcpy(kept, unnamed, sizeof(unnamed));
}

static void string_ends(struct reading *reading)
{
	switch (reading->wanted) {
	case OF_DECISION:
		while (reading->decision < _VERDICT_DECISION_MAX &&
		       !text_is(reading->text, reading->len,
				verdict_decision_name(reading->decision)))
			reading->decision++;
		break;
	case OF_REASON:
		reading->host_reason = is_host_reason(reading);
		keep_reason(reading, reading->reason);
		break;
	case OF_PATH:
		reading->good_path = verdict_path_is_good(reading->text, reading->len);
		break;
	case OF_WARNING:
		reading->bad_warnings |= is_host_reason(reading);
		if (reading->warnings <= VERDICT_WARNED_MAX)
			keep_reason(reading, reading->warned[reading->warnings - 1]);
		break;
	case NOTHING:
		break;
	}
}

static void keep_text(struct reading *reading, const uint8_t *text, size_t len)
{
	if (reading->wanted == NOTHING)
		return;
	memcpy(reading->text + reading->len, text, len);
	reading->len += len;
}

static enum fault hear_text(void *context, enum json_token token, unsigned int flags,
			    const uint8_t *text, size_t len, uint64_t runes)
{
	struct reading *reading = context;

	(void)runes;
	if (reading->high)
		return FAULT_BAD_JSON;
	if (token == JSON_NAME)
		return FAULT_NONE;
	if (flags & JSON_FIRST)
		value_begins(reading, token == JSON_STRING ? STRING : NUMBER, reading->json.depth);
	if (token == JSON_NUMBER)
		return FAULT_NONE;
	keep_text(reading, text, len);
	if (flags & JSON_LAST)
		string_ends(reading);
	return FAULT_NONE;
}

/* A high one, then a low one: alone, either is no text. */
static enum fault hear_surrogate(void *context, enum json_token token, unsigned int flags,
				 uint32_t unit)
{
	struct reading *reading = context;
	uint8_t bytes[UTF8_MAX];
	uint32_t rune;

	if (token == JSON_STRING && (flags & JSON_FIRST))
		value_begins(reading, STRING, reading->json.depth);
	if (utf8_is_low_surrogate(unit) != (reading->high != 0))
		return FAULT_BAD_JSON;
	if (!reading->high) {
		reading->high = (uint16_t)unit;
		return FAULT_NONE;
	}
	rune = 0x10000 + ((reading->high - 0xd800u) << 10) + (unit - 0xdc00u);
	reading->high = 0;
	if (token == JSON_STRING)
		keep_text(reading, bytes, utf8_encode(rune, bytes));
	return FAULT_NONE;
}

static enum fault hear_literal(void *context, uint8_t first)
{
	struct reading *reading = context;

	(void)first;
	value_begins(reading, LITERAL, reading->json.depth);
	return FAULT_NONE;
}

static enum fault hear_open(void *context, const uint8_t *at, bool object)
{
	struct reading *reading = context;

	value_begins(reading, object ? OBJECT : ARRAY, reading->json.depth - 1u);
	if (reading->json.depth == 2 && reading->at == EVIDENCE)
		reading->evidence = at;
	return FAULT_NONE;
}

static enum fault hear_close(void *context, const uint8_t *end)
{
	struct reading *reading = context;

	if (reading->json.depth == 2 && reading->at == EVIDENCE)
		reading->evidence_end = end;
	return FAULT_NONE;
}

static const struct json_sink sink = {
	.text = hear_text,
	.surrogate = hear_surrogate,
	.literal = hear_literal,
	.open = hear_open,
	.close = hear_close,
};

/* The longest that RFC 8785 can make of a number. */
#define NUMBER_MAX 25u

/* A number's length, and what it counts: only one with an exponent can be written longer. */
static size_t number_length(const uint8_t *p, const uint8_t *end, size_t *ret_counts)
{
	const uint8_t *begin = p;
	bool exponent = false;

	while (p < end && (verdict_is_digit(*p) || strchr("+-.eE", *p))) {
		exponent = exponent || (*p | 0x20) == 'e';
		p++;
	}
	*ret_counts = (size_t)(p - begin);
	if (exponent)
		*ret_counts = MAX(*ret_counts, (size_t)NUMBER_MAX);
	return (size_t)(p - begin);
}

/* An upper bound of the bytes that JSON has in its canonical form. */
static size_t measure(const uint8_t *p, const uint8_t *end)
{
	bool in_string = false;
	size_t size = 0;

	while (p < end) {
		size_t step = 1, counts = 1;

		if (in_string) {
			in_string = *p != '"';
			step = counts = *p == '\\' ? 2 : 1;
		} else if (*p == '-' || verdict_is_digit(*p)) {
			step = number_length(p, end, &counts);
		} else {
			in_string = *p == '"';
			counts = !strchr(" \t\r\n", *p);
		}
		size += counts;
		p += step;
	}
	return size;
}

static bool is_bad_evidence(const struct reading *reading)
{
	if (reading->types[EVIDENCE] == ABSENT)
		return false;
	return reading->types[EVIDENCE] != OBJECT ||
	       measure(reading->evidence, reading->evidence_end) > VERDICT_EVIDENCE_MAX;
}

static bool is_bad_transform(const struct reading *reading)
{
	if (reading->decision != VERDICT_TRANSFORM)
		return reading->types[TRANSFORM] != ABSENT;
	/* It is a good one only as a string in an object. */
	return !reading->good_path;
}

static bool is_bad(enum type type, enum type wanted)
{
	return type != ABSENT && type != wanted;
}

static enum verdict_fault check_shape(const struct reading *reading, bool by_host)
{
	const enum type *types = reading->types;
	bool deny = reading->decision == VERDICT_DENY;

	if (!reading->is_object)
		return VERDICT_NOT_OBJECT;
	if (types[DECISION] != STRING || reading->decision == _VERDICT_DECISION_MAX)
		return VERDICT_BAD_DECISION;
	if (is_bad(types[REASON], STRING) || (reading->host_reason && !(deny && by_host)))
		return VERDICT_BAD_REASON;
	if (is_bad(types[MESSAGE], STRING))
		return VERDICT_BAD_MESSAGE;
	if (is_bad(types[WARNINGS], ARRAY) || reading->bad_warnings)
		return VERDICT_BAD_WARNINGS;
	if (types[APPROVAL] != ABSENT && (types[APPROVAL] != OBJECT || !deny))
		return VERDICT_BAD_APPROVAL;
	if (is_bad_transform(reading))
		return VERDICT_BAD_TRANSFORM;
	if (is_bad_evidence(reading))
		return VERDICT_BAD_EVIDENCE;
	if (is_bad(types[LABELS], ARRAY) || reading->bad_labels)
		return VERDICT_BAD_LABELS;
	return VERDICT_OK;
}

static enum verdict_fault scan(struct reading *reading, const uint8_t *json, size_t len)
{
	size_t used;
	enum fault fault = json_scan(&reading->json, json, len, &used);

	if (!fault)
		fault = json_end(&reading->json);
	if (fault == FAULT_NO_MEMORY)
		return VERDICT_NO_MEMORY;
	return fault ? VERDICT_NOT_JSON : VERDICT_OK;
}

static void free_reading(struct reading **reading)
{
	if (!*reading)
		return;
	json_done(&(*reading)->json);
	free((*reading)->text);
	free(*reading);
}

static struct reading *new_reading(size_t len)
{
	cleanup(free_reading) struct reading *reading = calloc(1, sizeof(*reading));

	if (!reading)
		return NULL;
	json_init(&reading->json, &sink, reading);
	reading->text = malloc(len + 1);
	return reading->text ? take_ptr(reading) : NULL;
}

/* The digest in the 65 bytes at hex. */
static int digest(const uint8_t *at, const uint8_t *end, char hex[static SHA256_HEX_SIZE])
{
	cleanup(sha256_done) struct sha256 sha256 = {0};
	int r = sha256_init(&sha256);

	if (!r)
		r = sha256_update(&sha256, at, (size_t)(end - at));
	return r ? r : sha256_hex(&sha256, hex);
}

enum verdict_fault verdict_parse(const uint8_t *json, size_t len, bool by_host,
				 struct verdict *ret_verdict)
{
	cleanup(free_reading) struct reading *reading = NULL;
	struct verdict verdict = {0};
	enum verdict_fault fault;

	if (len > VERDICT_SIZE_MAX)
		return VERDICT_NOT_JSON;
	reading = new_reading(len);
	if (!reading)
		return VERDICT_NO_MEMORY;
	fault = scan(reading, json, len);
	if (fault == VERDICT_OK)
		fault = check_shape(reading, by_host);
	if (fault != VERDICT_OK)
		return fault;
	verdict.decision = reading->decision;
	verdict.approval = reading->types[APPROVAL] != ABSENT;
	memcpy(verdict.reason, reading->reason, sizeof(verdict.reason));
	verdict.warnings = reading->warnings;
	memcpy(verdict.warned, reading->warned, sizeof(verdict.warned));
	verdict.has_evidence = reading->evidence;
	if (reading->evidence &&
	    digest(reading->evidence, reading->evidence_end, verdict.evidence) < 0)
		return VERDICT_NO_MEMORY;
	*ret_verdict = verdict;
	return VERDICT_OK;
}

enum session_result verdict_record(struct session *session, enum session_track track, int task,
				   uint64_t start, uint64_t end, const struct verdict *verdict)
{
	enum session_outcome outcome = _SESSION_OUTCOME_MAX;

	switch (verdict->decision) {
	case VERDICT_ALLOW:
		outcome = SESSION_CLEARED;
		break;
	case VERDICT_DENY:
		outcome = SESSION_DENIED;
		break;
	case VERDICT_TRANSFORM:
		outcome = SESSION_TRANSFORMED;
		break;
	case _VERDICT_DECISION_MAX:
		break;
	}
	return session_outcome(session, track, task, start, end, outcome);
}

const char *verdict_decision_name(enum verdict_decision decision)
{
	static const char *const names[] = {
		[VERDICT_ALLOW] = "allow",
		[VERDICT_DENY] = "deny",
		[VERDICT_TRANSFORM] = "transform",
	};

	_Static_assert(ARRAY_SIZE(names) == _VERDICT_DECISION_MAX, "a decision without a name");
	return (unsigned int)decision < _VERDICT_DECISION_MAX ? names[decision] : "unknown";
}

const char *verdict_fault_name(enum verdict_fault fault)
{
	static const char *const names[] = {
		[VERDICT_OK] = "ok",
		[VERDICT_NOT_JSON] = "not_json",
		[VERDICT_NOT_OBJECT] = "not_object",
		[VERDICT_BAD_DECISION] = "bad_decision",
		[VERDICT_BAD_REASON] = "bad_reason",
		[VERDICT_BAD_MESSAGE] = "bad_message",
		[VERDICT_BAD_WARNINGS] = "bad_warnings",
		[VERDICT_BAD_APPROVAL] = "bad_approval",
		[VERDICT_BAD_TRANSFORM] = "bad_transform",
		[VERDICT_BAD_EVIDENCE] = "bad_evidence",
		[VERDICT_BAD_LABELS] = "bad_labels",
		[VERDICT_NO_MEMORY] = "no_memory",
	};

	_Static_assert(ARRAY_SIZE(names) == _VERDICT_FAULT_MAX, "a fault without a name");
	return (unsigned int)fault < _VERDICT_FAULT_MAX ? names[fault] : "unknown";
}
