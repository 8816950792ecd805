/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/frame_run.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/exchange.h"
#include "core/session.h"
#include "driver/frame_h2.h"

static const char *const task_names[] = {"terms"};

/* What a pipeline takes its sessions from. */
struct source {
	struct session *session;
	struct exchanges *exchanges;
};

struct replay {
	struct frame_run *run;
	struct pipeline *pipeline;
};

void frame_run_done(struct frame_run *run)
{
	for (size_t i = 0; i < run->text_count; i++) {
		free(run->texts[i].name);
		free(run->texts[i].bytes.data);
	}
	free(run->texts);
	free(run->units);
	free(run->messages);
	free(run->payloads.data);
	json_decref(run->starts);
}

/* Makes room for one more; false: out of memory. */
static bool grow(void *array, size_t count, size_t *capacity, size_t size)
{
	size_t more = *capacity ? *capacity * 2 : 16;
	void *grown;

	if (count < *capacity)
		return true;
	grown = realloc(*(void **)array, more * size);
	if (!grown)
		return false;
	*(void **)array = grown;
	*capacity = more;
	return true;
}

static bool append(struct frame_bytes *bytes, const uint8_t *data, size_t len)
{
	uint8_t *grown = realloc(bytes->data, bytes->len + len + 1);

	if (!grown)
		return false;
	bytes->data = grown;
	if (len)
		memcpy(grown + bytes->len, data, len);
	bytes->len += len;
	return true;
}

void frame_run_payload(struct frame_run *run, const uint8_t *payload, size_t len, bool last)
{
	if (!append(&run->payloads, payload, len) ||
	    !grow(&run->messages, run->message_count, &run->message_capacity,
		  sizeof(*run->messages))) {
		run->failed = true;
		return;
	}
	if (!last)
		return;
	run->messages[run->message_count++] = (struct frame_message){
		.start = run->payload_start,
		.end = run->payloads.len,
	};
	run->payload_start = run->payloads.len;
}

static void on_payload(void *context, const uint8_t *payload, size_t len, bool last)
{
	frame_run_payload(context, payload, len, last);
}

static bool in_pieces(const struct frame_run *run)
{
	enum framing_kind kind = run->options->framing.kind;

	return kind != FRAMING_NDJSON && kind != FRAMING_SENTINEL && kind != FRAMING_LENPREFIX;
}

void frame_run_unit(struct frame_run *run, const struct pipeline_unit *unit)
{
	if (!in_pieces(run) && unit->messages)
		frame_run_payload(run, run->connection->bytes.data + unit->payload_start,
				  unit->payload_end - unit->payload_start, true);
	if (run->failed ||
	    !grow(&run->units, run->unit_count, &run->unit_capacity, sizeof(*run->units))) {
		run->failed = true;
		return;
	}
	run->units[run->unit_count++] = *unit;
	assert(run->messages_ended + unit->messages <= run->message_count);
	for (uint32_t i = 0; i < unit->messages; i++)
		run->messages[run->messages_ended++].unit_end = unit->end;
	if (unit->tail && run->after_message)
		run->messages[run->messages_ended - 1].unit_end = unit->end;
	run->after_message = unit->messages != 0;
	/* The head of a body that is a stream completes nothing by itself. */
	if (!unit->outer && (unit->messages || !run->begun))
		run->counted = unit->end;
	run->begun = false;
}

static void on_unit(void *context, const struct pipeline_unit *unit)
{
	frame_run_unit(context, unit);
}

static void on_start(void *context, const uint8_t *line, size_t len)
{
	struct frame_run *run = context;

	run->begun = true;
	if (json_array_append_new(run->starts,
				  json_stringn((const char *)line, len) ?: json_null()) < 0)
		run->failed = true;
}

/* Without tasks text is looked at only where somebody wants it. */
static void ignore_text(void *context, const char *channel, const uint8_t *text, size_t len)
{
	(void)context;
	(void)channel;
	(void)text;
	(void)len;
}

static struct frame_text *find_text(struct frame_run *run, const char *name)
{
	struct frame_text *grown;

	for (size_t i = 0; i < run->text_count; i++)
		if (strcmp(run->texts[i].name, name) == 0)
			return &run->texts[i];
	grown = realloc(run->texts, (run->text_count + 1) * sizeof(*grown));
	if (!grown)
		return NULL;
	run->texts = grown;
	grown[run->text_count] = (struct frame_text){.name = strdup(name)};
	return grown[run->text_count].name ? &grown[run->text_count++] : NULL;
}

/* Keeps the text of the channels that the extractor declares. */
static void keep_text(void *context, const char *channel, const uint8_t *text, size_t len)
{
	struct replay *replay = context;
	struct frame_text *at;

	if (!pipeline_declares(replay->pipeline, channel))
		return;
	at = find_text(replay->run, channel);
	if (!at || !append(&at->bytes, text, len))
		replay->run->failed = true;
}

static struct pipeline_config configure(const struct frame_run *run, const struct source *source)
{
	return (struct pipeline_config){
		.framing = run->options->framing,
		.extract = run->options->extract,
		.max_message = run->options->max_message,
		.max_pending_units = SIZE_MAX / sizeof(struct pipeline_unit),
		.track = run->options->track,
		.level = run->options->level,
		.session = source->session,
		.exchanges = source->exchanges,
		.release_opaque = true,
	};
}

