/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/session.h"
#include "core/utf8.h"
#include "driver/driver.h"
#include "driver/frame_options.h"

#define CHANNELS_MAX 4u

enum chunking { CHUNKING_GIVEN, CHUNKING_ONE, CHUNKING_BYTES };

/* The reads of one connection: their bytes, and the end of each. */
struct connection {
	struct frame_bytes bytes;
	size_t *ends;
	size_t count;
};

struct text {
	const char *name;
	struct frame_bytes bytes;
};

/* One record on its way to an answer. */
struct run {
	struct frame_options options;
	enum chunking chunking;
	struct connection *connections;
	size_t connection_count;
	struct pipeline_unit *units; /* of the connection under way */
	size_t unit_count, unit_capacity;
	struct text texts[CHANNELS_MAX];
	size_t text_count;
	struct pipeline *replay; /* whose text is being kept, or NULL */
	bool failed;		 /* an observer ran out of memory */
	uint64_t base;		 /* of the connection under way, in the joined input */
	uint64_t kept;		 /* bytes of it that hold what counts */
	uint64_t dropped;
	bool complete;
	enum fault fault;
	json_t *messages, *ends;
};

static void run_done(struct run *run)
{
	for (size_t i = 0; i < run->connection_count; i++) {
		free(run->connections[i].bytes.data);
		free(run->connections[i].ends);
	}
	for (size_t i = 0; i < run->text_count; i++)
		free(run->texts[i].bytes.data);
	free(run->connections);
	free(run->units);
	json_decref(run->messages);
	json_decref(run->ends);
	frame_options_done(&run->options);
}

static bool is_reset(const json_t *options, size_t index)
{
	const json_t *resets = json_object_get(options, "resets");

	for (size_t i = 0; i < json_array_size(resets); i++)
		if ((size_t)json_integer_value(json_array_get(resets, i)) == index)
			return true;
	return false;
}

static int read_connections(const json_t *record, struct run *run)
{
	const json_t *options = json_object_get(record, "options");
	const json_t *chunks = json_object_get(record, "chunks_hex");
	size_t count = json_array_size(chunks);
	struct connection *last;
	int r;

	if (!json_is_array(chunks))
		return -EINVAL;
	run->connections = calloc(count + 1, sizeof(*run->connections));
	if (!run->connections)
		return -ENOMEM;
	run->connection_count = 1;
	for (size_t i = 0; i < count; i++) {
		if (i && is_reset(options, i))
			run->connection_count++;
		last = &run->connections[run->connection_count - 1];
		if (!last->ends)
			last->ends = calloc(count, sizeof(*last->ends));
		if (!last->ends)
			return -ENOMEM;
		r = frame_append_hex(json_array_get(chunks, i), &last->bytes);
		if (r < 0)
			return r;
		last->ends[last->count++] = last->bytes.len;
	}
	return 0;
}

static void on_unit(void *context, const struct pipeline_unit *unit)
{
	struct run *run = context;
	size_t capacity = run->unit_capacity ? run->unit_capacity * 2 : 16;
	struct pipeline_unit *grown;

	if (run->unit_count == run->unit_capacity) {
		grown = realloc(run->units, capacity * sizeof(*grown));
		if (!grown) {
			run->failed = true;
			return;
		}
		run->units = grown;
		run->unit_capacity = capacity;
	}
	run->units[run->unit_count++] = *unit;
}

static struct text *find_text(struct run *run, const char *name)
{
	for (size_t i = 0; i < run->text_count; i++)
		if (strcmp(run->texts[i].name, name) == 0)
			return &run->texts[i];
	if (run->text_count == CHANNELS_MAX)
		return NULL;
	run->texts[run->text_count].name = strcmp(name, "raw") == 0	  ? "raw"
					   : strcmp(name, "content") == 0 ? "content"
					   : strcmp(name, "thinking") == 0
						   ? "thinking"
						   : run->options.extract.path;
	return &run->texts[run->text_count++];
}

/* Keeps the text of the channels that the extractor declares. */
static void on_text(void *context, const char *channel, const uint8_t *text, size_t len)
{
	struct run *run = context;
	uint8_t *grown;
	struct text *at;

	if (!run->replay || !pipeline_declares(run->replay, channel))
		return;
	at = find_text(run, channel);
	grown = at ? realloc(at->bytes.data, at->bytes.len + len) : NULL;
	if (!grown) {
		run->failed = true;
		return;
	}
	at->bytes.data = grown;
	memcpy(grown + at->bytes.len, text, len);
	at->bytes.len += len;
}

