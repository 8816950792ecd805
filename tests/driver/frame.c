/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/utf8.h"
#include "driver/driver.h"
#include "driver/frame_options.h"
#include "driver/frame_run.h"

/* One record on its way to an answer. */
struct record {
	struct frame_options options;
	struct frame_run run;
	struct frame_connection *connections;
	size_t connection_count;
	uint64_t base; /* of the connection under way, in the joined input */
	uint64_t dropped;
	uint64_t released; /* of the joined input */
	json_t *messages, *ends, *units;
};

static void record_done(struct record *record)
{
	for (size_t i = 0; i < record->connection_count; i++) {
		free(record->connections[i].bytes.data);
		free(record->connections[i].ends);
	}
	free(record->connections);
	json_decref(record->messages);
	json_decref(record->ends);
	json_decref(record->units);
	frame_run_done(&record->run);
	frame_options_done(&record->options);
}

static bool is_reset(const json_t *options, size_t index)
{
	const json_t *resets = json_object_get(options, "resets");

	for (size_t i = 0; i < json_array_size(resets); i++)
		if ((size_t)json_integer_value(json_array_get(resets, i)) == index)
			return true;
	return false;
}

static int read_connections(const json_t *object, struct record *record)
{
	const json_t *options = json_object_get(object, "options");
	const json_t *chunks = json_object_get(object, "chunks_hex");
	size_t count = json_array_size(chunks);
	struct frame_connection *last;
	int r;

	if (!json_is_array(chunks))
		return -EINVAL;
	record->connections = calloc(count + 1, sizeof(*record->connections));
	if (!record->connections)
		return -ENOMEM;
	record->connection_count = 1;
	for (size_t i = 0; i < count; i++) {
		if (i && is_reset(options, i))
			record->connection_count++;
		last = &record->connections[record->connection_count - 1];
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

static json_t *hex_string(const uint8_t *data, size_t len)
{
	static const char digits[] = "0123456789abcdef";
	char *hex = malloc(2 * len + 1);
	json_t *string;

	if (!hex)
		return NULL;
	for (size_t i = 0; i < len; i++) {
		hex[2 * i] = digits[data[i] >> 4];
		hex[2 * i + 1] = digits[data[i] & 15];
	}
	string = json_stringn(hex, 2 * len);
	free(hex);
	return string;
}

/* The messages and units of the connection that ended, as far as they count. */
static void keep_connection(struct record *record)
{
	struct frame_run *run = &record->run;
	int r = 0;

	for (size_t i = 0; i < run->messages_ended && run->messages[i].unit_end <= run->kept; i++) {
		const struct frame_message *message = &run->messages[i];
		uint64_t end = record->base + message->unit_end;

		r |= json_array_append_new(record->messages,
					   hex_string(run->payloads.data + message->start,
						      message->end - message->start));
		r |= json_array_append_new(record->ends, json_integer((json_int_t)end));
	}
	for (size_t i = 0; i < run->unit_count && run->units[i].end <= run->kept; i++)
		r |= json_array_append_new(
			record->units,
			json_pack("[I, I]", (json_int_t)(record->base + run->units[i].start),
				  (json_int_t)(record->base + run->units[i].end)));
	if (r < 0)
		run->failed = true;
}

static json_t *text_fields(const struct frame_run *run)
{
	json_t *channels = json_array(), *texts = json_array(), *runes = json_array();

	for (size_t i = 0; i < run->text_count; i++) {
		const struct frame_text *text = &run->texts[i];
		uint64_t count = 0;

		(void)utf8_prefix(text->bytes.data, text->bytes.len, &count);
		json_array_append_new(channels, json_string(text->name));
		json_array_append_new(
			texts, json_stringn((const char *)text->bytes.data, text->bytes.len));
		json_array_append_new(runes, json_integer((json_int_t)count));
	}
	return json_pack("{s:o, s:o, s:o}", "channels", channels, "text", texts, "runes", runes);
}

/* Does the extractor know how a message says that the exchange is complete? */
static bool tells_completion(enum extract_kind kind)
{
	return kind == EXTRACT_OLLAMA_CHAT || kind == EXTRACT_OPENAI_CHAT ||
	       kind == EXTRACT_OPENAI_RESPONSES || kind == EXTRACT_ANTHROPIC;
}

static json_t *report(const json_t *object, const struct record *record, uint64_t residue)
{
	const struct frame_options *options = &record->options;
	const struct frame_run *run = &record->run;
	cleanup(driver_json_freep) json_t *text = NULL;
	cleanup(driver_json_freep) json_t *answer = json_pack(
		"{s:O*, s:O, s:O, s:s?, s:I}", "id", json_object_get(object, "id"), "messages_hex",
		record->messages, "ends", record->ends, "error",
		run->fault ? fault_name(run->fault) : NULL, "residue_bytes", (json_int_t)residue);
	int r = answer ? 0 : -1;

	if (json_object_get(json_object_get(object, "options"), "resets"))
		r |= json_object_set_new(answer, "dropped_bytes",
					 json_integer((json_int_t)record->dropped));
	if (options->framing.kind == FRAMING_HTTP1)
		r |= json_object_set(answer, "starts", run->starts);
	if (options->leveled)
		r |= json_object_set_new(answer, "released",
					 json_integer((json_int_t)record->released));
	if (options->units)
		r |= json_object_set(answer, "units", record->units);
	if (tells_completion(options->extract.kind) && options->eof)
		r |= json_object_set_new(answer, "complete", json_boolean(run->complete));
	if (options->extract.kind != EXTRACT_NONE) {
		text = text_fields(run);
		r |= json_object_update(answer, text);
	}
	return r < 0 ? NULL : take_ptr(answer);
}

static json_t *answer_run(const json_t *object, struct record *record)
{
	struct frame_run *run = &record->run;
	uint64_t residue = 0;
	int r = 0;

	record->messages = json_array();
	record->ends = json_array();
	record->units = json_array();
	run->starts = json_array();
	for (size_t i = 0; i < record->connection_count && r == 0 && !run->fault; i++) {
		const struct frame_connection *connection = &record->connections[i];
		bool last = i + 1 == record->connection_count;

		r = frame_run_connection(run, connection, last);
		if (r == 0)
			keep_connection(record);
		residue = connection->bytes.len - run->counted;
		if (!last && !run->fault)
			record->dropped += residue;
		record->released = record->base + run->released;
		record->base += connection->bytes.len;
	}
	if (r == -EINVAL)
		return driver_error(object, "bad_record", "the options are out of range");
	return r < 0 || run->failed ? NULL : report(object, record, residue);
}

static json_t *answer_record(const json_t *object, void *context)
{
	const enum frame_chunking *chunking = context;
	cleanup(record_done) struct record record = {.run = {.chunking = *chunking}};
	struct frame_refusal refusal = {0};
	int r = frame_options_init(object, &record.options, &refusal);

	if (r == -EINVAL)
		return driver_error(object, refusal.error, refusal.detail);
	record.run.options = &record.options;
	if (r == 0)
		r = read_connections(object, &record);
	if (r == -EINVAL)
		return driver_error(object, "bad_record", "chunks_hex is no list of hexadecimal");
	return r < 0 ? NULL : answer_run(object, &record);
}

int frame_main(int argc, char **argv)
{
	static const char *const names[_FRAME_CHUNKING_MAX] = {
		[FRAME_GIVEN] = "given",
		[FRAME_ONE] = "one",
		[FRAME_BYTES] = "bytes",
	};
	enum frame_chunking chunking = FRAME_GIVEN;

	if (argc == 3 && strcmp(argv[1], "--chunking") == 0) {
		while (chunking < _FRAME_CHUNKING_MAX && strcmp(names[chunking], argv[2]) != 0)
			chunking++;
		argc = 1;
	}
	if (argc != 1 || chunking == _FRAME_CHUNKING_MAX) {
		fprintf(stderr, "usage: sluice-driver frame [--chunking given|one|bytes]\n");
		return 2;
	}
	return driver_run(answer_record, &chunking);
}
