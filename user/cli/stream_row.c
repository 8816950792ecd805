/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/stream_row.h"

#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

static const char *const keys[ROW_TRACKS] = {"request", "response"};

static double number_of(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

static void read_track(const json_t *flow, struct stream_row_track *track)
{
	track->held = (long long)cli_number(flow, "held");
	track->received = (long long)cli_number(flow, "runes_received");
	track->cleared = (long long)cli_number(flow, "runes_cleared");
	track->gated = json_is_integer(json_object_get(flow, "runes_cleared"));
}

static bool waits(const json_t *flow)
{
	return strcmp(cli_text(flow, "waits_for"), "nothing") != 0 &&
	       json_is_string(json_object_get(flow, "why"));
}

/* The flow whose oldest byte is older speaks for the stream. */
static const json_t *speaker(const json_t *stream)
{
	const json_t *flows[ROW_TRACKS], *best = NULL;
	size_t i;

	for (i = 0; i < ROW_TRACKS; i++) {
		flows[i] = json_object_get(stream, keys[i]);
		if (waits(flows[i]) &&
		    (!best || number_of(flows[i], "held_age_s") > number_of(best, "held_age_s")))
			best = flows[i];
	}
	return best;
}

static const char *find_why(const json_t *stream, const json_t *flow)
{
	const char *why = json_string_value(json_object_get(stream, "ended"));
	size_t i;

	for (i = 0; !why && i < ROW_TRACKS; i++)
		why = json_string_value(json_object_get(json_object_get(stream, keys[i]), "fault"));
	if (!why && flow)
		why = cli_text(flow, "why");
	return why ? why : "";
}

static const char *find_slowest(const json_t *flow)
{
	const char *slowest = json_string_value(json_object_get(flow, "slowest"));
	const char *waits_for = cli_text(flow, "waits_for");

	if (!slowest || (strcmp(waits_for, "text") != 0 && strcmp(waits_for, "verdicts") != 0 &&
			 strcmp(waits_for, "value") != 0))
		return "";
	return slowest;
}

void stream_row_read(const json_t *stream, struct stream_row *ret_row)
{
	bool relayed = strcmp(cli_text(stream, "action"), "pass") == 0;
	bool observes = strcmp(cli_text(stream, "mode"), "observe") == 0;
	const json_t *flow = speaker(stream), *track;
	size_t i;

	*ret_row = (struct stream_row){
		.id = (long long)cli_number(stream, "id"),
		.pid = (long long)cli_number(stream, "pid"),
		.uid = (long long)cli_number(stream, "uid"),
		.state = cli_text(stream, "state"),
		.cgroup = stream_row_cgroup(cli_text(stream, "cgroup")),
		.comm = cli_text(stream, "comm"),
		.peer = cli_text(stream, "peer"),
		.framing = relayed ? "pass" : cli_text(stream, "framing"),
		.level = observes ? "observe" : cli_text(stream, "safety_level"),
		.slowest = find_slowest(flow),
		.why = find_why(stream, flow),
		.age_s = number_of(stream, "age_s"),
	};
	for (i = 0; i < ROW_TRACKS; i++) {
		track = json_object_get(stream, keys[i]);
		read_track(track, &ret_row->tracks[i]);
		if (!json_is_real(json_object_get(track, "held_age_s")))
			continue;
		ret_row->holds = true;
		ret_row->held_age_s = MAX(ret_row->held_age_s, number_of(track, "held_age_s"));
	}
}

void stream_row_cleared(const struct stream_row_track *track,
			char ret_text[static STREAM_CLEARED_LEN])
{
	if (track->gated)
		(void)snprintf(ret_text, STREAM_CLEARED_LEN, "%lld/%lld", track->cleared,
			       track->received);
	else
		(void)snprintf(ret_text, STREAM_CLEARED_LEN, "%lld", track->received);
}

const char *stream_row_cgroup(const char *path)
{
	static const char mount[] = "/sys/fs/cgroup/";
	size_t len = sizeof(mount) - 1;

	return strncmp(path, mount, len) == 0 && path[len] ? path + len - 1 : path;
}
