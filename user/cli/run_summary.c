/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>

#include "cli/run.h"
#include "sys/log.h"

#define LINE_MAX_LEN 900

/* "; reasons: secrets 2, truncated 1": names, and how often. Returns where it ends. */
static size_t add_names(char *line, size_t at, const char *heading, json_t *names)
{
	const char *name, *before = heading;
	json_t *times;
	int written;

	json_object_foreach(names, name, times)
	{
		written = snprintf(line + at, LINE_MAX_LEN - at, "%s %s %lld", before, name,
				   (long long)json_integer_value(times));
		if (written < 0 || (size_t)written >= LINE_MAX_LEN - at)
			break;
		at += (size_t)written;
		before = ",";
	}
	return at;
}

/* "refused by the fence 3 (unix 2, udp 1)" */
static int add_fence(char *line, size_t at, const json_t *summary)
{
	json_t *kinds = json_object_get(summary, "fence"), *times;
	const char *name, *before = " (";

	at += (size_t)snprintf(line + at, LINE_MAX_LEN - at, "; refused by the fence %lld",
			       (long long)cli_number(summary, "fence_refusals"));
	json_object_foreach(kinds, name, times)
	{
		if (at >= LINE_MAX_LEN)
			break;
		at += (size_t)snprintf(line + at, LINE_MAX_LEN - at, "%s%s %lld", before, name,
				       (long long)json_integer_value(times));
		before = ", ";
	}
	if (json_object_size(kinds) && at < LINE_MAX_LEN)
		at += (size_t)snprintf(line + at, LINE_MAX_LEN - at, ")");
	return (int)at;
}

/* "unframed: to relay it unread: …": a line each of what would let the like pass. */
static void print_advice(json_t *advice)
{
	const char *reason;
	json_t *line;

	json_object_foreach(advice, reason, line)
	{
		log_info("%s: %s", reason, json_string_value(line));
	}
}

void run_summary_print(const json_t *summary)
{
	const json_t *sessions = json_object_get(summary, "sessions");
	char line[LINE_MAX_LEN];
	int at;

	at = snprintf(
		line, sizeof(line),
		"streams %lld, denied %lld, failed %lld; sessions complete %lld, denied %lld, "
		"rewritten %lld, failed %lld; runes released %lld, withheld %lld; "
		"bytes released %lld, withheld %lld",
		(long long)cli_number(summary, "streams"), (long long)cli_number(summary, "denied"),
		(long long)cli_number(summary, "failed"),
		(long long)cli_number(sessions, "complete"),
		(long long)cli_number(sessions, "denied"),
		(long long)cli_number(sessions, "rewritten"),
		(long long)cli_number(sessions, "failed"),
		(long long)cli_number(summary, "runes_released"),
		(long long)cli_number(summary, "runes_withheld"),
		(long long)cli_number(summary, "bytes_released"),
		(long long)cli_number(summary, "bytes_withheld"));
	if (at > 0 && (size_t)at < sizeof(line))
		at = add_fence(line, (size_t)at, summary);
	if (at > 0 && (size_t)at < sizeof(line)) {
		size_t end = add_names(line, (size_t)at,
				       "; reasons:", json_object_get(summary, "reasons"));

		(void)add_names(line, end,
				"; found, not enforced:", json_object_get(summary, "findings"));
	}
	log_info("%s", line);
	print_advice(json_object_get(summary, "advice"));
}
