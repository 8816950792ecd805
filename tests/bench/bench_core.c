/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the core costs: framing and scan of newline-delimited JSON, with a policy
 * of 100 terms and without, per message in short and long streams, and byte by
 * byte. Prints one JSON object a line: name, value, unit. Each figure is the best
 * of several runs in processor time, since only the machine can make a run slower.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/macros.h"
#include "core/pipeline.h"
#include "core/session.h"
#include "core/terms.h"

#define TERMS	    100u
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

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void report(const char *name, double value, const char *unit)
{
	printf("{\"name\": \"%s\", \"value\": %.4g, \"unit\": \"%s\"}\n", name, value, unit);
	fflush(stdout);
}

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

/*
 * 100 code names and phrases as a deny list has them; or, as the worst of lists
 * for this text, terms that each begin with one of its words.
 */
static struct terms *make_terms(bool like_text)
{
	static const char consonants[] = "bcdfghjklmnprstvz", vowels[] = "aeiou";
	char text[TERMS][32];
	const char *terms[TERMS];
	struct terms *built;
	unsigned int seed = 7;
	size_t bad;

	for (size_t i = 0; i < TERMS; i++) {
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
	if (terms_new(terms, TERMS, 0, &bad, &built) < 0)
		exit(1);
	return built;
}

/* The input so many times as one stream; seconds. Without terms: framing alone. */
static double run(const struct input *input, unsigned int times, const struct terms *terms,
		  struct extract extract, size_t read_size)
{
	const char *names[] = {"bench"};
	const struct session_config session_config = {
		.tasks = {[SESSION_RESPONSE] = names},
		.task_count = {[SESSION_RESPONSE] = 1},
	};
	const struct pipeline_task task = {"bench", terms};
	struct pipeline_config config = {
		.framing = {.kind = FRAMING_NDJSON},
		.extract = extract,
		.max_message = 1 << 20,
		.max_pending_units = 1 << 16,
		.track = SESSION_RESPONSE,
		.tasks = &task,
		.task_count = terms != NULL,
	};
	struct pipeline *pipeline;
	double begin, end;

	if (session_new(&session_config, &config.session) != SESSION_OK ||
	    pipeline_new(&config, &pipeline) < 0)
		exit(1);
	begin = now();
	for (unsigned int i = 0; i < times; i++)
		for (size_t at = 0; at < input->len; at += read_size)
			if (pipeline_feed(pipeline, input->data + at,
					  MIN(read_size, input->len - at)))
				exit(1);
	end = now();
	if (pipeline_end(pipeline) || pipeline_released(pipeline) != times * input->len)
		exit(1);
	pipeline_free(pipeline);
	session_fail(config.session, SESSION_DISCONNECTED);
	(void)session_free(config.session);
	return end - begin;
}

static double best(const struct input *input, const struct terms *terms, struct extract extract,
		   size_t read_size)
{
	double least = 1e9;

	for (unsigned int i = 0; i < REPEATS; i++)
		least = MIN(least, run(input, 1, terms, extract, read_size));
	return least;
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
		double mb = (double)input.len / 1e6;

		snprintf(name, sizeof(name), "ndjson_%zu_framing", sizes[i]);
		report(name, mb / best(&input, NULL, automatic, READ_SIZE), "MB/s");
		snprintf(name, sizeof(name), "ndjson_%zu_100_terms_unit", sizes[i]);
		report(name, mb / best(&input, terms, unit, READ_SIZE), "MB/s");
		snprintf(name, sizeof(name), "ndjson_%zu_100_terms_stream", sizes[i]);
		report(name, mb / best(&input, terms, path, READ_SIZE), "MB/s");
		snprintf(name, sizeof(name), "ndjson_%zu_100_terms_like_text", sizes[i]);
		report(name, mb / best(&input, hard, unit, READ_SIZE), "MB/s");
		free(input.data);
	}
}

/*
 * The cost per message of a million: as a thousand streams of a thousand each, and
 * as one stream, from one buffer, as a daemon reads them.
 */
static void per_message(const struct terms *terms)
{
	const struct extract unit = {.kind = EXTRACT_PATH, .path = "text", .join_unit = true};
	struct input input = make_input(120, 1000, 200000);
	double few = 1e9, many = 1e9, messages = 1000.0 * (double)input.messages;

	for (unsigned int i = 0; i < 5; i++) {
		double sum = 0;

		for (unsigned int j = 0; j < 1000; j++)
			sum += run(&input, 1, terms, unit, 1460);
		few = MIN(few, sum);
		many = MIN(many, run(&input, 1000, terms, unit, 1460));
	}
	report("ndjson_120_stream_of_1e3", few * 1e9 / messages, "ns/message");
	report("ndjson_120_stream_of_1e6", many * 1e9 / messages, "ns/message");
	report("ndjson_120_long_to_short", many / few, "ratio");
	free(input.data);
}

static void byte_by_byte(const struct terms *terms)
{
	const struct extract path = {.kind = EXTRACT_PATH, .path = "text"};
	struct input input = make_input(120, 1000, 1u << 20);

	report("ndjson_one_byte_reads", best(&input, terms, path, 1) * 1e9 / (double)input.len,
	       "ns/byte");
	free(input.data);
}

int main(void)
{
	struct terms *terms = make_terms(false), *hard = make_terms(true);

	throughput(terms, hard);
	per_message(terms);
	byte_by_byte(terms);
	terms_free(terms);
	terms_free(hard);
	return 0;
}
