/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verdicts of interceptors, beside what jansson reads of them. Option 0, odd: the host made
 * it. The data is the answer, as it came.
 */
#include "core/verdict.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "fuzz/fuzz.h"
#include "fuzz/json_reference.h"
#include "fuzz/targets.h"

/* Of one answer: the reader itself, and its text. */
#define MEMORY_MAX(len) ((64u << 10) + 4 * (len))

static enum verdict_fault parse(const uint8_t *json, size_t len, bool by_host,
				struct verdict *ret_verdict)
{
	uint8_t *copy = fuzz_copy(json, len);
	enum verdict_fault fault;

	fuzz_memory_reset();
	fuzz_memory_enter();
	fault = verdict_parse(copy, len, by_host, ret_verdict);
	fuzz_memory_leave();
	fuzz_check(!fuzz_memory_now() && fuzz_memory_peak() <= MEMORY_MAX(len));
	fuzz_check(fault < _VERDICT_FAULT_MAX && fault != VERDICT_NO_MEMORY);
	free(copy);
	return fault;
}

/* What a peer, a metric and the audit trail may be told. */
static void check_bounds(const struct verdict *verdict, size_t len, bool by_host)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_.:-";
	const char *end = memchr(verdict->reason, 0, sizeof(verdict->reason));
	size_t digits = verdict->has_evidence ? SHA256_HEX_SIZE - 1 : 0;

	fuzz_check(verdict->decision < _VERDICT_DECISION_MAX);
	fuzz_check(end && strspn(verdict->reason, letters) == (size_t)(end - verdict->reason));
	fuzz_check(strncmp(verdict->reason, "host_error:", 11) != 0 ||
		   (by_host && verdict->decision == VERDICT_DENY));
	fuzz_check(!verdict->approval || verdict->decision == VERDICT_DENY);
	fuzz_check(verdict->warnings <= len);
	fuzz_check(strspn(verdict->evidence, "0123456789abcdef") == digits &&
		   !verdict->evidence[digits]);
}

static bool same(const struct verdict *a, const struct verdict *b)
{
	return a->decision == b->decision && a->approval == b->approval &&
	       strcmp(a->reason, b->reason) == 0 && a->warnings == b->warnings &&
	       a->has_evidence == b->has_evidence && strcmp(a->evidence, b->evidence) == 0;
}

/* A member that nobody knows, and blanks around it all, change nothing. */
static void check_more(const uint8_t *json, size_t len, bool by_host, const struct verdict *verdict)
{
	static const char before[] = " \n", member[] = "{\"a member of its own\":[{}],",
			  after[] = "\r\t ";
	const uint8_t *open = memchr(json, '{', len);
	size_t rest = len - (size_t)(open + 1 - json), at = 0;
	uint8_t *longer = malloc(len + sizeof(before) + sizeof(member) + sizeof(after));
	struct verdict other;

	fuzz_check(longer != NULL);
	memcpy(longer, before, sizeof(before) - 1);
	at += sizeof(before) - 1;
	memcpy(longer + at, member, sizeof(member) - 1);
	at += sizeof(member) - 1;
	memcpy(longer + at, open + 1, rest);
	at += rest;
	memcpy(longer + at, after, sizeof(after) - 1);
	at += sizeof(after) - 1;
	if (!memmem(open + 1, rest, member + 2, sizeof(member) - 8)) {
		fuzz_check(parse(longer, at, by_host, &other) == VERDICT_OK);
		fuzz_check(same(verdict, &other));
	}
	free(longer);
}

static bool is_word(const json_t *value, const char *word)
{
	return json_is_string(value) && json_string_length(value) == strlen(word) &&
	       !strcmp(json_string_value(value), word);
}

static bool is_text(const json_t *value)
{
	return !value || json_is_string(value);
}

static bool is_reason(const json_t *value, bool reserved)
{
	return !value || (json_is_string(value) &&
			  (reserved || strncmp(json_string_value(value), "host_error:", 11) != 0));
}