static struct pipeline_config configure(const struct run *run)
{
	return (struct pipeline_config){
		.framing = run->options.framing,
		.extract = run->options.extract,
		.max_message = run->options.max_message,
		.max_pending_units = SIZE_MAX / sizeof(struct pipeline_unit),
		.track = SESSION_RESPONSE,
		.context = (void *)run,
	};
}

static enum fault feed(const struct run *run, struct pipeline *pipeline,
		       const struct connection *connection)
{
	const uint8_t *data = connection->bytes.data;
	enum fault fault = FAULT_NONE;
	size_t at = 0;

	if (run->chunking == CHUNKING_ONE)
		return pipeline_feed(pipeline, data, connection->bytes.len);
	if (run->chunking == CHUNKING_BYTES) {
		while (at < connection->bytes.len && !fault)
			fault = pipeline_feed(pipeline, &data[at++], 1);
		return fault;
	}
	for (size_t i = 0; i < connection->count && !fault; i++) {
		fault = pipeline_feed(pipeline, data + at, connection->ends[i] - at);
		at = connection->ends[i];
	}
	return fault;
}

/* What the bytes that count hold, read once more by themselves: nothing of what follows them. */
static int keep_text(struct run *run, const struct connection *connection)
{
	struct pipeline_config config = configure(run);
	cleanup(pipeline_freep) struct pipeline *pipeline = NULL;
	int r;

	if (run->options.extract.kind == EXTRACT_NONE)
		return 0;
	config.on_text = on_text;
	r = pipeline_new(&config, &pipeline);
	if (r < 0)
		return r;
	run->replay = pipeline;
	if (pipeline_feed(pipeline, connection->bytes.data, run->kept) == FAULT_NONE)
		(void)!pipeline_end(pipeline);
	run->replay = NULL;
	return 0;
}

static int keep_messages(struct run *run, const struct connection *connection)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < run->unit_count && run->units[i].end <= run->kept; i++) {
		const struct pipeline_unit *unit = &run->units[i];
		size_t len = unit->payload_end - unit->payload_start;
		char *hex;

		if (unit->blank)
			continue;
		hex = malloc(2 * len + 1);
		if (!hex)
			return -ENOMEM;
		for (size_t j = 0; j < len; j++) {
			uint8_t byte = connection->bytes.data[unit->payload_start + j];

			hex[2 * j] = digits[byte >> 4];
			hex[2 * j + 1] = digits[byte & 15];
		}
		if (json_array_append_new(run->messages, json_stringn(hex, 2 * len)) < 0 ||
		    json_array_append_new(run->ends,
					  json_integer((json_int_t)(run->base + unit->end))) < 0)
			run->failed = true;
		free(hex);
	}
	return 0;
}

static int judge(struct run *run, const struct connection *connection, struct session *session,
		 bool last)
{
	struct pipeline_task task = {"terms", run->options.terms};
	struct pipeline_config config = configure(run);
	cleanup(pipeline_freep) struct pipeline *pipeline = NULL;
	int r;

	config.on_unit = on_unit;
	/* Without a text source there is nothing that terms could be found in. */
	if (session && run->options.extract.kind != EXTRACT_NONE) {
		config.session = session;
		config.tasks = &task;
		config.task_count = 1;
	} else if (run->options.extract.kind != EXTRACT_NONE) {
		config.on_text = on_text;
	}
	r = pipeline_new(&config, &pipeline);
	if (r < 0)
		return r;
	run->fault = feed(run, pipeline, connection);
	if (!run->fault && last && run->options.eof)
		run->fault = pipeline_end(pipeline);
	run->complete = last && !run->fault && pipeline_complete(pipeline);
	run->kept = run->fault == FAULT_BLOCKED ? pipeline_released(pipeline)
						: pipeline_framed(pipeline);
	return 0;
}

