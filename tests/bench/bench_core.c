/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the core costs: framing and scan of newline-delimited JSON, and of event
 * streams in chunked HTTP as model servers send them (a token an event, an event a
 * chunk), with a policy of 100 terms and without, per message in short and long
 * streams, and byte by byte. Prints one JSON object a line: name, value, unit. Each
 * figure is the best of several runs in processor time, since only the machine can
 * make a run slower.
 *
 *   bench_core [ndjson|sse]...
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "bench/bench.h"
#include "core/exchange.h"
#include "core/pipeline.h"
#include "core/session.h"
#include "core/terms.h"

#define TERMS	    100u
#define MANY_TERMS  1000u
#define REPEATS	    15u
#define STREAM_SIZE (4u << 20)
#define READ_SIZE   65536u

struct input {
	uint8_t *data;
	size_t len;
	size_t messages;
};

static const char *const words[] = {
	"the", "quick", "brown",  "stream", "of",     "tokens", "moves", "over",
	"a",   "slow",	"river",  "and",    "every",  "word",	"is",	 "looked",
	"at",  "once",	"before", "it",	    "leaves", "for",	"other", "shore",
};

/* Messages of about size bytes, a few members each, up to `messages` or len bytes. */
static struct input make_input(size_t size, size_t messages, size_t len)
{
	struct input input = {.data = malloc(len + size + 256)};
	unsigned int seed = 1;

	if (!input.data)
		exit(1);
	while (input.messages < messages && input.len < len) {
		char *at = (char *)input.data + input.len;
		size_t begin = input.len;

		at += sprintf(at, "{\"id\":%zu,\"role\":\"assistant\",\"text\":\"", input.messages);
		while ((size_t)(at - (char *)input.data) - begin < size - 16) {
			seed = seed * 1103515245u + 12345u;
			at += sprintf(at, "%s ", words[(seed >> 16) % ARRAY_SIZE(words)]);
		}
		at += sprintf(at, "\",\"ok\":true}\n");
		input.len = (size_t)(at - (char *)input.data);
		input.messages++;
	}
	return input;
}

static const char *const tokens[] = {
	" the",
	" quick",
	" brown",
	" stream",
	" of",
	" tokens",
	" moves",
	" over",
	" a",
	" slow",
	" river",
	" and",
	".",
	" every",
	" caf\xc3\xa9",
	" is",
	" na\xc3\xafve",
	" \xe6\xb5\x81\xe3\x82\x8c",
	" before",
	" it",
	" leaves",
	" for",
	" other",
	",",
	" \xd0\xbf\xd0\xbe\xd1\x82\xd0\xbe\xd0\xba",
	"\\n\\n",
	" \xf0\x9f\x8c\x8a",
	" shore",
};

/* Events of one token, about 230 bytes each, each in a chunk: up to `events` or len bytes. */
static struct input make_events(size_t events, size_t len)
{
	struct input input = {.data = malloc(len + 512)};
	unsigned int seed = 1;

	if (!input.data)
		exit(1);
	while (input.messages < events && input.len < len) {
		char event[512];
		int size;

		seed = seed * 1103515245u + 12345u;
		size = sprintf(event,
			       "data: {\"id\":\"chatcmpl-C2XwVbZ3n0dQy5mP8tR1sKf7uLhGa\","
			       "\"object\":\"chat.completion.chunk\",\"created\":1755000000,"
			       "\"model\":\"gpt-4o-mini-2024-07-18\","
			       "\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%s\"},"
			       "\"logprobs\":null,\"finish_reason\":null}]}\n\n",
			       tokens[(seed >> 16) % ARRAY_SIZE(tokens)]);
		input.len += (size_t)sprintf((char *)input.data + input.len, "%x\r\n%s\r\n",
					     (unsigned int)size, event);
		input.messages++;
	}
	return input;
}

/*
 * So many code names and phrases as a deny list has them; or, as the worst of lists
 * for this text, terms that each begin with one of its words.
 */
static struct terms *make_terms(size_t count, unsigned int fold, bool like_text)
{
	static const char consonants[] = "bcdfghjklmnprstvz", vowels[] = "aeiou";
	char text[MANY_TERMS][32];
	const char *terms[MANY_TERMS];
	struct terms *built;
	unsigned int seed = 7;
	size_t bad;

	for (size_t i = 0; i < count; i++) {
		char *at = text[i];

		if (like_text)
			at += sprintf(at, "%s ", words[i % ARRAY_SIZE(words)]);
		for (size_t j = 0; j < 3 + i % 4; j++) {
			seed = seed * 1103515245u + 12345u;
			*at++ = consonants[(seed >> 16) % (sizeof(consonants) - 1)];
			*at++ = vowels[(seed >> 24) % (sizeof(vowels) - 1)];
		}
		*at = '\0';
		terms[i] = text[i];
	}
	if (terms_new(terms, count, fold, &bad, &built) < 0)
		exit(1);
	return built;
}

static const char sse_head[] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
			       "Transfer-Encoding: chunked\r\n\r\n";
static const char sse_last[] = "0\r\n\r\n";