/* The requests that the record's responses answer, each whole. */
static int begin_requests(struct exchanges *exchanges, const json_t *methods)
{
	size_t count = json_array_size(methods);

	for (size_t i = 0; i < count; i++) {
		const char *method = json_string_value(json_array_get(methods, i)) ?: "";
		struct http1_request request = {
			.head = strcmp(method, "HEAD") == 0,
			/* One with others behind it can only have been refused. */
			.connect = strcmp(method, "CONNECT") == 0 && i + 1 == count,
			.upgrade = i + 1 == count,
			.websocket = i + 1 == count,
			.deflate = i + 1 == count,
		};
		struct session *session;

		if (exchanges_request(exchanges, &session))
			return -EINVAL;
		exchanges_request_head(exchanges, &request);
		if (exchanges_request_end(exchanges))
			return -EINVAL;
	}
	return 0;
}

static int open_source(const struct frame_options *options, bool tasks, struct source *ret_source)
{
	struct exchanges_config config = {.one_sided = options->track == SESSION_REQUEST};
	struct source source = {0};
	int r;

	if (tasks) {
		config.session.tasks[options->track] = task_names;
		config.session.task_count[options->track] = ARRAY_SIZE(task_names);
	}
	if (options->framing.kind == FRAMING_HTTP1) {
		r = exchanges_new(&config, &source.exchanges);
		if (r == 0)
			r = begin_requests(source.exchanges, options->requests);
		if (r < 0) {
			exchanges_free(source.exchanges);
			return r;
		}
	} else if (tasks && session_new(&config.session, &source.session) != SESSION_OK) {
		return -ENOMEM;
	}
	*ret_source = source;
	return 0;
}

static void close_source(struct source *source)
{
	exchanges_free(source->exchanges);
	if (source->session)
		session_fail(source->session, SESSION_DISCONNECTED);
	(void)session_free(source->session);
}

enum fault frame_run_feed(const struct frame_run *run, frame_take take, void *context)
{
	const struct frame_connection *connection = run->connection;
	const uint8_t *data = connection->bytes.data;
	enum fault fault = FAULT_NONE;
	size_t at = 0;

	if (run->chunking == FRAME_ONE)
		return take(context, data, connection->bytes.len);
	if (run->chunking == FRAME_BYTES) {
		while (at < connection->bytes.len && !fault)
			fault = take(context, &data[at++], 1);
		return fault;
	}
	for (size_t i = 0; i < connection->count && !fault; i++) {
		fault = take(context, data + at, connection->ends[i] - at);
		at = connection->ends[i];
	}
	return fault;
}

static enum fault feed_pipeline(void *context, const uint8_t *data, size_t len)
{
	return pipeline_feed(context, data, len);
}

static int judge(struct frame_run *run, const struct source *source, bool last)
{
	struct pipeline_task task = {.name = task_names[0], .matcher.terms = run->options->terms};
	struct pipeline_config config = configure(run, source);
	cleanup(pipeline_freep) struct pipeline *pipeline = NULL;
	int r;

	config.on_unit = on_unit;
	config.on_payload = on_payload;
	config.on_start = on_start;
	config.context = run;
	/* Without a text source there is nothing that terms could be found in. */
	if (run->options->terms && run->options->extract.kind != EXTRACT_NONE) {
		config.tasks = &task;
		config.task_count = 1;
	} else if (run->options->extract.kind != EXTRACT_NONE) {
		config.on_text = ignore_text;
	}
	r = pipeline_new(&config, &pipeline);
	if (r < 0)
		return r;
	run->fault = frame_run_feed(run, feed_pipeline, pipeline);
	if (!run->fault && last && run->options->eof)
		run->fault = pipeline_end(pipeline);
	run->complete = last && !run->fault && pipeline_complete(pipeline);
	run->kept = pipeline_framed(pipeline);
	run->released = pipeline_released(pipeline);
	if (run->fault != FAULT_BLOCKED && !(run->fault && run->options->leveled))
		return 0;
	run->kept = run->released;
	run->counted = 0;
	for (size_t i = 0; i < run->messages_ended; i++)
		if (run->messages[i].unit_end <= run->kept)
			run->counted = run->messages[i].unit_end;
	return 0;
}

/* What the bytes that count hold, read once more by themselves: nothing of what follows them. */
static int replay(struct frame_run *run)
{
	cleanup(close_source) struct source source = {0};
	cleanup(pipeline_freep) struct pipeline *pipeline = NULL;
	struct replay replay = {.run = run};
	struct pipeline_config config;
	int r;

	if (run->options->extract.kind == EXTRACT_NONE)
		return 0;
	r = open_source(run->options, false, &source);
	if (r < 0)
		return r;
	config = configure(run, &source);
	config.on_text = keep_text;
	config.context = &replay;
	r = pipeline_new(&config, &pipeline);
	if (r < 0)
		return r;
	replay.pipeline = pipeline;
	if (pipeline_feed(pipeline, run->connection->bytes.data, run->kept) == FAULT_NONE)
		(void)!pipeline_end(pipeline);
	return 0;
}

int frame_run_connection(struct frame_run *run, const struct frame_connection *connection,
			 bool last)
{
	cleanup(close_source) struct source source = {0};
	int r;

	run->connection = connection;
	run->unit_count = run->message_count = run->messages_ended = 0;
	run->payloads.len = run->payload_start = 0;
	run->begun = run->after_message = false;
	run->counted = run->kept = run->released = 0;
	if (run->options->h2) {
		frame_h2_run(run, last);
		return 0;
	}
	r = open_source(run->options, run->options->terms != NULL, &source);
	if (r < 0)
		return r;
	r = judge(run, &source, last);
	return r < 0 ? r : replay(run);
}
