/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/daemon.h"
#include "daemon/metrics_internal.h"

static const char *const track_names[_SESSION_TRACK_MAX] = {"request", "response"};

#define LABEL_TRACK(track) METRICS_LABELS({"track", track_names[track]})

enum amount { RECEIVED, RELEASED, WITHHELD, HELD, _AMOUNT_MAX };

static const struct metrics_family byte_families[_AMOUNT_MAX] = {
	[RECEIVED] = {"sluice_received_bytes", "bytes", METRICS_COUNTER, "Bytes read from streams"},
	[RELEASED] = {"sluice_released_bytes", "bytes", METRICS_COUNTER,
		      "Bytes that were allowed to leave"},
	[WITHHELD] = {"sluice_withheld_bytes", "bytes", METRICS_COUNTER,
		      "Bytes that had not been released when their stream settled"},
	[HELD] = {"sluice_held_bytes", "bytes", METRICS_GAUGE,
		  "Bytes of open streams that are not released"},
};

static const struct metrics_family rune_families[_AMOUNT_MAX] = {
	[RECEIVED] = {"sluice_received_runes", "runes", METRICS_COUNTER,
		      "Runes of text read from streams"},
	[RELEASED] = {"sluice_released_runes", "runes", METRICS_COUNTER,
		      "Runes of text that were allowed to leave"},
	[WITHHELD] = {"sluice_withheld_runes", "runes", METRICS_COUNTER,
		      "Runes of text that had not been released when their stream settled"},
	[HELD] = {"sluice_held_runes", "runes", METRICS_GAUGE,
		  "Runes of text of open streams that are not released"},
};

static uint64_t amount_of(const struct metrics_amount *sums, enum amount amount)
{
	switch (amount) {
	case RECEIVED:
		return sums->received;
	case RELEASED:
		return sums->released;
	case WITHHELD:
		return sums->withheld;
	default:
		return sums->received - sums->released - sums->withheld;
	}
}

static void write_amounts(struct metrics_text *text, const struct metrics *metrics)
{
	for (int amount = 0; amount < _AMOUNT_MAX; amount++) {
		metrics_text_family(text, &byte_families[amount]);
		for (int track = 0; track < _SESSION_TRACK_MAX; track++)
			metrics_text_count(
				text, LABEL_TRACK(track),
				amount_of(&metrics->track[track].bytes, (enum amount)amount));
	}
	for (int amount = 0; amount < _AMOUNT_MAX; amount++) {
		metrics_text_family(text, &rune_families[amount]);
		for (int track = 0; track < _SESSION_TRACK_MAX; track++)
			metrics_text_count(
				text, LABEL_TRACK(track),
				amount_of(&metrics->track[track].runes, (enum amount)amount));
	}
}

static void write_times(struct metrics_text *text, const struct metrics *metrics)
{
	static const struct metrics_family hold = {
		"sluice_hold_seconds", "seconds", METRICS_HISTOGRAM,
		"Age of the oldest byte that a move of the release offset let go"};
	static const struct metrics_family latency = {
		"sluice_release_latency_seconds", "seconds", METRICS_HISTOGRAM,
		"From a move of the release offset until the kernel has the bytes below it"};

	metrics_text_family(text, &hold);
	for (int track = 0; track < _SESSION_TRACK_MAX; track++)
		metrics_text_histogram(text, LABEL_TRACK(track), &metrics->track[track].hold);
	metrics_text_family(text, &latency);
	for (int track = 0; track < _SESSION_TRACK_MAX; track++)
		metrics_text_histogram(text, LABEL_TRACK(track), &metrics->track[track].latency);
}

static void write_streams(struct metrics_text *text, const struct daemon *daemon)
{
	static const struct metrics_family open = {"sluice_streams_open", NULL, METRICS_GAUGE,
						   "Streams that have not settled"};
	static const struct metrics_family ended = {"sluice_streams_ended", NULL, METRICS_COUNTER,
						    "Streams that settled, by how"};
	static const struct metrics_family closing = {
		"sluice_streams_closing", NULL, METRICS_GAUGE,
		"Settled streams whose last bytes are on their way"};
	static const struct metrics_family limit = {"sluice_streams_limit", NULL, METRICS_GAUGE,
						    "Streams that there is room for"};
	const struct stats *stats = &daemon->stats;

	metrics_write_one(text, &open, daemon->metrics.open_streams);
	metrics_text_family(text, &ended);
	metrics_text_count(text, METRICS_LABELS({"end", "complete"}), stats->complete);
	metrics_text_count(text, METRICS_LABELS({"end", "denied"}), stats->denied);
	metrics_text_count(text, METRICS_LABELS({"end", "failed"}), stats->failed);
	metrics_write_one(text, &closing, daemon->streams.count - daemon->metrics.open_streams);
	metrics_write_one(text, &limit, daemon->streams_max);
}

static void write_sessions(struct metrics_text *text, const struct daemon *daemon)
{
	static const struct metrics_family open = {"sluice_sessions_open", NULL, METRICS_GAUGE,
						   "Sessions that have not ended"};
	static const struct metrics_family ended = {"sluice_sessions_ended", NULL, METRICS_COUNTER,
						    "Sessions that ended, by how"};

	metrics_write_one(text, &open, daemon->metrics.open_sessions);
	metrics_text_family(text, &ended);
	for (int end = SESSION_OPEN + 1; end < _SESSION_END_MAX; end++)
		metrics_text_count(text,
				   METRICS_LABELS({"end", session_end_name((enum session_end)end)}),
				   daemon->stats.sessions[end]);
}

static void write_traffic(struct metrics_text *text, const struct daemon *daemon)
{
	static const struct metrics_family memory = {
		"sluice_hold_memory_bytes", "bytes", METRICS_GAUGE,
		"Memory of what is held and of its judging, which hold_bytes_total bounds"};
	static const struct metrics_family buffered = {
		"sluice_buffered_bytes", "bytes", METRICS_GAUGE,
		"Bytes of streams that are held, or released and not taken by the kernel"};

	write_streams(text, daemon);
	write_sessions(text, daemon);
	write_amounts(text, &daemon->metrics);
	metrics_write_one(text, &buffered, daemon->pool.bytes);
	metrics_write_one(text, &memory, daemon->held);
	write_times(text, &daemon->metrics);
}

int metrics_write(struct daemon *daemon, struct evbuffer *out, bool openmetrics)
{
	struct metrics_text text = {.out = out, .openmetrics = openmetrics};

	events_consume(daemon);
	metrics_write_setup(&text, daemon);
	write_traffic(&text, daemon);
	metrics_write_verdicts(&text, daemon);
	metrics_write_kernel(&text, daemon);
	metrics_write_process(&text, daemon);
	return metrics_text_end(&text);
}