/* What is done with a stream. */
struct way {
	bool events;		   /* in an HTTP response; else lines */
	const struct terms *terms; /* NULL: framing alone, or with text where that is wanted */
	bool text;		   /* without terms: extracted all the same */
	struct extract extract;
	size_t read_size;
};

/* A pipeline and what it needs. */
struct stream {
	struct session *session;
	struct exchanges *exchanges;
	struct pipeline *pipeline;
	uint64_t fed;
};

static void feed(struct stream *stream, const void *data, size_t len, size_t read_size)
{
	for (size_t at = 0; at < len; at += read_size)
		if (pipeline_feed(stream->pipeline, (const uint8_t *)data + at,
				  MIN(read_size, len - at)))
			exit(1);
	stream->fed += len;
}

static void ignore_text(void *context, const char *channel, const uint8_t *text, size_t len)
{
	(void)context;
	(void)channel;
	(void)text;
	(void)len;
}

static void open_sessions(const struct way *way, struct stream *stream)
{
	static const char *const names[] = {"bench"};
	const struct exchanges_config config = {
		.session = {.tasks = {[SESSION_RESPONSE] = names},
			    .task_count = {[SESSION_RESPONSE] = 1}},
	};
	struct session *session;

	if (!way->events) {
		if (session_new(&config.session, &stream->session) != SESSION_OK)
			exit(1);
		return;
	}
	if (exchanges_new(&config, &stream->exchanges) < 0 ||
	    exchanges_request(stream->exchanges, &session))
		exit(1);
	exchanges_request_head(stream->exchanges, &(struct http1_request){0});
	if (exchanges_request_end(stream->exchanges))
		exit(1);
}

static struct stream open_stream(const struct way *way)
{
	const struct pipeline_task task = {.name = "bench", .matcher.terms = way->terms};
	struct stream stream = {0};
	struct pipeline_config config = {
		.framing = {.kind = way->events ? FRAMING_HTTP1 : FRAMING_NDJSON},
		.extract = way->extract,
		.max_message = 1 << 20,
		.max_pending_units = 1 << 16,
		.track = SESSION_RESPONSE,
		.tasks = &task,
		.task_count = way->terms != NULL,
		.on_text = way->text ? ignore_text : NULL,
	};

	open_sessions(way, &stream);
	config.session = stream.session;
	config.exchanges = stream.exchanges;
	if (pipeline_new(&config, &stream.pipeline) < 0)
		exit(1);
	if (way->events)
		feed(&stream, sse_head, sizeof(sse_head) - 1, sizeof(sse_head));
	return stream;
}

static void close_stream(const struct way *way, struct stream *stream)
{
	if (way->events)
		feed(stream, sse_last, sizeof(sse_last) - 1, sizeof(sse_last));
	if (pipeline_end(stream->pipeline) || pipeline_released(stream->pipeline) != stream->fed)
		exit(1);
	pipeline_free(stream->pipeline);
	exchanges_free(stream->exchanges);
	if (stream->session)
		session_fail(stream->session, SESSION_DISCONNECTED);
	(void)session_free(stream->session);
}

/* The input so many times as one stream; seconds. */
static double run(const struct input *input, unsigned int times, const struct way *way)
{
	struct stream stream = open_stream(way);
	double begin = cpu_now(), end;

	for (unsigned int i = 0; i < times; i++)
		feed(&stream, input->data, input->len, way->read_size);
	end = cpu_now();
	close_stream(way, &stream);
	return end - begin;
}

static double best(const struct input *input, const struct way *way)
{
	double least = 1e9;

	for (unsigned int i = 0; i < REPEATS; i++)
		least = MIN(least, run(input, 1, way));
	return least;
}

static void report_speed(const char *name, const struct input *input, const struct terms *terms,
			 struct extract extract)
{
	const struct way way = {.terms = terms, .extract = extract, .read_size = READ_SIZE};

	report(name, (double)input->len / 1e6 / best(input, &way), "MB/s");
}

/* Lines that are text but for a few bytes, and events that are mostly not. */
static void many_terms(const struct input *events)
{
	struct input lines = make_input(16000, SIZE_MAX, STREAM_SIZE);
	struct terms *terms = make_terms(MANY_TERMS, TERMS_FOLD_CASEFOLD, false);
	const struct way way = {
		.events = true,
		.terms = terms,
		.extract = {.kind = EXTRACT_OPENAI_CHAT},
		.read_size = READ_SIZE,
	};

	report("sse_1000_casefold_terms", (double)events->len / 1e6 / best(events, &way), "MB/s");
	report_speed("ndjson_16000_1000_casefold_terms_stream", &lines, terms,
		     (struct extract){.kind = EXTRACT_PATH, .path = "text"});
	terms_free(terms);
	free(lines.data);
}

