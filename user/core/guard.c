/* SPDX-License-Identifier: Apache-2.0 */
#include "core/guard.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The largest double has 309 digits before its point. */
#define AGE_SIZE     320u
#define TIMEOUT_SIZE 40u

static bool is_empty(const char *hash)
{
	return !hash || !*hash;
}

static void format_age(double age, char ret_text[static AGE_SIZE])
{
	snprintf(ret_text, AGE_SIZE, "%.1f", age);
}

/*
 * The fewest digits that read back the same, with at least one decimal; in
 * exponents outside -4..15 as a power of ten, which needs no decimal.
 */
static void format_seconds(double value, char ret_text[static TIMEOUT_SIZE])
{
	char text[TIMEOUT_SIZE];
	int digits = 1, exponent;

	for (; digits < 17; digits++) {
		snprintf(text, sizeof(text), "%.*e", digits - 1, value);
		if (strtod(text, NULL) == value)
			break;
	}
	snprintf(text, sizeof(text), "%.*e", digits - 1, value);
	if (!isfinite(value)) {
		strcpy(ret_text, text);
		return;
	}
	exponent = atoi(strchr(text, 'e') + 1);
	if (exponent < -4 || exponent >= 16)
		strcpy(ret_text, text);
	else
		snprintf(ret_text, TIMEOUT_SIZE, "%.*f", MAX(digits - 1 - exponent, 1), value);
}

/* The digest of strings one after the other, up to a NULL. */
static int digest_parts(const char *const *parts, char ret_hex[static SHA256_HEX_SIZE])
{
	cleanup(sha256_done) struct sha256 sha256 = {0};
	int r = sha256_init(&sha256);

	for (; r == 0 && *parts; parts++)
		r = sha256_update(&sha256, *parts, strlen(*parts));
	return r < 0 ? r : sha256_hex(&sha256, ret_hex);
}

enum guard_verdict guard_judge(enum guard_mode mode, bool partial, double age, double timeout)
{
	/* A mode that is none of the framed ones cannot be parsed either. */
	if (mode != GUARD_LENGTH_PREFIXED && mode != GUARD_DELIMITED)
		return GUARD_DISCARD_AND_RESET;
	if (!partial)
		return GUARD_MESSAGE_COMPLETE;
	/* An age that is no number never proves that a buffer is young enough. */
	if (!(age <= timeout))
		return GUARD_STALE_PARTIAL_BUFFER;
	return GUARD_MESSAGE_IN_PROGRESS;
}

static int digest_manifest(const struct guard_record *record, enum guard_verdict verdict,
			   const char *age, char ret_hex[static SHA256_HEX_SIZE])
{
	char expected[24] = "UNKNOWN";

	if (record->expected_size)
		snprintf(expected, sizeof(expected), "%" PRIu64, record->expected_size);
	switch (verdict) {
	case GUARD_MESSAGE_COMPLETE:
		return digest_parts((const char *const[]){"CLEAN", NULL}, ret_hex);
	case GUARD_STALE_PARTIAL_BUFFER:
		return digest_parts((const char *const[]){"STALE:", age, NULL}, ret_hex);
	case GUARD_MESSAGE_IN_PROGRESS:
		return digest_parts((const char *const[]){"{\"age\": \"", age, "\", \"buffer\": \"",
							  record->partial_hash,
							  "\", \"expected\": \"", expected, "\"}",
							  NULL},
				    ret_hex);
	default:
		return digest_parts((const char *const[]){"UNFRAMED", NULL}, ret_hex);
	}
}

static void write_directive(const struct guard_record *record, enum guard_verdict verdict,
			    const char *age, char ret_text[static GUARD_DIRECTIVE_SIZE])
{
	static const char *const fixed[] = {
		[GUARD_DISCARD_AND_RESET] = "HALT: Unframed stream cannot be parsed reliably. "
					    "Implement framing.",
		[GUARD_MESSAGE_COMPLETE] = "PROCEED: No partial buffer. Stream is at a clean "
					   "message boundary.",
		[GUARD_MESSAGE_IN_PROGRESS] = "WAIT: Partial message in progress. Await remaining "
					      "bytes.",
	};
	char timeout[TIMEOUT_SIZE];

	if (verdict != GUARD_STALE_PARTIAL_BUFFER) {
		strcpy(ret_text, fixed[verdict]);
		return;
	}
	format_seconds(record->timeout, timeout);
	snprintf(ret_text, GUARD_DIRECTIVE_SIZE,
		 "HALT: Partial buffer is %ss old, exceeding %ss timeout. Discard.", age, timeout);
}

int guard_decide(const struct guard_record *record, double now, struct guard_decision *ret_decision)
{
	double age = now - record->last_byte;
	enum guard_verdict verdict =
		guard_judge(record->mode, !is_empty(record->partial_hash), age, record->timeout);
	char digest[SHA256_HEX_SIZE];
	char text[AGE_SIZE];
	int r;

	format_age(age, text);
	r = digest_manifest(record, verdict, text, digest);
	if (r < 0)
		return r;
	ret_decision->verdict = verdict;
	memcpy(ret_decision->digest, digest, sizeof(digest));
	write_directive(record, verdict, text, ret_decision->directive);
	return 0;
}

const char *guard_verdict_name(enum guard_verdict verdict)
{
	static const char *const names[] = {
		[GUARD_DISCARD_AND_RESET] = "DISCARD_AND_RESET",
		[GUARD_MESSAGE_COMPLETE] = "MESSAGE_COMPLETE",
		[GUARD_STALE_PARTIAL_BUFFER] = "STALE_PARTIAL_BUFFER",
		[GUARD_MESSAGE_IN_PROGRESS] = "MESSAGE_IN_PROGRESS",
	};

	_Static_assert(ARRAY_SIZE(names) == _GUARD_VERDICT_MAX, "a verdict without a name");
	return (unsigned int)verdict < _GUARD_VERDICT_MAX ? names[verdict] : "UNKNOWN";
}

bool guard_partial_intact(const char *recorded, const uint8_t *held, size_t len)
{
	cleanup(sha256_done) struct sha256 sha256 = {0};
	char hex[SHA256_HEX_SIZE];

	if (is_empty(recorded))
		return len == 0;
	if (sha256_init(&sha256) < 0 || sha256_update(&sha256, held, len) < 0 ||
	    sha256_hex(&sha256, hex) < 0)
		return false;
	return strcmp(recorded, hex) == 0;
}