static bool are_warnings(const json_t *warnings)
{
	size_t count = json_array_size(warnings);

	for (size_t i = 0; i < count; i++) {
		const json_t *warning = json_array_get(warnings, i);

		if (!json_is_object(warning) ||
		    !is_reason(json_object_get(warning, "reason"), false) ||
		    !is_text(json_object_get(warning, "message")))
			return false;
	}
	return !warnings || json_is_array(warnings);
}

static bool are_labels(const json_t *labels)
{
	size_t count = json_array_size(labels);

	for (size_t i = 0; i < count; i++)
		if (!json_is_string(json_array_get(labels, i)))
			return false;
	return !labels || json_is_array(labels);
}

/* The rules of core/verdict.h as they stand there; paths and the size of evidence are not read. */
static bool is_shaped(const json_t *value, bool by_host, bool *ret_vague)
{
	const json_t *decision = json_object_get(value, "decision");
	const json_t *approval = json_object_get(value, "approval");
	const json_t *transform = json_object_get(value, "transform");
	const json_t *evidence = json_object_get(value, "evidence");
	bool deny = is_word(decision, "deny"), transforms = is_word(decision, "transform");

	*ret_vague = transform || evidence;
	return (deny || transforms || is_word(decision, "allow")) &&
	       is_reason(json_object_get(value, "reason"), by_host && deny) &&
	       is_text(json_object_get(value, "message")) &&
	       are_warnings(json_object_get(value, "warnings")) &&
	       (!approval || (deny && json_is_object(approval))) &&
	       (transforms ? json_is_object(transform) : !transform) &&
	       (!transform || json_is_string(json_object_get(transform, "path"))) &&
	       (!evidence || json_is_object(evidence)) &&
	       are_labels(json_object_get(value, "result_labels"));
}

static void compare(const uint8_t *json, size_t len, bool by_host, enum verdict_fault fault,
		    const struct verdict *verdict)
{
	enum json_reference reference = json_reference(json, len);
	json_t *value, *warnings;
	bool vague, shaped;

	if (reference == JSON_REFERENCE_CANNOT)
		return;
	fuzz_check((reference == JSON_REFERENCE_REFUSES) == (fault == VERDICT_NOT_JSON));
	if (fault == VERDICT_NOT_JSON)
		return;
	value = json_loadb((const char *)json, len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	warnings = json_object_get(value, "warnings");
	shaped = is_shaped(value, by_host, &vague);
	fuzz_check(shaped || fault != VERDICT_OK);
	fuzz_check(!shaped || vague || fault == VERDICT_OK);
	if (fault == VERDICT_OK) {
		fuzz_check(!strcmp(verdict_decision_name(verdict->decision),
				   json_string_value(json_object_get(value, "decision"))));
		fuzz_check(verdict->warnings == json_array_size(warnings));
		fuzz_check(verdict->has_evidence == !!json_object_get(value, "evidence"));
	}
	json_decref(value);
}

void fuzz_verdict(const uint8_t *bytes, size_t len)
{
	static const uint8_t first[] = "{\"decision\":\"deny\",\"evidence\":{}}";
	struct verdict verdict, untouched;
	struct fuzz_input input;
	enum verdict_fault fault;
	bool by_host;

	if (!fuzz_input_init(&input, bytes, len))
		return;
	/* The library keeps what its first digest needs. */
	fuzz_check(verdict_parse(first, sizeof(first) - 1, false, &verdict) == VERDICT_OK);
	by_host = input.options[0] & 1;
	memset(&verdict, 0x5a, sizeof(verdict));
	untouched = verdict;
	fault = parse(input.data, input.len, by_host, &verdict);
	if (fault != VERDICT_OK) {
		fuzz_check(!memcmp(&verdict, &untouched, sizeof(verdict)));
	} else {
		check_bounds(&verdict, input.len, by_host);
		check_more(input.data, input.len, by_host, &verdict);
	}
	compare(input.data, input.len, by_host, fault, &verdict);
}