static void throughput(const struct terms *terms, const struct terms *hard)
{
	static const size_t sizes[] = {120, 1000, 16000};
	const struct extract path = {.kind = EXTRACT_PATH, .path = "text"};
	const struct extract unit = {.kind = EXTRACT_PATH, .path = "text", .join_unit = true};
	const struct extract automatic = {.kind = EXTRACT_AUTO};
	char name[64];

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct input input = make_input(sizes[i], SIZE_MAX, STREAM_SIZE);

		snprintf(name, sizeof(name), "ndjson_%zu_framing", sizes[i]);
		report_speed(name, &input, NULL, automatic);
		snprintf(name, sizeof(name), "ndjson_%zu_100_terms_unit", sizes[i]);
		report_speed(name, &input, terms, unit);
		snprintf(name, sizeof(name), "ndjson_%zu_100_terms_stream", sizes[i]);
		report_speed(name, &input, terms, path);
		snprintf(name, sizeof(name), "ndjson_%zu_100_terms_like_text", sizes[i]);
		report_speed(name, &input, hard, unit);
		free(input.data);
	}
}

/*
 * The cost per message of a million: as a thousand streams of a thousand each, and
 * as one stream, from one buffer, as a daemon reads them.
 */
static void per_message(const char *kind, const struct input *input, const struct way *way)
{
	double few = 1e9, many = 1e9, messages = 1000.0 * (double)input->messages;
	char name[64];

	for (unsigned int i = 0; i < 5; i++) {
		double sum = 0;

		for (unsigned int j = 0; j < 1000; j++)
			sum += run(input, 1, way);
		few = MIN(few, sum);
		many = MIN(many, run(input, 1000, way));
	}
	snprintf(name, sizeof(name), "%s_stream_of_1e3", kind);
	report(name, few * 1e9 / messages, "ns/message");
	snprintf(name, sizeof(name), "%s_stream_of_1e6", kind);
	report(name, many * 1e9 / messages, "ns/message");
	snprintf(name, sizeof(name), "%s_long_to_short", kind);
	report(name, many / few, "ratio");
}

static void byte_by_byte(const char *name, const struct input *input, struct way way)
{
	way.read_size = 1;
	report(name, best(input, &way) * 1e9 / (double)input->len, "ns/byte");
}

static void ndjson(const struct terms *terms, const struct terms *hard)
{
	struct way way = {
		.terms = terms,
		.extract = {.kind = EXTRACT_PATH, .path = "text", .join_unit = true},
		.read_size = 1460,
	};
	struct input some = make_input(120, 1000, 200000);

	throughput(terms, hard);
	per_message("ndjson_120", &some, &way);
	way.extract.join_unit = false;
	byte_by_byte("ndjson_one_byte_reads", &some, way);
	free(some.data);
}

/* Events in reads of several sizes, beside lines of the same size. */
static void sse(const struct terms *terms, const struct terms *hard)
{
	static const size_t reads[] = {120, 1460, 16384, 65536};
	struct input input = make_events(SIZE_MAX, STREAM_SIZE),
		     some = make_events(1000, STREAM_SIZE);
	struct input lines = make_input(input.len / input.messages, SIZE_MAX, STREAM_SIZE);
	struct way way = {
		.events = true,
		.terms = terms,
		.extract = {.kind = EXTRACT_OPENAI_CHAT},
	};
	double mb = (double)input.len / 1e6;
	char name[64];

	report("sse_chunk", (double)input.len / (double)input.messages, "bytes");
	for (size_t i = 0; i < ARRAY_SIZE(reads); i++) {
		way.read_size = reads[i];
		way.terms = terms;
		snprintf(name, sizeof(name), "sse_100_terms_reads_of_%zu", reads[i]);
		report(name, mb / best(&input, &way), "MB/s");
		way.terms = NULL;
		snprintf(name, sizeof(name), "sse_framing_reads_of_%zu", reads[i]);
		report(name, mb / best(&input, &way), "MB/s");
		way.text = true;
		snprintf(name, sizeof(name), "sse_extraction_reads_of_%zu", reads[i]);
		report(name, mb / best(&input, &way), "MB/s");
		way.text = false;
	}
	way.terms = hard;
	report("sse_100_terms_like_text", mb / best(&input, &way), "MB/s");
	many_terms(&input);
	report_speed("ndjson_same_size_100_terms_stream", &lines, terms,
		     (struct extract){.kind = EXTRACT_PATH, .path = "text"});
	way.terms = terms;
	way.read_size = 1460;
	per_message("sse", &some, &way);
	byte_by_byte("sse_one_byte_reads", &some, way);
	free(input.data);
	free(some.data);
	free(lines.data);
}

static const struct {
	const char *name;
	void (*measure)(const struct terms *terms, const struct terms *hard);
} parts[] = {{"ndjson", ndjson}, {"sse", sse}};

static bool is_part(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (strcmp(parts[i].name, name) == 0)
			return true;
	return false;
}

static bool is_chosen(const char *name, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], name) == 0)
			return true;
	return argc == 1;
}

int main(int argc, char **argv)
{
	struct terms *terms = make_terms(TERMS, 0, false), *hard = make_terms(TERMS, 0, true);

	for (int i = 1; i < argc; i++) {
		if (!is_part(argv[i])) {
			fprintf(stderr, "usage: bench_core [ndjson|sse]...\n");
			return 2;
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (is_chosen(parts[i].name, argc, argv))
			parts[i].measure(terms, hard);
	terms_free(terms);
	terms_free(hard);
	return 0;
}
