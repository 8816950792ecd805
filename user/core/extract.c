/* SPDX-License-Identifier: Apache-2.0 */
#include "core/extract.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char raw_name[] = "raw";

/* The data of the event that ends a stream of them. */
static const uint8_t end_mark[] = {'[', 'D', 'O', 'N', 'E', ']'};

static int set_up_path(struct extractor *x, const struct extract *config)
{
	size_t len = strnlen(config->path, EXTRACT_PATH_MAX);

	if (len == 0 || len == EXTRACT_PATH_MAX)
		return -EINVAL;
	/* A text that ends with its unit is what any other string is. */
	return config->join_unit ? 0 : extract_tokens_join(&x->tokens, config->path);
}

/* The scanner's tokens go to a sink from here on. */
static void set_up_json(struct extractor *x, const struct json_sink *sink, void *context)
{
	x->json = true;
	x->scanner.sink = sink;
	x->scanner.context = context;
}

static int set_up_raw(struct extractor *x, unsigned int flags)
{
	x->text = true;
	if ((flags & EXTRACTOR_ATTEMPT) && !x->json) {
		x->attempt = malloc(sizeof(*x->attempt));
		if (!x->attempt)
			return -ENOMEM;
		extract_attempt_init(x->attempt, &x->raw);
	}
	return channel_set_join(x->set, raw_name, &x->raw.channel);
}

static int set_up(struct extractor *x, const struct extract *config, unsigned int flags)
{
	switch (config->kind) {
	case EXTRACT_NONE:
		return 0;
	case EXTRACT_RAW:
		return set_up_raw(x, flags);
	case EXTRACT_PATH:
		set_up_json(x, &extract_tokens_sink, &x->tokens);
		return set_up_path(x, config);
	case EXTRACT_AUTO:
		set_up_json(x, &extract_tokens_sink, &x->tokens);
		return 0;
	case EXTRACT_OLLAMA_CHAT:
		x->ollama = malloc(sizeof(*x->ollama));
		if (!x->ollama)
			return -ENOMEM;
		extract_ollama_init(x->ollama, &x->tokens);
		set_up_json(x, &extract_ollama_sink, x->ollama);
		return 0;
	case EXTRACT_OPENAI_CHAT:
		x->openai = malloc(sizeof(*x->openai));
		if (!x->openai)
			return -ENOMEM;
		extract_openai_init(x->openai, &x->tokens);
		set_up_json(x, &extract_openai_sink, x->openai);
		return 0;
	default:
		return -EINVAL;
	}
}

int extractor_init(struct extractor *x, const struct extract *config, struct channel_set *set,
		   unsigned int flags)
{
	int r = 0;

	memset(x, 0, sizeof(*x));
	x->set = set;
	x->lines = flags & EXTRACTOR_LINES;
	x->events = flags & EXTRACTOR_EVENTS;
	x->json = flags & EXTRACTOR_JSON;
	x->join_unit = config->join_unit;
	x->raw = (struct extract_raw){.set = set, .replace = config->replace_ill_formed};
	json_init(&x->scanner, NULL, NULL);
	x->scanner.by_line = x->lines;
	x->scanner.replace = config->replace_ill_formed;
	extract_tokens_init(&x->tokens, set, &x->scanner);
	if (flags & EXTRACTOR_EVALUATE)
		r = set_up(x, config, flags);
	/* The data of events is UTF-8 where nobody else looks at it, too. */
	x->text |= x->events && !x->json;
	if (r < 0)
		extractor_done(x);
	return r;
}

void extractor_done(struct extractor *x)
{
	if (x->ollama)
		extract_ollama_done(x->ollama);
	if (x->openai)
		extract_openai_done(x->openai);
	if (x->attempt)
		extract_attempt_done(x->attempt);
	free(x->ollama);
	free(x->openai);
	free(x->attempt);
	x->ollama = NULL;
	x->openai = NULL;
	x->attempt = NULL;
	extract_tokens_done(&x->tokens);
	json_done(&x->scanner);
}

static enum fault text_payload(struct extractor *x, const uint8_t *data, size_t len)
{
	return x->attempt ? extract_attempt_text(x->attempt, data, len)
			  : extract_raw_text(&x->raw, data, len);
}

/* Text of a payload; the CR of a CRLF is not part of it. */
static enum fault text_line(struct extractor *x, const uint8_t *data, size_t len)
{
	enum fault fault = FAULT_NONE;

	if (!x->lines || !len)
		return text_payload(x, data, len);
	if (x->cr)
		fault = text_payload(x, (const uint8_t *)"\r", 1);
	x->cr = data[len - 1] == '\r';
	return fault ? fault : text_payload(x, data, len - x->cr);
}

static enum fault scan(struct extractor *x, const uint8_t *data, size_t len, size_t *ret_used)
{
	size_t skipped = 0;
	enum fault fault;

