/* SPDX-License-Identifier: Apache-2.0 */
/* `sluice-driver guard`: asks the framing guard about each record. */
#include "driver.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/guard.h"

/* An absent or unknown mode cannot be parsed: unframed. */
static enum guard_mode find_mode(const char *name)
{
	if (name && !strcmp(name, "LENGTH_PREFIXED"))
		return GUARD_LENGTH_PREFIXED;
	if (name && !strcmp(name, "DELIMITED"))
		return GUARD_DELIMITED;
	return GUARD_UNFRAMED;
}

static bool absent(const json_t *value)
{
	return !value || json_is_null(value);
}

static json_t *answer(const json_t *record, void *context)
{
	const json_t *hash = json_object_get(record, "partial_buffer_hash");
	const json_t *last = json_object_get(record, "last_byte_epoch");
	const json_t *expected = json_object_get(record, "expected_size");
	const json_t *timeout = json_object_get(record, "incomplete_timeout_sec");
	const json_t *now = json_object_get(record, "current_epoch");
	struct guard_decision decision;
	struct guard_record guard = {
		.mode = find_mode(json_string_value(json_object_get(record, "framing_mode"))),
		.partial_hash = json_string_value(hash),
		.last_byte = json_number_value(last),
		.timeout = json_number_value(timeout),
	};
	int r;

	(void)context;
	/* An absent time or timeout reads as 0, which makes what is held stale. */
	if (!absent(hash) && !json_is_string(hash))
		return driver_error(record, "bad_record", "partial_buffer_hash is no string");
	if ((!absent(last) && !json_is_number(last)) ||
	    (!absent(timeout) && !json_is_number(timeout)) || !json_is_number(now) ||
	    (!absent(expected) && !json_is_integer(expected)))
		return driver_error(record, "bad_record", "a member is of the wrong type");
	if (json_is_integer(expected) && json_integer_value(expected) > 0)
		guard.expected_size = (uint64_t)json_integer_value(expected);
	r = guard_decide(&guard, json_number_value(now), &decision);
	if (r < 0)
		return driver_error(record, "failed", strerror(-r));
	return json_pack("{s:O?, s:s, s:s, s:s}", "id", json_object_get(record, "id"), "verdict",
			 guard_verdict_name(decision.verdict), "directive", decision.directive,
			 "manifest_digest", decision.digest);
}

int guard_main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1) {
		fprintf(stderr, "usage: sluice-driver guard < records.jsonl\n");
		return 2;
	}
	return driver_run(answer, NULL);
}