static int run_connection(struct run *run, const struct connection *connection, bool last)
{
	const char *names[] = {"terms"};
	const struct session_config config = {
		.tasks = {[SESSION_RESPONSE] = names},
		.task_count = {[SESSION_RESPONSE] = 1},
	};
	struct session *session = NULL;
	int r;

	if (run->options.terms && session_new(&config, &session) != SESSION_OK)
		return -ENOMEM;
	run->unit_count = 0;
	r = judge(run, connection, session, last);
	if (session)
		session_fail(session, SESSION_DISCONNECTED);
	(void)session_free(session);
	if (r == 0)
		r = keep_messages(run, connection);
	return r < 0 ? r : keep_text(run, connection);
}

static json_t *text_fields(const struct run *run)
{
	json_t *channels = json_array(), *texts = json_array(), *runes = json_array();

	for (size_t i = 0; i < run->text_count; i++) {
		const struct text *text = &run->texts[i];
		uint64_t count = 0;

		(void)utf8_prefix(text->bytes.data, text->bytes.len, &count);
		json_array_append_new(channels, json_string(text->name));
		json_array_append_new(
			texts, json_stringn((const char *)text->bytes.data, text->bytes.len));
		json_array_append_new(runes, json_integer((json_int_t)count));
	}
	return json_pack("{s:o, s:o, s:o}", "channels", channels, "text", texts, "runes", runes);
}

static json_t *report(const json_t *record, const struct run *run, uint64_t residue)
{
	json_t *answer = json_pack(
		"{s:O*, s:O, s:O, s:s?, s:I}", "id", json_object_get(record, "id"), "messages_hex",
		run->messages, "ends", run->ends, "error",
		run->fault ? fault_name(run->fault) : NULL, "residue_bytes", (json_int_t)residue);
	json_t *text;

	if (!answer)
		return NULL;
	if (json_object_get(json_object_get(record, "options"), "resets"))
		json_object_set_new(answer, "dropped_bytes",
				    json_integer((json_int_t)run->dropped));
	if (run->options.extract.kind == EXTRACT_OLLAMA_CHAT && run->options.eof)
		json_object_set_new(answer, "complete", json_boolean(run->complete));
	if (run->options.extract.kind == EXTRACT_NONE)
		return answer;
	text = text_fields(run);
	if (!text || json_object_update(answer, text) < 0)
		run = NULL;
	json_decref(text);
	if (run)
		return answer;
	json_decref(answer);
	return NULL;
}

static json_t *answer_run(const json_t *record, struct run *run)
{
	uint64_t residue = 0;
	int r = 0;

	run->messages = json_array();
	run->ends = json_array();
	for (size_t i = 0; i < run->connection_count && r == 0 && !run->fault; i++) {
		const struct connection *connection = &run->connections[i];
		bool last = i + 1 == run->connection_count;

		r = run_connection(run, connection, last);
		residue = connection->bytes.len - run->kept;
		if (!last && !run->fault)
			run->dropped += residue;
		run->base += connection->bytes.len;
	}
	if (r == -EINVAL)
		return driver_error(record, "bad_record", "the options are out of range");
	return r < 0 || run->failed ? NULL : report(record, run, residue);
}

static json_t *answer_record(const json_t *record, void *context)
{
	const enum chunking *chunking = context;
	cleanup(run_done) struct run run = {.chunking = *chunking};
	struct frame_refusal refusal = {0};
	int r = frame_options_init(record, &run.options, &refusal);

	if (r == -EINVAL)
		return driver_error(record, refusal.error, refusal.detail);
	if (r == 0)
		r = read_connections(record, &run);
	if (r == -EINVAL)
		return driver_error(record, "bad_record", "chunks_hex is no list of hexadecimal");
	return r < 0 ? NULL : answer_run(record, &run);
}

int frame_main(int argc, char **argv)
{
	static const char *const names[] = {
		[CHUNKING_GIVEN] = "given",
		[CHUNKING_ONE] = "one",
		[CHUNKING_BYTES] = "bytes",
	};
	enum chunking chunking = CHUNKING_GIVEN;

	if (argc == 3 && strcmp(argv[1], "--chunking") == 0) {
		while (chunking < ARRAY_SIZE(names) && strcmp(names[chunking], argv[2]) != 0)
			chunking++;
		argc = 1;
	}
	if (argc != 1 || chunking == ARRAY_SIZE(names)) {
		fprintf(stderr, "usage: sluice-driver frame [--chunking given|one|bytes]\n");
		return 2;
	}
	return driver_run(answer_record, &chunking);
}