	if (x->openai)
		skipped = extract_openai_resume(x->openai, &x->scanner, data, len);
	if (x->ollama)
		extract_ollama_resume(x->ollama, data);
	fault = json_scan(&x->scanner, data + skipped, len - skipped, ret_used);
	*ret_used += skipped;
	if (x->openai)
		extract_openai_pause(x->openai);
	if (x->ollama && !fault)
		fault = extract_ollama_pause(x->ollama, data + *ret_used);
	return fault;
}

/* The data is not the end mark after all: the part that was taken for it is scanned. */
static enum fault scan_marked(struct extractor *x, size_t *ret_used)
{
	size_t marked = x->marked;

	x->marking = false;
	x->marked = 0;
	return marked ? scan(x, end_mark, marked, ret_used) : FAULT_NONE;
}

static enum fault event_data(struct extractor *x, const uint8_t *data, size_t len, size_t *ret_used)
{
	size_t before = x->marked, n = 0, used = 0;
	enum fault fault;

	*ret_used = 0;
	if (!len)
		return FAULT_NONE;
	if (x->ended)
		return FAULT_PROTOCOL;
	x->marking |= !x->begun;
	x->begun = true;
	if (!x->marking)
		return scan(x, data, len, ret_used);
	while (n < len && x->marked < sizeof(end_mark) && data[n] == end_mark[x->marked]) {
		x->marked++;
		n++;
	}
	if (n == len) {
		*ret_used = len;
		return FAULT_NONE;
	}
	fault = scan_marked(x, &used);
	if (fault) {
		*ret_used = used > before ? used - before : 0;
		return fault;
	}
	fault = scan(x, data + n, len - n, &used);
	*ret_used = n + used;
	return fault;
}

/* The data of an event is whole; none is no document. */
static enum fault event_end(struct extractor *x)
{
	enum fault fault = FAULT_NONE;
	bool begun = x->begun;
	size_t used;

	x->begun = false;
	if (!begun)
		return FAULT_NONE;
	if (x->marking && x->marked == sizeof(end_mark)) {
		x->marking = false;
		x->marked = 0;
		x->ended = x->complete = true;
		return channel_set_end(x->set);
	}
	if (x->marking)
		fault = scan_marked(x, &used);
	return fault ? fault : json_end(&x->scanner);
}

enum fault extractor_feed(struct extractor *x, const uint8_t *data, size_t len, size_t *ret_used)
{
	enum fault fault = FAULT_NONE, text = FAULT_NONE;

	*ret_used = len;
	if (x->json) {
		fault = x->events ? event_data(x, data, len, ret_used)
				  : scan(x, data, len, ret_used);
	} else if (x->lines) {
		const uint8_t *lf = memchr(data, '\n', len);

		*ret_used = lf ? (size_t)(lf - data) : len;
	}
	/* What lies before a byte at fault came before it. */
	if (x->text)
		text = text_line(x, data, *ret_used);
	return text ? text : fault;
}

bool extractor_blank(const struct extractor *x)
{
	return x->json && json_blank(&x->scanner);
}

static enum fault text_end(struct extractor *x, bool delimited)
{
	enum fault fault = FAULT_NONE;

	if (x->cr && !delimited)
		fault = text_payload(x, (const uint8_t *)"\r", 1);
	x->cr = false;
	if (!fault && x->attempt)
		fault = extract_attempt_end(x->attempt);
	if (!fault)
		fault = x->join_unit || x->events ? extract_raw_end(&x->raw)
						  : extract_raw_cut(&x->raw);
	if (!fault && x->join_unit && x->raw.channel)
		fault = channel_end(x->set, x->raw.channel);
	return fault;
}

enum fault extractor_unit_end(struct extractor *x, bool delimited)
{
	enum fault fault = FAULT_NONE;

	if (x->json && x->events)
		fault = event_end(x);
	else if (x->json && !(x->lines && json_blank(&x->scanner)))
		fault = json_end(&x->scanner);
	if (!fault && x->text)
		fault = text_end(x, delimited);
	if (!fault)
		fault = channel_set_unit_end(x->set);
	if (fault)
		return fault;
	x->complete |= x->ollama && x->ollama->done;
	extract_path_clear(&x->tokens.path);
	return FAULT_NONE;
}

enum fault extractor_end(struct extractor *x)
{
	enum fault fault = x->text ? extract_raw_end(&x->raw) : FAULT_NONE;

	return fault ? fault : channel_set_end(x->set);
}

size_t extractor_memory(const struct extractor *x)
{
	size_t bytes = json_memory(&x->scanner) + extract_tokens_memory(&x->tokens);

	if (x->ollama)
		bytes += sizeof(*x->ollama) + extract_ollama_memory(x->ollama);
	if (x->openai)
		bytes += sizeof(*x->openai) + extract_openai_memory(x->openai);
	if (x->attempt)
		bytes += sizeof(*x->attempt) + extract_attempt_memory(x->attempt);
	return bytes;
}
